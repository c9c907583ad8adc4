#ifndef ROTOR_TRAIN_STEP_MEASUREMENTS_H
#define ROTOR_TRAIN_STEP_MEASUREMENTS_H

/* Measurements of a trained model: scores of classes and of lines of labelled data, its loss with
 * another theta, how it uses its pairs, and how far its heads look. */

#include "models/usage.h"
#include "train/step/trainer.h"

/* ---- classes ----
 *
 * TP are the labels of a class that are predicted as this class, FN those that are predicted as
 * another class, FP the labels of other classes that are predicted as this class:
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
    int64_t count;     /* its labels, TP + FN */
    int64_t predicted; /* labels that are predicted as this class, TP + FP */
} rt_class_score;

typedef struct rt_macro_score {
    double f1;
    int classes; /* that occur or are predicted */
} rt_macro_score;

/* Computes the scores from a confusion matrix (classes, classes): a row for each class of the
 * labels, a column for each predicted class. */
rt_macro_score rt_scores_find(rt_class_score *scores, const int64_t *confusion, int classes);

/* Returns whether a class occurs or is predicted. */
bool rt_score_counts(const rt_class_score *score);

/* Chooses classes that occur or are predicted: all of them in their order if there are at most
 * `most`, else those with the lowest F1, the lowest first. Returns how many are chosen. */
int rt_scores_lowest(int *chosen, const rt_class_score *scores, int classes, int most);

/* ---- lines ---- */

typedef struct rt_line_score {
    int line; /* of the file */
    int32_t label, predicted;
    double loss;        /* -ln of the probability of the label */
    double probability; /* of what is predicted */
} rt_line_score;

typedef struct rt_line_scores {
    rt_line_score *lines; /* in the order of the file, without truncated tokens */
    size_t count;
} rt_line_scores;

/* Scores each labelled line of the evaluation data: each text of the task classify, each token of
 * the task tag. Each text or sentence is a batch of its own. RT_CONFIG for data without labels. To
 * be freed in any case. */
rt_status rt_line_scores_find(rt_line_scores *scores, rt_trainer *trainer) RT_MUST_CHECK;
void rt_line_scores_free(rt_line_scores *scores);

/* Returns -ln of the probability of a column of logits (columns); the softmax is in double. */
double rt_logits_loss(const real *logits, int columns, int wanted);

/* ---- another theta ----
 *
 * A model *depends on* its theta if after a reset of theta the accuracy is lower by more than 0.01,
 * or the loss exceeds 1.5 times the model's own plus 0.01; for a model whose accuracy is below 0.9,
 * its own loss plus 0.01. A loss that is not finite exceeds everything. */

typedef struct rt_theta_reset {
    double loss, accuracy;             /* of the model as it is */
    double reset_loss, reset_accuracy; /* with another theta */
} rt_theta_reset;

/* Returns whether the model depends on its own theta. */
bool rt_theta_reset_hurts(const rt_theta_reset *reset);

/* Evaluates, as rt_trainer_evaluate, with another theta, and restores the model to the bit:
 * with `theta`, laid out as rt_transformer_theta, in the place of the learned theta; if that is
 * NULL, with the effective theta of `change` (NULL: the model's own), for a single process. If
 * --trap ends the evaluation, the loss is NaN and there are no labels. */
rt_status rt_theta_evaluate(rt_trainer *trainer, int length, int batches, const double *theta,
                            const rt_theta_change *change, rt_evaluation *result) RT_MUST_CHECK;

#define RT_THETA_FARTHEST 3.0
enum { RT_THETA_EVALUATIONS = 8 }; /* in one direction */

/* Tolerances of one theta: how far ln |theta_i| can move, all others unchanged, before that hurts
 * the model. It is the largest step, up to RT_THETA_FARTHEST, that does not hurt and below which no
 * step was found that does; 0 if every step hurts. Steps are tried outwards, since positions are
 * whole numbers and a far rotation can look like a near one again; the range that holds the limit
 * is then halved on a logarithmic scale. */
typedef struct rt_theta_tolerance {
    double down, up; /* towards smaller and larger |theta| */
} rt_theta_tolerance;

/* Measures the tolerances of every theta, laid out as rt_transformer_theta, by at most
 * RT_THETA_EVALUATIONS evaluations of one batch for each direction. Between two evaluations `stop`,
 * unless it is NULL, may request an end; the result is then incomplete, and *stopped is set. */
rt_status rt_theta_tolerances(rt_trainer *trainer, int length, rt_theta_tolerance *tolerances,
                              int (*stop)(void), bool *stopped) RT_MUST_CHECK;

/* ---- rotations and attention ---- */

/* Measures how the pairs of the model are used by queries and keys, over train.eval_batches
 * batches of the evaluation set; to be freed with rt_usage_free. The same bits for any number of
 * threads. For a single process. RT_CONFIG as rt_usage_new. */
rt_status rt_trainer_usage(rt_trainer *trainer, int length, rt_usage *usage) RT_MUST_CHECK;

/* Attention of the heads of a model to each distance. */
typedef struct rt_attention_distances {
    int layers, heads, length;
    double *weights; /* (layers, heads, length): share of the attention of a head at a distance, on
                        either side; sums to 1 */
} rt_attention_distances;

/* Measures the weights over train.eval_batches batches of the evaluation set, without padding; to
 * be freed with rt_attention_distances_free. The same bits for any number of threads. For a single
 * process. RT_CONFIG if the attention of the model has no weights. */
rt_status rt_trainer_attention_distances(rt_trainer *trainer, int length,
                                         rt_attention_distances *distances) RT_MUST_CHECK;
void rt_attention_distances_free(rt_attention_distances *distances);

#endif
