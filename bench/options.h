#ifndef ROTOR_BENCH_OPTIONS_H
#define ROTOR_BENCH_OPTIONS_H

/* What every command understands beside its own arguments. */

#include "core/status.h"
#include "ops/engine.h"

#include <stdbool.h>

typedef struct bench_options {
    bool csv;
    bool cpu;               /* time by the processor's clock, not the wall's */
    int threads;            /* 0: not said */
    rt_engine engine;       /* of peak, generate and the ops; a configuration names its own */
    rt_math math;
    struct rt_world *world; /* of processes; NULL: one alone */
    double seconds;         /* how long a measurement lasts at least; 0: not said */
    double since; /* step: when the program was started, by CLOCK_MONOTONIC; 0: not said */
} bench_options;

/* Takes the options out of the arguments and leaves the others, in their order, in front.
 * RT_CONFIG for one that is unknown or has no value. */
rt_status bench_options_take(bench_options *o, int *argc, char **argv) RT_MUST_CHECK;

/* Takes NAME=NUMBER from all arguments; `values` keeps the defaults of those that are absent.
 * RT_CONFIG for an argument that is none of the names (NULL ends them). */
rt_status bench_sizes(int argc, char **argv, const char *const *names, int *values) RT_MUST_CHECK;

/* RT_CONFIG if --threads was given, for a command that uses one. */
rt_status bench_one_thread(const bench_options *o) RT_MUST_CHECK;

#endif
