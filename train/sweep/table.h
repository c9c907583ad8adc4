#ifndef ROTOR_TRAIN_SWEEP_TABLE_H
#define ROTOR_TRAIN_SWEEP_TABLE_H

/* What the runs of a sweep came to, recorded and printed. */

#include "train/config/sweep.h"
#include "train/folder/results.h"

#include <stdio.h>

/* What came of one run. */
typedef struct rt_sweep_result {
    bool ended; /* exit_code says how */
    int exit_code;
    rt_results results; /* empty if it left none */
} rt_sweep_result;

/* Writes runs.csv, a row for each run, and from it sweep.csv, a row for those that differ in the
 * seed alone, and paired.csv. `results` has one entry for each run. */
rt_status rt_sweep_record(const char *folder, const rt_sweep *sweep,
                          const rt_sweep_result *results) RT_MUST_CHECK;

/* The table of what has been recorded, for the reader, and a line on theta. */
rt_status rt_sweep_print(FILE *to, const char *folder) RT_MUST_CHECK;

#endif
