#ifndef ROTOR_TRAIN_RUN_METRICS_H
#define ROTOR_TRAIN_RUN_METRICS_H

/* Records of a training: metrics.csv and theta.csv, which hold the same bytes for the same seed;
 * timing.csv, with the times; and with run.tensorboard the scalars of metrics.csv for TensorBoard.
 */

#include "train/folder/event_file.h"
#include "train/step/trainer.h"

#include <stdio.h>

/* A CSV file whose first column is the step. A run that continues from a checkpoint truncates it to
 * the rows that an uninterrupted run would have by then, and appends. */
typedef struct rt_step_table {
    FILE *file;
    const char *name; /* for messages */
    bool failed;      /* a row could not be written */
    int last;         /* largest step of the older rows, kept or not; -1: there were none */
} rt_step_table;

typedef struct rt_metrics {
    const rt_config *config;
    rt_step_table metrics, theta, timing;
    rt_event_file events; /* of run.tensorboard */
    const char *session;  /* cells of timing.csv that its next row has; NULL: empty ones */
    long tokens;          /* computed since the clock was started */
    bool warned;
} rt_metrics;

/* Opens the files in the folder; after `finished_steps` steps, earlier rows stay. `session` are the
 * cells of rt_session_cells, or NULL; they must be there until a step has been recorded. */
rt_status rt_metrics_open(rt_metrics *m, const rt_config *config, const char *folder,
                          int finished_steps, const char *session) RT_MUST_CHECK;

/* Records a step if it is due. `evaluation` is NULL if there was none. */
rt_status rt_metrics_step(rt_metrics *m, const rt_training_state *state,
                          const rt_step_result *result, const rt_evaluation *evaluation,
                          double seconds) RT_MUST_CHECK;

/* Records the values of theta at this step. */
rt_status rt_metrics_theta(rt_metrics *m, const rt_training_state *state) RT_MUST_CHECK;

/* Returns the name of a file that could not be written, once; else NULL. */
const char *rt_metrics_failure(rt_metrics *m);

void rt_metrics_close(rt_metrics *m);

/* Returns the first step in the metrics.csv of a folder whose evaluation reached the accuracy; NaN
 * if none did. */
double rt_metrics_first_step(const char *folder, double accuracy);

#endif
