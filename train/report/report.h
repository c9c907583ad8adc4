#ifndef ROTOR_TRAIN_REPORT_REPORT_H
#define ROTOR_TRAIN_REPORT_REPORT_H

/* report.html of a run, of a sweep, and of runs that are compared: one file that needs nothing
 * else. A report is made of what runs have left in their folders. */

#include "train/report/sweep_runs.h"
#include "train/step/trainer.h"

/* Writes report.html and its figures into the folder of a run. Without a `trainer` (NULL) the
 * sections that need the model are left out: attention maps, samples, mistakes. A browser reloads
 * the page of a run that is still `watched` every few seconds. After a failure, which is returned,
 * the report is still written without the part that failed. */
rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched) RT_MUST_CHECK;

/* Returns whether the folder is that of a sweep. */
bool rt_is_sweep_folder(const char *folder);

/* Writes report.html of the sweep in the folder: tables, figures, and links to the reports of its
 * runs. With a `file`, writes the page there instead, without the links; the figures are still
 * drawn in the folder. */
rt_status rt_sweep_report_write(const char *folder, const char *title,
                                const char *file) RT_MUST_CHECK;

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
void rt_sweep_report_schedules(rt_writer *w, const char *folder, const rt_sweep_runs *runs);

#endif
