#ifndef ROTOR_TRAIN_RUN_PREDICTION_H
#define ROTOR_TRAIN_RUN_PREDICTION_H

/* Private to predict.c and predict_continuation.c. */

#include "data/masked_text.h"
#include "models/sampler.h"
#include "models/session.h"
#include "text/lines.h"
#include "text/utf8_stream.h"
#include "train/run/predict.h"

#include <jansson.h>

/* Ids of the current text, [CLS] first. */
typedef struct rt_prediction_ids {
    int32_t *ids;
    int count;
    int capacity;
} rt_prediction_ids;

/* Output of a continuation. */
typedef struct rt_continued {
    rt_utf8_stream stream;
    char *last; /* newest bytes, up to the length of --stop */
    size_t used;
    int tokens; /* number of tokens added */
    bool done;
    const char *end; /* once it is done: token, that ends a text, stop (--stop), or length */
} rt_continued;

enum { RT_MOST_BATCHED = 16 }; /* texts that are continued together */

/* A text that is predicted for, and its buffers. */
typedef struct rt_prediction {
    FILE *to; /* output; the continuation of one of several texts may wait in memory for its turn */
    rt_transformer *model;
    const rt_data *data;
    const rt_vocabulary *vocabulary;
    const rt_predict_options *o;
    rt_graph *g;
    const char *text; /* current text */
    size_t size;
    rt_unknown unknown; /* unknown tokens of the text, by bytes in it */
    bool cut;
    bool full, ended;      /* continuation: the context was full; and the text stopped there */
    rt_prediction_ids s;   /* masks, continuation */
    real *logits;          /* (V), masks, continuation */
    rt_sampler *sampler;   /* masks, continuation; one for all texts */
    double *probabilities; /* (V) of masks, special tokens included; or of labels */
    rt_session *session;   /* continuation; reused for later texts */
    rt_continued continued;
    rt_labelled_batch row; /* classes, tags */
} rt_prediction;

/* ---- answers in JSON ---- */

/* The functions return NULL when the heap is exhausted and accept NULL, so that only
 * rt_answer_print needs a check. */

/* Returns a string of any bytes. JSON is UTF-8: other bytes become U+FFFD, as in a printed
 * continuation (text/utf8_stream.h). */
json_t *rt_answer_string(const char *bytes, size_t size);

/* Returns null for a number that is not finite, which JSON cannot represent. */
json_t *rt_answer_number(double x);

/* Prints the object and a newline, and releases the object. Failures of the file are left to the
 * caller (ferror). */
rt_status rt_answer_print(FILE *to, json_t *answer) RT_MUST_CHECK;

/* ---- a text ---- */

/* Initializes a prediction as a copy of `shared`, with a graph and buffers of its own. To be freed
 * in any case. */
rt_status rt_prediction_new(rt_prediction *p, const rt_prediction *shared) RT_MUST_CHECK;
void rt_prediction_free(rt_prediction *p);

/* Begins the next text. */
void rt_prediction_next(rt_prediction *p, const char *text, size_t size);

/* Adds the warnings of a finished text to the total; the text began `before` bytes behind the
 * beginning of its stream. */
void rt_prediction_count(const rt_prediction *p, size_t before, rt_predicted *total);

/* Returns RT_DATA if a line contains a zero byte. */
rt_status rt_prediction_check_line(const rt_lines *line) RT_MUST_CHECK;

/* Flushes the output. Returns false if it, or output before it, could not be written. */
bool rt_prediction_flush(FILE *to);

/* Encodes p->text as p->s, and counts its masks. */
rt_status rt_prediction_read(rt_prediction *p, int *masks) RT_MUST_CHECK;
rt_status rt_prediction_append(rt_prediction_ids *s, const int32_t *ids, int count) RT_MUST_CHECK;

/* ---- continuation ---- */

/* Continues p->text. */
rt_status rt_predict_continuation(rt_prediction *p) RT_MUST_CHECK;

/* Continues the lines of a file, several together; `shared` has what they share. Lines before a bad
 * one are answered. Stops early if nothing can be printed. */
rt_status rt_predict_batch(const rt_prediction *shared, rt_lines *lines,
                           rt_predicted *total) RT_MUST_CHECK;

#endif
