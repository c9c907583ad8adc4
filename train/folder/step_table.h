#ifndef ROTOR_TRAIN_FOLDER_STEP_TABLE_H
#define ROTOR_TRAIN_FOLDER_STEP_TABLE_H

/* A CSV file whose first column is the step: metrics.csv, theta.csv, timing.csv. A run
 * that goes on from a checkpoint cuts it back to what a run that was never interrupted
 * would have written by then, and appends. */

#include "text/csv.h"

#include <stdio.h>

typedef struct rt_step_table {
    FILE *file;
    const char *name; /* for messages */
    bool failed;      /* a row could not be written */
    int last;         /* step of the older rows, kept or not; -1: there were none */
} rt_step_table;

/* Whether a row stays, given its step. May exchange its cells. */
typedef bool (*rt_row_filter)(rt_csv *row, int step, const void *context);

/* Opens folder/name for appending. What is there is kept only as far as `keep` says (NULL:
 * nothing is kept); a new file begins with the header, and older rows take its order. */
rt_status rt_step_table_open(rt_step_table *table, const char *folder, const char *name,
                             const char *header, rt_row_filter keep,
                             const void *context) RT_MUST_CHECK;

/* Adds to the row under way; a row ends with "\n", and is then handed to the system. */
void rt_step_table_add(rt_step_table *table, const char *format, ...) RT_PRINTF(2, 3);

void rt_step_table_close(rt_step_table *table);

#endif
