#ifndef ROTOR_TRAIN_REPORT_COMMON_KEYS_H
#define ROTOR_TRAIN_REPORT_COMMON_KEYS_H

/* What the runs of a sweep have in common: the keys that are not at their defaults and have one
 * value in all configurations that are there. */

#include "train/report/sweep_runs.h"

/* A table with a heading, for runs whose folders are in FOLDER; nothing if no run has begun. */
void rt_report_common_keys(rt_writer *w, const char *folder, const rt_sweep_runs *runs);

/* Adds a line that names the keys of how long and at which learning rate the runs trained, if they
 * differ though nothing that sets the runs apart says so: a sweep that was given more steps can
 * have some that went on from fewer. */
void rt_sweep_report_schedules(rt_writer *w, const char *folder, const rt_sweep_runs *runs);

#endif
