#ifndef ROTOR_TRAIN_REPORT_REPORT_H
#define ROTOR_TRAIN_REPORT_REPORT_H

/* report.html of a run, of a sweep, and of several runs that are compared: one self-contained file,
 * made from what runs have left in their folders. */

#include "models/transformer.h"
#include "models/usage.h"
#include "train/report/sweep_runs.h"
#include "train/step/measurements.h"

/* Writes report.html and its figures into the folder of a run. Without a `trainer` (NULL), omits
 * the sections that need the model: attention maps, samples, mistakes. A browser reloads the page
 * of a `watched` run every few seconds. After an error, which is returned, the report is still
 * written without the part that failed. */
rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched) RT_MUST_CHECK;

/* Writes report.html of a sweep into its folder: tables, figures, links to reports of its runs. */
rt_status rt_sweep_report_write(const char *folder, const char *title) RT_MUST_CHECK;

/* Writes one page that compares runs of any folders: their differences in configuration and result,
 * and their curves. A folder of a sweep stands for its runs. Runs that differ only in the seed are
 * one row. Replaces `file` only if it is an earlier report. Returns RT_CONFIG if a folder is not
 * that of a run or the file is not a report; RT_IO also if figures are missing without gnuplot. */
enum { RT_MOST_COMPARED = 256 };
rt_status rt_compare_write(const char *const *folders, int count, const char *file) RT_MUST_CHECK;

/* Removes the figures of a run or sweep: files written by rotor and by gnuplot. */
void rt_figures_clear(const char *folder);

/* Returns whether the user has switched reports off, by setting ROTOR_NO_REPORT. */
bool rt_reports_are_off(void);

/* Returns the loss above which a model has diverged: twice ln n, the cross entropy of guessing one
 * of its n classes; INFINITY for fewer than two classes. */
double rt_divergence_limit(const rt_transformer_options *model);

/* Adds the line "diverged: ...". */
void rt_divergence_report(rt_writer *w, double loss, double limit);

/* Adds the line "stopped early at step ...": train.patience ran out at that step. */
void rt_early_stop_report(rt_writer *w, int step, const rt_train_options *o);

/* Adds a warning that names keys of the schedule (steps, learning rate) in which the runs of a
 * sweep differ although the sweep does not set them. Runs differ so if a sweep is given more steps
 * and some of its runs continue from fewer. */
void rt_sweep_report_schedules(rt_writer *w, const rt_sweep_runs *runs);

/* Report on a learned theta: its distance from its initial value theta0. Measures of pair i of a
 * layer (and head):
 *
 *   drift   |theta / theta0 - 1|; none where theta0 is 0
 *   grid    |ln(theta / theta0)| / ((2/R) ln base), in distances to the next theta; none where
 *           theta or theta0 <= 0, which only the raw form can reach
 *   phase   |theta - theta0| (T - 1) in radians: the largest extra rotation in a sequence
 *   turns   |theta| (reach - 1) / 2 pi, where reach is the smaller of the window and T
 *   use     share of the layer's (and head's) query and key weights that the pair rotates
 *   down    how far the final ln |theta| can decrease before the model gets worse, and
 *   up      how far it can increase; if they were measured
 *   used    movement as a share of the sum of lr * theta.lr_scale over the steps, beyond which
 *           Adam rarely moves a parameter
 *
 * The verdict is about the distance from the geometric series, which is theta0 unless the
 * configuration makes theta start elsewhere; then the drift from theta0 is reported as well. */

typedef struct rt_theta_worst {
    double value;
    int layer; /* -1: all layers share it */
    int head;  /* -1: all heads share it */
    int pair;
    double grid;
    double theta;
} rt_theta_worst;

typedef struct rt_theta_verdict {
    rt_theta_worst drift;      /* from base^(-2i/R) */
    rt_theta_worst phase;      /* phase drift from base^(-2i/R) */
    rt_theta_worst from_start; /* drift from theta0 */
    double mean_drift;         /* mean drift from base^(-2i/R) */
    double cosine;             /* between all ln theta and all ln base^(-2i/R); NaN below 0 */
    bool elsewhere;            /* theta0 is not base^(-2i/R) */
    bool near;
} rt_theta_verdict;

rt_status rt_theta_judge(rt_theta_verdict *verdict, const rt_transformer *model,
                         const rt_config *config) RT_MUST_CHECK;

/* Adds the verdict as a line, after a line on the start if theta started elsewhere. */
void rt_theta_report_verdict(rt_writer *w, const rt_theta_verdict *v, const rt_config *config);

/* Adds the line on a reset to the initial theta or to base^(-2i/R). */
#define RT_THETA_INIT_PLACE "init"
#define RT_THETA_BASE_PLACE "base"
void rt_theta_report_reset(rt_writer *w, const char *place, const rt_theta_reset *reset);

/* Prints the table of all pairs after `steps` steps, and the verdict. `tolerances` are laid out as
 * rt_transformer_theta; NULL if they were not measured. */
rt_status rt_theta_print(FILE *to, const rt_transformer *model, const rt_config *config, int steps,
                         const rt_theta_tolerance *tolerances) RT_MUST_CHECK;

/* Columns of the table in CSV. */
#define RT_TOLERANCE_DOWN "tolerance_down"
#define RT_TOLERANCE_UP   "tolerance_up"

/* Returns the table as a new CSV text; NULL if the heap is exhausted. Its column drift is relative
 * to base^(-2i/R), drift_from_start to theta0. */
char *rt_theta_csv(const rt_transformer *model, const rt_config *config,
                   const rt_theta_tolerance *tolerances);

/* One learned theta; layer and head as in rt_theta_worst. */
typedef struct rt_theta_entry {
    int layer, head, pair;
    double theta;
    double start;     /* theta0 */
    double geometric; /* value in the geometric series; if mixed, theta0 */
    double length; /* if mixed, of the two theta0 of the pair, which drift is relative to; else 0 */
    double use;    /* rt_transformer_theta_use */
} rt_theta_entry;

/* Writes the number of a layer or head, or "all" if all of them share a theta. Returns `text`. */
enum { RT_THETA_PLACE_SIZE = 16 };
const char *rt_theta_place(char text[RT_THETA_PLACE_SIZE], int number);

/* Lists every learned theta in the order of rt_transformer_theta; none if theta is fixed. The
 * caller frees the list (rt_free). */
rt_status rt_theta_list(rt_theta_entry **list_new, int *count,
                        const rt_transformer *model) RT_MUST_CHECK;

/* Returns the usage of pairs as a new CSV text; NULL if the heap is exhausted. It has a row for
 * each layer in which rope rotates, query head and pair:
 *
 *   theta, turns          rotation per position in sequences of `length` tokens; full turns over
 *                         the distance that attention reaches
 *   use                   share of the head's query and key weights, |W_q rows| |W_k rows|
 *   query, key            mean norm of the queries and keys before their rotation, relative to the
 *                         mean of the head's pairs
 *   query_mean, key_mean  norm of their mean over the tokens, relative in the same way
 *
 * Heads that share their keys have the same key and key_mean. */
char *rt_usage_csv(const rt_transformer *model, const rt_usage *usage, int length);

#endif
