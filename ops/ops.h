#ifndef ROTOR_OPS_OPS_H
#define ROTOR_OPS_OPS_H

/* Every differentiable op and its contract. Inputs are leaves or tensors of the graph; the result
 * is a tensor that the graph owns, or x itself where so stated.
 *
 * An op fails the graph and returns NULL if a required input or array is NULL, or if a shape, an
 * option or an index does not fit; the message begins with the op in brackets: [linear] for
 * rt_linear_onto, [rope] for all rotations, [round] for rt_for_products, [activate] for an unknown
 * kind in rt_activate, [linear_activation] for rt_linear_activate. Ops do not check the values of
 * tensors. A NaN gives NaN in the result, except through relu, elu_plus_one (also inside rt_glu and
 * rt_linear_activate) and rt_normalize. A NaN that is dropped, or in a row that is masked,
 * unlabelled or not pooled, need not reach the result. The length of an array cannot be checked. In
 * a shape, `...` stands for any leading axes. dx is the gradient of x, dy the gradient of the
 * result.
 *
 * A graph runs backward once (rt_graph_backward), because backward overwrites memory: activations,
 * rt_layer_norm, rt_rms_norm, rt_glu and rt_linear_activate overwrite dy; rt_add, rt_reshape,
 * rt_for_products and rt_linear_onto pass the memory of dy to an input without a copy. Saved data
 * and results live until the graph is cleared, unless freed earlier (core/graph.h):
 * rt_graph_release and rt_for_products free one result; rt_graph_keep frees all results since a
 * mark except one, if the graph does not record; rt_graph_recompute frees all that its segment made
 * except the result.
 */

#include "core/choice.h"
#include "core/graph.h"

#include <stdint.h>

/* ---- elementwise ---- */

/* Computes x + y. y has the shape of x, or of the trailing axes of x, and is then broadcast over
 * the others. */
rt_tensor *rt_add(rt_graph *g, rt_tensor *x, rt_tensor *y);

/* Computes x * y, element by element; shapes as for rt_add. */
rt_tensor *rt_multiply(rt_graph *g, rt_tensor *x, rt_tensor *y);

/* Computes factor * x. */
rt_tensor *rt_scale(rt_graph *g, rt_tensor *x, double factor);

/* Multiplies each head by its own factor: y[..., h, d] = factors[h] x[..., h, d].
 *
 *   x        (..., H, D)
 *   factors  (H)
 *   result   (..., H, D)
 *
 * The gradient of a factor is summed in double. */
rt_tensor *rt_scale_heads(rt_graph *g, rt_tensor *x, rt_tensor *factors);

/* Applies an activation function:
 *
 *   RT_GELU          x/2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel 2016)
 *   RT_GELU_TANH     x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
 *   RT_RELU          max(x, 0), with derivative 0 at 0
 *   RT_TANH          tanh x
 *   RT_SIGMOID       1 / (1 + e^-x)
 *   RT_SILU          x / (1 + e^-x)
 *   RT_EXP           e^x
 *   RT_ELU_PLUS_ONE  x + 1 above 0, e^x below
 *   RT_SOFTPLUS      log(1 + e^x)
 *   RT_LOG_SIGMOID   -log(1 + e^-x)
 *
 * RT_ACTIVATION_ROWS lists the constants of rt_activation and the names of their ops. A
 * feed-forward block may use those of RT_BLOCK_ACTIVATION_ROWS, whose words RT_ACTIVATIONS lists.
 */
#define RT_BLOCK_ACTIVATION_ROWS(Y, X)                                                             \
    Y(X, RT_GELU, gelu)                                                                            \
    Y(X, RT_GELU_TANH, gelu_tanh)                                                                  \
    Y(X, RT_RELU, relu)                                                                            \
    Y(X, RT_TANH, tanh)                                                                            \
    Y(X, RT_SIGMOID, sigmoid)                                                                      \
    Y(X, RT_SILU, silu)                                                                            \
    Y(X, RT_EXP, exp)                                                                              \
    Y(X, RT_ELU_PLUS_ONE, elu_plus_one)
#define RT_ACTIVATION_ROWS(Y, X)                                                                   \
    RT_BLOCK_ACTIVATION_ROWS(Y, X)                                                                 \
    Y(X, RT_SOFTPLUS, softplus)                                                                    \
    Y(X, RT_LOG_SIGMOID, log_sigmoid)
#define RT_ACTIVATION_WORD(X, value, op)  X(value, #op)
#define RT_ACTIVATION_NAME(X, value, op)  X(op)
#define RT_ACTIVATION_VALUE(X, value, op) value,
#define RT_ACTIVATIONS(X)                 RT_BLOCK_ACTIVATION_ROWS(RT_ACTIVATION_WORD, X)
typedef enum rt_activation { RT_ACTIVATION_ROWS(RT_ACTIVATION_VALUE, ) } rt_activation;
rt_tensor *rt_activate(rt_graph *g, rt_tensor *x, rt_activation kind);

/* Computes the gated linear unit f(gate) * x, element by element, for tensors of one shape: SwiGLU
 * with RT_SILU, GeGLU with RT_GELU (Shazeer 2020). Saves nothing: backward recomputes f. */
rt_tensor *rt_glu(rt_graph *g, rt_tensor *gate, rt_tensor *x, rt_activation kind);

/* Sets an element to zero with probability p, else to x / (1 - p); 0 <= p < 1. The mask is not
 * stored: backward draws it again from the graph's random numbers. Returns x itself if p is 0 or
 * dropout is off (rt_graph_set_random). */
rt_tensor *rt_dropout(rt_graph *g, rt_tensor *x, double p);

/* ---- shape, sums ---- */

/* Returns a view of x, in the memory of x, with another shape of the same size. */
rt_tensor *rt_reshape(rt_graph *g, rt_tensor *x, rt_shape shape);

/* Permutes the axes: axis i of the result is axis order[i] of x. */
rt_tensor *rt_permute(rt_graph *g, rt_tensor *x, const int *order);

/* Computes the sum, or the mean, of all elements: one number. */
rt_tensor *rt_sum(rt_graph *g, rt_tensor *x);
rt_tensor *rt_mean(rt_graph *g, rt_tensor *x);

/* Pools each sequence to one row: its first token, its last token or the mean of its tokens.
 *
 *   x         (B, T, C)
 *   key_mask  (B, T): 1 = token, 0 = padding, which RT_POOL_LAST and RT_POOL_MEAN ignore;
 *             must live until the graph is cleared; NULL: no padding
 *   result    (B, C)
 *
 * The first token is always at place 0. In a sequence of padding alone the mean is 0, and the last
 * token is the one at place 0. Sums are in double. */
#define RT_POOLINGS(X) X(RT_POOL_FIRST, "first") X(RT_POOL_MEAN, "mean") X(RT_POOL_LAST, "last")
typedef enum rt_pooling { RT_POOLINGS(RT_CHOICE_VALUE) } rt_pooling;
rt_tensor *rt_pool(rt_graph *g, rt_tensor *x, rt_pooling kind, const uint8_t *key_mask);

/* ---- along the tokens of a sequence ---- */

/* Computes the running sum along an axis: of each number and all before it, in double. The result
 * has exact numbers (rt_tensor.exact).
 *
 *   x        any shape with that axis
 *   before   start of each sum, in the shape of x without the axis; NULL: 0
 *
 * dx is the sum of dy from the end, in double. */
rt_tensor *rt_running_sum(rt_graph *g, rt_tensor *x, int axis, const double *before);

/* Computes the causal convolution over time of each channel by itself:
 * y_t = sum_k taps_k x_(t - K + 1 + k), so that taps_(K-1) multiplies the token itself.
 *
 *   x        (B, T, C)
 *   taps     (C, K)
 *   before   (B, K - 1, C): the tokens before x, which must live until the graph is cleared;
 *            NULL: zeros
 *   result   (B, T, C)
 *
 * The gradient of a tap is summed in double. No gradient flows to `before`. */
rt_tensor *rt_depthwise_conv(rt_graph *g, rt_tensor *x, rt_tensor *taps, const real *before);

/* Shifts features first ... D-1 of every head by one token: token t gets those of token t - 1
 * (partial key offset, github.com/KellerJordan/modded-nanogpt).
 *
 *   x        (B, T, H, D)
 *   before   (B, H, D - first): those of the token before x; NULL: token 0 keeps its own
 *   key_mask (B, T): 1 = token, 0 = padding, behind which a token keeps its own; NULL: no padding
 *   result   (B, T, H, D)
 *
 * No gradient flows to `before`. The mask must live until the graph is cleared. */
rt_tensor *rt_shift(rt_graph *g, rt_tensor *x, int first, const real *before,
                    const uint8_t *key_mask);

/* ---- products ---- */

/* Multiplies matrices.
 *
 *   a       (..., M, K)
 *   b       (..., K, N) with the same leading axes, or (K, N) for all of them
 *   result  (..., M, N) */
rt_tensor *rt_matmul(rt_graph *g, rt_tensor *a, rt_tensor *b);

/* Computes the linear map x weight^T + bias.
 *
 *   x       (..., I)
 *   weight  (O, I)
 *   bias    (O), or NULL
 *   result  (..., O) */
rt_tensor *rt_linear(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias);

/* Computes residual + x weight^T + bias. The residual has the shape of the result. */
rt_tensor *rt_linear_onto(rt_graph *g, rt_tensor *residual, rt_tensor *x, rt_tensor *weight,
                          rt_tensor *bias);

/* Computes f(x weight^T + bias), with shapes as above, in less memory and fewer passes than
 * two ops. */
rt_tensor *rt_linear_activate(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias,
                              rt_activation kind);

/* Returns x, if possible stored only in bf16. Only products may read the result: as x of rt_linear,
 * rt_linear_onto or rt_linear_activate, or as q, k or v of rt_attention (as k or v alone with
 * distance_keys). It may be reshaped before them.
 *
 * The result is stored in bf16 alone if all of this holds: products round to bf16 (engine.h), the
 * graph records, x is a result that wants a gradient, and no op recorded so far reads x in its
 * backward. Then other ops refuse the result, and the memory of x is reused: do not read x again.
 * Otherwise the result is x itself. */
rt_tensor *rt_for_products(rt_graph *g, rt_tensor *x);

/* ---- rows ---- */

/* Normalizes the last axis: (x - mean) / sqrt(variance + eps) * weight + bias, with the biased
 * variance (Ba et al. 2016).
 *
 *   x       (..., C)
 *   weight  (C)
 *   bias    (C), or NULL */
rt_tensor *rt_layer_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias, double eps);

/* Computes x / sqrt(mean of x^2 + eps) * weight over the last axis (Zhang and Sennrich 2019).
 *
 *   x       (..., C)
 *   weight  (C)
 *
 * Saves one number per row. */
rt_tensor *rt_rms_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, double eps);

/* Computes e^x / sum e^x over the last axis. */
rt_tensor *rt_softmax(rt_graph *g, rt_tensor *x);

/* Computes x / |x| over the last axis. A row of zeros stays zero. */
rt_tensor *rt_normalize(rt_graph *g, rt_tensor *x);

/* Computes x - log sum e^x over the last axis. */
rt_tensor *rt_log_softmax(rt_graph *g, rt_tensor *x);

/* Returns the rows of a table, or of any matrix, that `ids` selects.
 *
 *   table   (V, C)
 *   ids     one per element of `shape`, each 0 ... V-1; must live until the graph is cleared
 *   result  (shape..., C)
 *
 * The gradients of equal ids add up. The row `padding` (RT_NO_PADDING for none) gets
 * no gradient. */
rt_tensor *rt_embedding(rt_graph *g, rt_tensor *table, const int32_t *ids, rt_shape shape,
                        int padding);
enum { RT_NO_PADDING = -1 };

enum { RT_IGNORE = -100 };

/* Computes the cross entropy: the sum of log(sum_j e^(x_j)) - x_label over the labelled rows,
 * divided by `divisor`. With label smoothing s, the target is 1 - s at the label plus s / V
 * everywhere.
 *
 *   logits  (..., V)
 *   labels  one per row, 0 ... V-1, or RT_IGNORE for an unlabelled row; must live until the
 *           graph is cleared
 *   result  a single number
 *
 * For a mean, the divisor is the number of labels. If a batch is cut over several graphs whose
 * gradients are added, it is the number of labels of the whole batch. */
rt_tensor *rt_cross_entropy(rt_graph *g, rt_tensor *logits, const int32_t *labels, double smoothing,
                            double divisor);

/* Returns the index of the largest logit of a row, ignoring NaN: the first of equals, 0 if all are
 * NaN. */
int rt_largest(const rt_tensor *logits, size_t row);

/* Returns the number of labelled rows whose rt_largest is the label. Not differentiable. */
size_t rt_count_correct(const rt_tensor *logits, const int32_t *labels);

/* ---- rotary position embedding ---- */

/* Pairs of features of a head: (2i, 2i+1) or (i, i + R/2). The first R features of a head are
 * rotated. */
#define RT_PAIRINGS(X) X(RT_INTERLEAVED, "interleaved") X(RT_HALF, "half")
typedef enum rt_pairing { RT_PAIRINGS(RT_CHOICE_VALUE) } rt_pairing;

/* Form in which a parameter holds theta, the angle per position: ln theta, or theta itself. */
#define RT_THETA_FORMS(X) X(RT_THETA_LOG, "log") X(RT_THETA_RAW, "raw")
typedef enum rt_theta_form { RT_THETA_FORMS(RT_CHOICE_VALUE) } rt_theta_form;

/* Positions of the tokens of B sequences of T tokens: one coordinate, or two. */
typedef struct rt_positions {
    int T;                /* >= 1 */
    int B;                /* >= 1; used only if per_sequence and `at` is not NULL */
    const double *at;     /* (T), or (B, T) if per_sequence; NULL: offset, offset + 1, ... */
    const double *second; /* second coordinates, as `at`; needs `at`; NULL: one coordinate */
    bool per_sequence;
    double offset;
} rt_positions;

/* Cosines and sines of the angles of all positions, computed once for q, k and v: in double, stored
 * as `real`. With theta of shape (R/2) or, for G heads, (G, R/2), the angle of pair i is
 *
 *   m theta_i                                         at position m
 *   x theta_i for i < R/4, y theta_i for i >= R/4     at position (x, y), axial
 *
 * and with theta of shape (G, 2, R/2) it is x theta_0i + y theta_1i: mixed (Heo et al. 2024). */
typedef struct rt_rotation {
    int sequences; /* 1, or B if every sequence has its own positions */
    int length;    /* T; a shorter x uses the first positions */
    int heads;     /* G, rows of theta. G divides the heads H of x; head h of x uses row
                      h / (H/G), rounded down */
    int pairs;     /* R/2 */
    bool mixed;    /* theta has a number for each coordinate */
    rt_pairing pairing;
    double *position; /* (sequences, T): the first coordinate */
    double *second;   /* (sequences, T); NULL: one coordinate */
    real *cosine;     /* (sequences, T, G, R/2) */
    real *sine;
    rt_tensor *theta; /* in the shape and form given; NULL if fixed */
    rt_theta_form form;
    rt_tensor *angles; /* (sequences, T, G, R/2), in place of positions and theta; NULL: by them */
    double magnitude;  /* factor of all cosines and sines: 1, except for YaRN and LongRoPE */
} rt_rotation;

/* Returns a rotation by a learned theta, in the memory of the graph.
 *
 *   theta    (R/2), (G, R/2) or, for two coordinates, (G, 2, R/2), in the given form
 *
 * With two coordinates, unless theta is mixed, R/2 must be even. */
rt_rotation *rt_rotation_learned(rt_graph *g, rt_tensor *theta, rt_theta_form form,
                                 rt_pairing pairing, double magnitude, rt_positions positions);

/* Returns a rotation by a fixed theta of shape (G, R/2) or, for two coordinates, (G, 2, R/2), in
 * the memory of the graph. */
rt_rotation *rt_rotation_fixed(rt_graph *g, const double *theta, rt_shape shape, rt_pairing pairing,
                               double magnitude, rt_positions positions);

/* Returns a rotation by given angles, in the memory of the graph, for x of as many sequences.
 *
 *   angles   (B, T, G, R/2), radians; their exact numbers, if they have them
 *
 * In the float build the cosines and sines are correct to 1.2e-7 for angles up to 1e8. */
rt_rotation *rt_rotation_by_angles(rt_graph *g, rt_tensor *angles, rt_pairing pairing);

/* Returns zeta_i = (2i/R + 0.4) / 1.4, with R/2 = pairs. xPos multiplies the contribution of pair i
 * to the score of a query at m and a key at n by zeta_i^((m - n) / scale). */
double rt_xpos_zeta(int i, int pairs);

/* Returns the first T rows of a rotation of one coordinate with the decay of xPos, in the memory of
 * the graph: pair i at position m is also multiplied by zeta_i^(m / scale), zeta_i =
 * rt_xpos_zeta(i, R/2). With `scale` for queries and -scale for keys, the score of pair i for a
 * query at m and a key at n is multiplied by zeta_i^((m - n) / scale). It decays towards keys
 * before the query and grows towards keys after it (Sun et al. 2022, arXiv 2212.10554, where the
 * scale is 512; constants as in XPOS of torchscale, github.com/microsoft/torchscale).
 *
 * A position with |m| > RT_XPOS_REACH |scale| fails the graph. So factors are between 3e-18 and
 * 3e17, and queries, keys and their gradients stay well within the range of float. */
enum { RT_XPOS_REACH = 32 };
rt_rotation *rt_rotation_decayed(rt_graph *g, const rt_rotation *rotation, int T, double scale);

/* Rotates each pair of features of every head by position times theta (rotary position embedding;
 * Su et al. 2021, eq. 34). Features beyond R pass through.
 *
 *   x       (B, T, H, D), R <= D, H a multiple of the rotation's heads
 *   result  (B, T, H, D)
 *
 * dx is the same rotation of dy by the opposite angle, with the same magnitude and decay. With
 * magnitude 1 and no decay, the length of each pair is unchanged. The gradient of theta is computed
 * from the result: dL/dtheta_i = sum m (dy_b y_a - dy_a y_b) over all tokens and pairs of features
 * (a, b) that theta_i rotates, where m is the token's position, or the coordinate that theta_i
 * multiplies if there are two. The sum over positions and sequences is in double. Backward reads
 * the result only for a learned theta; if the result was released, x is rotated again. A rotation
 * by angles gives the angles the same gradients dy_b y_a - dy_a y_b, summed over the heads of x
 * that share them, in place of theta. `rotation` must live until the graph is cleared. */
rt_tensor *rt_rope(rt_graph *g, rt_tensor *x, const rt_rotation *rotation);

/* Computes angles of rotations that depend on the text: a = theta_p sums, as in selective RoPE
 * (Movahedi et al. 2026), where the sums are rt_running_sum over the tokens. The result has exact
 * numbers, and reads those of the sums.
 *
 *   sums     (..., G, P)
 *   theta    (P) or (G, P), in the given form; or fixed numbers of such a shape, which are copied
 *   result   (..., G, P)
 *
 * The gradient of theta is summed in double. */
rt_tensor *rt_angles(rt_graph *g, rt_tensor *sums, rt_tensor *theta, rt_theta_form form);
rt_tensor *rt_angles_fixed(rt_graph *g, rt_tensor *sums, const double *theta, rt_shape shape);

/* Computes the pair x (cos phase, sin phase) of each feature, for a rotation with RT_HALF in polar
 * position embedding (2509.10534), whose magnitudes x are positive.
 *
 *   x        (B, T, H, D)
 *   phase    (G, D), G a divisor of H, radians; NULL: 0
 *   result   (B, T, H, 2D): first the cosines
 *
 * The gradient of the phase is summed in double. */
rt_tensor *rt_polar(rt_graph *g, rt_tensor *x, rt_tensor *phase);

/* Computes theta_i = base^(-2i/R), i = 0 ... R/2 - 1. */
void rt_theta_geometric(double *theta, int pairs, double base);

/* ---- attention ---- */

/* Classes of distances (key position - query position, rounded): the class of distance d is
 * class_of[clamp(d, -reach, reach) + reach]. */
typedef struct rt_distances {
    int reach;
    int classes;
    const int16_t *class_of; /* (2 reach + 1), each 0 ... classes-1 */
} rt_distances;

typedef struct rt_attention_options {
    double scale;            /* of q k^T; 0 = 1 / sqrt(D) */
    bool causal;             /* keys at later positions are not visible */
    int window;              /* keys at this distance or farther are not visible; 0 = no limit */
    const uint8_t *key_mask; /* (B, Tk): 1 = visible; NULL: all are */
    const double *query_positions; /* (Tq); NULL: 0, 1, 2, ... */
    const double *key_positions;   /* (Tk); NULL: 0, 1, 2, ... */
    const double *slopes;          /* (H): ALiBi bias -slope |query - key position| */
    const rt_distances *distances; /* classes of the two tensors below; may be NULL only if both
                                      are NULL */
    rt_tensor *distance_bias;      /* (classes, H): added to the score (T5; Raffel et al. 2020) */
    rt_tensor *distance_keys;      /* (classes, D): added to the key (Shaw et al. 2018) */
    rt_tensor *key_bias;           /* (B, H, Tk), finite: added to the scores of a key, as in
                                      forgetting attention (Lin et al. 2025); NULL: none */
    double dropout;                /* of the probabilities, as rt_dropout */
    real *probabilities;           /* (B, H, Tq, Tk): output, before dropout; or NULL */
} rt_attention_options;

/* Computes softmax(scale q (k + distance key)^T + bias, over the visible keys) v for every head.
 *
 *   q       (B, Tq, H, D)
 *   k       (B, Tk, G, D), G a divisor of H: query head h reads key head h / (H/G), rounded down
 *   v       (B, Tk, G, E)          (grouped-query attention; Ainslie et al. 2023)
 *   result  (B, Tq, H, E)
 *
 * Works tile by tile (Dao et al. 2022) and saves two numbers per row, the maximum and the inverse
 * sum of the softmax; backward recomputes the probabilities. Tiles outside a window are skipped, so
 * the cost grows with T * window, not with T^2. A query without a visible key gets zeros. The
 * arrays of the options and *distances must live, unchanged, until the graph is cleared.
 *
 * The softmax does not change if a number is added to all keys of a query. So the bias of the key
 * at the last query of the tile (the last query of all is at the last key) is subtracted from the
 * biases, in double if key_bias has its exact numbers, before they are rounded: a bias may grow
 * with the length of the text, its differences keep their digits. With key_bias, denormal numbers
 * count as 0, because weights of keys that it hides are denormal. */
rt_tensor *rt_attention(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                        const rt_attention_options *options);

/* Level before the first token. The level of a token in a head is the m of rt_key_exp, whose result
 * is e^(x - m). The factor 1/4 keeps differences of levels from overflowing. */
#define RT_NO_LEVEL (-RT_REAL_MAX / 4)

/* Recurrent state of causal linear attention: sums over all earlier tokens, of constant size.
 * Before the first token the caller sets `sum` and `below` to 0 and `level` to RT_NO_LEVEL. An op
 * reads the state and advances it by its own tokens, so that a text can be read piece by piece.
 * Only for graphs that do not record: no gradient flows through it. */
typedef struct rt_linear_state {
    real *sum; /* (B, H, D + 1, E): sums of k v^T; last row: options.constant times the sum of v */
    real *below; /* (B, H, D + 1), denominator: sums of denominator_k; last: number of keys. With
                    levels, `sum` and `below` weight each key by e^(its level - `level`) */
    real *level; /* (B, H): level of the last token read; NULL without levels */
} rt_linear_state;

typedef struct rt_linear_attention_options {
    bool causal;             /* keys after the query are not visible */
    const uint8_t *key_mask; /* (B, Tk): 1 = visible; NULL: all are */
    double constant;         /* added to every similarity, in numerator and denominator */
    double eps;              /* added to the denominator */
    const real *level;       /* (B, Tk, H), causal only, levels of the tokens: the query of token i
                                weights key j by e^(level_j - level_i). Like those of rt_key_exp,
                                they must not decrease from token to token. NULL: weight 1 */
    rt_linear_state *state;  /* of the earlier tokens, causal only; NULL: there are none */
} rt_linear_attention_options;

/* Computes attention whose weights are products of features instead of exponentials of scores, so
 * that the cost is linear in T (Katharopoulos et al. 2020). For every head, over visible keys j:
 *
 *     y_i = sum_j (constant + q_i . k_j) v_j / (sum_j (constant + q'_i . k'_j) + eps)
 *
 *   q, q'   (B, Tq, H, D), Tq = Tk if causal
 *   k, k'   (B, Tk, H, D)
 *   v       (B, Tk, H, E)
 *   result  (B, Tq, H, E)
 *
 * q' is denominator_q, k' denominator_k; they may be the same tensors as q and k. Models with RoPE
 * usually rotate only q and k (Su et al. 2021, eq. 19), because a rotated denominator could
 * become 0. A query without visible keys, or with denominator 0, gets zeros.
 * Arrays of the options must live until the graph is cleared. */
rt_tensor *rt_linear_attention(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                               rt_tensor *denominator_q, rt_tensor *denominator_k,
                               const rt_linear_attention_options *options);

/* Computes keys of linear attention, e^(x - m), which cannot overflow: m is the running maximum
 * over the features of a head up to and including the token (causal), or the maximum over the
 * sequence. Masked tokens are excluded from m and become zeros.
 *
 *   x         (B, T, H, D)
 *   key_mask  (B, T): 1 = visible; NULL: all are
 *   before    (B, H), causal only: the maximum over earlier tokens (rt_linear_state.level);
 *             NULL: there are none
 *   *level    receives m, (B, T, H), which lives until the graph is cleared; if not causal, it
 *             receives NULL: the factor e^-m is common to all keys
 *
 * Backward treats m as a constant. Linear attention with these keys and levels does not depend on
 * m if `eps` and `constant` are 0; otherwise dx omits the path through m. */
rt_tensor *rt_key_exp(rt_graph *g, rt_tensor *x, const uint8_t *key_mask, bool causal,
                      const real *before, const real **level);

/* Names of all public ops; "round" and "recompute" are internal. tests/ops/test_gradients.c must
 * have a row for each. */
#define RT_OPS(X)                                                                                  \
    X(add)                                                                                         \
    X(multiply)                                                                                    \
    X(scale)                                                                                       \
    X(scale_heads)                                                                                 \
    RT_ACTIVATION_ROWS(RT_ACTIVATION_NAME, X)                                                      \
    X(glu)                                                                                         \
    X(dropout)                                                                                     \
    X(reshape)                                                                                     \
    X(permute)                                                                                     \
    X(sum)                                                                                         \
    X(mean)                                                                                        \
    X(pool)                                                                                        \
    X(running_sum)                                                                                 \
    X(depthwise_conv)                                                                              \
    X(shift)                                                                                       \
    X(matmul)                                                                                      \
    X(linear)                                                                                      \
    X(linear_activation)                                                                           \
    X(layer_norm)                                                                                  \
    X(rms_norm)                                                                                    \
    X(normalize)                                                                                   \
    X(softmax)                                                                                     \
    X(log_softmax)                                                                                 \
    X(embedding)                                                                                   \
    X(cross_entropy)                                                                               \
    X(rope)                                                                                        \
    X(angles)                                                                                      \
    X(polar)                                                                                       \
    X(attention)                                                                                   \
    X(key_exp)                                                                                     \
    X(linear_attention)

#define RT_OP_DECLARATION(name) extern const rt_op rt_op_##name;
RT_OPS(RT_OP_DECLARATION)

#endif
