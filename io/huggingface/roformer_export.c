/* RoFormers as folders: what of a model they can express, and what is of their own in them. */

#include "io/huggingface/roformer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what can be expressed ---- */

static rt_status cannot(const char *key, const char *value, const char *wish)
{
    return rt_cannot_export(&rt_family_roformer, key, value, wish);
}

static const char *whole_text(char text[16], int value)
{
    snprintf(text, 16, "%d", value);
    return text;
}

rt_status rt_roformer_expressible(const rt_transformer *model)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    static const char *const scalings[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    static const char *const ffns[] = {RT_FFNS(RT_CHOICE_WORD)};
    const rt_transformer_options *o = &model->options;
    char number[16];
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
    if (o->position.xpos > 0)
        return rt_cannot_export_xpos(&rt_family_roformer, o->position.xpos);
    if (o->position.every > 1)
        return cannot("position.every", whole_text(number, o->position.every),
                      "positions in every layer");
    if (o->norm != RT_NORM_POST)
        return cannot("model.norm", "pre", "its norms behind the blocks");
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return cannot("model.attention", attentions[o->attention], "softmax attention");
    if (o->position.kind != RT_POSITION_ROPE)
        return cannot("position.kind", rt_encoding_word(o->position.kind), "rotary positions");
    if (o->position.frequencies.scaling != RT_SCALING_NONE)
        return cannot("position.scaling", scalings[o->position.frequencies.scaling],
                      "no scaling of its frequencies");
    if (o->activation == RT_ELU_PLUS_ONE)
        return cannot("model.activation", "elu_plus_one", "no such function");
    return rt_ok();
}

/* ---- config.json ---- */

/* They stand in the order of the table of classes. */
enum { MASKED_LM, CAUSAL_LM, SEQUENCE, TOKEN };

const rt_family_class *rt_roformer_class_of(const rt_transformer_options *o)
{
    switch (o->head) {
    case RT_HEAD_SEQUENCE:
        return rt_roformer_classes + SEQUENCE;
    case RT_HEAD_TOKEN:
        return rt_roformer_classes + TOKEN;
    default:
        return rt_roformer_classes + (o->causal ? CAUSAL_LM : MASKED_LM);
    }
}

static const char *activation_word(rt_activation kind)
{
    for (int i = 0; i < rt_activation_word_count; i++)
        if (rt_activation_words[i].kind == kind)
            return rt_activation_words[i].word;
    return "gelu";
}

void rt_roformer_put_config(rt_writer *w, const rt_transformer *model,
                            const rt_huggingface_export *export, const rt_export_theta *theta)
{
    const rt_transformer_options *o = &model->options;
    const rt_special_ids *special =
        export->vocabulary ? &export->vocabulary->special : &rt_default_special_ids;
    (void)theta;
    rt_put_whole(w, "vocab_size", o->vocab);
    rt_put_whole(w, "hidden_size", o->dim);
    rt_put_whole(w, "embedding_size", o->embedding_dim);
    rt_put_whole(w, "intermediate_size", o->ffn_dim);
    rt_put_whole(w, "num_hidden_layers", o->layers);
    rt_put_whole(w, "num_attention_heads", o->heads);
    rt_put_whole(w, "type_vocab_size", o->token_types ? o->token_types : 1);
    rt_put_whole(w, "max_position_embeddings", rt_huggingface_positions(export));
    rt_put_word(w, "hidden_act", activation_word(o->activation));
    rt_put_number(w, "layer_norm_eps", o->norm_eps);
    rt_put_number(w, "hidden_dropout_prob", o->dropout);
    rt_put_number(w, "attention_probs_dropout_prob", o->attention_dropout);
    rt_put_number(w, "initializer_range", o->init_std > 0 ? o->init_std : RT_INIT_STD);
    rt_put_flag(w, "rotary_value", o->position.rotate_value);
    rt_put_flag(w, "is_decoder", o->causal);
    rt_put_flag(w, "tie_word_embeddings", o->head != RT_HEAD_LM || o->tie_embeddings);
    rt_put_flag(w, "add_cross_attention", false);
    rt_put_whole(w, "pad_token_id", special->pad);
}

/* ---- tensors ---- */

static void fill_zeros(const void *context, size_t first, size_t count, float *values)
{
    (void)context, (void)first;
    memset(values, 0, count * sizeof *values);
}

/* The table of sines, (positions, 2 pairs). */
static void fill_sines(const void *context, size_t first, size_t count, float *values)
{
    const rt_export_theta *s = context;
    const size_t pairs = (size_t)s->pairs;
    for (size_t n = 0; n < count; n++) {
        const size_t column = (first + n) % (2 * pairs);
        const double position = (double)((first + n) / (2 * pairs));
        const double angle = position * s->mean[column % pairs];
        values[n] = (float)(column < pairs ? sin(angle) : cos(angle));
    }
}

/* The table, and a row of zeros for the token types, which Hugging Face cannot be without. */
void rt_roformer_add_beside(rt_entry_list *list, const rt_transformer *model,
                            const rt_huggingface_export *export, const rt_export_theta *theta)
{
    const rt_transformer_options *o = &model->options;
    list->at[list->count++] =
        (rt_safetensors_entry){.name = RT_HF_TABLE,
                               .axes = 2,
                               .shape = {rt_huggingface_positions(export), 2 * theta->pairs},
                               .fill = fill_sines,
                               .context = theta};
    if (!o->token_types)
        list->at[list->count++] = (rt_safetensors_entry){.name = RT_HF_TYPES,
                                                         .axes = 2,
                                                         .shape = {1, o->embedding_dim},
                                                         .fill = fill_zeros};
}

/* ---- the model card ---- */

/* How a model of transformers is made to turn by theta of layers or heads. */
const char rt_roformer_own_theta[] =
    "```python\n"
    "import torch\n"
    "\n"
    "def use_own_theta(model):\n"
    "    theta = torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n"
    "    pairs = model.config.hidden_size // model.config.num_attention_heads // 2\n"
    "    theta = torch.nn.functional.pad(theta, (0, pairs - theta.shape[-1]))\n"
    "\n"
    "    def turn_by(theta):\n"
    "        def hook(module, args, kwargs):\n"
    "            table = args[2] if len(args) > 2 else kwargs[\"sinusoidal_pos\"]\n"
    "            positions = torch.arange(table.shape[-2], dtype=torch.float64)\n"
    "            angles = positions[None, :, None] * theta[:, None, :]\n"
    "            own = torch.cat([angles.sin(), angles.cos()], -1)[None].to(table)\n"
    "            if len(args) > 2:\n"
    "                return (*args[:2], own, *args[3:]), kwargs\n"
    "            return args, {**kwargs, \"sinusoidal_pos\": own}\n"
    "        return hook\n"
    "\n"
    "    for layer, own in zip(model.base_model.encoder.layer, theta):\n"
    "        layer.attention.register_forward_pre_hook(turn_by(own), with_kwargs=True)\n"
    "```\n";
