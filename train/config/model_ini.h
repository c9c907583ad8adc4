#ifndef ROTOR_TRAIN_CONFIG_MODEL_INI_H
#define ROTOR_TRAIN_CONFIG_MODEL_INI_H

/* A model that has no configuration of its own, such as one of Hugging Face, as an INI file: the
 * sections model, position and theta, and what its data is but for the files. */

#include "data/data.h"
#include "models/options.h"

/* The caller frees it (rt_free); NULL when the heap is exhausted. */
char *rt_model_ini(const rt_transformer_options *model, const rt_data_options *data);

#endif
