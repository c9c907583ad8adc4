/* Adam, whose weight decay is taken from the parameter (AdamW) or added to the gradient. */

#include "optim/adamw.h"
#include "core/row_kernels.h"

#include <math.h>

static RT_ROW_KERNEL(adam,
                     (real *restrict p, real *restrict m, real *restrict v,
                      const real *restrict gradient, size_t size, real scale, real l2, real shrink,
                      real beta1, real beta2, real rate, real root, real eps),
                     (p, m, v, gradient, size, scale, l2, shrink, beta1, beta2, rate, root, eps))
{
    for (size_t i = 0; i < size; i++) {
        real g = gradient[i] * scale + l2 * p[i];
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        p[i] = p[i] * shrink - rate * m[i] / ((real)sqrt(v[i]) * root + eps);
    }
}

static void move(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                 const real *gradient, size_t size, double l2, double shrink)
{
    const rt_optimizer_settings *s = u->settings;
    const double t = (double)u->step;
    adam(value, states[0], states[1], gradient, size, (real)u->gradient_scale, (real)l2,
         (real)shrink, (real)s->beta1, (real)s->beta2, (real)(u->lr / (1 - pow(s->beta1, t))),
         (real)(1 / sqrt(1 - pow(s->beta2, t))), (real)s->eps);
}

void rt_adamw_stretch(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                      const real *gradient, size_t size)
{
    move(u, value, states, gradient, size, 0, 1 - u->lr * u->decay);
}

static void adam_stretch(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                         const real *gradient, size_t size)
{
    move(u, value, states, gradient, size, u->decay, 1);
}

const rt_update_rule rt_rule_adamw = {.word = "adamw",
                                      .uses = RT_USES_BETAS | RT_USES_EPS,
                                      .states = RT_ADAM_STATES,
                                      .state_count = 2,
                                      .bounded_by = "Adam",
                                      .stretch = rt_adamw_stretch};

const rt_update_rule rt_rule_adam = {.word = "adam",
                                     .uses = RT_USES_BETAS | RT_USES_EPS,
                                     .states = RT_ADAM_STATES,
                                     .state_count = 2,
                                     .bounded_by = "Adam",
                                     .stretch = adam_stretch};
