#ifndef ROTOR_TRAIN_RUN_THETA_FILE_H
#define ROTOR_TRAIN_RUN_THETA_FILE_H

/* Theta as a CSV file has it: theta.csv and theta_final.csv of a run, or one that was
 * written by hand. */

#include "models/transformer.h"

/* Reads columns layer, head, i and theta, found by their headings, into `theta`, laid out as
 * rt_transformer_theta, in radians a position; `all` in layer or head stands for each. With a
 * column `step`, the rows of the last step. Every theta of the model has to be there, once; lines
 * with another number of cells than the heading are passed over. RT_CONFIG if the model learns no
 * theta, and if the file cannot be read or its rows hold anything else. */
rt_status rt_theta_file_read(const char *path, const rt_transformer *model,
                             double *theta) RT_MUST_CHECK;

/* The same for the theta that rotates in the end, laid out as rt_transformer_rotation, of a model
 * with rope whose theta is learned or fixed: any finite number. Heads are those of keys; where the
 * model learns one theta for layers or heads, `all` stands for them; one whose theta is fixed can
 * have another in each. */
rt_status rt_theta_file_read_rotation(const char *path, const rt_transformer *model,
                                      double *theta) RT_MUST_CHECK;

#endif
