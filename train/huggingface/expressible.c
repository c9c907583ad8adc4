/* What of a model a folder of Hugging Face can express. */

#include "train/huggingface/private.h"

#include "core/memory.h"

#include <stdio.h>

/* The context of older transformers, so that a short training leaves room for longer texts. */
enum { LEAST_POSITIONS = 1536 };

int rt_huggingface_positions(const rt_huggingface_export *export)
{
    return export->length > LEAST_POSITIONS ? export->length : LEAST_POSITIONS;
}

static rt_status cannot(const char *key, const char *value, const char *wish)
{
    return rt_error(RT_CONFIG, "%s = %s cannot be exported: a RoFormer of Hugging Face has %s", key,
                    value, wish);
}

static const char *whole_text(char text[16], int value)
{
    snprintf(text, 16, "%d", value);
    return text;
}

rt_status rt_huggingface_expressible(const rt_roformer *model)
{
    static const char *const kinds[] = {RT_POSITION_KINDS(RT_CHOICE_WORD)};
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    static const char *const scalings[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    const rt_roformer_options *o = &model->options;
    static const char *const ffns[] = {RT_FFNS(RT_CHOICE_WORD)};
    char number[16];
    if (o->kind != RT_KIND_ROFORMER)
        return cannot("model.kind", "decoder", "an encoder");
    if (o->norm_kind != RT_NORM_LAYER)
        return cannot("model.norm_kind", "rms", "LayerNorm");
    if (o->ffn != RT_FFN_PLAIN)
        return cannot("model.ffn", ffns[o->ffn], "no gates");
    if (o->bias != RT_BIAS_YES)
        return cannot("model.bias", "no", "biases");
    if (o->kv_heads != o->heads)
        return cannot("model.kv_heads", whole_text(number, o->kv_heads), "keys for every head");
    if (o->window)
        return cannot("model.window", whole_text(number, o->window), "attention to all tokens");
    if (o->position.every > 1)
        return cannot("position.every", whole_text(number, o->position.every),
                      "positions in every layer");
    if (o->norm != RT_NORM_POST)
        return cannot("model.norm", "pre", "its norms behind the blocks");
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return cannot("model.attention", attentions[o->attention], "softmax attention");
    if (o->position.kind != RT_POSITION_ROPE)
        return cannot("position.kind", kinds[o->position.kind], "rotary positions");
    if (o->position.frequencies.scaling != RT_SCALING_NONE)
        return cannot("position.scaling", scalings[o->position.frequencies.scaling],
                      "no scaling of its frequencies");
    if (o->activation == RT_ELU_PLUS_ONE)
        return cannot("model.activation", "elu_plus_one", "no such function");
    return rt_ok();
}

rt_status rt_huggingface_theta_of(const rt_roformer *model, double **theta_new, rt_shape *shape)
{
    const rt_roformer_options *o = &model->options;
    const int pairs = rt_roformer_pairs(o);
    *shape = o->theta.learn ? rt_roformer_theta_shape(o) : RT_SHAPE_OF(1, 1, pairs);
    *theta_new = rt_alloc((size_t)shape->axis[0] * (size_t)shape->axis[1] * (size_t)pairs,
                          sizeof **theta_new);
    if (!*theta_new)
        return rt_out_of_memory("theta");
    if (o->theta.learn)
        rt_roformer_theta(model, *theta_new);
    else
        rt_frequencies(*theta_new, pairs, &o->position.frequencies);
    return rt_ok();
}
