#ifndef ROTOR_OPS_OPS_H
#define ROTOR_OPS_OPS_H

/* Every differentiable op, and its contract.
 *
 * All of them: take tensors of the graph or leaves; return a new tensor that the
 * graph owns; return NULL if an input is NULL; on a shape or an argument that does
 * not fit return NULL and leave a message in the graph. `...` in a shape stands for
 * any leading axes. dx is the gradient of x, dy that of the result.
 */

#include "core/choice.h"
#include "core/graph.h"

#include <stdint.h>

/* ---- elementwise ---- */

/* x + y; the shape of y is that of x or of its last axes (then it is repeated). */
rt_tensor *rt_add(rt_graph *g, rt_tensor *x, rt_tensor *y);

/* x * y, element by element; shapes as for rt_add. */
rt_tensor *rt_multiply(rt_graph *g, rt_tensor *x, rt_tensor *y);

/* factor * x. */
rt_tensor *rt_scale(rt_graph *g, rt_tensor *x, double factor);

/* e^x. */
rt_tensor *rt_exp(rt_graph *g, rt_tensor *x);

/* Gaussian error linear unit, x/2 (1 + erf(x / sqrt 2)), the exact form
 * (Hendrycks and Gimpel 2016). */
rt_tensor *rt_gelu(rt_graph *g, rt_tensor *x);

/* Zero with probability p, else x / (1 - p); 0 <= p < 1. The mask is not stored:
 * backward draws it again from the graph's random numbers. p = 0 returns x. */
rt_tensor *rt_dropout(rt_graph *g, rt_tensor *x, double p);

/* ---- shape, sums ---- */

/* The same elements in another shape of the same size. */
rt_tensor *rt_reshape(rt_graph *g, rt_tensor *x, rt_shape shape);

/* The sum, and the mean, of all elements; a single number. */
rt_tensor *rt_sum(rt_graph *g, rt_tensor *x);
rt_tensor *rt_mean(rt_graph *g, rt_tensor *x);

/* ---- products ---- */

/*   a       (..., M, K)
 *   b       (..., K, N) with the same leading axes, or (K, N) for all of them
 *   result  (..., M, N) */
rt_tensor *rt_matmul(rt_graph *g, rt_tensor *a, rt_tensor *b);

/* x weight^T + bias.
 *
 *   x       (..., I)
 *   weight  (O, I)
 *   bias    (O), or NULL
 *   result  (..., O) */
rt_tensor *rt_linear(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias);

/* ---- rows ---- */

/* (x - mean) / sqrt(variance + eps) * weight + bias over the last axis, with the
 * biased variance (Ba et al. 2016).
 *
 *   x             (..., C)
 *   weight, bias  (C) */
rt_tensor *rt_layer_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias, double eps);

/* e^x / sum e^x over the last axis. */
rt_tensor *rt_softmax(rt_graph *g, rt_tensor *x);

/* Rows of a table.
 *
 *   table   (V, C)
 *   ids     as many as the shape has elements, each 0 ... V-1; must live until the
 *           graph is cleared
 *   result  (shape..., C)
 *
 * An id that occurs twice adds to its row twice. Also gathers rows of any matrix. */
rt_tensor *rt_embedding(rt_graph *g, rt_tensor *table, const int32_t *ids, rt_shape shape);

enum { RT_IGNORE = -100 };

/* sum over the labelled rows of (log sum_j e^(x_j) - x_label), divided by `divisor`.
 *
 *   logits  (..., V)
 *   labels  one per row, 0 ... V-1, or RT_IGNORE for a row that does not count; must
 *           live until the graph is cleared
 *   result  a single number
 *
 * A mean has the number of labels as its divisor; over shards, that of all of them. */
rt_tensor *rt_cross_entropy(rt_graph *g, rt_tensor *logits, const int32_t *labels, double divisor);

/* How many labelled rows have their largest logit at the label (the first of equals
 * counts). Not differentiable. */
size_t rt_count_correct(const rt_tensor *logits, const int32_t *labels);

/* ---- rotary position embedding ---- */

#define RT_PAIRINGS(X) X(RT_INTERLEAVED, "interleaved") X(RT_HALF, "half")
typedef enum rt_pairing { RT_PAIRINGS(RT_CHOICE_VALUE) } rt_pairing;

/* What a theta parameter holds: theta, or lambda = ln theta. */
#define RT_THETA_FORMS(X) X(RT_THETA_LOG, "log") X(RT_THETA_RAW, "raw")
typedef enum rt_theta_form { RT_THETA_FORMS(RT_CHOICE_VALUE) } rt_theta_form;

#endif
