/* Selective RoPE (Movahedi et al. 2026): queries and keys rotate by angles that the tokens add up
 * to.
 *
 *     layers.N.attention.phase.down.weight   (rank, dim)
 *     layers.N.attention.phase.up.weight     (heads P, rank), P the pairs of a head
 *     layers.N.attention.phase.taps          (heads P, taps), unless position.taps = 0
 *     layers.N.attention.phase.bias          (heads, P), of position.phase_bias
 *     layers.N.attention.phase.gate          weight (heads, dim), bias (heads), of phase_gate
 *
 * n is the input of the block, cut into a share for each head and each share divided by its length;
 * a token turns pair p by theta_p phi_p, and by those of all tokens before it:
 *
 *     phi = gate(n) (convolution over time of up(down(n)) + e^bias),  gate a sigmoid
 *
 * With phi = 1 this is RoPE. The pairs of features are (p, p + P). */

#include "models/encodings/encoding.h"

#include <math.h>

static int pairs_of(const rt_transformer_options *o, int layer)
{
    (void)layer;
    return rt_transformer_head_dim(o) / 2;
}

static int channels_of(const rt_transformer_options *o)
{
    return o->heads * rt_transformer_pairs(o);
}

static rt_tensor *add(rt_transformer *m, int l, rt_role role, rt_shape shape, const char *name)
{
    const rt_init init = role == RT_ROLE_BIAS ? RT_INIT_ZERO : RT_INIT_NORMAL;
    return rt_parameters_add(&m->parameters, role, init, shape, "layers.%d.attention.phase.%s", l,
                             name);
}

/* A model that joins turns as before, and learns, if up alone is 0. */
static void add_phases(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    const rt_position_options *position = &o->position;
    rt_transformer_layer *layer = m->layers + l;
    const int H = o->heads, rank = position->rank, channels = channels_of(o);
    const rt_shape down = RT_SHAPE_OF(rank, o->dim), up = RT_SHAPE_OF(channels, rank);
    const rt_shape taps = RT_SHAPE_OF(channels, position->taps);
    rt_add_theta_of_layer(m, l);
    layer->phase.down = add(m, l, RT_ROLE_MATRIX, down, "down.weight");
    m->parameters.joins = RT_JOINS_AT_ZERO;
    layer->phase.up = add(m, l, RT_ROLE_MATRIX, up, "up.weight");
    m->parameters.joins = RT_JOINS;
    if (position->taps)
        layer->phase.taps = add(m, l, RT_ROLE_WEIGHT, taps, "taps");
    if (position->phase_bias)
        layer->phase.bias = add(m, l, RT_ROLE_BIAS, RT_SHAPE_OF(H, channels / H), "bias");
    if (!position->phase_gate)
        return;
    layer->phase.gate.weight = add(m, l, RT_ROLE_MATRIX, RT_SHAPE_OF(H, o->dim), "gate.weight");
    layer->phase.gate.bias = add(m, l, RT_ROLE_BIAS, RT_SHAPE_OF(H), "gate.bias");
}

/* Returns x (B, T, C) with the share of each head divided by its length. */
static rt_tensor *divide_by_lengths(rt_graph *g, rt_tensor *x, int heads)
{
    const rt_shape shape = rt_tensor_shape(x);
    const int share = shape.axis[2] / heads;
    real *equal = rt_graph_numbers(g, (size_t)share, sizeof *equal);
    if (!equal)
        return NULL;
    for (int i = 0; rt_memory_is_present(equal) && i < share; i++)
        equal[i] = (real)(1 / sqrt(share));
    x = rt_reshape(g, x, RT_SHAPE_OF(shape.axis[0], shape.axis[1], heads, share));
    x = rt_rms_norm(g, x, rt_graph_constant(g, equal, RT_SHAPE_OF(share)), 1e-6 / share);
    return rt_reshape(g, x, shape);
}

/* Convolves x (B, T, C) over time. `state` is of a cached text: the inputs of the tokens before x,
 * (taps - 1, C), which become those of the last tokens; or NULL. */
static rt_tensor *convolve(rt_graph *g, rt_tensor *x, rt_tensor *taps, double *state)
{
    if (!RT_CHECK_INPUTS(g, "selective", RT_INPUT(x)))
        return NULL;
    const size_t channels = (size_t)rt_columns(x), kept = rt_size(taps) - channels;
    const size_t size = rt_size(x), moved = size < kept ? size : kept;
    real *before = state && kept ? rt_graph_memory(g, kept, sizeof *before) : NULL;
    for (size_t i = 0; before && i < kept; i++)
        before[i] = (real)state[i];
    for (size_t i = 0; before && i < kept; i++)
        state[i] = i + moved < kept ? state[i + moved] : (double)x->data[size - kept + i];
    return rt_depthwise_conv(g, x, taps, before);
}

/* Sets the rotation of a layer. Padding turns nothing, and the convolution reads zeros in its
 * place. A cached text keeps the sums of its phases, and then the inputs of the convolution. */
static void turn(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    const rt_transformer_options *o = &m->options;
    const rt_transformer_layer *layer = m->layers + l;
    const rt_affine gate = layer->phase.gate;
    const uint8_t *mask = a->options.key_mask;
    if (!RT_CHECK_INPUTS(g, "selective", RT_INPUT(a->input)))
        return;
    const int B = a->input->shape[0], T = a->input->shape[1];
    const size_t channels = (size_t)channels_of(o);
    double *inputs = a->state ? a->state + channels : NULL;
    rt_tensor *n = divide_by_lengths(g, a->input, o->heads);
    rt_tensor *phases =
        rt_linear(g, rt_linear(g, n, layer->phase.down, NULL), layer->phase.up, NULL);
    if (layer->phase.taps)
        phases = convolve(g, rt_without_padding(g, phases, mask), layer->phase.taps, inputs);
    phases = rt_reshape(g, phases, RT_SHAPE_OF(B, T, o->heads, rt_transformer_pairs(o)));
    if (layer->phase.bias)
        phases = rt_add(g, phases, rt_activate(g, layer->phase.bias, RT_EXP));
    rt_tensor *gates = gate.weight ? rt_linear(g, n, gate.weight, gate.bias) : NULL;
    if (gate.weight)
        phases = rt_scale_parts(g, phases, rt_activate(g, gates, RT_SIGMOID));
    rt_tensor *sums = rt_running_sum(g, rt_without_padding(g, phases, mask), 1, a->state);
    rt_tensor *angles = rt_angles_of(m, g, l, sums, a->at.length);
    const rt_rotation *rotation = rt_rotation_by_angles(g, angles, RT_HALF);
    a->rotation = (rt_layer_rotation){rotation, rotation, NULL};
    a->phase_sums = sums;
    for (size_t i = 0; a->state && rotation && i < channels; i++)
        a->state[i] = sums->exact[(size_t)(T - 1) * channels + i];
}

static size_t numbers_of(const rt_transformer_options *o)
{
    return (size_t)(o->position.taps ? o->position.taps : 1) * (size_t)channels_of(o);
}

static void check(const rt_transformer_options *o, rt_rule_sink to)
{
    if (o->kv_heads != o->heads)
        rt_rule_broken(to, RT_OPTIONS("position.kind", "model.kv_heads", "model.heads"),
                       "position.kind = selective needs as many key heads as heads; "
                       "model.kv_heads = %d, model.heads = %d: set model.kv_heads = 0",
                       o->kv_heads, o->heads);
    if (o->dim % o->heads)
        rt_rule_broken(to, RT_OPTIONS("position.kind", "model.dim", "model.heads"),
                       "position.kind = selective cuts the width into heads, but model.dim = %d is "
                       "not divisible by model.heads = %d: change one of them",
                       o->dim, o->heads);
    if (rt_check_heads(o, to))
        rt_check_frequencies(o, to);
}

static const char *joins(const rt_transformer_options *o, const rt_transformer_options *from)
{
    const rt_position_options *here = &o->position, *there = &from->position;
    const rt_theta_options *ours = &o->theta, *theirs = &from->theta;
    const bool as_rope = here->phase_bias && !here->phase_gate && there->kind == RT_POSITION_ROPE &&
                         there->pairing == RT_HALF && there->fraction == 1 &&
                         !there->rotate_value && there->xpos == 0 && there->local_base == 0 &&
                         there->frequencies.family == RT_FREQUENCIES_GEOMETRIC &&
                         there->frequencies.scaling == RT_SCALING_NONE &&
                         here->frequencies.base == there->frequencies.base &&
                         (!theirs->learn || (ours->learn && ours->scope == theirs->scope));
    return as_rope ? NULL
                   : "; its function stays with position.phase_bias = yes, position.phase_gate = "
                     "no, and position.base, theta.learn and theta.scope of a rope model that has "
                     "half pairing and nothing else beside position.base";
}

const rt_encoding rt_encoding_selective = {.word = "selective",
                                           .in_layers = true,
                                           .of_scores = true,
                                           .causal = true,
                                           .has_base = true,
                                           .half_pairs = true,
                                           .pairs = pairs_of,
                                           .reads_input = true,
                                           .base = 500000,
                                           .check = check,
                                           .joins = joins,
                                           .add = rt_add_theta,
                                           .add_layer = add_phases,
                                           .start = rt_start_theta,
                                           .state = numbers_of,
                                           .attention = turn};
