#include "bench/commands.h"
#include "bench/op.h"
#include "ops/ops.h"

/* Softmax attention, which keeps no T x T matrix. Written down, its backward takes twice the
 * products of its forward; forming the scores once more makes it 2.5 times. */

static rt_tensor *build(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    return rt_attention(g, in[0], in[1], in[2], &(rt_attention_options){0});
}

rt_status bench_attention(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"B", "T", "H", "D", NULL};
    int n[] = {1, 4096, 1, 64};
    const rt_status status = bench_sizes(argc, argv, names, n);
    if (status.code)
        return status;
    const rt_shape x = RT_SHAPE_OF(n[0], n[1], n[2], n[3]);
    const double flops = 4.0 * n[0] * n[2] * n[1] * n[1] * n[3];
    return bench_op_measure(o, "attention",
                            &(bench_op){.op = "attention",
                                        .inputs = 3,
                                        .shapes = {x, x, x},
                                        .build = build,
                                        .flops = {flops, 2 * flops},
                                        .done = {flops, 2.5 * flops}});
}
