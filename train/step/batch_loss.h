#ifndef ROTOR_TRAIN_STEP_BATCH_LOSS_H
#define ROTOR_TRAIN_STEP_BATCH_LOSS_H

/* From a batch to the number that is minimised. */

#include "data/labelled_batch.h"
#include "models/transformer.h"

typedef struct rt_batch_result {
    double loss;    /* summed over the labels */
    size_t correct; /* labels that were predicted */
} rt_batch_result;

/* What a model is given of a batch. */
rt_transformer_input rt_batch_input(const rt_labelled_batch *b);

/* What the model makes of the labelled positions, (labels, V) or (B, classes); NULL if the graph
 * has failed. There must be at least one label. */
rt_tensor *rt_batch_logits(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b);

/* Computes the logits of one place of a text, (1, V); of all places, (count, V), for NULL. Returns
 * NULL if the graph has failed. */
rt_tensor *rt_text_logits(rt_transformer *model, rt_graph *g, const int32_t *ids, int count,
                          const int32_t *place);

/* The summed loss over `divisor`, for backward; NULL if the graph has failed. There must be
 * at least one label. With a dry graph, `result` must be NULL, as it may with any. */
rt_tensor *rt_batch_loss(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b,
                         double divisor, rt_batch_result *result);

#endif
