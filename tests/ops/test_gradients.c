/* The gradient table: every op against central differences, in double.
 *
 * To add an op, add rows for the shapes that matter: an axis of length 1, odd lengths,
 * broadcasting, one tensor used twice. Inputs are drawn uniformly from [-1, 1] unless the row gives
 * an interval. A row is checked with every input wanting a gradient, and again with each of them
 * alone; between other ops; and in a dry run.
 */

#include "calls.h"
#include "core/gradcheck.h"
#include "suite.h"

typedef struct row {
    const rt_op *op;
    rt_shape shapes[MOST_INPUTS + 1]; /* ndim -1 ends the list */
    const op_options *o;              /* NULL: those of a good call */
    rt_function build;                /* NULL: the call of the op; its context are the options */
    int copies;                       /* inputs that are all the first one */
    double low, high;                 /* 0, 0 = -1, 1 */
} row;

/* clang-format off */
#define END {.ndim = -1}
#define AXES(...) {(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}}
#define SHAPES(...) .shapes = {__VA_ARGS__, END}
#define O(...) .o = &(const op_options){__VA_ARGS__}
#define RANGE(from, to) .low = from, .high = to
#define QKV(B, Tq, Tk, H, G, D, E) AXES(B, Tq, H, D), AXES(B, Tk, G, D), AXES(B, Tk, G, E)
/* Positive features: a denominator that comes near 0 has no derivative to speak of. */
#define LINEAR(B, Tq, Tk, H, D, E)                                                                 \
    SHAPES(QKV(B, Tq, Tk, H, H, D, E), AXES(B, Tq, H, D), AXES(B, Tk, H, D)), RANGE(0.2, 1)
/* clang-format on */

/* The gradients of the repeated tensor and of both operands of a sum with itself are fresh. */
BUILDER(add_repeated_result)
{
    rt_tensor *y = rt_scale(g, in[1], 3);
    return rt_add(g, rt_add(g, in[0], y), rt_add(g, y, y));
}

/* The tensor is its own factor. */
BUILDER(scale_heads_by_itself)
{
    return rt_scale_heads(g, in[0], rt_reshape(g, in[0], RT_SHAPE_OF((int)rt_size(in[0]))));
}

BUILDER(linear_onto_itself)
{
    return rt_linear_onto(g, in[0], in[0], in[1], NULL);
}

/* The gradient of the sum meets that which the activation left. */
BUILDER(linear_silu_and_residual)
{
    rt_tensor *y = rt_linear_activate(g, in[0], in[1], in[2], RT_SILU);
    return rt_add(g, y, rt_linear_activate(g, y, in[1], in[2], RT_SIGMOID));
}

/* Queries in groups that share a key, and a theta with it. */
BUILDER(rope_of_shared_keys)
{
    const rt_rotation *r =
        rt_rotation_learned(g, in[2], RT_THETA_LOG, RT_INTERLEAVED, 1,
                            (rt_positions){.B = 1, .T = in[0]->shape[1], .offset = 1});
    return rt_attention(g, rt_rope(g, in[0], r), rt_rope(g, in[1], r), in[1],
                        &(rt_attention_options){.causal = true});
}

BUILDER(rope_twice)
{
    const op_options *o = context;
    const rt_function rope = op_call_of(&rt_op_rope)->call;
    op_options other = *o;
    other.decay = -o->decay;
    rt_tensor *y = rope(g, in, context);
    if (o->decay == 0)
        return rope(g, (rt_tensor *[]){y, in[1]}, context);
    return rt_attention(g, y, rope(g, in, &other), in[0], &(rt_attention_options){.causal = true});
}

/* Queries and keys by the same angles, which are results. */
BUILDER(rope_of_sums)
{
    const op_options *o = context;
    rt_tensor *angles = rt_running_sum(g, in[1], 1, NULL);
    const rt_rotation *r = rt_rotation_by_angles(g, angles, o->pairing);
    return rt_multiply(g, rt_rope(g, in[0], r), rt_rope(g, rt_scale(g, in[0], 2), r));
}

/* Uses its own levels, not those of key_exp: a constant makes the result depend on them. They rise
 * by too little to hide a chunk from the next. Selects one result of each chunk. */
BUILDER(linear_attention_with_levels)
{
    static const int32_t looked_at[] = {40, 100, 129};
    static real levels[130];
    op_options o = *(const op_options *)context;
    for (int i = 0; i < 130; i++)
        levels[i] = (real)(0.01 * i + 0.3 * (i > 40) + 0.4 * (i > 70));
    o.linear.level = levels;
    rt_tensor *y = op_call_of(&rt_op_linear_attention)->call(g, in, &o);
    return rt_embedding(g, rt_reshape(g, y, RT_SHAPE_OF(130, 1)), looked_at, RT_SHAPE_OF(3),
                        RT_NO_PADDING);
}

BUILDER(key_exp_attention)
{
    rt_linear_attention_options o = ((const op_options *)context)->linear;
    rt_tensor *k = rt_key_exp(g, in[1], o.key_mask, o.causal, NULL, &o.level);
    return rt_linear_attention(g, in[0], k, in[2], in[0], k, &o);
}

static const uint8_t pool_mask[] = {1, 0, 1, 1, 0, 0, 0, 0},
                     mask[] = {1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
static const int32_t ids[] = {3, 0, 3, 1, 4, 3}, labels[] = {2, RT_IGNORE, 0, 4};
static const int swapped[] = {1, 0}, mixed[] = {2, 0, 3, 1};
static const double scattered[] = {5, -2, 0.5, 0, 40, 3}, near[] = {5, -2, 0.5, 9, 0, 4, 3, 1};
static const double rows_of_grid[] = {0, 0, 0, 1, 1, 1}, columns_of_grid[] = {0, 1, 2, 0, 1, 2};
static const double slopes[] = {0.5, 0.25};
/* Distances -2 ... 2, of which -1 and 1 are of one class. */
static const int16_t class_of[] = {0, 1, 2, 1, 3};
static const rt_distances distances = {2, 4, class_of};

/* clang-format off */
#define RAW   .number = 1.1, .form = RT_THETA_RAW
#define LOG   .number = 1.1, .form = RT_THETA_LOG
#define HALF  .pairing = RT_HALF
#define CHOSEN(positions_of_all) .positions = {.at = positions_of_all, .per_sequence = true}
#define FROM(first) .positions = {.offset = first}
#define GRID .positions = {.at = columns_of_grid, .second = rows_of_grid}
#define PLACES .positions = {.at = scattered, .second = near, .per_sequence = true}
#define ALIBI .slopes = slopes
#define ATTENTION(...) O(.attention = {__VA_ARGS__})
#define KEY_BIAS(...) O(.key_bias = true, .attention = {__VA_ARGS__})
#define LINEAR_O(...) O(.linear = {__VA_ARGS__})
static const row rows[] = {
    {&rt_op_add, SHAPES(AXES(3, 2, 4), AXES(2, 4)), .build = add_repeated_result},
    {&rt_op_add, SHAPES(AXES(3, 4), AXES(3, 4))},
    {&rt_op_add, SHAPES(AXES(2, 3, 5), AXES(5))},
    {&rt_op_add, SHAPES(AXES(2, 3, 1), AXES(3, 1))},
    {&rt_op_add, SHAPES(AXES(2, 3)), .copies = 2},
    {&rt_op_multiply, SHAPES(AXES(3, 4), AXES(3, 4))},
    {&rt_op_multiply, SHAPES(AXES(2, 1, 3), AXES(3))},
    {&rt_op_multiply, SHAPES(AXES(7)), .copies = 2},
    {&rt_op_scale, SHAPES(AXES(2, 5))},
    {&rt_op_scale_heads, SHAPES(AXES(2, 3, 4, 5), AXES(4))},
    {&rt_op_scale_heads, SHAPES(AXES(1, 7), AXES(1))},
    {&rt_op_scale_heads, SHAPES(AXES(1, 3, 1)), .build = scale_heads_by_itself},
    {&rt_op_exp, SHAPES(AXES(3, 3))},
    {&rt_op_gelu, SHAPES(AXES(40)), RANGE(-5, 5)},
    {&rt_op_gelu_tanh, SHAPES(AXES(40)), RANGE(-5, 5)},
    /* The kink at 0 is at no drawn element: the step is far smaller than the nearest. */
    {&rt_op_relu, SHAPES(AXES(4, 5))},
    {&rt_op_tanh, SHAPES(AXES(20)), RANGE(-3, 3)},
    {&rt_op_sigmoid, SHAPES(AXES(20)), RANGE(-5, 5)},
    {&rt_op_silu, SHAPES(AXES(20)), RANGE(-5, 5)},
    /* Continuous with its first derivative at 0. */
    {&rt_op_elu_plus_one, SHAPES(AXES(2, 10)), RANGE(-3, 3)},
    {&rt_op_softplus, SHAPES(AXES(20)), RANGE(-5, 5)},
    {&rt_op_log_sigmoid, SHAPES(AXES(4, 5)), RANGE(-5, 5)},
    {&rt_op_glu, SHAPES(AXES(2, 3, 5), AXES(2, 3, 5)), RANGE(-3, 3)},
    {&rt_op_glu, SHAPES(AXES(4, 5), AXES(4, 5)), O(.kind = RT_GELU), RANGE(-3, 3)},
    {&rt_op_glu, SHAPES(AXES(1), AXES(1)), O(.kind = RT_TANH)},
    {&rt_op_glu, SHAPES(AXES(3, 3)), .copies = 2},
    {&rt_op_dropout, SHAPES(AXES(3, 7))},
    {&rt_op_dropout, SHAPES(AXES(2, 3, 50))},
    {&rt_op_reshape, SHAPES(AXES(2, 3, 4)), O(.shape = {1, {24}})},
    {&rt_op_permute, SHAPES(AXES(2, 3, 1, 4)), O(.order = mixed)},
    {&rt_op_permute, SHAPES(AXES(3, 5)), O(.order = swapped)},
    {&rt_op_sum, SHAPES(AXES(3, 5))},
    {&rt_op_mean, SHAPES(AXES(1))},
    {&rt_op_mean, SHAPES(AXES(2, 3, 2, 2))},
    {&rt_op_pool, SHAPES(AXES(2, 4, 3)), O(.kind = RT_POOL_FIRST, .mask = pool_mask)},
    {&rt_op_pool, SHAPES(AXES(2, 3, 5)), O(.kind = RT_POOL_MEAN, .mask = pool_mask)},
    {&rt_op_pool, SHAPES(AXES(2, 3, 1)), O(.kind = RT_POOL_MEAN)},
    {&rt_op_pool, SHAPES(AXES(2, 4, 3)), O(.kind = RT_POOL_LAST, .mask = pool_mask)},
    {&rt_op_pool, SHAPES(AXES(3, 1, 2)), O(.kind = RT_POOL_LAST, .mask = pool_mask)},
    {&rt_op_running_sum, SHAPES(AXES(2, 5, 3)), O(.kind = 1)},
    {&rt_op_running_sum, SHAPES(AXES(4)), O(.kind = 0)},
    {&rt_op_running_sum, SHAPES(AXES(2, 3, 4)), O(.kind = 2, .before = scattered)},
    {&rt_op_running_sum, SHAPES(AXES(5, 70)), O(.kind = 0)},
    {&rt_op_running_sum, SHAPES(AXES(2, 1, 3, 2)), O(.kind = 1)},
    {&rt_op_depthwise_conv, SHAPES(AXES(2, 6, 3), AXES(3, 4))},
    {&rt_op_depthwise_conv, SHAPES(AXES(2, 2, 1), AXES(1, 4)), O(.before = scattered)},
    {&rt_op_depthwise_conv, SHAPES(AXES(1, 3, 70), AXES(70, 1))},
    {&rt_op_shift, SHAPES(AXES(2, 4, 2, 5)), O(.kind = 2)},
    {&rt_op_shift, SHAPES(AXES(2, 3, 1, 3)), O(.kind = 0, .before = scattered)},
    {&rt_op_shift, SHAPES(AXES(2, 1, 2, 3)), O(.kind = 1)},
    {&rt_op_shift, SHAPES(AXES(2, 4, 2, 5)), O(.kind = 2, .mask = pool_mask)},
    {&rt_op_matmul, SHAPES(AXES(3, 4), AXES(4, 5))},
    {&rt_op_matmul, SHAPES(AXES(2, 3, 3, 4), AXES(2, 3, 4, 1))},
    {&rt_op_matmul, SHAPES(AXES(2, 3, 4), AXES(4, 2))},
    {&rt_op_linear, SHAPES(AXES(3, 5), AXES(4, 5), AXES(4))},
    {&rt_op_linear, SHAPES(AXES(2, 1, 3), AXES(1, 3), AXES(1))},
    {&rt_op_linear, SHAPES(AXES(2, 2, 3), AXES(5, 3))},
    {&rt_op_linear, SHAPES(AXES(3, 5), AXES(4, 5), AXES(4), AXES(3, 4)), O(.onto = true)},
    {&rt_op_linear, SHAPES(AXES(2, 3, 4), AXES(4, 4)), .build = linear_onto_itself},
    {&rt_op_linear_activation, SHAPES(AXES(3, 5), AXES(4, 5), AXES(4)), O(.kind = RT_GELU)},
    {&rt_op_linear_activation, SHAPES(AXES(2, 1, 3), AXES(1, 3), AXES(1)), O(.kind = RT_GELU)},
    {&rt_op_linear_activation, SHAPES(AXES(2, 2, 3), AXES(5, 3)), O(.kind = RT_TANH)},
    {&rt_op_linear_activation, SHAPES(AXES(3, 4), AXES(4, 4), AXES(4)),
     .build = linear_silu_and_residual},
    {&rt_op_layer_norm, SHAPES(AXES(3, 7), AXES(7), AXES(7))},
    {&rt_op_layer_norm, SHAPES(AXES(2, 2, 2), AXES(2), AXES(2))},
    {&rt_op_layer_norm, SHAPES(AXES(3, 7), AXES(7))},
    {&rt_op_rms_norm, SHAPES(AXES(3, 7), AXES(7))},
    {&rt_op_rms_norm, SHAPES(AXES(2, 2, 1), AXES(1))},
    {&rt_op_rms_norm, SHAPES(AXES(2, 2, 3), AXES(3)), O(.number = 0.1)},
    {&rt_op_normalize, SHAPES(AXES(3, 4))},
    {&rt_op_normalize, SHAPES(AXES(2, 2, 1))},
    {&rt_op_softmax, SHAPES(AXES(3, 7)), RANGE(-3, 3)},
    {&rt_op_softmax, SHAPES(AXES(4, 1))},
    {&rt_op_log_softmax, SHAPES(AXES(3, 7)), RANGE(-3, 3)},
    {&rt_op_log_softmax, SHAPES(AXES(2, 2, 1))},
    {&rt_op_embedding, SHAPES(AXES(5, 3)), O(.ids = ids, .shape = {2, {2, 3}})},
    {&rt_op_embedding, SHAPES(AXES(5, 1)), O(.ids = ids, .shape = {2, {2, 3}})},
    {&rt_op_cross_entropy, SHAPES(AXES(4, 5)), O(.ids = labels, .divisor = 3), RANGE(-3, 3)},
    {&rt_op_cross_entropy, SHAPES(AXES(2, 2, 5)),
     O(.ids = labels, .number = 0.1, .divisor = 2.5), RANGE(-3, 3)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 6), AXES(3)), O(RAW)},
    {&rt_op_rope, SHAPES(AXES(1, 5, 1, 7), AXES(2)), O(RAW)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 8), AXES(3)), O(RAW, HALF)},
    {&rt_op_rope, SHAPES(AXES(2, 4, 3, 4), AXES(3, 2)), O(RAW, HALF)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 4), AXES(2, 2)), O(LOG, HALF, FROM(9))},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 6), AXES(3)), O(LOG, CHOSEN(scattered)), RANGE(-2, 0)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 4, 5), AXES(2, 2)), O(RAW, HALF)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 6), AXES(3)), O(LOG, FROM(2), .T = 4, .decay = 3)},
    {&rt_op_rope, SHAPES(AXES(1, 5, 1, 7), AXES(2)), O(LOG, FROM(2), .T = 6, .decay = 3)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 4), AXES(2, 2)), O(LOG, FROM(2), .T = 4, .decay = 3)},
    {&rt_op_rope, SHAPES(AXES(1, 3, 6, 4), AXES(3, 1)), O(LOG, FROM(2), .T = 4, .decay = 3)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 8), AXES(3)), O(RAW, HALF, .T = 4, .decay = -3)},
    {&rt_op_rope, SHAPES(AXES(1, 4, 3, 4), AXES(3, 2)), O(RAW, HALF, .T = 5, .decay = -3)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 6), AXES(3)),
     O(LOG, CHOSEN(near), .T = 4, .decay = -7), RANGE(-2, 0)},
    {&rt_op_rope, SHAPES(AXES(2, 6, 2, 9), AXES(4)), O(RAW, GRID)},
    {&rt_op_rope, SHAPES(AXES(1, 5, 4, 8), AXES(2, 4)), O(LOG, HALF, GRID), RANGE(-2, 0)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 5), AXES(1, 2, 2)), O(RAW, PLACES)},
    {&rt_op_rope, SHAPES(AXES(2, 6, 4, 6), AXES(2, 2, 3)), O(RAW, HALF, GRID)},
    {&rt_op_rope, SHAPES(AXES(2, 5, 2, 6), AXES(2)), O(LOG, HALF, .decay = 2), .build = rope_twice},
    {&rt_op_rope, SHAPES(AXES(1, 6, 2, 4), AXES(2, 2)), O(LOG, HALF, .decay = 2),
     .build = rope_twice, RANGE(-2, 0)},
    {&rt_op_rope, SHAPES(AXES(1, 4, 2, 4), AXES(2)), O(LOG, FROM(2)), .build = rope_twice},
    {&rt_op_rope, SHAPES(AXES(2, 4, 4, 4), AXES(2, 4, 2, 4), AXES(2, 2)),
     .build = rope_of_shared_keys},
    {&rt_op_rope, SHAPES(AXES(1, 4, 3, 4), AXES(1, 4, 1, 4), AXES(1, 2)),
     .build = rope_of_shared_keys},
    {&rt_op_rope, SHAPES(AXES(2, 3, 4, 6), AXES(2, 3, 2, 3)), O(.by_angles = true)},
    {&rt_op_rope, SHAPES(AXES(2, 3, 2, 7), AXES(2, 3, 1, 2)), O(.by_angles = true, HALF)},
    {&rt_op_rope, SHAPES(AXES(1, 2, 1, 2), AXES(1, 3, 1, 1)), O(.by_angles = true, HALF)},
    {&rt_op_rope, SHAPES(AXES(2, 4, 2, 4), AXES(2, 4, 2, 2)), O(.by_angles = true),
     .build = rope_of_sums},
    {&rt_op_angles, SHAPES(AXES(2, 3, 2, 3), AXES(2, 3)), O(RAW)},
    {&rt_op_angles, SHAPES(AXES(2, 3, 2, 3), AXES(3)), O(LOG)},
    {&rt_op_angles, SHAPES(AXES(3, 70), AXES(70)), O(LOG)},
    {&rt_op_angles, SHAPES(AXES(2, 2, 1)), O(.fixed = slopes)},
    {&rt_op_polar, SHAPES(AXES(2, 3, 4, 3), AXES(2, 3))},
    {&rt_op_polar, SHAPES(AXES(2, 3, 3, 2), AXES(1, 2))},
    {&rt_op_polar, SHAPES(AXES(1, 2, 2, 70), AXES(2, 70))},
    {&rt_op_polar, SHAPES(AXES(2, 3, 4, 3))},
    {&rt_op_attention, SHAPES(QKV(2, 3, 5, 2, 2, 4, 3)), ATTENTION(.scale = 0)},
    {&rt_op_attention, SHAPES(QKV(1, 1, 1, 1, 1, 1, 1)), ATTENTION(.scale = 0)},
    {&rt_op_attention, SHAPES(QKV(2, 3, 5, 6, 2, 2, 3)), ATTENTION(.scale = 0)},
    {&rt_op_attention, SHAPES(AXES(1, 4, 2, 3)), ATTENTION(.scale = 0), .copies = 3},
    {&rt_op_attention, SHAPES(QKV(2, 5, 5, 2, 2, 3, 3)), ATTENTION(.causal = true)},
    {&rt_op_attention, SHAPES(QKV(2, 4, 5, 2, 2, 3, 1)), ATTENTION(.key_mask = mask, .scale = 1.5)},
    {&rt_op_attention, SHAPES(QKV(2, 4, 5, 2, 1, 3, 2)), ATTENTION(.key_mask = mask, .scale = 1.5)},
    {&rt_op_attention, SHAPES(QKV(2, 5, 5, 2, 2, 3, 3)), ATTENTION(.causal = true, ALIBI)},
    {&rt_op_attention, SHAPES(QKV(2, 5, 5, 2, 1, 3, 3)), ATTENTION(.causal = true, ALIBI)},
    {&rt_op_attention, SHAPES(QKV(2, 3, 5, 2, 2, 3, 2)), ATTENTION(.dropout = 0.3)},
    {&rt_op_attention, SHAPES(QKV(2, 3, 5, 4, 2, 3, 2)), ATTENTION(.dropout = 0.3)},
    {&rt_op_attention, SHAPES(QKV(2, 5, 5, 2, 2, 3, 2)), ATTENTION(.window = 2, .key_mask = mask)},
    {&rt_op_attention, SHAPES(QKV(2, 4, 5, 4, 2, 3, 1)), ATTENTION(.window = 2, .key_mask = mask)},
    {&rt_op_attention, SHAPES(QKV(2, 5, 5, 3, 1, 2, 3)),
     ATTENTION(.window = 3, .causal = true, .dropout = 0.2)},
    {&rt_op_attention, SHAPES(QKV(2, 5, 5, 2, 2, 3, 3), AXES(4, 2)),
     O(.bias = true, .attention = {.distances = &distances, .causal = true})},
    {&rt_op_attention, SHAPES(QKV(2, 4, 5, 2, 2, 3, 1), AXES(4, 3)),
     O(.keys = true, .attention = {.distances = &distances, .key_mask = mask})},
    {&rt_op_attention, SHAPES(QKV(1, 6, 6, 2, 2, 2, 2), AXES(4, 2), AXES(4, 2)),
     O(.bias = true, .keys = true, .attention = {.distances = &distances, .scale = 0.7})},
    {&rt_op_attention, SHAPES(QKV(1, 6, 6, 2, 1, 2, 2), AXES(4, 2), AXES(4, 2)),
     O(.bias = true, .keys = true, .attention = {.distances = &distances, .scale = 0.7})},
    {&rt_op_attention, SHAPES(QKV(2, 5, 5, 2, 2, 3, 3), AXES(2, 2, 5)), KEY_BIAS(.causal = true)},
    {&rt_op_attention, SHAPES(QKV(1, 1, 1, 1, 1, 1, 1), AXES(1, 1, 1)), KEY_BIAS(.scale = 0)},
    {&rt_op_attention, SHAPES(QKV(2, 3, 5, 4, 2, 2, 3), AXES(2, 4, 5)),
     KEY_BIAS(.key_mask = mask, .dropout = 0.3)},
    {&rt_op_attention, SHAPES(QKV(2, 6, 5, 2, 1, 3, 2), AXES(2, 2, 5)),
     KEY_BIAS(.window = 3, ALIBI)},
    {&rt_op_attention,
     SHAPES(QKV(1, 6, 6, 2, 1, 2, 2), AXES(4, 2), AXES(4, 2), AXES(1, 2, 6)),
     O(.bias = true, .keys = true, .key_bias = true,
       .attention = {.distances = &distances, .scale = 0.7})},
    /* The last rows need more than one chunk of 64 tokens, that with levels three. */
    {&rt_op_linear_attention, LINEAR(2, 3, 5, 2, 4, 3), LINEAR_O(.eps = 0.5)},
    {&rt_op_linear_attention, LINEAR(2, 5, 5, 2, 3, 2), LINEAR_O(.causal = true, .constant = 0.3)},
    {&rt_op_linear_attention, LINEAR(2, 4, 5, 2, 3, 1), LINEAR_O(.key_mask = mask, .constant = 2)},
    {&rt_op_linear_attention, LINEAR(2, 5, 5, 2, 3, 2), LINEAR_O(.key_mask = mask, .causal = true)},
    {&rt_op_linear_attention, SHAPES(AXES(1, 5, 2, 3)), LINEAR_O(.causal = true), .copies = 5,
     RANGE(0.2, 1)},
    {&rt_op_linear_attention, LINEAR(1, 67, 66, 1, 2, 1), LINEAR_O(.eps = 0.5)},
    {&rt_op_linear_attention, LINEAR(1, 66, 66, 1, 1, 1),
     LINEAR_O(.causal = true, .constant = 0.3)},
    {&rt_op_linear_attention, LINEAR(1, 130, 130, 1, 1, 1),
     LINEAR_O(.causal = true, .constant = 0.7, .eps = 0.1), .build = linear_attention_with_levels},
    {&rt_op_key_exp, SHAPES(QKV(2, 3, 5, 2, 2, 4, 3)), LINEAR_O(.key_mask = mask),
     .build = key_exp_attention, RANGE(0.2, 1)},
    {&rt_op_key_exp, SHAPES(QKV(1, 66, 66, 1, 1, 2, 2)), LINEAR_O(.causal = true),
     .build = key_exp_attention, RANGE(0.2, 3)},
    {&rt_op_key_exp, SHAPES(QKV(2, 5, 5, 2, 2, 3, 3)), LINEAR_O(.key_mask = mask, .causal = true),
     .build = key_exp_attention, RANGE(0.2, 3)},
};
/* clang-format on */

/* Under a tool that makes every instruction slow, a few elements of each input stand for all. */
#ifdef TEST_FEW_SAMPLES
enum { SAMPLES = 2 };
static const rt_gradcheck_mode all_outputs = RT_GRADCHECK_DIRECTION;
#else
enum { SAMPLES = 0 };
static const rt_gradcheck_mode all_outputs = RT_GRADCHECK_JACOBIAN;
#endif

static rt_tensor tensors[MOST_INPUTS], *inputs[MOST_INPUTS];
static int input_count;

static void prepare(const row *r)
{
    const double low = r->low == r->high ? -1 : r->low, high = r->low == r->high ? 1 : r->high;
    for (int i = 0; r->shapes[i].ndim >= 0; i++, input_count++) {
        const size_t size = rt_shape_size(r->shapes[i]);
        const rt_random random = {11, (uint32_t)i, RT_STREAM_CHECK};
        real *data = rt_alloc(size, sizeof(real)), *grad = rt_alloc(size, sizeof(real));
        for (size_t k = 0; k < size; k++)
            data[k] = (real)(low + (high - low) * rt_random_uniform(random, k));
        tensors[i] = rt_tensor_of(data, grad, r->shapes[i]);
        inputs[i] = &tensors[i];
    }
}

static void release(void)
{
    for (int i = 0; i < input_count; i++) {
        rt_free(tensors[i].data);
        rt_free(tensors[i].grad);
    }
    input_count = 0;
}

SUITE(.teardown = release)

static const op_options *options_of(const row *r)
{
    return r->o ? r->o : &op_call_of(r->op)->good;
}

static rt_tensor *run(rt_graph *g, rt_tensor *const *in, void *context)
{
    const row *r = context;
    rt_tensor *all[MOST_INPUTS] = {NULL};
    for (int i = 0; i < MOST_INPUTS; i++)
        all[i] = i < input_count ? in[i] : i < r->copies ? in[0] : NULL;
    rt_graph_set_random(g, 7, 3, 1);
    return (r->build ? r->build : op_call_of(r->op)->call)(g, all, (void *)options_of(r));
}

static void expect_gradient(rt_function function, const row *r, rt_gradcheck_mode mode,
                            const char *how, int number)
{
    const rt_gradcheck_options o = {.mode = mode, .samples = SAMPLES, .seed = 3};
    const rt_status status = rt_gradcheck(function, (void *)r, inputs, input_count, &o, NULL);
    char text[CALL_TEXT_SIZE];
    ck_assert_msg(!status.code, "%s, %s %d: %s",
                  write_call(text, r->op, inputs, input_count, options_of(r)), how, number,
                  status.message);
}

TEST_ROWS(gradient_agrees_with_central_differences, 0, ROWS(rows))
{
    prepare(rows + _i);
    expect_gradient(run, rows + _i, RT_GRADCHECK_WEIGHTED, "weighted", 0);
    expect_gradient(run, rows + _i, all_outputs, "all outputs", 0);
}

TEST_ROWS(each_input_gets_its_gradient_when_the_others_want_none, 0, ROWS(rows))
{
    prepare(rows + _i);
    for (int only = 0; only < input_count; only++) {
        for (int i = 0; i < input_count; i++)
            tensors[i].wants_grad = i == only;
        expect_gradient(run, rows + _i, RT_GRADCHECK_WEIGHTED, "only input", only);
    }
}

/* Inputs and result are results of other ops, whose gradients are fresh, or have been added to. */
static rt_tensor *run_between(rt_graph *g, rt_tensor *const *in, const row *r, bool used_again)
{
    rt_tensor *x[MOST_INPUTS];
    for (int i = 0; i < input_count; i++)
        x[i] = rt_scale(g, in[i], 1);
    rt_tensor *y = run(g, x, (void *)r), *out = y;
    if (!used_again)
        return rt_scale(g, y, 0.5);
    out = rt_add(g, y, rt_scale(g, y, 0.5));
    for (int i = 0; i < input_count; i++)
        out = rt_add(g, out, rt_sum(g, x[i]));
    return out;
}

BUILDER(run_once)
{
    return run_between(g, in, context, false);
}

BUILDER(run_and_use_again)
{
    return run_between(g, in, context, true);
}

TEST_ROWS(gradients_are_right_between_other_ops_and_for_a_second_use, 0, ROWS(rows))
{
    prepare(rows + _i);
    expect_gradient(run_once, rows + _i, RT_GRADCHECK_WEIGHTED, "between others", 0);
    expect_gradient(run_and_use_again, rows + _i, RT_GRADCHECK_WEIGHTED, "used again", 0);
}

/* Returns the bytes that a graph needs for the row: forward and backward, or forward without
 * recording. */
static size_t bytes_of(const row *r, rt_tensor *const *in, rt_graph *g, bool backward)
{
    static real upstream[1024];
    rt_graph_record(g, backward);
    rt_tensor *out = run(g, in, (void *)r);
    expect_ok(out && backward ? rt_graph_backward_from(g, out, upstream) : rt_graph_status(g));
    const size_t bytes = rt_graph_peak(g);
    ck_assert_uint_eq(rt_graph_needs(g).touched, bytes); /* which one chunk has room for */
    rt_graph_free(g);
    return bytes;
}

/* The inputs have reserved memory without content, so nothing may be computed. */
TEST_ROWS(a_dry_run_counts_the_memory_of_a_run, 0, ROWS(rows))
{
    rt_tensor dry[MOST_INPUTS], *dry_inputs[MOST_INPUTS];
    prepare(rows + _i);
    for (int i = 0; i < input_count; i++) {
        dry[i] = tensors[i];
        dry[i].data = dry[i].grad = RT_RESERVED;
        dry_inputs[i] = &dry[i];
    }
    for (int backward = 0; backward < 2; backward++)
        ck_assert_uint_eq(bytes_of(rows + _i, dry_inputs, rt_graph_new_dry(), backward),
                          bytes_of(rows + _i, inputs, rt_graph_new(), backward));
}

/* Returns whether the op is on the tape of its row. */
static bool uses_op(const row *r)
{
    rt_graph *g = rt_graph_new();
    bool found = false;
    prepare(r);
    ck_assert(run(g, inputs, (void *)r));
    for (const rt_node *n = rt_graph_tape(g); n; n = n->older)
        found |= n->op == r->op;
    rt_graph_free(g);
    release();
    return found;
}

TEST(every_op_has_a_row_that_uses_it)
{
#define NAME_AND_OP(name) {#name, &rt_op_##name},
    static const struct {
        const char *name;
        const rt_op *op;
    } ops[] = {RT_OPS(NAME_AND_OP)};
    for (int i = 0; i < ROWS(ops); i++) {
        int used = 0;
        ck_assert_str_eq(ops[i].op->name, ops[i].name);
        for (int r = 0; r < ROWS(rows); r++)
            used += rows[r].op == ops[i].op && uses_op(rows + r);
        ck_assert_msg(used, "%s has no row in the gradient table", ops[i].name);
    }
}
