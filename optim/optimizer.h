#ifndef ROTOR_OPTIM_OPTIMIZER_H
#define ROTOR_OPTIM_OPTIMIZER_H

#include "core/parameters.h"
#include "core/status.h"

#include <stdbool.h>

/* The update rules, one for each row of RT_OPTIMIZER_RULES, and their settings. With g the gradient
 * after clipping, t = 1, 2, ... the step and wd the weight decay:
 *
 *     adamw   p -= lr wd p;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 *             p -= lr (m / (1 - b1^t)) / (sqrt(v) / sqrt(1 - b2^t) + eps)
 *     adam    g += wd p, then as adamw without its first step
 *     sgd     g += wd p;  m = momentum m + g, m = 0 at first;  p -= lr m,
 *             or p -= lr (g + momentum m) with Nesterov
 *     lion    p -= lr wd p + lr sign(b1 m + (1 - b1) g);  m = b2 m + (1 - b2) g
 *     muon    for the matrices P of layers: M = mu M + (1 - mu) G;  U = mu M + (1 - mu) G;
 *             P -= lr wd P + lr sqrt(max(1, rows / columns)) NS(U), NS five Newton-Schulz
 *             steps towards the nearest orthogonal matrix; everything else as adamw
 *
 * (Loshchilov and Hutter 2019, Kingma and Ba 2015, Chen et al. 2023, Jordan et al. 2024;
 * conventions of PyTorch.)
 */

/* Each constant with the name of its rule. */
#define RT_OPTIMIZER_RULES(X)                                                                      \
    X(RT_OPTIMIZER_ADAMW, rt_rule_adamw)                                                           \
    X(RT_OPTIMIZER_ADAM, rt_rule_adam)                                                             \
    X(RT_OPTIMIZER_SGD, rt_rule_sgd)                                                               \
    X(RT_OPTIMIZER_LION, rt_rule_lion)                                                             \
    X(RT_OPTIMIZER_MUON, rt_rule_muon)
#define RT_RULE_CONSTANT(constant, rule) constant,
typedef enum rt_optimizer_rule { RT_OPTIMIZER_RULES(RT_RULE_CONSTANT) } rt_optimizer_rule;
#undef RT_RULE_CONSTANT

typedef struct rt_optimizer_settings {
    rt_optimizer_rule rule;
    double beta1, beta2; /* 0 <= beta < 1 */
    double eps;          /* above 0 */
    double momentum;     /* 0 <= momentum < 1 */
    bool nesterov;
    double muon_momentum;  /* 0 <= mu < 1 */
    double weight_decay;   /* of weights; norms, biases and theta do not decay, tables of
                              positions do */
    double clip_norm;      /* maximum norm of the whole gradient; 0 = off */
    double theta_lr_scale; /* learning rate of theta, as a multiple of lr */
} rt_optimizer_settings;

/* Returns the defaults of the program without a configuration; Nesterov is off. */
rt_optimizer_settings rt_optimizer_defaults(rt_optimizer_rule rule);

/* Returns the word of a rule; NULL past the last. */
const char *rt_optimizer_rule_word(int rule);

/* Learning rates of a step. */
typedef struct rt_rates {
    double lr;
    double matrix_lr; /* of parameters updated as a matrix */
} rt_rates;

/* An optimizer for programs with their own training loop: one thread, over all parameters. */
typedef struct rt_optimizer rt_optimizer;

/* Creates an optimizer; the parameters are borrowed. RT_ARGUMENT names a setting out of
 * its range. */
rt_status rt_optimizer_new(rt_optimizer **optimizer_new, rt_parameters *parameters,
                           const rt_optimizer_settings *settings) RT_MUST_CHECK;
void rt_optimizer_free(rt_optimizer *optimizer);

/* Updates the parameters with their gradients, which are unchanged: call rt_parameters_zero_grads
 * before the next backward. Parameters whose tensor wants no gradient are skipped, also in the
 * norm. *norm receives the norm of the gradient before clipping; it may be NULL. RT_NONFINITE,
 * without a change, names a parameter whose gradient is not finite. RT_ARGUMENT if a learning rate
 * is negative or not finite. rt_optimizer_step_by takes a separate learning rate for the matrices
 * of muon. */
rt_status rt_optimizer_step(rt_optimizer *optimizer, double learning_rate,
                            double *norm) RT_MUST_CHECK;
rt_status rt_optimizer_step_by(rt_optimizer *optimizer, rt_rates rates, double *norm) RT_MUST_CHECK;

#endif
