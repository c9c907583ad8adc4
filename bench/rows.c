#include "bench/commands.h"
#include "bench/op.h"
#include "core/memory.h"
#include "ops/ops.h"

/* Ops that go over the rows of a matrix, beside a copy of it. The bytes counted are those that
 * must be moved: forward reads x and writes the result, backward reads the result's gradient and
 * what forward left and writes the gradient of x. */

static const char *const names[] = {"rows", "columns", NULL};

static rt_status measure(const bench_options *o, const char *command, int argc, char **argv,
                         bench_op op, double forward, double backward)
{
    int n[] = {4096, 512};
    rt_status status = bench_sizes(argc, argv, names, n);
    if (status.code)
        return status;
    const double bytes = (double)n[0] * n[1] * sizeof(real);
    int32_t *labels = rt_alloc((size_t)n[0], sizeof *labels);
    if (!labels)
        return rt_out_of_memory("a benchmark");
    for (int i = 0; i < n[0]; i++)
        labels[i] = i % n[1];
    op.labels = labels;
    op.shapes[0] = RT_SHAPE_OF(n[0], n[1]);
    for (int i = 1; i < op.inputs; i++)
        op.shapes[i] = RT_SHAPE_OF(n[1]);
    op.bytes[0] = forward * bytes;
    op.bytes[1] = backward * bytes;
    status = bench_op_measure(o, command, &op);
    rt_free(labels);
    return status;
}

static rt_tensor *build_layer_norm(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    return rt_layer_norm(g, in[0], in[1], in[2], 1e-12);
}

rt_status bench_layernorm(const bench_options *o, int argc, char **argv)
{
    const bench_op op = {.op = "layer_norm",
                         .inputs = 3,
                         .parameter = {false, true, true},
                         .build = build_layer_norm};
    return measure(o, "layernorm", argc, argv, op, 2, 3);
}

static rt_tensor *build_gelu(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    return rt_gelu(g, in[0]);
}

rt_status bench_gelu(const bench_options *o, int argc, char **argv)
{
    const bench_op op = {.op = "gelu", .inputs = 1, .build = build_gelu};
    return measure(o, "gelu", argc, argv, op, 2, 3);
}

static rt_tensor *build_softmax(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    return rt_softmax(g, in[0]);
}

rt_status bench_softmax(const bench_options *o, int argc, char **argv)
{
    const bench_op op = {.op = "softmax", .inputs = 1, .build = build_softmax};
    return measure(o, "softmax", argc, argv, op, 2, 3);
}

static rt_tensor *build_cross_entropy(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    return rt_cross_entropy(g, in[0], op->labels, 0, op->shapes[0].axis[0]);
}

rt_status bench_xent(const bench_options *o, int argc, char **argv)
{
    const bench_op op = {.op = "cross_entropy", .inputs = 1, .build = build_cross_entropy};
    return measure(o, "xent", argc, argv, op, 1, 2);
}
