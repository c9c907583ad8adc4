#ifndef ROTOR_TRAIN_STEP_THETA_RESET_H
#define ROTOR_TRAIN_STEP_THETA_RESET_H

/* Whether a trained model depends on its learned theta: its loss and its accuracy once theta is
 * reset to another value.
 *
 * The model *depends on* its theta if after the reset the accuracy is lower by more than 0.01, or
 * the loss exceeds 1.5 times the model's own plus 0.01; for a model whose accuracy is below 0.9,
 * its own loss plus 0.01. A loss that is not finite exceeds everything. */

#include "train/step/trainer.h"

typedef struct rt_theta_reset {
    double loss, accuracy;             /* of the model as it is */
    double reset_loss, reset_accuracy; /* with another theta */
} rt_theta_reset;

/* Whether the model depends on its own theta. */
bool rt_theta_reset_hurts(const rt_theta_reset *reset);

/* As rt_trainer_evaluate, with `theta`, laid out as rt_transformer_theta, in the place of the
 * learned one, which the model has to the bit afterwards. */
rt_status rt_theta_evaluate(rt_trainer *trainer, int length, int batches, const double *theta,
                            rt_evaluation *result) RT_MUST_CHECK;

/* How far ln |theta_i| of one pair can go, all others as they are, before that hurts the model: the
 * largest step that does not and before which none was found that does, up to RT_THETA_FARTHEST.
 * Steps are tried outwards, since far away a rotation can look like a near one again (positions are
 * whole numbers); the range that holds the limit is then halved on a logarithmic scale. At most
 * RT_THETA_EVALUATIONS evaluations on one batch; 0 if no step did. */
#define RT_THETA_FARTHEST 3.0
enum { RT_THETA_EVALUATIONS = 8 }; /* in one direction */

typedef struct rt_theta_tolerance {
    double down, up; /* towards smaller and larger |theta| */
} rt_theta_tolerance;

/* Of every theta, laid out as rt_transformer_theta. Between two evaluations `stop` is asked, unless
 * it is NULL, whether to end; then they are not all there, and *stopped is set. */
rt_status rt_theta_tolerances(rt_trainer *trainer, int length, rt_theta_tolerance *tolerances,
                              int (*stop)(void), bool *stopped) RT_MUST_CHECK;

#endif
