#ifndef ROTOR_TRAIN_RUN_INSTRUMENTS_H
#define ROTOR_TRAIN_RUN_INSTRUMENTS_H

/* Measurements on the pairs and heads of a trained model: the share of queries and keys in each
 * pair (usage.csv), the loss without the slower pairs (cutoffs.csv), and attention by distance; and
 * theta from elsewhere: of a CSV file, for theta.init_from, and of --theta for an evaluation. */

#include "text/writer.h"
#include "train/step/trainer.h"

/* ---- theta from elsewhere ---- */

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

/* Adds a line on the effective theta of a model in texts of `length` tokens. */
rt_status rt_other_theta_report(rt_writer *w, const char *what, const rt_transformer *model,
                                int length) RT_MUST_CHECK;

/* ---- measurements ---- */

/* Returns a table of the usage of pairs over the evaluation data, which the caller frees. Returns
 * RT_CONFIG, with the reason, if the model has no such pairs. */
rt_status rt_usage_text(char **text_new, const rt_config *config,
                        rt_trainer *trainer) RT_MUST_CHECK;

/* Returns a table of the attention of each head to each distance over the evaluation data: a row
 * for each layer, head and distance. The caller frees it. Returns RT_CONFIG as rt_usage_text does.
 */
rt_status rt_distances_text(char **text_new, const rt_config *config,
                            rt_trainer *trainer) RT_MUST_CHECK;

/* Writes usage.csv, for a model with rope and softmax attention, and cutoffs.csv, with
 * theta.cutoffs, into the folder of a run that has ended. Between two evaluations `stop` is called;
 * if it returns true, *stopped is set. Not for a world of several processes. */
rt_status rt_instruments_record(const rt_config *config, rt_trainer *trainer, const char *folder,
                                int (*stop)(void), bool *stopped) RT_MUST_CHECK;

#endif
