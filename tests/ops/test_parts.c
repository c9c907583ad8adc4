/* The parts of an op have the same bits whoever runs them, in whatever order. */

#include "core/memory.h"
#include "ops/ops.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 3, TOKENS = 350, C = 288, HEADS = 6, KEY_HEADS = 2, VOCAB = 300, INPUTS = 5 };
enum { ROWS = B * TOKENS, LARGE = 640 };

/* The last part first, each in a room of its own that is full of NaN. */
static void run_backwards(void *threads, rt_part *part, void *context, int parts, rt_part_room room)
{
    const size_t count = room.bytes / sizeof(real) + 1;
    real *own = malloc(count * sizeof *own);
    *(int *)threads += parts > 1;
    while (parts--) {
        for (size_t i = 0; i < count; i++)
            own[i] = (real)NAN;
        part(context, parts, room.bytes ? own : NULL);
    }
    free(own);
}

typedef rt_tensor *builder(rt_graph *g, rt_tensor **in);

static int32_t ids[ROWS];

static rt_tensor *linear(rt_graph *g, rt_tensor **in)
{
    return rt_linear(g, rt_scale(g, in[0], 1), in[1], in[2]);
}

static rt_tensor *linear_twice(rt_graph *g, rt_tensor **in)
{
    rt_tensor *square = rt_scale(g, in[0], 1);
    return rt_linear(g, square, square, NULL);
}

static rt_tensor *linear_onto(rt_graph *g, rt_tensor **in)
{
    return rt_linear_onto(g, in[3], in[0], in[1], in[2]);
}

static rt_tensor *linear_gelu(rt_graph *g, rt_tensor **in)
{
    return rt_linear_activate(g, in[0], in[1], in[2], RT_GELU);
}

static rt_tensor *layer_norm_without_bias(rt_graph *g, rt_tensor **in)
{
    return rt_layer_norm(g, in[0], in[1], NULL, 1e-5);
}

static rt_tensor *layer_norm(rt_graph *g, rt_tensor **in)
{
    return rt_layer_norm(g, in[0], in[1], in[2], 1e-5);
}

static rt_tensor *rms_norm(rt_graph *g, rt_tensor **in)
{
    return rt_rms_norm(g, in[0], in[1], 1e-5);
}

static rt_tensor *gelu(rt_graph *g, rt_tensor **in)
{
    return rt_gelu(g, in[0]);
}

static rt_tensor *glu(rt_graph *g, rt_tensor **in)
{
    return rt_glu(g, in[0], in[1], RT_SILU);
}

static rt_tensor *dropout(rt_graph *g, rt_tensor **in)
{
    return rt_dropout(g, in[0], 0.3);
}

static rt_tensor *add(rt_graph *g, rt_tensor **in)
{
    return rt_add(g, rt_add(g, in[0], in[1]), in[0]);
}

static rt_tensor *normalize(rt_graph *g, rt_tensor **in)
{
    return rt_normalize(g, in[0]);
}

static rt_tensor *embedding(rt_graph *g, rt_tensor **in)
{
    return rt_embedding(g, in[0], ids, RT_SHAPE_OF(B, TOKENS), 1);
}

static rt_tensor *cross_entropy(rt_graph *g, rt_tensor **in)
{
    return rt_cross_entropy(g, in[0], ids, 0.1, 7);
}

static rt_tensor *rope(rt_graph *g, rt_tensor **in)
{
    const rt_positions positions = {.at = NULL};
    return rt_rope(g, in[0],
                   rt_rotation_learned(g, in[1], RT_THETA_LOG, RT_HALF, 1, B, TOKENS, positions));
}

static rt_tensor *attend(rt_graph *g, rt_tensor **in, bool causal, double dropout)
{
    const rt_attention_options o = {.causal = causal, .dropout = dropout};
    return rt_attention(g, in[0], in[1], in[2], &o);
}

static rt_tensor *attention(rt_graph *g, rt_tensor **in)
{
    return attend(g, in, false, 0);
}

static rt_tensor *causal_attention(rt_graph *g, rt_tensor **in)
{
    return attend(g, in, true, 0.2);
}

static rt_tensor *linear_attention(rt_graph *g, rt_tensor **in)
{
    const rt_linear_attention_options o = {.causal = true, .eps = 1e-3};
    return rt_linear_attention(g, in[0], in[1], in[2], in[3], in[4], &o);
}

static const struct {
    const char *name;
    builder *build;
    rt_shape shapes[INPUTS];
} table[] = {
    {"linear", linear, {{2, {ROWS, C, 1, 1}}, {2, {LARGE, C, 1, 1}}, {1, {LARGE, 1, 1, 1}}}},
    {"linear of one tensor", linear_twice, {{2, {LARGE, LARGE, 1, 1}}}},
    {"linear onto",
     linear_onto,
     {{2, {ROWS, C, 1, 1}},
      {2, {LARGE, C, 1, 1}},
      {1, {LARGE, 1, 1, 1}},
      {2, {ROWS, LARGE, 1, 1}}}},
    {"linear gelu",
     linear_gelu,
     {{2, {ROWS, C, 1, 1}}, {2, {LARGE, C, 1, 1}}, {1, {LARGE, 1, 1, 1}}}},
    {"layer norm without bias", layer_norm_without_bias, {{2, {ROWS, C, 1, 1}}, {1, {C, 1, 1, 1}}}},
    {"layer norm", layer_norm, {{2, {ROWS, C, 1, 1}}, {1, {C, 1, 1, 1}}, {1, {C, 1, 1, 1}}}},
    {"rms norm", rms_norm, {{2, {ROWS, C, 1, 1}}, {1, {C, 1, 1, 1}}}},
    {"gelu", gelu, {{2, {ROWS, C, 1, 1}}}},
    {"glu", glu, {{2, {ROWS, C, 1, 1}}, {2, {ROWS, C, 1, 1}}}},
    {"dropout", dropout, {{2, {ROWS, C, 1, 1}}}},
    {"add", add, {{3, {B, TOKENS, C, 1}}, {2, {TOKENS, C, 1, 1}}}},
    {"normalize", normalize, {{2, {ROWS, C, 1, 1}}}},
    {"embedding", embedding, {{2, {VOCAB, C, 1, 1}}}},
    {"cross entropy", cross_entropy, {{2, {ROWS, VOCAB, 1, 1}}}},
    {"rope", rope, {{4, {B, TOKENS, HEADS, C / HEADS}}, {2, {HEADS, C / HEADS / 2, 1, 1}}}},
    {"attention",
     attention,
     {{4, {B, TOKENS, HEADS, C / HEADS}},
      {4, {B, TOKENS, KEY_HEADS, C / HEADS}},
      {4, {B, TOKENS, KEY_HEADS, C / HEADS}}}},
    {"causal attention",
     causal_attention,
     {{4, {1, 600, HEADS, C / HEADS}},
      {4, {1, 600, HEADS, C / HEADS}},
      {4, {1, 600, HEADS, C / HEADS}}}},
    {"linear attention",
     linear_attention,
     {{4, {B, TOKENS, HEADS, 16}},
      {4, {B, TOKENS, HEADS, 16}},
      {4, {B, TOKENS, HEADS, 16}},
      {4, {B, TOKENS, HEADS, 16}},
      {4, {B, TOKENS, HEADS, 16}}}},
};

/* The result and the gradients of the inputs, one behind the other. */
typedef struct outcome {
    real *numbers;
    size_t size;
} outcome;

static void keep(outcome *o, const real *x, size_t size)
{
    o->numbers = realloc(o->numbers, (o->size + size) * sizeof *x);
    memcpy(o->numbers + o->size, x, size * sizeof *x);
    o->size += size;
}

static void fill(real *x, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        x[i] = (real)sin(0.37 * (double)i + seed) + (real)0.1;
}

static outcome compute(int row, const rt_crew *crew)
{
    rt_tensor leaves[INPUTS], *in[INPUTS] = {NULL};
    outcome o = {NULL, 0};
    rt_graph *g = rt_graph_new();
    for (int i = 0; i < INPUTS && table[row].shapes[i].ndim; i++) {
        const size_t size = rt_shape_size(table[row].shapes[i]);
        real *data = rt_alloc(size, sizeof *data), *grad = rt_alloc(size, sizeof *grad);
        fill(data, size, (unsigned)i);
        leaves[i] = rt_tensor_of(data, grad, table[row].shapes[i]);
        in[i] = leaves + i;
    }
    rt_graph_set_crew(g, crew);
    rt_graph_set_random(g, 1, 2, 3);
    rt_tensor *y = table[row].build(g, in);
    ck_assert_msg(y, "%s: %s", table[row].name, rt_graph_status(g).message);
    keep(&o, y->data, rt_size(y));
    real *upstream = rt_alloc(rt_size(y), sizeof *upstream);
    fill(upstream, rt_size(y), 9);
    ck_assert(!rt_graph_backward_from(g, y, upstream).code);
    for (int i = 0; i < INPUTS && in[i]; i++) {
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
    const rt_crew crew = {run_backwards, &shared};
    for (int i = 0; i < ROWS; i++)
        ids[i] = (i * i + 7 * i) % (VOCAB / 4);
    const outcome alone = compute(_i, NULL), backwards = compute(_i, &crew);
    ck_assert_msg(shared > 1, "%s: %d passes in parts", table[_i].name, shared);
    ck_assert_uint_eq(alone.size, backwards.size);
    for (size_t i = 0; i < alone.size; i++)
        ck_assert_msg(!memcmp(alone.numbers + i, backwards.numbers + i, sizeof(real)),
                      "%s: number %zu is %.9g, in the other order %.9g", table[_i].name, i,
                      (double)alone.numbers[i], (double)backwards.numbers[i]);
    free(alone.numbers);
    free(backwards.numbers);
}
