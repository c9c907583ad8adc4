#ifndef ROTOR_CORE_GRAPH_PRIVATE_H
#define ROTOR_CORE_GRAPH_PRIVATE_H

/* Private declarations shared by graph.c (lifetime, memory, forward) and backward.c (gradients). */

#include "core/graph.h"

/* Block of numbers no longer needed, a consumed gradient or a released result, kept for the next
 * gradient or result of the same size. */
typedef struct spare {
    struct spare *next;
    size_t size;
    real *data;
} spare;

typedef struct spare_blocks {
    spare *free;  /* free blocks */
    spare *empty; /* unused records, whose blocks are in use */
} spare_blocks;

struct rt_graph {
    rt_arena arena;   /* dry in a dry graph */
    rt_arena present; /* nodes and arguments of a dry graph */
    rt_node *newest;
    spare_blocks spares;
    void *scratch;
    size_t scratch_size;
    rt_part_scratch part_scratch; /* of the current pass: that of this thread */
    size_t part;                  /* largest scratch memory of a part, in bytes */
    size_t library;               /* largest memory of the engine for an op, in bytes */
    rt_status status;
    rt_random random;
    uint32_t shard;
    bool record;
    bool recomputes;
    bool drops;   /* dropout is on */
    bool used_up; /* a backward has consumed the tape */
    const rt_threads *threads;
    rt_observer observer;
};

/* Returns the result in whose memory x is. */
static inline const rt_tensor *rt_memory_of(const rt_tensor *x)
{
    return x->viewed ? x->viewed : x;
}

/* Runs a pass of a node in its scratch memory. A dry graph skips forward and the observer. */
void rt_node_run(const rt_node *n, rt_pass pass);

/* Keeps x as rt_graph_keep, but also in a graph that records. The caller removes the newer nodes
 * from the tape. */
rt_tensor *rt_graph_forget(rt_graph *g, rt_arena_mark mark, rt_tensor *x);

/* Creates a node without running a pass; `data` holds the numbers of the result. NULL if the graph
 * has failed. */
rt_node *rt_node_new(rt_graph *g, const rt_op *op, rt_shape shape, rt_tensor *const *inputs,
                     int count, real *data);

/* Puts a node on the tape if its result wants a gradient. */
void rt_node_put(rt_node *node);

/* Borrows a block of `size` numbers, and returns it for the next borrower of the same size. */
real *rt_block_borrow(rt_graph *g, size_t size);
void rt_block_return(rt_graph *g, real *block, size_t size);

#endif
