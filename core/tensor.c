#include "core/tensor.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Returns the number of axes, clamped to 0 ... RT_MAX_AXES. */
static size_t axes_of(int ndim)
{
    return ndim < 0 ? 0 : ndim > RT_MAX_AXES ? RT_MAX_AXES : (size_t)ndim;
}

rt_tensor rt_tensor_of(real *data, real *grad, rt_shape shape)
{
    rt_tensor x = {.data = data,
                   .grad = grad,
                   .shape = {1, 1, 1, 1},
                   .ndim = shape.ndim,
                   .wants_grad = grad != NULL,
                   .borrowed = true};
    memcpy(x.shape, shape.axis, axes_of(shape.ndim) * sizeof *x.shape);
    return x;
}

rt_shape rt_tensor_shape(const rt_tensor *x)
{
    rt_shape shape = {.ndim = x->ndim};
    memcpy(shape.axis, x->shape, sizeof shape.axis);
    return shape;
}

bool rt_same_shape(const rt_tensor *x, const rt_tensor *y)
{
    return x->ndim == y->ndim && !memcmp(x->shape, y->shape, sizeof x->shape);
}

bool rt_shapes_equal(rt_shape a, rt_shape b)
{
    return a.ndim == b.ndim && !memcmp(a.axis, b.axis, axes_of(a.ndim) * sizeof *a.axis);
}

int rt_grid_side(int T)
{
    int side = 0;
    while (side < T / 2 && side * side < T - 1)
        side++;
    return side * side == T - 1 ? side : 0;
}

size_t rt_shape_size(rt_shape shape)
{
    size_t size = 1;
    if (shape.ndim < 0 || shape.ndim > RT_MAX_AXES)
        return 0;
    for (int i = 0; i < shape.ndim; i++) {
        if (shape.axis[i] < 1 || size > (size_t)INT_MAX / (size_t)shape.axis[i])
            return 0;
        size *= (size_t)shape.axis[i];
    }
    return size;
}

size_t rt_size(const rt_tensor *x)
{
    size_t size = 1;
    for (int i = 0; i < RT_MAX_AXES; i++)
        size *= (size_t)x->shape[i];
    return size;
}

int rt_columns(const rt_tensor *x)
{
    return x->ndim ? x->shape[x->ndim - 1] : 1;
}

size_t rt_rows(const rt_tensor *x)
{
    return rt_size(x) / (size_t)rt_columns(x);
}

const char *rt_shape_write(char *text, rt_shape shape)
{
    if (shape.ndim < 0 || shape.ndim > RT_MAX_AXES) {
        snprintf(text, RT_SHAPE_TEXT_SIZE, "(%d axes)", shape.ndim);
        return text;
    }
    int used = snprintf(text, RT_SHAPE_TEXT_SIZE, "(");
    for (int i = 0; i < shape.ndim; i++)
        used += snprintf(text + used, (size_t)(RT_SHAPE_TEXT_SIZE - used), i ? ", %d" : "%d",
                         shape.axis[i]);
    snprintf(text + used, (size_t)(RT_SHAPE_TEXT_SIZE - used), ")");
    return text;
}
