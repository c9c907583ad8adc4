#ifndef ROTOR_TRAIN_RUN_THETA_TABLE_H
#define ROTOR_TRAIN_RUN_THETA_TABLE_H

/* Tables of theta: CSV files with theta of each layer, head and pair. */

#include "models/transformer.h"

/* Reads columns layer, head, i and theta of a CSV file, such as theta.csv or theta_final.csv of a
 * run, into `theta`, laid out as rt_transformer_theta, in radians per position. `all` as layer or
 * head stands for every one. If there is a column `step`, only rows of its last step are read.
 * Lines with another number of cells than the heading are skipped.
 *
 * Returns RT_CONFIG if the model learns no theta, if the file cannot be read, or if its rows do not
 * give every theta of the model exactly once. */
rt_status rt_theta_file_read(const char *path, const rt_transformer *model,
                             double *theta) RT_MUST_CHECK;

/* Reads a table with the same columns into `theta`, (layers, heads, pairs) by `shape`, for any
 * model that rotates; `positive` refuses a theta that is not above 0. Errors as above. */
rt_status rt_theta_table_read(const char *path, const rt_transformer_options *model, rt_shape shape,
                              bool positive, double *theta) RT_MUST_CHECK;

#endif
