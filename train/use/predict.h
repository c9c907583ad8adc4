#ifndef ROTOR_TRAIN_USE_PREDICT_H
#define ROTOR_TRAIN_USE_PREDICT_H

/* --predict: the prediction of a trained model for a text, or for every line of a stream. The help
 * of --predict and --jsonl (arguments.c) describes the formats of the answers.
 *
 * Tokens of a continuation are written as soon as they are chosen, in whole UTF-8 characters; as
 * JSON they are printed when the continuation is complete. When the context of data.length tokens
 * is full, its newest half is kept. A text ends at an end token (vocabulary.h), and where the model
 * has no more positions; position.scaling = dynamic has no such limit.
 *
 * A line of a stream is answered independently of other lines, before the next one is read. Each
 * answer has its own random numbers: those of the seed and the number of the answer. Lines of a
 * file, and samples of a text, are continued in batches: each uses the random numbers that it has
 * alone, but its logits may be rounded differently. Lines before a bad line are answered. */

#include "models/sampler.h"
#include "train/config/config.h"
#include "train/step/trainer.h"

#include <jansson.h>
#include <stdio.h>

typedef struct rt_predict_options {
    const char *text;          /* NULL: every line of `from` */
    FILE *from;                /* stream of lines */
    rt_sampling sampling;      /* sampling of tokens */
    const char *stop;          /* lm: stop sequence; or NULL */
    int count;                 /* lm: tokens to add */
    int samples;               /* lm: continuations of each text; 0: one, without a number */
    const int32_t *last;       /* mlm: token that is appended to a text; or NULL */
    const rt_threads *threads; /* lm: threads for matrix products; NULL: the calling thread */
    int positions;             /* lm: limit of positions of the model; 0: none */
    bool jsonl;                /* a JSON object per line */
    bool special;              /* lm, mlm: special tokens in a text are tokens */
} rt_predict_options;

/* Counts of texts, for warnings. */
typedef struct rt_predicted {
    long texts;         /* answers: a text counts once for each sample */
    long cut;           /* classify, tag: texts longer than data.length */
    long tabs;          /* classify: texts with a tab, of a model that takes no pairs */
    long full;          /* lm: texts that filled the context: data.length, or the positions */
    long ended;         /* lm: texts of these that ended at the last position */
    rt_unknown unknown; /* tokens read as [UNK]; byte offsets are in the whole stream */
} rt_predicted;

/* Prints the prediction for the text, or for the lines up to the first bad one. Returns RT_CONFIG
 * if the data has neither text nor token ids to continue. Returns RT_ARGUMENT, for a line with its
 * number, if the text cannot be encoded with the model's vocabulary, has no [MASK] to fill, has a
 * [MASK] in a text to continue, is longer than the model's positions, or is not a row of labelled
 * data (data/labelled_batch.h). Returns RT_DATA for a line with a zero byte, and RT_NONFINITE if
 * the model has a logit that is not finite. */
rt_status rt_predict(FILE *to, rt_transformer *model, const rt_data *data, const rt_config *config,
                     const rt_predict_options *options, rt_predicted *predicted) RT_MUST_CHECK;

/* Answers in JSON. These functions return NULL if the heap is exhausted, and accept NULL, so that
 * only the result of rt_answer_print must be checked. */

/* Returns a JSON string; bytes that are not UTF-8 become U+FFFD (util/utf8.h). */
json_t *rt_answer_string(const char *bytes, size_t size);

/* Returns a JSON number, or null if x is not finite. */
json_t *rt_answer_number(double x);

/* Prints the object and a newline, and releases the object. The caller checks ferror(to). */
rt_status rt_answer_print(FILE *to, json_t *answer) RT_MUST_CHECK;

#endif
