#ifndef ROTOR_OPTIM_RULES_H
#define ROTOR_OPTIM_RULES_H

/* An update rule. Each row of RT_OPTIMIZER_RULES (optim/optimizer.h) names one, which a file of
 * optim/ defines. Trainer, checkpoint, configuration and rt_optimizer walk the rows. */

#include "optim/optimizer.h"

/* Settings that only some rules have. */
enum {
    RT_USES_BETAS = 1,
    RT_USES_EPS = 2,
    RT_USES_MOMENTUM = 4, /* and nesterov */
    RT_USES_MUON_MOMENTUM = 8
};

/* Update of one parameter in one step. */
typedef struct rt_update {
    const rt_optimizer_settings *settings;
    double lr;
    double decay;
    double gradient_scale; /* factor of the gradient, for clipping */
    int64_t step;          /* t */
    real *scratch;         /* scratch memory for a matrix, rt_update_scratch numbers; or NULL */
} rt_update;

/* State of a rule between steps, one number for each number of a parameter; initially 0. */
typedef struct rt_update_state {
    const char *name; /* of the group in checkpoints */
    bool is_square;   /* never below 0 */
} rt_update_state;

enum { RT_MOST_STATES = 2 };

typedef struct rt_update_rule {
    const char *word; /* of optimizer.kind */
    unsigned uses;    /* RT_USES_... */
    bool coupled; /* weight decay is added to the gradient; read by the kernels of rules.c alone */
    double beta2; /* its default; 0: 0.999 */
    rt_update_state states[RT_MOST_STATES];
    int state_count;
    /* Name in reports of the updates that are at most about lr in size; NULL if there are none. */
    const char *bounded_by;
    /* Updates a span of numbers within one parameter, and their states. */
    void (*span)(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                 const real *gradient, size_t size);
    /* Updates a matrix of a layer as a whole (see RT_ROLE_MATRIX), with the first matrix_states of
     * the states and matrix_scratch numbers of scratch memory. NULL: spans update matrices. */
    void (*matrix)(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                   const real *gradient, int rows, int columns);
    size_t (*matrix_scratch)(int rows, int columns);
    int matrix_states;
} rt_update_rule;

#define RT_RULE_DECLARATION(constant, rule) extern const rt_update_rule rule;
RT_OPTIMIZER_RULES(RT_RULE_DECLARATION)

/* Returns the rule of the settings. */
const rt_update_rule *rt_update_rule_of(const rt_optimizer_settings *settings);

/* Returns whether the rule updates the parameter as a matrix, and its number of states. */
bool rt_moves_as_matrix(const rt_update_rule *rule, const rt_parameter *parameter);
int rt_states_of(const rt_update_rule *rule, const rt_parameter *parameter);

/* Returns the update of a parameter: only weights decay, and theta has its own learning rate.
 * `step` counts from 1; parameter->since is subtracted. */
rt_update rt_update_of(const rt_optimizer_settings *settings, const rt_parameter *parameter,
                       rt_rates rates, double gradient_scale, int64_t step);

/* Part of one parameter, updated in one job: a whole matrix if the rule updates matrices, else
 * RT_SPAN numbers, or fewer at the end of a parameter. The norm of a gradient is the root of the
 * sum of squares over the spans of all parameters, in their order. */
enum { RT_SPAN = 1 << 14 };
typedef struct rt_span {
    size_t offset; /* in the block of parameters */
    size_t size;
    int parameter;
} rt_span;

/* Returns the number of spans of a parameter, and span `number`, from 0 on. */
size_t rt_span_count(const rt_update_rule *rule, const rt_parameter *parameter);
rt_span rt_span_at(const rt_update_rule *rule, const rt_parameters *p, int parameter,
                   size_t number);

/* Updates a span. `value`, `states` and `gradient` begin at the span. */
void rt_update_span(const rt_update *u, const rt_parameter *parameter, const rt_span *span,
                    real *value, real *const states[RT_MOST_STATES], const real *gradient);

/* Returns the maximum scratch memory, in numbers, for a parameter of the list; 0 if none is updated
 * as a matrix. */
size_t rt_update_scratch(const rt_update_rule *rule, const rt_parameters *p);

/* Returns the sum of squares of one span. */
double rt_sum_of_squares(const real *x, size_t size);

/* Returns the factor that limits a gradient of that norm to max_norm; 1 if max_norm is 0. */
double rt_clip_factor(double norm, double max_norm);

#endif
