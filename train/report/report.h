#ifndef ROTOR_TRAIN_REPORT_REPORT_H
#define ROTOR_TRAIN_REPORT_REPORT_H

/* report.html of a run, of a sweep, and of runs that are compared: one file that needs nothing
 * else. A report is made of what runs have left in their folders. */

#include "models/transformer.h"
#include "models/usage.h"
#include "train/report/sweep_runs.h"
#include "train/step/measurements.h"

/* Writes report.html and its figures into the folder of a run. Without a `trainer` (NULL) the
 * sections that need the model are left out: attention maps, samples, mistakes. A browser reloads
 * the page of a run that is still `watched` every few seconds. After a failure, which is returned,
 * the report is still written without the part that failed. */
rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched) RT_MUST_CHECK;

/* Returns whether the folder is that of a sweep. */
bool rt_is_sweep_folder(const char *folder);

/* Writes report.html of the sweep in the folder: tables, figures, and links to the reports of its
 * runs. */
rt_status rt_sweep_report_write(const char *folder, const char *title) RT_MUST_CHECK;

/* Writes one page over runs of any folders: what sets them apart in configuration and result, and
 * their curves. A folder of a sweep stands for its runs. Runs that differ in the seed alone are one
 * row. Replaces `file` only if it is an older report. Returns RT_CONFIG if a folder is not that of
 * a run or the file is no report; RT_IO also if gnuplot is missing: then the page has no figures.
 */
enum { RT_MOST_COMPARED = 256 };
rt_status rt_compare_write(const char *const *folders, int count, const char *file) RT_MUST_CHECK;

/* Removes the figures of a run or a sweep, the files that rotor and gnuplot have written. */
void rt_figures_clear(const char *folder);

/* Returns whether the user has switched reports off: ROTOR_NO_REPORT is set. */
bool rt_reports_are_off(void);

/* ---- lines that train prints as well ---- */

/* Returns the loss above which a model has diverged: twice ln n, the cross entropy of guessing one
 * of its n classes. Infinite for fewer than two classes. */
double rt_divergence_limit(const rt_transformer_options *model);

/* Adds the line "diverged: ...". */
void rt_divergence_report(rt_writer *w, double loss, double limit);

/* Adds the line "stopped early at step ...": train.patience ran out at that step. */
void rt_early_stop_report(rt_writer *w, int step, const rt_train_options *o);

/* Adds a warning that names keys of the schedule (steps, learning rate) in which the runs of a
 * sweep differ though the sweep does not set them. This happens when a sweep is given more steps
 * and some runs continue from fewer. */
void rt_sweep_report_schedules(rt_writer *w, const rt_sweep_runs *runs);

/* ---- theta ---- */

/* The report on a learned theta: its distance from its initial value theta0. For pair i of a layer
 * (and head):
 *
 *   drift   |theta / theta0 - 1|; none where theta0 is 0
 *   grid    |ln(theta / theta0)| / ((2/R) ln base), in distances to the next theta; none where
 *           theta or theta0 <= 0, which only the raw form comes to
 *   phase   |theta - theta0| (T - 1) in radians: the largest extra rotation in a sequence
 *   turns   |theta| (reach - 1) / 2 pi, reach the smaller of the window and T
 *   use     share of the layer's (and head's) query and key weights that the pair rotates
 *   down    how far the final ln |theta| can decrease before the model gets worse, and
 *   up      how far it can increase; where they were measured
 *   used    movement as a share of the farthest that Adam could have moved, the sum of
 *           lr * theta.lr_scale over the steps
 *
 * The verdict asks how far theta is from base^(-2i/R), which is theta0 unless the
 * configuration made it start elsewhere; the drift from theta0 is then reported as well.
 */

typedef struct rt_theta_worst {
    double value;
    int layer; /* -1: one theta for all layers */
    int head;  /* -1: one for all heads */
    int pair;
    double grid;
    double theta;
} rt_theta_worst;

typedef struct rt_theta_verdict {
    rt_theta_worst drift;      /* from base^(-2i/R) */
    rt_theta_worst phase;      /* likewise */
    rt_theta_worst from_start; /* drift from theta0 */
    double mean_drift;         /* from base^(-2i/R) */
    double cosine;             /* between all ln theta and all ln base^(-2i/R); NaN after a sign */
    bool elsewhere;            /* theta0 is not base^(-2i/R) */
    bool near;
} rt_theta_verdict;

rt_status rt_theta_judge(rt_theta_verdict *verdict, const rt_transformer *model,
                         const rt_config *config) RT_MUST_CHECK;

/* Adds the verdict as a line, and a line before it if theta started elsewhere. */
void rt_theta_report_verdict(rt_writer *w, const rt_theta_verdict *v, const rt_config *config);

/* Adds the line on a reset to the initial theta or to base^(-2i/R). */
#define RT_THETA_INIT_PLACE "init"
#define RT_THETA_BASE_PLACE "base"
void rt_theta_report_reset(rt_writer *w, const char *place, const rt_theta_reset *reset);

/* Prints the table of all pairs after `steps` steps, and the verdict. `tolerances` are laid out as
 * rt_transformer_theta, or NULL if they were not measured. */
rt_status rt_theta_print(FILE *to, const rt_transformer *model, const rt_config *config, int steps,
                         const rt_theta_tolerance *tolerances) RT_MUST_CHECK;

/* Names of columns of the table below. */
#define RT_TOLERANCE_DOWN "tolerance_down"
#define RT_TOLERANCE_UP   "tolerance_up"

/* Returns the same table as a new CSV text; NULL if memory is short. */
char *rt_theta_csv(const rt_transformer *model, const rt_config *config,
                   const rt_theta_tolerance *tolerances);

/* One learned theta; layer and head as in rt_theta_worst. */
typedef struct rt_theta_entry {
    int layer, head, pair;
    double theta;
    double start;     /* theta0 */
    double geometric; /* base^(-2i/R) */
    double use;       /* rt_transformer_theta_use */
} rt_theta_entry;

/* Lists every learned theta in the order of rt_transformer_theta; none if theta is fixed. The
 * caller frees the list (rt_free). */
rt_status rt_theta_list(rt_theta_entry **list_new, int *count,
                        const rt_transformer *model) RT_MUST_CHECK;

/* ---- the usage of pairs ---- */

/* Returns the usage of pairs as a new CSV text; NULL if memory is short. It has a row for each
 * layer that rope rotates in, query head and pair:
 *
 *   theta, turns          rotation per position in sequences of `length` tokens; full turns over
 *                         the distance that attention reaches
 *   use                   share of the head's query and key weights, |W_q rows| |W_k rows|
 *   query, key            mean length of the queries and keys before their rotation, over the
 *                         mean of the head's pairs
 *   query_mean, key_mean  likewise the length of their mean over the tokens
 *
 * Heads that share their keys have the same key and key_mean. */
char *rt_usage_csv(const rt_transformer *model, const rt_usage *usage, int length);

#endif
