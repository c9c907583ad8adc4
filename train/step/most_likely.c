#include "train/step/most_likely.h"

int32_t rt_most_likely_token(const rt_vocabulary *v, const real *weights)
{
    int32_t best = rt_vocabulary_unit(v, 0);
    for (int32_t id = 0; id < v->count; id++)
        if (rt_vocabulary_is_unit(v, id) && weights[id] > weights[best])
            best = id;
    return best;
}
