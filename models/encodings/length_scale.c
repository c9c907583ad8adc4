/* Factors of the queries that grow with the length of the text, against attention that spreads over
 * more and more keys.
 *
 *     log       log n, n the visible keys of the query: SSMax (Nakanishi 2025) with s = 1
 *     learned   s_h log n; layers.N.attention.length_scale (heads), 1 at the start
 *     floor     1 + factor log(1 + floor((t + 1) / floor)), in layers without positions: Llama 4 */

#include "models/encodings/encoding.h"

#include <math.h>

static bool scales(const rt_transformer_options *o, int layer)
{
    const bool placed =
        rt_layer_row_of(o, layer).has_positions && o->position.kind != RT_POSITION_NONE;
    return o->length_scale != RT_LENGTH_NONE && !(o->length_scale == RT_LENGTH_FLOOR && placed);
}

static void add_factors(rt_transformer *m, int l)
{
    if (m->options.length_scale == RT_LENGTH_LEARNED)
        m->layers[l].length_scale =
            rt_parameters_add(&m->parameters, RT_ROLE_FACTOR, RT_INIT_ONE,
                              RT_SHAPE_OF(m->options.heads), "layers.%d.attention.length_scale", l);
}

/* Returns the factor of the query of token t of a text. */
static double factor_of(const rt_transformer_options *o, int window, int t)
{
    if (o->length_scale == RT_LENGTH_FLOOR)
        return 1 + o->length_factor * log1p(floor((t + 1.0) / o->length_floor));
    return log(window && t >= window ? window : t + 1.0);
}

static void scale_queries(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    const rt_transformer_layer *layer = m->layers + l;
    rt_tensor *query = a->query;
    if (!RT_CHECK_INPUTS(g, "length_scale", RT_INPUT(query)))
        return;
    const int T = query->shape[1], rows = query->shape[0] * T;
    real *factors = rt_graph_numbers(g, (size_t)rows, sizeof *factors);
    if (!factors)
        return;
    for (int i = 0; rt_memory_is_present(factors) && i < rows; i++)
        factors[i] = (real)factor_of(&m->options, layer->row.window, a->at.first + i % T);
    query = rt_scale_parts(g, query, rt_graph_constant(g, factors, RT_SHAPE_OF(rows)));
    a->query = layer->length_scale ? rt_scale_heads(g, query, layer->length_scale) : query;
}

static void check(const rt_transformer_options *o, rt_rule_sink to)
{
    static const char *const words[] = {RT_LENGTH_SCALES(RT_CHOICE_WORD)};
    if (o->length_scale == RT_LENGTH_NONE)
        return;
    rt_check_causal_scores(o, to, "model.length_scale", words[o->length_scale]);
    if (!(isfinite(o->length_factor) && o->length_floor >= 1) && o->length_scale == RT_LENGTH_FLOOR)
        rt_rule_broken(
            to, RT_OPTIONS("model.length_factor", "model.length_floor"),
            "model.length_factor must be finite, and model.length_floor positive; got %g "
            "and %d",
            o->length_factor, o->length_floor);
}

const rt_encoding rt_encoding_length_scale = {.word = "length_scale",
                                              .acts = scales,
                                              .check = check,
                                              .add_layer = add_factors,
                                              .attention = scale_queries};
