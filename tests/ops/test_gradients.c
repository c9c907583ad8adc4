/* The gradient table: every op against central differences, in double.
 *
 * To add an op, write a function that builds its result from inputs and add rows for the
 * shapes that matter: an axis of length 1, odd lengths, broadcasting, one tensor used
 * twice. Inputs are drawn uniformly from [-1, 1] unless the row gives an interval. A row
 * is checked with every input wanting a gradient, and again with each of them alone.
 */

#include "core/gradcheck.h"
#include "ops/ops.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_INPUTS = 5 };

typedef struct row {
    const char *op;
    rt_function build;
    rt_shape shapes[MAX_INPUTS + 1]; /* ndim -1 ends the list */
    double low, high;                /* 0, 0 = -1, 1 */
    double tolerance;                /* 0 = 1e-7 */
} row;

/* clang-format off */
#define END {.ndim = -1}
#define AXES(...) {(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}}
/* clang-format on */
#define S(...)      RT_SHAPE_OF(__VA_ARGS__)
#define SHAPES(...) .shapes = {__VA_ARGS__, END}

/* ---- builders ---- */

#define BUILDER(name) static rt_tensor *name(rt_graph *g, rt_tensor *const *in, void *context)
#define UNUSED        (void)context

BUILDER(add)
{
    UNUSED;
    return rt_add(g, in[0], in[1]);
}
BUILDER(add_to_itself)
{
    UNUSED;
    return rt_add(g, in[0], in[0]);
}
/* The gradient of what is repeated is fresh, and so are both of a sum with itself. */
BUILDER(add_repeated_result)
{
    UNUSED;
    rt_tensor *y = rt_scale(g, in[1], 3);
    return rt_add(g, rt_add(g, in[0], y), rt_add(g, y, y));
}
BUILDER(multiply)
{
    UNUSED;
    return rt_multiply(g, in[0], in[1]);
}
BUILDER(square)
{
    UNUSED;
    return rt_multiply(g, in[0], in[0]);
}
BUILDER(scale)
{
    UNUSED;
    return rt_scale(g, in[0], -1.7);
}
BUILDER(scale_heads)
{
    UNUSED;
    return rt_scale_heads(g, in[0], in[1]);
}
/* The tensor is its own factor. */
BUILDER(scale_heads_by_itself)
{
    UNUSED;
    return rt_scale_heads(g, in[0], rt_reshape(g, in[0], S((int)rt_size(in[0]))));
}
BUILDER(exp_of)
{
    UNUSED;
    return rt_exp(g, in[0]);
}
BUILDER(gelu)
{
    UNUSED;
    return rt_gelu(g, in[0]);
}
#define ACTIVATION(name, kind)                                                                     \
    BUILDER(name)                                                                                  \
    {                                                                                              \
        UNUSED;                                                                                    \
        return rt_activate(g, in[0], kind);                                                        \
    }
ACTIVATION(gelu_tanh, RT_GELU_TANH)
ACTIVATION(relu, RT_RELU)
ACTIVATION(tanh_of, RT_TANH)
ACTIVATION(sigmoid, RT_SIGMOID)
ACTIVATION(silu, RT_SILU)
ACTIVATION(elu_plus_one, RT_ELU_PLUS_ONE)
BUILDER(log_softmax)
{
    UNUSED;
    return rt_log_softmax(g, in[0]);
}
BUILDER(dropout)
{
    UNUSED;
    rt_graph_set_random(g, 7, 3, 1);
    return rt_dropout(g, in[0], 0.4);
}
BUILDER(reshape)
{
    UNUSED;
    return rt_reshape(g, in[0], S((int)rt_size(in[0])));
}
BUILDER(permute)
{
    UNUSED;
    return rt_permute(g, in[0], (const int[]){2, 0, 3, 1});
}
BUILDER(transpose)
{
    UNUSED;
    return rt_permute(g, in[0], (const int[]){1, 0});
}
BUILDER(normalize)
{
    UNUSED;
    return rt_normalize(g, in[0]);
}
BUILDER(sum)
{
    UNUSED;
    return rt_sum(g, in[0]);
}
BUILDER(mean)
{
    UNUSED;
    return rt_mean(g, in[0]);
}
static const uint8_t pool_mask[] = {1, 0, 1, 1, 0, 0, 0, 0};
BUILDER(pool_first)
{
    UNUSED;
    return rt_pool(g, in[0], RT_POOL_FIRST, pool_mask);
}
BUILDER(pool_mean)
{
    UNUSED;
    return rt_pool(g, in[0], RT_POOL_MEAN, pool_mask);
}
BUILDER(pool_mean_of_all)
{
    UNUSED;
    return rt_pool(g, in[0], RT_POOL_MEAN, NULL);
}
BUILDER(pool_last)
{
    UNUSED;
    return rt_pool(g, in[0], RT_POOL_LAST, pool_mask);
}
BUILDER(matmul)
{
    UNUSED;
    return rt_matmul(g, in[0], in[1]);
}
BUILDER(linear)
{
    UNUSED;
    return rt_linear(g, in[0], in[1], in[2]);
}
BUILDER(linear_without_bias)
{
    UNUSED;
    return rt_linear(g, in[0], in[1], NULL);
}
BUILDER(linear_onto)
{
    UNUSED;
    return rt_linear_onto(g, in[3], in[0], in[1], in[2]);
}
BUILDER(linear_onto_itself_without_bias)
{
    UNUSED;
    return rt_linear_onto(g, in[0], in[0], in[1], NULL);
}
BUILDER(linear_gelu)
{
    UNUSED;
    return rt_linear_activate(g, in[0], in[1], in[2], RT_GELU);
}
BUILDER(linear_tanh_without_bias)
{
    UNUSED;
    return rt_linear_activate(g, in[0], in[1], NULL, RT_TANH);
}
/* The gradient of the sum meets that which the activation left. */
BUILDER(linear_silu_and_residual)
{
    UNUSED;
    rt_tensor *y = rt_linear_activate(g, in[0], in[1], in[2], RT_SILU);
    return rt_add(g, y, rt_linear_activate(g, y, in[1], in[2], RT_SIGMOID));
}
BUILDER(layer_norm_without_bias)
{
    UNUSED;
    return rt_layer_norm(g, in[0], in[1], NULL, 1e-5);
}
BUILDER(layer_norm)
{
    UNUSED;
    return rt_layer_norm(g, in[0], in[1], in[2], 1e-5);
}
BUILDER(rms_norm)
{
    UNUSED;
    return rt_rms_norm(g, in[0], in[1], 1e-5);
}
BUILDER(rms_norm_and_residual)
{
    UNUSED;
    return rt_add(g, in[0], rt_rms_norm(g, in[0], in[1], 0.1));
}
BUILDER(swiglu)
{
    UNUSED;
    return rt_glu(g, in[0], in[1], RT_SILU);
}
BUILDER(geglu)
{
    UNUSED;
    return rt_glu(g, in[0], in[1], RT_GELU);
}
BUILDER(glu_of_itself)
{
    UNUSED;
    return rt_glu(g, in[0], in[0], RT_SILU);
}
/* Gradients meet what has flowed to both inputs before. */
BUILDER(glu_of_what_is_used_again)
{
    UNUSED;
    rt_tensor *gate = rt_scale(g, in[0], 2), *x = rt_scale(g, in[1], 3);
    rt_tensor *y = rt_glu(g, gate, x, RT_TANH);
    return rt_add(g, y, rt_multiply(g, gate, x));
}
BUILDER(softmax)
{
    UNUSED;
    return rt_softmax(g, in[0]);
}
BUILDER(used_twice)
{
    UNUSED;
    rt_tensor *y = rt_gelu(g, rt_scale(g, in[0], 2));
    return rt_add(g, rt_multiply(g, y, in[0]), rt_exp(g, y));
}

static const int32_t ids[] = {3, 0, 3, 1, 4, 3};
BUILDER(embedding)
{
    UNUSED;
    return rt_embedding(g, in[0], ids, S(2, 3), RT_NO_PADDING);
}

static const int32_t labels[] = {2, RT_IGNORE, 0, 4};
BUILDER(cross_entropy)
{
    UNUSED;
    return rt_cross_entropy(g, in[0], labels, 0, 3);
}
BUILDER(smoothed)
{
    UNUSED;
    return rt_cross_entropy(g, in[0], labels, 0.1, 2.5);
}

/* ---- rope: x (B, T, H, D), theta ---- */

static rt_tensor *rotated(rt_graph *g, rt_tensor *const *in, rt_theta_form form, rt_pairing pairing,
                          rt_positions positions)
{
    rt_rotation *r = rt_rotation_learned(g, in[1], form, pairing, 1.1, in[0]->shape[0],
                                         in[0]->shape[1], positions);
    return rt_rope(g, in[0], r);
}

static const double scattered[] = {5, -2, 0.5, 0, 40, 3};
BUILDER(rope)
{
    UNUSED;
    return rotated(g, in, RT_THETA_RAW, RT_INTERLEAVED, (rt_positions){0});
}
BUILDER(rope_half)
{
    UNUSED;
    return rotated(g, in, RT_THETA_RAW, RT_HALF, (rt_positions){0});
}
BUILDER(rope_log)
{
    UNUSED;
    return rotated(g, in, RT_THETA_LOG, RT_HALF, (rt_positions){.offset = 9});
}
BUILDER(rope_positions)
{
    UNUSED;
    return rotated(g, in, RT_THETA_LOG, RT_INTERLEAVED,
                   (rt_positions){.at = scattered, .per_sequence = true});
}
/* Queries and keys of xPos. */
static rt_tensor *decayed(rt_graph *g, rt_tensor *const *in, rt_theta_form form, rt_pairing pairing,
                          rt_positions positions, double scale)
{
    const int T = in[0]->shape[1];
    const rt_rotation *r =
        rt_rotation_learned(g, in[1], form, pairing, 1.1, in[0]->shape[0], T + 1, positions);
    return rt_rope(g, in[0], rt_rotation_decayed(g, r, T, scale));
}
BUILDER(rope_decayed)
{
    UNUSED;
    return decayed(g, in, RT_THETA_LOG, RT_INTERLEAVED, (rt_positions){.offset = 2}, 3);
}
BUILDER(rope_decayed_half)
{
    UNUSED;
    return decayed(g, in, RT_THETA_RAW, RT_HALF, (rt_positions){0}, -3);
}
BUILDER(rope_decayed_positions)
{
    UNUSED;
    static const double at[] = {5, -2, 0.5, 9, 0, 4, 3, 1};
    return decayed(g, in, RT_THETA_LOG, RT_INTERLEAVED,
                   (rt_positions){.at = at, .per_sequence = true}, -7);
}
/* Queries in groups that share a key, and a theta with it. */
BUILDER(rope_of_shared_keys)
{
    UNUSED;
    const rt_rotation *r = rt_rotation_learned(g, in[2], RT_THETA_LOG, RT_INTERLEAVED, 1, 1,
                                               in[0]->shape[1], (rt_positions){.offset = 1});
    return rt_attention(g, rt_rope(g, in[0], r), rt_rope(g, in[1], r), in[1],
                        &(rt_attention_options){.causal = true});
}
/* One theta for both. */
BUILDER(score_of_xpos)
{
    UNUSED;
    rt_tensor *q = decayed(g, in, RT_THETA_LOG, RT_HALF, (rt_positions){0}, 2);
    rt_tensor *k = decayed(g, in, RT_THETA_LOG, RT_HALF, (rt_positions){0}, -2);
    return rt_attention(g, q, k, in[0], &(rt_attention_options){.causal = true});
}
BUILDER(rope_twice)
{
    UNUSED;
    rt_tensor *y = rotated(g, in, RT_THETA_LOG, RT_INTERLEAVED, (rt_positions){0});
    return rotated(g, (rt_tensor *[]){y, in[1]}, RT_THETA_LOG, RT_HALF,
                   (rt_positions){.offset = 2});
}

/* ---- attention: q, k, v ---- */

static const uint8_t mask[] = {1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
static const double slopes[] = {0.5, 0.25};

#define ATTENTION(name, ...)                                                                       \
    BUILDER(name)                                                                                  \
    {                                                                                              \
        UNUSED;                                                                                    \
        rt_attention_options o = {__VA_ARGS__};                                                    \
        rt_graph_set_random(g, 5, 1, 2);                                                           \
        return rt_attention(g, in[0], in[1], in[2], &o);                                           \
    }
ATTENTION(attention, .scale = 0)
ATTENTION(attention_causal, .causal = true)
ATTENTION(attention_masked, .key_mask = mask, .scale = 1.5)
ATTENTION(attention_alibi, .slopes = slopes, .causal = true)
ATTENTION(attention_dropout, .dropout = 0.3)
ATTENTION(attention_window, .window = 2, .key_mask = mask)
ATTENTION(attention_window_causal, .window = 3, .causal = true, .dropout = 0.2)

/* Distances -2 ... 2, of which -1 and 1 are of one class. */
static const int16_t class_of[] = {0, 1, 2, 1, 3};
static const rt_distances distances = {2, 4, class_of};

BUILDER(attention_with_distance_bias)
{
    UNUSED;
    rt_attention_options o = {.distances = &distances, .distance_bias = in[3], .causal = true};
    return rt_attention(g, in[0], in[1], in[2], &o);
}
BUILDER(attention_with_distance_keys)
{
    UNUSED;
    rt_attention_options o = {.distances = &distances, .distance_keys = in[3], .key_mask = mask};
    return rt_attention(g, in[0], in[1], in[2], &o);
}
BUILDER(attention_with_both)
{
    UNUSED;
    rt_attention_options o = {.distances = &distances,
                              .distance_bias = in[3],
                              .distance_keys = in[4],
                              .scale = 0.7};
    return rt_attention(g, in[0], in[1], in[2], &o);
}

BUILDER(attention_of_itself)
{
    UNUSED;
    rt_attention_options o = {.scale = 0};
    return rt_attention(g, in[0], in[0], in[0], &o);
}

/* ---- linear attention: q, k, v, and the denominator's q and k ---- */

#define LINEAR_ATTENTION(name, ...)                                                                \
    BUILDER(name)                                                                                  \
    {                                                                                              \
        UNUSED;                                                                                    \
        rt_linear_attention_options o = {__VA_ARGS__};                                             \
        return rt_linear_attention(g, in[0], in[1], in[2], in[3], in[4], &o);                      \
    }
LINEAR_ATTENTION(linear_attention, .eps = 0.5)
LINEAR_ATTENTION(linear_attention_causal, .causal = true, .constant = 0.3)
LINEAR_ATTENTION(linear_attention_masked, .key_mask = mask, .constant = 2)
LINEAR_ATTENTION(linear_attention_causal_masked, .key_mask = mask, .causal = true)

/* Levels of its own, not those of key_exp: a constant makes the result depend on them. They rise
 * by less than what would hide a chunk from the next. Of the results one in each chunk. */
BUILDER(linear_attention_with_constant_and_levels)
{
    UNUSED;
    static const int32_t looked_at[] = {40, 100, 129};
    static real levels[130];
    for (int i = 0; i < 130; i++)
        levels[i] = (real)(0.01 * i + 0.3 * (i > 40) + 0.4 * (i > 70));
    rt_linear_attention_options o = {.causal = true, .constant = 0.7, .eps = 0.1, .level = levels};
    rt_tensor *y = rt_linear_attention(g, in[0], in[1], in[2], in[3], in[4], &o);
    return rt_embedding(g, rt_reshape(g, y, S(130, 1)), looked_at, S(3), RT_NO_PADDING);
}

BUILDER(linear_attention_of_itself)
{
    UNUSED;
    rt_linear_attention_options o = {.causal = true};
    return rt_linear_attention(g, in[0], in[0], in[0], in[0], in[0], &o);
}

static rt_tensor *with_key_exp(rt_graph *g, rt_tensor *const *in, const uint8_t *key_mask,
                               bool causal)
{
    rt_linear_attention_options o = {.causal = causal, .key_mask = key_mask};
    rt_tensor *k = rt_key_exp(g, in[1], key_mask, causal, NULL, &o.level);
    return rt_linear_attention(g, in[0], k, in[2], in[0], k, &o);
}
BUILDER(key_exp)
{
    UNUSED;
    return with_key_exp(g, in, mask, false);
}
BUILDER(key_exp_causal)
{
    UNUSED;
    return with_key_exp(g, in, NULL, true);
}
BUILDER(key_exp_causal_masked)
{
    UNUSED;
    return with_key_exp(g, in, mask, true);
}

static const row rows[] = {
    {"add", add_repeated_result, SHAPES(AXES(3, 2, 4), AXES(2, 4))},
    {"add", add, SHAPES(AXES(3, 4), AXES(3, 4))},
    {"add", add, SHAPES(AXES(2, 3, 5), AXES(5))},
    {"add", add, SHAPES(AXES(2, 3, 1), AXES(3, 1))},
    {"add", add_to_itself, SHAPES(AXES(2, 3))},
    {"multiply", multiply, SHAPES(AXES(3, 4), AXES(3, 4))},
    {"multiply", multiply, SHAPES(AXES(2, 1, 3), AXES(3))},
    {"multiply", square, SHAPES(AXES(7))},
    {"scale", scale, SHAPES(AXES(2, 5))},
    {"scale_heads", scale_heads, SHAPES(AXES(2, 3, 4, 5), AXES(4))},
    {"scale_heads", scale_heads, SHAPES(AXES(1, 7), AXES(1))},
    {"scale_heads", scale_heads_by_itself, SHAPES(AXES(1, 3, 1))},
    {"exp", exp_of, SHAPES(AXES(3, 3))},
    {"gelu", gelu, SHAPES(AXES(40)), .low = -5, .high = 5},
    {"gelu_tanh", gelu_tanh, SHAPES(AXES(40)), .low = -5, .high = 5},
    /* The kink at 0 is at no drawn element: the step is far smaller than the nearest. */
    {"relu", relu, SHAPES(AXES(4, 5))},
    {"tanh", tanh_of, SHAPES(AXES(20)), .low = -3, .high = 3},
    {"sigmoid", sigmoid, SHAPES(AXES(20)), .low = -5, .high = 5},
    {"silu", silu, SHAPES(AXES(20)), .low = -5, .high = 5},
    /* Continuous with its first derivative at 0. */
    {"elu_plus_one", elu_plus_one, SHAPES(AXES(2, 10)), .low = -3, .high = 3},
    {"gelu", used_twice, SHAPES(AXES(2, 3))},
    {"glu", swiglu, SHAPES(AXES(2, 3, 5), AXES(2, 3, 5)), .low = -3, .high = 3},
    {"glu", geglu, SHAPES(AXES(4, 5), AXES(4, 5)), .low = -3, .high = 3},
    {"glu", geglu, SHAPES(AXES(1), AXES(1))},
    {"glu", glu_of_itself, SHAPES(AXES(3, 3))},
    {"glu", glu_of_what_is_used_again, SHAPES(AXES(3, 4), AXES(3, 4))},
    {"dropout", dropout, SHAPES(AXES(3, 7))},
    {"dropout", dropout, SHAPES(AXES(2, 3, 50))},
    {"reshape", reshape, SHAPES(AXES(2, 3, 4))},
    {"permute", permute, SHAPES(AXES(2, 3, 1, 4))},
    {"permute", transpose, SHAPES(AXES(3, 5))},
    {"sum", sum, SHAPES(AXES(3, 5))},
    {"mean", mean, SHAPES(AXES(1))},
    {"mean", mean, SHAPES(AXES(2, 3, 2, 2))},
    {"pool", pool_first, SHAPES(AXES(2, 4, 3))},
    {"pool", pool_mean, SHAPES(AXES(2, 3, 5))},
    {"pool", pool_mean_of_all, SHAPES(AXES(2, 3, 1))},
    {"pool", pool_last, SHAPES(AXES(2, 4, 3))},
    {"pool", pool_last, SHAPES(AXES(3, 1, 2))},
    {"matmul", matmul, SHAPES(AXES(3, 4), AXES(4, 5))},
    {"matmul", matmul, SHAPES(AXES(2, 3, 3, 4), AXES(2, 3, 4, 1))},
    {"matmul", matmul, SHAPES(AXES(2, 3, 4), AXES(4, 2))},
    {"linear", linear, SHAPES(AXES(3, 5), AXES(4, 5), AXES(4))},
    {"linear", linear, SHAPES(AXES(2, 1, 3), AXES(1, 3), AXES(1))},
    {"linear", linear_without_bias, SHAPES(AXES(2, 2, 3), AXES(5, 3))},
    {"linear", linear_onto, SHAPES(AXES(3, 5), AXES(4, 5), AXES(4), AXES(3, 4))},
    {"linear", linear_onto_itself_without_bias, SHAPES(AXES(2, 3, 4), AXES(4, 4))},
    {"linear_activation", linear_gelu, SHAPES(AXES(3, 5), AXES(4, 5), AXES(4))},
    {"linear_activation", linear_gelu, SHAPES(AXES(2, 1, 3), AXES(1, 3), AXES(1))},
    {"linear_activation", linear_tanh_without_bias, SHAPES(AXES(2, 2, 3), AXES(5, 3))},
    {"linear_activation", linear_silu_and_residual, SHAPES(AXES(3, 4), AXES(4, 4), AXES(4))},
    {"layer_norm", layer_norm, SHAPES(AXES(3, 7), AXES(7), AXES(7))},
    {"layer_norm", layer_norm, SHAPES(AXES(2, 2, 2), AXES(2), AXES(2))},
    {"layer_norm", layer_norm_without_bias, SHAPES(AXES(3, 7), AXES(7))},
    {"rms_norm", rms_norm, SHAPES(AXES(3, 7), AXES(7))},
    {"rms_norm", rms_norm, SHAPES(AXES(2, 2, 1), AXES(1))},
    {"rms_norm", rms_norm_and_residual, SHAPES(AXES(2, 2, 3), AXES(3))},
    {"normalize", normalize, SHAPES(AXES(3, 4))},
    {"normalize", normalize, SHAPES(AXES(2, 2, 1))},
    {"softmax", softmax, SHAPES(AXES(3, 7)), .low = -3, .high = 3},
    {"softmax", softmax, SHAPES(AXES(4, 1))},
    {"log_softmax", log_softmax, SHAPES(AXES(3, 7)), .low = -3, .high = 3},
    {"log_softmax", log_softmax, SHAPES(AXES(2, 2, 1))},
    {"embedding", embedding, SHAPES(AXES(5, 3))},
    {"embedding", embedding, SHAPES(AXES(5, 1))},
    {"cross_entropy", cross_entropy, SHAPES(AXES(4, 5)), .low = -3, .high = 3},
    {"cross_entropy", smoothed, SHAPES(AXES(2, 2, 5)), .low = -3, .high = 3},
    {"rope", rope, SHAPES(AXES(2, 3, 2, 6), AXES(3))},
    {"rope", rope, SHAPES(AXES(1, 5, 1, 7), AXES(2))},
    {"rope", rope_half, SHAPES(AXES(2, 3, 2, 8), AXES(3))},
    {"rope", rope_half, SHAPES(AXES(2, 4, 3, 4), AXES(3, 2))},
    {"rope", rope_log, SHAPES(AXES(2, 3, 2, 4), AXES(2, 2))},
    {"rope", rope_positions, SHAPES(AXES(2, 3, 2, 6), AXES(3)), .low = -2, .high = 0},
    {"rope", rope_decayed, SHAPES(AXES(2, 3, 2, 6), AXES(3))},
    {"rope", rope_decayed, SHAPES(AXES(1, 5, 1, 7), AXES(2))},
    {"rope", rope_decayed, SHAPES(AXES(2, 3, 2, 4), AXES(2, 2))},
    {"rope", rope_decayed_half, SHAPES(AXES(2, 3, 2, 8), AXES(3))},
    {"rope", rope_decayed_half, SHAPES(AXES(1, 4, 3, 4), AXES(3, 2))},
    {"rope", rope_decayed_positions, SHAPES(AXES(2, 3, 2, 6), AXES(3)), .low = -2, .high = 0},
    {"rope", score_of_xpos, SHAPES(AXES(2, 5, 2, 6), AXES(2))},
    {"rope", score_of_xpos, SHAPES(AXES(1, 6, 2, 4), AXES(2, 2)), .low = -2, .high = 0},
    {"rope", rope_half, SHAPES(AXES(2, 3, 4, 5), AXES(2, 2))},
    {"rope", rope_decayed, SHAPES(AXES(1, 3, 6, 4), AXES(3, 1))},
    {"rope", rope_of_shared_keys, SHAPES(AXES(2, 4, 4, 4), AXES(2, 4, 2, 4), AXES(2, 2))},
    {"rope", rope_of_shared_keys, SHAPES(AXES(1, 4, 3, 4), AXES(1, 4, 1, 4), AXES(1, 2))},
    {"rope", rope_twice, SHAPES(AXES(1, 4, 2, 4), AXES(2))},
    {"attention", attention, SHAPES(AXES(2, 3, 2, 4), AXES(2, 5, 2, 4), AXES(2, 5, 2, 3))},
    {"attention", attention, SHAPES(AXES(1, 1, 1, 1), AXES(1, 1, 1, 1), AXES(1, 1, 1, 1))},
    {"attention", attention_causal, SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 3))},
    {"attention", attention_masked, SHAPES(AXES(2, 4, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 1))},
    {"attention", attention_alibi, SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 3))},
    {"attention", attention_dropout, SHAPES(AXES(2, 3, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 2))},
    {"attention", attention_window, SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 2))},
    {"attention", attention_window, SHAPES(AXES(2, 4, 4, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 1))},
    {"attention", attention_window_causal,
     SHAPES(AXES(2, 5, 3, 2), AXES(2, 5, 1, 2), AXES(2, 5, 1, 3))},
    {"attention", attention, SHAPES(AXES(2, 3, 6, 2), AXES(2, 5, 2, 2), AXES(2, 5, 2, 3))},
    {"attention", attention_masked, SHAPES(AXES(2, 4, 2, 3), AXES(2, 5, 1, 3), AXES(2, 5, 1, 2))},
    {"attention", attention_alibi, SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 1, 3), AXES(2, 5, 1, 3))},
    {"attention", attention_dropout, SHAPES(AXES(2, 3, 4, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 2))},
    {"attention", attention_with_both,
     SHAPES(AXES(1, 6, 2, 2), AXES(1, 6, 1, 2), AXES(1, 6, 1, 2), AXES(4, 2), AXES(4, 2))},
    {"attention", attention_of_itself, SHAPES(AXES(1, 4, 2, 3))},
    {"attention", attention_with_distance_bias,
     SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(4, 2))},
    {"attention", attention_with_distance_keys,
     SHAPES(AXES(2, 4, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 1), AXES(4, 3))},
    {"attention", attention_with_both,
     SHAPES(AXES(1, 6, 2, 2), AXES(1, 6, 2, 2), AXES(1, 6, 2, 2), AXES(4, 2), AXES(4, 2))},
    /* Positive features: a denominator that comes near 0 has no derivative to speak of. The
     * last rows need more than one chunk of 64 tokens, that with levels three. */
    {"linear_attention", linear_attention,
     SHAPES(AXES(2, 3, 2, 4), AXES(2, 5, 2, 4), AXES(2, 5, 2, 3), AXES(2, 3, 2, 4),
            AXES(2, 5, 2, 4)),
     .low = 0.2, .high = 1},
    {"linear_attention", linear_attention_causal,
     SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 2), AXES(2, 5, 2, 3),
            AXES(2, 5, 2, 3)),
     .low = 0.2, .high = 1},
    {"linear_attention", linear_attention_masked,
     SHAPES(AXES(2, 4, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 1), AXES(2, 4, 2, 3),
            AXES(2, 5, 2, 3)),
     .low = 0.2, .high = 1},
    {"linear_attention", linear_attention_causal_masked,
     SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 2), AXES(2, 5, 2, 3),
            AXES(2, 5, 2, 3)),
     .low = 0.2, .high = 1},
    {"linear_attention", linear_attention_of_itself, SHAPES(AXES(1, 5, 2, 3)), .low = 0.2,
     .high = 1},
    {"linear_attention", linear_attention,
     SHAPES(AXES(1, 67, 1, 2), AXES(1, 66, 1, 2), AXES(1, 66, 1, 1), AXES(1, 67, 1, 2),
            AXES(1, 66, 1, 2)),
     .low = 0.2, .high = 1},
    {"linear_attention", linear_attention_causal,
     SHAPES(AXES(1, 66, 1, 1), AXES(1, 66, 1, 1), AXES(1, 66, 1, 1), AXES(1, 66, 1, 1),
            AXES(1, 66, 1, 1)),
     .low = 0.2, .high = 1},
    {"linear_attention", linear_attention_with_constant_and_levels,
     SHAPES(AXES(1, 130, 1, 1), AXES(1, 130, 1, 1), AXES(1, 130, 1, 1), AXES(1, 130, 1, 1),
            AXES(1, 130, 1, 1)),
     .low = 0.2, .high = 1},
    {"key_exp", key_exp, SHAPES(AXES(2, 3, 2, 4), AXES(2, 5, 2, 4), AXES(2, 5, 2, 3)), .low = 0.2,
     .high = 1},
    {"key_exp", key_exp_causal, SHAPES(AXES(1, 66, 1, 2), AXES(1, 66, 1, 2), AXES(1, 66, 1, 2)),
     .low = 0.2, .high = 3},
    {"key_exp", key_exp_causal_masked, SHAPES(AXES(2, 5, 2, 3), AXES(2, 5, 2, 3), AXES(2, 5, 2, 3)),
     .low = 0.2, .high = 3},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- running a row ---- */

/* Under a tool that makes every instruction slow, a few elements of each input stand for all. */
#ifdef TEST_FEW_SAMPLES
enum { SAMPLES = 2 };
static const rt_gradcheck_mode all_outputs = RT_GRADCHECK_DIRECTION;
#else
enum { SAMPLES = 0 };
static const rt_gradcheck_mode all_outputs = RT_GRADCHECK_JACOBIAN;
#endif

typedef struct prepared {
    rt_tensor tensors[MAX_INPUTS];
    rt_tensor *inputs[MAX_INPUTS];
    int count;
} prepared;

static prepared prepare(const row *r)
{
    const double low = r->low == r->high ? -1 : r->low, high = r->low == r->high ? 1 : r->high;
    prepared p = {.count = 0};
    for (; r->shapes[p.count].ndim >= 0; p.count++) {
        size_t size = rt_shape_size(r->shapes[p.count]);
        real *data = rt_alloc(size, sizeof(real)), *grad = rt_alloc(size, sizeof(real));
        rt_random random = {11, (uint32_t)p.count, RT_STREAM_CHECK};
        ck_assert(data && grad);
        for (size_t i = 0; i < size; i++)
            data[i] = (real)(low + (high - low) * rt_random_uniform(random, i));
        p.tensors[p.count] = rt_tensor_of(data, grad, r->shapes[p.count]);
    }
    return p;
}

static void release(prepared *p)
{
    for (int i = 0; i < p->count; i++) {
        rt_free(p->tensors[i].data);
        rt_free(p->tensors[i].grad);
    }
}

static rt_status check(const row *r, prepared *p, rt_gradcheck_mode mode)
{
    rt_gradcheck_options o = {.mode = mode,
                              .tolerance = r->tolerance,
                              .samples = SAMPLES,
                              .seed = 3};
    for (int i = 0; i < p->count; i++)
        p->inputs[i] = &p->tensors[i];
    return rt_gradcheck(r->build, NULL, p->inputs, p->count, &o, NULL);
}

TEST_ROWS(gradient_agrees_with_central_differences, 0, ROWS)
{
    const row *r = rows + _i;
    prepared p = prepare(r);
    rt_status status = check(r, &p, RT_GRADCHECK_WEIGHTED);
    ck_assert_msg(!status.code, "row %d, %s: %s", _i, r->op, status.message);
    status = check(r, &p, all_outputs);
    ck_assert_msg(!status.code, "row %d, %s, all outputs: %s", _i, r->op, status.message);
    release(&p);
}

TEST_ROWS(each_input_gets_its_gradient_when_the_others_want_none, 0, ROWS)
{
    const row *r = rows + _i;
    prepared p = prepare(r);
    for (int only = 0; only < p.count; only++) {
        for (int i = 0; i < p.count; i++)
            p.tensors[i].wants_grad = i == only;
        rt_status status = check(r, &p, RT_GRADCHECK_WEIGHTED);
        ck_assert_msg(!status.code, "row %d, %s, only input %d: %s", _i, r->op, only,
                      status.message);
    }
    release(&p);
}

static void add_gradients(const row *r, prepared *p, real *upstream)
{
    rt_graph *g = rt_graph_new();
    for (int i = 0; i < p->count; i++)
        p->inputs[i] = &p->tensors[i];
    rt_tensor *out = r->build(g, p->inputs, NULL);
    for (size_t k = 0; k < rt_size(out); k++)
        upstream[k] = (real)(rt_random_uniform((rt_random){6, 0, RT_STREAM_CHECK}, k) - 0.5);
    rt_status status = rt_graph_backward_from(g, out, upstream);
    ck_assert_msg(!status.code, "%s: %s", r->op, status.message);
    rt_graph_free(g);
}

/* A second backward doubles every gradient. */
TEST_ROWS(backward_adds_to_what_is_there, 0, ROWS)
{
    enum { MOST = 1024 };
    const row *r = rows + _i;
    prepared p = prepare(r);
    real first[MAX_INPUTS][MOST], upstream[MOST];
    add_gradients(r, &p, upstream);
    for (int i = 0; i < p.count; i++)
        memcpy(first[i], p.tensors[i].grad, rt_size(&p.tensors[i]) * sizeof(real));
    add_gradients(r, &p, upstream);
    for (int i = 0; i < p.count; i++)
        for (size_t k = 0; k < rt_size(&p.tensors[i]); k++)
            ck_assert_msg(fabs(p.tensors[i].grad[k] - 2 * first[i][k]) < 1e-12,
                          "row %d, %s, input %d: %g after %g", _i, r->op, i, p.tensors[i].grad[k],
                          first[i][k]);
    release(&p);
}

/* ---- dry runs ---- */

/* Returns the bytes that a graph needs for the row: forward and backward, or forward without
 * recording. */
static size_t bytes_of(const row *r, prepared *p, rt_graph *g, bool backward)
{
    static real upstream[1024];
    for (int i = 0; i < p->count; i++)
        p->inputs[i] = &p->tensors[i];
    rt_graph_record(g, backward);
    rt_tensor *out = r->build(g, p->inputs, NULL);
    rt_status status =
        out && backward ? rt_graph_backward_from(g, out, upstream) : rt_graph_status(g);
    ck_assert_msg(!status.code, "%s: %s", r->op, status.message);
    const size_t bytes = rt_graph_peak(g);
    ck_assert_uint_eq(rt_graph_needs(g).touched, bytes); /* which one chunk has room for */
    rt_graph_free(g);
    return bytes;
}

/* Of inputs that are nowhere: nothing is computed. */
TEST_ROWS(a_dry_run_counts_the_memory_of_a_run, 0, ROWS)
{
    const row *r = rows + _i;
    prepared p = prepare(r), dry = p;
    for (int i = 0; i < p.count; i++)
        dry.tensors[i].data = dry.tensors[i].grad = RT_RESERVED;
    for (int backward = 0; backward < 2; backward++)
        ck_assert_uint_eq(bytes_of(r, &dry, rt_graph_new_dry(), backward),
                          bytes_of(r, &p, rt_graph_new(), backward));
    release(&p);
}

/* ---- the table is complete ---- */

static bool on_tape(const row *r, const rt_op *op)
{
    prepared p = prepare(r);
    rt_graph *g = rt_graph_new();
    bool found = false;
    for (int i = 0; i < p.count; i++)
        p.inputs[i] = &p.tensors[i];
    ck_assert(r->build(g, p.inputs, NULL));
    for (const rt_node *n = rt_graph_tape(g); n; n = n->older)
        found |= n->op == op;
    rt_graph_free(g);
    release(&p);
    return found;
}

TEST(every_op_has_a_row_that_uses_it)
{
#define NAME_AND_OP(name) {#name, &rt_op_##name},
    static const struct {
        const char *name;
        const rt_op *op;
    } ops[] = {RT_OPS(NAME_AND_OP)};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        int used = 0;
        ck_assert_str_eq(ops[i].op->name, ops[i].name);
        for (int r = 0; r < ROWS; r++)
            used += !strcmp(rows[r].op, ops[i].name) && on_tape(rows + r, ops[i].op);
        ck_assert_msg(used, "%s has no row in the gradient table", ops[i].name);
    }
}
