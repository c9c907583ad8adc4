#ifndef ROTOR_TRAIN_RUN_PREDICT_H
#define ROTOR_TRAIN_RUN_PREDICT_H

/* --predict: the prediction of a trained model for a text, or for every line of a stream. The forms
 * of the answers, as text and as JSON, stand in the help of --predict and --jsonl (arguments.c).
 *
 * Tokens of a continuation are written as soon as they are chosen, without breaking UTF-8; as JSON
 * it is printed when it is complete. At data.length tokens the model continues from the newest half
 * of them. A text ends at a token that ends a text (vocabulary.h), and where the model has no more
 * positions; position.scaling = dynamic has no such limit.
 *
 * A line of a stream is answered as if it had been given alone, and before the next one is read.
 * Lines of a file are continued several together: each with the random numbers that it has alone,
 * but its logits may be rounded differently. Lines before a bad one are answered. */

#include "models/sampler.h"
#include "train/config/config.h"
#include "train/run/arguments.h"
#include "train/step/trainer.h"

#include <jansson.h>
#include <stdio.h>

typedef struct rt_predict_options {
    const char *text;     /* NULL: every line of `from` */
    FILE *from;           /* stream */
    rt_sampling sampling; /* of tokens */
    const char *stop;     /* lm: stop sequence; or NULL */
    int count;            /* lm: tokens to add */
    const int32_t *last;  /* mlm: token that is appended to a text; or NULL */
    const rt_crew *crew;  /* lm: threads for the weights; NULL: the calling thread */
    int positions;        /* lm: the most tokens that the model has positions for; 0: no limit */
    bool jsonl;           /* a JSON object per line */
    bool special;         /* lm, mlm: special tokens in a text are tokens */
} rt_predict_options;

/* Counts of texts, for warnings. */
typedef struct rt_predicted {
    long texts;
    long cut;           /* classify, tag: longer than data.length */
    long full;          /* lm: filled the context: data.length, or the positions */
    long ended;         /* lm: of these, ended by the number of positions */
    rt_unknown unknown; /* tokens read as [UNK]; positions are bytes of the whole stream */
} rt_predicted;

/* Prints the prediction for the text, or for the lines up to the first bad one. Returns RT_CONFIG
 * if the data has no text and no token ids to continue. Returns RT_ARGUMENT, for a line with its
 * number, if the text cannot be read with the vocabulary of the model, has no [MASK] to fill or one
 * where there is none to fill, has more tokens than the model has positions, or is no row of
 * labelled data (data/example_text.h). Returns RT_DATA for a line with a zero byte. */
rt_status rt_predict(FILE *to, rt_transformer *model, const rt_data *data, const rt_config *config,
                     const rt_predict_options *options, rt_predicted *predicted) RT_MUST_CHECK;

/* Returns RT_CONFIG if an option has no effect on the prediction for these data: labels are not
 * sampled, a masked text does not grow, and at temperature 0 nothing is drawn. */
rt_status rt_predict_arguments_check(const rt_arguments *a, const rt_data_options *o) RT_MUST_CHECK;

/* Returns the options that the command line sets: all but the threads and positions of the model.
 */
rt_predict_options rt_predict_arguments(const rt_arguments *a, const rt_config *config);

/* ---- answers in JSON ---- */

/* The functions return NULL when the heap is exhausted and accept NULL, so that only
 * rt_answer_print needs a check. */

/* Returns a string of any bytes; those that are not UTF-8 become U+FFFD (text/utf8.h). */
json_t *rt_answer_string(const char *bytes, size_t size);

/* Returns null for a number that is not finite, which JSON cannot represent. */
json_t *rt_answer_number(double x);

/* Prints the object and a newline, and releases the object. Failures of the file are left to the
 * caller (ferror). */
rt_status rt_answer_print(FILE *to, json_t *answer) RT_MUST_CHECK;

#endif
