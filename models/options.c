#include "models/options.h"

#include "core/parameters.h"

#include <limits.h>

static int or_else(int size, int fallback)
{
    return size ? size : fallback;
}

void rt_transformer_resolve(rt_transformer_options *o)
{
    rt_position_options *position = &o->position;
    o->kv_heads = or_else(o->kv_heads, o->heads);
    o->embedding_dim = or_else(o->embedding_dim, o->dim);
    o->ffn_dim = or_else(o->ffn_dim, o->dim < INT_MAX / 4 ? 4 * o->dim : INT_MAX);
    o->init_std = o->init_std == 0 ? RT_INIT_STD : o->init_std;
    position->init_std = position->init_std == 0 ? o->init_std : position->init_std;
}

void rt_transformer_resolve_lengths(rt_transformer_options *o, int length, int longest)
{
    rt_position_options *position = &o->position;
    position->max_len = or_else(position->max_len, longest);
    position->frequencies.original_len = or_else(position->frequencies.original_len, length);
}
