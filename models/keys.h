#ifndef ROTOR_MODELS_KEYS_H
#define ROTOR_MODELS_KEYS_H

/* The keys of a model: [model], [position], and those of [theta] that belong to the model. */

#include "core/key.h"

/* Table of the keys of rt_transformer_options. */
extern const rt_key_table rt_model_keys;

#endif
