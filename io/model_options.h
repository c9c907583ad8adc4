#ifndef ROTOR_IO_MODEL_OPTIONS_H
#define ROTOR_IO_MODEL_OPTIONS_H

/* Options that a model and its data determine for each other. */

#include "data/data.h"
#include "data/tokenizers/vocabulary.h"
#include "models/options.h"

/* Returns the model options with vocabulary, token types, mask id, head, classes and patches of the
 * data. */
rt_transformer_options rt_model_options(const rt_transformer_options *model, const rt_data *data);

/* Returns the data options of a model without further data: texts of the vocabulary, or ids if it
 * is NULL. length = 0 means the default of data.length. */
rt_data_options rt_data_options_of(const rt_transformer_options *model,
                                   const rt_vocabulary *vocabulary, int length, rt_begin begin);

#endif
