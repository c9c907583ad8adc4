#ifndef ROTOR_MODELS_OPTIONS_H
#define ROTOR_MODELS_OPTIONS_H

/* The options of a model. */

#include "core/status.h"
#include "models/frequencies.h"
#include "ops/ops.h"

/* Architecture, where the options below do not set it: an encoder with an lm head of two layers (Su
 * et al. 2021), or a decoder like LLaMA, whose head is a matrix (Touvron et al. 2023). */
#define RT_MODEL_KINDS(X) X(RT_KIND_ROFORMER, "roformer") X(RT_KIND_DECODER, "decoder")
typedef enum rt_model_kind { RT_MODEL_KINDS(RT_CHOICE_VALUE) } rt_model_kind;

#define RT_NORM_ORDERS(X) X(RT_NORM_POST, "post") X(RT_NORM_PRE, "pre")
typedef enum rt_norm_order { RT_NORM_ORDERS(RT_CHOICE_VALUE) } rt_norm_order;

#define RT_NORM_KINDS(X) X(RT_NORM_LAYER, "layer") X(RT_NORM_RMS, "rms")
typedef enum rt_norm_kind { RT_NORM_KINDS(RT_CHOICE_VALUE) } rt_norm_kind;

/* Presence of a part. Zeroed options have the part. */
#define RT_PRESENCES(X) X(RT_WITH, "yes") X(RT_WITHOUT, "no")
typedef enum rt_presence { RT_PRESENCES(RT_CHOICE_VALUE) } rt_presence;

/* Presence of a norm over the embeddings; auto: in a RoFormer, not in a decoder. */
#define RT_EMBEDDING_NORMS(X)                                                                      \
    X(RT_EMBEDDING_NORM_AUTO, "auto")                                                              \
    X(RT_EMBEDDING_NORM_YES, "yes")                                                                \
    X(RT_EMBEDDING_NORM_NO, "no")
typedef enum rt_embedding_norm { RT_EMBEDDING_NORMS(RT_CHOICE_VALUE) } rt_embedding_norm;

/* Feed-forward blocks: f(x), or with a gate silu(gate) x or gelu(gate) x (Shazeer 2020). */
#define RT_FFNS(X) X(RT_FFN_PLAIN, "plain") X(RT_FFN_SWIGLU, "swiglu") X(RT_FFN_GEGLU, "geglu")
typedef enum rt_ffn { RT_FFNS(RT_CHOICE_VALUE) } rt_ffn;

/* Linear maps that have a bias; zeroed options: all. qkv: the query, key and value projections
 * only. ffn: the feed-forward blocks only. output: the last map of a head only. Of a decoder's
 * heads the token head alone has one, always. */
#define RT_BIASES(X)                                                                               \
    X(RT_BIAS_ALL, "all")                                                                          \
    X(RT_BIAS_NONE, "none")                                                                        \
    X(RT_BIAS_QKV, "qkv")                                                                          \
    X(RT_BIAS_FFN, "ffn")                                                                          \
    X(RT_BIAS_OUTPUT, "output")
typedef enum rt_bias { RT_BIASES(RT_CHOICE_VALUE) } rt_bias;

/* Layers before the last map of a head for labels: a linear map and the activation; a linear map
 * and tanh, as in ESM-2; a linear map, the activation and a norm, also for labels of tokens, as in
 * ModernBERT. Decoders have only the last map. */
#define RT_CLASSIFIERS(X)                                                                          \
    X(RT_CLASSIFIER_DENSE, "dense") X(RT_CLASSIFIER_TANH, "tanh") X(RT_CLASSIFIER_NORM, "norm")
typedef enum rt_classifier { RT_CLASSIFIERS(RT_CHOICE_VALUE) } rt_classifier;

/* Input of the feed-forward block: the result of attention with its residual (serial), or the input
 * of the layer (parallel): x + A(n1 x) + F(n2 x). */
#define RT_RESIDUALS(X) X(RT_RESIDUAL_SERIAL, "serial") X(RT_RESIDUAL_PARALLEL, "parallel")
typedef enum rt_residual { RT_RESIDUALS(RT_CHOICE_VALUE) } rt_residual;

/* Reach of a layer's attention, and presence of its own positional encoding. */
#define RT_LAYER_TYPES(X) X(RT_LAYER_FULL, "full") X(RT_LAYER_SLIDING, "sliding")
typedef enum rt_layer_type { RT_LAYER_TYPES(RT_CHOICE_VALUE) } rt_layer_type;
#define RT_LAYER_POSITIONS(X) X(RT_LAYER_WITHOUT_POSITIONS, "no") X(RT_LAYER_WITH_POSITIONS, "yes")
typedef enum rt_layer_positions { RT_LAYER_POSITIONS(RT_CHOICE_VALUE) } rt_layer_positions;

#define RT_ATTENTIONS(X)                                                                           \
    X(RT_ATTENTION_SOFTMAX, "softmax")                                                             \
    X(RT_ATTENTION_LINEAR_ELU, "linear_elu")                                                       \
    X(RT_ATTENTION_LINEAR_SOFTMAX, "linear_softmax")                                               \
    X(RT_ATTENTION_LINEAR_COSINE, "linear_cosine")
typedef enum rt_attention_kind { RT_ATTENTIONS(RT_CHOICE_VALUE) } rt_attention_kind;

/* Positional encodings: a constant, and the name of the encoding, which a file of models/encodings/
 * defines. None is the last. */
#define RT_POSITION_KINDS(X)                                                                       \
    X(RT_POSITION_ROPE, rt_encoding_rope)                                                          \
    X(RT_POSITION_SINUSOIDAL, rt_encoding_sinusoidal)                                              \
    X(RT_POSITION_LEARNED, rt_encoding_learned)                                                    \
    X(RT_POSITION_ALIBI, rt_encoding_alibi)                                                        \
    X(RT_POSITION_T5, rt_encoding_t5)                                                              \
    X(RT_POSITION_SHAW, rt_encoding_shaw)                                                          \
    X(RT_POSITION_SELECTIVE, rt_encoding_selective)                                                \
    X(RT_POSITION_POPE, rt_encoding_pope)                                                          \
    X(RT_POSITION_NONE, rt_encoding_none)
typedef enum rt_position_kind { RT_POSITION_KINDS(RT_CHOICE_VALUE) } rt_position_kind;

/* Factor of queries that grows with the length of the text (models/encodings/length_scale.c). */
#define RT_LENGTH_SCALES(X)                                                                        \
    X(RT_LENGTH_NONE, "none")                                                                      \
    X(RT_LENGTH_LOG, "log") X(RT_LENGTH_LEARNED, "learned") X(RT_LENGTH_FLOOR, "floor")
typedef enum rt_length_scale { RT_LENGTH_SCALES(RT_CHOICE_VALUE) } rt_length_scale;

/* Forgetting attention beside a positional encoding: a gate of the token, a learned constant of the
 * head, or a fixed one (models/encodings/forget.c). */
#define RT_FORGETS(X)                                                                              \
    X(RT_FORGET_NONE, "none")                                                                      \
    X(RT_FORGET_GATE, "gate") X(RT_FORGET_BIAS, "bias") X(RT_FORGET_FIXED, "fixed")
typedef enum rt_forget { RT_FORGETS(RT_CHOICE_VALUE) } rt_forget;

/* Returns the word of a kind of position; NULL past the last. */
const char *rt_encoding_word(int kind);

/* Parts of the model with their own learned theta: the model; each layer; each key head, which is
 * rotated together with the query heads that share it (kv_heads). */
#define RT_THETA_SCOPES(X)                                                                         \
    X(RT_THETA_MODEL, "model") X(RT_THETA_LAYER, "layer") X(RT_THETA_HEAD, "head")
typedef enum rt_theta_scope { RT_THETA_SCOPES(RT_CHOICE_VALUE) } rt_theta_scope;

/* Initial value of a learned theta: the frequencies of position.*; these times e^(sigma z), z
 * normal; or a log-uniform number between their largest and smallest. */
#define RT_THETA_INITS(X)                                                                          \
    X(RT_THETA_FREQUENCIES, "frequencies")                                                         \
    X(RT_THETA_PERTURBED, "perturbed")                                                             \
    X(RT_THETA_UNIFORM, "uniform")
typedef enum rt_theta_init { RT_THETA_INITS(RT_CHOICE_VALUE) } rt_theta_init;

/* Output of a model. */
#define RT_HEADS(X)                                                                                \
    X(RT_HEAD_LM, "lm")             /* logits over the vocabulary for every token */               \
    X(RT_HEAD_SEQUENCE, "sequence") /* logits over the labels for every sequence */                \
    X(RT_HEAD_TOKEN, "token")       /* logits over the labels for every token */
typedef enum rt_head { RT_HEADS(RT_CHOICE_VALUE) } rt_head;

/* Rotation by positions with two coordinates x and y: axial = half of the pairs by x, the others by
 * y; mixed = every pair by x theta_x + y theta_y (Heo et al. 2024). */
#define RT_MIXINGS(X) X(RT_AXIAL, "axial") X(RT_MIXED, "mixed")
typedef enum rt_mixing { RT_MIXINGS(RT_CHOICE_VALUE) } rt_mixing;

typedef struct rt_position_options {
    rt_position_kind kind;
    int axes;         /* coordinates of a position, 1 or 2; 0 = 1 */
    rt_mixing mixing; /* of rope with two axes */
    rt_pairing pairing;
    rt_frequency_options frequencies; /* of rope; the base also of sinusoidal */
    double fraction;                  /* rotated share of each head's pairs, 0 ... 1 */
    double local_base;     /* base of rope in layers with a window; 0 = frequencies.base */
    double local_fraction; /* and their rotated share; 0 = fraction */
    bool rotate_value;
    double xpos; /* scale of the decay of causal rope in positions, at least 1: pair by pair, a
                    score at distance r is multiplied by zeta^(r / xpos), but not a value
                    (rt_rotation_decayed); 0 = none */
    int every;   /* N > 1: every N-th layer has no positions; N - 1 is the first of them */
    rt_layer_words layers; /* rt_layer_positions of each layer, in place of `every`; or empty */
    int max_len;           /* of learned: size of its table, the maximum length of a sequence */
    int randomized;  /* positions are drawn from 0 ... randomized - 1; 0: they are 0, 1, ... */
    double init_std; /* of the initial parameters of the encoding; 0 = that of the model */
    bool key_shift;  /* the unrotated features of a key are those of the key before it */
    rt_forget forget;
    double forget_bias;          /* initial bias of a gate, or of `bias` if it is not 0 */
    rt_interval forget_times;    /* decay times of the heads of `bias` and `fixed`, in tokens */
    int rank, taps;              /* of selective: rank of its map, taps of its convolution */
    bool phase_bias, phase_gate; /* of selective */
    bool phase;                  /* of pope: keys have a learned phase */
} rt_position_options;

typedef struct rt_theta_options {
    bool learn;
    rt_theta_scope scope;
    rt_theta_form form;
    rt_theta_init init;
    double init_sigma; /* of perturbed */
    bool head_scale;   /* each query head learns a factor of its scores, 1 at the start; softmax
                          attention only, with any encoding */
} rt_theta_options;

typedef struct rt_transformer_options {
    rt_model_kind kind;
    int vocab;
    int token_types;    /* 0 = no token type embedding */
    int patch;          /* numbers of a patch of an image, which belong to each token; 0 = none */
    bool token_dropout; /* see models/encode.c; not for causal models */
    int mask_id;        /* mask token of token_dropout; negative: none */
    int layers;
    int dim; /* C */
    int heads;
    int kv_heads;      /* key and value heads, a divisor of heads; 0 = heads */
    int head_dim;      /* D, features of a head; 0 = dim / heads */
    int embedding_dim; /* 0 = dim */
    int ffn_dim;       /* 0 = 4 dim */
    rt_norm_order norm;
    rt_norm_kind norm_kind;
    rt_presence norm_bias;  /* of LayerNorm */
    rt_presence first_norm; /* of RT_NORM_PRE: the norm before attention in layer 0 */
    rt_embedding_norm embedding_norm;
    rt_residual residual;
    rt_ffn ffn;
    rt_bias bias; /* the lm head of a decoder never has one */
    double norm_eps;
    double init_std;          /* of initial weights and embeddings; 0 = 0.02 */
    rt_activation activation; /* of feed-forward blocks without a gate, and of the heads */
    double dropout;
    double attention_dropout;
    rt_attention_kind attention;
    bool causal;
    bool qk_norm;               /* an RMS norm over each head's query and key, before rotation */
    int window;                 /* a token attends to tokens less than this far away; 0 = to all */
    rt_layer_words layer_types; /* rt_layer_type of each layer; empty: all alike */
    rt_length_scale length_scale;
    double length_factor; /* of floor */
    int length_floor;     /* of floor, in tokens */
    rt_head head;
    rt_pooling pool; /* input of the sequence head */
    rt_classifier classifier;
    int labels;          /* of the sequence and token heads */
    bool tie_embeddings; /* of the lm head: its matrix is the token embeddings */
    rt_position_options position;
    rt_theta_options theta;
} rt_transformer_options;

/* Options that differ by layer: a row for each layer, from 0 on. */
typedef struct rt_layer_row {
    bool has_positions; /* always true for encodings that are added to the embeddings */
    int window;         /* 0 = none */
    double base;        /* of rope */
    double fraction;    /* rotated share of each head's pairs */
    bool has_attention_norm;
} rt_layer_row;
rt_layer_row rt_layer_row_of(const rt_transformer_options *o, int layer);

/* Returns the frequencies of rope in a layer; -1: in the first layer with positions. */
rt_frequency_options rt_layer_frequencies(const rt_transformer_options *o, int layer);

/* Returns whether layers with positions differ in their frequencies. */
bool rt_layers_differ_in_base(const rt_transformer_options *o);

/* Returns D, also for unresolved options; 0 without heads. */
int rt_transformer_head_dim(const rt_transformer_options *o);

/* Resolves zeros that stand for a value derived from other options: position.axes, kv_heads,
 * head_dim, embedding_dim, ffn_dim, embedding_norm and both init_std. A model resolves its own
 * options; resolve options before passing them to a function that computes from them. */
void rt_transformer_resolve(rt_transformer_options *o);

/* Resolves what depends on lengths: original_len defaults to `length`, that of training, max_len to
 * `longest` or, if it is larger, to randomized. */
void rt_transformer_resolve_lengths(rt_transformer_options *o, int length, int longest);

/* Reports every broken rule between the options. Of rules that build on each other, such as even
 * heads for rope and whole pairs for a fraction, only the first is reported. */
void rt_transformer_rules(const rt_transformer_options *o, rt_rule_listener *tell, void *context);

/* Returns RT_ARGUMENT with the first broken rule. */
rt_status rt_transformer_check(const rt_transformer_options *o) RT_MUST_CHECK;

#endif
