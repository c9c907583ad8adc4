/* Encodings added to the embeddings. */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

#include <math.h>

/* A learned table, a row for each position, added to the embeddings (Gehring et al. 2017). In an
 * image, a row for each token.
 *
 *     embeddings.positions.weight   (position.max_len, embedding_dim) */

static void learned_check(const rt_transformer_options *o, rt_rule_sink to)
{
    if (o->position.max_len < 1)
        rt_rule_broken(
            to, RT_OPTIONS("position.kind", "position.max_len"),
            "position.kind = learned needs position.max_len, the size of its table; got %d",
            o->position.max_len);
}

static int learned_capacity(const rt_transformer_options *o)
{
    return o->position.max_len;
}

static rt_tensor *learned_add(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    m->parameters.component = RT_COMPONENT_EMBEDDINGS;
    return rt_add_encoding_weight(m, "embeddings.positions.weight", o->position.max_len,
                                  o->embedding_dim);
}

static rt_tensor *learned_embeddings(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_token_span at)
{
    const rt_positions *own = m->options.position.axes == 1 ? at.positions : NULL;
    const int sequences = own && own->per_sequence ? own->B : 1, count = sequences * at.count;
    int32_t *rows = rt_graph_numbers(g, (size_t)count, sizeof *rows);
    for (int t = 0; rt_memory_is_present(rows) && t < count; t++)
        rows[t] = own ? (int32_t)own->at[t] : at.first + t;
    if (!rows)
        return NULL;
    const rt_shape shape = sequences > 1 ? RT_SHAPE_OF(sequences, at.count) : RT_SHAPE_OF(at.count);
    return rt_add(g, x, rt_embedding(g, m->encoding.weight, rows, shape, RT_NO_PADDING));
}

const rt_encoding rt_encoding_learned = {.word = "learned",
                                         .axes = 2,
                                         .capacity_key = "position.max_len",
                                         .check = learned_check,
                                         .capacity = learned_capacity,
                                         .add = learned_add,
                                         .embeddings = learned_embeddings};

/* Sines and cosines added to the embeddings (Vaswani et al. 2017). With two coordinates, half of
 * the features are those of the column and half those of the row. */

void rt_sinusoidal_frequencies(double *w, int C, double base)
{
    for (int i = 0; i < (C + 1) / 2; i++)
        w[i] = pow(base, -2.0 * i / C);
}

void rt_sinusoidal_table(real *table, int stride, const double *position, size_t rows,
                         rt_sinusoids of)
{
    const int sines = (of.C + 1) / 2;
    for (int i = 0; i < sines; i++) {
        const int sine = of.layout == RT_INTERLEAVED ? 2 * i : i;
        const int cosine = of.layout == RT_INTERLEAVED ? sine + 1 : sines + i;
        for (size_t r = 0; r < rows; r++) {
            real *row = table + r * (size_t)stride;
            const double angle = position[r] * of.w[i];
            row[sine] = (real)sin(angle);
            if (2 * i + 1 < of.C)
                row[cosine] = (real)cos(angle);
        }
    }
}

/* Returns the number of features of the first coordinate. */
static int first_features(const rt_transformer *m)
{
    return m->options.position.axes > 1 ? m->options.embedding_dim / 2 : m->options.embedding_dim;
}

/* The state is the frequencies of the first coordinate, and then those of the second. */
static rt_status sinusoidal_start(rt_transformer *m)
{
    const int E = m->options.embedding_dim, first = first_features(m);
    const double base = m->options.position.frequencies.base;
    double *w = m->encoding.state = rt_alloc((size_t)E + 1, sizeof *w);
    RT_TRY(rt_allocated(w, "the frequencies of positions"));
    rt_sinusoidal_frequencies(w, first, base);
    rt_sinusoidal_frequencies(w + (first + 1) / 2, E - first, base);
    return rt_ok();
}

/* Returns x sqrt(E) + sines, as Vaswani et al.: initial embeddings are far smaller than
 * the sines. */
static rt_tensor *sinusoidal_embeddings(rt_transformer *m, rt_graph *g, rt_tensor *x,
                                        rt_token_span at)
{
    const rt_positions *own = at.positions;
    const int E = m->options.embedding_dim, T = at.count, B = own && own->per_sequence ? own->B : 1;
    const int first = first_features(m);
    const double *w = m->encoding.state;
    const size_t rows = (size_t)B * (size_t)T;
    real *sines = rt_graph_numbers(g, rows * (size_t)E, sizeof *sines);
    double *counted = rt_graph_numbers(g, rows, sizeof *counted);
    if (!sines || !counted)
        return NULL;
    if (rt_memory_is_present(sines)) {
        for (int t = 0; !own && t < T; t++)
            counted[t] = at.first + t;
        rt_sinusoidal_table(sines, E, own ? own->at : counted, rows,
                            (rt_sinusoids){first, w, RT_INTERLEAVED});
        if (first < E)
            rt_sinusoidal_table(sines + first, E, own->second, rows,
                                (rt_sinusoids){E - first, w + (first + 1) / 2, RT_INTERLEAVED});
    }
    rt_tensor *table =
        rt_graph_constant(g, sines, B > 1 ? RT_SHAPE_OF(B, T, E) : RT_SHAPE_OF(T, E));
    return rt_add(g, rt_scale(g, x, sqrt(E)), table);
}

const rt_encoding rt_encoding_sinusoidal = {.word = "sinusoidal",
                                            .axes = 2,
                                            .has_base = true,
                                            .start = sinusoidal_start,
                                            .embeddings = sinusoidal_embeddings};
