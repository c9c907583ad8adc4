/* Lion (Chen et al. 2023): every number moves by the learning rate, in the direction of a mean of
 * gradients. */

#include "core/row_kernels.h"
#include "optim/rule_rows.h"

static RT_ROW_KERNEL(lion,
                     (real *restrict p, real *restrict m, const real *restrict gradient,
                      size_t size, real scale, real shrink, real beta1, real beta2, real lr),
                     (p, m, gradient, size, scale, shrink, beta1, beta2, lr))
{
    for (size_t i = 0; i < size; i++) {
        const real g = gradient[i] * scale;
        const real direction = beta1 * m[i] + (1 - beta1) * g;
        const real sign = (real)(direction > 0) - (real)(direction < 0);
        p[i] = p[i] * shrink - lr * sign;
        m[i] = beta2 * m[i] + (1 - beta2) * g;
    }
}

static void stretch(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                    const real *gradient, size_t size)
{
    const rt_optimizer_settings *s = u->settings;
    lion(value, states[0], gradient, size, (real)u->gradient_scale, (real)(1 - u->lr * u->decay),
         (real)s->beta1, (real)s->beta2, (real)u->lr);
}

const rt_update_rule rt_rule_lion = {.word = "lion",
                                     .uses = RT_USES_BETAS,
                                     .beta2 = 0.99,
                                     .states = {{"first_moment", false}},
                                     .state_count = 1,
                                     .bounded_by = "Lion",
                                     .stretch = stretch};
