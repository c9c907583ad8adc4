#include "bench/commands.h"
#include "bench/measure.h"
#include "bench/op.h"
#include "core/memory.h"
#include "ops/ops.h"

/* Rotation with a learned theta, beside a copy of the tensor. The table of cosines and sines is
 * made anew in every step, since theta moves; it serves queries and keys alike. */

enum { WARM_UP = 3, FEWEST = 15 };

static const double long_enough = 1; /* seconds, of the table */

static rt_rotation *table(rt_graph *g, rt_tensor *theta, int B, int T)
{
    return rt_rotation_learned(g, theta, RT_THETA_LOG, RT_INTERLEAVED, 1, B, T, (rt_positions){0});
}

static rt_tensor *build(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    if (!in[0])
        return NULL;
    const rt_rotation *rotation = table(g, in[1], in[0]->shape[0], in[0]->shape[1]);
    return rotation ? rt_rope(g, in[0], rotation) : NULL;
}

static rt_status measure_table(const bench_options *o, const int *n, size_t size)
{
    static bench_times times, copies;
    const int pairs = n[3] / 2;
    bench_yardstick y = {0};
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
    real *values = rt_alloc((size_t)pairs, sizeof *values);
    rt_graph *g = rt_graph_new();
    rt_status status =
        values && g ? bench_yardstick_new(&y, o, 1, 2 * size) : rt_out_of_memory("a benchmark");
    while (!status.code && bench_next(&rounds, o, long_enough)) {
        rt_tensor theta = rt_tensor_of(values, NULL, RT_SHAPE_OF(pairs));
        const double copy = bench_copy(&y, size);
        rt_graph_clear(g);
        const double start = bench_now(o);
        if (!table(g, &theta, n[0], n[1]))
            status = rt_graph_status(g);
        if (!bench_counts(&rounds))
            continue;
        bench_add(&times, bench_now(o) - start);
        bench_add(&copies, copy);
    }
    if (!status.code)
        bench_print(o, false, "rope", "table", &times, 2.0 * n[1] * pairs * sizeof(real), &copies,
                    size);
    bench_yardstick_free(&y);
    rt_graph_free(g);
    rt_free(values);
    return status;
}

rt_status bench_rope(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"B", "T", "H", "D", NULL};
    int n[] = {8, 512, 8, 64};
    rt_status status = bench_sizes(argc, argv, names, n);
    if (status.code)
        return status;
    if (n[3] % 2)
        return rt_error(RT_CONFIG, "D must be even; got %d", n[3]);
    const rt_shape x = RT_SHAPE_OF(n[0], n[1], n[2], n[3]);
    const double bytes = (double)rt_shape_size(x) * sizeof(real);
    status = bench_op_measure(o, "rope",
                              &(bench_op){.op = "rope",
                                          .inputs = 2,
                                          .shapes = {x, RT_SHAPE_OF(n[3] / 2)},
                                          .parameter = {false, true},
                                          .build = build,
                                          .bytes = {2 * bytes, 3 * bytes}});
    return status.code ? status : measure_table(o, n, rt_shape_size(x));
}
