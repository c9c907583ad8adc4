#include "models/encodings/encoding.h"

#include "core/memory.h"
#include "models/kv_cache.h"
#include "models/linear_form.h"
#include "models/rules.h"
#include "models/usage.h"

#include <stdio.h>
#include <string.h>

/* ---- construction ---- */

void rt_begin_part(rt_transformer *m, rt_model_part part, int layer)
{
    m->parameters.part = part;
    m->parameters.layer = layer;
}

/* "layers.2.attention.query" and the like. */
static rt_affine add_matrix(rt_transformer *m, int l, const char *rest, int out, int in)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.%s", l, rest);
    return rt_add_linear(&m->parameters, RT_ROLE_MATRIX, name, out, in, m->options.bias);
}

static rt_affine add_layer_norm(rt_transformer *m, int l, const char *rest)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.%s", l, rest);
    return rt_add_norm(&m->parameters, name, m->options.dim, m->options.norm_kind);
}

static void add_layer(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    const rt_encoding *encoding = rt_encoding_of(o);
    rt_transformer_layer *layer = m->layers + l;
    const int kv_dim = o->kv_heads * (o->dim / o->heads);
    rt_begin_part(m, RT_PART_LAYER, l);
    layer->query = add_matrix(m, l, "attention.query", o->dim, o->dim);
    layer->key = add_matrix(m, l, "attention.key", kv_dim, o->dim);
    layer->value = add_matrix(m, l, "attention.value", kv_dim, o->dim);
    if (encoding->add_layer && rt_layer_has_positions(o, l))
        layer->encoding = encoding->add_layer(m, l);
    if (o->theta.head_scale)
        layer->head_scale =
            rt_parameters_add(&m->parameters, RT_ROLE_FACTOR, RT_INIT_ONE, RT_SHAPE_OF(o->heads),
                              "layers.%d.attention.head_scale", l);
    layer->output = add_matrix(m, l, "attention.output", o->dim, o->dim);
    layer->attention_norm = add_layer_norm(m, l, "attention_norm");
    if (o->ffn != RT_FFN_PLAIN)
        layer->gate = add_matrix(m, l, "ffn.gate", o->ffn_dim, o->dim);
    layer->up = add_matrix(m, l, "ffn.up", o->ffn_dim, o->dim);
    layer->down = add_matrix(m, l, "ffn.down", o->dim, o->ffn_dim);
    layer->ffn_norm = add_layer_norm(m, l, "ffn_norm");
}

static void add_embeddings(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    rt_parameters *p = &m->parameters;
    const int E = o->embedding_dim;
    rt_begin_part(m, RT_PART_EMBEDDINGS, -1);
    m->embeddings.tokens = rt_add_table(p, "embeddings.tokens", o->vocab, E);
    if (o->token_types > 0)
        m->embeddings.types = rt_add_table(p, "embeddings.types", o->token_types, E);
    if (o->kind == RT_KIND_ROFORMER)
        m->embeddings.norm = rt_add_norm(p, "embeddings.norm", E, o->norm_kind);
    if (E != o->dim)
        m->embeddings.project =
            rt_add_linear(p, RT_ROLE_WEIGHT, "embeddings.project", o->dim, E, o->bias);
}

static void add_encoder(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const rt_encoding *encoding = rt_encoding_of(o);
    add_embeddings(m);
    rt_begin_part(m, RT_PART_POSITIONS, -1);
    m->encoding.weight = encoding->add ? encoding->add(m) : NULL;
    for (int l = 0; l < o->layers; l++)
        add_layer(m, l);
    if (o->norm != RT_NORM_PRE)
        return;
    rt_begin_part(m, RT_PART_NORM, -1);
    m->norm = rt_add_norm(&m->parameters, "norm", o->dim, o->norm_kind);
}

/* ---- forward ---- */

/* Texts of which something is kept have places of their own, and their turns one by one where these
 * matter: with positions, and in attention. Those of a batch have the same places. */
static int turns_of(const rt_transformer_input *in)
{
    return in->caches ? in->B : 1;
}

static rt_token_span span_of(const rt_transformer_input *in, int turn)
{
    const rt_kv_cache *cache = in->caches ? in->caches[turn] : NULL;
    if (!cache)
        return (rt_token_span){0, in->T, in->T};
    const int end = cache->count + in->T;
    return (rt_token_span){cache->count, in->T, cache->length > end ? cache->length : end};
}

/* Not a struct that somebody has filled. */
static bool is_made(const rt_transformer *m, rt_graph *g)
{
    if (!m->embeddings.tokens)
        rt_graph_fail(g, RT_ARGUMENT, "[roformer] the model was not made by rt_transformer_new");
    return !rt_graph_failed(g);
}

/* What is kept has no gradient, and no place for padding. */
static bool caches_fit(const rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    bool fit = !in->caches || (m->options.causal && !rt_graph_records(g) && !rt_graph_is_dry(g) &&
                               !in->key_mask && !in->attentions);
    for (int b = 0; in->caches && fit && b < in->B; b++)
        fit = in->caches[b]->layer_count == m->options.layers;
    if (!fit)
        rt_graph_fail(g, RT_ARGUMENT,
                      "[roformer] a KV cache needs a causal model, texts without padding, and a "
                      "graph that does not record");
    return !rt_graph_failed(g);
}

/* There are positions for all tokens. */
static bool spans_fit(const rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    const int most = rt_transformer_capacity(&m->options);
    for (int i = 0; most && i < turns_of(in); i++) {
        const rt_token_span at = span_of(in, i);
        if (at.count > most - at.first)
            rt_graph_fail(g, RT_ARGUMENT,
                          "[roformer] the model has positions for %d tokens; got %d", most,
                          at.first + at.count);
    }
    return !rt_graph_failed(g);
}

static bool begin_caches(rt_graph *g, const rt_transformer_input *in)
{
    for (int b = 0; in->caches && b < in->B; b++)
        if (!rt_kv_cache_begin(in->caches[b], g, in->T))
            return false;
    return true;
}

static rt_tensor *norm(const rt_transformer *m, rt_graph *g, rt_tensor *x, rt_affine a)
{
    return rt_affine_norm(g, x, a, m->options.norm_eps);
}

static rt_tensor *dropout(const rt_transformer *m, rt_graph *g, rt_tensor *x)
{
    return rt_dropout(g, x, m->options.dropout);
}

/* residual + dropout(x weight^T + bias). */
static rt_tensor *onto(const rt_transformer *m, rt_graph *g, rt_tensor *residual, rt_tensor *x,
                       rt_affine a)
{
    if (m->options.dropout > 0 && rt_graph_drops(g))
        return rt_add(g, residual, dropout(m, g, rt_affine_apply(g, x, a)));
    return rt_affine_onto(g, residual, x, a);
}

/* Positions that are added, to the tokens of each text. */
static rt_tensor *add_positions(rt_transformer *m, rt_graph *g, rt_tensor *x,
                                const rt_transformer_input *in)
{
    const rt_encoding *encoding = rt_encoding_of(&m->options);
    const int turns = turns_of(in);
    rt_tensor *all = NULL;
    if (!encoding->embeddings)
        return x;
    for (int i = 0; i < turns; i++) {
        rt_tensor *part = rt_kv_part(g, x, i, turns);
        part = part ? encoding->embeddings(m, g, part, span_of(in, i)) : NULL;
        all = rt_kv_put(g, all, part, i, turns);
    }
    return all;
}

static rt_tensor *embed(rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    rt_shape shape = RT_SHAPE_OF(in->B, in->T);
    rt_tensor *x = rt_embedding(g, m->embeddings.tokens, in->ids, shape, in->padding_id);
    x = add_positions(m, g, x, in);
    if (m->embeddings.types) {
        const int32_t *types = in->token_types;
        size_t count = (size_t)in->B * (size_t)in->T;
        int32_t *zeros = types ? NULL : rt_graph_numbers(g, count, sizeof *zeros);
        if (zeros && !rt_graph_is_dry(g))
            memset(zeros, 0, count * sizeof *zeros);
        types = types ? types : zeros;
        x = types ? rt_add(g, x, rt_embedding(g, m->embeddings.types, types, shape, RT_NO_PADDING))
                  : NULL;
    }
    if (m->embeddings.norm.weight)
        x = norm(m, g, x, m->embeddings.norm);
    x = dropout(m, g, x);
    return m->embeddings.project.weight ? rt_affine_apply(g, x, m->embeddings.project) : x;
}

static rt_tensor *softmax_context(rt_transformer *m, rt_graph *g, rt_tensor *q, rt_tensor *k,
                                  rt_tensor *v, int l, rt_layer_rotation rotation,
                                  const rt_transformer_input *in, rt_kv_cache *cache)
{
    const rt_transformer_options *o = &m->options;
    const rt_encoding *encoding = rt_encoding_of(o);
    rt_attention_options options = {.causal = o->causal,
                                    .window = o->window,
                                    .key_mask = in->key_mask,
                                    .dropout = o->attention_dropout,
                                    .probabilities = in->attentions ? in->attentions[l] : NULL};
    if (rotation.query) {
        q = rt_rope(g, q, rotation.query);
        k = rt_rope(g, k, rotation.key);
    }
    if (encoding->scores && rt_layer_has_positions(o, l))
        encoding->scores(m, g, l, &options);
    if (cache) {
        if (!rt_kv_cache_append(cache, g, l, &k, &v))
            return NULL;
        options.key_positions = cache->positions;
        options.query_positions = options.key_positions + (k->shape[1] - in->T);
    }
    return rt_attention(g, q, k, v, &options);
}

static rt_tensor *linear_context(rt_transformer *m, rt_graph *g, rt_tensor *q, rt_tensor *k,
                                 rt_tensor *v, int l, rt_layer_rotation rotation,
                                 const rt_transformer_input *in, rt_kv_cache *cache)
{
    const rt_linear_form_options options = {.kind = m->options.attention,
                                            .query_rotation = rotation.query,
                                            .key_rotation = rotation.key,
                                            .causal = m->options.causal,
                                            .key_mask = in->key_mask,
                                            .state = cache ? &cache->layers[l].state : NULL};
    return rt_linear_form(g, q, k, v, &options);
}

/* What the queries of layer l, (B, T, H, D), find in keys and values: all texts of a batch at once,
 * or one of which something is kept. */
static rt_tensor *context_of(rt_transformer *m, rt_graph *g, rt_tensor *q, rt_tensor *k,
                             rt_tensor *v, int l, rt_layer_rotation rotation,
                             const rt_transformer_input *in, rt_kv_cache *cache)
{
    const rt_transformer_options *o = &m->options;
    if (rotation.value && o->position.rotate_value)
        v = rt_rope(g, v, rotation.value);
    return o->attention == RT_ATTENTION_SOFTMAX
               ? softmax_context(m, g, q, k, v, l, rotation, in, cache)
               : linear_context(m, g, q, k, v, l, rotation, in, cache);
}

static rt_tensor *attend(rt_transformer *m, rt_graph *g, rt_tensor *x, int l,
                         const rt_layer_rotation *rotations, const rt_transformer_input *in)
{
    const rt_transformer_options *o = &m->options;
    const rt_transformer_layer *layer = m->layers + l;
    const int size = o->dim / o->heads, turns = turns_of(in);
    const rt_shape heads = RT_SHAPE_OF(in->B, in->T, o->heads, size);
    const rt_shape kv_heads = RT_SHAPE_OF(in->B, in->T, o->kv_heads, size);
    rt_tensor *q = rt_reshape(g, rt_affine_apply(g, x, layer->query), heads);
    if (layer->head_scale)
        q = rt_scale_heads(g, q, layer->head_scale);
    rt_tensor *k = rt_reshape(g, rt_affine_apply(g, x, layer->key), kv_heads);
    rt_tensor *v = rt_reshape(g, rt_affine_apply(g, x, layer->value), kv_heads);
    if (in->usage && rotations && q && k)
        rt_usage_see(in->usage, o, l, in, q, k);
    const rt_layer_rotation none = {NULL, NULL, NULL};
    rt_tensor *all = NULL;
    for (int i = 0; i < turns; i++) {
        rt_tensor *part = context_of(m, g, rt_kv_part(g, q, i, turns), rt_kv_part(g, k, i, turns),
                                     rt_kv_part(g, v, i, turns), l, rotations ? rotations[i] : none,
                                     in, in->caches ? in->caches[i] : NULL);
        all = rt_kv_put(g, all, part, i, turns);
    }
    return rt_reshape(g, all, RT_SHAPE_OF(in->B, in->T, o->dim));
}

static rt_tensor *feed_forward(const rt_transformer *m, rt_graph *g, rt_tensor *x, int l)
{
    const rt_transformer_layer *layer = m->layers + l;
    switch (m->options.ffn) {
    case RT_FFN_SWIGLU:
        return rt_affine_gated(g, x, layer->gate, layer->up, RT_SILU);
    case RT_FFN_GEGLU:
        return rt_affine_gated(g, x, layer->gate, layer->up, RT_GELU);
    case RT_FFN_PLAIN:
        break;
    }
    return rt_affine_activate(g, x, layer->up, m->options.activation);
}

static rt_tensor *apply_layer(rt_transformer *m, rt_graph *g, rt_tensor *x, int l,
                              const rt_layer_rotation *rotations, const rt_transformer_input *in)
{
    const rt_transformer_layer *layer = m->layers + l;
    rt_tensor *y;
    if (m->options.norm == RT_NORM_PRE) {
        y = attend(m, g, norm(m, g, x, layer->attention_norm), l, rotations, in);
        x = onto(m, g, x, y, layer->output);
        y = feed_forward(m, g, norm(m, g, x, layer->ffn_norm), l);
        return onto(m, g, x, y, layer->down);
    }
    y = attend(m, g, x, l, rotations, in);
    x = norm(m, g, onto(m, g, x, y, layer->output), layer->attention_norm);
    y = feed_forward(m, g, x, l);
    return norm(m, g, onto(m, g, x, y, layer->down), layer->ffn_norm);
}

/* What each text turns by in layer l. Texts of which nothing is kept yet share the table of a fixed
 * theta, since all of them have T tokens. */
static void find_rotations(rt_transformer *m, rt_graph *g, int l, const rt_transformer_input *in,
                           rt_layer_rotation *rotations)
{
    for (int i = 0; i < turns_of(in); i++)
        rotations[i] = rt_encoding_of(&m->options)->rotation(m, g, l, span_of(in, i));
}

rt_tensor *rt_transformer_encode(rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    const rt_transformer_options *o = &m->options;
    if (!rt_graph_given(g, "roformer", "input", in) || !is_made(m, g) || !caches_fit(m, g, in) ||
        !spans_fit(m, g, in))
        return NULL;
    const bool rotates = rt_encoding_of(o)->rotation;
    const bool shared = !m->layers[0].encoding && !m->encoding.change;
    rt_tensor *x = embed(m, g, in);
    rt_layer_rotation *rotations = rt_graph_memory(g, (size_t)turns_of(in), sizeof *rotations);
    if (!rotations || (x && !begin_caches(g, in)))
        return NULL;
    if (in->usage)
        rt_usage_count(in->usage, in);
    if (rotates && shared)
        find_rotations(m, g, 0, in, rotations);
    const rt_arena_mark before = rt_graph_here(g);
    for (int l = 0; l < o->layers; l++) {
        const bool turns = rotates && rt_layer_has_positions(o, l);
        if (turns && !shared)
            find_rotations(m, g, l, in, rotations);
        rt_tensor *y = apply_layer(m, g, x, l, turns ? rotations : NULL, in);
        if (in->hidden_states)
            in->hidden_states[l] = x;
        else
            y = rt_graph_keep(g, before, y);
        x = y;
    }
    if (o->norm == RT_NORM_PRE)
        x = norm(m, g, x, m->norm);
    if (in->hidden_states)
        in->hidden_states[o->layers] = x;
    return x;
}

/* ---- life ---- */

/* A model with its list of parameters, which has no memory yet. */
static rt_status list_parameters(rt_transformer **model_new, const rt_transformer_options *options)
{
    *model_new = NULL;
    const rt_status status = rt_transformer_check(options);
    if (status.code)
        return status;
    rt_transformer *m = rt_alloc(1, sizeof *m);
    if (!m)
        return rt_out_of_memory("a model");
    m->options = *options;
    rt_transformer_resolve(&m->options);
    m->parameters.init_std = m->options.init_std;
    m->layers = rt_alloc((size_t)options->layers, sizeof *m->layers);
    if (m->layers) {
        add_encoder(m);
        rt_add_head(m);
        *model_new = m;
        return m->parameters.status;
    }
    rt_transformer_free(m);
    return rt_out_of_memory("a model");
}

/* How a model is made that is not drawn from a seed. */
typedef struct manner {
    bool blank;
    rt_model_tally *tally;
} manner;

static rt_status make(rt_transformer **model_new, const rt_transformer_options *options,
                      uint64_t seed, const rt_transformer *values_of, manner how)
{
    rt_transformer *m;
    rt_status status = list_parameters(&m, options);
    if (!status.code) {
        m->parameters.blank = how.blank;
        m->parameters.tally = how.tally;
        status =
            rt_parameters_allocate(&m->parameters, seed, values_of ? &values_of->parameters : NULL);
    }
    if (!status.code && rt_encoding_of(options)->start)
        status = rt_encoding_of(options)->start(m);
    *model_new = status.code ? NULL : m;
    if (status.code)
        rt_transformer_free(m);
    return status;
}

rt_status rt_transformer_new(rt_transformer **model_new, const rt_transformer_options *options,
                             uint64_t seed, const rt_transformer *values_of)
{
    return make(model_new, options, seed, values_of, (manner){0});
}

rt_status rt_transformer_new_blank(rt_transformer **model_new,
                                   const rt_transformer_options *options, uint64_t seed)
{
    return make(model_new, options, seed, NULL, (manner){.blank = true});
}

rt_status rt_transformer_new_dry(rt_transformer **model_new, const rt_transformer_options *options,
                                 const rt_transformer *values_of, rt_model_tally *tally)
{
    return make(model_new, options, 0, values_of, (manner){.tally = tally});
}

rt_status rt_transformer_size(const rt_transformer_options *options, size_t *size)
{
    rt_transformer *m;
    rt_status status = list_parameters(&m, options);
    *size = status.code ? 0 : m->parameters.block_size;
    rt_transformer_free(m);
    return status;
}

void rt_transformer_free(rt_transformer *m)
{
    if (!m || !m->options.vocab)
        return;
    const rt_encoding *encoding = rt_encoding_of(&m->options);
    if (encoding->free && m->encoding.state)
        encoding->free(m->encoding.state);
    rt_free(m->encoding.state);
    rt_parameters_free(&m->parameters);
    rt_free(m->layers);
    rt_free(m);
}
