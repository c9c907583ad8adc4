/* Compiled for float and linked with the double library: must not link. */

#include "core/graph.h"

int main(void)
{
    rt_graph_free(rt_graph_new());
    return 0;
}
