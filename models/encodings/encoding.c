#include "models/encodings/encoding.h"

/* No positions: a causal model still sees the number of earlier tokens. */
const rt_encoding rt_encoding_none = {.word = "none", .axes = 2};

#define ROW(constant, row) [constant] = &(row),
static const rt_encoding *const rows[] = {RT_POSITION_KINDS(ROW)};

const rt_encoding *rt_encoding_of(const rt_transformer_options *o)
{
    return rows[o->position.kind];
}

extern const rt_encoding rt_encoding_forget, rt_encoding_key_shift, rt_encoding_length_scale;

/* Encodings beside position.kind. */
static const rt_encoding *const beside[] = {&rt_encoding_forget, &rt_encoding_key_shift,
                                            &rt_encoding_length_scale};
enum { BESIDE = sizeof beside / sizeof *beside };

const rt_encoding *rt_encoding_at(const rt_transformer_options *o, int n)
{
    return !n ? rt_encoding_of(o) : n <= BESIDE ? beside[n - 1] : NULL;
}

bool rt_encoding_acts(const rt_encoding *encoding, const rt_transformer_options *o, int layer)
{
    return encoding->acts ? encoding->acts(o, layer) : rt_layer_row_of(o, layer).has_positions;
}

size_t rt_encodings_state(const rt_transformer_options *o, int layer)
{
    const rt_encoding *encoding;
    size_t size = 0;
    for (int n = 0; (encoding = rt_encoding_at(o, n)); n++)
        size += encoding->state && rt_encoding_acts(encoding, o, layer) ? encoding->state(o) : 0;
    return size;
}

int rt_key_features(const rt_transformer_options *o, int layer)
{
    const rt_encoding *encoding = rt_encoding_of(o);
    const bool polar = encoding->has_polar_heads && rt_encoding_acts(encoding, o, layer);
    return (polar ? 2 : 1) * rt_transformer_head_dim(o);
}

const char *rt_encoding_word(int kind)
{
    return kind >= 0 && kind < (int)(sizeof rows / sizeof *rows) ? rows[kind]->word : NULL;
}

static bool has_weights(const rt_encoding *encoding)
{
    return encoding->joins || (!encoding->pairs && (encoding->add || encoding->add_layer));
}

const char *rt_encoding_obstacle(const rt_transformer_options *o,
                                 const rt_transformer_options *from)
{
    const rt_encoding *here = rt_encoding_of(o), *there = rt_encoding_of(from);
    if (here->joins)
        return here->joins(o, from);
    return has_weights(here) || has_weights(there) ? "" : NULL;
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

rt_tensor *rt_scale_parts(rt_graph *g, rt_tensor *x, rt_tensor *factors)
{
    if (!RT_CHECK_INPUTS(g, "scale_parts", RT_INPUT(x), RT_INPUT(factors)))
        return NULL;
    const rt_shape shape = rt_tensor_shape(x);
    const int parts = (int)rt_size(factors);
    x = rt_reshape(g, x, RT_SHAPE_OF(parts, (int)rt_size(x) / parts));
    x = rt_scale_heads(g, x, rt_reshape(g, factors, RT_SHAPE_OF(parts)));
    return rt_reshape(g, x, shape);
}

rt_tensor *rt_without_padding(rt_graph *g, rt_tensor *x, const uint8_t *mask)
{
    const int tokens = x && mask ? x->shape[0] * x->shape[1] : 0;
    real *factors = tokens ? rt_graph_numbers(g, (size_t)tokens, sizeof *factors) : NULL;
    for (int i = 0; rt_memory_is_present(factors) && i < tokens; i++)
        factors[i] = mask[i];
    return tokens ? rt_scale_parts(g, x, rt_graph_constant(g, factors, RT_SHAPE_OF(tokens))) : x;
}

void rt_check_causal_scores(const rt_transformer_options *o, rt_rule_sink to, const char *key,
                            const char *word)
{
    if (!o->causal)
        rt_rule_broken(to, RT_OPTIONS(key, "model.causal"),
                       "%s = %s needs model.causal = yes: it is published for causal models", key,
                       word);
    if (o->attention != RT_ATTENTION_SOFTMAX)
        rt_rule_broken(to, RT_OPTIONS(key, "model.attention"),
                       "%s = %s needs model.attention = softmax: it changes scores", key, word);
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
