#ifndef ROTOR_MODELS_LINEAR_FORM_H
#define ROTOR_MODELS_LINEAR_FORM_H

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

#include "models/options.h"

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
