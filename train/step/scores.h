#ifndef ROTOR_TRAIN_STEP_SCORES_H
#define ROTOR_TRAIN_STEP_SCORES_H

/* How well a model tells classes apart. Of a class, TP are its labels that were taken for it, FN
 * those that were taken for another class, FP the labels of other classes that were taken for it:
 *
 *     precision   TP / (TP + FP)
 *     recall      TP / (TP + FN)
 *     F1          2 TP / (2 TP + FP + FN), the harmonic mean of the two
 *     macro F1    the mean of F1 over the classes that occur or are predicted, each as heavy as
 *                 the others; a class that does neither says nothing
 *
 * 0/0 is 0: a class that is never predicted has the precision 0, as in scikit-learn. */

#include <stdbool.h>
#include <stdint.h>

typedef struct rt_class_score {
    double precision, recall, f1;
    int64_t count;     /* its labels, TP + FN */
    int64_t predicted; /* labels that were taken for it, TP + FP */
} rt_class_score;

typedef struct rt_macro_score {
    double f1;
    int classes; /* that occur or are predicted */
} rt_macro_score;

/* From a confusion matrix (classes, classes): a row for each class, in it a column for each that
 * its labels were taken for. */
rt_macro_score rt_scores_find(rt_class_score *scores, const int64_t *confusion, int classes);

/* Whether a class occurs or is predicted. */
bool rt_score_counts(const rt_class_score *score);

/* Chooses classes that occur or are predicted: all of them in their order if there are at most
 * `most`, else those with the lowest F1, the lowest first. Returns how many are chosen. */
int rt_scores_lowest(int *chosen, const rt_class_score *scores, int classes, int most);

#endif
