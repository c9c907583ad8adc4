#ifndef ROTOR_OPTIM_RULES_H
#define ROTOR_OPTIM_RULES_H

/* The update rules. Each is a row of RT_OPTIMIZER_RULES and a file of optim/ that defines what the
 * row names; trainer, checkpoint, configuration and rt_optimizer walk the rows.
 * With g the gradient after clipping, t = 1, 2, ... the step and wd the weight decay:
 *
 *     adamw   p -= lr wd p;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 *             p -= lr (m / (1 - b1^t)) / (sqrt(v) / sqrt(1 - b2^t) + eps)
 *     adam    g += wd p, then as adamw without its first step
 *     sgd     g += wd p;  m = momentum m + g, m = 0 at first;  p -= lr m,
 *             or p -= lr (g + momentum m) with Nesterov
 *     lion    p -= lr wd p + lr sign(b1 m + (1 - b1) g);  m = b2 m + (1 - b2) g
 *     muon    of the matrices P of layers: M = mu M + (1 - mu) G;  U = mu M + (1 - mu) G;
 *             P -= lr wd P + lr sqrt(max(1, rows / columns)) NS(U), NS five steps of Newton and
 *             Schulz towards the nearest orthogonal matrix; everything else as adamw
 *
 * (Loshchilov and Hutter 2019, Kingma and Ba 2015, Chen et al. 2023, Jordan et al. 2024; in the
 * conventions of PyTorch.)
 */

#include "core/parameters.h"
#include "core/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Constant, and the name of its rule: rt_rule_adamw. */
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
    double weight_decay;   /* of weights: norms, biases and theta do not decay */
    double clip_norm;      /* the largest norm of the whole gradient; 0 = off */
    double theta_lr_scale; /* the learning rate of theta, as a multiple */
} rt_optimizer_settings;

/* The settings that not every rule has, by their rows. */
enum {
    RT_USES_BETAS = 1,
    RT_USES_EPS = 2,
    RT_USES_MOMENTUM = 4, /* and nesterov */
    RT_USES_MUON_MOMENTUM = 8
};

/* What a step does with one parameter. */
typedef struct rt_update {
    const rt_optimizer_settings *settings;
    double lr;
    double decay;
    double gradient_scale; /* multiplies the gradient first: clipping */
    int64_t step;          /* t */
} rt_update;

/* Numbers that a rule keeps between steps, one for each number of a parameter; 0 at first. */
typedef struct rt_update_state {
    const char *name; /* of their group in checkpoints */
    bool is_square;   /* never below 0 */
} rt_update_state;

enum { RT_MOST_STATES = 2 };

typedef struct rt_update_rule {
    const char *word; /* of optimizer.kind */
    unsigned uses;    /* RT_USES_... */
    double beta2;     /* its default; 0: 0.999 */
    rt_update_state states[RT_MOST_STATES];
    int state_count;
    /* What of a step is about lr at most, by the name that reports give it; or NULL. */
    const char *bounded_by;
    /* Moves numbers that follow each other in one parameter, and their states. */
    void (*stretch)(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                    const real *gradient, size_t size);
    /* The same of a matrix of a layer as a whole (see RT_ROLE_MATRIX), which has the first
     * matrix_states of the states, in `room` for matrix_room numbers. NULL: by stretches, too. */
    void (*matrix)(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                   const real *gradient, int rows, int columns, real *room);
    size_t (*matrix_room)(int rows, int columns);
    int matrix_states;
} rt_update_rule;

/* What the program has without a configuration; Nesterov is off. */
rt_optimizer_settings rt_optimizer_defaults(rt_optimizer_rule rule);

const rt_update_rule *rt_update_rule_of(const rt_optimizer_settings *settings);

/* The word of a rule; NULL past the last. */
const char *rt_optimizer_rule_word(int rule);

/* Whether the rule moves the parameter as a matrix, and how many of its states the parameter has.
 */
bool rt_moves_as_matrix(const rt_update_rule *rule, const rt_parameter *parameter);
int rt_states_of(const rt_update_rule *rule, const rt_parameter *parameter);

/* The learning rates of a step. */
typedef struct rt_rates {
    double lr;
    double matrix_lr; /* of what moves as a matrix */
} rt_rates;

/* The update of a parameter: only weights decay, and theta has a learning rate of its own. `step`
 * counts from 1. */
rt_update rt_update_of(const rt_optimizer_settings *settings, const rt_parameter *parameter,
                       rt_rates rates, double gradient_scale, int64_t step);

/* A part of one parameter, which is moved in one job. A rule that moves matrices has each whole;
 * else a stretch has RT_STRETCH numbers, and what is left at a parameter's end. The norm of a
 * gradient is the root of the sum of squares over the stretches of all parameters, in their
 * order. */
enum { RT_STRETCH = 1 << 14 };
typedef struct rt_stretch {
    size_t offset; /* in the block of parameters */
    size_t size;
    int parameter;
} rt_stretch;

/* How many stretches a parameter has, and the first and the following ones: `number` counts from 0.
 */
size_t rt_stretch_count(const rt_update_rule *rule, const rt_parameter *parameter);
rt_stretch rt_stretch_at(const rt_update_rule *rule, const rt_parameters *p, int parameter,
                         size_t number);

/* Moves a stretch. `states` begin with the stretch, `room` as for a matrix. */
void rt_update_stretch(const rt_update *u, const rt_parameter *parameter, const rt_stretch *part,
                       real *value, real *const states[RT_MOST_STATES], const real *gradient,
                       real *room);

/* The most numbers of room that a parameter of the list takes; 0 if none moves as a matrix. */
size_t rt_update_room(const rt_update_rule *rule, const rt_parameters *p);

#endif
