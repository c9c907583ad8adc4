#ifndef ROTOR_MODELS_PARTS_H
#define ROTOR_MODELS_PARTS_H

/* Private declarations of the files of the transformer. */

#include "models/transformer.h"

/* Returns the norm of x over its last axis, or x itself if the model has no norm there. */
rt_tensor *rt_transformer_norm(const rt_transformer *m, rt_graph *g, rt_tensor *x, rt_affine a);

/* Tokens first ... first + count - 1 of a text of `length` tokens. */
typedef struct rt_token_span {
    int first, count, length;
    const rt_positions *positions; /* NULL: first, first + 1, ... */
} rt_token_span;

/* Returns the number of layer l among the layers with positions, and the features of a head that
 * form a pair. In theta.c. */
int rt_layer_number(const rt_transformer_options *o, int l);

typedef struct rt_pair_features {
    int a, b;
} rt_pair_features;
rt_pair_features rt_pair_features_of(const rt_transformer_options *o, int pair);

/* Rotations of a layer's queries, keys and, if wanted, values; NULL: no rotation. */
typedef struct rt_layer_rotation {
    const rt_rotation *query, *key, *value;
} rt_layer_rotation;

/* Adds a learned theta for a layer, or for all (-1); creates the state of the encoding; returns
 * the rotation of layer l for a span, empty if the graph has failed. In theta.c, for
 * encodings/rope.c. */
rt_tensor *rt_add_theta(rt_transformer *m, int layer);
rt_status rt_theta_start(rt_transformer *m) RT_MUST_CHECK;
rt_layer_rotation rt_rotation_of_layer(rt_transformer *m, rt_graph *g, int l, rt_token_span at);

#endif
