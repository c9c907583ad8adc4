/* Stochastic gradient descent with momentum. */

#include "core/row_kernels.h"
#include "optim/rule_rows.h"

static RT_ROW_KERNEL(sgd,
                     (real *restrict p, real *restrict m, const real *restrict gradient,
                      size_t size, real scale, real l2, real momentum, real lr, real look_ahead),
                     (p, m, gradient, size, scale, l2, momentum, lr, look_ahead))
{
    for (size_t i = 0; i < size; i++) {
        real g = gradient[i] * scale + l2 * p[i];
        m[i] = momentum * m[i] + g;
        p[i] -= lr * (look_ahead != 0 ? g + look_ahead * m[i] : m[i]);
    }
}

static void stretch(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                    const real *gradient, size_t size)
{
    const rt_optimizer_settings *s = u->settings;
    sgd(value, states[0], gradient, size, (real)u->gradient_scale, (real)u->decay,
        (real)s->momentum, (real)u->lr, (real)(s->nesterov ? s->momentum : 0));
}

const rt_update_rule rt_rule_sgd = {.word = "sgd",
                                    .uses = RT_USES_MOMENTUM,
                                    .states = {{"first_moment", false}},
                                    .state_count = 1,
                                    .stretch = stretch};
