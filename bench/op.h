#ifndef ROTOR_BENCH_OP_H
#define ROTOR_BENCH_OP_H

/* One op on one thread, forward and backward apart. What it reads came from the graph, as in a
 * model: its gradient is fresh memory, which backward may overwrite. Parameters are leaves, and
 * gradients are added to theirs. */

#include "bench/measure.h"
#include "bench/options.h"
#include "core/graph.h"

enum { BENCH_MOST_INPUTS = 3 };

typedef struct bench_op {
    const char *op; /* what is timed, by the name in the graph */
    int inputs;
    rt_shape shapes[BENCH_MOST_INPUTS];
    bool parameter[BENCH_MOST_INPUTS];
    const int32_t *labels; /* of cross-entropy */

    rt_tensor *(*build)(rt_graph *g, rt_tensor *const *in, const struct bench_op *op);

    /* Operations of forward and backward, as the op is written down; `done` counts what is
     * computed twice as well. 0: bytes of the least traffic count, against a copy. */
    double flops[2];
    double done[2];
    double bytes[2];
} bench_op;

/* Measures and prints. */
rt_status bench_op_measure(const bench_options *o, const char *command,
                           const bench_op *op) RT_MUST_CHECK;

/* Watches a graph and adds up how long its ops took, forward and backward. */
typedef struct bench_watch {
    const bench_options *options;
    const char *op; /* NULL: all ops */
    double start;
    double seconds[2];
} bench_watch;
rt_observer bench_watch_observer(bench_watch *w);

/* One row for a thing that was measured in `times`. The yardstick is a copy of `copied` numbers,
 * or the peak if that is 0; `work` is in bytes or operations. */
void bench_print(const bench_options *o, bool first, const char *command, const char *pass,
                 const bench_times *times, double work, const bench_times *yardstick,
                 size_t copied);

#endif
