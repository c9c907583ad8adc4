/* Sines and cosines added to the embeddings (Vaswani et al. 2017). With two coordinates, half of
 * the features are those of the column and half those of the row. */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

#include <limits.h>
#include <math.h>

/* Table with at least as many rows as the longest text so far. It doubles as it grows, because a
 * text may arrive token by token. */
typedef struct sine_table {
    real *sines; /* (rows, E) */
    int rows;
} sine_table;

static rt_status start(rt_transformer *m)
{
    m->encoding.state = rt_alloc(1, sizeof(sine_table));
    return m->encoding.state ? rt_ok() : rt_out_of_memory("a table of positions");
}

static void free_table(void *state)
{
    rt_free(((sine_table *)state)->sines);
}

/* Fills the rows of T positions. Returns false if memory is exhausted. */
static bool fill(real *sines, int T, int E, double base)
{
    const size_t size = (size_t)T * (size_t)E;
    double *exact = rt_alloc(size, sizeof *exact);
    if (!exact)
        return false;
    rt_sinusoidal_table(exact, T, E, base, RT_INTERLEAVED);
    for (size_t i = 0; i < size; i++)
        sines[i] = (real)exact[i];
    rt_free(exact);
    return true;
}

/* Returns the sines of at least T positions. */
static const real *sines_for(const rt_transformer *m, rt_graph *g, int T)
{
    const rt_transformer_options *o = &m->options;
    sine_table *table = m->encoding.state;
    if (T <= table->rows)
        return table->sines;
    T = T < INT_MAX / 2 && T < 2 * table->rows ? 2 * table->rows : T;
    real *sines = rt_account_alloc(m->parameters.account, RT_FOR_TABLES,
                                   (size_t)T * (size_t)o->embedding_dim, sizeof *sines);
    if (!sines || (rt_memory_is_present(sines) &&
                   !fill(sines, T, o->embedding_dim, o->position.frequencies.base))) {
        rt_free(sines);
        return rt_graph_fail(g, RT_MEMORY, "out of memory for a table of %d positions", T);
    }
    rt_free(table->sines);
    *table = (sine_table){sines, T};
    return sines;
}

/* Returns the sines of given positions, (T, E) or (B, T, E), in the memory of the graph. */
static rt_tensor *sines_at(const rt_transformer *m, rt_graph *g, const rt_positions *at)
{
    const int E = m->options.embedding_dim, T = at->T, B = at->per_sequence ? at->B : 1;
    const int first = at->second ? E / 2 : E; /* features of the first coordinate */
    const double base = m->options.position.frequencies.base;
    const size_t rows = (size_t)B * (size_t)T;
    rt_tensor *table = rt_graph_memory(g, 1, sizeof *table);
    real *sines = rt_graph_numbers(g, rows * (size_t)E, sizeof *sines);
    double *row = rt_graph_numbers(g, (size_t)E, sizeof *row);
    if (!table || !sines || !row)
        return NULL;
    for (size_t t = 0; rt_memory_is_present(sines) && t < rows; t++) {
        rt_sinusoidal_row(row, at->at[t], first, base, RT_INTERLEAVED);
        if (at->second)
            rt_sinusoidal_row(row + first, at->second[t], E - first, base, RT_INTERLEAVED);
        for (int i = 0; i < E; i++)
            sines[t * (size_t)E + (size_t)i] = (real)row[i];
    }
    *table = rt_tensor_of(sines, NULL, B > 1 ? RT_SHAPE_OF(B, T, E) : RT_SHAPE_OF(T, E));
    return table;
}

/* Returns x sqrt(E) + sines, as Vaswani et al.: initial embeddings are far smaller than
 * the sines. */
static rt_tensor *embeddings(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_token_span at)
{
    const int T = at.count, E = m->options.embedding_dim;
    if (at.positions)
        return rt_add(g, rt_scale(g, x, sqrt(E)), sines_at(m, g, at.positions));
    const real *sines = sines_for(m, g, at.first + T);
    rt_tensor *table = rt_graph_memory(g, 1, sizeof *table);
    if (!sines || !table)
        return NULL;
    sines += (size_t)at.first * (size_t)E;
    *table = rt_tensor_of((real *)sines, NULL, RT_SHAPE_OF(T, E));
    return rt_add(g, rt_scale(g, x, sqrt(E)), table);
}

const rt_encoding rt_encoding_sinusoidal = {.word = "sinusoidal",
                                            .in_plane = true,
                                            .has_base = true,
                                            .start = start,
                                            .free = free_table,
                                            .embeddings = embeddings};
