#ifndef ROTOR_TRAIN_RUN_OTHER_THETA_H
#define ROTOR_TRAIN_RUN_OTHER_THETA_H

/* Theta from elsewhere: of a CSV file, for theta.init_from, and of --theta for an evaluation. */

#include "models/transformer.h"
#include "text/writer.h"

/* Reads columns layer, head, i and theta of a CSV file, such as theta.csv and theta_final.csv of a
 * run, into `theta`, laid out as rt_transformer_theta, in radians per position. `all` in layer or
 * head stands for each. If there is a column `step`, the rows of the last step are read. Lines with
 * another number of cells than the heading are skipped.
 *
 * Returns RT_CONFIG if the model learns no theta, if the file cannot be read, and if its rows do
 * not give every theta of the model once. */
rt_status rt_theta_file_read(const char *path, const rt_transformer *model,
                             double *theta) RT_MUST_CHECK;

/* Theta that replaces the effective theta of a model, behind scalings, learned or fixed. */
typedef struct rt_other_theta {
    rt_theta_change change;
    double *numbers; /* of the change; owned */
} rt_other_theta;

/* Parses the value of --theta: start, base, off:K, off:Xturns, scale:X, or the path of a CSV file,
 * of which any finite theta is taken; its heads are those of keys. Turns are those of texts of
 * `length` tokens. Returns RT_CONFIG if the model has no theta, there is no such pair, or the file
 * does not suit. To be freed in any case. */
rt_status rt_other_theta_find(rt_other_theta *other, const char *what, const rt_transformer *model,
                              int length) RT_MUST_CHECK;
void rt_other_theta_free(rt_other_theta *other);

/* Sets factors, laid out as rt_transformer_rotation: 0 for pairs from K on, in every layer and
 * head, else 1. */
void rt_theta_switch_off(double *factors, const rt_transformer_options *o, int K);

/* Adds a line on the effective theta of a model in texts of `length` tokens. */
rt_status rt_other_theta_report(rt_writer *w, const char *what, const rt_transformer *model,
                                int length) RT_MUST_CHECK;

#endif
