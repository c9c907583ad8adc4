#include "bench/measure.h"

#include "core/memory.h"
#include "ops/ops.h"
#include "train/optimizer.h"
#include "train/progress.h"

#include <stdio.h>
#include <string.h>

/* Single ops, one thread, forward and backward apart: beside a copy of the tensor that they work
 * on, or beside the matrix product for those that are made of products. */

enum { MOST_INPUTS = 3, FEWEST_RUNS = 15, GEMM_SIZE = 512 };

static const double long_enough = 2; /* seconds */

typedef struct problem {
    rt_tensor inputs[MOST_INPUTS];
    int count;
    int32_t *labels;
    rt_shape result;
} problem;

typedef struct op_case {
    const char *command;
    const char *op; /* what is timed */
    const char *const names[5];
    int sizes[5];
    void (*shape)(const int *sizes, rt_shape *inputs, int *count);
    rt_tensor *(*build)(rt_graph *g, problem *p);
    double (*flops)(const int *sizes); /* forward; backward makes 2.5 times as many; NULL: bytes */
} op_case;

/* ---- shapes and builders ---- */

static void one_of_four(const int *n, rt_shape *inputs, int *count)
{
    inputs[0] = RT_SHAPE_OF(n[0], n[1], n[2], n[3]);
    inputs[1] = RT_SHAPE_OF(n[3] / 2);
    *count = 2;
}

static rt_tensor *build_rope(rt_graph *g, problem *p)
{
    const rt_tensor *x = &p->inputs[0];
    return rt_rope(g, &p->inputs[0],
                   rt_rotation_learned(g, &p->inputs[1], RT_THETA_LOG, RT_INTERLEAVED, 1,
                                       x->shape[0], x->shape[1], (rt_positions){0}));
}

static void three_of_four(const int *n, rt_shape *inputs, int *count)
{
    for (int i = 0; i < 3; i++)
        inputs[i] = RT_SHAPE_OF(n[0], n[1], n[2], n[3]);
    *count = 3;
}

static rt_tensor *build_attention(rt_graph *g, problem *p)
{
    return rt_attention(g, &p->inputs[0], &p->inputs[1], &p->inputs[2], &(rt_attention_options){0});
}

static double flops_of_attention(const int *n)
{
    return 4.0 * n[0] * n[2] * n[1] * n[1] * n[3];
}

static void rows_and_columns(const int *n, rt_shape *inputs, int *count)
{
    inputs[0] = RT_SHAPE_OF(n[0], n[1]);
    inputs[1] = inputs[2] = RT_SHAPE_OF(n[1]);
    *count = 3;
}

static void only_rows(const int *n, rt_shape *inputs, int *count)
{
    inputs[0] = RT_SHAPE_OF(n[0], n[1]);
    *count = 1;
}

static rt_tensor *build_layer_norm(rt_graph *g, problem *p)
{
    return rt_layer_norm(g, &p->inputs[0], &p->inputs[1], &p->inputs[2], 1e-12);
}

static rt_tensor *build_gelu(rt_graph *g, problem *p)
{
    return rt_gelu(g, &p->inputs[0]);
}

static rt_tensor *build_softmax(rt_graph *g, problem *p)
{
    return rt_softmax(g, &p->inputs[0]);
}

static rt_tensor *build_cross_entropy(rt_graph *g, problem *p)
{
    return rt_cross_entropy(g, &p->inputs[0], p->labels, 0, p->inputs[0].shape[0]);
}

static void map(const int *n, rt_shape *inputs, int *count)
{
    inputs[0] = RT_SHAPE_OF(n[0], n[1]);
    inputs[1] = RT_SHAPE_OF(n[2], n[1]);
    inputs[2] = RT_SHAPE_OF(n[2]);
    *count = 3;
}

static rt_tensor *build_linear(rt_graph *g, problem *p)
{
    return rt_linear(g, &p->inputs[0], &p->inputs[1], &p->inputs[2]);
}

static double flops_of_linear(const int *n)
{
    return 2.0 * n[0] * n[1] * n[2];
}

static const op_case cases[] = {
    {"rope", "rope", {"B", "T", "H", "D", NULL}, {8, 512, 8, 64}, one_of_four, build_rope, NULL},
    {"attention",
     "attention",
     {"B", "T", "H", "D", NULL},
     {1, 4096, 1, 64},
     three_of_four,
     build_attention,
     flops_of_attention},
    {"linear",
     "linear",
     {"rows", "in", "out", NULL},
     {2048, 256, 1024},
     map,
     build_linear,
     flops_of_linear},
    {"layernorm",
     "layer_norm",
     {"rows", "columns", NULL},
     {4096, 512},
     rows_and_columns,
     build_layer_norm,
     NULL},
    {"gelu", "gelu", {"rows", "columns", NULL}, {4096, 512}, only_rows, build_gelu, NULL},
    {"softmax", "softmax", {"rows", "columns", NULL}, {4096, 512}, only_rows, build_softmax, NULL},
    {"xent",
     "cross_entropy",
     {"rows", "columns", NULL},
     {4096, 512},
     only_rows,
     build_cross_entropy,
     NULL},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- measuring ---- */

static rt_status prepare(problem *p, const op_case *c, const int *sizes, real **upstream)
{
    rt_shape shapes[MOST_INPUTS];
    c->shape(sizes, shapes, &p->count);
    for (int i = 0; i < p->count; i++) {
        const size_t size = rt_shape_size(shapes[i]);
        real *data = rt_alloc(2 * (size ? size : 1), sizeof *data);
        if (!size || !data)
            return rt_error(RT_CONFIG, "these sizes make no tensor that fits");
        for (size_t k = 0; k < size; k++)
            data[k] = (real)(rt_random_uniform((rt_random){.seed = (uint64_t)i}, k) - 0.5);
        p->inputs[i] = rt_tensor_of(data, data + size, shapes[i]);
    }
    p->labels = rt_alloc(rt_rows(&p->inputs[0]), sizeof *p->labels);
    *upstream = rt_alloc(64 + rt_size(&p->inputs[0]) * 8, sizeof(real));
    return p->labels && *upstream ? rt_ok() : rt_out_of_memory("a benchmark");
}

static void print(const char *command, const char *way, bench_times *t, double work, bool flops,
                  bench_times *yardstick, double yardstick_work)
{
    const double seconds = bench_median(t), other = bench_median(yardstick);
    printf("%-10s %-8s %9.3f ms (%.3f to %.3f)  ", command, way, 1e3 * seconds,
           1e3 * bench_quartile(t, 1), 1e3 * bench_quartile(t, 3));
    if (flops)
        printf("%7.1f GFLOP/s, %3.0f %% of the product's %.1f\n", 1e-9 * work / seconds,
               100 * (work / seconds) / (yardstick_work / other), 1e-9 * yardstick_work / other);
    else
        printf("%7.1f GB/s, %.2f times a copy of %.1f MB\n", 1e-9 * work / seconds, seconds / other,
               1e-6 * yardstick_work / 2);
}

static rt_status measure(const op_case *c, const int *sizes, problem *p, const real *upstream)
{
    static bench_times forward, backward, yardstick;
    rt_graph *g = rt_graph_new();
    rt_status status = g ? rt_ok() : rt_out_of_memory("a benchmark");
    const size_t copied = rt_size(&p->inputs[0]);
    const double start = rt_seconds();
    for (int i = -2; !status.code && (i < FEWEST_RUNS || rt_seconds() - start < long_enough); i++) {
        bench_watch w = {.op = c->op};
        const double other = c->flops ? bench_time_gemm(GEMM_SIZE) : bench_time_copy(copied);
        rt_graph_clear(g);
        rt_graph_observe(g, bench_watch_observer(&w));
        rt_tensor *y = c->build(g, p);
        status = y ? rt_graph_backward_from(g, y, upstream) : rt_graph_status(g);
        if (i < 0)
            continue;
        bench_add(&forward, w.seconds[0]);
        bench_add(&backward, w.seconds[1]);
        bench_add(&yardstick, other);
    }
    rt_graph_free(g);
    if (status.code)
        return status;
    const double bytes = 2.0 * (double)copied * sizeof(real);
    const double work = c->flops ? c->flops(sizes) : bytes;
    const double unit = c->flops ? 2.0 * GEMM_SIZE * GEMM_SIZE * GEMM_SIZE : bytes;
    const double back = c->flops == flops_of_attention ? 2.5 : 2;
    print(c->command, "forward", &forward, work, c->flops != NULL, &yardstick, unit);
    print(c->command, "backward", &backward, c->flops ? back * work : 1.5 * work, c->flops != NULL,
          &yardstick, unit);
    return status;
}

static rt_status bench_adamw(int argc, char **argv)
{
    static const char *const names[] = {"size", NULL};
    static bench_times times, copy;
    int size = 1 << 22;
    rt_status status = bench_sizes(argc, argv, names, &size);
    if (status.code)
        return status;
    real *memory = rt_alloc(4 * (size_t)size, sizeof *memory);
    const rt_update u = {.rule = RT_UPDATE_ADAMW,
                         .lr = 1e-3,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .eps = 1e-8,
                         .gradient_scale = 1,
                         .step = 1};
    for (int i = -2; memory && i < 4 * FEWEST_RUNS; i++) {
        const double other = bench_time_copy((size_t)size), start = rt_seconds();
        rt_update_apply(&u, memory, memory + size, memory + 2 * size, memory + 3 * size,
                        (size_t)size);
        if (i < 0)
            continue;
        bench_add(&times, rt_seconds() - start);
        bench_add(&copy, other);
    }
    if (!memory)
        return rt_out_of_memory("a benchmark");
    print("adamw", "", &times, 7.0 * size * sizeof(real), false, &copy, 2.0 * size * sizeof(real));
    rt_free(memory);
    return status;
}

rt_status bench_op(const char *name, int argc, char **argv)
{
    if (!strcmp(name, "adamw"))
        return bench_adamw(argc, argv);
    for (int i = 0; i < CASES; i++) {
        if (strcmp(cases[i].command, name))
            continue;
        problem p = {.count = 0};
        real *upstream = NULL;
        int sizes[5];
        memcpy(sizes, cases[i].sizes, sizeof sizes);
        rt_status status = bench_sizes(argc, argv, cases[i].names, sizes);
        if (!status.code)
            status = prepare(&p, &cases[i], sizes, &upstream);
        if (!status.code)
            status = measure(&cases[i], sizes, &p, upstream);
        for (int k = 0; k < p.count; k++)
            rt_free(p.inputs[k].data);
        rt_free(p.labels);
        rt_free(upstream);
        return status;
    }
    return rt_error(RT_CONFIG, "there is no benchmark '%s'; bench --help lists them", name);
}
