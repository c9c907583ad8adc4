#ifndef ROTOR_IO_HUGGINGFACE_LAYER_TYPES_H
#define ROTOR_IO_HUGGINGFACE_LAYER_TYPES_H

/* layer_types of config.json: which layers have a window. */

#include "io/huggingface/private.h"

/* A list with an item for each layer; NULL if there is none. RT_CHECKPOINT in r if it has another
 * length. */
const json_t *rt_layer_list(rt_reading *r, const char *key, int layers);

/* Sets the window, 0 = none, and the layers that have it: those that the list calls
 * sliding_attention or, in a folder without one, those of `by_rule`. RT_CHECKPOINT in r for other
 * types, and for sliding layers without a window. */
void rt_layer_types_read(rt_reading *r, rt_huggingface *there, int window, const bool *by_rule);

/* Writes the list. */
void rt_layer_types_put(rt_config_writing *w);

/* Whether a layer has a window. */
bool rt_layer_slides(const rt_transformer_options *o, int layer);

#endif
