/* RoPE (Su et al. 2021): queries and keys rotated by their position times
 * theta (models/theta.c). */

#include "models/encodings/encoding.h"

#include <limits.h>
#include <math.h>

/* Checks xPos: it needs scores, and causal ones, because they would grow towards later keys. */
static void check_xpos(const rt_transformer_options *o, rt_rule_sink to)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    const double xpos = o->position.xpos;
    if (xpos == 0)
        return;
    if (!(xpos >= 1 && isfinite(xpos)))
        rt_rule_broken(to, RT_OPTIONS("position.xpos"),
                       "position.xpos must be 0 or at least 1; got %g", xpos);
    else if (o->attention != RT_ATTENTION_SOFTMAX)
        rt_rule_broken(to, RT_OPTIONS("position.xpos", "model.attention"),
                       "position.xpos needs model.attention = softmax; got %s",
                       attentions[o->attention]);
    else if (!o->causal)
        rt_rule_broken(to, RT_OPTIONS("position.xpos", "model.causal"),
                       "position.xpos needs model.causal = yes: scores decay towards keys behind a "
                       "query and would grow towards those ahead");
}

/* Checks local_base: it needs layers with a window, and one theta for all layers needs one base. */
static void check_local_base(const rt_transformer_options *o, rt_rule_sink to)
{
    const double base = o->position.local_base;
    bool has_rotated_window = false;
    for (int l = 0; l < o->layers; l++) {
        const rt_layer_row row = rt_layer_row_of(o, l);
        has_rotated_window |= row.has_positions && row.window;
    }
    if (base == 0)
        return;
    if (!(base > 1 && isfinite(base)))
        rt_rule_broken(to, RT_OPTIONS("position.local_base"),
                       "position.local_base must be 0 or above 1; got %g", base);
    else if (!has_rotated_window)
        rt_rule_broken(to,
                       RT_OPTIONS("position.local_base", "model.window", "model.layer_types",
                                  "position.layers"),
                       "position.local_base needs a sliding layer that has positions: see "
                       "model.window and model.layer_types");
    else if (o->theta.learn && o->theta.scope == RT_THETA_MODEL && rt_layers_differ_in_base(o))
        rt_rule_broken(to, RT_OPTIONS("theta.scope", "position.local_base"),
                       "theta.scope = model learns one theta for all layers, but "
                       "position.local_base = %g has layers start apart: set theta.scope = layer "
                       "or head",
                       base);
}

/* Checks that the frequencies fit the number of pairs. */
static void check_frequencies(const rt_transformer_options *o, rt_rule_sink to)
{
    const rt_frequency_options *frequencies = &o->position.frequencies;
    const rt_scaling scaling = frequencies->scaling;
    if (o->theta.learn && (scaling == RT_SCALING_DYNAMIC || scaling == RT_SCALING_LONGROPE)) {
        rt_rule_broken(to, RT_OPTIONS("position.scaling", "theta.learn"),
                       "position.scaling = %s has a theta for each length, but theta.learn = yes "
                       "learns one for all lengths",
                       scaling == RT_SCALING_DYNAMIC ? "dynamic" : "longrope");
        return;
    }
    rt_status status = rt_frequencies_check(frequencies, rt_transformer_pairs(o));
    if (status.code)
        rt_rule_broken(to,
                       RT_OPTIONS("position.scaling", "position.scale", "position.frequencies",
                                  "position.fraction"),
                       "position.scaling: %s", status.message);
}

/* Checks that a fraction gives whole pairs. */
static bool is_fraction(const rt_transformer_options *o, rt_rule_sink to, int pairs)
{
    const double fraction = o->position.fraction, rotated = fraction * pairs;
    const double below = floor(rotated);
    if (!(fraction >= 0 && fraction <= 1)) {
        rt_rule_broken(to, RT_OPTIONS("position.fraction"),
                       "position.fraction must be from 0 to 1; got %g", fraction);
        return false;
    }
    if (fabs(rotated - round(rotated)) > 1e-9) {
        rt_rule_broken(
            to, RT_OPTIONS("position.kind", "position.fraction", "model.dim", "model.heads"),
            "position.fraction = %g is %g of the %d pairs of a head; the nearest that fit are "
            "%.15g and %.15g",
            fraction, rotated, pairs, below / pairs, (below + 1) / pairs);
        return false;
    }
    return true;
}

/* Checks rotation by two coordinates. */
static void check_axes(const rt_transformer_options *o, rt_rule_sink to)
{
    const rt_position_options *position = &o->position;
    const int rotated = 2 * rt_transformer_pairs(o);
    if (rotated % 4)
        rt_rule_broken(to,
                       RT_OPTIONS("position.axes", "position.fraction", "model.dim", "model.heads"),
                       "position.axes = 2 rotates half of the pairs by each coordinate and needs a "
                       "multiple of 4 rotated features per head; got %d: change model.heads or "
                       "position.fraction",
                       rotated);
    if (position->xpos != 0)
        rt_rule_broken(to, RT_OPTIONS("position.axes", "position.xpos"),
                       "position.axes = 2 needs position.xpos = 0; got %g", position->xpos);
    if (position->frequencies.scaling != RT_SCALING_NONE)
        rt_rule_broken(to, RT_OPTIONS("position.axes", "position.scaling"),
                       "position.axes = 2 needs position.scaling = none");
    if (position->mixing != RT_MIXED)
        return;
    if (!o->theta.learn)
        rt_rule_broken(
            to, RT_OPTIONS("position.mixing", "theta.learn"),
            "position.mixing = mixed needs theta.learn = yes, since each head has angles "
            "of its own; train.freeze = theta keeps their initial values");
    else if (o->theta.form != RT_THETA_RAW)
        rt_rule_broken(to, RT_OPTIONS("position.mixing", "theta.form"),
                       "position.mixing = mixed needs theta.form = raw: its theta can be negative");
}

static void check(const rt_transformer_options *o, rt_rule_sink to)
{
    const int size = o->head_dim;
    const bool learns = o->theta.learn;
    check_xpos(o, to);
    check_local_base(o, to);
    if (!size)
        return; /* a rule of all encodings reports it */
    if (size % 2 && size != o->dim / o->heads)
        rt_rule_broken(to, RT_OPTIONS("position.kind", "model.head_dim"),
                       "position.kind = rope needs heads of even size; model.head_dim = %d", size);
    else if (size % 2)
        rt_rule_broken(
            to, RT_OPTIONS("position.kind", "model.dim", "model.heads"),
            "position.kind = rope needs heads of even size; model.dim = %d and model.heads = "
            "%d make it %d",
            o->dim, o->heads, size);
    else if (is_fraction(o, to, size / 2)) {
        if (!rt_transformer_pairs(o) && (learns || o->position.xpos > 0)) {
            rt_rule_broken(to,
                           learns ? RT_OPTIONS("position.kind", "position.fraction", "theta.learn")
                                  : RT_OPTIONS("position.xpos", "position.fraction"),
                           "%s needs rotated pairs; position.fraction = %g leaves none",
                           learns ? "theta.learn = yes" : "position.xpos", o->position.fraction);
            return;
        }
        check_frequencies(o, to);
        if (o->position.axes > 1)
            check_axes(o, to);
    }
}

static int capacity(const rt_transformer_options *o)
{
    const double most = RT_XPOS_REACH * o->position.xpos;
    return most >= RT_XPOS_REACH && most < INT_MAX ? (int)most : 0;
}

static rt_tensor *add(rt_transformer *m)
{
    return rt_add_theta(m, -1);
}

const rt_encoding rt_encoding_rope = {.word = "rope",
                                      .in_layers = true,
                                      .in_plane = true,
                                      .has_base = true,
                                      .capacity_key = "position.xpos",
                                      .check = check,
                                      .capacity = capacity,
                                      .add = add,
                                      .add_layer = rt_add_theta,
                                      .start = rt_theta_start,
                                      .rotation = rt_rotation_of_layer};
