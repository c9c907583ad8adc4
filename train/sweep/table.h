#ifndef ROTOR_TRAIN_SWEEP_TABLE_H
#define ROTOR_TRAIN_SWEEP_TABLE_H

/* What the runs of a sweep came to: those that differ in run.seed alone are one row, with the
 * mean and the standard deviation over them. */

#include "train/config/sweep.h"
#include "train/folder/results.h"

#include <stdio.h>

/* What came of one run. */
typedef struct rt_sweep_result {
    bool ended; /* exit_code says how */
    int exit_code;
    rt_results results; /* empty if it left none */
} rt_sweep_result;

/* A table for the reader; `results` has one entry for each run. */
rt_status rt_sweep_print(FILE *to, const rt_sweep *sweep,
                         const rt_sweep_result *results) RT_MUST_CHECK;

/* sweep.csv, a row as in the table, and runs.csv, a row for each run. */
rt_status rt_sweep_record(const char *folder, const rt_sweep *sweep,
                          const rt_sweep_result *results) RT_MUST_CHECK;

#endif
