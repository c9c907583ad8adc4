#include "ops/distance.h"

#include "ops/gemm.h"

#include <math.h>
#include <string.h>

/* With as many numbers per query as there are classes, t_ic = bias_c + scale q_i . key_c, the
 * score of query i and key j gets t_i,class(j - i). */

rt_distance_head rt_distance_head_of(const rt_attention_options *o, int h, int H, int D)
{
    const rt_tensor *bias = o->distance_bias, *keys = o->distance_keys;
    return (rt_distance_head){.distances = o->distances,
                              .bias = bias ? bias->data + h : NULL,
                              .bias_stride = H,
                              .keys = keys ? keys->data : NULL,
                              .D = D,
                              .scale = (real)o->scale};
}

static int class_of(const rt_distances *d, double query, double key)
{
    const double distance = key - query, reach = d->reach;
    const double clamped = distance < -reach ? -reach : distance > reach ? reach : distance;
    return d->class_of[(int)lrint(clamped) + d->reach];
}

static rt_operand keys_of(const rt_distance_head *h, bool transposed)
{
    const rt_operand keys = rt_rows_at(h->keys, h->D);
    return transposed ? rt_transposed(keys) : keys;
}

void rt_distance_add(real *s, real *room, const rt_distance_head *h, rt_distance_tile t)
{
    const int classes = h->distances->classes;
    if (h->keys)
        rt_gemm(t.rows, classes, h->D, h->scale, rt_rows_at(t.q, t.q_stride), keys_of(h, true), 0,
                room, classes);
    else
        memset(room, 0, (size_t)t.rows * (size_t)classes * sizeof *room);
    for (int i = 0; i < t.rows; i++) {
        real *term = room + (size_t)i * (size_t)classes;
        real *row = s + (size_t)i * (size_t)t.columns;
        for (int c = 0; h->bias && c < classes; c++)
            term[c] += h->bias[(size_t)c * (size_t)h->bias_stride];
        for (int j = 0; j < t.columns; j++)
            row[j] += term[class_of(h->distances, t.query[i], t.key[j])];
    }
}

void rt_distance_backward(const real *ds, real *room, const rt_distance_head *h, rt_distance_tile t)
{
    const int classes = h->distances->classes;
    const rt_operand dterm = rt_rows_at(room, classes);
    memset(room, 0, (size_t)t.rows * (size_t)classes * sizeof *room);
    for (int i = 0; i < t.rows; i++) {
        real *term = room + (size_t)i * (size_t)classes;
        const real *row = ds + (size_t)i * (size_t)t.columns;
        for (int j = 0; j < t.columns; j++)
            term[class_of(h->distances, t.query[i], t.key[j])] += row[j];
        for (int c = 0; h->dbias && c < classes; c++)
            h->dbias[(size_t)c * (size_t)h->bias_stride] += term[c];
    }
    if (h->keys && t.dq)
        rt_gemm(t.rows, h->D, classes, h->scale, dterm, keys_of(h, false), 1, t.dq, t.q_stride);
    if (h->dkeys)
        rt_gemm(classes, h->D, t.rows, h->scale, rt_transposed(dterm), rt_rows_at(t.q, t.q_stride),
                1, h->dkeys, h->D);
}
