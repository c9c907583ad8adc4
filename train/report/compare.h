#ifndef ROTOR_TRAIN_REPORT_COMPARE_H
#define ROTOR_TRAIN_REPORT_COMPARE_H

/* One page over runs of any folders: what sets them apart in configuration and result, and their
 * curves over each other. Runs that differ in the seed alone are one row. */

#include "core/status.h"

enum { RT_MOST_COMPARED = 256 };

/* The folders are those of runs, or of sweeps, which stand for their runs. Writes `file`, which
 * may be an older report of rotor but nothing else. RT_CONFIG if a folder is none of a run, or the
 * file is somebody else's; RT_IO also if there is no gnuplot, when the page has no figures. */
rt_status rt_compare_write(const char *const *folders, int count, const char *file) RT_MUST_CHECK;

#endif
