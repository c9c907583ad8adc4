#ifndef ROTOR_MODELS_PARTS_H
#define ROTOR_MODELS_PARTS_H

/* Private declarations of the files of the transformer. */

#include "models/transformer.h"

/* Tokens first ... first + count - 1 of a text of that length. */
typedef struct rt_token_span {
    int first, count, length;
} rt_token_span;

/* theta.c: which of the layers that have positions layer l is, and the features of a head that make
 * a pair. */
int rt_layer_number(const rt_transformer_options *o, int l);

typedef struct rt_pair_features {
    int a, b;
} rt_pair_features;
rt_pair_features rt_pair_features_of(const rt_transformer_options *o, int pair);

/* Rotations of a layer's queries, keys and, if wanted, values; NULL: no rotation. */
typedef struct rt_layer_rotation {
    const rt_rotation *query, *key, *value;
} rt_layer_rotation;

/* theta.c, for encodings/rope.c: learnable theta and its start, the state of the encoding, and the
 * rotation that layer l applies to a span: nothing when the graph has failed. Layer -1 stands for
 * all. */
rt_tensor *rt_add_theta(rt_transformer *m, int layer);
rt_status rt_theta_start(rt_transformer *m) RT_MUST_CHECK;
void rt_theta_free(void *state);
rt_layer_rotation rt_rotation_of_layer(rt_transformer *m, rt_graph *g, int l, rt_token_span at);

/* ---- token dropout ---- */

/* Token dropout, as ESM-2 has it (Lin et al. 2023): what the embeddings of a text have lost by
 * masks is made up for. */

/* Embeddings x, (B, T, E), of a model whose options have token_dropout: those of mask tokens and of
 * padding become 0, and all others are multiplied by
 *
 *     (1 - 0.15 * 0.8) / (1 - masks / tokens)
 *
 * of their text, padding not counted: 0.15 * 0.8 is the share of masks in its pretraining. A text
 * of masks alone is 0. */
rt_tensor *rt_token_dropout(const rt_transformer_options *options, rt_graph *g, rt_tensor *x,
                            const rt_transformer_input *input);

#endif
