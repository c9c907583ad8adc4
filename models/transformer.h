#ifndef ROTOR_MODELS_TRANSFORMER_H
#define ROTOR_MODELS_TRANSFORMER_H

/* The RoFormer encoder (Su et al. 2021), weight for weight the model of Hugging Face's
 * transformers, with its heads; and the same with a learnable theta. With options of its own for
 * each, the blocks that decoders are made of today.
 *
 *     embeddings   LN(word[ids] + type[token type]); dropout; E -> C if they differ
 *     layer        a = LN(x + Wo attention(x));  x' = LN(a + W2 gelu(W1 a))      (post-LN)
 *                  a = x + Wo attention(LN(x));  x' = a + W2 gelu(W1 LN(a))      (pre-LN)
 *     attention    q, k, v = Wx; q, k (v too, if asked) rotated; softmax(q k^T / sqrt D) v,
 *                  or one of the linear forms
 *     lm head      LN(gelu(dense(x))), then the word embeddings transposed + bias
 *     sequence     of token 0, the last token or the mean of all: dropout, dense, gelu, dropout,
 *                  out_proj
 *     token        dropout, linear
 *     classifier   of the last two; tanh: in place of gelu, sequence only; norm: dense, gelu, LN,
 *                  dropout, linear, for both
 *     token_dropout  word[ids] scaled and masks 0 (Lin et al. 2023; models/encode.c)
 *
 *     a decoder    has no LN over its embeddings unless embedding_norm says so, and for an lm or a
 *                  sequence head the matrix alone
 *     norm_kind    rms: x / sqrt(mean x^2 + eps) weight in place of every LN
 *     norm_bias    no: every LN is (x - mean) / sqrt(variance + eps) weight
 *     first_norm   no: attention of layer 0 reads x itself                          (pre-LN)
 *     ffn          swiglu, geglu: W2 (f(W3 x) * W1 x), f silu or gelu
 *     kv_heads     H / G query heads in a row share a head of keys and values, Wk and Wv (G D, C)
 *     head_dim     D, where H D is not C: Wq (H D, C), Wo (C, H D)
 *     qk_norm      q and k of each head over their root mean square, times a weight (D), then
 *                  rotated
 *     residual     parallel: x' = x + Wo attention(LN(x)) + W2 gelu(W1 LN'(x))      (pre-LN)
 *     window       a token sees those less than that many places away, in the layers that
 *                  layer_types calls sliding, for which rope has the base local_base
 *     every        N: layers N, 2N, ... have no positional encoding; rope does not rotate there;
 *                  or a list says which
 *     xpos         rotated queries and keys times zeta^(m / xpos) and zeta^(-n / xpos), so that
 *                  scores decay with the distance (Sun et al. 2022)
 *
 * The parameters, with .weight or .bias behind the names of tables, linear maps and norms; what has
 * no bias has no parameter for it:
 *
 *     embeddings   tokens, types; norm; project, E -> C
 *     layers.N     attention.{query, key, value, output, query_norm, key_norm}; attention_norm
 *                  and ffn_norm, of the block that they stand before or behind;
 *                  ffn.{gate, up, down}: W3, W1, W2
 *     norm         behind the last layer (pre-LN)
 *     head         lm: dense, norm, output; sequence: dense, classifier; token: classifier;
 *                  norm for both with classifier = norm, dense as well
 *
 * and the parameters of the positional encoding, which the files of models/encodings/ name: a
 * learnable theta is "theta", or layers.N.attention.theta (scopes layer and head);
 * layers.N.attention.head_scale, a factor for each query head, q <- s q, with theta.head_scale.
 *
 * A model belongs to one thread. Workers each make one of the same options that reads the
 * values of the first and keeps its own gradients.
 */

#include "core/parameters.h"
#include "models/options.h"
#include "ops/ops.h"

/* Names of parameters that other code looks up. */
#define RT_TOKENS_NAME      "embeddings.tokens.weight"
#define RT_TYPES_NAME       "embeddings.types.weight"
#define RT_OUTPUT_NAME      "head.output.weight"
#define RT_OUTPUT_BIAS_NAME "head.output.bias"

/* Writes the name of the theta of a layer; with -1, of the one theta of all layers. */
void rt_transformer_theta_name(char name[RT_NAME_SIZE], int layer);

/* A weight and a bias, of a linear map or of a norm; either may have no bias. */
typedef struct rt_affine {
    rt_tensor *weight;
    rt_tensor *bias;
    rt_norm_kind norm_kind; /* of a norm */
} rt_affine;

typedef struct rt_transformer_layer {
    rt_layer_row row; /* what is its own among all layers */
    rt_affine query, key, value, output, attention_norm;
    rt_affine query_norm, key_norm; /* (D); none without qk_norm */
    rt_affine gate, up, down, ffn_norm;
    rt_tensor
        *encoding; /* of this layer's positional encoding, such as a theta of its own; or NULL */
    rt_tensor *head_scale; /* (H); NULL without theta.head_scale */
} rt_transformer_layer;

/* Override of theta in evaluation: `numbers` replace the effective theta, with the layout of
 * rt_transformer_rotation, or multiply it. Any finite number is allowed. */
typedef struct rt_theta_change {
    const double *numbers;
    bool factors;
} rt_theta_change;

typedef struct rt_transformer {
    rt_transformer_options options; /* zeros of kv_heads, head_dim, ... replaced */
    rt_parameters parameters;
    struct {
        rt_tensor *tokens, *types;
        rt_affine norm, project;
    } embeddings;
    struct {
        rt_tensor *weight; /* of the positional encoding, such as a shared theta; or NULL */
        void *state;       /* its tables, which only its encoding knows */
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
    const int32_t *ids;         /* (B, T) */
    const int32_t *token_types; /* (B, T), or NULL: all 0 */
    const uint8_t *key_mask;    /* (B, T): 1 = token, 0 = padding; NULL: no padding */
    int padding_id;             /* the id whose embedding is not trained; RT_NO_PADDING */
    rt_tensor **hidden_states;  /* gets the input of the first layer and the output of each,
                                   layers + 1 tensors; or NULL */
    real **attentions;          /* gets the probabilities of each layer, (B, H, T, T); or NULL */
    struct rt_usage *usage; /* counts queries and keys of these tokens (models/usage.h); or NULL */
    struct rt_kv_cache *const *caches; /* (B), no two the same: the KV cache of each text, which
                                   its new tokens are appended to; no padding, in a graph that
                                   does not record (see session.h); or NULL */
} rt_transformer_input;

/* Creates a model and draws its parameters from the seed; `values_of` as for
 * rt_parameters_allocate. RT_ARGUMENT if the options contradict each other. */
rt_status rt_transformer_new(rt_transformer **model_new, const rt_transformer_options *options,
                             uint64_t seed, const rt_transformer *values_of) RT_MUST_CHECK;

/* Initial values of a new model. */
typedef struct rt_model_start {
    uint64_t seed;                   /* of the drawn parameters */
    const rt_transformer *values_of; /* model whose values are used; NULL: the model has its own */
    bool blank; /* the caller sets the parameters, as from a file: they are 0, except theta, which
                   has its initial value. Drawing them takes as long as reading them. */
    rt_account *account; /* of a dry run (core/memory.h), which outlives the model: parameters,
                            gradients and tables of positions are reserved; NULL: allocated */
} rt_model_start;

/* Creates a model as rt_transformer_new, from a start. A model in reserved memory is used in dry
 * graphs (rt_graph_new_dry). */
rt_status rt_transformer_new_from(rt_transformer **model_new, const rt_transformer_options *options,
                                  const rt_model_start *start) RT_MUST_CHECK;
void rt_transformer_free(rt_transformer *model);

/* Computes the number of values of the parameters without creating the model. RT_ARGUMENT as above.
 */
rt_status rt_transformer_size(const rt_transformer_options *options, size_t *size) RT_MUST_CHECK;

/* Returns the hidden states of the last layer, (B, T, C). */
rt_tensor *rt_transformer_encode(rt_transformer *model, rt_graph *g,
                                 const rt_transformer_input *input);

/* Returns the largest number of tokens for which there are positions; 0 = no limit. */
int rt_transformer_capacity(const rt_transformer_options *options);

/* Pools hidden states (B, T, C) by options.pool to (B, C), the input of a sequence head. The mask
 * is that of the input (rt_pool in ops/ops.h). */
rt_tensor *rt_transformer_pool(rt_transformer *model, rt_graph *g, rt_tensor *hidden,
                               const uint8_t *key_mask);

/* Logits of the model's head.
 *
 *     lm, token   hidden (..., C), any of the tokens, to (..., V) or (..., labels)
 *     sequence    pooled (B, C) to (B, labels) */
rt_tensor *rt_transformer_logits(rt_transformer *model, rt_graph *g, rt_tensor *hidden);

/* Returns the logits of the input: (B, T, V), (B, T, labels) or (B, labels). */
rt_tensor *rt_transformer_forward(rt_transformer *model, rt_graph *g,
                                  const rt_transformer_input *input);

/* ---- theta ---- */

/* Returns the number of rotated pairs of a head, R/2. */
int rt_transformer_pairs(const rt_transformer_options *options);

/* Returns the shape of all learnable theta: layers that rope rotates in (1 if they share theta),
 * rows (key heads, or 1), R/2. */
rt_shape rt_transformer_theta_shape(const rt_transformer_options *options);

/* Returns the model's layer of row n of that shape; at least options->layers for n beyond the last
 * row. */
int rt_transformer_theta_layer(const rt_transformer_options *options, int n);

/* Returns the number of learnable theta. */
size_t rt_transformer_theta_count(const rt_transformer_options *options);

/* Get and set all learnable theta, in radians per position. They do nothing for a fixed theta. */
void rt_transformer_theta(const rt_transformer *model, double *theta);
void rt_transformer_set_theta(rt_transformer *model, const double *theta);

/* Returns the initial values of a learnable theta, with the same layout: memory of the model, which
 * the caller may set. NULL if theta is fixed. */
double *rt_transformer_theta_start(const rt_transformer *model);

/* Computes base^(-2i/R) with the layout of rt_transformer_theta, whatever the scaling and the
 * initial values. */
void rt_transformer_theta_geometric(const rt_transformer_options *options, double *theta);

/* Returns the distance that attention of a layer reaches in sequences of T tokens, the token itself
 * included: its window if that is smaller. Layer -1 stands for the layer that reaches farthest. */
int rt_transformer_reach(const rt_transformer_options *options, int layer, int T);

/* Returns the full turns of a pair over a reach, |theta| (reach - 1) / 2 pi. */
double rt_theta_turns(double theta, int reach);

/* Computes the share of the query and key projections that each theta rotates: |W_q rows| |W_k
 * rows| of its pairs, times the weights of qk_norm, over the sum of all theta of the same layer and
 * head. The layout is that of rt_transformer_theta. */
void rt_transformer_theta_use(const rt_transformer *model, double *use);

/* Computes the use of each pair by one query head and its key head, (R/2). */
void rt_transformer_head_use(const rt_transformer *model, int layer, int head, double *use);

/* ---- the theta that rotates ---- */

/* Returns the shape of the effective theta, learned or fixed: layers in which rope rotates, key
 * heads, R/2; no elements for another encoding. */
rt_shape rt_transformer_rotation_shape(const rt_transformer_options *options);

/* Computes the effective theta at sequence length T, after context scaling, with the layout of the
 * model's theta. */
void rt_transformer_rotation(const rt_transformer *model, int T, double *theta);

/* Overrides theta (borrowed pointer). NULL restores the model's own theta. No gradient flows to
 * theta while it is overridden. */
void rt_transformer_change_theta(rt_transformer *model, const rt_theta_change *change);

/* ---- linear attention ---- */

/* The forms of linear attention: what stands in place of e^(q . k). With R_m the rotation at
 * position m, for query m and visible key n:
 *
 *     linear_elu      R_m phi(q) . R_n phi(k) over phi(q) . phi(k), phi = elu + 1
 *                     (Katharopoulos et al. 2020; with RoPE, Su et al. 2021, eq. 19)
 *     linear_softmax  the same with softmax(q) over the features, and e^k
 *                     (after Shen et al. 2021)
 *     linear_cosine   1 + R_m q/|q| . R_n k/|k|, above and below: weights from 0 to 2 that
 *                     sum to 1
 *
 * With rotation, weights of the first two forms can be negative and need not sum to 1. */

typedef struct rt_linear_form_options {
    rt_attention_kind kind;            /* not softmax */
    const rt_rotation *query_rotation; /* NULL: not rotated */
    const rt_rotation *key_rotation;
    bool causal;
    const uint8_t *key_mask; /* (B, Tk): 1 = visible; NULL: all are */
    double eps;              /* added to the denominator */
    rt_linear_state *state;  /* of the tokens before, as for rt_linear_attention; NULL */
} rt_linear_form_options;

/* Shapes as for rt_linear_attention. */
rt_tensor *rt_linear_form(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                          const rt_linear_form_options *options);

#endif
