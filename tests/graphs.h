#ifndef ROTOR_TESTS_GRAPHS_H
#define ROTOR_TESTS_GRAPHS_H

#include "core/graph.h"
#include "suite.h"

#include <math.h>

RELEASER(free_new_graph, rt_graph_free)

/* Returns a graph, which is freed after the test. */
static inline rt_graph *new_graph(void)
{
    return owned(rt_graph_new(), free_new_graph);
}

/* Expects an op to have returned a tensor; returns that tensor. */
static inline rt_tensor *made(const rt_graph *g, rt_tensor *result)
{
    ck_assert_msg(result != NULL, "%s", rt_graph_status(g).message);
    return result;
}

/* Runs the parts of an op in reverse order, as threads might, each with its own scratch memory full
 * of NaN. Counts the calls with more than one part. */
static inline void run_backwards(void *calls, rt_part *part, void *context, int parts,
                                 rt_part_scratch room)
{
    const size_t count = room.bytes / sizeof(real) + 1;
    real *own = malloc(count * sizeof *own);
    *(int *)calls += parts > 1;
    while (parts--) {
        for (size_t i = 0; i < count; i++)
            own[i] = (real)NAN;
        part(context, parts, room.bytes ? own : NULL);
    }
    free(own);
}

#endif
