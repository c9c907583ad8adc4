/* Sines and cosines that are added to the embeddings (Vaswani et al. 2017). */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

#include <limits.h>
#include <math.h>

/* The table has at least as many rows as the longest text so far; it grows by as much again, since
 * a text may come token by token. */
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

/* Rows of sines that are to be computed. */
typedef struct new_rows {
    real *sines;
    int T, E;
    double base;
    bool full; /* false: out of memory */
} new_rows;

static void fill(void *context)
{
    new_rows *rows = context;
    const size_t size = (size_t)rows->T * (size_t)rows->E;
    double *exact = rt_alloc(size, sizeof *exact);
    if (exact)
        rt_sinusoidal_table(exact, rows->T, rows->E, rows->base, RT_INTERLEAVED);
    for (size_t i = 0; exact && i < size; i++)
        rows->sines[i] = (real)exact[i];
    rows->full = exact;
    rt_free(exact);
}

/* The sines of at least T positions. */
static const real *sines_for(const rt_transformer *m, rt_graph *g, int T)
{
    sine_table *table = m->encoding.state;
    if (T <= table->rows)
        return table->sines;
    T = T < INT_MAX / 2 && T < 2 * table->rows ? 2 * table->rows : T;
    const size_t E = (size_t)m->options.embedding_dim;
    new_rows rows = {rt_account_alloc(m->parameters.account, RT_FOR_TABLES, (size_t)T * E,
                                      sizeof *rows.sines),
                     T, (int)E, m->options.position.frequencies.base, true};
    rt_memory_fill(rows.sines, fill, &rows);
    if (!rows.sines || !rows.full) {
        rt_free(rows.sines);
        return rt_graph_fail(g, RT_MEMORY, "out of memory for a table of %d positions", T);
    }
    rt_free(table->sines);
    *table = (sine_table){rows.sines, T};
    return rows.sines;
}

/* x sqrt(E) + sines, as Vaswani et al. have it: at their start the embeddings are far smaller than
 * the sines. */
static rt_tensor *embeddings(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_token_span at)
{
    const int T = at.count, E = m->options.embedding_dim;
    const real *sines = sines_for(m, g, at.first + T);
    rt_tensor *table = rt_graph_memory(g, 1, sizeof *table);
    if (!sines || !table)
        return NULL;
    sines += (size_t)at.first * (size_t)E;
    *table = rt_tensor_of((real *)sines, NULL, RT_SHAPE_OF(T, E));
    return rt_add(g, rt_scale(g, x, sqrt(E)), table);
}

const rt_encoding rt_encoding_sinusoidal = {.word = "sinusoidal",
                                            .has_base = true,
                                            .start = start,
                                            .free = free_table,
                                            .embeddings = embeddings};
