#ifndef ROTOR_TRAIN_RUN_OTHER_THETA_H
#define ROTOR_TRAIN_RUN_OTHER_THETA_H

/* Another theta for an evaluation, as --theta names it: start, base, off:K, off:Xturns, scale:X, or
 * a CSV file. It is the theta that rotates in the end, behind scalings, learned or fixed. */

#include "models/transformer.h"
#include "text/writer.h"

typedef struct rt_other_theta {
    rt_theta_change change;
    double *numbers; /* of the change */
} rt_other_theta;

/* Finds what `what` means for a model; turns are those of texts of `length` tokens. RT_CONFIG if
 * the model has no theta, there is no such pair, or the file does not suit. */
rt_status rt_other_theta_find(rt_other_theta *other, const char *what, const rt_transformer *model,
                              int length) RT_MUST_CHECK;
void rt_other_theta_free(rt_other_theta *other);

/* RT_CONFIG, with the reason, if nothing turns in the model; `asked` is who asks. */
rt_status rt_theta_expect(const char *asked, const rt_transformer_options *o) RT_MUST_CHECK;

/* Pairs from K on have theta 0, in every layer and head: factors, laid out as
 * rt_transformer_rotation. */
void rt_theta_switch_off(double *factors, const rt_transformer_options *o, int K);

/* Adds a line on what a model turns by from now on in texts of `length` tokens. */
rt_status rt_other_theta_report(rt_writer *w, const char *what, const rt_transformer *model,
                                int length) RT_MUST_CHECK;

#endif
