#ifndef ROTOR_TRAIN_RUN_EMBED_H
#define ROTOR_TRAIN_RUN_EMBED_H

/* --embed: a vector for each line of a text, of the hidden states of its tokens.
 *
 * A line goes through the model by itself, so that its vector has the same bits whatever lines are
 * beside it and however many threads there are. Nothing is written before all lines are read. */

#include "train/run/text_rows.h"
#include "train/step/trainer.h"

typedef struct rt_embed_options {
    rt_text_source source;
    rt_pooling pool;
    int layer;          /* 0: the embeddings; -1: the last, after the final norm */
    const char *output; /* a file of HDF5 with the dataset /embeddings; NULL: CSV is printed */
} rt_embed_options;

/* The word of a pooling; false if there is none of that name. */
bool rt_pooling_find(const char *word, rt_pooling *pool);

/* Prints a row for each line below a heading v0, v1, ..., or writes the file. Errors as
 * rt_text_rows_read; RT_CONFIG for a layer that the model has not. */
rt_status rt_embed(FILE *to, rt_trainer *trainer, const rt_embed_options *options, long *cut,
                   rt_unknown *unknown) RT_MUST_CHECK;

#endif
