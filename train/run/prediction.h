#ifndef ROTOR_TRAIN_RUN_PREDICTION_H
#define ROTOR_TRAIN_RUN_PREDICTION_H

/* What the kinds of --predict share, and nobody else: predict.c chooses among them. */

#include "data/masked_text.h"
#include "models/session.h"
#include "train/run/predict.h"

/* Ids of a text under way, [CLS] first. */
typedef struct rt_prediction_ids {
    int32_t *ids;
    int count;
    int capacity;
} rt_prediction_ids;

typedef struct rt_prediction {
    FILE *to;
    rt_roformer *model;
    const rt_data *data;
    const rt_vocabulary *vocabulary;
    const rt_predict_options *o;
    rt_graph *g;
    const char *text; /* under way */
    size_t size;
    rt_unknown unknown; /* of it, which counts its bytes */
    bool cut;
    bool full, ended;      /* continuation: has come to the end of the context; and stopped there */
    bool ends;             /* continuation: what ends a text can be chosen as well */
    rt_prediction_ids s;   /* masks, continuation */
    real *weights;         /* (V), likewise: logits, then probabilities */
    int32_t *order;        /* (V): ids, the most likely first */
    rt_session *session;   /* continuation; one for all texts */
    rt_labelled_batch row; /* classes, tags */
} rt_prediction;

/* Each prints what the model makes of p->text. */
rt_status rt_predict_masks(rt_prediction *p) RT_MUST_CHECK;
rt_status rt_predict_continuation(rt_prediction *p) RT_MUST_CHECK;
rt_status rt_predict_class(rt_prediction *p) RT_MUST_CHECK;
rt_status rt_predict_tags(rt_prediction *p) RT_MUST_CHECK;

/* ---- units of text, for masks and continuation ---- */

/* Makes p->s the ids of the text. */
rt_status rt_prediction_read(rt_prediction *p, int *masks) RT_MUST_CHECK;
rt_status rt_prediction_append(rt_prediction_ids *s, const int32_t *ids, int count) RT_MUST_CHECK;

/* Leaves the logits of one place among `length` tokens in p->weights. */
rt_status rt_prediction_logits(rt_prediction *p, const int32_t *ids, int length,
                               int place) RT_MUST_CHECK;

/* Logits to probabilities of units, and of what ends a text where p->ends: those of other tokens
 * become 0. */
void rt_prediction_probabilities(rt_prediction *p, double temperature);

/* Leaves of the probabilities those of top_k and top_p, which then add up to 1. Of units that are
 * as likely, the one with the smaller id comes first. */
void rt_prediction_keep(rt_prediction *p, int top_k, double top_p);

/* The choice number `n`, from logits. */
int32_t rt_prediction_choose(rt_prediction *p, int n);

#endif
