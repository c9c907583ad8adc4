#ifndef ROTOR_IO_MODEL_OPTIONS_H
#define ROTOR_IO_MODEL_OPTIONS_H

/* What the data decides of a model. */

#include "data/data.h"
#include "models/options.h"

/* The options with the vocabulary, the token types, the head and the classes of the data. */
rt_transformer_options rt_model_options(const rt_transformer_options *model, const rt_data *data);

#endif
