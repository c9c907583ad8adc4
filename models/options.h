#ifndef ROTOR_MODELS_OPTIONS_H
#define ROTOR_MODELS_OPTIONS_H

/* The options of a model. */

#include "models/frequencies.h"
#include "ops/ops.h"

/* The architecture, as far as the options below do not set it: an encoder with a norm over the
 * embeddings and an lm head of two layers (Su et al. 2021), or a decoder as LLaMA is built, without
 * either (Touvron et al. 2023). */
#define RT_MODEL_KINDS(X) X(RT_KIND_ROFORMER, "roformer") X(RT_KIND_DECODER, "decoder")
typedef enum rt_model_kind { RT_MODEL_KINDS(RT_CHOICE_VALUE) } rt_model_kind;

#define RT_NORM_ORDERS(X) X(RT_NORM_POST, "post") X(RT_NORM_PRE, "pre")
typedef enum rt_norm_order { RT_NORM_ORDERS(RT_CHOICE_VALUE) } rt_norm_order;

#define RT_NORM_KINDS(X) X(RT_NORM_LAYER, "layer") X(RT_NORM_RMS, "rms")
typedef enum rt_norm_kind { RT_NORM_KINDS(RT_CHOICE_VALUE) } rt_norm_kind;

/* The feed-forward blocks: f(x), or with a gate silu(gate) x or gelu(gate) x (Shazeer 2020). */
#define RT_FFNS(X) X(RT_FFN_PLAIN, "plain") X(RT_FFN_SWIGLU, "swiglu") X(RT_FFN_GEGLU, "geglu")
typedef enum rt_ffn { RT_FFNS(RT_CHOICE_VALUE) } rt_ffn;

/* Of the linear maps; zeroed options have them. */
#define RT_BIASES(X) X(RT_BIAS_YES, "yes") X(RT_BIAS_NO, "no")
typedef enum rt_bias { RT_BIASES(RT_CHOICE_VALUE) } rt_bias;

#define RT_ATTENTIONS(X)                                                                           \
    X(RT_ATTENTION_SOFTMAX, "softmax")                                                             \
    X(RT_ATTENTION_LINEAR_ELU, "linear_elu")                                                       \
    X(RT_ATTENTION_LINEAR_SOFTMAX, "linear_softmax")                                               \
    X(RT_ATTENTION_LINEAR_COSINE, "linear_cosine")
typedef enum rt_attention_kind { RT_ATTENTIONS(RT_CHOICE_VALUE) } rt_attention_kind;

/* The positional encodings: a constant, and the name of the encoding that it stands for, which a
 * file of models/encodings/ defines. None is the last. */
#define RT_POSITION_KINDS(X)                                                                       \
    X(RT_POSITION_ROPE, rt_encoding_rope)                                                          \
    X(RT_POSITION_SINUSOIDAL, rt_encoding_sinusoidal)                                              \
    X(RT_POSITION_LEARNED, rt_encoding_learned)                                                    \
    X(RT_POSITION_ALIBI, rt_encoding_alibi)                                                        \
    X(RT_POSITION_T5, rt_encoding_t5)                                                              \
    X(RT_POSITION_SHAW, rt_encoding_shaw)                                                          \
    X(RT_POSITION_NONE, rt_encoding_none)
typedef enum rt_position_kind { RT_POSITION_KINDS(RT_CHOICE_VALUE) } rt_position_kind;

/* The word of a kind of position; NULL past the last. */
const char *rt_encoding_word(int kind);

/* What has a learnable theta of its own: the model; each layer; each key head, which is rotated
 * together with the query heads that share it (kv_heads). */
#define RT_THETA_SCOPES(X)                                                                         \
    X(RT_THETA_MODEL, "model") X(RT_THETA_LAYER, "layer") X(RT_THETA_HEAD, "head")
typedef enum rt_theta_scope { RT_THETA_SCOPES(RT_CHOICE_VALUE) } rt_theta_scope;

/* Where a learnable theta starts: at the frequencies of the position; at those times e^(sigma z),
 * z normal; or anywhere between the largest and the smallest of them, its logarithm uniform. */
#define RT_THETA_INITS(X)                                                                          \
    X(RT_THETA_FREQUENCIES, "frequencies")                                                         \
    X(RT_THETA_PERTURBED, "perturbed")                                                             \
    X(RT_THETA_UNIFORM, "uniform")
typedef enum rt_theta_init { RT_THETA_INITS(RT_CHOICE_VALUE) } rt_theta_init;

/* The output of a model. */
#define RT_HEADS(X)                                                                                \
    X(RT_HEAD_LM, "lm")             /* logits over the vocabulary for every token */               \
    X(RT_HEAD_SEQUENCE, "sequence") /* logits over the labels for every sequence */                \
    X(RT_HEAD_TOKEN, "token")       /* logits over the labels for every token */
typedef enum rt_head { RT_HEADS(RT_CHOICE_VALUE) } rt_head;

typedef struct rt_position_options {
    rt_position_kind kind;
    rt_pairing pairing;
    rt_frequency_options frequencies; /* of rope; the base also of sinusoidal */
    double fraction;                  /* share of each head's pairs that is rotated, 0 ... 1 */
    bool rotate_value;
    double xpos;     /* of causal rope, the scale of its decay in positions, at least 1: a score at
                        distance r is multiplied by zeta^(r / xpos) pair by pair, values are not
                        (rt_rotation_decayed); 0 = none */
    int every;       /* N > 1: every N-th layer has no positions, N - 1 being the first of them */
    int max_len;     /* of learned: the size of its table, the most tokens a sequence can have */
    double init_std; /* of the initial parameters of the encoding; 0 = that of the model */
} rt_position_options;

typedef struct rt_theta_options {
    bool learn;
    rt_theta_scope scope;
    rt_theta_form form;
    rt_theta_init init;
    double init_sigma; /* of perturbed */
    bool head_scale;   /* each query head learns a factor on its products with the keys, 1 at the
                          start; of softmax attention, whatever the encoding */
} rt_theta_options;

typedef struct rt_transformer_options {
    rt_model_kind kind;
    int vocab;
    int token_types; /* 0 = no token type embedding */
    int layers;
    int dim; /* C */
    int heads;
    int kv_heads;      /* of keys and values, a divisor of heads; 0 = heads */
    int embedding_dim; /* 0 = dim */
    int ffn_dim;       /* 0 = 4 dim */
    rt_norm_order norm;
    rt_norm_kind norm_kind;
    rt_ffn ffn;
    rt_bias bias; /* of all linear maps; the lm head of a decoder never has one */
    double norm_eps;
    double init_std;          /* of weights and embeddings at the start; 0 = 0.02 */
    rt_activation activation; /* of feed-forward blocks without a gate, and of the heads */
    double dropout;
    double attention_dropout;
    rt_attention_kind attention;
    bool causal;
    int window; /* a token attends to those less than this far away; 0 = to all */
    rt_head head;
    int labels;          /* of the sequence and token heads */
    bool tie_embeddings; /* of the lm head: its decoder is the word embeddings */
    rt_position_options position;
    rt_theta_options theta;
} rt_transformer_options;

/* Replaces zeros that stand for a value which follows from other options: afterwards kv_heads,
 * embedding_dim, ffn_dim and both init_std are what the model is built with. A model resolves its
 * own options; resolve options before you pass them to a function that computes from them. */
void rt_transformer_resolve(rt_transformer_options *o);

/* The same for what follows from the lengths that a model is used with: original_len from that of
 * its sequences in training, max_len from the longest. */
void rt_transformer_resolve_lengths(rt_transformer_options *o, int length, int longest);

#endif
