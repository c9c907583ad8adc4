#ifndef ROTOR_TRAIN_STEP_SCORES_H
#define ROTOR_TRAIN_STEP_SCORES_H

/* Scores of a model on labelled data: of each class, and of each line.
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

#include "train/step/trainer.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- classes ---- */

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

#endif
