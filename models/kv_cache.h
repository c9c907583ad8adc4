#ifndef ROTOR_MODELS_KV_CACHE_H
#define ROTOR_MODELS_KV_CACHE_H

/* The KV cache of one text: the keys and values of the tokens that a causal model has read, so that
 * a new token costs one row. Keys are stored rotated. With a window, a layer drops the keys that no
 * later token can see. With linear attention the cache holds sums of constant size instead.
 * rt_session fills it.
 */

#include "models/options.h"

typedef struct rt_kv_layer {
    real *keys, *values;   /* (capacity, G, K), (capacity, G, D): of the tokens `first`, first + 1,
                              ..., K the features of a key in the scores */
    size_t key_row;        /* G K, numbers of a key */
    int first, capacity;   /* tokens */
    int window;            /* 0 = none */
    double *biases;        /* (capacity, H): bias of each key, if an encoding has one; or NULL */
    rt_linear_state state; /* of linear attention */
    struct {
        double *numbers; /* (count), as rt_encodings_state; NULL: none */
        size_t count;
    } encodings; /* state of the positional encodings */
} rt_kv_layer;

typedef struct rt_kv_cache {
    int count;  /* tokens read */
    int length; /* of the whole text, including tokens being read: theta may depend on it */
    int layer_count;
    size_t row;        /* G D, numbers of a value */
    size_t biases;     /* H if keys have a bias; else 0 */
    size_t state_size; /* numbers in the state of a layer; 0 with softmax */
    bool only_forward; /* a layer keeps sums, which no earlier token can be taken out of */
    size_t levels;     /* H */
    rt_kv_layer *layers;
} rt_kv_cache;

/* Initializes a cache, which must be freed even if this fails. Memory grows with the tokens. */
rt_status rt_kv_cache_init(rt_kv_cache *c, const rt_transformer_options *options) RT_MUST_CHECK;
void rt_kv_cache_free(rt_kv_cache *c);

/* Returns the maximum size in bytes of the cache for a text of `tokens` tokens, if at most
 * `at_once` are read at a time. */
double rt_kv_cache_bytes(const rt_transformer_options *options, int tokens, int at_once);

/* Removes all tokens. */
void rt_kv_cache_clear(rt_kv_cache *c);

/* Removes all tokens and frees their memory, because after a failure the capacities of layers may
 * differ. */
void rt_kv_cache_drop(rt_kv_cache *c);

/* Returns whether the cache still holds every key that the token after the first `count`
 * can see. */
bool rt_kv_cache_reaches(const rt_kv_cache *c, int count);

/* Appends the keys and values of T tokens, *k (1, T, G, K) and *v (1, T, G, D), and their bias
 * (1, H, T), or NULL, to those of layer l, and replaces them by all that these tokens can see,
 * with Tk for T. Returns the positions of these keys, (Tk). All are valid until the graph is
 * cleared. The caller adds T to c->count after the last layer. NULL if the graph has failed. */
const double *rt_kv_cache_append(rt_kv_cache *c, rt_graph *g, int l, rt_tensor **k, rt_tensor **v,
                                 rt_tensor **bias);

#endif
