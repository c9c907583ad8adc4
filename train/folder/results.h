#ifndef ROTOR_TRAIN_FOLDER_RESULTS_H
#define ROTOR_TRAIN_FOLDER_RESULTS_H

/* Results of a run in its folder: exit codes, and result.csv, whose named numbers allow runs to be
 * compared without their logs. */

#include "core/status.h"
#include "util/writer.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit codes of the program, which result.csv contains as well. */
typedef enum rt_exit {
    RT_EXIT_DONE = 0,
    RT_EXIT_FAILURE = 1,
    RT_EXIT_CONFIG = 2,
    RT_EXIT_DATA = 3,
    RT_EXIT_CHECKPOINT = 4,
    RT_EXIT_NONFINITE = 5,
    RT_EXIT_UNSAVED = 6,
    RT_EXIT_CHECK = 7,
    RT_EXIT_STOPPED = 75
} rt_exit;

rt_exit rt_exit_of(rt_code code);

/* Prints the error of a status, if it is one, on stderr, and returns its exit code. */
rt_exit rt_exit_print(rt_status status);

/* Names of results in result.csv. */
#define RT_RESULT_STEPS          "steps"
#define RT_RESULT_LOSS           "eval_loss"
#define RT_RESULT_ACCURACY       "eval_accuracy"
#define RT_RESULT_BITS_PER_BYTE  "bits_per_byte" /* of next-token prediction */
#define RT_RESULT_BYTES          "eval_bytes"    /* bytes of text that were predicted then */
#define RT_RESULT_LABEL_ACCURACY "accuracy"      /* of labelled data */
#define RT_RESULT_MACRO_F1       "macro_f1"      /* of labelled data (rt_macro_score) */
#define RT_RESULT_EXACT          "eval_exact"    /* of data.length = A..B */
#define RT_RESULT_AT             "_at_"          /* before a length: eval_loss_at_64 */
#define RT_RESULT_ACCURACY_AT    RT_RESULT_ACCURACY RT_RESULT_AT
#define RT_RESULT_EXACT_AT       RT_RESULT_EXACT RT_RESULT_AT
#define RT_RESULT_DIVERGED       "diverged_above" /* limit, if exceeded */
#define RT_RESULT_NEAR           "theta_near"
#define RT_RESULT_CHANGE         "theta_max_change"
#define RT_RESULT_MEAN_CHANGE    "theta_mean_change"
#define RT_RESULT_PHASE          "theta_max_phase"
#define RT_RESULT_START_CHANGE   "theta_max_change_from_start"
#define RT_RESULT_COSINE         "theta_cosine"
#define RT_RESULT_NEEDED         "theta_needed"
#define RT_RESULT_STOPPED_EARLY  "stopped_early" /* 1 or 0; only with train.patience */
/* only if the results are those of an earlier step, the best one with train.patience */
#define RT_RESULT_MODEL_STEP "model_step"     /* the earlier step */
#define RT_RESULT_LAST_LOSS  "last_eval_loss" /* loss after the last step */
#define RT_RESULT_FIRST_STEP "first_step_with_accuracy_0.99"
#define RT_RESULT_EXIT_CODE  "exit_code"

enum { RT_RESULT_NAME_SIZE = 40 };

/* Name of a result at a length; 0: at the trained length, which the name leaves out. */
#define RT_RESULT_OF(name, length)                                                                 \
    RT_PRINTED(RT_RESULT_NAME_SIZE, (length) ? "%s" RT_RESULT_AT "%d" : "%s", name, length)

typedef struct rt_result {
    char name[RT_RESULT_NAME_SIZE]; /* letters, digits, points and underscores */
    double value;                   /* may be NaN or infinite */
} rt_result;

/* List of results; zeroed at the start. `failed` means that a result was lost, so that only
 * rt_results_write must be checked. */
typedef struct rt_results {
    int count;
    size_t capacity; /* of `list` */
    rt_result *list;
    bool failed;
} rt_results;

void rt_results_free(rt_results *r);

void rt_results_put(rt_results *r, double value, const char *name);

/* Returns the value of a result; NaN if it is missing. */
double rt_results_get(const rt_results *r, const char *name);

/* Stores a result in *value and returns true, if the result exists and is a whole number. */
bool rt_results_whole(const rt_results *r, const char *name, int *value);

/* Stores the step of the evaluated model in *step and returns true, if the step is known. */
bool rt_results_model_step(const rt_results *r, int *step);

/* Writes result.csv. Returns RT_MEMORY if a result was lost. */
rt_status rt_results_write(const rt_results *r, const char *folder) RT_MUST_CHECK;

/* Reads result.csv. Returns false, with no results, if it is missing or truncated. */
bool rt_results_read(rt_results *r, const char *folder);

#endif
