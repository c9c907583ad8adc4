#ifndef ROTOR_TRAIN_STEP_OBSERVERS_H
#define ROTOR_TRAIN_STEP_OBSERVERS_H

/* Observers of the computation of a graph: the first number that is not finite (--trap), and the
 * time of each op (--profile); and the clock of all measurements. */

#include "core/graph.h"

#include <stdio.h>

/* Returns the seconds of a monotonic clock. Only differences are meaningful. */
double rt_seconds(void);

/* Observer that fails the graph with RT_NONFINITE, and names the op, if a result or a gradient has
 * a NaN or an infinity. Needs no context. */
extern const rt_observer rt_trap;

/* Time, calls and work of each op. Each graph has its own; the caller zeroes it. */
enum { RT_MOST_PROFILED = 64 };

typedef struct rt_profile_entry {
    const rt_op *op;
    long calls[2]; /* here and below: [0] forward, [1] backward */
    double seconds[2];
    double bytes[2];
    double flops[2];
} rt_profile_entry;

typedef struct rt_profile {
    int count;
    rt_profile_entry list[RT_MOST_PROFILED];
    double start; /* start of the current op, in seconds */
} rt_profile;

rt_observer rt_profile_observer(rt_profile *profile);

/* Prints one table of the sum of `count` profiles, the most expensive op first. The last line is
 * the total divided by `steps`. */
void rt_profile_print(FILE *to, const rt_profile *profiles, int count, int steps);

#endif
