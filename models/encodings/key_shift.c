/* Partial key offset (github.com/KellerJordan/modded-nanogpt): the features of a key that do not
 * rotate are those of the key before, so that one layer finds what followed a token. The first key
 * of a text keeps its own. */

#include "models/encodings/encoding.h"

static bool shifts(const rt_transformer_options *o, int layer)
{
    (void)layer;
    return o->position.key_shift;
}

/* Returns the first feature that is shifted: behind those that rotate, or of the second half. */
static int first_of(const rt_transformer_options *o, int layer)
{
    const int pairs = rt_layer_row_of(o, layer).has_positions ? rt_layer_pairs(o, layer) : 0;
    return pairs ? 2 * pairs : o->head_dim / 2;
}

/* Returns the numbers of a layer; a text keeps the features of its last key. */
static size_t features_of(const rt_transformer_options *o)
{
    return (size_t)o->kv_heads * (size_t)rt_transformer_head_dim(o);
}

static void shift(const rt_transformer *m, rt_graph *g, int l, rt_attention_pass *a)
{
    const int first = first_of(&m->options, l);
    rt_tensor *key = a->key;
    if (!RT_CHECK_INPUTS(g, "key_shift", RT_INPUT(key)))
        return;
    const int D = key->shape[3], shifted = D - first;
    const size_t row = (size_t)key->shape[2] * (size_t)D;
    real *before = NULL;
    if (a->state && a->at.first && !(before = rt_graph_memory(g, row, sizeof *before)))
        return;
    for (size_t i = 0; before && i < row; i++) {
        const size_t head = i / (size_t)D;
        const int feature = (int)(i % (size_t)D) - first;
        if (feature >= 0)
            before[head * (size_t)shifted + (size_t)feature] = (real)a->state[i];
    }
    a->key = rt_shift(g, key, first, before, a->options.key_mask);
    for (size_t i = 0; a->state && i < row; i++)
        a->state[i] = (double)key->data[rt_size(key) - row + i];
}

static void check(const rt_transformer_options *o, rt_rule_sink to)
{
    const rt_position_kind kind = o->position.kind;
    if (!o->position.key_shift)
        return;
    rt_check_causal_scores(o, to, "position.key_shift", "yes");
    if (o->position.axes > 1)
        rt_rule_broken(
            to, RT_OPTIONS("position.key_shift", "position.axes"),
            "position.key_shift = yes needs position.axes = 1: a key before is one of a text");
    if (kind != RT_POSITION_ROPE && kind != RT_POSITION_NONE)
        rt_rule_broken(to, RT_OPTIONS("position.key_shift", "position.kind"),
                       "position.key_shift = yes needs position.kind = rope or none; got %s",
                       rt_encoding_word((int)kind));
    else if (kind == RT_POSITION_ROPE && !(o->position.fraction < 1))
        rt_rule_broken(to, RT_OPTIONS("position.key_shift", "position.fraction"),
                       "position.key_shift = yes shifts the features that do not rotate: set "
                       "position.fraction below 1, such as 0.5");
}

const rt_encoding rt_encoding_key_shift = {
    .word = "key_shift", .acts = shifts, .check = check, .state = features_of, .attention = shift};
