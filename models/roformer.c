#include "models/roformer.h"

#include "core/memory.h"
#include "models/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- construction ---- */

int rt_roformer_pairs(const rt_roformer_options *o)
{
    if (o->position.kind != RT_POSITION_ROPE)
        return 0;
    return (int)lround(o->position.fraction * (o->dim / o->heads) / 2);
}

void rt_roformer_initial_theta(const rt_roformer_options *o, double *theta)
{
    rt_theta_geometric(theta, rt_roformer_pairs(o), o->position.base);
}

static rt_status check_options(const rt_roformer_options *o)
{
    if (o->vocab < 1 || o->layers < 1 || o->dim < 1 || o->heads < 1)
        return rt_error(RT_ARGUMENT, "vocab, layers, dim and heads must be positive");
    if (o->head != RT_HEAD_LM && o->labels < 1)
        return rt_error(RT_ARGUMENT, "a sequence or token head needs at least one label");
    if (o->dim % o->heads)
        return rt_error(RT_ARGUMENT, "dim %d is not divisible by heads %d", o->dim, o->heads);
    if (o->position.kind == RT_POSITION_ROPE && (o->dim / o->heads) % 2)
        return rt_error(RT_ARGUMENT, "rope needs an even head size; got %d", o->dim / o->heads);
    if (o->theta.learn && rt_roformer_pairs(o) < 1)
        return rt_error(RT_ARGUMENT, "nothing is rotated, so there is no theta to learn");
    return rt_ok();
}

static rt_tensor *add_theta(rt_roformer *m, const char *prefix)
{
    const rt_roformer_options *o = &m->options;
    const int pairs = rt_roformer_pairs(o);
    rt_shape shape =
        o->theta.scope == RT_THETA_HEAD ? RT_SHAPE_OF(o->heads, pairs) : RT_SHAPE_OF(pairs);
    return rt_parameters_add(&m->parameters, RT_ROLE_THETA, RT_INIT_GIVEN, shape, "%s.theta",
                             prefix);
}

/* "roformer.encoder.layer.2.attention.self.query" and the like, written to `text`. */
#define LAYER_NAME(text, l, rest)                                                                  \
    (snprintf(text, sizeof(text), "roformer.encoder.layer.%d.%s", l, rest), (text))

static void add_layer(rt_roformer *m, int l)
{
    const rt_roformer_options *o = &m->options;
    rt_roformer_layer *layer = m->layers + l;
    char name[RT_NAME_SIZE];
    layer->query =
        rt_add_linear(&m->parameters, LAYER_NAME(name, l, "attention.self.query"), o->dim, o->dim);
    layer->key =
        rt_add_linear(&m->parameters, LAYER_NAME(name, l, "attention.self.key"), o->dim, o->dim);
    layer->value =
        rt_add_linear(&m->parameters, LAYER_NAME(name, l, "attention.self.value"), o->dim, o->dim);
    if (o->theta.learn && o->theta.scope != RT_THETA_MODEL)
        layer->theta = add_theta(m, LAYER_NAME(name, l, "attention.self"));
    layer->output = rt_add_linear(&m->parameters, LAYER_NAME(name, l, "attention.output.dense"),
                                  o->dim, o->dim);
    layer->output_norm =
        rt_add_norm(&m->parameters, LAYER_NAME(name, l, "attention.output.LayerNorm"), o->dim);
    layer->intermediate = rt_add_linear(&m->parameters, LAYER_NAME(name, l, "intermediate.dense"),
                                        o->ffn_dim, o->dim);
    layer->ffn_output =
        rt_add_linear(&m->parameters, LAYER_NAME(name, l, "output.dense"), o->dim, o->ffn_dim);
    layer->ffn_norm = rt_add_norm(&m->parameters, LAYER_NAME(name, l, "output.LayerNorm"), o->dim);
}

static void add_encoder(rt_roformer *m)
{
    const rt_roformer_options *o = &m->options;
    const int E = o->embedding_dim;
    m->words = rt_add_table(&m->parameters, "roformer.embeddings.word_embeddings", o->vocab, E);
    if (o->token_types > 0)
        m->types = rt_add_table(&m->parameters, "roformer.embeddings.token_type_embeddings",
                                o->token_types, E);
    m->embedding_norm = rt_add_norm(&m->parameters, "roformer.embeddings.LayerNorm", E);
    if (E != o->dim)
        m->projection = rt_add_linear(&m->parameters, "roformer.embeddings_project", o->dim, E);
    if (o->theta.learn && o->theta.scope == RT_THETA_MODEL)
        m->theta = add_theta(m, "roformer.encoder");
    for (int l = 0; l < o->layers; l++)
        add_layer(m, l);
    if (o->norm == RT_NORM_PRE)
        m->last_norm = rt_add_norm(&m->parameters, "roformer.encoder.LayerNorm", o->dim);
}

/* ---- theta ---- */

static double held(rt_theta_form form, double theta)
{
    return form == RT_THETA_LOG ? log(theta) : theta;
}

static double radians(rt_theta_form form, double value)
{
    return form == RT_THETA_LOG ? exp(value) : value;
}

static void set_theta(const rt_roformer_options *o, rt_tensor *theta, const double *initial)
{
    const size_t pairs = (size_t)rt_roformer_pairs(o);
    for (size_t i = 0; theta && i < rt_size(theta); i++)
        theta->data[i] = (real)held(o->theta.form, initial[i % pairs]);
}

/* Gives theta its start: a table if it is fixed, values of the parameters if not. */
static rt_status start_theta(rt_roformer *m, bool own_values)
{
    const rt_roformer_options *o = &m->options;
    const int pairs = rt_roformer_pairs(o);
    double *initial = rt_alloc((size_t)pairs, sizeof *initial);
    if (!initial)
        return rt_out_of_memory("theta");
    rt_status status = rt_ok();
    rt_roformer_initial_theta(o, initial);
    if (!o->theta.learn)
        status = rt_rotation_table_init(&m->rotation, initial, pairs, o->position.pairing, 1);
    else if (own_values) {
        set_theta(o, m->theta, initial);
        for (int l = 0; l < o->layers; l++)
            set_theta(o, m->layers[l].theta, initial);
    }
    rt_free(initial);
    return status;
}

int rt_roformer_theta(const rt_roformer *m, int layer, double *theta)
{
    const rt_tensor *t = m->theta ? m->theta : m->layers[layer].theta;
    if (!t)
        return 0;
    for (size_t i = 0; i < rt_size(t); i++)
        theta[i] = radians(m->options.theta.form, (double)t->data[i]);
    return (int)rt_rows(t);
}

/* The rotation that layer l applies to T tokens; NULL without rope, or when the graph or
 * the heap has failed (then the graph says so). */
static const rt_rotation *rotation_of(rt_roformer *m, rt_graph *g, int layer, int T)
{
    const rt_roformer_options *o = &m->options;
    if (!o->theta.learn) {
        rt_status status = rt_rotation_reserve(&m->rotation, T);
        if (status.code)
            return rt_graph_fail(g, status.code, "%s", status.message);
        return &m->rotation.rotation;
    }
    rt_tensor *theta = m->theta ? m->theta : m->layers[layer].theta;
    return rt_rotation_learned(g, theta, o->theta.form, o->position.pairing, 1, 1, T,
                               (rt_positions){0});
}

/* ---- forward ---- */

static rt_tensor *norm(const rt_roformer *m, rt_graph *g, rt_tensor *x, rt_affine a)
{
    return rt_layer_norm(g, x, a.weight, a.bias, m->options.norm_eps);
}

static rt_tensor *dropout(const rt_roformer *m, rt_graph *g, rt_tensor *x)
{
    return rt_dropout(g, x, m->options.dropout);
}

static rt_tensor *embed(rt_roformer *m, rt_graph *g, const rt_roformer_input *in)
{
    rt_shape shape = RT_SHAPE_OF(in->B, in->T);
    rt_tensor *x = rt_embedding(g, m->words, in->ids, shape, in->padding_id);
    if (m->types) {
        const int32_t *types = in->token_types;
        size_t count = (size_t)in->B * (size_t)in->T;
        int32_t *zeros = types ? NULL : rt_graph_memory(g, count, sizeof *zeros);
        if (zeros)
            types = memset(zeros, 0, count * sizeof *zeros);
        x = types ? rt_add(g, x, rt_embedding(g, m->types, types, shape, RT_NO_PADDING)) : NULL;
    }
    x = dropout(m, g, norm(m, g, x, m->embedding_norm));
    return m->projection.weight ? rt_affine_apply(g, x, m->projection) : x;
}

static rt_tensor *attend(rt_roformer *m, rt_graph *g, rt_tensor *x, int l,
                         const rt_rotation *rotation, const rt_roformer_input *in)
{
    const rt_roformer_options *o = &m->options;
    const rt_roformer_layer *layer = m->layers + l;
    const rt_shape heads = RT_SHAPE_OF(in->B, in->T, o->heads, o->dim / o->heads);
    rt_tensor *q = rt_reshape(g, rt_affine_apply(g, x, layer->query), heads);
    rt_tensor *k = rt_reshape(g, rt_affine_apply(g, x, layer->key), heads);
    rt_tensor *v = rt_reshape(g, rt_affine_apply(g, x, layer->value), heads);
    if (o->position.kind == RT_POSITION_ROPE) {
        q = rt_rope(g, q, rotation);
        k = rt_rope(g, k, rotation);
        if (o->position.rotate_value)
            v = rt_rope(g, v, rotation);
    }
    rt_attention_options options = {.causal = o->causal,
                                    .key_mask = in->key_mask,
                                    .dropout = o->attention_dropout,
                                    .probabilities = in->attentions ? in->attentions[l] : NULL};
    rt_tensor *context = rt_attention(g, q, k, v, &options);
    return rt_affine_apply(g, rt_reshape(g, context, RT_SHAPE_OF(in->B, in->T, o->dim)),
                           layer->output);
}

static rt_tensor *feed_forward(const rt_roformer *m, rt_graph *g, rt_tensor *x, int l)
{
    const rt_roformer_layer *layer = m->layers + l;
    return rt_affine_apply(g,
                           rt_activate(g, rt_affine_apply(g, x, layer->intermediate),
                                       m->options.activation),
                           layer->ffn_output);
}

static rt_tensor *apply_layer(rt_roformer *m, rt_graph *g, rt_tensor *x, int l,
                              const rt_rotation *rotation, const rt_roformer_input *in)
{
    const rt_roformer_layer *layer = m->layers + l;
    if (m->options.norm == RT_NORM_PRE) {
        rt_tensor *y = attend(m, g, norm(m, g, x, layer->output_norm), l, rotation, in);
        x = rt_add(g, x, dropout(m, g, y));
        y = feed_forward(m, g, norm(m, g, x, layer->ffn_norm), l);
        return rt_add(g, x, dropout(m, g, y));
    }
    rt_tensor *y = attend(m, g, x, l, rotation, in);
    x = norm(m, g, rt_add(g, x, dropout(m, g, y)), layer->output_norm);
    y = feed_forward(m, g, x, l);
    return norm(m, g, rt_add(g, x, dropout(m, g, y)), layer->ffn_norm);
}

rt_tensor *rt_roformer_encode(rt_roformer *m, rt_graph *g, const rt_roformer_input *in)
{
    const rt_roformer_options *o = &m->options;
    const rt_rotation *rotation = NULL;
    const bool rope = o->position.kind == RT_POSITION_ROPE;
    rt_tensor *x = embed(m, g, in);
    for (int l = 0; l < o->layers; l++) {
        if (in->hidden_states)
            in->hidden_states[l] = x;
        if (rope && (l == 0 || (o->theta.learn && o->theta.scope != RT_THETA_MODEL)))
            rotation = rotation_of(m, g, l, in->T);
        x = apply_layer(m, g, x, l, rotation, in);
    }
    if (o->norm == RT_NORM_PRE)
        x = norm(m, g, x, m->last_norm);
    if (in->hidden_states)
        in->hidden_states[o->layers] = x;
    return x;
}

/* ---- life ---- */

rt_status rt_roformer_new(rt_roformer **model_new, const rt_roformer_options *options,
                          uint64_t seed, const rt_roformer *values_of)
{
    *model_new = NULL;
    rt_status status = check_options(options);
    if (status.code)
        return status;
    rt_roformer *m = rt_alloc(1, sizeof *m);
    if (!m)
        return rt_out_of_memory("a model");
    m->options = *options;
    if (!m->options.embedding_dim)
        m->options.embedding_dim = options->dim;
    if (!m->options.ffn_dim)
        m->options.ffn_dim = 4 * options->dim;
    m->layers = rt_alloc((size_t)options->layers, sizeof *m->layers);
    if (m->layers) {
        add_encoder(m);
        rt_add_head(m);
        status =
            rt_parameters_allocate(&m->parameters, seed, values_of ? &values_of->parameters : NULL);
    } else {
        status = rt_out_of_memory("a model");
    }
    if (!status.code)
        status = start_theta(m, !values_of);
    if (status.code)
        rt_roformer_free(m);
    else
        *model_new = m;
    return status;
}

void rt_roformer_free(rt_roformer *m)
{
    if (!m)
        return;
    rt_rotation_table_free(&m->rotation);
    rt_parameters_free(&m->parameters);
    rt_free(m->layers);
    rt_free(m);
}
