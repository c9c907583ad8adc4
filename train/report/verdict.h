#ifndef ROTOR_TRAIN_REPORT_VERDICT_H
#define ROTOR_TRAIN_REPORT_VERDICT_H

/* The verdict on a run: lines that the program prints at its end and that the report repeats. */

#include "models/transformer.h"
#include "train/config/config.h"
#include "train/folder/results.h"
#include "train/step/measurements.h"
#include "util/writer.h"

/* Returns the loss above which a model has diverged: twice ln n, the cross entropy of guessing one
 * of its n classes; INFINITY for fewer than two classes. */
double rt_divergence_limit(const rt_transformer_options *model);

/* Adds the line "diverged: ...". */
void rt_divergence_report(rt_writer *w, double loss, double limit);

/* Adds the line "stopped early at step ...": train.patience ran out at that step. */
void rt_early_stop_report(rt_writer *w, int step, const rt_train_options *o);

/* Adds the line "perplexity ..." of a run that predicts tokens of a text, with bits per byte if
 * they are known, and bits per token. */
void rt_perplexity_report(rt_writer *w, const rt_results *results, const rt_config *config);

/* A learned theta: its distance from its initial value theta0. Measures of pair i of
 * a layer (and head):
 *
 *   drift   ln(theta / theta0); none where theta or theta0 <= 0, which only the raw form can reach,
 *           and of two coordinates that are mixed
 *   change  |theta / theta0 - 1|, the relative change; none where theta0 is 0
 *   grid    |drift| / ((2/R) ln base), in distances to the next theta
 *   phase   |theta - theta0| (T - 1) in radians: the largest extra rotation in a sequence; none
 *           where angles are not a position times theta (rt_transformer_turns_by_position)
 *   turns   |theta| (reach - 1) / 2 pi, where reach is the smaller of the window and T; likewise
 *   use     share of the layer's (and head's) query and key weights that the pair rotates
 *   down    how far the final ln |theta| can decrease before the model gets worse, and
 *   up      how far it can increase; if they were measured
 *   used    movement as a share of the sum of lr * theta.lr_scale over the steps, beyond which
 *           Adam rarely moves a parameter; none in layers that were not trained all the while
 *
 * The verdict is about the distance from the geometric series, which is theta0 unless the
 * configuration makes theta start elsewhere; then the change from theta0 is reported as well. */

/* One learned theta; layer and head as in rt_theta_worst. */
typedef struct rt_theta_entry {
    int layer, head, pair;
    double theta;
    double start;     /* theta0 */
    double geometric; /* value in the geometric series; if mixed, theta0 */
    double length; /* if mixed, of the two theta0 of the pair, which its change is relative to; else
                      0 */
    double use;    /* rt_transformer_theta_use */
} rt_theta_entry;

/* The number of a layer or head as a text; "all" if all of them share a theta. */
#define RT_THETA_PLACE(number) ((number) < 0 ? "all" : RT_PRINTED(16, "%d", number))

/* Lists every learned theta in the order of rt_transformer_theta; none if theta is fixed. The
 * caller frees the list (rt_free). */
rt_status rt_theta_list(rt_theta_entry **list_new, int *count,
                        const rt_transformer *model) RT_MUST_CHECK;

/* Measures of a theta beside theta0 or its geometric value; NaN if not defined. */
typedef struct rt_theta_measures {
    double drift, change, grid, phase, turns;
    double moved; /* change of the parameter itself, theta or ln theta */
} rt_theta_measures;

rt_theta_measures rt_theta_measure(const rt_config *config, const rt_theta_entry *entry,
                                   double from);

typedef struct rt_theta_worst {
    double value;
    int layer; /* -1: all layers share it */
    int head;  /* -1: all heads share it */
    int pair;
    double grid;
    double theta;
} rt_theta_worst;

typedef struct rt_theta_verdict {
    rt_theta_worst change;     /* relative change from base^(-2i/R) */
    rt_theta_worst phase;      /* from base^(-2i/R) */
    rt_theta_worst from_start; /* relative change from theta0 */
    double mean_change;        /* mean relative change from base^(-2i/R) */
    double cosine;             /* between all ln theta and all ln base^(-2i/R); NaN below 0 */
    bool elsewhere;            /* theta0 is not base^(-2i/R) */
    bool near;
} rt_theta_verdict;

rt_status rt_theta_judge(rt_theta_verdict *verdict, const rt_transformer *model,
                         const rt_config *config) RT_MUST_CHECK;

/* Returns whether a theta has moved, in this run or in the one that it comes from, from where the
 * configuration puts it; by its relative changes from theta0 and from base^(-2i/R). In a branch
 * with another scope or form, theta0 is what the trunk has learned. Of a theta0 that is drawn or
 * scaled, or from a file, only the change from it tells. */
bool rt_theta_has_moved(const rt_config *config, double from_start, double from_geometric);

/* Adds ", max phase drift ..." to a line, unless there is no phase. */
void rt_theta_report_phase(rt_writer *w, double phase, const rt_config *config);

/* Adds the verdict as a line, after a line on the start if theta started elsewhere. */
void rt_theta_report_verdict(rt_writer *w, const rt_theta_verdict *v, const rt_config *config);

/* Resets of a learned theta: to the initial theta, and to base^(-2i/R). */
enum { RT_RESETS = 2 };
typedef struct rt_reset_names {
    const char *place, *loss, *accuracy; /* word of the line; names of the results */
} rt_reset_names;
extern const rt_reset_names rt_theta_resets[RT_RESETS];

/* Adds the line on a reset to a place. */
void rt_theta_report_reset(rt_writer *w, const char *place, const rt_theta_reset *reset);

/* Columns of theta_final.csv that are there if the tolerances were measured. */
#define RT_TOLERANCE_DOWN "tolerance_down"
#define RT_TOLERANCE_UP   "tolerance_up"

#endif
