#include "train/step/optimizer.h"

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

void rt_update_apply(const rt_update *u, real *value, real *first_moment, real *second_moment,
                     const real *gradient, size_t size)
{
    const real scale = (real)u->gradient_scale;
    if (u->rule == RT_UPDATE_SGD) {
        /* The buffer starts as the first gradient: it is zero then. */
        sgd(value, first_moment, gradient, size, scale, (real)u->decay, (real)u->momentum,
            (real)u->lr, (real)(u->nesterov ? u->momentum : 0));
        return;
    }
    const double t = (double)u->step;
    const double l2 = u->rule == RT_UPDATE_ADAM ? u->decay : 0;
    const double shrink = u->rule == RT_UPDATE_ADAMW ? 1 - u->lr * u->decay : 1;
    adam(value, first_moment, second_moment, gradient, size, scale, (real)l2, (real)shrink,
         (real)u->beta1, (real)u->beta2, (real)(u->lr / (1 - pow(u->beta1, t))),
         (real)(1 / sqrt(1 - pow(u->beta2, t))), (real)u->eps);
}

rt_update rt_update_of_role(rt_update u, rt_role role, double theta_lr_scale)
{
    if (role != RT_ROLE_WEIGHT)
        u.decay = 0;
    if (role == RT_ROLE_THETA)
        u.lr *= theta_lr_scale;
    return u;
}

RT_ROW_FUNCTION(double, rt_sum_of_squares, (const real *restrict x, size_t size), (x, size))
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < size; k++)
        sum += (double)x[k] * (double)x[k];
    return sum;
}

/* The small constant keeps a gradient of norm 0 whole; PyTorch's. */
double rt_clip_factor(double norm, double max_norm)
{
    return max_norm > 0 ? fmin(1, max_norm / (norm + 1e-6)) : 1;
}

/* What the schedule was at that step. */
static rt_past_schedule schedule_at(const rt_optimizer_options *o, int step)
{
    for (int i = 0; i < o->past_count; i++)
        if (step <= o->past[i].until)
            return o->past[i];
    return (rt_past_schedule){step, o->lr, o->schedule, o->min_lr_ratio, o->schedule_steps};
}

double rt_learning_rate(const rt_optimizer_options *o, int step)
{
    const double pi = 3.141592653589793;
    const rt_past_schedule s = schedule_at(o, step);
    const int done = step - 1;
    if (done < o->warmup_steps)
        return s.lr * step / o->warmup_steps;
    if (s.schedule == RT_SCHEDULE_CONSTANT)
        return s.lr;
    const double way = s.schedule_steps - o->warmup_steps;
    const double share = way > 0 ? fmin(1, (done - o->warmup_steps) / way) : 1;
    const double left = s.schedule == RT_SCHEDULE_COSINE ? (1 + cos(pi * share)) / 2 : 1 - share;
    return s.lr * (s.min_lr_ratio + (1 - s.min_lr_ratio) * left);
}
