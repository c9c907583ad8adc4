#ifndef ROTOR_TRAIN_RUN_LINES_H
#define ROTOR_TRAIN_RUN_LINES_H

/* Commands that read a text line by line: --embed and --eval --per-line.
 *
 * Each line is laid out as if it were alone: as a row of labelled data (data/example_text.h), or as
 * running text begins, cut to data.length. A line goes through the model by itself, so that its
 * result has the same bits whatever lines are beside it and however many threads there are. */

#include "train/config/config.h"
#include "train/step/trainer.h"

#include <stdio.h>

/* ---- --embed: a vector for each line, of the hidden states of its tokens ---- */

typedef struct rt_embed_options {
    const char *path; /* of the text; "-": standard input */
    int32_t last;     /* token that ends a text; RT_NO_ID: none */
    rt_pooling pool;
    int layer;          /* 0: the embeddings; -1: the last, after the final norm */
    const char *output; /* a file of HDF5 with the dataset /embeddings; NULL: CSV is printed */
} rt_embed_options;

/* Parses the word of a pooling. Returns false if there is none of that name. */
bool rt_pooling_find(const char *word, rt_pooling *pool);

/* Prints a row for each line below a heading v0, v1, ..., or writes the file, after all lines have
 * been read. `cut` counts the lines that are longer than data.length.
 *
 * Returns RT_DATA for a line that cannot be read or has no token, and for a file without a line;
 * RT_CONFIG for a layer that the model does not have, and for data without texts. */
rt_status rt_embed(FILE *to, rt_trainer *trainer, const rt_embed_options *options, long *cut,
                   rt_unknown *unknown) RT_MUST_CHECK;

/* ---- --eval --per-line: the loss of each line of the evaluation data ---- */

/* Prints a table in CSV. Losses are in nats.
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
 * `last` is the token that ends a text, RT_NO_ID if there is none. `cut` counts the lines that are
 * longer than data.length.
 *
 * Returns RT_CONFIG for a text without data.eval_file or with several, and for data that has no
 * lines; RT_DATA for a line that is no text. */
rt_status rt_per_line_print(FILE *to, const rt_config *config, rt_trainer *trainer, int32_t last,
                            long *cut) RT_MUST_CHECK;

#endif
