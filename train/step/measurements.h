#ifndef ROTOR_TRAIN_STEP_MEASUREMENTS_H
#define ROTOR_TRAIN_STEP_MEASUREMENTS_H

/* Measurements of a trained model: scores of classes and of lines of labelled data, its loss with
 * another theta, the use of its pairs, and its attention by distance. */

#include "models/usage.h"
#include "train/step/trainer.h"

/* Scores of classes: TP are the labels of a class that are predicted as this class, FN those that
 * are predicted as another class, FP the labels of other classes that are predicted as this class:
 *
 *     precision   TP / (TP + FP)
 *     recall      TP / (TP + FN)
 *     F1          2 TP / (2 TP + FP + FN), the harmonic mean of the two
 *     macro F1    the mean of F1 over the classes that occur or are predicted, with equal
 *                 weights
 *
 * 0/0 is 0: a class that is never predicted has the precision 0, as in scikit-learn. */

typedef struct rt_class_score {
    double precision, recall, f1;
    int64_t count;     /* labels of the class, TP + FN */
    int64_t predicted; /* labels predicted as the class, TP + FP */
} rt_class_score;

typedef struct rt_macro_score {
    double f1;
    int classes; /* classes that occur or are predicted */
} rt_macro_score;

/* Computes the scores from a confusion matrix (classes, classes), with a row for each class of the
 * labels and a column for each predicted class. Returns the macro score. */
rt_macro_score rt_scores_find(rt_class_score *scores, const int64_t *confusion, int classes);

/* Returns whether a class occurs or is predicted. */
bool rt_score_counts(const rt_class_score *score);

/* Chooses classes that occur or are predicted: all in their order if there are at most `most`, else
 * those with the lowest F1 in ascending order. Returns the number of chosen classes. */
int rt_scores_lowest(int *chosen, const rt_class_score *scores, int classes, int most);

typedef struct rt_line_score {
    int line;  /* line of the file */
    int token; /* of the sentence, from 0; 0 without the task tag */
    int32_t label, predicted;
    double loss;        /* -ln of the probability of the label */
    double probability; /* probability of the predicted class */
} rt_line_score;

typedef struct rt_line_scores {
    rt_line_score *lines; /* in the order of the file; labels cut off by data.length are missing */
    size_t count;
} rt_line_scores;

/* Scores each labelled line of the evaluation data: each text of the task classify, each token of
 * the task tag. Each text or sentence is a batch of its own. Returns RT_CONFIG for data without
 * labels. The caller frees scores->lines with rt_free, also after an error. */
rt_status rt_line_scores_find(rt_line_scores *scores, rt_trainer *trainer) RT_MUST_CHECK;

/* Returns -ln of the softmax probability of column `wanted` of a row of logits, in double. */
double rt_logits_loss(const real *logits, int columns, int wanted);

/* A model *depends on* its theta if the initial theta lowers the accuracy by more than 0.01 or
 * raises the loss above L + 0.01. L is the model's own loss, times 1.5 if its own accuracy is at
 * least 0.9. A loss that is not finite exceeds everything. */

typedef struct rt_theta_reset {
    double loss, accuracy;             /* with the model's own theta */
    double reset_loss, reset_accuracy; /* with another theta */
} rt_theta_reset;

/* Returns whether the model depends on its own theta. */
bool rt_theta_reset_hurts(const rt_theta_reset *reset);

/* Evaluates, as rt_trainer_evaluate, with another theta, then restores the model's own theta
 * exactly (in rank 0 only; see rt_trainer_share). An earlier override (rt_transformer_change_theta)
 * is removed and not restored. `theta`, laid out as rt_transformer_theta, replaces the learned
 * theta. If `theta` is NULL, `change` overrides the effective theta (NULL: no change), in a single
 * process only. If --trap ends the evaluation, the loss is NaN and there are no labels. */
rt_status rt_theta_evaluate(rt_trainer *trainer, int length, int batches, const double *theta,
                            const rt_theta_change *change, rt_evaluation *result) RT_MUST_CHECK;

#define RT_THETA_FARTHEST 3.0
enum { RT_THETA_EVALUATIONS = 8 }; /* for each theta and direction */

/* Tolerances of one theta: how far ln |theta_i| can move, with all others unchanged, before the
 * model gets worse. Changes up to RT_THETA_FARTHEST are tried in ascending order until one is
 * harmful (rt_theta_reset_hurts). Larger changes are not tried: angles repeat after 2 pi, so that a
 * large change can be harmless although a smaller one was not. Bisection on a logarithmic scale
 * then refines the largest harmless change, which is the tolerance; 0 if there was none. */
typedef struct rt_theta_tolerance {
    double down, up; /* towards smaller and larger |theta| */
} rt_theta_tolerance;

/* Measures the tolerances of every theta, laid out as rt_transformer_theta, with at most
 * RT_THETA_EVALUATIONS evaluations of one batch for each direction. `stop`, unless it is NULL, is
 * polled between evaluations; once it returns nonzero, no more are made. *stopped receives the
 * answer of one more poll at the end; if it is true, the result may be incomplete. */
rt_status rt_theta_tolerances(rt_trainer *trainer, int length, rt_theta_tolerance *tolerances,
                              int (*stop)(void), bool *stopped) RT_MUST_CHECK;

/* Accumulates rt_usage (models/usage.h), sums of lengths and components of the queries and keys of
 * each rotated pair, over train.eval_batches batches of the evaluation set. The caller frees the
 * result with rt_usage_free. Bitwise identical for any number of threads; for a single process.
 * Returns RT_CONFIG as rt_usage_new. */
rt_status rt_trainer_usage(rt_trainer *trainer, int length, rt_usage *usage) RT_MUST_CHECK;

/* Gradients of the losses of evaluation sequences by ln |theta|, laid out as rt_transformer_theta.
 * The loss of a sequence is the mean over its labels. */
typedef struct rt_theta_gradients {
    long sequences;           /* that have a label */
    double *mean, *deviation; /* over the sequences; one allocation */
} rt_theta_gradients;

/* Measures them over train.eval_batches batches, without dropout. The caller frees g->mean
 * (rt_free). Bitwise identical for any number of threads; for a single process. Returns RT_CONFIG
 * if theta is not learned, or has a value for each coordinate (position.mixing = mixed). */
rt_status rt_trainer_theta_gradients(rt_trainer *trainer, int length,
                                     rt_theta_gradients *g) RT_MUST_CHECK;

/* Attention of the heads of a model by distance. */
typedef struct rt_attention_distances {
    int layers, heads, length;
    double *weights; /* (layers, heads, length): share of a head's attention at a distance, on
                        either side; the shares of a head sum to 1 */
    double *answers; /* (layers, heads): mean share of the token that answers a label
                        (rt_batch.distances); NaN without such labels */
} rt_attention_distances;

/* Measures the shares over train.eval_batches batches of the evaluation set, without padding. The
 * caller frees the result with rt_attention_distances_free. Bitwise identical for any number of
 * threads; for a single process. Returns RT_CONFIG if the model has no softmax attention. */
rt_status rt_trainer_attention_distances(rt_trainer *trainer, int length,
                                         rt_attention_distances *distances) RT_MUST_CHECK;
void rt_attention_distances_free(rt_attention_distances *distances);

#endif
