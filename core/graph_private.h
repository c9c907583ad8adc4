#ifndef ROTOR_CORE_GRAPH_PRIVATE_H
#define ROTOR_CORE_GRAPH_PRIVATE_H

/* What the files of a graph share: graph.c, its life, memory and forward; backward.c, gradients. */

#include "core/graph.h"

/* A gradient that was consumed, kept for the next of the same size. */
typedef struct spare {
    struct spare *next;
    size_t size;
    real *data;
} spare;

struct rt_graph {
    rt_arena arena;   /* dry in a dry graph, ... */
    rt_arena present; /* ... which has here what constructors fill in */
    rt_node *newest;
    spare *spares; /* blocks to lend */
    spare *empty;  /* records whose block is lent */
    void *scratch;
    size_t scratch_size;
    size_t library; /* bytes of the engine, of the largest op */
    rt_status status;
    rt_random random;
    uint32_t shard;
    bool record;
    bool drops;   /* dropout is on */
    bool used_up; /* the tape, by a backward */
    const rt_crew *crew;
    rt_observer observer;
};

/* Runs a pass of a node, once it has its room; in a dry graph, counts what it takes. */
void rt_node_run(const rt_node *n, rt_pass pass);

/* Asks for the gradients of the inputs as backward does, in a dry graph. */
void rt_node_lend_gradients(const rt_node *n);

#endif
