/* Polar coordinate positions (PoPE, arXiv 2509.10534): a feature of a query or key is the length of
 * a pair of its own, which position times theta rotates. With D features of a head there are D
 * theta, and for query i and key j the score is
 *
 *     sum over c of softplus(q_ic) softplus(k_jc) cos((i - j) theta_c - phase_c) / sqrt(D)
 *
 *     layers.N.attention.phase   (key heads, D), from -2 pi to 0, of position.phase */

#include "models/encodings/encoding.h"

#include <math.h>

static int pairs_of(const rt_transformer_options *o, int layer)
{
    (void)layer;
    return rt_transformer_head_dim(o);
}

static void add_layer(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    rt_add_theta_of_layer(m, l);
    if (!o->position.phase)
        return;
    m->parameters.joins = RT_JOINS; /* with phases of 0 */
    m->layers[l].polar_phase =
        rt_parameters_add(&m->parameters, RT_ROLE_PHASE, RT_INIT_ZERO,
                          RT_SHAPE_OF(o->kv_heads, o->head_dim), "layers.%d.attention.phase", l);
}

static void use_polar_heads(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    rt_tensor *phase = m->layers[l].polar_phase;
    a->options.scale = 1 / sqrt(m->options.head_dim);
    a->query = rt_polar(g, rt_activate(g, a->query, RT_SOFTPLUS), NULL);
    a->key = rt_polar(g, rt_activate(g, a->key, RT_SOFTPLUS), phase);
}

static void check(const rt_transformer_options *o, rt_rule_sink to)
{
    rt_check_local_base(o, to);
    if (rt_transformer_head_dim(o))
        rt_check_frequencies(o, to);
    if (o->position.xpos != 0)
        rt_rule_broken(to, RT_OPTIONS("position.xpos", "position.kind"),
                       "position.xpos needs position.kind = rope; got pope");
}

const rt_encoding rt_encoding_pope = {.word = "pope",
                                      .in_layers = true,
                                      .of_scores = true,
                                      .axes = 1,
                                      .has_base = true,
                                      .half_pairs = true,
                                      .has_polar_heads = true,
                                      .pairs = pairs_of,
                                      .check = check,
                                      .add = rt_add_theta,
                                      .add_layer = add_layer,
                                      .start = rt_start_theta,
                                      .rotation = rt_rotation_by_position,
                                      .attention = use_polar_heads};
