#include "core/gradcheck.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

/* A smooth function's slope changes by step * f'' across an element, far less than this
 * share of its largest derivative. */
static const double kink = 0.01;

typedef struct check {
    rt_function function;
    void *context;
    rt_tensor *const *inputs;
    int count;
    rt_gradcheck_options o;
    rt_graph *graph;
    size_t outputs;
    real *weights;   /* of the outputs, in the sum that is differentiated */
    real *here;      /* the outputs at the inputs */
    real *moved;     /* and where one of them has moved */
    real *saved;     /* an input, while it is moved */
    real *direction; /* what it is moved along */
} check;

static rt_status evaluate(check *c, bool record, rt_tensor **output)
{
    rt_graph_clear(c->graph);
    rt_graph_record(c->graph, record);
    rt_tensor *out = c->function(c->graph, c->inputs, c->context);
    rt_status status = rt_graph_status(c->graph);
    if (!out && !status.code)
        status = rt_error(RT_ARGUMENT, "[gradcheck] the function returned no output");
    if (!status.code && c->outputs && rt_size(out) != c->outputs)
        status = rt_error(RT_CHECK, "[gradcheck] the output changes its size: the function is not "
                                    "deterministic");
    *output = out;
    return status;
}

static rt_status evaluate_into(check *c, real *values)
{
    rt_tensor *output;
    rt_status status = evaluate(c, false, &output);
    if (!status.code)
        memcpy(values, output->data, c->outputs * sizeof *values);
    return status;
}

/* ---- before the differences: is it a function at all? ---- */

static rt_status prepare(check *c)
{
    rt_tensor *output;
    size_t largest = 1;
    if (!(c->graph = rt_graph_new()))
        return rt_out_of_memory("a gradient check");
    rt_status status = evaluate(c, false, &output);
    if (status.code)
        return status;
    for (int i = 0; i < c->count; i++)
        if (rt_size(c->inputs[i]) > largest)
            largest = rt_size(c->inputs[i]);
    c->outputs = rt_size(output);
    c->weights = rt_alloc(c->outputs, sizeof(real));
    c->here = rt_alloc(c->outputs, sizeof(real));
    c->moved = rt_alloc(c->outputs, sizeof(real));
    c->saved = rt_alloc(largest, sizeof(real));
    c->direction = rt_alloc(largest, sizeof(real));
    if (!c->weights || !c->here || !c->moved || !c->saved || !c->direction)
        return rt_out_of_memory("a gradient check");
    return rt_ok();
}

static void release(check *c)
{
    rt_graph_free(c->graph);
    rt_free(c->weights);
    rt_free(c->here);
    rt_free(c->moved);
    rt_free(c->saved);
    rt_free(c->direction);
}

static rt_status require_same_output_twice(check *c)
{
    rt_status status = evaluate_into(c, c->here);
    if (!status.code)
        status = evaluate_into(c, c->moved);
    if (status.code)
        return status;
    for (size_t k = 0; k < c->outputs; k++)
        if (!isfinite(c->here[k]))
            return rt_error(RT_CHECK, "[gradcheck] output %zu is %g", k, (double)c->here[k]);
    if (memcmp(c->here, c->moved, c->outputs * sizeof(real)))
        return rt_error(RT_CHECK, "[gradcheck] a second evaluation gives another output: the "
                                  "function is not deterministic");
    return rt_ok();
}

/* ---- analytic ---- */

/* Gradients are added to, so one that stays at -0 was never touched: even 0 added to -0
 * gives +0. */
static bool touched(const rt_tensor *x)
{
    for (size_t i = 0, size = rt_size(x); i < size; i++)
        if (x->grad[i] != 0 || !signbit(x->grad[i]))
            return true;
    return false;
}

static rt_status differentiate(check *c)
{
    rt_tensor *output;
    for (int i = 0; i < c->count; i++)
        for (size_t k = 0, size = rt_size(c->inputs[i]); c->inputs[i]->wants_grad && k < size; k++)
            c->inputs[i]->grad[k] = (real)-0.0;
    rt_status status = evaluate(c, true, &output);
    return status.code ? status : rt_graph_backward_from(c->graph, output, c->weights);
}

/* Backward must give the same bits again. */
static rt_status differentiate_twice(check *c)
{
    rt_status status = differentiate(c);
    for (int i = 0; i < c->count && !status.code; i++) {
        rt_tensor *x = c->inputs[i];
        if (!x->wants_grad)
            continue;
        memcpy(c->saved, x->grad, rt_size(x) * sizeof(real));
        status = differentiate(c);
        if (!status.code && memcmp(c->saved, x->grad, rt_size(x) * sizeof(real)))
            status = rt_error(RT_CHECK,
                              "[gradcheck] a second backward gives another gradient of "
                              "input %d: the function is not deterministic",
                              i);
    }
    return status;
}

/* ---- numeric ---- */

/* Moves input x by `distance` along the direction, from its saved values. */
static void move(const check *c, rt_tensor *x, double distance)
{
    for (size_t k = 0, size = rt_size(x); k < size; k++)
        if (c->direction[k] != 0)
            x->data[k] = (real)((double)c->saved[k] + distance * (double)c->direction[k]);
}

/* The weighted sum at x + distance * direction, less that at x. */
static rt_status difference(check *c, rt_tensor *x, double distance, double *result)
{
    move(c, x, distance);
    rt_status status = evaluate_into(c, c->moved);
    move(c, x, 0);
    *result = 0;
    for (size_t k = 0; !status.code && k < c->outputs; k++)
        *result += (double)c->weights[k] * ((double)c->moved[k] - (double)c->here[k]);
    return status;
}

/* The derivative along the direction, from differences of fourth order, and how much the
 * slopes on the two sides differ, which tells a kink. */
static rt_status slope(check *c, rt_tensor *x, double step, double *derivative, double *bend)
{
    static const double at[] = {1, -1, 2, -2};
    double d[4];
    for (int i = 0; i < 4; i++) {
        rt_status status = difference(c, x, at[i] * step, d + i);
        if (status.code)
            return status;
    }
    *derivative = (8 * (d[0] - d[1]) - (d[2] - d[3])) / (12 * step);
    *bend = fabs(d[0] + d[1]) / step;
    return rt_ok();
}

/* Compares along the present direction, and keeps the worst. */
static rt_status compare(check *c, rt_tensor *x, double analytic, double step, size_t index,
                         size_t output, rt_gradcheck_result *worst)
{
    double numeric, bend;
    rt_status status = slope(c, x, step, &numeric, &bend);
    if (!status.code && bend > worst->bend) {
        worst->bend = bend;
        worst->bend_index = index;
    }
    if (!status.code && !(fabs(analytic - numeric) <= fabs(worst->analytic - worst->numeric))) {
        worst->index = index;
        worst->output = output;
        worst->analytic = analytic;
        worst->numeric = numeric;
    }
    return status;
}

static rt_status check_elements(check *c, rt_tensor *x, uint32_t number, size_t output,
                                rt_gradcheck_result *worst)
{
    const rt_random random = {c->o.seed, number, RT_STREAM_CHECK};
    const size_t size = rt_size(x);
    const size_t tries = c->o.samples && c->o.samples < size ? c->o.samples : size;
    rt_status status = rt_ok();
    memset(c->direction, 0, size * sizeof(real));
    for (size_t s = 0; s < tries && !status.code; s++) {
        size_t k = tries < size ? rt_random_below(random, s, (uint32_t)size) : s;
        double step = c->o.step * fmax(1, fabs((double)x->data[k]));
        c->direction[k] = 1;
        status = compare(c, x, (double)x->grad[k], step, k, output, worst);
        c->direction[k] = 0;
    }
    return status;
}

static rt_status check_direction(check *c, rt_tensor *x, uint32_t number,
                                 rt_gradcheck_result *worst)
{
    const rt_random random = {c->o.seed, number, RT_STREAM_CHECK};
    double analytic = 0;
    for (size_t k = 0, size = rt_size(x); k < size; k++) {
        c->direction[k] = (real)(2 * rt_random_uniform(random, k) - 1);
        analytic += (double)c->direction[k] * (double)x->grad[k];
    }
    return compare(c, x, analytic, c->o.step, 0, 0, worst);
}

static rt_status check_input(check *c, int i, size_t output, rt_gradcheck_result *r)
{
    rt_tensor *x = c->inputs[i];
    const size_t size = rt_size(x);
    memcpy(c->saved, x->data, size * sizeof(real));
    r->reached = r->reached || touched(x);
    for (size_t k = 0; k < size; k++) {
        const double magnitude = fabs((double)x->grad[k]);
        r->largest = magnitude > r->largest ? magnitude : r->largest;
    }
    return c->o.mode == RT_GRADCHECK_DIRECTION ? check_direction(c, x, (uint32_t)i, r)
                                               : check_elements(c, x, (uint32_t)i, output, r);
}

static rt_status judge(const check *c, int i, rt_gradcheck_result *r)
{
    r->error = fabs(r->analytic - r->numeric) / fmax(r->largest, c->o.floor);
    if (!r->reached)
        return rt_error(RT_CHECK, "[gradcheck] backward never reached input %d", i);
    if (r->bend > kink * fmax(r->largest, c->o.floor))
        return rt_error(RT_CHECK,
                        "[gradcheck] input %d, element %zu: the slopes on its two sides differ by "
                        "%.3g: not differentiable there",
                        i, r->bend_index, r->bend);
    if (r->error <= c->o.tolerance)
        return rt_ok();
    return rt_error(RT_CHECK,
                    "[gradcheck] input %d, element %zu, output %zu: analytic %.10g, numeric %.10g, "
                    "error %.3g (tolerance %.3g)",
                    i, r->index, r->output, r->analytic, r->numeric, r->error, c->o.tolerance);
}

/* ---- all ---- */

static void draw_weights(check *c, size_t output)
{
    const rt_random random = {c->o.seed, UINT32_MAX, RT_STREAM_CHECK};
    for (size_t k = 0; k < c->outputs; k++)
        c->weights[k] = c->o.mode == RT_GRADCHECK_JACOBIAN
                            ? (real)(k == output)
                            : (real)(2 * rt_random_uniform(random, k) - 1);
}

static rt_status check_all(check *c, rt_gradcheck_result *results)
{
    const size_t rows = c->o.mode == RT_GRADCHECK_JACOBIAN ? c->outputs : 1;
    rt_status status = rt_ok();
    for (size_t output = 0; output < rows && !status.code; output++) {
        draw_weights(c, output);
        status = output ? differentiate(c) : differentiate_twice(c);
        for (int i = 0; i < c->count && !status.code; i++)
            if (c->inputs[i]->wants_grad)
                status = check_input(c, i, output, results + i);
    }
    for (int i = 0; i < c->count; i++) {
        rt_status verdict = c->inputs[i]->wants_grad ? judge(c, i, results + i) : rt_ok();
        if (!status.code)
            status = verdict;
    }
    return status;
}

rt_status rt_gradcheck(rt_function function, void *context, rt_tensor *const *inputs, int count,
                       const rt_gradcheck_options *options, rt_gradcheck_result *results)
{
    check c = {.function = function, .context = context, .inputs = inputs, .count = count};
    if (options)
        c.o = *options;
    c.o.step = c.o.step > 0 ? c.o.step : 1e-5;
    c.o.tolerance = c.o.tolerance > 0 ? c.o.tolerance : 1e-7;
    c.o.floor = c.o.floor > 0 ? c.o.floor : 1e-3;
    rt_gradcheck_result *found = rt_alloc((size_t)count, sizeof *found);
    rt_status status = found ? prepare(&c) : rt_out_of_memory("a gradient check");
    if (!status.code)
        status = require_same_output_twice(&c);
    if (!status.code)
        status = check_all(&c, found);
    if (results && found)
        memcpy(results, found, (size_t)count * sizeof *found);
    rt_free(found);
    release(&c);
    return status;
}
