/* The update rules: a kernel, a function and a row for each (optim/settings.h has the formulas). */

#include "optim/rules.h"

#include "core/row_kernels.h"
#include "ops/gemm.h"

#include <math.h>
#include <string.h>

/* ---- Adam: weight decay shrinks the parameter (AdamW) or is added to the gradient ---- */

/* clang-format off */
#define ADAM_STATES {{"first_moment", false}, {"second_moment", true}}
/* clang-format on */

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

static void adam_span(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                      const real *gradient, size_t size)
{
    const rt_optimizer_settings *s = u->settings;
    const bool decoupled = s->rule != RT_OPTIMIZER_ADAM;
    const double t = (double)u->step, l2 = decoupled ? 0 : u->decay;
    const double shrink = decoupled ? 1 - u->lr * u->decay : 1;
    adam(value, states[0], states[1], gradient, size, (real)u->gradient_scale, (real)l2,
         (real)shrink, (real)s->beta1, (real)s->beta2, (real)(u->lr / (1 - pow(s->beta1, t))),
         (real)(1 / sqrt(1 - pow(s->beta2, t))), (real)s->eps);
}

const rt_update_rule rt_rule_adamw = {.word = "adamw",
                                      .uses = RT_USES_BETAS | RT_USES_EPS,
                                      .states = ADAM_STATES,
                                      .state_count = 2,
                                      .bounded_by = "Adam",
                                      .span = adam_span};

const rt_update_rule rt_rule_adam = {.word = "adam",
                                     .uses = RT_USES_BETAS | RT_USES_EPS,
                                     .states = ADAM_STATES,
                                     .state_count = 2,
                                     .bounded_by = "Adam",
                                     .span = adam_span};

/* ---- stochastic gradient descent with momentum ---- */

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

static void sgd_span(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
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
                                    .span = sgd_span};

/* ---- Lion (Chen et al. 2023): every number changes by lr, in the direction of a mean gradient
 * ---- */

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

static void lion_span(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
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
                                     .span = lion_span};

/* ---- Muon (Jordan et al. 2024): a matrix of a layer changes by the orthogonal matrix nearest to
 * its momentum; everything else as with AdamW. As torch.optim.Muon, but in the precision of the
 * build instead of bfloat16. ---- */

/* Computes the mean gradient m, and the look-ahead u of Nesterov. */
static RT_ROW_KERNEL(muon_mean,
                     (real *restrict m, real *restrict u, const real *restrict gradient,
                      size_t size, real scale, real mu),
                     (m, u, gradient, size, scale, mu))
{
    for (size_t i = 0; i < size; i++) {
        const real g = gradient[i] * scale;
        m[i] += (1 - mu) * (g - m[i]);
        u[i] = g + mu * (m[i] - g);
    }
}

static RT_ROW_KERNEL(multiply, (real *restrict x, size_t size, real factor), (x, size, factor))
{
    for (size_t i = 0; i < size; i++)
        x[i] *= factor;
}

static RT_ROW_KERNEL(subtract,
                     (real *restrict p, const real *restrict u, size_t size, real shrink,
                      real rate),
                     (p, u, size, shrink, rate))
{
    for (size_t i = 0; i < size; i++)
        p[i] = p[i] * shrink - rate * u[i];
}

static void transpose(real *restrict y, const real *restrict x, int rows, int columns)
{
    for (size_t i = 0; i < (size_t)rows; i++)
        for (size_t j = 0; j < (size_t)columns; j++)
            y[j * (size_t)rows + i] = x[i * (size_t)columns + j];
}

/* A wide matrix and the scratch memory of its Newton-Schulz steps. */
typedef struct wide {
    int rows, columns; /* rows <= columns */
    size_t size;
    real *x, *next;
    real *gram, *factor; /* (rows, rows) */
} wide;

static size_t muon_room(int rows, int columns)
{
    const size_t r = (size_t)rows, c = (size_t)columns, least = r < c ? r : c;
    return 2 * r * c + 2 * least * least;
}

static wide wide_in(real *scratch, int rows, int columns)
{
    wide w = {.rows = rows < columns ? rows : columns, .columns = rows < columns ? columns : rows};
    w.size = (size_t)rows * (size_t)columns;
    w.x = scratch;
    w.next = w.x + w.size;
    w.gram = w.next + w.size;
    w.factor = w.gram + (size_t)w.rows * (size_t)w.rows;
    return w;
}

/* Computes x = a x + (b S + c S S) x with S = x x^T, which moves singular values towards 1
 * (Jordan's coefficients). */
static void newton_schulz_step(wide *w)
{
    const real a = (real)3.4445, b = (real)-4.7750, c = (real)2.0315;
    const int r = w->rows, n = w->columns;
    const rt_operand x = rt_rows_at(w->x, n), gram = rt_rows_at(w->gram, r);
    rt_gemm_unrounded((rt_sizes){r, r, n}, 1, x, rt_transposed(x), 0, rt_result_at(w->gram, r));
    memcpy(w->factor, w->gram, (size_t)r * (size_t)r * sizeof(real));
    rt_gemm_unrounded((rt_sizes){r, r, r}, c, gram, gram, b, rt_result_at(w->factor, r));
    memcpy(w->next, w->x, w->size * sizeof(real));
    rt_gemm_unrounded((rt_sizes){r, n, r}, 1, rt_rows_at(w->factor, r), x, a,
                      rt_result_at(w->next, n));
    real *swapped = w->x;
    w->x = w->next;
    w->next = swapped;
}

static void move_by_muon(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                         const real *gradient, int rows, int columns)
{
    enum { STEPS = 5 };
    const double least_norm = 1e-7;
    const bool is_tall = rows > columns;
    wide w = wide_in(u->scratch, rows, columns);
    muon_mean(states[0], is_tall ? w.next : w.x, gradient, w.size, (real)u->gradient_scale,
              (real)u->settings->muon_momentum);
    if (is_tall)
        transpose(w.x, w.next, rows, columns);
    const double norm = sqrt(rt_sum_of_squares(w.x, w.size));
    multiply(w.x, w.size, (real)(1 / fmax(norm, least_norm)));
    for (int i = 0; i < STEPS; i++)
        newton_schulz_step(&w);
    if (is_tall)
        transpose(w.next, w.x, columns, rows);
    subtract(value, is_tall ? w.next : w.x, w.size, (real)(1 - u->lr * u->decay),
             (real)(u->lr * sqrt(fmax(1, (double)rows / columns))));
}

const rt_update_rule rt_rule_muon = {.word = "muon",
                                     .uses = RT_USES_BETAS | RT_USES_EPS | RT_USES_MUON_MOMENTUM,
                                     .states = ADAM_STATES,
                                     .state_count = 2,
                                     .bounded_by = "Adam",
                                     .span = adam_span,
                                     .matrix = move_by_muon,
                                     .matrix_scratch = muon_room,
                                     .matrix_states = 1};
