#ifndef ROTOR_OPS_ATTENTION_PRIVATE_H
#define ROTOR_OPS_ATTENTION_PRIVATE_H

/* What the two ways to compute softmax attention share: attention.c in tiles, short_attention.c
 * head by head. */

#include "ops/ops.h"

/* First and last position of the queries, or of the keys, of a tile. */
typedef struct rt_span {
    double first, last;
} rt_span;

typedef struct rt_attention_args {
    rt_attention_options o;                 /* scale and positions filled in */
    double *counted_queries, *counted_keys; /* positions 0, 1, 2, ..., if none are given */
    rt_span *query_spans, *key_spans;       /* of each tile */
    rt_random random;                       /* of dropout */
    uint64_t first;
    real *shift;   /* (B, H, Tq): m, or 0 for a row without visible keys */
    real *inverse; /* (B, H, Tq): 1/l, or 0 */
} rt_attention_args;

/* Returns whether the op is computed by short_attention.c. This depends on shapes, options and
 * engine alone. */
bool rt_attention_is_short(const rt_node *n);

/* Scratch memory of a part of the pass, in bytes. */
size_t rt_short_attention_scratch(const rt_node *n, rt_pass pass);

void rt_short_attention_forward(const rt_node *n);
void rt_short_attention_backward(const rt_node *n);

#endif
