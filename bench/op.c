#include "bench/op.h"

#include "bench/table.h"
#include "core/memory.h"
#include "core/random.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

enum { WARM_UP = 3, FEWEST = 15 };

static const double long_enough = 2; /* seconds */

/* ---- watching ---- */

static bool watches(const bench_watch *w, const rt_node *n)
{
    return !w->op || !strcmp(w->op, n->op->name);
}

static void before(void *context, const rt_node *n, bool backward)
{
    bench_watch *w = context;
    (void)backward;
    if (watches(w, n))
        w->start = bench_now(w->options);
}

static void after(void *context, const rt_node *n, bool backward)
{
    bench_watch *w = context;
    if (watches(w, n))
        w->seconds[backward] += bench_now(w->options) - w->start;
}

rt_observer bench_watch_observer(bench_watch *w)
{
    return (rt_observer){before, after, w};
}

/* ---- printing ---- */

void bench_print(const bench_options *o, bool first, const char *command, const char *pass,
                 const bench_times *times, double work, const bench_times *yardstick, size_t copied)
{
    const double unit = copied ? 2.0 * (double)copied * sizeof(real) : bench_peak_flops();
    const double inverse = bench_ratio(times, yardstick), seconds = bench_median(times);
    BENCH_ROW(o, first, BENCH_TEXT("benchmark", 12, command), BENCH_TEXT("pass", 14, pass),
              BENCH_NUMBER("runs", 5, 0, times->count), BENCH_NUMBER("ms", 9, 3, 1e3 * seconds),
              BENCH_NUMBER("low", 9, 3, 1e3 * bench_quartile(times, 1)),
              BENCH_NUMBER("high", 9, 3, 1e3 * bench_quartile(times, 3)),
              BENCH_NUMBER("rate", 7, 1, 1e-9 * work / seconds),
              BENCH_TEXT("unit", 7, copied ? "GB/s" : "GFLOP/s"),
              BENCH_NUMBER("share %", 7, 0, 100 * work / unit / inverse),
              BENCH_TEXT("of", 11, copied ? "copy" : "gemm 1024^3"),
              BENCH_NUMBER("at", 7, 1, 1e-9 * unit / bench_median(yardstick)),
              BENCH_NUMBER("copies", 6, 2, copied ? inverse : (double)NAN));
}

/* ---- measuring ---- */

typedef struct result {
    bench_times pass[2], both, yardstick;
} result;

/* A view of a leaf is a tensor of the graph without any work. */
static rt_tensor *inputs_of(rt_graph *g, const bench_op *op, rt_tensor *leaves)
{
    rt_tensor *in[BENCH_MOST_INPUTS] = {0};
    for (int i = 0; i < op->inputs; i++)
        in[i] = op->parameter[i] ? &leaves[i] : rt_reshape(g, &leaves[i], op->shapes[i]);
    return op->build(g, in, op);
}

static rt_status run(const bench_options *o, const bench_op *op, rt_graph *g, rt_tensor *leaves,
                     const real *upstream, bench_yardstick *y, result *r)
{
    const size_t copied = op->flops[0] > 0 ? 0 : rt_size(&leaves[0]);
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
    rt_status status = rt_ok();
    while (!status.code && bench_next(&rounds, o, long_enough)) {
        bench_watch w = {.options = o, .op = op->op};
        const double yardstick = copied ? bench_copy(y, copied) : bench_peak_product(y);
        rt_graph_clear(g);
        rt_graph_observe(g, bench_watch_observer(&w));
        rt_tensor *out = inputs_of(g, op, leaves);
        status = out ? rt_graph_backward_from(g, out, upstream) : rt_graph_status(g);
        if (!bench_counts(&rounds))
            continue;
        bench_add(&r->pass[0], w.seconds[0]);
        bench_add(&r->pass[1], w.seconds[1]);
        bench_add(&r->both, w.seconds[0] + w.seconds[1]);
        bench_add(&r->yardstick, yardstick);
    }
    return status;
}

static void print(const bench_options *o, const char *command, const bench_op *op, const result *r,
                  size_t size)
{
    const bool products = op->flops[0] > 0;
    const size_t copied = products ? 0 : size;
    const double *work = products ? op->flops : op->bytes;
    bench_print(o, true, command, "forward", &r->pass[0], work[0], &r->yardstick, copied);
    bench_print(o, false, command, "backward", &r->pass[1], work[1], &r->yardstick, copied);
    bench_print(o, false, command, "both", &r->both, work[0] + work[1], &r->yardstick, copied);
    if (products && op->done[0] + op->done[1] > work[0] + work[1])
        bench_print(o, false, command, "both as done", &r->both, op->done[0] + op->done[1],
                    &r->yardstick, copied);
}

static rt_status make_leaf(rt_tensor *leaf, rt_shape shape, int stream)
{
    const size_t size = rt_shape_size(shape);
    if (!size)
        return rt_error(RT_CONFIG, "%s is no shape of a tensor",
                        rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape));
    real *data = rt_alloc(2 * size, sizeof *data);
    if (!data)
        return rt_out_of_memory("a benchmark");
    for (size_t i = 0; i < size; i++)
        data[i] = (real)(rt_random_uniform((rt_random){.seed = (uint64_t)stream}, i) - 0.5);
    *leaf = rt_tensor_of(data, data + size, shape);
    return rt_ok();
}

/* The size of the result: that of the first input, or of a linear map. */
static size_t result_size(const bench_op *op)
{
    const size_t rows = rt_shape_size(op->shapes[0]) / (size_t)op->shapes[0].axis[1];
    return op->parameter[1] && op->shapes[1].ndim == 2 ? rows * (size_t)op->shapes[1].axis[0]
                                                       : rt_shape_size(op->shapes[0]);
}

rt_status bench_op_measure(const bench_options *o, const char *command, const bench_op *op)
{
    rt_tensor leaves[BENCH_MOST_INPUTS] = {0}, upstream = {0};
    bench_yardstick y = {0};
    result *r = rt_alloc(1, sizeof *r);
    rt_graph *g = rt_graph_new();
    rt_status status = r && g ? bench_one_thread(o) : rt_out_of_memory("a benchmark");
    for (int i = 0; i < op->inputs && !status.code; i++)
        status = make_leaf(&leaves[i], op->shapes[i], i);
    if (!status.code)
        status = make_leaf(&upstream, RT_SHAPE_OF((int)result_size(op)), BENCH_MOST_INPUTS);
    if (!status.code) {
        const size_t copy = 2 * rt_size(&leaves[0]), product = bench_peak_memory();
        status = bench_yardstick_new(&y, o, 1, copy > product ? copy : product);
    }
    if (!status.code)
        status = run(o, op, g, leaves, upstream.data, &y, r);
    if (!status.code)
        print(o, command, op, r, rt_size(&leaves[0]));
    for (int i = 0; i < op->inputs; i++)
        rt_free(leaves[i].data);
    rt_free(upstream.data);
    bench_yardstick_free(&y);
    rt_graph_free(g);
    rt_free(r);
    return status;
}
