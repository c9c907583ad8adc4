#include "ops/ops.h"

#include <math.h>

typedef struct layer_norm_args {
    double eps;
    real *mean; /* of each row */
    real *rstd; /* 1 / sqrt(variance + eps) of each row */
} layer_norm_args;

RT_ROW_KERNEL void normalise_row(real *restrict y, const real *restrict x,
                                 const real *restrict weight, const real *restrict bias, int size,
                                 double eps, real *mean_out, real *rstd_out)
{
    real sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < size; i++)
        sum += x[i];
    const real mean = sum / (real)size;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < size; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    const real rstd = (real)(1 / sqrt((double)squares / size + eps));
    for (int i = 0; i < size; i++)
        y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
    *mean_out = mean;
    *rstd_out = rstd;
}

/* With h the normalised row and d = dy * weight:
 * dx = rstd (d - mean(d) - h mean(d h)). */
RT_ROW_KERNEL void norm_row_gradient(real *restrict dx, const real *restrict x,
                                     const real *restrict g, const real *restrict weight, int size,
                                     real mean, real rstd)
{
    real sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (int i = 0; i < size; i++) {
        real d = g[i] * weight[i];
        sum += d;
        product += d * (x[i] - mean);
    }
    const real shift = sum / (real)size, slope = product * rstd * rstd / (real)size;
    for (int i = 0; i < size; i++)
        dx[i] += rstd * (g[i] * weight[i] - shift - (x[i] - mean) * slope);
}

RT_ROW_KERNEL void affine_gradient(real *restrict dweight, real *restrict dbias,
                                   const real *restrict x, const real *restrict g, int size,
                                   real mean, real rstd)
{
    for (int i = 0; i < size; i++) {
        dweight[i] += g[i] * (x[i] - mean) * rstd;
        dbias[i] += g[i];
    }
}

static void layer_norm_forward(const rt_node *n)
{
    const layer_norm_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const int size = rt_columns(x);
    for (size_t r = 0, rows = rt_rows(x); r < rows; r++)
        normalise_row(n->out->data + r * (size_t)size, x->data + r * (size_t)size, n->in[1]->data,
                      n->in[2]->data, size, a->eps, a->mean + r, a->rstd + r);
}

static void layer_norm_backward(const rt_node *n)
{
    const layer_norm_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const int size = rt_columns(x);
    real *dx = rt_grad(n, 0), *dweight = rt_grad(n, 1), *dbias = rt_grad(n, 2);
    real *unwanted = NULL; /* takes the gradient of the one of the two that wants none */
    if (!dweight != !dbias && !(unwanted = rt_graph_scratch(n->graph, (size_t)size, sizeof(real))))
        return;
    for (size_t r = 0, rows = rt_rows(x); r < rows; r++) {
        const real *row = x->data + r * (size_t)size, *g = n->out->grad + r * (size_t)size;
        if (dx)
            norm_row_gradient(dx + r * (size_t)size, row, g, n->in[1]->data, size, a->mean[r],
                              a->rstd[r]);
        if (dweight || dbias)
            affine_gradient(dweight ? dweight : unwanted, dbias ? dbias : unwanted, row, g, size,
                            a->mean[r], a->rstd[r]);
    }
}

const rt_op rt_op_layer_norm = {"layer_norm", layer_norm_forward, layer_norm_backward};

rt_tensor *rt_layer_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias, double eps)
{
    if (!x || !weight || !bias)
        return NULL;
    const int size = rt_columns(x);
    if (x->ndim < 1 || weight->ndim != 1 || weight->shape[0] != size ||
        !rt_same_shape(weight, bias))
        return rt_graph_fail(g, RT_SHAPE,
                             "[layer_norm] x must be (..., C), weight and bias (C); got %s, %s, %s",
                             rt_shape_text(x), rt_shape_text(weight), rt_shape_text(bias));
    if (!(eps >= 0))
        return rt_graph_fail(g, RT_ARGUMENT, "[layer_norm] eps must be >= 0; got %g", eps);
    size_t rows = rt_rows(x);
    layer_norm_args args = {eps, rt_graph_memory(g, rows, sizeof(real)),
                            rt_graph_memory(g, rows, sizeof(real))};
    return RT_APPLY(g, &rt_op_layer_norm, rt_tensor_shape(x), &args, x, weight, bias);
}
