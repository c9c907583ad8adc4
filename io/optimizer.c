/* The optimiser for those who train by hand: one thread, over all parameters. */

#include "train/step/optimizer.h"

#include "core/memory.h"
#include "io/rotor-io.h"

#include <math.h>

struct rt_optimizer {
    rt_parameters *parameters;
    rt_optimizer_settings settings;
    real *first_moment; /* laid out as the parameters */
    real *second_moment;
    int64_t step; /* taken so far */
};

rt_optimizer_settings rt_optimizer_defaults(rt_optimizer_rule rule)
{
    return (rt_optimizer_settings){.rule = rule,
                                   .beta1 = 0.9,
                                   .beta2 = 0.999,
                                   .eps = 1e-8,
                                   .momentum = 0.9,
                                   .weight_decay = 0.01,
                                   .clip_norm = 1,
                                   .theta_lr_scale = 1};
}

/* ---- life ---- */

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
    const bool sgd = s->rule == RT_OPTIMIZER_SGD;
    const struct {
        bool good;
        const char *wish;
        double got;
    } rules[] = {{s->rule <= RT_OPTIMIZER_SGD, "rule must be one of rt_optimizer_rule", s->rule},
                 {sgd || is_share(s->beta1), "beta1 must be at least 0 and below 1", s->beta1},
                 {sgd || is_share(s->beta2), "beta2 must be at least 0 and below 1", s->beta2},
                 {sgd || (s->eps > 0 && isfinite(s->eps)), "eps must be above 0", s->eps},
                 {!sgd || is_share(s->momentum), "momentum must be at least 0 and below 1",
                  s->momentum},
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
    rt_status status = check_settings(settings);
    if (status.code)
        return status;
    rt_optimizer *o = rt_alloc(1, sizeof *o);
    if (!o)
        return rt_out_of_memory("an optimiser");
    *o = (rt_optimizer){.parameters = parameters,
                        .settings = *settings,
                        .first_moment = rt_alloc(parameters->block_size, sizeof(real)),
                        .second_moment = rt_alloc(parameters->block_size, sizeof(real))};
    if (!o->first_moment || !o->second_moment) {
        rt_optimizer_free(o);
        return rt_out_of_memory("the optimiser's moments");
    }
    *optimizer_new = o;
    return rt_ok();
}

void rt_optimizer_free(rt_optimizer *o)
{
    if (!o)
        return;
    rt_free(o->first_moment);
    rt_free(o->second_moment);
    rt_free(o);
}

/* ---- a step ---- */

static size_t stretch_at(size_t start, size_t size)
{
    return size - start < RT_STRETCH ? size - start : RT_STRETCH;
}

/* The norm is the same number as the program's: it adds up in the same order. */
static rt_status measure(const rt_parameters *p, double *norm)
{
    double squares = 0;
    for (int i = 0; i < p->count; i++) {
        const rt_tensor *t = &p->list[i]->tensor;
        const size_t size = t->wants_grad ? rt_size(t) : 0;
        for (size_t start = 0; start < size; start += RT_STRETCH)
            squares += rt_sum_of_squares(t->grad + start, stretch_at(start, size));
        if (!isfinite(squares))
            return rt_error(RT_NONFINITE, "the gradient of %s is not finite, or too large",
                            p->list[i]->name);
    }
    *norm = sqrt(squares);
    return rt_ok();
}

static rt_update update_of(const rt_optimizer *o, double lr, double norm)
{
    const rt_optimizer_settings *s = &o->settings;
    return (rt_update){.rule = s->rule == RT_OPTIMIZER_SGD    ? RT_UPDATE_SGD
                               : s->rule == RT_OPTIMIZER_ADAM ? RT_UPDATE_ADAM
                                                              : RT_UPDATE_ADAMW,
                       .lr = lr,
                       .beta1 = s->beta1,
                       .beta2 = s->beta2,
                       .eps = s->eps,
                       .momentum = s->momentum,
                       .nesterov = s->nesterov,
                       .decay = s->weight_decay,
                       .gradient_scale = rt_clip_factor(norm, s->clip_norm),
                       .step = o->step + 1};
}

rt_status rt_optimizer_step(rt_optimizer *o, double learning_rate, double *norm)
{
    const rt_parameters *p = o->parameters;
    double measured = 0;
    if (!is_amount(learning_rate))
        return rt_error(RT_ARGUMENT, "a learning rate must be at least 0; got %g", learning_rate);
    rt_status status = measure(p, &measured);
    if (status.code)
        return status;
    const rt_update update = update_of(o, learning_rate, measured);
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        const rt_tensor *t = &parameter->tensor;
        const size_t size = t->wants_grad ? rt_size(t) : 0;
        const rt_update u = rt_update_of_role(update, parameter->role, o->settings.theta_lr_scale);
        for (size_t start = 0; start < size; start += RT_STRETCH)
            rt_update_apply(&u, t->data + start, o->first_moment + parameter->offset + start,
                            o->second_moment + parameter->offset + start, t->grad + start,
                            stretch_at(start, size));
    }
    o->step++;
    if (norm)
        *norm = measured;
    return rt_ok();
}
