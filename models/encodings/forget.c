/* Forgetting attention (Lin et al. 2025): each token has a gate f from 0 to 1 for each head, and
 * the score of a key is lowered by -log f of every later token up to the query. The softmax drops
 * what all keys of a query share, so that a running sum of -log f up to the key is its bias.
 *
 *     layers.N.attention.forget.weight   (heads, dim), of gate
 *     layers.N.attention.forget.bias     (heads), of gate and bias
 *
 * log f = -log(1 + e^-z), z = weight x + bias; fixed has a constant z. */

#include "models/encodings/encoding.h"

#include <math.h>

/* Returns whether a layer forgets. */
static bool forgets(const rt_transformer_options *o, int layer)
{
    (void)layer;
    return o->position.forget != RT_FORGET_NONE;
}

/* Returns the initial z of a head: of a gate position.forget_bias, otherwise that of a decay time,
 * after which a token has the weight 1/e. The times are a geometric sequence over the heads. */
static double initial_gate(const rt_transformer_options *o, int head)
{
    const rt_interval times = o->position.forget_times;
    const double first = times.least ? times.least : times.most;
    if (o->position.forget == RT_FORGET_GATE ||
        (o->position.forget == RT_FORGET_BIAS && o->position.forget_bias != 0))
        return o->position.forget_bias;
    const double share = o->heads > 1 ? (double)head / (o->heads - 1) : 0;
    return -log(expm1(1 / (first * pow(times.most / first, share))));
}

static void add_gate(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    rt_affine *gate = &m->layers[l].forget;
    if (o->position.forget == RT_FORGET_GATE)
        gate->weight = rt_parameters_add(&m->parameters, RT_ROLE_MATRIX, RT_INIT_NORMAL,
                                         RT_SHAPE_OF(o->heads, o->dim),
                                         "layers.%d.attention.forget.weight", l);
    if (o->position.forget != RT_FORGET_FIXED)
        gate->bias = rt_parameters_add(&m->parameters, RT_ROLE_BIAS, RT_INIT_GIVEN,
                                       RT_SHAPE_OF(o->heads), "layers.%d.attention.forget.bias", l);
}

static rt_status set_biases(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    if (m->parameters.borrows_values || !rt_memory_is_present(m->parameters.values))
        return rt_ok();
    for (int l = 0; l < o->layers; l++)
        for (int h = 0; m->layers[l].forget.bias && h < o->heads; h++)
            m->layers[l].forget.bias->data[h] = (real)initial_gate(o, h);
    return rt_ok();
}

/* Returns z of every token, (B, T, H). */
static rt_tensor *gates_of(const rt_transformer *m, rt_graph *g, rt_affine gate, rt_tensor *x)
{
    const int heads = m->options.heads;
    if (gate.weight)
        return rt_linear(g, x, gate.weight, gate.bias);
    const size_t tokens = (size_t)x->shape[0] * (size_t)x->shape[1];
    real *constant = rt_graph_numbers(g, tokens * (size_t)heads, sizeof *constant);
    if (!constant)
        return NULL;
    for (size_t i = 0; rt_memory_is_present(constant) && i < tokens * (size_t)heads; i++)
        constant[i] = gate.bias ? 0 : (real)initial_gate(&m->options, (int)(i % (size_t)heads));
    rt_tensor *z = rt_graph_constant(g, constant, RT_SHAPE_OF(x->shape[0], x->shape[1], heads));
    return gate.bias ? rt_add(g, z, gate.bias) : z;
}

static void forget(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    static const int by_head[] = {0, 2, 1};
    if (!RT_CHECK_INPUTS(g, "forget", RT_FACTOR(a->input)))
        return;
    rt_tensor *z = gates_of(m, g, m->layers[l].forget, a->input);
    rt_tensor *cost = rt_activate(g, rt_scale(g, z, -1), RT_SOFTPLUS); /* -log f */
    cost = rt_without_padding(g, cost, a->options.key_mask);
    a->options.key_bias = rt_running_sum(g, rt_permute(g, cost, by_head), 2, a->state);
    const rt_tensor *sums = a->options.key_bias;
    for (int h = 0; a->state && sums && h < m->options.heads; h++)
        a->state[h] = sums->exact[(size_t)(h + 1) * (size_t)sums->shape[2] - 1];
}

static size_t sums_of(const rt_transformer_options *o)
{
    return (size_t)o->heads;
}

static void check(const rt_transformer_options *o, rt_rule_sink to)
{
    static const char *const words[] = {RT_FORGETS(RT_CHOICE_WORD)};
    const char *word = words[o->position.forget];
    const rt_interval times = o->position.forget_times;
    if (!forgets(o, 0))
        return;
    rt_check_causal_scores(o, to, "position.forget", word);
    if (o->position.kind == RT_POSITION_ALIBI)
        rt_rule_broken(to, RT_OPTIONS("position.forget", "position.kind"),
                       "position.forget = %s beside position.kind = alibi lowers scores twice: set "
                       "position.kind = none",
                       word);
    if (o->position.axes > 1)
        rt_rule_broken(to, RT_OPTIONS("position.forget", "position.axes"),
                       "position.forget = %s needs position.axes = 1: it counts along a text",
                       word);
    if (!isfinite(o->position.forget_bias))
        rt_rule_broken(to, RT_OPTIONS("position.forget_bias"),
                       "position.forget_bias must be finite; got %g", o->position.forget_bias);
    if (o->position.forget != RT_FORGET_GATE && (times.most < 1 || times.least > times.most))
        rt_rule_broken(to, RT_OPTIONS("position.forget_times"),
                       "position.forget_times must be A..B tokens, 1 <= A <= B; got %d..%d",
                       times.least, times.most);
}

const rt_encoding rt_encoding_forget = {.word = "forget",
                                        .acts = forgets,
                                        .biases_keys = true,
                                        .check = check,
                                        .add_layer = add_gate,
                                        .start = set_biases,
                                        .state = sums_of,
                                        .attention = forget};
