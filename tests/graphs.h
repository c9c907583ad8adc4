#ifndef ROTOR_TESTS_GRAPHS_H
#define ROTOR_TESTS_GRAPHS_H

#include "core/graph.h"
#include "suite.h"

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

#endif
