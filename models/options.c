#include "models/options.h"

#include "core/parameters.h"
#include "models/encodings/encoding.h"

#include <limits.h>

static int or_else(int size, int fallback)
{
    return size ? size : fallback;
}

int rt_transformer_head_dim(const rt_transformer_options *o)
{
    return o->head_dim || o->heads < 1 ? o->head_dim : o->dim / o->heads;
}

static int word_of(const rt_layer_words *words, int layer, int otherwise)
{
    return layer < words->count ? words->at[layer] : otherwise;
}

rt_layer_row rt_layer_row_of(const rt_transformer_options *o, int l)
{
    const int every = o->position.every;
    const bool placed = every < 2 || (l + 1) % every != 0;
    const int type = word_of(&o->layer_types, l, RT_LAYER_SLIDING);
    const int window = type == RT_LAYER_SLIDING ? o->window : 0;
    const double local_base = o->position.local_base, base = o->position.frequencies.base;
    const double local = o->position.local_fraction;
    return (rt_layer_row){.has_positions = word_of(&o->position.layers, l, placed),
                          .window = window,
                          .base = window && local_base > 0 ? local_base : base,
                          .fraction = window && local > 0 ? local : o->position.fraction,
                          .has_attention_norm = l || o->first_norm == RT_WITH};
}

rt_frequency_options rt_layer_frequencies(const rt_transformer_options *o, int l)
{
    rt_frequency_options frequencies = o->position.frequencies;
    int layer = l < 0 ? 0 : l;
    while (l < 0 && layer < o->layers && !rt_layer_row_of(o, layer).has_positions)
        layer++;
    frequencies.base = rt_layer_row_of(o, layer).base;
    return frequencies;
}

bool rt_layers_differ_in_base(const rt_transformer_options *o)
{
    const double base = rt_layer_frequencies(o, -1).base;
    bool apart = false;
    for (int l = 0; l < o->layers; l++) {
        const rt_layer_row row = rt_layer_row_of(o, l);
        apart |= row.has_positions && row.base != base;
    }
    return apart && o->position.frequencies.family != RT_FREQUENCIES_RECIPROCAL;
}

void rt_transformer_resolve(rt_transformer_options *o)
{
    rt_position_options *position = &o->position;
    o->kv_heads = or_else(o->kv_heads, o->heads);
    if (o->heads > 0 && o->dim % o->heads == 0)
        o->head_dim = rt_transformer_head_dim(o);
    position->axes = or_else(position->axes, 1);
    position->rank = or_else(position->rank, 16);
    o->embedding_dim = or_else(o->embedding_dim, o->dim);
    o->ffn_dim = or_else(o->ffn_dim, o->dim < INT_MAX / 4 ? 4 * o->dim : INT_MAX);
    if (o->embedding_norm == RT_EMBEDDING_NORM_AUTO)
        o->embedding_norm =
            o->kind == RT_KIND_ROFORMER ? RT_EMBEDDING_NORM_YES : RT_EMBEDDING_NORM_NO;
    o->init_std = o->init_std == 0 ? RT_INIT_STD : o->init_std;
    position->init_std = position->init_std == 0 ? o->init_std : position->init_std;
}

void rt_transformer_resolve_lengths(rt_transformer_options *o, int length, int longest)
{
    rt_position_options *position = &o->position;
    position->max_len =
        or_else(position->max_len, position->randomized > longest ? position->randomized : longest);
    position->frequencies.original_len = or_else(position->frequencies.original_len, length);
}
