#include "torture/ops_program.h"

#include "core/memory.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int below(program *p, int n)
{
    return (int)rt_random_below(p->random, p->drawn++, (uint32_t)n);
}

bool chance(program *p, int percent)
{
    return below(p, 100) < percent;
}

bool hostile(program *p, int percent)
{
    return p->hostile && chance(p, percent);
}

void note(program *p, const char *format, ...)
{
    const size_t length = strlen(p->trace);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->trace + length, sizeof p->trace - length, format, arguments);
    va_end(arguments);
}

double number(program *p)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300, -1e300, 1e-300, 2};
    if (hostile(p, 15))
        return odd[below(p, sizeof odd / sizeof *odd)];
    return 4 * rt_random_uniform(p->random, p->drawn++) - 2;
}

double share(program *p)
{
    return hostile(p, 20) ? number(p) : rt_random_uniform(p->random, p->drawn++);
}

int whole(program *p, int low, int high)
{
    static const int odd[] = {INT_MIN, -100, -1, 0, 99, 1 << 16, INT_MAX};
    if (hostile(p, 10))
        return odd[below(p, sizeof odd / sizeof *odd)];
    return low + below(p, high - low + 1);
}

/* ---- tensors ---- */

rt_tensor *add_to_pool(program *p, rt_tensor *x)
{
    if (x && rt_size(x) <= MOST_ELEMENTS && p->pool_count < MOST_TENSORS)
        p->pool[p->pool_count++] = x;
    return x;
}

rt_shape spoiled(program *p, rt_shape shape)
{
    static const int odd[] = {0, -1, INT_MIN, INT_MAX, 1 << 16};
    rt_shape other = shape;
    for (int i = 0; i < shape.ndim; i++)
        if (chance(p, 50))
            other.axis[i] = odd[below(p, sizeof odd / sizeof *odd)];
    return rt_shape_size(other) ? shape : other;
}

/* The blocks are exactly as large as the shape, so that a sanitizer sees every step beside them. */
rt_tensor *leaf(program *p, rt_shape shape)
{
    if (hostile(p, 4))
        return NULL;
    if (p->leaf_count == MOST_TENSORS)
        return &p->leaves[0];
    const size_t size = rt_shape_size(shape);
    real *data = rt_alloc(size, sizeof *data), *grad = rt_alloc(size, sizeof *grad);
    if (!data || !grad)
        abort();
    for (size_t i = 0; i < size; i++)
        data[i] =
            (real)(hostile(p, 2) ? number(p) : 4 * rt_random_uniform(p->random, p->drawn++) - 2);
    rt_tensor *x = &p->leaves[p->leaf_count++];
    const bool spoil = hostile(p, 8);
    *x = rt_tensor_of(data, grad, spoil ? spoiled(p, shape) : shape);
    x->wants_grad = chance(p, 85);
    return spoil ? x : add_to_pool(p, x);
}

rt_shape shape_of_axes(program *p, int ndim)
{
    rt_shape shape = {.ndim = ndim};
    for (int i = 0; i < RT_MAX_AXES; i++)
        shape.axis[i] = i < ndim ? 1 + below(p, chance(p, 10) ? 9 : 5) : 1;
    return shape;
}

static rt_tensor *fresh(program *p)
{
    return leaf(p, shape_of_axes(p, below(p, RT_MAX_AXES + 1)));
}

rt_tensor *any(program *p)
{
    if (hostile(p, 4))
        return NULL;
    if (!p->pool_count || chance(p, 15))
        return fresh(p);
    return p->pool[below(p, p->pool_count)];
}

rt_tensor *with_axes(program *p, int ndim)
{
    if (hostile(p, 10))
        return any(p);
    for (int tries = 0; tries < 4 && p->pool_count; tries++) {
        rt_tensor *x = p->pool[below(p, p->pool_count)];
        if (x->ndim == ndim)
            return x;
    }
    return leaf(p, shape_of_axes(p, ndim));
}

rt_tensor *fitting(program *p, rt_shape shape)
{
    return hostile(p, 10) ? any(p) : leaf(p, shape);
}

int axis(const rt_tensor *x, int i)
{
    return x && i >= 0 && x->shape[i] >= 1 && x->shape[i] <= 64 ? x->shape[i] : 1;
}

int columns(const rt_tensor *x)
{
    return axis(x, x && x->ndim > 0 && x->ndim <= RT_MAX_AXES ? x->ndim - 1 : -1);
}

rt_shape shape_of(const rt_tensor *x)
{
    rt_shape shape = {.ndim = x ? x->ndim : 1};
    for (int i = 0; i < RT_MAX_AXES; i++)
        shape.axis[i] = axis(x, i);
    return shape;
}
