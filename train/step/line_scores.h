#ifndef ROTOR_TRAIN_STEP_LINE_SCORES_H
#define ROTOR_TRAIN_STEP_LINE_SCORES_H

/* What a model makes of each labelled line of the evaluation data: of each text of the task
 * classify, of each token of the task tag. Each text or sentence goes through the model by itself.
 */

#include "train/step/trainer.h"

typedef struct rt_line_score {
    int line; /* of the file */
    int32_t label, predicted;
    double loss;        /* -ln of the probability of the label */
    double probability; /* of what is predicted */
} rt_line_score;

typedef struct rt_line_scores {
    rt_line_score *lines; /* in the order of the file; no tokens that are cut off */
    size_t count;
} rt_line_scores;

/* RT_CONFIG for data without labels. To be freed in any case. */
rt_status rt_line_scores_find(rt_line_scores *scores, rt_trainer *trainer) RT_MUST_CHECK;
void rt_line_scores_free(rt_line_scores *scores);

/* -ln of the probability that logits (columns) give to a column; the softmax is in double. */
double rt_logits_loss(const real *logits, int columns, int wanted);

#endif
