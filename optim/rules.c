#include "optim/rules.h"

#include "core/row_kernels.h"

#include <math.h>

#define ROW(constant, rule) [constant] = &(rule),
static const rt_update_rule *const rules[] = {RT_OPTIMIZER_RULES(ROW)};

const rt_update_rule *rt_update_rule_of(const rt_optimizer_settings *settings)
{
    return rules[settings->rule];
}

rt_optimizer_settings rt_optimizer_defaults(rt_optimizer_rule rule)
{
    return (rt_optimizer_settings){.rule = rule,
                                   .beta1 = 0.9,
                                   .beta2 = rules[rule]->beta2 > 0 ? rules[rule]->beta2 : 0.999,
                                   .eps = 1e-8,
                                   .momentum = 0.9,
                                   .muon_momentum = 0.95,
                                   .weight_decay = 0.01,
                                   .clip_norm = 1,
                                   .theta_lr_scale = 1};
}

const char *rt_optimizer_rule_word(int rule)
{
    return rule >= 0 && rule < (int)(sizeof rules / sizeof *rules) ? rules[rule]->word : NULL;
}

bool rt_moves_as_matrix(const rt_update_rule *rule, const rt_parameter *parameter)
{
    return rule->matrix && parameter->role == RT_ROLE_MATRIX;
}

int rt_states_of(const rt_update_rule *rule, const rt_parameter *parameter)
{
    return rt_moves_as_matrix(rule, parameter) ? rule->matrix_states : rule->state_count;
}

static bool moves_as_theta(const rt_parameter *parameter)
{
    return parameter->role == RT_ROLE_THETA || parameter->role == RT_ROLE_FACTOR;
}

static bool decays(const rt_parameter *parameter)
{
    return parameter->role == RT_ROLE_WEIGHT || parameter->role == RT_ROLE_MATRIX;
}

rt_update rt_update_of(const rt_optimizer_settings *settings, const rt_parameter *parameter,
                       rt_rates rates, double gradient_scale, int64_t step)
{
    const bool is_matrix = rt_moves_as_matrix(rt_update_rule_of(settings), parameter);
    const double scale = moves_as_theta(parameter) ? settings->theta_lr_scale : 1;
    return (rt_update){.settings = settings,
                       .lr = is_matrix ? rates.matrix_lr : rates.lr * scale,
                       .decay = decays(parameter) ? settings->weight_decay : 0,
                       .gradient_scale = gradient_scale,
                       .step = step - parameter->since};
}

size_t rt_span_count(const rt_update_rule *rule, const rt_parameter *parameter)
{
    return rt_moves_as_matrix(rule, parameter)
               ? 1
               : (rt_size(&parameter->tensor) + RT_SPAN - 1) / RT_SPAN;
}

rt_span rt_span_at(const rt_update_rule *rule, const rt_parameters *p, int parameter, size_t number)
{
    const rt_parameter *of = p->list[parameter];
    const size_t start = number * RT_SPAN, left = rt_size(&of->tensor) - start;
    const bool is_last = rt_moves_as_matrix(rule, of) || left < RT_SPAN;
    return (rt_span){of->offset + start, is_last ? left : RT_SPAN, parameter};
}

void rt_update_span(const rt_update *u, const rt_parameter *parameter, const rt_span *part,
                    real *value, real *const states[RT_MOST_STATES], const real *gradient)
{
    const rt_update_rule *rule = rt_update_rule_of(u->settings);
    const rt_shape shape = rt_tensor_shape(&parameter->tensor);
    if (rt_moves_as_matrix(rule, parameter))
        rule->matrix(u, value, states, gradient, shape.axis[0], shape.axis[1]);
    else
        rule->span(u, value, states, gradient, part->size);
}

size_t rt_update_scratch(const rt_update_rule *rule, const rt_parameters *p)
{
    size_t most = 0;
    for (int i = 0; i < p->count; i++) {
        if (!rt_moves_as_matrix(rule, p->list[i]))
            continue;
        const rt_shape shape = rt_tensor_shape(&p->list[i]->tensor);
        const size_t scratch = rule->matrix_scratch(shape.axis[0], shape.axis[1]);
        most = scratch > most ? scratch : most;
    }
    return most;
}

RT_ROW_FUNCTION(double, rt_sum_of_squares, (const real *restrict x, size_t size), (x, size))
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < size; k++)
        sum += (double)x[k] * (double)x[k];
    return sum;
}

/* Adds a small constant to the norm, as PyTorch does, to prevent a division by 0. */
double rt_clip_factor(double norm, double max_norm)
{
    return max_norm > 0 ? fmin(1, max_norm / (norm + 1e-6)) : 1;
}
