#ifndef ROTOR_MODELS_LAYERS_H
#define ROTOR_MODELS_LAYERS_H

/* The pieces that models are made of: a few parameters under one name. */

#include "core/parameters.h"
#include "models/options.h"
#include "ops/ops.h"

/* A weight and a bias, of a linear map or of a norm; either may have no bias. */
typedef struct rt_affine {
    rt_tensor *weight;
    rt_tensor *bias;
    rt_norm_kind norm_kind; /* of a norm */
} rt_affine;

/* NAME.weight (out, in), a weight or a matrix of a layer, and, if there is one, NAME.bias (out). */
rt_affine rt_add_linear(rt_parameters *p, rt_role role, const char *name, int out, int in,
                        bool biased);

/* NAME.weight and, of a LayerNorm that has one, NAME.bias, (size) each. */
rt_affine rt_add_norm(rt_parameters *p, const char *name, int size, rt_norm_kind kind, bool biased);

/* NAME.weight (rows, size), an embedding or a decoder. */
rt_tensor *rt_add_table(rt_parameters *p, const char *name, int rows, int size);

/* The norm of x over its last axis. */
rt_tensor *rt_affine_norm(rt_graph *g, rt_tensor *x, rt_affine a, double eps);

/* x weight^T + bias. */
rt_tensor *rt_affine_apply(rt_graph *g, rt_tensor *x, rt_affine a);

/* residual + x weight^T + bias. */
rt_tensor *rt_affine_onto(rt_graph *g, rt_tensor *residual, rt_tensor *x, rt_affine a);

/* f(gate's map of x) times a's map of x. */
rt_tensor *rt_affine_gated(rt_graph *g, rt_tensor *x, rt_affine gate, rt_affine a,
                           rt_activation kind);

/* f(x weight^T + bias). */
rt_tensor *rt_affine_activate(rt_graph *g, rt_tensor *x, rt_affine a, rt_activation kind);

/* ---- linear attention ---- */

/* The forms of linear attention: what stands in place of e^(q . k). With R_m the rotation at
 * position m, for query m and visible key n:
 *
 *     linear_elu      R_m phi(q) . R_n phi(k) over phi(q) . phi(k), phi = elu + 1
 *                     (Katharopoulos et al. 2020; with RoPE, Su et al. 2021, eq. 19)
 *     linear_softmax  the same with softmax(q) over the features, and e^k
 *                     (after Shen et al. 2021)
 *     linear_cosine   1 + R_m q/|q| . R_n k/|k|, above and below: weights from 0 to 2 that
 *                     sum to 1
 *
 * With rotation, weights of the first two forms can be negative and need not sum to 1. */

typedef struct rt_linear_form_options {
    rt_attention_kind kind;            /* not softmax */
    const rt_rotation *query_rotation; /* NULL: not rotated */
    const rt_rotation *key_rotation;
    bool causal;
    const uint8_t *key_mask; /* (B, Tk): 1 = visible; NULL: all are */
    double eps;              /* added to the denominator */
    rt_linear_state *state;  /* of the tokens before, as for rt_linear_attention; NULL */
} rt_linear_form_options;

/* Shapes as for rt_linear_attention. */
rt_tensor *rt_linear_form(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                          const rt_linear_form_options *options);

#endif
