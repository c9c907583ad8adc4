#include "bench/bench.h"

#include "core/graph.h"
#include "core/memory.h"
#include "core/random.h"
#include "models/layers.h"
#include "ops/ops.h"
#include "optim/rules.h"

#include <math.h>
#include <string.h>

enum { MOST_INPUTS = 3, WARM_UP = 3, FEWEST = 15 };

static const double long_enough = 2; /* seconds */

/* An op that is measured on one thread, forward and backward apart. Its inputs are results of the
 * graph, as in a model, so that backward may overwrite their gradients. Parameters are leaves, to
 * whose gradients backward adds. */
typedef struct bench_op {
    const char *op; /* what is timed, by the name in the graph */
    int inputs;
    rt_shape shapes[MOST_INPUTS];
    bool parameter[MOST_INPUTS];
    const int32_t *labels; /* of cross-entropy */

    rt_tensor *(*build)(rt_graph *g, rt_tensor *const *in, const struct bench_op *op);

    /* Operations of forward and backward, as the op is written down; `done` counts what is
     * computed twice as well. 0: bytes of the least traffic count, against a copy. */
    double flops[2];
    double done[2];
    double bytes[2];
} bench_op;

/* ---- watching ---- */

/* Seconds of the ops of a graph, forward and backward. */
typedef struct bench_watch {
    const bench_options *options;
    const char *op; /* NULL: all ops */
    double start;
    double seconds[2];
} bench_watch;
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

static rt_observer observer_of(bench_watch *w)
{
    return (rt_observer){before, after, w};
}

/* ---- printing ---- */

/* Prints the row of a pass. The yardstick is a copy of `copied` numbers, or the peak if that is 0;
 * `work` is in bytes or operations. */
static void print_pass(const bench_options *o, bool first, const char *command, const char *pass,
                       const bench_times *times, double work, const bench_times *yardstick,
                       size_t copied)
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
    rt_tensor *in[MOST_INPUTS] = {0};
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
        rt_graph_observe(g, observer_of(&w));
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
    print_pass(o, true, command, "forward", &r->pass[0], work[0], &r->yardstick, copied);
    print_pass(o, false, command, "backward", &r->pass[1], work[1], &r->yardstick, copied);
    print_pass(o, false, command, "both", &r->both, work[0] + work[1], &r->yardstick, copied);
    if (products && op->done[0] + op->done[1] > work[0] + work[1])
        print_pass(o, false, command, "both as done", &r->both, op->done[0] + op->done[1],
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

static rt_status measure_op(const bench_options *o, const char *command, const bench_op *op)
{
    rt_tensor leaves[MOST_INPUTS] = {0}, upstream = {0};
    bench_yardstick y = {0};
    result *r = rt_alloc(1, sizeof *r);
    rt_graph *g = rt_graph_new();
    rt_status status = r && g ? bench_one_thread(o) : rt_out_of_memory("a benchmark");
    for (int i = 0; i < op->inputs && !status.code; i++)
        status = make_leaf(&leaves[i], op->shapes[i], i);
    if (!status.code)
        status = make_leaf(&upstream, RT_SHAPE_OF((int)result_size(op)), MOST_INPUTS);
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

/* Softmax attention, which keeps no T x T matrix. Written down, its backward takes twice the
 * products of its forward; forming the scores once more makes it 2.5 times. */

static rt_tensor *build_attention(rt_graph *g, rt_tensor *const *in, const bench_op *op)
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
    return measure_op(o, "attention",
                      &(bench_op){.op = "attention",
                                  .inputs = 3,
                                  .shapes = {x, x, x},
                                  .build = build_attention,
                                  .flops = {flops, 2 * flops},
                                  .done = {flops, 2.5 * flops}});
}

static rt_tensor *build_linear(rt_graph *g, rt_tensor *const *in, const bench_op *op)
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
    return measure_op(o, "linear",
                      &(bench_op){.op = "linear",
                                  .inputs = 3,
                                  .shapes = {RT_SHAPE_OF(n[0], n[1]), RT_SHAPE_OF(n[2], n[1]),
                                             RT_SHAPE_OF(n[2])},
                                  .parameter = {false, true, true},
                                  .build = build_linear,
                                  .flops = {flops, 2 * flops}});
}

/* Ops that go over the rows of a matrix, beside a copy of it. The bytes counted are those that
 * must be moved: forward reads x and writes the result, backward reads the result's gradient and
 * what forward left and writes the gradient of x. */

static const char *const row_names[] = {"rows", "columns", NULL};

static rt_status measure_rows(const bench_options *o, const char *command, int argc, char **argv,
                              bench_op op, double forward, double backward)
{
    int n[] = {4096, 512};
    rt_status status = bench_sizes(argc, argv, row_names, n);
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
    status = measure_op(o, command, &op);
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
    return measure_rows(o, "layernorm", argc, argv, op, 2, 3);
}

static rt_tensor *build_gelu(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    return rt_gelu(g, in[0]);
}

rt_status bench_gelu(const bench_options *o, int argc, char **argv)
{
    const bench_op op = {.op = "gelu", .inputs = 1, .build = build_gelu};
    return measure_rows(o, "gelu", argc, argv, op, 2, 3);
}

static rt_tensor *build_softmax(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    (void)op;
    return rt_softmax(g, in[0]);
}

rt_status bench_softmax(const bench_options *o, int argc, char **argv)
{
    const bench_op op = {.op = "softmax", .inputs = 1, .build = build_softmax};
    return measure_rows(o, "softmax", argc, argv, op, 2, 3);
}

static rt_tensor *build_cross_entropy(rt_graph *g, rt_tensor *const *in, const bench_op *op)
{
    return rt_cross_entropy(g, in[0], op->labels, 0, op->shapes[0].axis[0]);
}

rt_status bench_xent(const bench_options *o, int argc, char **argv)
{
    const bench_op op = {.op = "cross_entropy", .inputs = 1, .build = build_cross_entropy};
    return measure_rows(o, "xent", argc, argv, op, 1, 2);
}

/* Rotation with a learned theta, beside a copy of the tensor. The table of cosines and sines is
 * made anew in every step, since theta moves; it serves queries and keys alike. */

static const double long_table = 1; /* seconds, of the table */

static rt_rotation *table(rt_graph *g, rt_tensor *theta, int B, int T)
{
    return rt_rotation_learned(g, theta, RT_THETA_LOG, RT_INTERLEAVED, 1, B, T, (rt_positions){0});
}

static rt_tensor *build_rope(rt_graph *g, rt_tensor *const *in, const bench_op *op)
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
    while (!status.code && bench_next(&rounds, o, long_table)) {
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
        print_pass(o, false, "rope", "table", &times, 2.0 * n[1] * pairs * sizeof(real), &copies,
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
    status = measure_op(o, "rope",
                        &(bench_op){.op = "rope",
                                    .inputs = 2,
                                    .shapes = {x, RT_SHAPE_OF(n[3] / 2)},
                                    .parameter = {false, true},
                                    .build = build_rope,
                                    .bytes = {2 * bytes, 3 * bytes}});
    return status.code ? status : measure_table(o, n, rt_shape_size(x));
}

/* The update of the parameters: reads value, gradient and two moments, writes all but the
 * gradient. */

enum { STREAMS = 4, MOVED = 7 };

static rt_status measure_adamw(const bench_options *o, real *memory, size_t size,
                               bench_yardstick *y)
{
    static bench_times times, copies;
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    const rt_update u = {
        .settings = &settings, .lr = 1e-3, .decay = 0.01, .gradient_scale = 1, .step = 1};
    real *const states[RT_MOST_STATES] = {memory + size, memory + 2 * size};
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
    while (bench_next(&rounds, o, long_enough)) {
        const double copy = bench_copy(y, size), start = bench_now(o);
        rt_update_rule_of(&settings)->stretch(&u, memory, states, memory + 3 * size, size);
        if (!bench_counts(&rounds))
            continue;
        bench_add(&times, bench_now(o) - start);
        bench_add(&copies, copy);
    }
    print_pass(o, true, "adamw", "update", &times, (double)MOVED * (double)size * sizeof(real),
               &copies, size);
    return rt_ok();
}

rt_status bench_adamw(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"size", NULL};
    int size = 1 << 22;
    bench_yardstick y = {0};
    real *memory = NULL;
    rt_status status = bench_sizes(argc, argv, names, &size);
    if (!status.code)
        status = bench_one_thread(o);
    if (!status.code)
        status = bench_yardstick_new(&y, o, 1, 2 * (size_t)size);
    if (!status.code) {
        memory = rt_alloc(STREAMS * (size_t)size, sizeof *memory);
        status = memory ? rt_ok() : rt_out_of_memory("a benchmark");
    }
    /* Gradients that are not 0, so that no number becomes denormal. */
    for (size_t i = 3 * (size_t)size; !status.code && i < STREAMS * (size_t)size; i++)
        memory[i] = (real)(1e-3 * (double)(i % 100) + 1e-3);
    if (!status.code)
        status = measure_adamw(o, memory, (size_t)size, &y);
    rt_free(memory);
    bench_yardstick_free(&y);
    return status;
}

/* Doubles the length: what grows linearly keeps its cost per token. One layer's attention with
 * RoPE, on one thread; all ops of a form count, the rotation too. Softmax attention stands beside
 * the linear forms as far as it can be afforded. */

enum { FORM_WARM_UP = 1, FORM_FEWEST = 5, LONGEST_SOFTMAX = 4096, BLOCKS = 7, MOST_PAIRS = 256 };

static const double long_form = 0.25; /* seconds, of one length */

static const char *const forms[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct problem {
    rt_attention_kind kind;
    bool causal;
    int T, H, D;
    rt_rotation_table table;
    rt_tensor q, k, v;
    real *memory, *upstream;
} problem;

/* Views, so that the gradients of q, k and v are fresh memory, as in a model. */
static rt_tensor *attend(rt_graph *g, problem *p)
{
    const rt_shape shape = rt_tensor_shape(&p->q);
    const rt_rotation *r = &p->table.rotation;
    rt_tensor *q = rt_reshape(g, &p->q, shape), *k = rt_reshape(g, &p->k, shape);
    rt_tensor *v = rt_reshape(g, &p->v, shape);
    if (p->kind == RT_ATTENTION_SOFTMAX)
        return rt_attention(g, rt_rope(g, q, r), rt_rope(g, k, r), v,
                            &(rt_attention_options){.causal = p->causal});
    return rt_linear_form(g, q, k, v,
                          &(rt_linear_form_options){.kind = p->kind,
                                                    .causal = p->causal,
                                                    .query_rotation = r,
                                                    .key_rotation = r});
}

/* For every token two products of the features with a state, or the scores and the values of the
 * keys that softmax sees. A causal linear form does more than is counted. Backward makes twice as
 * many. */
static double flops_of(const problem *p)
{
    const double seen = p->causal ? (p->T + 1) / 2.0 : p->T;
    const double width = p->kind == RT_ATTENTION_SOFTMAX ? seen : p->D;
    return 3 * 4.0 * p->T * p->H * p->D * width;
}

static void print_form(const bench_options *o, bool first, const problem *p,
                       const bench_times *pass, const bench_times *both,
                       const bench_times *yardstick, size_t peak)
{
    const double token = 1e6 / p->T;
    BENCH_ROW(o, first, BENCH_TEXT("attention", 14, forms[p->kind]),
              BENCH_TEXT("causal", 6, p->causal ? "yes" : "no"), BENCH_NUMBER("T", 6, 0, p->T),
              BENCH_NUMBER("runs", 4, 0, both->count),
              BENCH_NUMBER("ms", 9, 3, 1e3 * bench_median(both)),
              BENCH_NUMBER("low", 9, 3, 1e3 * bench_quartile(both, 1)),
              BENCH_NUMBER("high", 9, 3, 1e3 * bench_quartile(both, 3)),
              BENCH_NUMBER("forward us/token", 16, 3, token * bench_median(&pass[0])),
              BENCH_NUMBER("backward us/token", 17, 3, token * bench_median(&pass[1])),
              BENCH_NUMBER("GFLOP/s", 7, 1, 1e-9 * flops_of(p) / bench_median(both)),
              BENCH_NUMBER("share %", 7, 0,
                           100 * flops_of(p) / bench_peak_flops() * bench_ratio(yardstick, both)),
              BENCH_NUMBER("kB/token", 8, 2, (double)peak / 1024 / p->T));
}

static rt_status measure_form(const bench_options *o, bool first, problem *p, rt_graph *g,
                              bench_yardstick *y)
{
    static bench_times pass[2], both, yardstick;
    bench_rounds rounds = {.warm_up = FORM_WARM_UP, .fewest = FORM_FEWEST};
    rt_status status = rt_ok();
    pass[0].count = pass[1].count = both.count = yardstick.count = 0;
    while (!status.code && bench_next(&rounds, o, long_form)) {
        bench_watch w = {.options = o};
        const double product = bench_peak_product(y);
        rt_graph_clear(g);
        rt_graph_observe(g, observer_of(&w));
        rt_tensor *out = attend(g, p);
        status = out ? rt_graph_backward_from(g, out, p->upstream) : rt_graph_status(g);
        if (!bench_counts(&rounds))
            continue;
        bench_add(&pass[0], w.seconds[0]);
        bench_add(&pass[1], w.seconds[1]);
        bench_add(&both, w.seconds[0] + w.seconds[1]);
        bench_add(&yardstick, product);
    }
    if (!status.code)
        print_form(o, first, p, pass, &both, &yardstick, rt_graph_peak(g));
    return status;
}

static rt_status problem_new(problem *p)
{
    const rt_shape shape = RT_SHAPE_OF(1, p->T, p->H, p->D);
    const size_t size = rt_shape_size(shape);
    double theta[MOST_PAIRS];
    if (!size || p->D % 2 || p->D / 2 > MOST_PAIRS)
        return rt_error(RT_CONFIG, "D must be even and at most %d, and %s a tensor", 2 * MOST_PAIRS,
                        rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape));
    rt_theta_geometric(theta, p->D / 2, 10000);
    rt_status status = rt_rotation_table_init(&p->table, theta, p->D / 2, RT_INTERLEAVED, 1);
    if (!status.code)
        status = rt_rotation_reserve(&p->table, p->T);
    if (status.code)
        return status;
    p->memory = rt_alloc(BLOCKS * size, sizeof *p->memory);
    if (!p->memory)
        return rt_out_of_memory("a benchmark");
    for (size_t i = 0; i < BLOCKS * size; i++)
        p->memory[i] = (real)(rt_random_uniform((rt_random){.seed = 1}, i) - 0.5);
    p->q = rt_tensor_of(p->memory, p->memory + size, shape);
    p->k = rt_tensor_of(p->memory + 2 * size, p->memory + 3 * size, shape);
    p->v = rt_tensor_of(p->memory + 4 * size, p->memory + 5 * size, shape);
    p->upstream = p->memory + 6 * size;
    return rt_ok();
}

/* A graph of its own for every length: its peak is that of this length. */
static rt_status measure_length(const bench_options *o, bool first, problem p, bench_yardstick *y)
{
    rt_graph *g = rt_graph_new();
    rt_status status = g ? problem_new(&p) : rt_out_of_memory("a benchmark");
    if (!status.code)
        status = measure_form(o, first, &p, g, y);
    rt_graph_free(g);
    rt_rotation_table_free(&p.table);
    rt_free(p.memory);
    return status;
}

rt_status bench_linear_attention(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"H", "D", "from", "to", NULL};
    int n[] = {4, 64, 512, 16384};
    bench_yardstick y = {0};
    bool first = true;
    rt_status status = bench_sizes(argc, argv, names, n);
    if (!status.code)
        status = bench_one_thread(o);
    if (!status.code)
        status = bench_yardstick_new(&y, o, 1, bench_peak_memory());
    for (int kind = 0; kind < FORMS; kind++)
        for (int causal = 0; causal < 2; causal++)
            for (int T = n[2]; T <= n[3] && !status.code; T *= 2, first = false)
                if (kind != RT_ATTENTION_SOFTMAX || T <= LONGEST_SOFTMAX)
                    status = measure_length(o, first,
                                            (problem){.kind = (rt_attention_kind)kind,
                                                      .causal = causal,
                                                      .T = T,
                                                      .H = n[0],
                                                      .D = n[1]},
                                            &y);
    bench_yardstick_free(&y);
    return status;
}
