/* A learned table, a row for each position, added to the embeddings (Gehring et al. 2017). In an
 * image, a row for each token.
 *
 *     embeddings.positions.weight   (position.max_len, embedding_dim) */

#include "models/encodings/encoding.h"

static void check(const rt_transformer_options *o, rt_rule_sink to)
{
    if (o->position.max_len < 1)
        rt_rule_broken(
            to, RT_OPTIONS("position.kind", "position.max_len"),
            "position.kind = learned needs position.max_len, the size of its table; got %d",
            o->position.max_len);
}

static int capacity(const rt_transformer_options *o)
{
    return o->position.max_len;
}

static rt_tensor *add(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    rt_parameters_begin_part(&m->parameters, RT_PART_EMBEDDINGS, -1);
    return rt_add_encoding_weight(m, "embeddings.positions.weight", o->position.max_len,
                                  o->embedding_dim);
}

static rt_tensor *embeddings(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_token_span at)
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
                                         .in_plane = true,
                                         .capacity_key = "position.max_len",
                                         .check = check,
                                         .capacity = capacity,
                                         .add = add,
                                         .embeddings = embeddings};
