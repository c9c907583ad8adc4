#ifndef ROTOR_TRAIN_RUN_PER_LINE_H
#define ROTOR_TRAIN_RUN_PER_LINE_H

/* --eval --per-line: what a model makes of each line that it is evaluated on, as CSV.
 *
 *     labelled data   line,loss,label,predicted: of each text of the task classify, of each token
 *                     of the task tag
 *     text            line,loss,tokens: of each line of data.eval_file as a text of its own, the
 *                     mean loss of its tokens and their number. With data.objective = lm each token
 *                     is predicted from those before it, with mlm from all others, by hiding one
 *                     after the other (the pseudo-log-likelihood of Salazar et al. 2020). A line
 *                     without tokens has no loss. The tokens that begin and end a text are seen,
 *                     but have no loss.
 *
 * Losses are in nats. A line goes through the model by itself. */

#include "train/config/config.h"
#include "train/step/trainer.h"

#include <stdio.h>

/* `last` is the token that ends a text, RT_NO_ID if there is none. RT_CONFIG for a text without
 * data.eval_file or with several, and for data that has no lines; RT_DATA for a line that is no
 * text. `cut` is how many lines are longer than data.length. */
rt_status rt_per_line_print(FILE *to, const rt_config *config, rt_trainer *trainer, int32_t last,
                            long *cut) RT_MUST_CHECK;

#endif
