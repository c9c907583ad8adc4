#include "optim/optimizer.h"

#include "core/memory.h"
#include "optim/rules.h"

#include <math.h>

struct rt_optimizer {
    rt_parameters *parameters;
    rt_optimizer_settings settings;
    const rt_update_rule *rule;
    real *states[RT_MOST_STATES]; /* in the layout of the parameters */
    real *scratch;                /* scratch memory for a matrix */
    int64_t step;                 /* steps taken */
};

static bool is_share(double x)
{
    return x >= 0 && x < 1;
}

static bool is_amount(double x)
{
    return x >= 0 && isfinite(x);
}

static rt_status check_settings(const rt_optimizer_settings *s)
{
    if (!rt_optimizer_rule_word((int)s->rule))
        return rt_error(RT_ARGUMENT, "rule must be one of rt_optimizer_rule; got %d", (int)s->rule);
    const unsigned uses = rt_update_rule_of(s)->uses;
    const struct {
        bool good;
        const char *wish;
        double got;
    } rules[] = {{!(uses & RT_USES_BETAS) || is_share(s->beta1),
                  "beta1 must be at least 0 and below 1", s->beta1},
                 {!(uses & RT_USES_BETAS) || is_share(s->beta2),
                  "beta2 must be at least 0 and below 1", s->beta2},
                 {!(uses & RT_USES_EPS) || (s->eps > 0 && isfinite(s->eps)), "eps must be above 0",
                  s->eps},
                 {!(uses & RT_USES_MOMENTUM) || is_share(s->momentum),
                  "momentum must be at least 0 and below 1", s->momentum},
                 {!(uses & RT_USES_MUON_MOMENTUM) || is_share(s->muon_momentum),
                  "muon_momentum must be at least 0 and below 1", s->muon_momentum},
                 {is_amount(s->weight_decay), "weight_decay must be at least 0", s->weight_decay},
                 {is_amount(s->clip_norm), "clip_norm must be at least 0", s->clip_norm},
                 {is_amount(s->theta_lr_scale), "theta_lr_scale must be at least 0",
                  s->theta_lr_scale}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!rules[i].good)
            return rt_error(RT_ARGUMENT, "%s; got %g", rules[i].wish, rules[i].got);
    return rt_ok();
}

rt_status rt_optimizer_new(rt_optimizer **optimizer_new, rt_parameters *parameters,
                           const rt_optimizer_settings *settings)
{
    *optimizer_new = NULL;
    RT_TRY(check_settings(settings));
    rt_optimizer *o = rt_alloc(1, sizeof *o);
    RT_TRY(rt_allocated(o, "an optimizer"));
    *o = (rt_optimizer){parameters, *settings, .rule = rt_update_rule_of(settings)};
    const size_t scratch = rt_update_scratch(o->rule, parameters);
    bool good = !scratch || (o->scratch = rt_alloc_unset(scratch, sizeof(real)));
    for (int i = 0; i < o->rule->state_count && good; i++)
        good = (o->states[i] = rt_alloc(parameters->block_size, sizeof(real))) != NULL;
    if (good)
        *optimizer_new = o;
    else
        rt_optimizer_free(o);
    return rt_allocated(good, "an optimizer");
}

void rt_optimizer_free(rt_optimizer *o)
{
    if (!o)
        return;
    for (int i = 0; i < RT_MOST_STATES; i++)
        rt_free(o->states[i]);
    rt_free(o->scratch);
    rt_free(o);
}

rt_status rt_optimizer_step_by(rt_optimizer *o, rt_rates rates, double *norm)
{
    const rt_parameters *p = o->parameters;
    double squares = 0;
    if (!is_amount(rates.lr) || !is_amount(rates.matrix_lr))
        return rt_error(RT_ARGUMENT, "a learning rate must be at least 0; got %g",
                        is_amount(rates.lr) ? rates.matrix_lr : rates.lr);
    /* The norm is summed in the same order as by the trainer, and so has the same bits. */
    for (int i = 0; i < p->count; i++) {
        const bool trained = p->list[i]->tensor.wants_grad;
        for (size_t k = 0; trained && k < rt_span_count(o->rule, p->list[i]); k++) {
            const rt_span span = rt_span_at(o->rule, p, i, k);
            squares += rt_sum_of_squares(p->grads + span.offset, span.size);
        }
        if (!isfinite(squares))
            return rt_error(RT_NONFINITE, "the gradient of %s is not finite, or too large",
                            p->list[i]->name);
    }
    const double measured = sqrt(squares);
    const double scale = rt_clip_factor(measured, o->settings.clip_norm);
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        if (!parameter->tensor.wants_grad)
            continue;
        const rt_span whole = {parameter->offset, rt_size(&parameter->tensor), i};
        rt_update u = rt_update_of(&o->settings, parameter, rates, scale, o->step + 1);
        real *states[RT_MOST_STATES] = {0};
        u.scratch = o->scratch;
        for (int k = 0; k < o->rule->state_count; k++)
            states[k] = o->states[k] + whole.offset;
        rt_update_span(&u, parameter, &whole, p->values + whole.offset, states,
                       p->grads + whole.offset);
    }
    o->step++;
    if (norm)
        *norm = measured;
    return rt_ok();
}

rt_status rt_optimizer_step(rt_optimizer *o, double learning_rate, double *norm)
{
    return rt_optimizer_step_by(o, (rt_rates){learning_rate, learning_rate}, norm);
}
