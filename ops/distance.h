#ifndef ROTOR_OPS_DISTANCE_H
#define ROTOR_OPS_DISTANCE_H

/* Terms that attention adds to a score for the distance between query and key: a learned bias of
 * the distance's class (T5), or the product of the query with a learned key of it (Shaw). */

#include "ops/ops.h"

/* One head. The gradients are NULL where none is wanted. */
typedef struct rt_distance_head {
    const rt_distances *distances;
    const real *bias; /* of class 0; NULL: none */
    real *dbias;
    int bias_stride;  /* from one class to the next */
    const real *keys; /* (classes, D); NULL: none */
    real *dkeys;
    int D;
    real scale; /* of products */
} rt_distance_head;

/* Some queries and some keys. */
typedef struct rt_distance_tile {
    const real *q;
    real *dq; /* laid out as q; NULL: not wanted */
    int q_stride;
    const double *query, *key; /* positions */
    int rows, columns;
} rt_distance_tile;

rt_distance_head rt_distance_head_of(const rt_attention_options *o, int h, int H, int D);

/* s (rows, columns) += the terms; `room` is for (rows, classes) numbers. */
void rt_distance_add(real *s, real *room, const rt_distance_head *h, rt_distance_tile t);

/* Adds to dq, dbias and dkeys, given ds (rows, columns). */
void rt_distance_backward(const real *ds, real *room, const rt_distance_head *h,
                          rt_distance_tile t);

#endif
