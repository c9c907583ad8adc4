#ifndef ROTOR_DATA_CORPUS_H
#define ROTOR_DATA_CORPUS_H

/* The texts and files of token ids of data.file and data.eval_file as tokens in one store. Texts
 * are encoded in memory or, if they are large, in a cache. */

#include "data/files.h"
#include "data/tokens.h"

/* Consecutive tokens of the store: a file, or all files of data.file if they are no mixture. */
typedef struct rt_corpus_text {
    const char *name; /* for messages */
    int part;         /* RT_PART_TRAINING or RT_PART_EVALUATION */
    size_t first, count;
    double weight;
} rt_corpus_text;

/* Receives a text of the corpus, in the order of the files. */
typedef rt_status rt_corpus_taker(void *context, const rt_corpus_text *text);

/* Adds the tokens of all files to a store, and passes each text to `take`. Finds the vocabulary of
 * the source, and its unknown characters or words. Errors of rt_data_open and of `take`. */
rt_status rt_corpus_open(rt_data *data, const rt_data_files *files, rt_tokens *tokens,
                         rt_corpus_taker *take, void *context) RT_MUST_CHECK;

/* Writes the tokens of data.file to a file, as rt_encode_file. */
rt_status rt_corpus_write(rt_data *data, const rt_data_files *files, const char *path,
                          size_t *count) RT_MUST_CHECK;

#endif
