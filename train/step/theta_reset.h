#ifndef ROTOR_TRAIN_STEP_THETA_RESET_H
#define ROTOR_TRAIN_STEP_THETA_RESET_H

/* The loss and the accuracy of a trained model with another theta.
 *
 * A model *depends on* its theta if after a reset of theta the accuracy is lower by more than 0.01,
 * or the loss exceeds 1.5 times the model's own plus 0.01; for a model whose accuracy is below 0.9,
 * its own loss plus 0.01. A loss that is not finite exceeds everything. */

#include "train/step/trainer.h"

typedef struct rt_theta_reset {
    double loss, accuracy;             /* of the model as it is */
    double reset_loss, reset_accuracy; /* with another theta */
} rt_theta_reset;

/* Returns whether the model depends on its own theta. */
bool rt_theta_reset_hurts(const rt_theta_reset *reset);

/* Evaluates, as rt_trainer_evaluate_batches, with another theta, and restores the model to the bit:
 * with `theta`, laid out as rt_transformer_theta, in the place of the learned theta; if that is
 * NULL, with the effective theta of `change` (NULL: the model's own), for a single process. If
 * --trap ends the evaluation, the loss is NaN and there are no labels. */
rt_status rt_theta_evaluate(rt_trainer *trainer, int length, int batches, const double *theta,
                            const rt_theta_change *change, rt_evaluation *result) RT_MUST_CHECK;

#define RT_THETA_FARTHEST 3.0
enum { RT_THETA_EVALUATIONS = 8 }; /* in one direction */

/* Tolerances of one theta: how far ln |theta_i| can move, all others unchanged, before that hurts
 * the model. It is the largest step, up to RT_THETA_FARTHEST, that does not hurt and below which no
 * step was found that does; 0 if every step hurts. Steps are tried outwards, since positions are
 * whole numbers and a far rotation can look like a near one again; the range that holds the limit
 * is then halved on a logarithmic scale. */
typedef struct rt_theta_tolerance {
    double down, up; /* towards smaller and larger |theta| */
} rt_theta_tolerance;

/* Measures the tolerances of every theta, laid out as rt_transformer_theta, by at most
 * RT_THETA_EVALUATIONS evaluations of one batch for each direction. Between two evaluations `stop`,
 * unless it is NULL, may request an end; the result is then incomplete, and *stopped is set. */
rt_status rt_theta_tolerances(rt_trainer *trainer, int length, rt_theta_tolerance *tolerances,
                              int (*stop)(void), bool *stopped) RT_MUST_CHECK;

#endif
