#include "core/gradcheck.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 5 };

/* Finite differences: f'(0) = sum weight_i f(first + i) / 12, in steps. */
typedef struct stencil {
    int first;
    double weight[POINTS];
} stencil;

static const stencil central = {-2, {1, -8, 0, 8, -1}};
static const stencil one_sided = {0, {-25, 48, -36, 16, -3}};

/* A kink changes central differences by at most half of their roughness; the larger factor leaves
 * a margin for several kinks. */
static const double explained = 2;

/* Largest roughness of valid differences, as a share of the tolerance. */
static const double smooth = 0.25;

/* Factor of the rounding of f, per step, in the error of one-sided differences. */
static const double rounding_of_sides = 4;

/* Computes f'(0), and the largest third difference per step, which bounds the effect of a kink. */
static rt_status measure(rt_curve *f, void *context, const stencil *s, double step, double *slope,
                         double *roughness)
{
    double value[POINTS];
    *slope = *roughness = 0;
    for (int i = 0; i < POINTS; i++) {
        const int at = s->first + i;
        value[i] = 0;
        RT_TRY(at ? f(context, at * step, value + i) : rt_ok());
        *slope += s->weight[i] * value[i] / (12 * step);
    }
    for (int i = 0; i + 3 < POINTS; i++) {
        const double third = value[i + 3] - value[i] - 3 * (value[i + 2] - value[i + 1]);
        *roughness = rt_larger_error(*roughness, fabs(third / step));
    }
    return rt_ok();
}

/* Tries central differences, and one-sided ones on the left and on the right. *nearest becomes the
 * valid difference nearest to the claim, or stays NaN. */
static rt_status try_step(rt_curve *f, void *context, const rt_slope_options *o, double step,
                          double claim, double *nearest)
{
    const stencil *const stencils[] = {&central, &one_sided, &one_sided};
    const double steps[] = {step, -step, step};
    double slope[3], roughness;
    bool counts[3];
    if (!(rounding_of_sides * o->rounding / step <= o->tolerance))
        return rt_ok();
    for (int i = 0; i < 3; i++) {
        RT_TRY(measure(f, context, stencils[i], steps[i], &slope[i], &roughness));
        counts[i] = roughness <= smooth * o->tolerance;
        if (counts[i] && !(fabs(claim - slope[i]) >= fabs(claim - *nearest)))
            *nearest = slope[i];
    }
    if (counts[1] && counts[2] && (claim - slope[1]) * (claim - slope[2]) < 0)
        *nearest = claim; /* between the slopes of both sides */
    return rt_ok();
}

rt_status rt_slope_find(rt_curve *f, void *context, const rt_slope_options *o, double claim,
                        rt_slope *slope)
{
    /* The first is larger than the step, because one-sided differences round worse than central
     * ones. */
    static const double shares[] = {2, 0.25, 0.03};
    double roughness, nearest = (double)NAN;
    *slope = (rt_slope){.numeric = 0};
    RT_TRY(measure(f, context, &central, o->step, &slope->numeric, &roughness));
    const double error = fabs(claim - slope->numeric);
    if (error <= o->tolerance || !isfinite(error))
        return rt_ok();
    for (int i = 0; i < 3 && !(fabs(claim - nearest) <= o->tolerance); i++)
        RT_TRY(try_step(f, context, o, shares[i] * o->step, claim, &nearest));
    slope->unknown = isnan(nearest) && error <= explained * roughness;
    slope->kink = slope->unknown || fabs(claim - nearest) <= o->tolerance;
    if (!isnan(nearest))
        slope->numeric = nearest;
    return rt_ok();
}

/* Maximum of elements or directions tried for each one required, where kinks are in the way. */
enum { TRIES = 8 };

typedef struct check {
    rt_function function;
    void *context;
    rt_tensor *const *inputs;
    int count;
    rt_gradcheck_options o;
    rt_graph *graph;
    size_t outputs;
    real *memory;    /* of the five arrays below */
    real *weights;   /* of the outputs, in the differentiated sum */
    real *here;      /* outputs at the inputs */
    real *moved;     /* outputs with an input moved */
    real *saved;     /* values of the moved input */
    real *direction; /* of the move */
    rt_tensor *x;    /* the moved input */
    double rounding; /* rounding error of the weighted sum */
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
    RT_TRY(evaluate(c, false, &output));
    memcpy(values, output->data, c->outputs * sizeof *values);
    return rt_ok();
}

/* Allocates the arrays and computes the outputs at the inputs twice, which must give the same
 * bits. */
static rt_status prepare(check *c)
{
    rt_tensor *output;
    size_t largest = 1;
    if (!(c->graph = rt_graph_new()))
        return rt_out_of_memory("a gradient check");
    RT_TRY(evaluate(c, false, &output));
    for (int i = 0; i < c->count; i++)
        if (rt_size(c->inputs[i]) > largest)
            largest = rt_size(c->inputs[i]);
    c->outputs = rt_size(output);
    c->memory = rt_alloc(3 * c->outputs + 2 * largest, sizeof(real));
    RT_TRY(rt_allocated(c->memory, "a gradient check"));
    c->weights = c->memory;
    c->here = c->weights + c->outputs;
    c->moved = c->here + c->outputs;
    c->saved = c->moved + c->outputs;
    c->direction = c->saved + largest;
    RT_TRY(evaluate_into(c, c->here));
    RT_TRY(evaluate_into(c, c->moved));
    for (size_t k = 0; k < c->outputs; k++)
        if (!isfinite(c->here[k]))
            return rt_error(RT_CHECK, "[gradcheck] output %zu is %g", k, (double)c->here[k]);
    if (memcmp(c->here, c->moved, c->outputs * sizeof(real)))
        return rt_error(RT_CHECK, "[gradcheck] a second evaluation gives another output: the "
                                  "function is not deterministic");
    return rt_ok();
}

static rt_status differentiate(check *c)
{
    rt_tensor *output;
    for (int i = 0; i < c->count; i++) {
        rt_tensor *x = c->inputs[i];
        x->reached = false;
        if (x->wants_grad)
            memset(x->grad, 0, rt_size(x) * sizeof(real));
    }
    RT_TRY(evaluate(c, true, &output));
    return rt_graph_backward_from(c->graph, output, c->weights);
}

/* Differentiates a second time, which must give the same bits. */
static rt_status differentiate_twice(check *c)
{
    RT_TRY(differentiate(c));
    for (int i = 0; i < c->count; i++) {
        rt_tensor *x = c->inputs[i];
        if (!x->wants_grad)
            continue;
        memcpy(c->saved, x->grad, rt_size(x) * sizeof(real));
        RT_TRY(differentiate(c));
        if (memcmp(c->saved, x->grad, rt_size(x) * sizeof(real)))
            return rt_error(RT_CHECK,
                            "[gradcheck] a second backward gives another gradient of "
                            "input %d: the function is not deterministic",
                            i);
    }
    return rt_ok();
}

/* Sets the input to its saved values plus `distance` times the direction. */
static void move(const check *c, double distance)
{
    for (size_t k = 0, size = rt_size(c->x); k < size; k++)
        if (c->direction[k] != 0)
            c->x->data[k] = (real)((double)c->saved[k] + distance * (double)c->direction[k]);
}

/* Computes the weighted sum at x + distance * direction, minus the sum at x. */
static rt_status difference(void *context, double distance, double *result)
{
    check *c = context;
    move(c, distance);
    rt_status status = evaluate_into(c, c->moved);
    move(c, 0);
    *result = 0;
    for (size_t k = 0; !status.code && k < c->outputs; k++)
        *result += (double)c->weights[k] * ((double)c->moved[k] - (double)c->here[k]);
    return status;
}

static void keep_worst(rt_gradcheck_result *r, double analytic, double numeric, size_t index,
                       size_t output)
{
    const double error = fabs(analytic - numeric), worst = fabs(r->analytic - r->numeric);
    if (isnan(worst) || error <= worst) /* a NaN stays the worst */
        return;
    r->index = index;
    r->output = output;
    r->analytic = analytic;
    r->numeric = numeric;
}

/* Compares derivatives along the current direction and keeps the worst. */
static rt_status compare(check *c, double analytic, double step, size_t index, size_t output,
                         rt_gradcheck_result *r)
{
    const rt_slope_options o = {step, c->o.tolerance * rt_larger_error(r->largest, c->o.floor),
                                c->rounding};
    rt_slope slope;
    RT_TRY(rt_slope_find(difference, c, &o, analytic, &slope));
    r->unjudged += slope.unknown;
    if (slope.unknown)
        return rt_ok();
    r->judged++;
    r->kinks += slope.kink;
    keep_worst(r, analytic, slope.numeric, index, output);
    return rt_ok();
}

/* Draws a direction of length 1, so that the effect of a step does not grow with the size of the
 * input. Returns the derivative along it. */
static double draw_direction(check *c, rt_random random, uint64_t first)
{
    const rt_tensor *x = c->x;
    const size_t size = rt_size(x);
    double squares = 0, analytic = 0;
    for (size_t k = 0; k < size; k++) {
        const double u = 2 * rt_random_uniform(random, first + k) - 1;
        c->direction[k] = (real)u;
        squares += u * u;
    }
    for (size_t k = 0; k < size; k++) {
        c->direction[k] = (real)((double)c->direction[k] / sqrt(squares));
        analytic += (double)c->direction[k] * (double)x->grad[k];
    }
    return analytic;
}

/* Compares the derivatives of input i, one for each element or along random directions. */
static rt_status check_input(check *c, int i, size_t output, rt_gradcheck_result *r)
{
    const rt_tensor *x = c->x = c->inputs[i];
    const rt_random random = {c->o.seed, (uint32_t)i, RT_STREAM_CHECK};
    const size_t size = rt_size(x), judged = r->judged;
    const bool along = c->o.mode == RT_GRADCHECK_DIRECTION;
    const bool all = !along && (!c->o.samples || c->o.samples >= size);
    const size_t wanted = along ? 1 : all ? size : c->o.samples;
    const size_t tries = all ? size : TRIES * wanted;
    rt_status status = rt_ok();
    memcpy(c->saved, x->data, size * sizeof(real));
    for (size_t k = 0; k < size; k++) {
        const double gradient = (double)x->grad[k];
        r->largest = rt_larger_error(r->largest, fabs(gradient));
        if (!isfinite(gradient)) /* the worst, whether it is drawn or not */
            keep_worst(r, gradient, 0, k, output);
    }
    if (!isfinite(r->largest))
        return status; /* the verdict is known */
    memset(c->direction, 0, size * sizeof(real));
    for (size_t s = 0; s < tries && r->judged - judged < wanted && !status.code; s++) {
        if (along) {
            const double analytic = draw_direction(c, random, s * size);
            status = compare(c, analytic, c->o.step, 0, 0, r);
            continue;
        }
        const size_t k = all ? s : rt_random_below(random, s, (uint32_t)size);
        const double step = c->o.step * fmax(1, fabs((double)x->data[k]));
        c->direction[k] = 1;
        status = compare(c, (double)x->grad[k], step, k, output, r);
        c->direction[k] = 0;
    }
    return status;
}

/* Sets the verdict on an input. Returns RT_CHECK if it is not right. */
static rt_status judge(const check *c, int i, rt_gradcheck_result *r)
{
    char where[64] = "along a random direction";
    const double scale = rt_larger_error(r->largest, c->o.floor);
    r->error = fabs((r->analytic - r->numeric) / scale); /* never -nan */
    if (!c->inputs[i]->reached) {
        r->verdict = RT_GRADIENT_UNREACHED;
        return rt_error(RT_CHECK, "[gradcheck] backward never reached input %d", i);
    }
    if (!(r->error <= c->o.tolerance)) {
        r->verdict = RT_GRADIENT_WRONG;
        if (c->o.mode != RT_GRADCHECK_DIRECTION)
            snprintf(where, sizeof where, "element %zu, output %zu", r->index, r->output);
        return rt_error(RT_CHECK,
                        "[gradcheck] input %d, %s: analytic %.10g, numeric %.10g, error %.3g "
                        "(tolerance %.3g)",
                        i, where, r->analytic, r->numeric, r->error, c->o.tolerance);
    }
    r->verdict = r->judged ? RT_GRADIENT_RIGHT : RT_GRADIENT_UNJUDGED;
    return r->judged ? rt_ok()
                     : rt_error(RT_CHECK,
                                "[gradcheck] input %d: kinks around all %zu places that were "
                                "tried: not differentiable there",
                                i, r->unjudged);
}

static rt_status check_all(check *c, rt_gradcheck_result *results)
{
    const rt_random random = {c->o.seed, UINT32_MAX, RT_STREAM_CHECK};
    const bool jacobian = c->o.mode == RT_GRADCHECK_JACOBIAN;
    const size_t rows = jacobian ? c->outputs : 1;
    for (size_t output = 0; output < rows; output++) {
        c->rounding = 0;
        for (size_t k = 0; k < c->outputs; k++) {
            c->weights[k] =
                jacobian ? (real)(k == output) : (real)(2 * rt_random_uniform(random, k) - 1);
            c->rounding += RT_REAL_EPSILON * fabs((double)c->weights[k] * (double)c->here[k]);
        }
        RT_TRY(output ? differentiate(c) : differentiate_twice(c));
        for (int i = 0; i < c->count; i++)
            if (c->inputs[i]->wants_grad)
                RT_TRY(check_input(c, i, output, results + i));
    }
    rt_status verdict = rt_ok();
    for (int i = 0; i < c->count; i++) {
        const rt_status one = c->inputs[i]->wants_grad ? judge(c, i, results + i) : rt_ok();
        verdict = verdict.code ? verdict : one;
    }
    return verdict;
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
        status = check_all(&c, found);
    if (results && found)
        memcpy(results, found, (size_t)count * sizeof *found);
    rt_free(found);
    rt_graph_free(c.graph);
    rt_free(c.memory);
    return status;
}
