#include "models/encodings/encoding.h"

/* No positions: a causal model still sees the number of earlier tokens. */
const rt_encoding rt_encoding_none = {.word = "none", .in_plane = true};

#define ROW(constant, row) [constant] = &(row),
static const rt_encoding *const rows[] = {RT_POSITION_KINDS(ROW)};

const rt_encoding *rt_encoding_of(const rt_transformer_options *o)
{
    return rows[o->position.kind];
}

const char *rt_encoding_word(int kind)
{
    return kind >= 0 && kind < (int)(sizeof rows / sizeof *rows) ? rows[kind]->word : NULL;
}

bool rt_encoding_has_weights(const rt_transformer_options *o)
{
    const rt_encoding *encoding = rt_encoding_of(o);
    return !encoding->rotation && (encoding->add || encoding->add_layer);
}

int rt_transformer_capacity(const rt_transformer_options *o)
{
    const rt_encoding *encoding = rt_encoding_of(o);
    return encoding->capacity ? encoding->capacity(o) : 0;
}

rt_tensor *rt_graph_constant(rt_graph *g, real *data, rt_shape shape)
{
    rt_tensor *x = rt_graph_memory(g, 1, sizeof *x);
    if (x)
        *x = rt_tensor_of(data, NULL, shape);
    return x;
}

rt_tensor *rt_add_encoding_weight(rt_transformer *m, const char *name, int count, int size)
{
    rt_parameters *p = &m->parameters;
    const double init_std = p->init_std;
    p->init_std = m->options.position.init_std;
    rt_tensor *weight =
        rt_parameters_add(p, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(count, size), "%s", name);
    p->init_std = init_std;
    return weight;
}
