#ifndef ROTOR_TRAIN_RUN_TABLES_H
#define ROTOR_TRAIN_RUN_TABLES_H

/* The tables that a run fills in, and whether one that is resumed finds what it left. */

#include "train/run/state.h"

/* Opens the tables of r->metrics. A run that is resumed warns if the files of data are not those
 * that timing.csv tells of, with size and XXH128 of both, and of tables that lack rows of the steps
 * that are behind it. */
rt_status rt_run_open_tables(rt_run *r) RT_MUST_CHECK;

/* The warning of other data alone, for a run that has nothing left to train and is evaluated. */
void rt_run_compare_data(rt_run *r);

#endif
