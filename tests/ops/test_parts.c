/* The parts of an op have the same bits whoever runs them, in whatever order. */

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
static const struct {
    const rt_op *op;
    rt_shape shapes[MOST_INPUTS];
    const op_options *o;
    rt_function build;
} table[] = {
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
    {&rt_op_attention, .shapes = {OF_HEADS(TOKENS, HEADS), OF_HEADS(TOKENS, KEY_HEADS),
                                  OF_HEADS(TOKENS, KEY_HEADS)}, O(.bias = false)},
    {&rt_op_attention, .shapes = {LONG, LONG, LONG},
     O(.attention = {.causal = true, .dropout = 0.2})},
    {&rt_op_linear_attention, .shapes = {SMALL, SMALL, SMALL, SMALL, SMALL},
     O(.linear = {.causal = true, .eps = 1e-3})},
};
/* clang-format on */

/* The result and the gradients of the inputs, one behind the other. */
typedef struct results {
    real *numbers;
    size_t size;
} results;

static void keep(results *o, const real *x, size_t size)
{
    o->numbers = realloc(o->numbers, (o->size + size) * sizeof *x);
    memcpy(o->numbers + o->size, x, size * sizeof *x);
    o->size += size;
}

static results compute(int row, const rt_threads *crew)
{
    rt_tensor leaves[MOST_INPUTS], *in[MOST_INPUTS] = {NULL};
    const op_call *c = op_call_of(table[row].op);
    results o = {NULL, 0};
    rt_graph *g = rt_graph_new();
    for (int i = 0; i < MOST_INPUTS && table[row].shapes[i].ndim; i++) {
        const size_t size = rt_shape_size(table[row].shapes[i]);
        real *data = rt_alloc(size, sizeof *data), *grad = rt_alloc(size, sizeof *grad);
        fill(data, size, (uint32_t)i);
        leaves[i] = rt_tensor_of(data, grad, table[row].shapes[i]);
        in[i] = leaves + i;
    }
    rt_graph_set_threads(g, crew);
    rt_graph_set_random(g, 1, 2, 3);
    const rt_function call = table[row].build ? table[row].build : c->call;
    rt_tensor *y = made(g, call(g, in, (void *)(table[row].o ? table[row].o : &c->good)));
    keep(&o, y->data, rt_size(y));
    real *upstream = rt_alloc(rt_size(y), sizeof *upstream);
    fill(upstream, rt_size(y), 9);
    expect_ok(rt_graph_backward_from(g, y, upstream));
    for (int i = 0; i < MOST_INPUTS && in[i]; i++) {
        keep(&o, leaves[i].grad, rt_size(in[i]));
        rt_free(leaves[i].data);
        rt_free(leaves[i].grad);
    }
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
    const results alone = compute(_i, NULL), backwards = compute(_i, &crew);
    ck_assert_msg(shared > 1, "%s: %d passes in parts", table[_i].op->name, shared);
    ck_assert_uint_eq(alone.size, backwards.size);
    for (size_t i = 0; i < alone.size; i++)
        ck_assert_msg(!memcmp(alone.numbers + i, backwards.numbers + i, sizeof(real)),
                      "%s: number %zu is %.9g, in the other order %.9g", table[_i].op->name, i,
                      (double)alone.numbers[i], (double)backwards.numbers[i]);
    free(alone.numbers);
    free(backwards.numbers);
}
