#ifndef ROTOR_TRAIN_STEP_ATTENTION_DISTANCES_H
#define ROTOR_TRAIN_STEP_ATTENTION_DISTANCES_H

/* How much the heads of a model attend to each distance over the evaluation data. */

#include "train/step/trainer.h"

typedef struct rt_attention_distances {
    int layers, heads, length;
    double *weights; /* (layers, heads, length): of all the weights of a head, the part between
                        tokens so far apart, on either side; sums to 1 */
} rt_attention_distances;

/* Makes the weights of the sequences of that length that rt_trainer_evaluate takes, padding left
 * out, for rt_attention_distances_free; the same bits for any number of threads. Of a process
 * alone. RT_CONFIG if the attention of the model has no weights. */
rt_status rt_trainer_attention_distances(rt_trainer *trainer, int length,
                                         rt_attention_distances *distances) RT_MUST_CHECK;
void rt_attention_distances_free(rt_attention_distances *distances);

#endif
