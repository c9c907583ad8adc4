#ifndef ROTOR_TRAIN_RUN_METRICS_H
#define ROTOR_TRAIN_RUN_METRICS_H

/* Records of a training: metrics.csv and theta.csv, with the same bytes for the same seed;
 * timing.csv, with the times; and, with run.tensorboard, scalars for TensorBoard. */

#include "train/folder/event_file.h"
#include "train/step/trainer.h"

#include <stdio.h>

/* A CSV file whose first column is the step. When a run continues from a checkpoint, the file is
 * truncated to the rows that an uninterrupted run would have by then, and then appended to. */
typedef struct rt_step_table {
    FILE *file;
    const char *name; /* for messages */
    bool failed;      /* a row could not be written */
    int last;         /* largest step of earlier rows, kept or not; -1: there were none */
} rt_step_table;

typedef struct rt_metrics {
    const rt_config *config;
    rt_step_table metrics, theta, timing;
    rt_event_file events; /* of run.tensorboard */
    const char *session;  /* session cells of the next row of timing.csv; NULL: empty cells */
    long tokens;          /* tokens since the clock was started */
    bool warned;
} rt_metrics;

/* Opens the files in a folder, and keeps earlier rows up to `finished_steps`, which were recorded
 * with the configuration `before`; NULL: the same. `session` are the cells of rt_session_cells, or
 * NULL; they are borrowed until a step has been recorded. For a branch, `trunk` are the folders of
 * the earlier rows of metrics.csv and of theta.csv, or NULL for none; otherwise it is NULL, and the
 * rows are those in `folder`. */
rt_status rt_metrics_open(rt_metrics *m, const rt_config *config, const rt_config *before,
                          const char *folder, int finished_steps, const char *session,
                          const char *const *trunk) RT_MUST_CHECK;

/* Returns RT_IO if metrics.csv of a trunk or, with `theta`, its theta.csv has damaged lines or
 * cannot be read. A missing file is no error. */
rt_status rt_metrics_check_trunk(const char *trunk, bool theta) RT_MUST_CHECK;

/* Adds a row to timing.csv that describes the session, if it has none: the step is saved. */
void rt_metrics_session(rt_metrics *m, int step, double seconds);

/* Adds such a row to the timing.csv of a run that takes no step. */
rt_status rt_metrics_add_session(const char *folder, int step, const char *session) RT_MUST_CHECK;

/* Records a step if it is due. `evaluation` is NULL if the step was not evaluated. */
rt_status rt_metrics_step(rt_metrics *m, const rt_training_state *state,
                          const rt_step_result *result, const rt_evaluation *evaluation,
                          double seconds) RT_MUST_CHECK;

/* Records the current values of theta. */
rt_status rt_metrics_theta(rt_metrics *m, const rt_training_state *state) RT_MUST_CHECK;

/* Returns the name of a file that could not be written, the first time; else NULL. */
const char *rt_metrics_failure(rt_metrics *m);

void rt_metrics_close(rt_metrics *m);

/* Returns the first step in metrics.csv whose evaluation reached the accuracy; NaN if none did. */
double rt_metrics_first_step(const char *folder, double accuracy);

#endif
