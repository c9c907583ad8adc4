#ifndef ROTOR_CORE_GRAPH_PRIVATE_H
#define ROTOR_CORE_GRAPH_PRIVATE_H

/* Declarations that graph.c (life, memory, forward) and backward.c (gradients) share. */

#include "core/graph.h"

/* Numbers that are not needed any more, a consumed gradient or what was given back, kept for the
 * next gradient or result of the same size. */
typedef struct spare {
    struct spare *next;
    size_t size;
    real *data;
} spare;

struct rt_graph {
    rt_arena arena;   /* dry in a dry graph */
    rt_arena present; /* nodes and arguments of a dry graph */
    rt_node *newest;
    spare *spares; /* blocks to lend */
    spare *empty;  /* records whose block is lent */
    void *scratch;
    size_t scratch_size;
    rt_part_room part_room; /* of the pass under way: that of this thread */
    size_t part;            /* the largest of any part, in bytes */
    size_t library;         /* bytes of the engine, of the largest op */
    rt_status status;
    rt_random random;
    uint32_t shard;
    bool record;
    bool recomputes;
    bool drops;   /* dropout is on */
    bool used_up; /* the tape, by a backward */
    const rt_crew *crew;
    rt_observer observer;
};

/* The result in whose memory x is. */
static inline const rt_tensor *rt_memory_of(const rt_tensor *x)
{
    return x->viewed ? x->viewed : x;
}

/* Runs a pass of a node in its scratch memory. A dry graph skips forward and the observer. */
void rt_node_run(const rt_node *n, rt_pass pass);

/* Keeps x as rt_graph_keep, also in a graph that records, whose newer nodes are removed. */
rt_tensor *rt_graph_forget(rt_graph *g, rt_arena_mark mark, rt_tensor *x);

/* A node without a pass; its result has no numbers yet. NULL if the graph has failed. */
rt_node *rt_node_new(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *const *inputs,
                     int count, real *data);

/* Goes back from the newest node, and from there on. */
void rt_graph_walk(rt_graph *g);

/* Borrows a block of `size` numbers, and returns it for the next borrower of the same size. */
real *rt_block_lend(rt_graph *g, size_t size);
void rt_block_return(rt_graph *g, real *block, size_t size);

#endif
