#ifndef ROTOR_IO_MODEL_OPTIONS_H
#define ROTOR_IO_MODEL_OPTIONS_H

/* Options that data and model decide for each other. */

#include "data/data.h"
#include "data/tokenizers/vocabulary.h"
#include "models/options.h"

/* The options of a kind of model that nobody has set: those of its keys. */
rt_transformer_options rt_model_options_of_kind(rt_model_kind kind);

/* The options with the vocabulary, the token types, the head and the classes of the data. */
rt_transformer_options rt_model_options(const rt_transformer_options *model, const rt_data *data);

/* Returns the data options of a model without further data: texts of the vocabulary, or ids without
 * one (NULL). length = 0 is the default of the key. */
rt_data_options rt_data_options_of(const rt_transformer_options *model,
                                   const rt_vocabulary *vocabulary, int length, rt_begin begin);

#endif
