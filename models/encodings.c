#include "models/parts.h"

#include "core/memory.h"
#include "models/positions.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

/* A weight that holds what is learned of positions, which start with a deviation of their own. */
static rt_tensor *add_weight(rt_transformer *m, const char *name, int rows, int size)
{
    rt_parameters *p = &m->parameters;
    const double init_std = p->init_std;
    p->init_std = m->options.position.init_std;
    rt_tensor *weight =
        rt_parameters_add(p, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(rows, size), "%s", name);
    p->init_std = init_std;
    return weight;
}

bool rt_layer_has_positions(const rt_transformer_options *o, int l)
{
    return o->position.every < 2 || (l + 1) % o->position.every != 0;
}

int rt_transformer_capacity(const rt_transformer_options *o)
{
    const rt_position_options *position = &o->position;
    const double most = RT_XPOS_REACH * position->xpos;
    if (position->kind == RT_POSITION_LEARNED)
        return position->max_len;
    return position->kind == RT_POSITION_ROPE && most > 0 && most < INT_MAX ? (int)most : 0;
}

void rt_add_encoding(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    if (o->position.kind == RT_POSITION_LEARNED) {
        rt_begin_part(m, RT_PART_EMBEDDINGS, -1);
        m->embeddings.positions =
            add_weight(m, "embeddings.positions.weight", o->position.max_len, o->embedding_dim);
    }
    if (o->position.kind == RT_POSITION_T5)
        m->position_bias = add_weight(m, "positions.bias.weight", RT_T5_BUCKETS, o->heads);
}

rt_tensor *rt_add_layer_encoding(rt_transformer *m, int layer)
{
    char name[RT_NAME_SIZE];
    const rt_transformer_options *o = &m->options;
    if (o->position.kind != RT_POSITION_SHAW)
        return NULL;
    snprintf(name, sizeof name, "layers.%d.attention.distance_keys.weight", layer);
    return add_weight(m, name, 2 * RT_SHAW_REACH + 1, o->dim / o->heads);
}

rt_status rt_encoding_start(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const rt_position_kind kind = o->position.kind;
    if (kind == RT_POSITION_ALIBI) {
        m->slopes = rt_alloc((size_t)o->heads, sizeof *m->slopes);
        if (!m->slopes)
            return rt_out_of_memory("the slopes of ALiBi");
        rt_alibi_slopes(m->slopes, o->heads);
    }
    if (kind == RT_POSITION_T5 || kind == RT_POSITION_SHAW) {
        m->class_of = rt_alloc(RT_MAX_CLASSES_OF, sizeof *m->class_of);
        if (!m->class_of)
            return rt_out_of_memory("the classes of distances");
        m->distances = kind == RT_POSITION_T5 ? rt_t5_distances(m->class_of, o->causal)
                                              : rt_shaw_distances(m->class_of);
    }
    return rt_ok();
}

void rt_encoding_free(rt_transformer *m)
{
    rt_free(m->sines);
    rt_free(m->slopes);
    rt_free(m->class_of);
}

/* ---- embeddings ---- */

static bool fill_sines(real *sines, int T, int E, double base)
{
    const size_t size = (size_t)T * (size_t)E;
    double *exact = rt_alloc(size, sizeof *exact);
    if (exact)
        rt_sinusoidal_table(exact, T, E, base, RT_INTERLEAVED);
    for (size_t i = 0; exact && i < size; i++)
        sines[i] = (real)exact[i];
    rt_free(exact);
    return exact;
}

/* The sinusoidal table of at least T rows. It grows on demand, by as much again, since a text may
 * come token by token. */
static const real *sines_for(rt_transformer *m, rt_graph *g, int T)
{
    if (T <= m->sine_rows)
        return m->sines;
    T = T < INT_MAX / 2 && T < 2 * m->sine_rows ? 2 * m->sine_rows : T;
    const size_t E = (size_t)m->options.embedding_dim, size = (size_t)T * E;
    rt_model_tally *tally = m->parameters.tally;
    real *sines = rt_alloc_or_count(tally ? &tally->tables : NULL, size, sizeof *sines);
    if (!sines || (!tally && !fill_sines(sines, T, (int)E, m->options.position.frequencies.base))) {
        rt_free(sines);
        return rt_graph_fail(g, RT_MEMORY, "out of memory for a table of %d positions", T);
    }
    rt_free(m->sines);
    m->sines = sines;
    m->sine_rows = T;
    return sines;
}

/* x sqrt(E) + sines, as Vaswani et al. (2017) have it: at their start the embeddings are far
 * smaller than the sines. */
static rt_tensor *add_sines(rt_transformer *m, rt_graph *g, rt_tensor *x, int first)
{
    const int T = x->shape[1], E = x->shape[2];
    const real *sines = sines_for(m, g, first + T);
    rt_tensor *table = rt_graph_memory(g, 1, sizeof *table);
    if (!sines || !table)
        return NULL;
    sines += (size_t)first * (size_t)E;
    *table = rt_tensor_of((real *)sines, NULL, RT_SHAPE_OF(T, E));
    return rt_add(g, rt_scale(g, x, sqrt(E)), table);
}

static rt_tensor *add_learned(rt_transformer *m, rt_graph *g, rt_tensor *x, int first)
{
    const int T = x->shape[1], most = m->options.position.max_len;
    if (T > most - first)
        return rt_graph_fail(g, RT_ARGUMENT, "[positions] %d tokens do not fit %d learned ones",
                             first + T, most);
    int32_t *at = rt_graph_numbers(g, (size_t)T, sizeof *at);
    for (int t = 0; at && t < T && !rt_graph_is_dry(g); t++)
        at[t] = first + t;
    return at ? rt_add(g, x,
                       rt_embedding(g, m->embeddings.positions, at, RT_SHAPE_OF(T), RT_NO_PADDING))
              : NULL;
}

rt_tensor *rt_encode_embeddings(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_token_span at)
{
    if (!RT_TAKES(g, "positions", RT_INPUT(x)))
        return NULL;
    if (m->options.position.kind == RT_POSITION_SINUSOIDAL)
        return add_sines(m, g, x, at.first);
    if (m->options.position.kind == RT_POSITION_LEARNED)
        return add_learned(m, g, x, at.first);
    return x;
}

/* ---- attention ---- */

void rt_encode_scores(const rt_transformer *m, int l, rt_attention_options *options)
{
    if (!rt_layer_has_positions(&m->options, l))
        return;
    options->slopes = m->slopes;
    if (!m->class_of)
        return;
    options->distances = &m->distances;
    options->distance_bias = m->position_bias;
    options->distance_keys = m->layers[l].distance_keys;
}
