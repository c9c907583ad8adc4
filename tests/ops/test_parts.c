/* The parts of an op have the same bits in any order on any thread. Attention batches heads where
 * the engine computes batches, and agrees with heads that are computed one at a time. */

#include "calls.h"
#include "graphs.h"
#include "numbers.h"

enum { B = 3, TOKENS = 350, C = 288, HEADS = 6, KEY_HEADS = 2, VOCAB = 300 };
enum { ROWS = B * TOKENS, LARGE = 640 };

static int32_t ids[ROWS];

/* The gradient of x is fresh. */
BUILDER(linear_of_result)
{
    return rt_linear(g, rt_scale(g, in[0], 1), in[1], in[2]);
}

BUILDER(linear_twice)
{
    rt_tensor *square = rt_scale(g, in[0], 1);
    return rt_linear(g, square, square, NULL);
}

BUILDER(add_twice)
{
    return rt_add(g, rt_add(g, in[0], in[1]), in[0]);
}

/* clang-format off */
#define O(...) .o = &(const op_options){__VA_ARGS__}
#define OF_HEADS(T, heads) {4, {B, T, heads, C / HEADS}}
#define LONG {4, {1, 600, HEADS, C / HEADS}}
#define SMALL {4, {B, TOKENS, HEADS, 16}}
#define X      {2, {ROWS, C, 1, 1}}
#define WEIGHT {2, {LARGE, C, 1, 1}}
#define VECTOR(size) {1, {size, 1, 1, 1}}
typedef struct row {
    const rt_op *op;
    rt_shape shapes[MOST_INPUTS];
    const op_options *o;
    rt_function build;
} row;

static const row table[] = {
    {&rt_op_linear, .shapes = {X, WEIGHT, VECTOR(LARGE)}, .build = linear_of_result},
    {&rt_op_linear, .shapes = {{2, {LARGE, LARGE, 1, 1}}}, .build = linear_twice},
    {&rt_op_linear, .shapes = {X, WEIGHT, VECTOR(LARGE), {2, {ROWS, LARGE, 1, 1}}},
     O(.onto = true)},
    {&rt_op_linear_activation, .shapes = {X, WEIGHT, VECTOR(LARGE)}, O(.kind = RT_GELU)},
    {&rt_op_layer_norm, .shapes = {X, VECTOR(C)}},
    {&rt_op_layer_norm, .shapes = {X, VECTOR(C), VECTOR(C)}},
    {&rt_op_rms_norm, .shapes = {X, VECTOR(C)}},
    {&rt_op_gelu, .shapes = {X}},
    {&rt_op_glu, .shapes = {X, X}},
    {&rt_op_dropout, .shapes = {X}, O(.number = 0.3)},
    {&rt_op_add, .shapes = {{3, {B, TOKENS, C, 1}}, {2, {TOKENS, C, 1, 1}}}, .build = add_twice},
    {&rt_op_normalize, .shapes = {X}},
    {&rt_op_embedding, .shapes = {{2, {VOCAB, C, 1, 1}}},
     O(.ids = ids, .shape = {2, {B, TOKENS}}, .padding = 2)},
    {&rt_op_cross_entropy, .shapes = {{2, {ROWS, VOCAB, 1, 1}}},
     O(.ids = ids, .number = 0.1, .divisor = 7)},
    {&rt_op_rope, .shapes = {OF_HEADS(TOKENS, HEADS), {2, {HEADS, C / HEADS / 2, 1, 1}}},
     O(.number = 1, .pairing = RT_HALF)},
    {&rt_op_rope, .shapes = {OF_HEADS(TOKENS, HEADS), {4, {B, TOKENS, KEY_HEADS, 8}}},
     O(.by_angles = true)},
    {&rt_op_angles, .shapes = {{4, {B, TOKENS, HEADS, C / HEADS}}, {2, {HEADS, C / HEADS}}},
     O(.form = RT_THETA_RAW)},
    {&rt_op_polar, .shapes = {OF_HEADS(TOKENS, HEADS), {2, {KEY_HEADS, C / HEADS}}}},
    {&rt_op_running_sum, .shapes = {{3, {B, TOKENS, C, 1}}}, O(.kind = 1)},
    {&rt_op_running_sum, .shapes = {{3, {B, C, TOKENS, 1}}}, O(.kind = 2)},
    {&rt_op_depthwise_conv, .shapes = {{3, {B, TOKENS, C, 1}}, {2, {C, 4}}}},
    {&rt_op_shift, .shapes = {OF_HEADS(TOKENS, HEADS)}, O(.kind = 7)},
    {&rt_op_attention, .shapes = {OF_HEADS(TOKENS, HEADS), OF_HEADS(TOKENS, KEY_HEADS),
                                  OF_HEADS(TOKENS, KEY_HEADS)}, O(.bias = false)},
    {&rt_op_attention, .shapes = {LONG, LONG, LONG},
     O(.attention = {.causal = true, .dropout = 0.2})},
    {&rt_op_attention, .shapes = {LONG, LONG, LONG, {3, {1, HEADS, 600, 1}}},
     O(.key_bias = true, .attention = {.causal = true})},
    {&rt_op_linear_attention, .shapes = {SMALL, SMALL, SMALL, SMALL, SMALL},
     O(.linear = {.causal = true, .eps = 1e-3})},
};
/* clang-format on */

/* The result, the gradients of the inputs and the probabilities, in this order. */
typedef struct results {
    real *numbers;
    size_t size;
    size_t ends[MOST_INPUTS + 2];
    int parts;
    char call[CALL_TEXT_SIZE];
} results;

static void keep(results *o, const real *x, size_t size)
{
    o->numbers = realloc(o->numbers, (o->size + size) * sizeof *x);
    memcpy(o->numbers + o->size, x, size * sizeof *x);
    o->ends[o->parts++] = o->size += size;
}

enum { PROBABILITIES = 140000 };
static real probabilities[PROBABILITIES];

static results compute(const row *r, const rt_threads *crew)
{
    rt_tensor leaves[MOST_INPUTS], *in[MOST_INPUTS] = {NULL};
    const op_call *c = op_call_of(r->op);
    results o = {.numbers = NULL};
    rt_graph *g = rt_graph_new();
    memset(probabilities, 0, sizeof probabilities);
    int inputs = 0;
    for (int i = 0; i < MOST_INPUTS && r->shapes[i].ndim; i++, inputs++) {
        const size_t size = rt_shape_size(r->shapes[i]);
        real *data = rt_alloc(size, sizeof *data), *grad = rt_alloc(size, sizeof *grad);
        fill(data, size, (uint32_t)i);
        leaves[i] = rt_tensor_of(data, grad, r->shapes[i]);
        in[i] = leaves + i;
    }
    rt_graph_set_threads(g, crew);
    rt_graph_set_random(g, 1, 2, 3);
    const rt_function call = r->build ? r->build : c->call;
    const op_options *options = r->o ? r->o : &c->good;
    write_call(o.call, r->op, in, inputs, options);
    rt_tensor *y = made(g, call(g, in, (void *)options));
    keep(&o, y->data, rt_size(y));
    real *upstream = rt_alloc(rt_size(y), sizeof *upstream);
    fill(upstream, rt_size(y), 9);
    expect_ok(rt_graph_backward_from(g, y, upstream));
    for (int i = 0; i < MOST_INPUTS && in[i]; i++) {
        keep(&o, leaves[i].grad, rt_size(in[i]));
        rt_free(leaves[i].data);
        rt_free(leaves[i].grad);
    }
    if (r->o && r->o->attention.probabilities)
        keep(&o, probabilities, PROBABILITIES);
    rt_free(upstream);
    rt_graph_free(g);
    return o;
}

SAMPLED_ROWS(parts_have_the_same_bits_in_any_order, 0, ROWS(table), 5)
{
    int shared = 0;
    const rt_threads crew = {run_backwards, &shared};
    for (int i = 0; i < ROWS; i++)
        ids[i] = (i * i + 7 * i) % (VOCAB / 4);
    const results alone = compute(table + _i, NULL), backwards = compute(table + _i, &crew);
    ck_assert_msg(shared > 1, "%s: %d passes in parts", alone.call, shared);
    ck_assert_uint_eq(alone.size, backwards.size);
    for (size_t i = 0; i < alone.size; i++)
        ck_assert_msg(!memcmp(alone.numbers + i, backwards.numbers + i, sizeof(real)),
                      "%s: number %zu is %.9g, in the other order %.9g", alone.call, i,
                      (double)alone.numbers[i], (double)backwards.numbers[i]);
    free(alone.numbers);
    free(backwards.numbers);
}

static const double slopes[] = {0.1, 0.02, 0.3, 0.007, 0.2, 0.05};
static const int16_t class_of[] = {0, 1, 2, 1, 0};
static const rt_distances distances = {.classes = 3, .reach = 2, .class_of = class_of};
static uint8_t mask[8 * 600];

/* clang-format off */
#define ATTENTION(B, Tq, Tk, H, G, D, E, ...)                                                      \
    {&rt_op_attention, {{4, {B, Tq, H, D}}, {4, {B, Tk, G, D}}, {4, {B, Tk, G, E}}},               \
     O(.attention = {.scale = 0.5, .probabilities = probabilities, __VA_ARGS__})}
#define KEY_BIAS(B, Tq, Tk, H, G, ...)                                                             \
    {&rt_op_attention, {{4, {B, Tq, H, 8}}, {4, {B, Tk, G, 8}}, {4, {B, Tk, G, 8}},                \
                        {3, {B, H, Tk, 1}}},                                                       \
     O(.key_bias = true, .attention = {.scale = 0.5, .probabilities = probabilities, __VA_ARGS__})}
#define OF_DISTANCES(H, G, ...)                                                                    \
    {&rt_op_attention, {{4, {3, 24, H, 8}}, {4, {3, 24, G, 8}}, {4, {3, 24, G, 8}}, {2, {3, H}},   \
                        {2, {3, 8}}},                                                              \
     O(.bias = true, .keys = true, .attention = {.scale = 0.5, .probabilities = probabilities,     \
                                                 .distances = &distances, __VA_ARGS__})}
/* One pack of heads and several, even and uneven; single heads; more than one tile; shared keys. */
static const row attentions[] = {
    ATTENTION(3, 32, 32, 4, 4, 16, 16, .causal = true),
    ATTENTION(7, 40, 40, 4, 4, 8, 6, .key_mask = mask),
    ATTENTION(2, 64, 64, 6, 2, 8, 8, .causal = true, .window = 9, .slopes = slopes),
    ATTENTION(3, 30, 30, 6, 3, 4, 5, .key_mask = mask, .slopes = slopes),
    ATTENTION(2, 20, 50, 4, 1, 8, 8, .window = 17),
    ATTENTION(1, 150, 150, 5, 5, 8, 8, .causal = true, .key_mask = mask),
    ATTENTION(1, 150, 150, 6, 6, 8, 8, .dropout = 0.3),
    ATTENTION(1, 260, 260, 2, 2, 8, 8, .causal = true),
    ATTENTION(3, 1, 400, 4, 4, 8, 8, .causal = false),
    ATTENTION(3, 2, 600, 4, 2, 8, 8, .dropout = 0.2),
    KEY_BIAS(3, 40, 40, 6, 3, .causal = true, .key_mask = mask),
    KEY_BIAS(2, 7, 300, 4, 4, .window = 50),
    OF_DISTANCES(6, 3, .causal = true),
    OF_DISTANCES(4, 4, .key_mask = mask),
};
/* clang-format on */

/* Compares the norm of the error in bf16, where part 4 is a sum that cancels; in float each
 * element. */
static void compare(const results *got, const results *plain, rt_math math)
{
    for (int part = 0; part < plain->parts; part++) {
        double error = 0, size = 0, largest = 0;
        for (size_t i = part ? plain->ends[part - 1] : 0; i < plain->ends[part]; i++) {
            const double difference = (double)got->numbers[i] - (double)plain->numbers[i];
            error += difference * difference;
            size += (double)plain->numbers[i] * (double)plain->numbers[i];
            largest = rt_larger_error(largest, fabs(difference));
        }
        if (math == RT_MATH_BF16)
            ck_assert_msg(sqrt(error) <= (part == 4 ? 0.03 : 0.01) * sqrt(size),
                          "part %d: %g of %g", part, sqrt(error), sqrt(size));
        else
            ck_assert_msg(largest <= 2e-5, "part %d: off by %g", part, largest);
    }
}

/* The engine keeps memory for its products. */
static const test_options keeps_memory = {.may_leak = true};

TEST_WITH(keeps_memory, batched_heads_compute_the_values_of_single_heads, 0,
          IN_FLOAT ? ROWS(attentions) : 0)
{
    for (size_t i = 0; i < sizeof mask; i++)
        mask[i] = i % 5 != 2;
    const results plain = compute(attentions + _i, NULL);
    for (int i = 1; i < ENGINES; i++) {
        if (use(engines + i)) {
            const results got = compute(attentions + _i, NULL);
            compare(&got, &plain, engines[i].math);
            free(got.numbers);
        }
        back();
    }
    free(plain.numbers);
}
