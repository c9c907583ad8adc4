#ifndef ROTOR_MODELS_TRANSFORMER_H
#define ROTOR_MODELS_TRANSFORMER_H

/* The RoFormer encoder (Su et al. 2021), optionally with a learned theta. Its parameters and output
 * heads correspond one to one to those of transformers, Hugging Face's library. Options turn its
 * parts into those of current decoders. E is the width of the embeddings, C that of the model, V
 * the size of the vocabulary; H and G are the numbers of query and key heads, D the features of a
 * head, of which R are rotated.
 *
 *     embeddings   LN(word[ids] + type[token type]); dropout;
 *                  a linear map from E to C if they differ
 *     patch        adds W p to word[ids], p the numbers of the token's image patch; patches share
 *                  one id, whose embedding acts as a bias
 *     layer        a = LN(x + Wo attention(x));  x' = LN(a + W2 gelu(W1 a))      (post-LN)
 *                  a = x + Wo attention(LN(x));  x' = a + W2 gelu(W1 LN(a))      (pre-LN)
 *     attention    q, k, v = Wx; q, k (optionally v) rotated; softmax(q k^T / sqrt D) v,
 *                  or one of the linear forms
 *     lm head      LN(gelu(dense(x))), then the word embeddings transposed + bias
 *     sequence head  of token 0, the last token or the mean of all: dropout, dense, gelu,
 *                  dropout, classifier
 *     token head   dropout, classifier
 *     model.classifier  variants of these two heads. tanh: the sequence head has tanh in place of
 *                  gelu. norm: both heads are dense, gelu, LN, dropout, classifier
 *     token_dropout  the embeddings of mask tokens and padding become 0, all others are multiplied
 *                  by one factor per text, before positions and types are added (Lin et al. 2023;
 *                  models/encode.c)
 *
 *     decoder      no LN over the embeddings unless embedding_norm = yes; lm head: one linear map
 *                  without bias; sequence head: dropout, one linear map without bias; token head
 *                  as above
 *     norm_kind    rms: x / sqrt(mean x^2 + eps) weight replaces every LN
 *     norm_bias    no: every LN is (x - mean) / sqrt(variance + eps) weight
 *     first_norm   no: attention of layer 0 reads x itself                          (pre-LN)
 *     ffn          swiglu, geglu: W2 (f(W3 x) * W1 x), f silu or gelu
 *     kv_heads     H / G adjacent query heads share a head of keys and values, Wk and Wv (G D, C)
 *     head_dim     D, if not C / H: Wq (H D, C), Wo (C, H D)
 *     qk_norm      q and k of each head divided by their root mean square, times a weight (D),
 *                  before rotation
 *     residual     parallel: x' = x + Wo attention(LN(x)) + W2 gelu(W1 LN'(x))      (pre-LN)
 *     window       sliding window: tokens attend over distances below `window`, in the layers that
 *                  layer_types calls sliding (all if it is empty); their rope has local_base, if
 *                  that is set
 *     every        N > 1: layers N - 1, 2N - 1, ..., counted from 0, have no positional encoding;
 *                  position.layers, a yes or no for each layer, replaces position.every
 *     xpos         rotated queries and keys times zeta^(m / xpos) and zeta^(-n / xpos), so that
 *                  scores of earlier keys decay with the distance (Sun et al. 2022)
 *
 * Parameters, with .weight or .bias after the names of tables, linear maps and norms; maps and
 * norms without a bias have no .bias parameter:
 *
 *     embeddings   tokens; types; patches: patch -> E; norm; project: E -> C
 *     layers.N     attention.{query, key, value, output, query_norm, key_norm}; attention_norm
 *                  and ffn_norm, before or after their block;
 *                  ffn.{gate, up, down}: W3, W1, W2
 *     norm         after the last layer (pre-LN)
 *     head         lm: output, whose weight is that of tokens if tied; sequence, token: classifier.
 *                  If not a decoder, also: dense in lm and sequence, norm in lm; with
 *                  model.classifier = norm, dense and norm in sequence and token
 *
 * and the parameters of the positional encoding, named in the files of models/encodings/: a learned
 * theta is "theta" with theta.scope = model, else layers.N.attention.theta. With theta.head_scale,
 * layers.N.attention.head_scale is a factor for each query head, q <- s q. With position.forget,
 * layers.N.attention.forget has the gates of forgetting attention (models/encodings/forget.c), with
 * model.length_scale = learned layers.N.attention.length_scale a factor for each query head.
 *
 * A model is used by one thread at a time. Further models with the same options can share the
 * values of the first and have their own gradients.
 */

#include "core/parameters.h"
#include "models/options.h"
#include "ops/ops.h"

/* Names of parameters that other code looks up. */
#define RT_TOKENS_NAME      "embeddings.tokens.weight"
#define RT_TYPES_NAME       "embeddings.types.weight"
#define RT_PATCHES_NAME     "embeddings.patches" /* and ".weight" */
#define RT_OUTPUT_NAME      "head.output.weight"
#define RT_OUTPUT_BIAS_NAME "head.output.bias"

/* Writes the name of the theta of a layer; with -1, of the theta shared by all layers. Returns
 * `name`; RT_THETA_NAME has the memory of the enclosing block. */
const char *rt_transformer_theta_name(char name[RT_NAME_SIZE], int layer);
#define RT_THETA_NAME(layer) rt_transformer_theta_name((char[RT_NAME_SIZE]){0}, layer)

/* A weight and a bias, of a linear map or of a norm; the bias may be NULL. */
typedef struct rt_affine {
    rt_tensor *weight;
    rt_tensor *bias;
    rt_norm_kind norm_kind; /* unused in a linear map */
} rt_affine;

typedef struct rt_transformer_layer {
    rt_layer_row row; /* options of this layer */
    rt_affine query, key, value, output, attention_norm;
    rt_affine query_norm, key_norm; /* (D); none without qk_norm */
    rt_affine gate, up, down, ffn_norm;
    rt_tensor *encoding; /* parameter of the positional encoding, such as its own theta; or NULL */
    rt_tensor *head_scale;   /* (H); NULL without theta.head_scale */
    rt_affine forget;        /* of position.forget: weight (H, C), bias (H), or NULL */
    rt_tensor *polar_phase;  /* (G, D) of PoPE; or NULL */
    rt_tensor *length_scale; /* (H); NULL unless model.length_scale = learned */
    struct {
        rt_tensor *down, *up, *taps, *bias; /* (rank, C), (H P, rank), (H P, taps), (H, P) */
        rt_affine gate;                     /* (H, C), (H) */
    } phase;                                /* of selective RoPE; NULL: none */
} rt_transformer_layer;

/* Override of theta in evaluation. `numbers` have the shape rt_transformer_rotation_shape. They
 * replace the effective theta (see below) or, as factors, multiply it. Any finite number is
 * allowed.
 */
typedef struct rt_theta_change {
    const double *numbers;
    bool factors;
} rt_theta_change;

typedef struct rt_transformer {
    rt_transformer_options options; /* zeros replaced by defaults (rt_transformer_resolve) */
    rt_parameters parameters;
    struct {
        rt_tensor *tokens, *types, *patches;
        rt_affine norm, project;
    } embeddings;
    struct {
        rt_tensor *weight; /* of the positional encoding, such as a shared theta; or NULL */
        void *state;       /* private to the encoding, such as tables */
        const rt_theta_change *change; /* see rt_transformer_change_theta; or NULL */
    } encoding;
    rt_transformer_layer *layers;
    rt_affine norm;
    struct {
        rt_affine dense, norm, output, classifier;
    } head;
} rt_transformer;

typedef struct rt_transformer_input {
    int B, T;
    const int32_t *ids;            /* (B, T) */
    const int32_t *token_types;    /* (B, T), or NULL: all 0 */
    const uint8_t *key_mask;       /* (B, T): 1 = token, 0 = padding; NULL: no padding */
    const real *patches;           /* (B, T, patch), for a model with options.patch; 0 for a token
                                      that is no patch */
    const rt_positions *positions; /* needs `at`; only rope, sinusoidal, and learned, which needs
                                      integers; NULL: 0, 1, ..., or the grid of two axes */
    int padding_id;                /* id whose embedding gets no gradient, or RT_NO_PADDING */
    rt_tensor **hidden_states;     /* (layers + 1): receives the input of layer 0, then the output
                                      of each layer; the last entry follows the final norm; or
                                      NULL */
    real **attentions;             /* (layers): arrays for the probabilities, (B, H, T, T), which
                                      only softmax attention fills; or NULL */
    struct rt_usage *usage;        /* receives sums over the tokens (models/usage.h); or NULL */
    struct rt_kv_cache *const *caches; /* (B), distinct: KV caches to extend (kv_cache.h), for a
                                          causal model with one axis, in a graph that does not
                                          record, without key_mask, positions, patches and
                                          attentions; or NULL */
} rt_transformer_input;

/* Creates a model and draws its parameters from the seed; `values_of`: see rt_model_start.
 * RT_ARGUMENT if the options contradict each other. */
rt_status rt_transformer_new(rt_transformer **model_new, const rt_transformer_options *options,
                             uint64_t seed, const rt_transformer *values_of) RT_MUST_CHECK;

/* Values and memory of a new model. */
typedef struct rt_model_start {
    uint64_t seed; /* of the drawn parameters */
    const rt_transformer
        *values_of; /* model whose values are shared; NULL: the model has its own */
    bool blank;     /* parameters are not drawn, because the caller loads them: they are 0, except
                       theta, which has its initial value */
    rt_account *account; /* dry run (core/memory.h): reserves parameters and gradients; must
                            outlive the model. NULL: they are allocated */
} rt_model_start;

/* Creates a model as rt_transformer_new, from `start`. A model in reserved memory can only be used
 * in dry graphs (rt_graph_new_dry). */
rt_status rt_transformer_new_from(rt_transformer **model_new, const rt_transformer_options *options,
                                  const rt_model_start *start) RT_MUST_CHECK;
void rt_transformer_free(rt_transformer *model);

/* Computes the number of elements of the block of parameters (core/parameters.h), with the gaps
 * between parameters, without creating the model. RT_ARGUMENT as above. */
rt_status rt_transformer_size(const rt_transformer_options *options, size_t *size) RT_MUST_CHECK;

/* Returns the hidden states, (B, T, C), after the last layer and, with pre-LN, the final norm. */
rt_tensor *rt_transformer_encode(rt_transformer *model, rt_graph *g,
                                 const rt_transformer_input *input);

/* Returns the maximum number of tokens for which there are positions; 0 = no limit. */
int rt_transformer_capacity(const rt_transformer_options *options);

/* Returns the logits of the model's head.
 *
 *     lm, token   hidden (..., C), of all or some of the tokens, to (..., V) or (..., classes)
 *     sequence    hidden states pooled by options.pool (rt_pool), (B, C), to (B, classes) */
rt_tensor *rt_transformer_logits(rt_transformer *model, rt_graph *g, rt_tensor *hidden);

/* Returns the logits of the input: (B, T, V), (B, T, classes) or (B, classes). */
rt_tensor *rt_transformer_forward(rt_transformer *model, rt_graph *g,
                                  const rt_transformer_input *input);

/* ---- theta ---- */

/* Returns the number of rotated pairs of a head, R/2. */
int rt_transformer_pairs(const rt_transformer_options *options);

/* Returns how many theta a pair has: 2 if mixed, one for each coordinate; else 1. */
int rt_transformer_theta_axes(const rt_transformer_options *options);

/* Returns the shape (layers, rows, R/2) of a learned theta: layers = those that rope rotates, or 1
 * with scope = model; rows = key heads with scope = head, else 1. `options` must be resolved
 * (rt_transformer_resolve). If mixed, the last axis is R: theta of the first coordinate for all
 * pairs, then of the second. */
rt_shape rt_transformer_theta_shape(const rt_transformer_options *options);

/* Returns the n-th layer, from 0, that rope rotates; options->layers if there are fewer. Unless
 * theta is shared, n indexes the first axis of rt_transformer_theta_shape. */
int rt_transformer_theta_layer(const rt_transformer_options *options, int n);

/* Returns the number of elements of rt_transformer_theta_shape, whether or not theta is learned. */
size_t rt_transformer_theta_count(const rt_transformer_options *options);

/* Gets and sets a learned theta: rt_transformer_theta_shape, in radians per position. If theta is
 * fixed, the first leaves `theta` unset and the second does nothing. */
void rt_transformer_theta(const rt_transformer *model, double *theta);
void rt_transformer_set_theta(rt_transformer *model, const double *theta);

/* Gets the gradient of a loss by ln |theta|, in the same shape, after backward. */
void rt_transformer_theta_gradient(const rt_transformer *model, double *gradient);

/* Returns the initial values of a learned theta, in the same shape, in memory of the model; the
 * caller may change them. NULL if theta is fixed. */
double *rt_transformer_theta_start(const rt_transformer *model);

/* Computes the initial values that position.* and theta.init give a learned theta in a model with
 * this seed, in the same shape. `theta` has room for R/2 numbers more. Options are resolved. */
void rt_transformer_theta_initial(const rt_transformer_options *options, uint64_t seed,
                                  double *theta);

/* Computes base^(-2i/R), whatever position.scaling and theta.init are, in the layout of `shape`,
 * which is rt_transformer_theta_shape or rt_transformer_rotation_shape. With two axes, computes
 * base^(-4k/R) with k = i mod R/4, and if mixed, for both numbers of a pair. */
void rt_transformer_theta_geometric(const rt_transformer_options *options, rt_shape shape,
                                    double *theta);

/* Returns |theta_i| of a row of rt_transformer_theta_shape; if mixed, the length of (theta_x,
 * theta_y) of a pair, the same for i and i + R/2. */
double rt_theta_length(const rt_transformer_options *options, const double *row, int i);

/* Returns the number of positions on an axis for sequences of T tokens: T, or position.randomized
 * if that is larger; with two axes, the side of their grid. */
int rt_transformer_extent(const rt_transformer_options *options, int T);

/* Returns the reach of a layer's attention for T tokens, in positions, the token itself included:
 * rt_transformer_extent, or the layer's window if that is smaller and positions are 0, 1, ...; 0 if
 * the layer has no positions. Layer -1: the maximum. */
int rt_transformer_reach(const rt_transformer_options *options, int layer, int T);

/* Returns whether the angle of a pair is the position times theta, or that and a phase of the pair:
 * otherwise it has no turns over a distance, and no wavelength. */
bool rt_transformer_turns_by_position(const rt_transformer_options *options);

/* Returns the number of rotations of a pair over the reach of a layer for T tokens (-1: the maximum
 * of all layers), |theta| (reach - 1) / (2 pi); NaN if angles are not by position. */
double rt_theta_turns(const rt_transformer_options *options, int layer, int T, double theta);

/* Computes how much of W_q and W_k each theta_i rotates, in the layout of rt_transformer_theta. The
 * use of a pair in a head is the Frobenius norm of its two rows of W_q times that of its two rows
 * of W_k, each row scaled by its weight of qk_norm. A theta_i gets the sum over the pairs that it
 * rotates; each row of R/2 numbers is normalized to the sum 1 (if mixed, for each coordinate). */
void rt_transformer_theta_use(const rt_transformer *model, double *use);

/* Computes the use of the pairs, (R/2), in one query head and the key head that it reads; they sum
 * to 1. */
void rt_transformer_head_use(const rt_transformer *model, int layer, int head, double *use);

/* ---- effective theta ---- */

/* Returns the shape of the effective theta, learned or fixed: layers in which rope rotates, key
 * heads, R/2 (R if mixed, as above); no elements for another encoding. */
rt_shape rt_transformer_rotation_shape(const rt_transformer_options *options);

/* Computes the effective theta at sequence length T, after position.scaling and overrides, in that
 * shape. */
void rt_transformer_rotation(const rt_transformer *model, int T, double *theta);

/* Overrides theta (borrowed pointer). NULL restores the model's own theta. No gradient flows to
 * theta while it is overridden. */
void rt_transformer_change_theta(rt_transformer *model, const rt_theta_change *change);

/* Forms of linear attention, which replace e^(q . k). With R_m the rotation at position m, for
 * query m and visible key n:
 *
 *     linear_elu      R_m phi(q) . R_n phi(k), divided by the sum of phi(q) . phi(k) over the
 *                     visible keys, phi = elu + 1
 *                     (Katharopoulos et al. 2020; with RoPE, Su et al. 2021, eq. 19)
 *     linear_softmax  the same with softmax(q) over the features as phi(q), and e^k as phi(k)
 *                     (after Shen et al. 2021)
 *     linear_cosine   1 + R_m q/|q| . R_n k/|k| in numerator and denominator: weights from 0 to 2
 *                     before they are normalized to a sum of 1 (with the magnitude a of
 *                     yarn or longrope: from 1 - a^2 to 1 + a^2)
 *
 * With rotation, weights of the first two forms can be negative and need not sum to 1. */

typedef struct rt_linear_form_options {
    rt_attention_kind kind;            /* not softmax */
    const rt_rotation *query_rotation; /* NULL: not rotated */
    const rt_rotation *key_rotation;
    bool causal;
    const uint8_t *key_mask; /* (B, Tk): 1 = visible; NULL: all are */
    double eps;              /* added to the denominator */
    rt_linear_state *state;  /* of the earlier tokens, as for rt_linear_attention; or NULL */
} rt_linear_form_options;

/* Computes linear attention; shapes as for rt_linear_attention. */
rt_tensor *rt_linear_form(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                          const rt_linear_form_options *options);

#endif
