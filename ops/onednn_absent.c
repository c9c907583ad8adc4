/* Replaces the engine oneDNN in a build without it: the library was not found, or the precision is
 * double, which it does not support. */

#include "ops/private.h"

rt_status rt_onednn_begin(rt_math math)
{
    (void)math;
#ifdef RT_DOUBLE
    return rt_error(RT_CONFIG, "oneDNN computes in float; this program computes in double");
#else
    return rt_error(RT_CONFIG, "this program was built without oneDNN: install libdnnl-dev and "
                               "build again");
#endif
}

bool rt_onednn_multiply(const rt_product *p, rt_math math)
{
    (void)p;
    (void)math;
    return false;
}

size_t rt_onednn_library(int m, int n, int k, rt_math math)
{
    (void)m, (void)n, (void)k, (void)math;
    return 0;
}

int rt_onednn_batch_room(rt_math math)
{
    (void)math;
    return 0;
}

const char *rt_onednn_kernels(void)
{
    return "none";
}
