#include "bench/commands.h"
#include "bench/op.h"
#include "ops/ops.h"

static rt_tensor *build(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    return rt_linear(g, in[0], in[1], in[2]);
}

rt_status bench_linear(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"rows", "in", "out", NULL};
    int n[] = {2048, 256, 1024};
    const rt_status status = bench_sizes(argc, argv, names, n);
    const double flops = 2.0 * n[0] * n[1] * n[2];
    if (status.code)
        return status;
    return bench_op_measure(o, "linear",
                            &(bench_op){.op = "linear",
                                        .inputs = 3,
                                        .shapes = {RT_SHAPE_OF(n[0], n[1]), RT_SHAPE_OF(n[2], n[1]),
                                                   RT_SHAPE_OF(n[2])},
                                        .parameter = {false, true, true},
                                        .build = build,
                                        .flops = {flops, 2 * flops}});
}
