#ifndef ROTOR_TRAIN_REPORT_REPORT_H
#define ROTOR_TRAIN_REPORT_REPORT_H

/* report.html of a run, of a sweep, and of several runs that are compared: one self-contained file,
 * made from what runs have left in their folders. */

#include "train/config/config.h"
#include "train/step/trainer.h"

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
 * one row. Writes `file`: `output` or, if that is NULL, report.html in the working directory or,
 * if that holds sources (CMakeLists.txt or .git), in a folder beside the first run. Replaces only
 * an earlier report. Returns RT_CONFIG if a folder is not that of a run or the file is not a
 * report; RT_IO also if figures are missing without gnuplot. */
enum { RT_MOST_COMPARED = 256 };
rt_status rt_compare_write(const char *const *folders, int count, const char *output,
                           char file[RT_PATH_SIZE]) RT_MUST_CHECK;

/* Returns whether the user has switched reports off, by setting ROTOR_NO_REPORT. */
bool rt_reports_are_off(void);

#endif
