#include "bench/bench.h"

#include "core/graph.h"
#include "core/memory.h"
#include "core/random.h"
#include "models/transformer.h"
#include "ops/ops.h"
#include "optim/rules.h"
#include "tests/ops/calls.h"

#include <math.h>
#include <string.h>

/* Ops on one thread, forward and backward timed separately. Inputs are results of the graph, as in
 * a model, so that backward may overwrite their gradients. Parameters are leaves, to whose
 * gradients backward adds. */

enum { WARM_UP = 3, FEWEST = 15 };

static const double long_enough = 2; /* seconds */

/* Ops that are timed, by their calls of tests/ops/calls.h. `sizes` are the letters of a call's
 * shapes that the sizes of the command give, * the leading axis. An op over rows is compared with a
 * copy: `moved` is the number of bytes that forward and backward must read or write, as a multiple
 * of the size of the first input. */
static const struct {
    const char *command;
    const rt_op *op;
    const char *sizes;
    op_options options;
    double moved[2];
} ops[] = {
    {"rope", &rt_op_rope, "BTHD", {.number = 1, .form = RT_THETA_LOG}, {2, 3}},
    {"attention", &rt_op_attention, "BTHD", {.bias = false}, {0}},
    {"linear", &rt_op_linear, "*IO", {.onto = false}, {0}},
    {"layernorm", &rt_op_layer_norm, "*C", {.number = 1e-12}, {2, 3}},
    {"gelu", &rt_op_gelu, "*C", {.kind = RT_GELU}, {2, 3}},
    {"softmax", &rt_op_softmax, "*C", {.number = 0}, {2, 3}},
    {"xent", &rt_op_cross_entropy, "*V", {.ids = call_zeros}, {1, 2}},
};

typedef struct timed_op {
    rt_function build;
    void *context;
    const char *name; /* of the op that is timed; NULL: all ops */
    rt_shape shapes[MOST_INPUTS];
    int inputs;
    int activations; /* inputs that are results of the graph; the others are leaves */
    size_t result;   /* size of the result, in numbers */

    /* Work of forward and backward in the formula of the op: operations, or bytes if it is compared
     * with a copy of `copied` numbers. `done` includes operations that are computed twice. */
    double work[2];
    double done;
    size_t copied;
} timed_op;

/* Describes the op of row `kind` with the sizes of its command. Softmax attention stores no T x T
 * matrix: in the formula, its backward has twice the products of its forward; recomputing the
 * scores makes it 2.5 times. */
static timed_op describe(int kind, op_options *options)
{
    const op_call *call = op_call_of(ops[kind].op);
    const bool is_attention = call->op == &rt_op_attention, is_linear = call->op == &rt_op_linear;
    int lengths[128] = {0};
    rt_shape leading = {0};
    const char *next = call->inputs;
    *options = ops[kind].options;
    for (int i = 0; ops[kind].sizes[i]; i++)
        if (ops[kind].sizes[i] == '*')
            leading = RT_SHAPE_OF(bench.sizes[i]);
        else
            lengths[(int)ops[kind].sizes[i]] = bench.sizes[i];
    const double rows =
        leading.ndim ? leading.axis[0] : (double)lengths['B'] * lengths['T'] * lengths['H'];
    if (call->op == &rt_op_rope && lengths['D'] % 2)
        bench_need(rt_error(RT_CONFIG, "D must be even; got %d", lengths['D']));
    if (call->op == &rt_op_cross_entropy && rows > CALL_NUMBERS)
        bench_need(rt_error(RT_CONFIG, "rows must be at most %d; got %.0f", CALL_NUMBERS, rows));
    lengths['P'] = lengths['D'] / 2;
    lengths['S'] = lengths['T'];
    lengths['G'] = lengths['H'];
    lengths['E'] = lengths['D'];
    timed_op op = {.build = call->call, .context = options, .name = call->op->name};
    for (rt_shape x; op.inputs < (is_attention ? 3 : MOST_INPUTS) &&
                     (x = next_input(&next, lengths, leading)).ndim >= 0;)
        op.shapes[op.inputs++] = x;
    const size_t size = rt_shape_size(op.shapes[0]);
    op.activations = is_attention ? op.inputs : 1;
    op.result = is_linear ? (size_t)(rows * lengths['O']) : size;
    options->divisor = rows;
    const double flops = is_attention ? 4 * rows * lengths['T'] * lengths['D']
                                      : 2 * rows * lengths['I'] * lengths['O'];
    op.done = is_attention ? 3.5 * flops : 0;
    op.copied = ops[kind].moved[0] > 0 ? size : 0;
    for (int i = 0; i < 2; i++)
        op.work[i] = op.copied ? ops[kind].moved[i] * (double)size * sizeof(real) : (1 + i) * flops;
    return op;
}

/* Times of both passes, of their sum and of the yardstick. */
enum { FORWARD, BACKWARD, BOTH, YARDSTICK, SERIES };
static bench_times times[SERIES];

/* Seconds of the ops of a graph, forward and backward. */
typedef struct watch {
    const char *name; /* NULL: all ops */
    double start;
    double seconds[2];
} watch;

static void before(void *context, const rt_node *n, bool backward)
{
    watch *w = context;
    (void)n;
    (void)backward;
    w->start = bench_now();
}

static void after(void *context, const rt_node *n, bool backward)
{
    watch *w = context;
    if (!w->name || !strcmp(w->name, n->op->name))
        w->seconds[backward] += bench_now() - w->start;
}

static rt_tensor new_leaf(rt_shape shape, int stream)
{
    const size_t size = rt_shape_size(shape);
    if (!size)
        bench_need(rt_error(RT_CONFIG, "%s is no shape of a tensor",
                            rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape)));
    real *data = bench_alloc(2 * size, sizeof *data);
    for (size_t i = 0; i < size; i++)
        data[i] = (real)(rt_random_uniform((rt_random){.seed = (uint64_t)stream}, i) - 0.5);
    return rt_tensor_of(data, data + size, shape);
}

/* Measures an op into `times`. Returns the peak memory of the graph in bytes. Views of leaves make
 * inputs that belong to the graph, without any work. */
static size_t measure(const timed_op *op, bench_rounds rounds)
{
    rt_tensor leaves[MOST_INPUTS], *in[MOST_INPUTS] = {NULL};
    const int inputs = op->inputs;
    for (int i = 0; i < inputs; i++)
        leaves[i] = new_leaf(op->shapes[i], i);
    rt_tensor upstream = new_leaf(RT_SHAPE_OF((int)op->result), MOST_INPUTS);
    bench_yardstick y = bench_yardstick_new(1, op->copied);
    rt_graph *g = rt_graph_new();
    bench_need(g ? rt_ok() : rt_out_of_memory("a benchmark"));
    memset(times, 0, sizeof times);
    while (bench_next(&rounds)) {
        watch w = {.name = op->name};
        bench_add(&times[YARDSTICK], &rounds, bench_yardstick_time(&y));
        rt_graph_clear(g);
        rt_graph_observe(g, (rt_observer){before, after, &w});
        for (int i = 0; i < inputs; i++)
            in[i] = i < op->activations ? rt_reshape(g, &leaves[i], op->shapes[i]) : &leaves[i];
        rt_tensor *out = in[0] ? op->build(g, in, op->context) : NULL;
        bench_need(out ? rt_graph_backward_from(g, out, upstream.data) : rt_graph_status(g));
        bench_add(&times[FORWARD], &rounds, w.seconds[0]);
        bench_add(&times[BACKWARD], &rounds, w.seconds[1]);
        bench_add(&times[BOTH], &rounds, w.seconds[0] + w.seconds[1]);
    }
    const size_t peak = rt_graph_peak(g);
    for (int i = 0; i < inputs; i++)
        rt_free(leaves[i].data);
    rt_free(upstream.data);
    bench_yardstick_free(&y);
    rt_graph_free(g);
    return peak;
}

/* Prints the row of a pass. The yardstick is a copy of `copied` numbers, or the peak product if
 * that is 0; `work` is in bytes or operations. */
static void print_pass(bool first, const char *command, const char *pass, int series, double work,
                       size_t copied)
{
    const bench_times *t = &times[series], *yardstick = &times[YARDSTICK];
    const double unit = copied ? 2.0 * (double)copied * sizeof(real) : BENCH_PEAK_FLOPS;
    const double inverse = bench_ratio(t, yardstick);
    BENCH_ROW(first, BENCH_TEXT("benchmark", 12, command), BENCH_TEXT("pass", 14, pass),
              BENCH_NUMBER("runs", 5, 0, t->count), BENCH_TIMES("ms", 9, 3, 1e3, t),
              BENCH_NUMBER("rate", 7, 1, 1e-9 * work / bench_median(t)),
              BENCH_TEXT("unit", 7, copied ? "GB/s" : "GFLOP/s"),
              BENCH_NUMBER("share %", 7, 0, 100 * work / unit / inverse),
              BENCH_TEXT("of", 11, copied ? "copy" : "gemm 1024^3"),
              BENCH_NUMBER("at", 7, 1, 1e-9 * unit / bench_median(yardstick)),
              BENCH_NUMBER("copies", 6, 2, copied ? inverse : (double)NAN));
}

/* Measures the table of cosines and sines of a learned theta, which every step computes once for
 * queries and keys, because theta changes. */
static void measure_table(void)
{
    const int *n = bench.sizes;
    const int pairs = n[3] / 2;
    const size_t size = rt_shape_size(RT_SHAPE_OF(n[0], n[1], n[2], n[3]));
    bench_yardstick y = bench_yardstick_new(1, size);
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough / 2};
    rt_tensor theta = new_leaf(RT_SHAPE_OF(pairs), 0);
    rt_graph *g = rt_graph_new();
    bench_need(g ? rt_ok() : rt_out_of_memory("a benchmark"));
    memset(times, 0, sizeof times);
    while (bench_next(&rounds)) {
        bench_add(&times[YARDSTICK], &rounds, bench_yardstick_time(&y));
        rt_graph_clear(g);
        const double start = bench_now();
        if (!rt_rotation_learned(g, &theta, RT_THETA_LOG, RT_INTERLEAVED, 1,
                                 (rt_positions){.B = n[0], .T = n[1]}))
            bench_need(rt_graph_status(g));
        bench_add(&times[FORWARD], &rounds, bench_now() - start);
    }
    print_pass(false, "rope", "table", FORWARD, 2.0 * n[1] * pairs * sizeof(real), size);
    bench_yardstick_free(&y);
    rt_graph_free(g);
    rt_free(theta.data);
}

void bench_op(void)
{
    const char *name = bench.command;
    int kind = 0;
    while (strcmp(ops[kind].command, name) != 0)
        kind++;
    op_options options;
    const timed_op op = describe(kind, &options);
    measure(&op, (bench_rounds){.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough});
    print_pass(true, name, "forward", FORWARD, op.work[0], op.copied);
    print_pass(false, name, "backward", BACKWARD, op.work[1], op.copied);
    print_pass(false, name, "both", BOTH, op.work[0] + op.work[1], op.copied);
    if (op.done > 0)
        print_pass(false, name, "both as done", BOTH, op.done, op.copied);
    if (ops[kind].op == &rt_op_rope)
        measure_table();
}

/* Measures the update of the parameters, which reads value, gradient and two moments, and writes
 * all but the gradient. */
void bench_adamw(void)
{
    enum { STREAMS = 4, MOVED = 7 };
    const size_t size = (size_t)bench.sizes[0];
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    const rt_update u = {
        .settings = &settings, .lr = 1e-3, .decay = 0.01, .gradient_scale = 1, .step = 1};
    bench_yardstick y = bench_yardstick_new(1, size);
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough};
    real *memory = bench_alloc(STREAMS * size, sizeof *memory), *gradient = memory + 3 * size;
    real *const states[RT_MOST_STATES] = {memory + size, memory + 2 * size};
    for (size_t i = 0; i < size; i++) /* not 0, to avoid denormal numbers */
        gradient[i] = (real)(1e-3 * (double)(i % 100) + 1e-3);
    while (bench_next(&rounds)) {
        bench_add(&times[YARDSTICK], &rounds, bench_yardstick_time(&y));
        const double start = bench_now();
        rt_update_rule_of(&settings)->span(&u, memory, states, gradient, size);
        bench_add(&times[FORWARD], &rounds, bench_now() - start);
    }
    print_pass(true, "adamw", "update", FORWARD, (double)MOVED * (double)size * sizeof(real), size);
    rt_free(memory);
    bench_yardstick_free(&y);
}

/* Attention of one layer with RoPE, at doubling lengths: linear cost has a constant cost per token.
 * All ops of a form count, including the rotation. Softmax attention is measured beside the linear
 * forms up to LONGEST_SOFTMAX. */

enum { LONGEST_SOFTMAX = 4096, MOST_PAIRS = 256 };

static const char *const forms[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct form {
    rt_attention_kind kind;
    bool causal;
    const rt_rotation *rotation;
} form;

BUILDER(attend)
{
    const form *f = context;
    const rt_rotation *r = f->rotation;
    if (f->kind == RT_ATTENTION_SOFTMAX)
        return rt_attention(g, rt_rope(g, in[0], r), rt_rope(g, in[1], r), in[2],
                            &(rt_attention_options){.causal = f->causal});
    return rt_linear_form(g, in[0], in[1], in[2],
                          &(rt_linear_form_options){.kind = f->kind,
                                                    .causal = f->causal,
                                                    .query_rotation = r,
                                                    .key_rotation = r});
}

/* Measures a form at length T. Counts, for every token, two products of the features with a state,
 * or the scores and values of the keys that softmax sees; a causal linear form does more than is
 * counted. Backward counts twice. */
static void measure_form(bool first, rt_attention_kind kind, bool causal, int T, int H, int D)
{
    rt_graph *tables = rt_graph_new();
    double theta[MOST_PAIRS];
    const rt_shape x = RT_SHAPE_OF(1, T, H, D);
    if (!rt_shape_size(x) || D % 2 || D / 2 > MOST_PAIRS)
        bench_need(rt_error(RT_CONFIG, "D must be even and at most %d, and %s a tensor",
                            2 * MOST_PAIRS, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, x)));
    rt_theta_geometric(theta, D / 2, 10000);
    const rt_rotation *rotation =
        tables ? rt_rotation_fixed(tables, theta, RT_SHAPE_OF(1, D / 2), RT_INTERLEAVED, 1,
                                   (rt_positions){.B = 1, .T = T})
               : NULL;
    bench_need(tables ? rt_graph_status(tables) : rt_out_of_memory("a graph"));
    const double width = kind != RT_ATTENTION_SOFTMAX ? D : causal ? (T + 1) / 2.0 : T;
    const double flops = 3 * 4.0 * T * H * D * width;
    form f = {kind, causal, rotation};
    const timed_op op = {.build = attend,
                         .context = &f,
                         .shapes = {x, x, x},
                         .inputs = 3,
                         .activations = 3,
                         .result = rt_shape_size(x)};
    const size_t peak =
        measure(&op, (bench_rounds){.warm_up = 1, .fewest = 5, .seconds = long_enough / 8});
    BENCH_ROW(first, BENCH_TEXT("attention", 14, forms[kind]),
              BENCH_TEXT("causal", 6, causal ? "yes" : "no"), BENCH_NUMBER("T", 6, 0, T),
              BENCH_NUMBER("runs", 4, 0, times[BOTH].count),
              BENCH_TIMES("ms", 9, 3, 1e3, &times[BOTH]),
              BENCH_NUMBER("forward us/token", 16, 3, 1e6 / T * bench_median(&times[FORWARD])),
              BENCH_NUMBER("backward us/token", 17, 3, 1e6 / T * bench_median(&times[BACKWARD])),
              BENCH_NUMBER("GFLOP/s", 7, 1, 1e-9 * flops / bench_median(&times[BOTH])),
              BENCH_NUMBER("share %", 7, 0,
                           100 * flops / BENCH_PEAK_FLOPS *
                               bench_ratio(&times[YARDSTICK], &times[BOTH])),
              BENCH_NUMBER("kB/token", 8, 2, (double)peak / 1024 / T));
    rt_graph_free(tables);
}

void bench_linear_attention(void)
{
    const int *n = bench.sizes;
    bool first = true;
    for (int kind = 0; kind < FORMS; kind++)
        for (int causal = 0; causal < 2; causal++)
            for (int T = n[2]; T <= n[3]; T *= 2, first = false)
                if (kind != RT_ATTENTION_SOFTMAX || T <= LONGEST_SOFTMAX)
                    measure_form(first, (rt_attention_kind)kind, causal, T, n[0], n[1]);
}
