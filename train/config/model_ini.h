#ifndef ROTOR_TRAIN_CONFIG_MODEL_INI_H
#define ROTOR_TRAIN_CONFIG_MODEL_INI_H

/* The configuration of a model that no configuration has described: one of a folder of Hugging
 * Face, or one that a program makes. */

#include "data/data.h"
#include "data/tokenizers/vocabulary.h"
#include "models/options.h"

/* The sections model, position and theta in full, and the beginning of the section data: of a
 * causal model its objective. A zero that a key does not take is left out, and so is its default.
 * The caller frees the text; NULL when the heap is exhausted. */
char *rt_model_ini(const rt_transformer_options *o);

/* The same with what the data is: the task, which follows from the head, the vocabulary's level or,
 * without one, the number of ids, the length, where 0 is left out, and what a text begins with. */
char *rt_model_data_ini(const rt_transformer_options *o, const rt_vocabulary *vocabulary, int length,
                        rt_begin begin);

#endif
