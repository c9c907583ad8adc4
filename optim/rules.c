#include "optim/rules.h"

#include "core/row_kernels.h"
#include "ops/gemm.h"

#include <math.h>
#include <string.h>

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

rt_update rt_update_of(const rt_optimizer_settings *settings, const rt_parameter *parameter,
                       rt_rates rates, double gradient_scale, int64_t step)
{
    const bool is_matrix = rt_moves_as_matrix(rt_update_rule_of(settings), parameter);
    const rt_role role = parameter->role;
    const bool is_theta = role == RT_ROLE_THETA || role == RT_ROLE_FACTOR;
    const bool decays = role == RT_ROLE_WEIGHT || role == RT_ROLE_MATRIX;
    return (rt_update){.settings = settings,
                       .lr = is_matrix  ? rates.matrix_lr
                             : is_theta ? rates.lr * settings->theta_lr_scale
                                        : rates.lr,
                       .decay = decays ? settings->weight_decay : 0,
                       .gradient_scale = gradient_scale,
                       .step = step - parameter->since};
}

static const double TWO_PI = 6.283185307179586;

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

void rt_update_span(const rt_update *u, const rt_parameter *parameter, const rt_span *span,
                    real *value, real *const states[RT_MOST_STATES], const real *gradient)
{
    const rt_update_rule *rule = rt_update_rule_of(u->settings);
    const rt_shape shape = rt_tensor_shape(&parameter->tensor);
    if (rt_moves_as_matrix(rule, parameter))
        rule->matrix(u, value, states, gradient, shape.axis[0], shape.axis[1]);
    else
        rule->span(u, value, states, gradient, span->size);
    for (size_t k = 0; parameter->role == RT_ROLE_PHASE && k < span->size; k++)
        value[k] = value[k] > 0 ? 0 : value[k] < -(real)TWO_PI ? -(real)TWO_PI : value[k];
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

/* Each update rule is a kernel and a row; optim/optimizer.h has the formulas. */

/* Factors that the kernels share. */
typedef struct factors {
    real scale;      /* of the gradient */
    real l2, shrink; /* weight decay: added to the gradient, or a factor of the parameter */
    real lr, beta1, beta2, eps, momentum, look_ahead;
    real rate, root; /* of Adam: lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) */
} factors;

/* Computes the factors of an update. Not inlined, because the kernels would round a fused
 * multiply-add once, and so differently in each instruction set. */
static __attribute__((noinline)) factors factors_of(const rt_update *u)
{
    const rt_optimizer_settings *s = u->settings;
    const bool coupled = rt_update_rule_of(s)->coupled;
    const double t = (double)u->step;
    return (factors){.scale = (real)u->gradient_scale,
                     .l2 = (real)(coupled ? u->decay : 0),
                     .shrink = (real)(coupled ? 1 : 1 - u->lr * u->decay),
                     .lr = (real)u->lr,
                     .beta1 = (real)s->beta1,
                     .beta2 = (real)s->beta2,
                     .eps = (real)s->eps,
                     .momentum = (real)s->momentum,
                     .look_ahead = (real)(s->nesterov ? s->momentum : 0),
                     .rate = (real)(u->lr / (1 - pow(s->beta1, t))),
                     .root = (real)(1 / sqrt(1 - pow(s->beta2, t)))};
}

#define SPAN_KERNEL(name)                                                                          \
    static RT_ROW_KERNEL(name,                                                                     \
                         (const rt_update *u, real *restrict p,                                    \
                          real *const states[RT_MOST_STATES], const real *restrict gradient,       \
                          size_t size),                                                            \
                         (u, p, states, gradient, size))

/* clang-format off */
#define ADAM_STATES {{"first_moment", false}, {"second_moment", true}}
/* clang-format on */

SPAN_KERNEL(adam)
{
    const factors f = factors_of(u);
    real *restrict m = states[0], *restrict v = states[1];
    for (size_t i = 0; i < size; i++) {
        real g = gradient[i] * f.scale + f.l2 * p[i];
        m[i] = f.beta1 * m[i] + (1 - f.beta1) * g;
        v[i] = f.beta2 * v[i] + (1 - f.beta2) * g * g;
        p[i] = p[i] * f.shrink - f.rate * m[i] / ((real)sqrt(v[i]) * f.root + f.eps);
    }
}

const rt_update_rule rt_rule_adamw = {.word = "adamw",
                                      .uses = RT_USES_BETAS | RT_USES_EPS,
                                      .states = ADAM_STATES,
                                      .state_count = 2,
                                      .bounded_by = "Adam",
                                      .span = adam};

const rt_update_rule rt_rule_adam = {.word = "adam",
                                     .uses = RT_USES_BETAS | RT_USES_EPS,
                                     .coupled = true,
                                     .states = ADAM_STATES,
                                     .state_count = 2,
                                     .bounded_by = "Adam",
                                     .span = adam};

SPAN_KERNEL(sgd)
{
    const factors f = factors_of(u);
    real *restrict m = states[0];
    for (size_t i = 0; i < size; i++) {
        real g = gradient[i] * f.scale + f.l2 * p[i];
        m[i] = f.momentum * m[i] + g;
        p[i] -= f.lr * (f.look_ahead != 0 ? g + f.look_ahead * m[i] : m[i]);
    }
}

const rt_update_rule rt_rule_sgd = {.word = "sgd",
                                    .uses = RT_USES_MOMENTUM,
                                    .coupled = true,
                                    .states = {{"first_moment", false}},
                                    .state_count = 1,
                                    .span = sgd};

SPAN_KERNEL(lion)
{
    const factors f = factors_of(u);
    real *restrict m = states[0];
    for (size_t i = 0; i < size; i++) {
        const real g = gradient[i] * f.scale;
        const real direction = f.beta1 * m[i] + (1 - f.beta1) * g;
        const real sign = (real)(direction > 0) - (real)(direction < 0);
        p[i] = p[i] * f.shrink - f.lr * sign;
        m[i] = f.beta2 * m[i] + (1 - f.beta2) * g;
    }
}

const rt_update_rule rt_rule_lion = {.word = "lion",
                                     .uses = RT_USES_BETAS,
                                     .beta2 = 0.99,
                                     .states = {{"first_moment", false}},
                                     .state_count = 1,
                                     .bounded_by = "Lion",
                                     .span = lion};

/* Muon (Jordan et al. 2024): a matrix of a layer changes by the orthogonal matrix nearest to its
 * momentum; everything else as with AdamW. As torch.optim.Muon, but in the precision of the build
 * instead of bfloat16. */

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

static size_t muon_scratch(int rows, int columns)
{
    const size_t r = (size_t)rows, c = (size_t)columns, least = r < c ? r : c;
    return 2 * r * c + 2 * least * least;
}

/* Moves a matrix by its orthogonalized momentum. Each of the Newton-Schulz steps computes
 * x = a x + (b S + c S S) x with S = x x^T, which moves singular values towards 1 (Jordan's
 * coefficients). They run on a matrix that is not taller than wide. */
static void move_by_muon(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                         const real *gradient, int rows, int columns)
{
    enum { STEPS = 5 };
    const real a = (real)3.4445, b = (real)-4.7750, c = (real)2.0315;
    const double least_norm = 1e-7;
    const bool is_tall = rows > columns;
    const int m = is_tall ? columns : rows, n = is_tall ? rows : columns;
    const size_t size = (size_t)rows * (size_t)columns, square = (size_t)m * (size_t)m;
    real *x = u->scratch, *next = x + size, *s = next + size, *factor = s + square;
    muon_mean(states[0], is_tall ? next : x, gradient, size, (real)u->gradient_scale,
              (real)u->settings->muon_momentum);
    if (is_tall)
        transpose(x, next, rows, columns);
    const double norm = sqrt(rt_sum_of_squares(x, size));
    multiply(x, size, (real)(1 / fmax(norm, least_norm)));
    for (int i = 0; i < STEPS; i++) {
        const rt_operand of_x = rt_rows_at(x, n), of_s = rt_rows_at(s, m);
        rt_gemm_unrounded((rt_sizes){m, m, n}, 1, of_x, rt_transposed(of_x), 0, rt_result_at(s, m));
        memcpy(factor, s, square * sizeof *s);
        rt_gemm_unrounded((rt_sizes){m, m, m}, c, of_s, of_s, b, rt_result_at(factor, m));
        memcpy(next, x, size * sizeof *x);
        rt_gemm_unrounded((rt_sizes){m, n, m}, 1, rt_rows_at(factor, m), of_x, a,
                          rt_result_at(next, n));
        real *swapped = x;
        x = next;
        next = swapped;
    }
    if (is_tall)
        transpose(next, x, columns, rows);
    subtract(value, is_tall ? next : x, size, (real)(1 - u->lr * u->decay),
             (real)(u->lr * sqrt(fmax(1, (double)rows / columns))));
}

const rt_update_rule rt_rule_muon = {.word = "muon",
                                     .uses = RT_USES_BETAS | RT_USES_EPS | RT_USES_MUON_MOMENTUM,
                                     .states = ADAM_STATES,
                                     .state_count = 2,
                                     .bounded_by = "Adam",
                                     .span = adam,
                                     .matrix = move_by_muon,
                                     .matrix_scratch = muon_scratch,
                                     .matrix_states = 1};
