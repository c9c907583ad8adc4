#ifndef ROTOR_TRAIN_FOLDER_RESULTS_H
#define ROTOR_TRAIN_FOLDER_RESULTS_H

/* What a run came to: names with a number each, kept as result.csv in its folder, so that
 * runs can be compared without their logs. */

#include "core/status.h"

#include <stdbool.h>

/* The names that runs write. */
#define RT_RESULT_STEPS               "steps"
#define RT_RESULT_LOSS                "eval_loss"
#define RT_RESULT_ACCURACY            "eval_accuracy"
#define RT_RESULT_BITS_PER_BYTE       "bits_per_byte"     /* of text, for next-token prediction */
#define RT_RESULT_LABEL_ACCURACY      "accuracy"          /* eval_accuracy, of labelled data */
#define RT_RESULT_MACRO_F1            "macro_f1"          /* likewise; see train/step/scores.h */
#define RT_RESULT_LOSS_AT             "eval_loss_at_"     /* of another length, which follows */
#define RT_RESULT_ACCURACY_AT         "eval_accuracy_at_" /* likewise */
#define RT_RESULT_DIVERGED            "diverged_above"    /* the limit; only of a run that has */
#define RT_RESULT_NEAR                "theta_near"
#define RT_RESULT_DRIFT               "theta_max_drift"
#define RT_RESULT_MEAN_DRIFT          "theta_mean_drift"
#define RT_RESULT_PHASE               "theta_max_phase"
#define RT_RESULT_DRIFT_FROM_START    "theta_max_drift_from_start"
#define RT_RESULT_COSINE              "theta_cosine"
#define RT_RESULT_NEEDED              "theta_needed"
#define RT_RESULT_RESET_LOSS          "theta_reset_loss" /* with its initial theta */
#define RT_RESULT_RESET_ACCURACY      "theta_reset_accuracy"
#define RT_RESULT_RESET_BASE_LOSS     "theta_reset_base_loss" /* with base^(-2i/R) */
#define RT_RESULT_RESET_BASE_ACCURACY "theta_reset_base_accuracy"
#define RT_RESULT_STOPPED_EARLY       "stopped_early" /* 1 or 0; only with train.patience */
#define RT_RESULT_FIRST_STEP          "first_step_with_accuracy_0.99"
#define RT_RESULT_EXIT_CODE           "exit_code"

enum { RT_RESULT_NAME_SIZE = 40 };

typedef struct rt_result {
    char name[RT_RESULT_NAME_SIZE]; /* of letters, digits, points and underscores */
    double value;                   /* may be NaN or infinite */
} rt_result;

/* Starts zeroed. When the heap is exhausted it remembers that, so that only the end needs a
 * check. */
typedef struct rt_results {
    int count, capacity;
    rt_result *list;
    bool failed;
} rt_results;

void rt_results_free(rt_results *r);

void rt_results_put(rt_results *r, double value, const char *name_format, ...) RT_PRINTF(3, 4);

/* NaN if there is none of that name. */
double rt_results_get(const rt_results *r, const char *name_format, ...) RT_PRINTF(2, 3);

/* The same as a whole number; false, and nothing is stored, if there is none. */
bool rt_results_whole(const rt_results *r, const char *name, int *value);

/* RT_MEMORY if a result has got lost. */
rt_status rt_results_write(const rt_results *r, const char *folder) RT_MUST_CHECK;

/* Removes those of a run that goes on. */
void rt_results_forget(const char *folder);

/* False, and empty, if the folder has no result.csv, or one that is not whole. */
bool rt_results_read(rt_results *r, const char *folder);

/* How tables over several runs show a result. */
typedef struct rt_result_view {
    const char *name;    /* one that ends in "_" stands for all that begin so, a number behind it */
    const char *heading; /* with that number behind it */
    int decimals;
    bool always; /* shown even if no run has it */
} rt_result_view;

/* The views in the order of the columns; NULL behind the last. */
const rt_result_view *rt_result_view_at(int i);

#endif
