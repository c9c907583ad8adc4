#ifndef ROTOR_CORE_TENSOR_H
#define ROTOR_CORE_TENSOR_H

/* A tensor: a contiguous row-major block with a shape, and its gradient.
 *
 * A tensor owns nothing. The blocks of a parameter or an input belong to their creator; those of a
 * result belong to the graph whose op returned it, and are invalid after rt_graph_clear.
 *
 * Shape letters used throughout: B batch, T time, H heads, D head size, C channels = H*D, V
 * vocabulary.
 */

#include "core/real.h"

#include <stdbool.h>
#include <stddef.h>

enum { RT_MAX_AXES = 4, RT_SHAPE_TEXT_SIZE = 56 };

typedef struct rt_tensor {
    real *data;    /* NULL: released to the graph, or bf16-only; see rounded */
    real *grad;    /* as large as data; of a result NULL until backward adds to it */
    void *rounded; /* of a result: its numbers in bf16, if an op has made them; without data, the
                      tensor is bf16-only, which only products accept */
    double *exact; /* numbers in double of a long sum, from its op or the caller, which attention
                      and rotations read in place of data; NULL: none */
    void *rounded_grad;     /* in place of grad: the gradient in bf16, which only products accept */
    int shape[RT_MAX_AXES]; /* outermost first; 1 beyond ndim */
    int ndim;               /* 0 (a single number) ... RT_MAX_AXES */
    bool wants_grad;
    bool borrowed;            /* a leaf: its blocks belong to the caller, not to a graph */
    bool reached;             /* backward has asked for the gradient; the sum may be 0 */
    struct rt_tensor *viewed; /* the result whose memory this one shares; NULL: none */
} rt_tensor;

/* Shape as an expression: RT_SHAPE_OF(2, 3). */
typedef struct rt_shape {
    int ndim;
    int axis[RT_MAX_AXES];
} rt_shape;

#define RT_SHAPE_OF(...)                                                                           \
    ((rt_shape){(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
#define RT_SCALAR ((rt_shape){0, {1, 1, 1, 1}})

/* Returns a leaf over the caller's blocks. It wants a gradient if grad is not NULL. */
rt_tensor rt_tensor_of(real *data, real *grad, rt_shape shape);

rt_shape rt_tensor_shape(const rt_tensor *x);
bool rt_same_shape(const rt_tensor *x, const rt_tensor *y);
bool rt_shapes_equal(rt_shape a, rt_shape b);

/* Returns the number of elements. rt_shape_size returns 0 for an invalid shape: the number of axes
 * is not 0 ... RT_MAX_AXES, an axis is below 1, or the number of elements does not fit an int (the
 * BLAS counts in int). Check a caller's shape with it first. */
size_t rt_size(const rt_tensor *x);
size_t rt_shape_size(rt_shape shape);

/* Returns the side n of the grid that T tokens form, T = 1 + n^2, or 0 if they form none. Token 0
 * is at column 0 and row 0, token 1 + r n + c at column c and row r. */
int rt_grid_side(int T);

/* Returns the length of the last axis (1 for a single number), and the number of rows of that
 * length. */
int rt_columns(const rt_tensor *x);
size_t rt_rows(const rt_tensor *x);

/* Writes a shape for a message, such as "(8, 32, 64)", to a buffer that lives as long as the
 * surrounding braces. */
#define rt_shape_text(x) rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, rt_tensor_shape(x))
const char *rt_shape_write(char *text, rt_shape shape);

#endif
