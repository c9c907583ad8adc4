#ifndef ROTOR_TRAIN_RUN_THETA_H
#define ROTOR_TRAIN_RUN_THETA_H

/* Theta and the pairs that it rotates: tables of a learned theta, which are printed, recorded and
 * read again, evaluations with another theta, and tables of the use of pairs. */

#include "train/report/verdict.h"
#include "train/run/state.h"

/* Adds the table after `steps` steps, within 80 columns: at most 16 pairs, those that moved most,
 * and what the columns mean. `tolerances` are laid out as rt_transformer_theta; NULL if they were
 * not measured. */
rt_status rt_theta_table(rt_writer *w, const rt_transformer *model, const rt_config *config,
                         int steps, const rt_theta_tolerance *tolerances) RT_MUST_CHECK;

/* Returns the table of all pairs as a new CSV text; NULL if the heap is exhausted. Its column
 * change is the relative change from base^(-2i/R); drift, grid and phase are measured from theta0.
 */
char *rt_theta_csv(const rt_transformer *model, const rt_config *config,
                   const rt_theta_tolerance *tolerances);

/* Reads columns layer, head, i and theta of a CSV file, such as theta.csv or theta_final.csv of a
 * run, into `theta`, (layers, heads, pairs) by `shape`, in radians per position, for a model that
 * rotates. `all` as layer or head stands for every one. If there is a column `step`, only rows of
 * its last step are read. Lines with another number of cells than the heading are skipped.
 * `positive` refuses a theta that is not above 0.
 *
 * Returns RT_CONFIG if the file cannot be read, or if its rows do not give every theta exactly
 * once. */
rt_status rt_theta_table_read(const char *path, const rt_transformer_options *model, rt_shape shape,
                              bool positive, double *theta) RT_MUST_CHECK;

/* Overrides the effective theta of the model, after context scaling, learned or fixed, by --theta:
 * start, base, off:K, off:Xturns, scale:X, or the path of a CSV file with any finite theta per
 * layer and key head. Prints a line on the result. Returns RT_CONFIG if the model has no theta or
 * no such pair, or if the file does not fit the model. */
rt_status rt_run_change_theta(rt_run *r) RT_MUST_CHECK;

/* Writes cutoffs.csv: for every K, the loss without the pairs from K on, and the largest number of
 * turns of pair K in any layer and head. Sets *stopped if a signal requested a stop. */
rt_status rt_run_record_cutoffs(rt_run *r, bool *stopped) RT_MUST_CHECK;

/* Prints the table of --usage, --distances or --gradient. Returns RT_CONFIG, with the reason, if
 * the model has no such pairs or weights. */
rt_status rt_run_print_usage(rt_run *r) RT_MUST_CHECK;

/* Writes usage.csv, if the model has rope and softmax attention, and cutoffs.csv, with
 * theta.cutoffs, into the folder of a run that has ended. Sets *stopped if a signal requested a
 * stop between two evaluations. For a single process. */
rt_status rt_run_record_usage(rt_run *r, bool *stopped) RT_MUST_CHECK;

#endif
