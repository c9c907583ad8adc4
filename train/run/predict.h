#ifndef ROTOR_TRAIN_RUN_PREDICT_H
#define ROTOR_TRAIN_RUN_PREDICT_H

/* --predict: what a trained model makes of a text. With data.objective = mlm it fills every
 * [MASK] of it, with data.objective = lm it continues it. */

#include "train/step/batch_loss.h"

#include <stdio.h>

typedef struct rt_predict_options {
    const char *text;
    double temperature; /* logits are divided by it; 0: always the most likely unit */
    uint64_t seed;      /* of the choices */
    int count;          /* lm: units to add */
} rt_predict_options;

/* Prints the text as the model completes it and, for mlm, a line for each [MASK] with the most
 * likely units; special tokens are none. *unknown is what of the text was read as [UNK].
 * RT_CONFIG if the data is no text, RT_ARGUMENT if the text cannot be read with the vocabulary of
 * the model, has no [MASK] to fill, or is too long for learned positions. */
rt_status rt_predict(FILE *to, rt_roformer *model, const rt_data *data, const rt_config *config,
                     const rt_predict_options *options, rt_unknown *unknown) RT_MUST_CHECK;

#endif
