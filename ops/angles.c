#include "ops/private.h"

#include <limits.h>
#include <math.h>

/* Angles of rotations from sums over the text, and pairs of features from magnitudes. */

typedef struct angles_args {
    rt_theta_form form;
    size_t thetas;       /* P, or G P */
    const double *fixed; /* NULL: theta is input 1 */
    double *theta;       /* copied by forward */
    double *exact;
} angles_args;

static void angles_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const angles_args *a = n->args;
    for (size_t r = span->first; r < span->first + span->count; r++) {
        double *restrict exact = a->exact + r * a->thetas;
        real *restrict y = n->out->data + r * a->thetas;
        for (size_t i = 0; i < a->thetas; i++) {
            exact[i] = a->theta[i] * rt_exact_at(n->in[0], r * a->thetas + i);
            y[i] = (real)exact[i];
        }
    }
}

static void angles_forward(const rt_node *n)
{
    const angles_args *a = n->args;
    for (size_t i = 0; i < a->thetas; i++) {
        a->theta[i] = a->fixed ? a->fixed[i] : (double)n->in[1]->data[i];
        if (!a->fixed && a->form == RT_THETA_LOG)
            a->theta[i] = exp(a->theta[i]);
    }
    rt_node_rows(n, rt_size(n->out) / a->thetas, a->thetas, angles_span, NULL);
}

static void sums_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const angles_args *a = n->args;
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const real *restrict dy = n->out->grad + r * a->thetas;
        real *restrict dsums = (real *)span->context + r * a->thetas;
        for (size_t i = 0; i < a->thetas; i++)
            dsums[i] += (real)(a->theta[i] * (double)dy[i]);
    }
}

/* Sums the gradients of some theta over all rows, in double. */
static void thetas_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const angles_args *a = n->args;
    const size_t size = rt_size(n->out), end = span->first + span->count;
    for (size_t i = span->first, count; i < end; i += count) {
        double sum[RT_LINES] = {0};
        count = rt_lines_of(end - i, end - i);
        for (size_t at = i; at < size; at += a->thetas)
            for (size_t k = 0; k < count; k++)
                sum[k] += (double)n->out->grad[at + k] * rt_exact_at(n->in[0], at + k);
        for (size_t k = 0; k < count; k++)
            ((real *)span->context)[i + k] +=
                (real)(a->form == RT_THETA_LOG ? sum[k] * a->theta[i + k] : sum[k]);
    }
}

static void angles_backward(const rt_node *n)
{
    const angles_args *a = n->args;
    const size_t size = rt_size(n->out), thetas = a->thetas;
    real *dsums = rt_grad(n, 0), *dtheta = rt_grad(n, 1);
    if (dsums)
        rt_node_rows(n, size / thetas, thetas, sums_back_span, dsums);
    if (dtheta)
        rt_node_rows(n, thetas, size / thetas, thetas_back_span, dtheta);
}

const rt_op rt_op_angles = {.name = "angles",
                            .forward = angles_forward,
                            .backward = angles_backward,
                            .reads = rt_reads_inputs};

/* Returns the angles by a learned theta or, if it is NULL, by fixed ones of a shape. */
static rt_tensor *make_angles(rt_graph *g, rt_tensor *sums, rt_tensor *theta, rt_shape shape,
                              angles_args args)
{
    const int axes = shape.ndim;
    bool fit = sums->ndim >= 2 && (axes == 1 || axes == 2);
    for (int i = 0; fit && i < axes; i++)
        fit = shape.axis[i] == sums->shape[sums->ndim - axes + i];
    if (!fit)
        return rt_graph_fail(
            g, RT_SHAPE, "[angles] theta must be (P) or (G, P) for sums (..., G, P); got %s, %s",
            rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape), rt_shape_text(sums));
    args.thetas = rt_shape_size(shape);
    args.theta = rt_graph_numbers(g, args.thetas, sizeof *args.theta);
    args.exact = rt_graph_numbers(g, rt_size(sums), sizeof *args.exact);
    rt_tensor *y = RT_APPLY(g, &rt_op_angles, rt_tensor_shape(sums), &args, sums, theta);
    if (y)
        y->exact = args.exact;
    return y;
}

rt_tensor *rt_angles(rt_graph *g, rt_tensor *sums, rt_tensor *theta, rt_theta_form form)
{
    if (!RT_CHECK_INPUTS(g, "angles", RT_INPUT(sums), RT_INPUT(theta)))
        return NULL;
    if (form != RT_THETA_LOG && form != RT_THETA_RAW)
        return rt_graph_fail(g, RT_ARGUMENT, "[angles] there is no form %d of theta", (int)form);
    return make_angles(g, sums, theta, rt_tensor_shape(theta), (angles_args){.form = form});
}

rt_tensor *rt_angles_fixed(rt_graph *g, rt_tensor *sums, const double *theta, rt_shape shape)
{
    if (!RT_CHECK_INPUTS(g, "angles", RT_INPUT(sums)) ||
        !rt_graph_check_argument(g, "angles", "theta", theta))
        return NULL;
    return make_angles(g, sums, NULL, shape, (angles_args){.fixed = theta});
}

typedef struct polar_args {
    real *cosine, *sine; /* (G, D) */
} polar_args;

static int heads_of(const rt_tensor *phase)
{
    return phase ? phase->shape[0] : 1;
}

/* Returns the row of the table for row r of (B, T, H). */
static size_t table_row(const rt_node *n, size_t r)
{
    const size_t H = (size_t)n->out->shape[2], group = H / (size_t)heads_of(n->in[1]);
    return r % H / group * (size_t)n->in[0]->shape[3];
}

static void polar_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const polar_args *a = n->args;
    const size_t D = (size_t)n->in[0]->shape[3];
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const real *restrict x = n->in[0]->data + r * D, *cosine = a->cosine + table_row(n, r);
        const real *sine = a->sine + table_row(n, r);
        real *restrict y = n->out->data + 2 * r * D;
        for (size_t c = 0; c < D; c++) {
            y[c] = x[c] * cosine[c];
            y[D + c] = x[c] * sine[c];
        }
    }
}

static void polar_forward(const rt_node *n)
{
    const polar_args *a = n->args;
    const rt_tensor *phase = n->in[1];
    for (size_t i = 0, size = (size_t)(heads_of(phase) * n->in[0]->shape[3]); i < size; i++) {
        a->cosine[i] = phase ? (real)cos((double)phase->data[i]) : 1;
        a->sine[i] = phase ? (real)sin((double)phase->data[i]) : 0;
    }
    rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out), polar_span, NULL);
}

static void magnitudes_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const polar_args *a = n->args;
    const size_t D = (size_t)n->in[0]->shape[3];
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const real *restrict dy = n->out->grad + 2 * r * D, *cosine = a->cosine + table_row(n, r);
        const real *sine = a->sine + table_row(n, r);
        real *restrict dx = (real *)span->context + r * D;
        for (size_t c = 0; c < D; c++)
            dx[c] += dy[c] * cosine[c] + dy[D + c] * sine[c];
    }
}

/* Sums the gradients of some phases over all rows of their head, in double. */
static void phases_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const polar_args *a = n->args;
    const size_t H = (size_t)n->out->shape[2], D = (size_t)n->in[0]->shape[3];
    const size_t rows = rt_rows(n->out), end = span->first + span->count;
    for (size_t i = span->first, count; i < end; i += count) {
        const size_t c = i % D, group = H / (size_t)heads_of(n->in[1]), first = i / D * group;
        double sum[RT_LINES] = {0};
        count = rt_lines_of(end - i, D - c);
        for (size_t r = first; r < rows; r += r % H + 1 == first + group ? H - group + 1 : 1) {
            const real *x = n->in[0]->data + r * D + c, *dy = n->out->grad + 2 * r * D + c;
            for (size_t k = 0; k < count; k++)
                sum[k] += (double)x[k] * ((double)dy[D + k] * (double)a->cosine[i + k] -
                                          (double)dy[k] * (double)a->sine[i + k]);
        }
        for (size_t k = 0; k < count; k++)
            ((real *)span->context)[i + k] += (real)sum[k];
    }
}

static void polar_backward(const rt_node *n)
{
    real *dx = rt_grad(n, 0), *dphase = rt_grad(n, 1);
    if (dx)
        rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out), magnitudes_back_span, dx);
    if (dphase)
        rt_node_rows(n, rt_size(n->in[1]), rt_rows(n->out), phases_back_span, dphase);
}

const rt_op rt_op_polar = {.name = "polar",
                           .forward = polar_forward,
                           .backward = polar_backward,
                           .reads = rt_reads_inputs};

rt_tensor *rt_polar(rt_graph *g, rt_tensor *x, rt_tensor *phase)
{
    if (!RT_CHECK_INPUTS(g, "polar", RT_INPUT(x), RT_OPTIONAL(phase)))
        return NULL;
    if (x->ndim != 4 || x->shape[3] > INT_MAX / 2 ||
        (phase &&
         (phase->ndim != 2 || phase->shape[1] != x->shape[3] || x->shape[2] % phase->shape[0])))
        return rt_graph_fail(g, RT_SHAPE,
                             "[polar] x must be (B, T, H, D), phase (G, D), G a divisor of H; got "
                             "%s, %s",
                             rt_shape_text(x), phase ? rt_shape_text(phase) : "no phase");
    const size_t size = (size_t)(heads_of(phase) * x->shape[3]);
    polar_args args = {.cosine = rt_graph_numbers(g, 2 * size, sizeof *args.cosine)};
    if (rt_graph_failed(g))
        return NULL;
    args.sine = args.cosine + size;
    return RT_APPLY(g, &rt_op_polar,
                    RT_SHAPE_OF(x->shape[0], x->shape[1], x->shape[2], 2 * x->shape[3]), &args, x,
                    phase);
}
