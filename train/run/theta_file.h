#ifndef ROTOR_TRAIN_RUN_THETA_FILE_H
#define ROTOR_TRAIN_RUN_THETA_FILE_H

/* A learned theta as a CSV file has it: theta.csv and theta_final.csv of a run, or one that was
 * written by hand. */

#include "models/transformer.h"

/* Reads columns layer, head, i and theta, found by their headings, into `theta`, laid out as
 * rt_transformer_theta, in radians a position; `all` in layer or head stands for each. With a
 * column `step`, the rows of the last step. Every theta of the model has to be there, once; lines
 * with another number of cells than the heading are passed over. RT_CONFIG if the model learns no
 * theta, and if the file cannot be read or its rows hold anything else. */
rt_status rt_theta_file_read(const char *path, const rt_transformer *model,
                             double *theta) RT_MUST_CHECK;

#endif
