/* The forward pass of a transformer, for a batch or for the next tokens of cached texts. */

#include "models/encodings/encoding.h"
#include "models/kv_cache.h"
#include "models/usage.h"

#include <string.h>

/* Returns the number of pieces of an input. Where positions matter, also in attention, each cached
 * text is a piece, because it has positions of its own. A batch is one piece. */
static int pieces_of(const rt_transformer_input *in)
{
    return in->caches ? in->B : 1;
}

static rt_token_span span_of(const rt_transformer_input *in, int piece)
{
    const rt_kv_cache *cache = in->caches ? in->caches[piece] : NULL;
    if (!cache)
        return (rt_token_span){0, in->T, in->T, in->positions};
    const int end = cache->count + in->T;
    return (rt_token_span){cache->count, in->T, cache->length > end ? cache->length : end, NULL};
}

/* Returns piece i of `count` in x (count, ...), as (1, ...); x itself for a single piece. */
static rt_tensor *piece_of(rt_graph *g, rt_tensor *x, int i, int count)
{
    if (!x || count == 1)
        return x;
    rt_shape shape = rt_tensor_shape(x);
    shape.axis[0] = 1;
    return rt_graph_constant(g, x->data + (size_t)i * rt_shape_size(shape), shape);
}

/* Copies piece i to `all` and returns it. `all` is NULL for piece 0, which creates it. No gradient
 * flows through it. NULL if the graph has failed. */
static rt_tensor *put_piece(rt_graph *g, rt_tensor *all, rt_tensor *piece, int i, int count)
{
    if (!piece || count == 1)
        return piece;
    const size_t size = rt_size(piece);
    if (!i) {
        rt_shape shape = rt_tensor_shape(piece);
        real *rows = rt_graph_memory(g, (size_t)count * size, sizeof *rows);
        shape.axis[0] = count;
        all = rows ? rt_graph_constant(g, rows, shape) : NULL;
    }
    if (all)
        rt_memory_copy(all->data + (size_t)i * size, piece->data, size * sizeof(real));
    return all;
}

/* Returns the positions of an input: its own or, with two axes, those of a grid, in the memory of
 * the graph. NULL: the numbers of the tokens, or the graph has failed. */
static const rt_positions *positions_of(const rt_transformer *m, rt_graph *g,
                                        const rt_transformer_input *in)
{
    if (in->positions || m->options.position.axes < 2)
        return in->positions;
    const int side = rt_grid_side(in->T);
    if (!side) {
        rt_graph_fail(g, RT_SHAPE,
                      "[transformer] two axes need 1 + n * n tokens (for a grid of n x n); got %d",
                      in->T);
        return NULL;
    }
    rt_positions *positions = rt_graph_memory(g, 1, sizeof *positions);
    double *at = rt_graph_memory(g, 2 * (size_t)in->T, sizeof *at);
    if (!positions || !at)
        return NULL;
    double *second = at + in->T;
    for (int t = 0; t < in->T; t++) {
        at[t] = t ? (t - 1) % side : 0;
        second[t] = t ? (t - 1) / side : 0;
    }
    *positions = (rt_positions){.B = 1, .T = in->T, .at = at, .second = second};
    return positions;
}

/* Checks that caches are used without gradient and padding, and that positions and patches are
 * given as the options of the model need them. */
static bool input_fits(const rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    const rt_encoding *encoding = rt_encoding_of(&m->options);
    const rt_positions *at = in->positions;
    const bool used = encoding->rotation || encoding->embeddings, plane = at && at->second;
    const int most = rt_transformer_capacity(&m->options);
    bool fit = !in->caches || (m->options.causal && !rt_graph_records(g) && !in->key_mask &&
                               !in->attentions && !in->usage && !in->positions && !in->patches);
    for (int b = 0; in->caches && fit && b < in->B; b++)
        fit = in->caches[b]->layer_count == m->options.layers;
    if (!fit)
        rt_graph_fail(
            g, RT_ARGUMENT,
            "[transformer] a KV cache needs a causal model, no padding, positions, "
            "patches, attentions or usage in the input, and a graph that does not record");
    else if (used && plane != (m->options.position.axes > 1))
        rt_graph_fail(g, RT_ARGUMENT, "[transformer] positions must have %d coordinates; got %d",
                      m->options.position.axes, plane ? 2 : 1);
    else if (at && (!at->at || at->T != in->T || (at->per_sequence && at->B != in->B)))
        rt_graph_fail(g, RT_SHAPE,
                      "[transformer] positions must be given for %d texts of %d tokens", in->B,
                      in->T);
    else if (at && m->options.position.kind != RT_POSITION_NONE && !encoding->axes)
        rt_graph_fail(g, RT_ARGUMENT,
                      "[transformer] position.kind = %s takes no positions as input",
                      encoding->word);
    else if (!in->patches != !m->embeddings.patches)
        rt_graph_fail(g, RT_ARGUMENT,
                      "[transformer] patches must be given if, and only if, the model has patches");
    for (int i = 0; most && !rt_graph_failed(g) && i < pieces_of(in); i++) {
        const rt_token_span span = span_of(in, i);
        if (span.count > most - span.first)
            rt_graph_fail(g, RT_ARGUMENT,
                          "[transformer] the model has positions for at most %d tokens; got %d",
                          most, span.first + span.count);
    }
    return !rt_graph_failed(g);
}

/* Normalizes a residual before a block; `rounds`: only products read the result. */
static rt_tensor *norm_before(const rt_transformer *m, rt_graph *g, rt_tensor *x, rt_affine a,
                              bool rounds)
{
    x = rt_transformer_norm(m, g, x, a);
    return rounds && a.weight ? rt_for_products(g, x) : x;
}

/* Computes residual + dropout(x weight^T + bias). */
static rt_tensor *onto(const rt_transformer *m, rt_graph *g, rt_tensor *residual, rt_tensor *x,
                       rt_affine a)
{
    if (m->options.dropout > 0 && rt_graph_drops(g))
        return rt_add(g, residual,
                      rt_dropout(g, rt_linear(g, x, a.weight, a.bias), m->options.dropout));
    return rt_linear_onto(g, residual, x, a.weight, a.bias);
}

/* Applies token_dropout to embeddings x, (B, T, E): mask tokens and padding become 0, and all
 * others are multiplied by
 *
 *     (1 - 0.15 * 0.8) / (1 - masks / tokens)
 *
 * of their text, padding not counted. In the pretraining, 15 % of tokens were chosen, and 80 % of
 * these were masked. A text of masks alone becomes 0. The share of masks in a text is a float, as
 * in transformers, so that both compute the same in double. */
static rt_tensor *drop_tokens(const rt_transformer_options *o, rt_graph *g, rt_tensor *x,
                              const rt_transformer_input *in)
{
    if (!RT_CHECK_INPUTS(g, "token_dropout", RT_INPUT(x)))
        return NULL;
    const double pretraining = 0.15 * 0.8;
    const uint8_t *mask = in->key_mask;
    const int rows = in->B * in->T;
    if (x->ndim != 3 || x->shape[0] != in->B || x->shape[1] != in->T)
        return rt_graph_fail(g, RT_SHAPE, "[token_dropout] x must be (%d, %d, E); got %s", in->B,
                             in->T, rt_shape_text(x));
    real *factors = rt_graph_numbers(g, (size_t)rows, sizeof *factors);
    if (!factors)
        return NULL;
    for (int first = 0; rt_memory_is_present(factors) && first < rows; first += in->T) {
        int tokens = 0, masks = 0;
        for (int i = first; i < first + in->T; i++) {
            tokens += !mask || mask[i];
            masks += (!mask || mask[i]) && in->ids[i] == o->mask_id;
        }
        const float shown = 1 - (float)masks / (float)tokens;
        const real factor = masks < tokens ? (real)((1 - pretraining) / (double)shown) : 0;
        for (int i = first; i < first + in->T; i++)
            factors[i] = (!mask || mask[i]) && in->ids[i] != o->mask_id ? factor : 0;
    }
    return rt_scale_parts(g, x, rt_graph_constant(g, factors, RT_SHAPE_OF(rows)));
}

static rt_tensor *embed(rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    const rt_encoding *encoding = rt_encoding_of(&m->options);
    const int pieces = pieces_of(in);
    rt_shape shape = RT_SHAPE_OF(in->B, in->T);
    rt_tensor *x = rt_embedding(g, m->embeddings.tokens, in->ids, shape, in->padding_id);
    rt_tensor *all = NULL; /* with the positions of each text */
    if (in->patches) {
        const rt_shape of_patches = RT_SHAPE_OF(in->B, in->T, m->options.patch);
        x = rt_linear_onto(g, x, rt_graph_constant(g, (real *)in->patches, of_patches),
                           m->embeddings.patches, NULL);
    }
    if (m->options.token_dropout)
        x = drop_tokens(&m->options, g, x, in);
    for (int i = 0; encoding->embeddings && i < pieces; i++) {
        rt_tensor *piece = piece_of(g, x, i, pieces);
        piece = piece ? encoding->embeddings(m, g, piece, span_of(in, i)) : NULL;
        all = put_piece(g, all, piece, i, pieces);
    }
    x = encoding->embeddings ? all : x;
    if (m->embeddings.types) {
        const int32_t *types = in->token_types;
        size_t count = (size_t)in->B * (size_t)in->T;
        int32_t *zeros = types ? NULL : rt_graph_numbers(g, count, sizeof *zeros);
        if (rt_memory_is_present(zeros))
            memset(zeros, 0, count * sizeof *zeros);
        types = types ? types : zeros;
        x = types ? rt_add(g, x, rt_embedding(g, m->embeddings.types, types, shape, RT_NO_PADDING))
                  : NULL;
    }
    x = rt_dropout(g, rt_transformer_norm(m, g, x, m->embeddings.norm), m->options.dropout);
    const rt_affine to = m->embeddings.project;
    return to.weight ? rt_linear(g, x, to.weight, to.bias) : x;
}

static rt_tensor *rotate(rt_graph *g, rt_tensor *x, const rt_rotation *rotation)
{
    return rotation ? rt_rope(g, x, rotation) : x;
}

rt_tensor *rt_linear_form(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                          const rt_linear_form_options *o)
{
    if (!rt_graph_check_argument(g, "linear_form", "options", o))
        return NULL;
    rt_linear_attention_options options = {.causal = o->causal,
                                           .key_mask = o->key_mask,
                                           .eps = o->eps,
                                           .state = o->state};
    switch (o->kind) {
    case RT_ATTENTION_SOFTMAX:
    default:
        return rt_graph_fail(g, RT_ARGUMENT, "[linear_form] attention %d has no linear form",
                             (int)o->kind);
    case RT_ATTENTION_LINEAR_ELU:
        q = rt_activate(g, q, RT_ELU_PLUS_ONE);
        k = rt_activate(g, k, RT_ELU_PLUS_ONE);
        break;
    case RT_ATTENTION_LINEAR_SOFTMAX:
        q = rt_softmax(g, q);
        k = rt_key_exp(g, k, o->key_mask, o->causal, o->state ? o->state->level : NULL,
                       &options.level);
        break;
    case RT_ATTENTION_LINEAR_COSINE:
        q = rotate(g, rt_normalize(g, q), o->query_rotation);
        k = rotate(g, rt_normalize(g, k), o->key_rotation);
        options.constant = 1;
        return rt_linear_attention(g, q, k, v, q, k, &options);
    }
    return rt_linear_attention(g, rotate(g, q, o->query_rotation), rotate(g, k, o->key_rotation), v,
                               q, k, &options);
}

/* Kinds of rotation other than by a base of theta. A layer with its own or an overridden theta
 * finds its rotations itself. */
enum { NOT_ROTATED = 0, OWN_THETA = -1 };

/* Arguments of a layer. They are copied for backward if layers are recomputed. */
typedef struct layer_pass {
    rt_transformer *model;
    const rt_transformer_input *in; /* in the memory of the graph */
    int l;
    double rotation_kind;         /* a base of theta, or one of the constants above */
    double fraction;              /* of the pairs that rotate */
    rt_layer_rotation *rotations; /* one for each piece, shared by all layers of a kind */
} layer_pass;

static const rt_transformer_layer *layer_of(const layer_pass *p)
{
    return p->model->layers + p->l;
}

/* Rotates queries or keys x for the scores, their only reader. */
static rt_tensor *for_scores(rt_graph *g, rt_tensor *x, const rt_rotation *rotation)
{
    rt_tensor *rotated = rotate(g, x, rotation);
    rt_tensor *y = rt_for_products(g, rotated);
    if (y != rotated)
        rt_graph_release(g, x);
    return y;
}

/* Returns the result of attention, for a batch or for one cached text. */
static rt_tensor *context_of(const layer_pass *p, rt_graph *g, rt_attention_pass a, int piece)
{
    const rt_transformer_input *in = p->in;
    const rt_transformer_options *o = &p->model->options;
    const rt_layer_row *row = &layer_of(p)->row;
    const rt_encoding *encoding;
    rt_kv_cache *cache = in->caches ? in->caches[piece] : NULL;
    double *state = cache ? cache->layers[p->l].encodings.numbers : NULL;
    a.at = span_of(in, piece);
    a.rotation = p->rotations[piece];
    a.options =
        (rt_attention_options){.causal = o->causal,
                               .window = row->window,
                               .key_mask = in->key_mask,
                               .dropout = o->attention_dropout,
                               .probabilities = in->attentions ? in->attentions[p->l] : NULL};
    for (int n = 0; (encoding = rt_encoding_at(o, n)); n++) {
        if (!rt_encoding_acts(encoding, o, p->l))
            continue;
        a.state = state;
        if (encoding->attention)
            encoding->attention(p->model, g, p->l, &a);
        if (state && encoding->state)
            state += encoding->state(o);
    }
    if (in->usage && !rt_graph_failed(g))
        rt_usage_add_layer(o, p->l, in, &a);
    if (o->position.rotate_value)
        a.value = rotate(g, a.value, a.rotation.value);
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return rt_linear_form(g, a.query, a.key, a.value,
                              &(rt_linear_form_options){.kind = o->attention,
                                                        .query_rotation = a.rotation.query,
                                                        .key_rotation = a.rotation.key,
                                                        .causal = o->causal,
                                                        .key_mask = in->key_mask,
                                                        .state = cache ? &cache->layers[p->l].state
                                                                       : NULL});
    if (!a.options.distance_keys) {
        a.query = for_scores(g, a.query, a.rotation.query);
        a.key = for_scores(g, a.key, a.rotation.key);
    }
    a.value = rt_for_products(g, a.value);
    if (cache) {
        a.options.key_positions =
            rt_kv_cache_append(cache, g, p->l, &a.key, &a.value, &a.options.key_bias);
        if (!a.options.key_positions)
            return NULL;
        a.options.query_positions = a.options.key_positions + (a.key->shape[1] - in->T);
    }
    return rt_attention(g, a.query, a.key, a.value, &a.options);
}

/* Returns the heads of x by one of the projections. */
static rt_tensor *project(const layer_pass *p, rt_graph *g, rt_tensor *x, rt_affine to, int count)
{
    return rt_reshape(g, rt_linear(g, x, to.weight, to.bias),
                      RT_SHAPE_OF(p->in->B, p->in->T, count, p->model->options.head_dim));
}

static rt_tensor *attend(const layer_pass *p, rt_graph *g, rt_tensor *x)
{
    const rt_transformer_input *in = p->in;
    const rt_transformer_options *o = &p->model->options;
    const rt_transformer_layer *layer = layer_of(p);
    const int pieces = pieces_of(in);
    rt_attention_pass a = {.input = x, .query = project(p, g, x, layer->query, o->heads)};
    a.query = rt_transformer_norm(p->model, g, a.query, layer->query_norm);
    if (layer->head_scale)
        a.query = rt_scale_heads(g, a.query, layer->head_scale);
    a.key = rt_transformer_norm(p->model, g, project(p, g, x, layer->key, o->kv_heads),
                                layer->key_norm);
    a.value = project(p, g, x, layer->value, o->kv_heads);
    rt_tensor *all = NULL;
    for (int i = 0; i < pieces; i++) {
        const rt_attention_pass piece = {.input = piece_of(g, x, i, pieces),
                                         .query = piece_of(g, a.query, i, pieces),
                                         .key = piece_of(g, a.key, i, pieces),
                                         .value = piece_of(g, a.value, i, pieces)};
        all = put_piece(g, all, context_of(p, g, piece, i), i, pieces);
    }
    return rt_reshape(g, all, RT_SHAPE_OF(in->B, in->T, o->heads * o->head_dim));
}

static rt_tensor *feed_forward(const layer_pass *p, rt_graph *g, rt_tensor *x)
{
    const rt_transformer_options *o = &p->model->options;
    const rt_affine up = layer_of(p)->up, gate = layer_of(p)->gate;
    if (o->ffn == RT_FFN_PLAIN)
        return rt_for_products(g, rt_linear_activate(g, x, up.weight, up.bias, o->activation));
    rt_tensor *gates = rt_linear(g, x, gate.weight, gate.bias);
    rt_tensor *gated = rt_glu(g, gates, rt_linear(g, x, up.weight, up.bias),
                              o->ffn == RT_FFN_SWIGLU ? RT_SILU : RT_GELU);
    return rt_for_products(g, gated);
}

/* Finds the rotation of each piece. */
static void find_rotations(const layer_pass *p, rt_graph *g)
{
    const rt_encoding *encoding = rt_encoding_of(&p->model->options);
    for (int i = 0; i < pieces_of(p->in); i++)
        p->rotations[i] = encoding->rotation(p->model, g, p->l, span_of(p->in, i));
}

static rt_tensor *apply_layer(rt_graph *g, rt_tensor *x, void *context)
{
    const layer_pass *p = context;
    const rt_transformer *m = p->model;
    const rt_transformer_layer *layer = layer_of(p);
    const bool pre = m->options.norm == RT_NORM_PRE;
    if (p->rotation_kind == OWN_THETA)
        find_rotations(p, g);
    const bool rounds = !rt_encoding_of(&m->options)->reads_input || !layer->row.has_positions;
    rt_tensor *y = attend(p, g, pre ? norm_before(m, g, x, layer->attention_norm, rounds) : x);
    rt_tensor *after = onto(m, g, x, y, layer->output);
    if (!pre)
        after = rt_transformer_norm(m, g, after, layer->attention_norm);
    rt_tensor *read = m->options.residual == RT_RESIDUAL_PARALLEL ? x : after;
    y = feed_forward(p, g, pre ? norm_before(m, g, read, layer->ffn_norm, true) : read);
    after = onto(m, g, after, y, layer->down);
    return pre ? after : rt_transformer_norm(m, g, after, layer->ffn_norm);
}

/* Most kinds of one model: with and without rotation, of full and of sliding attention. */
enum { MOST_KINDS = 4 };

/* Returns the arguments of layer l. If it is the first of its kind of rotation, also computes the
 * rotations and stores the arguments in the first unused element of `kinds`, which starts zeroed.
 * rotations is NULL if memory is exhausted. */
static layer_pass find_pass(layer_pass kinds[MOST_KINDS], rt_transformer *m, rt_graph *g,
                            const rt_transformer_input *in, int l)
{
    const rt_theta_options *theta = &m->options.theta;
    const bool own = m->encoding.change || (theta->learn && theta->scope != RT_THETA_MODEL);
    const size_t pieces = (size_t)pieces_of(in);
    layer_pass p = {.model = m, .in = in, .l = l, .fraction = m->layers[l].row.fraction};
    layer_pass *kind = kinds;
    const bool rotated = rt_encoding_of(&m->options)->rotation && layer_of(&p)->row.has_positions;
    p.rotation_kind = !rotated ? NOT_ROTATED : own ? OWN_THETA : layer_of(&p)->row.base;
    while (kind->rotations &&
           (kind->rotation_kind != p.rotation_kind || kind->fraction != p.fraction))
        kind++;
    p.rotations = kind->rotations;
    if (p.rotations)
        return p;
    p.rotations = rt_graph_memory(g, pieces, sizeof *p.rotations);
    for (size_t i = 0; p.rotations && i < pieces; i++)
        p.rotations[i] = (rt_layer_rotation){NULL, NULL, NULL};
    if (p.rotations && p.rotation_kind > NOT_ROTATED)
        find_rotations(&p, g);
    *kind = p;
    return p;
}

rt_tensor *rt_transformer_encode(rt_transformer *m, rt_graph *g, const rt_transformer_input *input)
{
    const rt_transformer_options *o = &m->options;
    if (!rt_graph_check_argument(g, "transformer", "input", input))
        return NULL;
    if (!m->embeddings.tokens)
        return rt_graph_fail(g, RT_ARGUMENT,
                             "[transformer] the model was not created by rt_transformer_new");
    rt_transformer_input *in = rt_graph_memory(g, 1, sizeof *in);
    if (!in)
        return NULL;
    *in = *input;
    in->positions = positions_of(m, g, input);
    if (rt_graph_failed(g) || !input_fits(m, g, in))
        return NULL;
    rt_tensor *x = embed(m, g, in);
    /* The rotations are found before the layers run, because the memory of a layer is released
     * after it. */
    layer_pass kinds[MOST_KINDS] = {{.rotations = NULL}};
    for (int l = 0; l < o->layers; l++)
        if (!find_pass(kinds, m, g, in, l).rotations)
            return NULL;
    const rt_arena_mark before = rt_graph_here(g);
    for (int l = 0; l < o->layers; l++) {
        layer_pass p = find_pass(kinds, m, g, in, l);
        rt_tensor *y = rt_graph_recomputes(g) ? rt_graph_recompute(g, x, apply_layer, &p, sizeof p)
                                              : apply_layer(g, x, &p);
        if (in->hidden_states)
            in->hidden_states[l] = x;
        else
            y = rt_graph_keep(g, before, y);
        x = y;
    }
    if (o->norm == RT_NORM_PRE)
        x = rt_transformer_norm(m, g, x, m->norm);
    if (in->hidden_states)
        in->hidden_states[o->layers] = x;
    return x;
}

rt_tensor *rt_transformer_forward(rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    rt_tensor *hidden = rt_transformer_encode(m, g, in);
    if (hidden && m->options.head == RT_HEAD_SEQUENCE)
        hidden = rt_pool(g, hidden, m->options.pool, in->key_mask);
    return rt_transformer_logits(m, g, hidden);
}
