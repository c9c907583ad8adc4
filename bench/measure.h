#ifndef ROTOR_BENCH_MEASURE_H
#define ROTOR_BENCH_MEASURE_H

/* Times, and what the machine reaches at the same time. Everything is measured in turns with a
 * matrix product and a copy, so that a busy machine slows all of them down alike. */

#include "core/graph.h"

enum { BENCH_MOST_TIMES = 2000 };

typedef struct bench_times {
    int count;
    double seconds[BENCH_MOST_TIMES];
} bench_times;

void bench_add(bench_times *t, double seconds);

/* The middle, and the ends of the middle half. They sort the times. */
double bench_median(bench_times *t);
double bench_quartile(bench_times *t, int quarter);

/* What a product of two matrices of size^3 and a copy of `size` numbers take. */
enum { BENCH_PEAK_SIZE = 1024 };
double bench_time_gemm(int size);
double bench_time_copy(size_t size);

/* GFLOP/s of one thread. */
double bench_peak(void);

/* Watches a graph and keeps how long the ops took, forward and backward, since it was asked. */
typedef struct bench_watch {
    const char *op; /* NULL: all ops */
    double start;
    double seconds[2];
} bench_watch;
rt_observer bench_watch_observer(bench_watch *w);

/* ---- the commands; arguments are NAME=NUMBER ---- */

rt_status bench_op(const char *name, int argc, char **argv) RT_MUST_CHECK;
rt_status bench_linear_attention(int argc, char **argv) RT_MUST_CHECK;
rt_status bench_step(int argc, char **argv) RT_MUST_CHECK;

/* Takes the value of NAME=NUMBER among the arguments; `value` keeps its default if it is not
 * there. RT_CONFIG for an argument that is none of the names (NULL ends them). */
rt_status bench_sizes(int argc, char **argv, const char *const *names, int *values) RT_MUST_CHECK;

#endif
