#ifndef ROTOR_MODELS_ENCODINGS_ENCODING_H
#define ROTOR_MODELS_ENCODINGS_ENCODING_H

/* Private declarations of the files of the transformer, and the positional encodings. */

#include "core/status.h"
#include "models/transformer.h"

/* Returns the norm of x over its last axis, or x itself if the model has no norm there. */
rt_tensor *rt_transformer_norm(const rt_transformer *m, rt_graph *g, rt_tensor *x, rt_affine a);

/* Returns a tensor without gradient over numbers that lie elsewhere; NULL if the graph has
 * failed. */
rt_tensor *rt_graph_constant(rt_graph *g, real *data, rt_shape shape);

/* Multiplies each part of x by its own factor: factors (B, T) of x (B, T, ...), for example. */
rt_tensor *rt_scale_parts(rt_graph *g, rt_tensor *x, rt_tensor *factors);

/* Sets padding of x, (B, T, ...), to 0, so that nothing depends on its content. `mask` is key_mask
 * of the input; NULL: no padding. */
rt_tensor *rt_without_padding(rt_graph *g, rt_tensor *x, const uint8_t *mask);

/* Tokens first ... first + count - 1 of a text of `length` tokens. */
typedef struct rt_token_span {
    int first, count, length;
    const rt_positions *positions; /* NULL: first, first + 1, ... */
} rt_token_span;

/* Returns the number of layer l among the layers with positions; the pairs of a head that rotate in
 * layer l, the first of rt_transformer_pairs; and the features of a head that form one of them. */
int rt_layer_number(const rt_transformer_options *o, int l);
int rt_layer_pairs(const rt_transformer_options *o, int l);

typedef struct rt_pair_features {
    int a, b;
} rt_pair_features;
rt_pair_features rt_pair_features_of(const rt_transformer_options *o, int l, int pair);

/* Rotations of a layer's queries, keys and, if wanted, values; NULL: no rotation. */
typedef struct rt_layer_rotation {
    const rt_rotation *query, *key, *value;
} rt_layer_rotation;

/* What the attention of a layer is computed from. An encoding may replace the heads and the
 * rotation, and set options. */
typedef struct rt_attention_pass {
    rt_tensor *input;             /* (B, T, C): input of the block, after its norm */
    rt_tensor *query;             /* (B, T, H, D), after its norm, not rotated */
    rt_tensor *key, *value;       /* (B, T, G, D) */
    rt_layer_rotation rotation;   /* by position alone; empty in a layer without positions */
    rt_attention_options options; /* of softmax attention */
    const rt_tensor *phase_sums;  /* (B, T, H, P), exact: that the rotation is by; or NULL */
    rt_token_span at;
    double *state; /* of the encoding in this layer of a cached text (rt_encoding.state); NULL: the
                      text is not cached */
} rt_attention_pass;

/* Adds the attention of layer l, before its rotation, to in->usage; layer 0 also adds the number of
 * tokens. */
void rt_usage_add_layer(const rt_transformer_options *o, int l, const rt_transformer_input *in,
                        const rt_attention_pass *a);

/* A positional encoding. Each row of RT_POSITION_KINDS (models/options.h) names one, which a file
 * of models/encodings/ defines; those beside position.kind have a key of their own and a row in
 * encoding.c. Model, rules, configuration and checkpoint walk the rows. A NULL function does
 * nothing. */
typedef struct rt_encoding {
    const char *word; /* of position.kind; or of its key */
    bool in_layers;   /* positions enter in each layer, and can be omitted there (position.every) */
    bool of_scores;   /* changes the scores of attention, which linear attention does not have */
    bool causal;      /* is of causal models */
    bool has_base;    /* the meaning of the parameters depends on position.base */
    bool half_pairs;  /* position.pairing is half, whatever its value */
    bool reads_input; /* reads the input of the block other than by products */
    bool has_polar_heads; /* queries and keys have two features for each of a head */
    int axes;             /* most coordinates of positions that are given; 0: none can be given */
    bool biases_keys;     /* sets options.key_bias, which a cached text keeps with each key */
    const char *capacity_key; /* key that sets the capacity */
    double base;              /* default of position.base; 0: that of its key */

    /* Returns the number of pairs of a head that theta rotates in a layer with positions; NULL:
     * there is no theta. */
    int (*pairs)(const rt_transformer_options *o, int layer);
    /* Returns whether the encoding acts in a layer; NULL: where the layer has positions. */
    bool (*acts)(const rt_transformer_options *o, int layer);

    /* Checks the options of the encoding. */
    void (*check)(const rt_transformer_options *o, rt_rule_sink to);
    /* Returns what a model needs to start from one with another encoding and keep its function;
     * NULL: it does. */
    const char *(*joins)(const rt_transformer_options *o, const rt_transformer_options *from);
    /* Returns the maximum length of a text in tokens; 0 = no limit. */
    int (*capacity)(const rt_transformer_options *o);

    /* Adds parameters of the model, NULL if there are none, and of a layer. */
    rt_tensor *(*add)(rt_transformer *m);
    void (*add_layer)(rt_transformer *m, int layer);
    /* Creates encoding.state, one block that the model frees, and sets values, after the parameters
     * are allocated. */
    rt_status (*start)(rt_transformer *m);
    /* Returns how many numbers a cached text keeps in each layer in which the encoding acts, 0
     * before the first token; such a text cannot go back to an earlier token. */
    size_t (*state)(const rt_transformer_options *o);

    /* Returns the embeddings (B, T, E) with positions; the rotation of layer l by positions alone
     * (empty if the graph has failed; NULL: pairs, if there are any, do not rotate by positions,
     * and theta has no turns); changes the attention of layer l. */
    rt_tensor *(*embeddings)(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_token_span at);
    rt_layer_rotation (*rotation)(rt_transformer *m, rt_graph *g, int l, rt_token_span at);
    void (*attention)(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a);
} rt_encoding;

#define RT_ENCODING_DECLARATION(constant, row) extern const rt_encoding row;
RT_POSITION_KINDS(RT_ENCODING_DECLARATION)
#undef RT_ENCODING_DECLARATION

const rt_encoding *rt_encoding_of(const rt_transformer_options *o);

/* Returns encoding n of all: 0 is that of position.kind; NULL past the last. */
const rt_encoding *rt_encoding_at(const rt_transformer_options *o, int n);
bool rt_encoding_acts(const rt_encoding *encoding, const rt_transformer_options *o, int layer);

/* Returns the features of a key in the scores of a layer. */
int rt_key_features(const rt_transformer_options *o, int layer);

/* Returns the numbers that the encodings keep of a layer in a cached text. */
size_t rt_encodings_state(const rt_transformer_options *o, int layer);

/* Returns what a model needs to start from one with another position.kind; "" if nothing helps,
 * because either encoding has parameters of its own; NULL: it can. */
const char *rt_encoding_obstacle(const rt_transformer_options *o,
                                 const rt_transformer_options *from);

/* Returns what C(r), rt_decay, needs of a model, as in "needs position.axes = 1: ..."; NULL: it
 * describes the model. */
const char *rt_decay_obstacle(const rt_transformer_options *o);

/* Theta of the encodings that rotate (rope.c): functions of their rows, and the angles theta sums
 * of layer l, in a text of `length` tokens. */
rt_tensor *rt_add_theta(rt_transformer *m);
void rt_add_theta_of_layer(rt_transformer *m, int l);
rt_status rt_start_theta(rt_transformer *m);
rt_layer_rotation rt_rotation_by_position(rt_transformer *m, rt_graph *g, int l, rt_token_span at);
rt_tensor *rt_angles_of(const rt_transformer *m, rt_graph *g, int l, rt_tensor *sums, int length);

/* Sets *alike if position.* and theta.init give a model with the options `o` the theta that they
 * gave a model that it starts from, in every layer with positions: the same fixed theta, and no
 * drawn one but of the same distribution. Otherwise a learned theta of that model would override
 * these keys. Options are resolved. */
rt_status rt_theta_starts_alike(const rt_transformer_options *o, const rt_transformer_options *from,
                                bool *alike) RT_MUST_CHECK;

/* Checks that heads have pairs, returning whether they have; and that frequencies fit the pairs. */
bool rt_check_heads(const rt_transformer_options *o, rt_rule_sink to);
void rt_check_frequencies(const rt_transformer_options *o, rt_rule_sink to);

/* Checks that a key is of a causal model with softmax attention. */
void rt_check_causal_scores(const rt_transformer_options *o, rt_rule_sink to, const char *key,
                            const char *word);

/* Checks position.local_base: it needs layers with a window, and one theta for all layers needs one
 * base. */
void rt_check_local_base(const rt_transformer_options *o, rt_rule_sink to);

/* Adds a weight that is drawn with position.init_std. */
rt_tensor *rt_add_encoding_weight(rt_transformer *m, const char *name, int count, int size);

#endif
