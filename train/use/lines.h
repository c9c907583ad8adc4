#ifndef ROTOR_TRAIN_USE_LINES_H
#define ROTOR_TRAIN_USE_LINES_H

/* Commands that read a text line by line. */

#include "train/run/state.h"

/* Prints, for --embed, a vector for each line below a heading v0, v1, ..., or writes all vectors as
 * the dataset /embeddings of --output or as .npy. Warns of truncated lines.
 *
 * Returns RT_DATA for a line that cannot be read or has no token, and for a file without a line;
 * RT_CONFIG for a layer that the model does not have, and for data without texts. */
rt_status rt_embed_lines(rt_run *r) RT_MUST_CHECK;

/* Prints, for --eval --per-line, the loss of each line of the evaluation data in nats, as CSV.
 *
 *     labelled data   line,loss,label,predicted: of each text of the task classify, of each token
 *                     of the task tag
 *     text            line,loss,tokens: of each line of data.eval_file as a text of its own, the
 *                     mean loss of its tokens and their number. With data.objective = lm each token
 *                     is predicted from those before it, with mlm from all others, by masking one
 *                     after the other (the pseudo-log-likelihood of Salazar et al. 2020). A line
 *                     without tokens has no loss. The tokens that begin and end a text are input,
 *                     but have no loss.
 *
 * Warns of truncated lines. Returns RT_CONFIG for a text without data.eval_file or with several,
 * and for data that has no lines; RT_DATA for a line that is not text. */
rt_status rt_print_line_losses(rt_run *r) RT_MUST_CHECK;

#endif
