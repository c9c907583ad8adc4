#ifndef ROTOR_TRAIN_RUN_PREDICTION_H
#define ROTOR_TRAIN_RUN_PREDICTION_H

/* What the kinds of --predict share, and nobody else: predict.c chooses among them. */

#include "data/masked_text.h"
#include "models/sampler.h"
#include "models/session.h"
#include "text/lines.h"
#include "text/utf8_stream.h"
#include "train/run/predict.h"

/* Ids of a text under way, [CLS] first. */
typedef struct rt_prediction_ids {
    int32_t *ids;
    int count;
    int capacity;
} rt_prediction_ids;

/* Why a continuation is over: a token that ends a text was chosen, it has come to --stop, or it may
 * not be longer. */
typedef enum rt_end { RT_END_TOKEN, RT_END_STOP, RT_END_LENGTH } rt_end;

/* What was written of a continuation. */
typedef struct rt_continued {
    rt_utf8_stream stream;
    char *last; /* as many bytes as --stop has, or fewer */
    size_t used;
    int tokens; /* added to the text */
    bool done;
    rt_end end; /* of one that is done */
} rt_continued;

typedef struct rt_prediction {
    FILE *to; /* continuation: one of several texts may wait in memory for its turn */
    rt_transformer *model;
    const rt_data *data;
    const rt_vocabulary *vocabulary;
    const rt_predict_options *o;
    rt_graph *g;
    const char *text; /* under way */
    size_t size;
    rt_unknown unknown; /* of it, which counts its bytes */
    bool cut;
    bool full, ended;      /* continuation: has come to the end of the context; and stopped there */
    rt_prediction_ids s;   /* masks, continuation */
    real *logits;          /* (V), likewise */
    rt_sampler *sampler;   /* likewise; one for all texts */
    double *probabilities; /* (V) of masks, special tokens included; or of labels */
    rt_session *session;   /* continuation; one for all texts that have their turns here */
    rt_continued continued;
    rt_labelled_batch row; /* classes, tags */
} rt_prediction;

/* Each prints what the model makes of p->text. */
rt_status rt_predict_masks(rt_prediction *p) RT_MUST_CHECK;
rt_status rt_predict_continuation(rt_prediction *p) RT_MUST_CHECK;
rt_status rt_predict_class(rt_prediction *p) RT_MUST_CHECK;
rt_status rt_predict_tags(rt_prediction *p) RT_MUST_CHECK;

/* ---- a text, and several ---- */

/* What it needs for itself, from `like`; to be freed in any case. */
rt_status rt_prediction_new(rt_prediction *p, const rt_prediction *like) RT_MUST_CHECK;
void rt_prediction_free(rt_prediction *p);

/* The next text, and what there is to tell of it at its end; it stands that many bytes behind the
 * beginning of its stream. A line is refused if it has a zero. */
void rt_prediction_next(rt_prediction *p, const char *text, size_t size);
void rt_prediction_count(const rt_prediction *p, size_t before, rt_predicted *total);
rt_status rt_prediction_check_line(const rt_lines *line) RT_MUST_CHECK;

/* Has what was printed written. False if it, or something before it, could not be. */
bool rt_prediction_flush(FILE *to);

/* Reads p->text, up to the logits of its first token. */
rt_status rt_continuation_begin(rt_prediction *p) RT_MUST_CHECK;

/* Continues at most so many texts together, each as if it were alone; a text is written to `to`
 * once those before it are. */
enum { RT_MOST_BATCHED = 16 };
rt_status rt_continuation_generate(rt_prediction *p, int count, FILE *to) RT_MUST_CHECK;

/* About the most memory that goes into what is kept of the text. */
double rt_continuation_bytes(const rt_prediction *p);

/* Answers the lines of a file, several together; `like` has what they share. */
rt_status rt_predict_batch(const rt_prediction *like, rt_lines *lines,
                           rt_predicted *total) RT_MUST_CHECK;

/* ---- tokens of text, for masks and continuation ---- */

/* Makes p->s the ids of the text. */
rt_status rt_prediction_read(rt_prediction *p, int *masks) RT_MUST_CHECK;
rt_status rt_prediction_append(rt_prediction_ids *s, const int32_t *ids, int count) RT_MUST_CHECK;

/* Computes the model's prediction for one place among `length` tokens: p->probabilities of all
 * tokens, and p->logits, where special tokens, which are not chosen, have -infinity. */
rt_status rt_prediction_logits(rt_prediction *p, const int32_t *ids, int length,
                               int place) RT_MUST_CHECK;

#endif
