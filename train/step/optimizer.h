#ifndef ROTOR_TRAIN_STEP_OPTIMIZER_H
#define ROTOR_TRAIN_STEP_OPTIMIZER_H

/* The update rules, on a stretch of parameters, and the schedule of the learning rate.
 * With g the gradient after clipping and t = 1, 2, ... the step:
 *
 *     adamw   p -= lr decay p;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 *             p -= lr (m / (1 - b1^t)) / (sqrt(v) / sqrt(1 - b2^t) + eps)
 *     adam    g += decay p, then as adamw without its first step
 *     sgd     g += decay p;  m = g at t = 1, else momentum m + g;  p -= lr m,
 *             or p -= lr (g + momentum m) with Nesterov
 *
 * (Loshchilov and Hutter 2019, Kingma and Ba 2015; the conventions of PyTorch.)
 */

#include "core/real.h"
#include "models/parameters.h"
#include "train/config/optimizer_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_update {
    enum { RT_UPDATE_ADAMW, RT_UPDATE_ADAM, RT_UPDATE_SGD } rule;
    double lr;
    double beta1, beta2, eps;
    double momentum;
    bool nesterov;
    double decay;
    double gradient_scale; /* multiplies the gradient first: clipping */
    int64_t step;          /* t */
} rt_update;

/* second_moment is not used by sgd. */
void rt_update_apply(const rt_update *u, real *value, real *first_moment, real *second_moment,
                     const real *gradient, size_t size);

/* The update of a parameter of that role, of one with the weight decay and the learning rate of
 * weights: only weights decay, and theta has a learning rate of its own, `theta_lr_scale` times
 * that. */
rt_update rt_update_of_role(rt_update u, rt_role role, double theta_lr_scale);

/* Elements of a parameter whose squares are summed together, for the norm of a gradient: the norm
 * is the root of the sum over the stretches of the parameters, in their order. */
enum { RT_STRETCH = 1 << 14 };
double rt_sum_of_squares(const real *x, size_t size);

/* The factor that brings a gradient of that norm to max_norm at most; 1 if max_norm is 0. */
double rt_clip_factor(double norm, double max_norm);

/* The learning rate of step 1, 2, ...; a warm-up rises in equal steps to lr. */
double rt_learning_rate(const rt_optimizer_options *o, int step);

#endif
