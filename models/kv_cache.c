#include "models/kv_cache.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Returns the number of biases of a key: one for each query head, if an encoding has them. */
static size_t biases_of(const rt_transformer_options *o)
{
    const rt_encoding *encoding;
    bool some = false;
    for (int n = 0; (encoding = rt_encoding_at(o, n)); n++)
        some |= encoding->biases_keys && rt_encoding_acts(encoding, o, 0);
    return some ? (size_t)o->heads : 0;
}

/* Counts the memory of make_room(): twice the visible and the new tokens. */
double rt_kv_cache_bytes(const rt_transformer_options *o, int tokens, int at_once)
{
    const double D = rt_transformer_head_dim(o), H = o->heads;
    double bytes = 0;
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return o->layers * (H * (D + 1) * (D + 1) + H) * sizeof(real);
    for (int l = 0; l < o->layers; l++) {
        const int window = rt_layer_row_of(o, l).window;
        const double held = window ? fmin(window - 1.0 + at_once, tokens) : tokens;
        const double row = (D + rt_key_features(o, l)) * o->kv_heads;
        bytes += held * (2 * row * sizeof(real) + 2 * (double)biases_of(o) * sizeof(double)) +
                 (double)rt_encodings_state(o, l) * sizeof(double);
    }
    return bytes;
}

rt_status rt_kv_cache_init(rt_kv_cache *c, const rt_transformer_options *o)
{
    const size_t D = (size_t)rt_transformer_head_dim(o), H = (size_t)o->heads;
    const bool is_linear = o->attention != RT_ATTENTION_SOFTMAX;
    /* For every head the sums of k v^T and of v, the sums of k and their number, and a level. */
    const size_t above = H * (D + 1) * D, below = H * (D + 1);
    *c = (rt_kv_cache){.layer_count = o->layers,
                       .row = (size_t)o->kv_heads * D,
                       .biases = biases_of(o),
                       .only_forward = is_linear,
                       .state_size = is_linear ? above + below + H : 0,
                       .levels = H,
                       .layers = rt_alloc((size_t)o->layers, sizeof *c->layers)};
    RT_TRY(rt_allocated(c->layers, "keys and values"));
    for (int l = 0; l < o->layers; l++) {
        rt_linear_state *state = &c->layers[l].state;
        const size_t numbers = rt_encodings_state(o, l);
        c->layers[l].window = rt_layer_row_of(o, l).window;
        c->layers[l].key_row = (size_t)o->kv_heads * (size_t)rt_key_features(o, l);
        c->layers[l].encodings.count = numbers;
        c->only_forward |= numbers > 0;
        if (numbers && !(c->layers[l].encodings.numbers = rt_alloc(numbers, sizeof(double))))
            return rt_out_of_memory("the state of a positional encoding");
        if (!is_linear)
            continue;
        state->sum = rt_alloc(c->state_size, sizeof(real));
        RT_TRY(rt_allocated(state->sum, "the sums of linear attention"));
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
        rt_free(c->layers[l].biases);
        rt_free(c->layers[l].encodings.numbers);
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
        if (c->layers[l].encodings.count)
            memset(c->layers[l].encodings.numbers, 0,
                   c->layers[l].encodings.count * sizeof(double));
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
        rt_free(layer->biases);
        layer->keys = layer->values = NULL;
        layer->biases = NULL;
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

/* The keys, values and biases of tokens. */
typedef struct block {
    real *keys, *values;
    double *biases;
} block;

/* Moves the last `count` tokens to the beginning of a block. */
static void move_last(const rt_kv_cache *c, rt_kv_layer *layer, block to, int count)
{
    const size_t from = (size_t)(c->count - count - layer->first), moved = (size_t)count;
    if (moved) {
        memmove(to.keys, layer->keys + from * layer->key_row,
                moved * layer->key_row * sizeof *to.keys);
        memmove(to.values, layer->values + from * c->row, moved * c->row * sizeof *to.values);
    }
    if (moved && c->biases)
        memmove(to.biases, layer->biases + from * c->biases, moved * c->biases * sizeof *to.biases);
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
        move_last(c, layer, (block){layer->keys, layer->values, layer->biases}, behind);
        return true;
    }
    const int capacity = behind < INT_MAX / 2 - T ? 2 * (behind + T) : INT_MAX;
    block b = {.keys =
                   rt_alloc_unset((size_t)capacity, (layer->key_row + c->row) * sizeof *b.keys)};
    if (b.keys && c->biases)
        b.biases = rt_alloc_unset((size_t)capacity, c->biases * sizeof *b.biases);
    if (!b.keys || (c->biases && !b.biases)) {
        rt_free(b.keys);
        return false;
    }
    b.values = b.keys + (size_t)capacity * layer->key_row;
    move_last(c, layer, b, behind);
    rt_free(layer->keys);
    rt_free(layer->biases);
    layer->keys = b.keys;
    layer->values = b.values;
    layer->biases = b.biases;
    layer->capacity = capacity;
    return true;
}

/* Appends the biases of T tokens from token `end` of the layer on, and returns those from `begin`
 * on, (1, H, Tk). */
static rt_tensor *append_biases(const rt_kv_cache *c, rt_graph *g, const rt_kv_layer *layer,
                                const rt_tensor *bias, size_t begin, size_t end)
{
    const size_t H = c->biases, T = (size_t)bias->shape[2], Tk = end + T - begin;
    double *exact = rt_graph_memory(g, H * Tk, sizeof *exact);
    real *data = rt_graph_memory(g, H * Tk, sizeof *data);
    if (!exact || !data)
        return NULL;
    for (size_t t = 0; t < T; t++)
        for (size_t h = 0; h < H; h++)
            layer->biases[(end + t) * H + h] = bias->exact[h * T + t];
    for (size_t h = 0; h < H; h++)
        for (size_t t = 0; t < Tk; t++)
            data[h * Tk + t] = (real)(exact[h * Tk + t] = layer->biases[(begin + t) * H + h]);
    rt_tensor *all = rt_graph_constant(g, data, RT_SHAPE_OF(1, (int)H, (int)Tk));
    if (all)
        all->exact = exact;
    return all;
}

const double *rt_kv_cache_append(rt_kv_cache *c, rt_graph *g, int l, rt_tensor **k, rt_tensor **v,
                                 rt_tensor **bias)
{
    rt_kv_layer *layer = c->layers + l;
    if (!RT_CHECK_INPUTS(g, "cache", RT_INPUT(*k), RT_INPUT(*v), RT_OPTIONAL(*bias)))
        return NULL;
    const int T = (*k)->shape[1];
    if (!make_room(c, layer, T))
        return rt_graph_fail(g, RT_MEMORY, "out of memory for the keys and values of %d tokens",
                             c->count + T);
    const size_t end = (size_t)(c->count - layer->first);
    rt_memory_copy(layer->keys + end * layer->key_row, (*k)->data, rt_size(*k) * sizeof(real));
    rt_memory_copy(layer->values + end * c->row, (*v)->data, rt_size(*v) * sizeof(real));
    const int behind = seen(layer, c->count), start = c->count - behind;
    const size_t begin = (size_t)(start - layer->first);
    double *positions = rt_graph_memory(g, (size_t)(behind + T), sizeof *positions);
    for (int t = 0; positions && t < behind + T; t++)
        positions[t] = start + t;
    rt_shape of_keys = rt_tensor_shape(*k), of_values = rt_tensor_shape(*v);
    of_keys.axis[1] = of_values.axis[1] = behind + T;
    *k = rt_graph_constant(g, layer->keys + begin * layer->key_row, of_keys);
    *v = rt_graph_constant(g, layer->values + begin * c->row, of_values);
    if (*bias && !(*bias = append_biases(c, g, layer, *bias, begin, end)))
        return NULL;
    return *k && *v ? positions : NULL;
}
