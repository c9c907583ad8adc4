#ifndef ROTOR_TRAIN_REPORT_SWEEP_TABLE_H
#define ROTOR_TRAIN_REPORT_SWEEP_TABLE_H

/* The table over the runs of a sweep: a row for those that differ in the seed alone, with the mean
 * and the standard deviation over them. */

#include "train/report/sweep_runs.h"

#include <stdio.h>

/* Whether a row begins with its settings, which are few in a sweep, or with the names of its runs,
 * and its settings are behind the results. */
typedef enum rt_sweep_order { RT_SETTINGS_FIRST, RT_RESULTS_FIRST } rt_sweep_order;

typedef struct rt_sweep_table {
    int columns, rows; /* the first row has the headings */
    int first_setting; /* columns of settings stand together */
    int settings;
    char **cells; /* row after row */
    int *widths;  /* of the columns, in characters */
} rt_sweep_table;

/* The table for a reader, of the settings that differ and of the results that rt_result_view_at
 * names. To be freed in any case. */
rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *runs,
                              rt_sweep_order order) RT_MUST_CHECK;
void rt_sweep_table_free(rt_sweep_table *t);

/* Prints it with its columns one below the other; long cells are cut. */
void rt_sweep_table_print(FILE *to, const rt_sweep_table *t);

/* The same rows with all results: what sweep.csv holds. */
void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *runs);

#endif
