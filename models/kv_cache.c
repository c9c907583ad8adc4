#include "models/kv_cache.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Counts the memory of make_room(): twice the visible and the new tokens. */
double rt_kv_cache_bytes(const rt_transformer_options *o, int tokens, int at_once)
{
    const double D = rt_transformer_head_dim(o), H = o->heads;
    const double row = D * o->kv_heads;
    double numbers = 0;
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return o->layers * (H * (D + 1) * (D + 1) + H) * sizeof(real);
    for (int l = 0; l < o->layers; l++) {
        const int window = rt_layer_row_of(o, l).window;
        numbers += 4 * row * (window ? fmin(window - 1.0 + at_once, tokens) : tokens);
    }
    return numbers * sizeof(real);
}

rt_status rt_kv_cache_init(rt_kv_cache *c, const rt_transformer_options *o)
{
    const size_t D = (size_t)rt_transformer_head_dim(o), H = (size_t)o->heads;
    const bool is_linear = o->attention != RT_ATTENTION_SOFTMAX;
    /* For every head the sums of k v^T and of v, the sums of k and their number, and a level. */
    const size_t above = H * (D + 1) * D, below = H * (D + 1);
    *c = (rt_kv_cache){.layer_count = o->layers,
                       .row = (size_t)o->kv_heads * D,
                       .state_size = is_linear ? above + below + H : 0,
                       .levels = H,
                       .layers = rt_alloc((size_t)o->layers, sizeof *c->layers)};
    if (!c->layers)
        return rt_out_of_memory("keys and values");
    for (int l = 0; l < o->layers; l++) {
        rt_linear_state *state = &c->layers[l].state;
        c->layers[l].window = rt_layer_row_of(o, l).window;
        if (!is_linear)
            continue;
        state->sum = rt_alloc(c->state_size, sizeof(real));
        if (!state->sum)
            return rt_out_of_memory("the sums of linear attention");
        state->below = state->sum + above;
        state->level = state->below + below;
    }
    rt_kv_cache_clear(c);
    return rt_ok();
}

void rt_kv_cache_free(rt_kv_cache *c)
{
    for (int l = 0; c->layers && l < c->layer_count; l++) {
        rt_free(c->layers[l].keys);
        rt_free(c->layers[l].state.sum);
    }
    rt_free(c->layers);
    *c = (rt_kv_cache){0};
}

void rt_kv_cache_clear(rt_kv_cache *c)
{
    c->count = c->length = 0;
    for (int l = 0; l < c->layer_count; l++) {
        const rt_linear_state *state = &c->layers[l].state;
        c->layers[l].first = 0;
        if (c->state_size)
            memset(state->sum, 0, c->state_size * sizeof(real));
        for (size_t h = 0; c->state_size && h < c->levels; h++)
            state->level[h] = RT_NO_LEVEL;
    }
}

void rt_kv_cache_drop(rt_kv_cache *c)
{
    for (int l = 0; l < c->layer_count; l++) {
        rt_kv_layer *layer = c->layers + l;
        rt_free(layer->keys);
        layer->keys = layer->values = NULL;
        layer->capacity = 0;
    }
    rt_kv_cache_clear(c);
}

/* Returns how many of the first `count` tokens the next token can see in a layer. */
static int seen(const rt_kv_layer *layer, int count)
{
    return layer->window && layer->window - 1 < count ? layer->window - 1 : count;
}

bool rt_kv_cache_reaches(const rt_kv_cache *c, int count)
{
    for (int l = 0; l < c->layer_count; l++)
        if (c->layers[l].first > count - seen(c->layers + l, count))
            return false;
    return true;
}

/* Moves the last `count` tokens to the beginning of `keys` and `values`. */
static void move_last(const rt_kv_cache *c, rt_kv_layer *layer, real *keys, real *values, int count)
{
    const size_t from = (size_t)(c->count - count - layer->first) * c->row;
    const size_t size = (size_t)count * c->row * sizeof *keys;
    if (size) {
        memmove(keys, layer->keys + from, size);
        memmove(values, layer->values + from, size);
    }
    layer->first = c->count - count;
}

/* Makes room for T more tokens. Memory doubles as it grows; a window has twice the tokens that it
 * sees, so that they move to the beginning only once in that many tokens. */
static bool make_room(const rt_kv_cache *c, rt_kv_layer *layer, int T)
{
    const int behind = seen(layer, c->count);
    if (c->count - layer->first <= layer->capacity - T)
        return true;
    if (layer->window && layer->capacity - T >= 2 * behind) {
        move_last(c, layer, layer->keys, layer->values, behind);
        return true;
    }
    const int capacity = behind < INT_MAX / 2 - T ? 2 * (behind + T) : INT_MAX;
    real *keys = rt_alloc_unset((size_t)capacity, 2 * c->row * sizeof *keys);
    if (!keys)
        return false;
    real *values = keys + (size_t)capacity * c->row;
    move_last(c, layer, keys, values, behind);
    rt_free(layer->keys);
    layer->keys = keys;
    layer->values = values;
    layer->capacity = capacity;
    return true;
}

const double *rt_kv_cache_append(rt_kv_cache *c, rt_graph *g, int l, rt_tensor **k, rt_tensor **v)
{
    rt_kv_layer *layer = c->layers + l;
    if (!RT_CHECK_INPUTS(g, "cache", RT_INPUT(*k), RT_INPUT(*v)))
        return NULL;
    const int T = (*k)->shape[1];
    if (!make_room(c, layer, T))
        return rt_graph_fail(g, RT_MEMORY, "out of memory for the keys and values of %d tokens",
                             c->count + T);
    const size_t end = (size_t)(c->count - layer->first) * c->row;
    rt_memory_copy(layer->keys + end, (*k)->data, rt_size(*k) * sizeof(real));
    rt_memory_copy(layer->values + end, (*v)->data, rt_size(*v) * sizeof(real));
    const int behind = seen(layer, c->count), start = c->count - behind;
    const size_t begin = (size_t)(start - layer->first) * c->row;
    double *positions = rt_graph_memory(g, (size_t)(behind + T), sizeof *positions);
    for (int t = 0; positions && t < behind + T; t++)
        positions[t] = start + t;
    const rt_shape shape = RT_SHAPE_OF(1, behind + T, (*k)->shape[2], (*k)->shape[3]);
    *k = rt_graph_constant(g, layer->keys + begin, shape);
    *v = rt_graph_constant(g, layer->values + begin, shape);
    return *k && *v ? positions : NULL;
}
