#ifndef ROTOR_TRAIN_STEP_OBSERVERS_H
#define ROTOR_TRAIN_STEP_OBSERVERS_H

/* What can be watched while a graph computes: where a number first stops being finite
 * (--trap), and where the time goes (--profile). */

#include "core/graph.h"

#include <stdio.h>

/* Fails the graph with RT_NONFINITE, and names the op, when a result or a gradient has a NaN or
 * an infinity. Needs no context. */
extern const rt_observer rt_trap;

/* Time, calls and work by op. One for each thread; zeroed at the start. */
enum { RT_MOST_PROFILED = 64 };

typedef struct rt_profile_entry {
    const rt_op *op;
    long calls[2]; /* forward, backward, as all below */
    double seconds[2];
    double bytes[2];
    double flops[2];
} rt_profile_entry;

typedef struct rt_profile {
    int count;
    rt_profile_entry list[RT_MOST_PROFILED];
    double start; /* of the op under way */
} rt_profile;

rt_observer rt_profile_observer(rt_profile *profile);

/* One table of all threads' profiles, the most expensive op first, for `steps` steps. */
void rt_profile_print(FILE *to, const rt_profile *profiles, int count, int steps);

/* Bytes of all ops of all threads' profiles. */
double rt_profile_bytes(const rt_profile *profiles, int count);

#endif
