#ifndef ROTOR_OPS_ATTENTION_ROWS_H
#define ROTOR_OPS_ATTENTION_ROWS_H

/* Passes over the rows of a tile of scores, or of what attention multiplies them with: a row for
 * each query. Scores s, weights p and their gradients have `columns` keys in a row and no gaps. */

#include "core/real.h"

/* A row without a visible key has maximum -infinity: any finite shift makes it zeros. */
static inline real rt_finite_or_zero(real x)
{
    return x > -RT_REAL_MAX ? x : 0;
}

/* s = e^(s - m), with the running maximum m and sum l of every row; `factor` is what the sums
 * so far have shrunk by. */
void rt_attention_soften(real *s, int rows, int columns, real *m, real *l, real *factor);

/* s = e^(s - shift) inverse: the weights, from what forward kept. */
void rt_attention_weigh(real *s, int rows, int columns, const real *shift, const real *inverse);

/* Row r of x (rows, size) times factor r. */
void rt_attention_scale(real *x, int stride, int rows, int size, const real *factor);

/* delta_r = sum_i x_ri y_ri, both laid out with the stride. */
void rt_attention_multiply(real *delta, const real *x, const real *y, int stride, int rows,
                           int size);

/* ds = p (dp - delta), in place of dp. */
void rt_attention_score_gradient(real *dp, const real *p, int rows, int columns, const real *delta);

#endif
