#ifndef ROTOR_TRAIN_REPORT_SWEEP_REPORT_H
#define ROTOR_TRAIN_REPORT_SWEEP_REPORT_H

/* report.html of a sweep, made of the runs.csv in its folder and of the metrics of its runs: the
 * table, the curves side by side, and links to the reports of the runs. */

#include "core/status.h"

#include <stdbool.h>

/* Whether the folder is that of a sweep. */
bool rt_is_sweep_folder(const char *folder);

/* Writes report.html in the folder. */
rt_status rt_sweep_report_write(const char *folder, const char *title) RT_MUST_CHECK;

/* Writes the page as `file`, without the list of the runs and its links; the figures are drawn in
 * the folder. With NULL it is as rt_sweep_report_write. */
rt_status rt_sweep_page_write(const char *folder, const char *title,
                              const char *file) RT_MUST_CHECK;

#endif
