/* A learned table that is added to the embeddings, a row for each position (Gehring et al. 2017).
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

typedef struct row_numbers {
    int32_t *numbers; /* of each token, to be filled in */
    rt_token_span at;
} row_numbers;

static void number_rows(void *context)
{
    const row_numbers *all = context;
    for (int t = 0; t < all->at.count; t++)
        all->numbers[t] = all->at.first + t;
}

static rt_tensor *embeddings(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_token_span at)
{
    const int T = at.count;
    row_numbers all = {rt_graph_numbers(g, (size_t)T, sizeof *all.numbers), at};
    rt_memory_fill(all.numbers, number_rows, &all);
    return all.numbers ? rt_add(g, x,
                                rt_embedding(g, m->encoding.weight, all.numbers, RT_SHAPE_OF(T),
                                             RT_NO_PADDING))
                       : NULL;
}

const rt_encoding rt_encoding_learned = {.word = "learned",
                                         .capacity_key = "position.max_len",
                                         .check = check,
                                         .capacity = capacity,
                                         .add = add,
                                         .embeddings = embeddings};
