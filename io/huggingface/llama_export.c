/* Llamas and Mistrals as folders: what of a model they can express, and what is of their own in
 * config.json. */

#include "io/huggingface/llama.h"

#include <stdio.h>
#include <string.h>

/* They stand in the order of the table of classes. */
enum { LLAMA = 0, MISTRAL = 2 };

const rt_family_class *rt_llama_class_of(const rt_transformer_options *o)
{
    return rt_llama_classes + (o->window ? MISTRAL : LLAMA);
}

/* ---- what can be expressed ---- */

static rt_status cannot(const char *key, const char *value, const char *wish)
{
    return rt_cannot_export(&rt_family_llama, key, value, wish);
}

static rt_status cannot_number(const char *key, int value, const char *wish)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return cannot(key, text, wish);
}

static rt_status check_positions(const rt_transformer_options *o)
{
    const int pairs = o->dim / o->heads / 2;
    if (o->position.kind != RT_POSITION_ROPE)
        return cannot("position.kind", rt_encoding_word(o->position.kind), "rotary positions");
    if (o->position.rotate_value)
        return cannot("position.rotate_value", "yes", "values that are not rotated");
    if (o->position.xpos > 0)
        return rt_cannot_export_xpos(&rt_family_llama, o->position.xpos);
    if (o->position.every > 1)
        return cannot_number("position.every", o->position.every, "positions in every layer");
    if (rt_llama_lists_theta(o) && o->position.frequencies.scaling == RT_SCALING_DYNAMIC)
        return cannot("position.scaling", "dynamic",
                      "it for all of a head and frequencies that "
                      "are geometric");
    if (rt_llama_lists_theta(o) && o->position.frequencies.scaling == RT_SCALING_LONGROPE)
        return cannot("position.scaling", "longrope",
                      "it for all of a head and frequencies that "
                      "are geometric");
    if (rt_llama_lists_theta(o) && pairs > RT_MOST_FACTORS)
        return rt_error(RT_CONFIG,
                        "theta of heads of %d cannot be exported: they must be listed, which "
                        "rotor does for %d at most",
                        2 * pairs, 2 * RT_MOST_FACTORS);
    return rt_ok();
}

rt_status rt_llama_expressible(const rt_transformer *model)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    static const char *const heads[] = {RT_HEADS(RT_CHOICE_WORD)};
    const rt_transformer_options *o = &model->options;
    if (o->head != RT_HEAD_LM)
        return cannot("model.head", heads[o->head], "a head for the next token");
    if (o->norm != RT_NORM_PRE)
        return cannot("model.norm", "post", "its norms before the blocks");
    if (o->norm_kind != RT_NORM_RMS)
        return cannot("model.norm_kind", "layer", "RMS norms");
    if (o->ffn == RT_FFN_PLAIN)
        return cannot("model.ffn", "plain", "gates");
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return cannot("model.attention", attentions[o->attention], "softmax attention");
    if (!o->causal)
        return cannot("model.causal", "no", "causal attention");
    if (o->embedding_dim != o->dim)
        return cannot_number("model.embedding_dim", o->embedding_dim,
                             "embeddings as wide as its layers");
    if (o->token_types)
        return cannot_number("token types", o->token_types, "none");
    if (o->window && o->bias == RT_BIAS_YES)
        return rt_error(RT_CONFIG,
                        "model.bias = yes cannot be exported with model.window = %d: a "
                        "Mistral of Hugging Face has no biases",
                        o->window);
    return check_positions(o);
}

/* ---- config.json ---- */

static void put_id(rt_writer *w, const char *key, const rt_huggingface_export *export, int id)
{
    if (export->vocabulary && id >= 0)
        rt_put_whole(w, key, id);
    else
        rt_put_null(w, key);
}

/* A number, or a list where there are several. */
static void put_ends(rt_writer *w, const rt_huggingface_export *export)
{
    const rt_end_ids *ends = export->vocabulary ? &export->vocabulary->ends : NULL;
    if (!ends || ends->count < 2) {
        put_id(w, "eos_token_id", export, ends && ends->count ? ends->ids[0] : RT_NO_ID);
        return;
    }
    rt_writer_add(w, "  \"eos_token_id\": [");
    for (int i = 0; i < ends->count; i++)
        rt_writer_add(w, i ? ", %d" : "%d", (int)ends->ids[i]);
    rt_writer_add(w, "],\n");
}

/* Ids alone have no meaning that transformers should know of. */
static void put_ids(rt_writer *w, const rt_huggingface_export *export)
{
    const rt_special_ids *special =
        export->vocabulary ? &export->vocabulary->special : &rt_default_special_ids;
    put_id(w, "bos_token_id", export, special->cls);
    put_ends(w, export);
    put_id(w, "pad_token_id", export, rt_vocabulary_pads(special) ? special->pad : RT_NO_ID);
}

void rt_llama_put_config(rt_writer *w, const rt_transformer *model,
                         const rt_huggingface_export *export, const rt_export_theta *theta)
{
    const rt_transformer_options *o = &model->options;
    const bool bias = o->bias == RT_BIAS_YES;
    rt_put_whole(w, "vocab_size", o->vocab);
    rt_put_whole(w, "hidden_size", o->dim);
    rt_put_whole(w, "intermediate_size", o->ffn_dim);
    rt_put_whole(w, "num_hidden_layers", o->layers);
    rt_put_whole(w, "num_attention_heads", o->heads);
    rt_put_whole(w, "num_key_value_heads", o->kv_heads);
    rt_put_whole(w, "head_dim", o->dim / o->heads);
    rt_put_word(w, "hidden_act", o->ffn == RT_FFN_GEGLU ? "gelu" : "silu");
    rt_put_number(w, "rms_norm_eps", o->norm_eps);
    rt_put_number(w, "attention_dropout", o->attention_dropout);
    rt_put_number(w, "initializer_range", o->init_std > 0 ? o->init_std : RT_INIT_STD);
    if (o->window) {
        rt_put_whole(w, "sliding_window", o->window);
    } else {
        rt_put_flag(w, "attention_bias", bias);
        rt_put_flag(w, "mlp_bias", bias);
    }
    rt_put_flag(w, "tie_word_embeddings", o->tie_embeddings);
    put_ids(w, export);
    const int positions = rt_llama_put_frequencies(w, o, theta, rt_huggingface_positions(export));
    rt_put_whole(w, "max_position_embeddings", positions);
}

/* ---- the model card ---- */

/* The model's own rotation is put out by a cosine of 1 and a sine of 0; queries and keys are
 * rotated as they come out of their projections. */
const char rt_llama_own_theta[] =
    "```python\n"
    "import torch\n"
    "\n"
    "def use_own_theta(model):\n"
    "    theta = torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n"
    "    size = model.config.hidden_size // model.config.num_attention_heads\n"
    "    theta = torch.nn.functional.pad(theta, (0, size // 2 - theta.shape[-1]))\n"
    "    scale = model.base_model.rotary_emb.attention_scaling\n"
    "\n"
    "    def own_rotation(layer, theta):\n"
    "        place = {}\n"
    "\n"
    "        def before(module, args, kwargs):\n"
    "            cos, sin = kwargs[\"position_embeddings\"]\n"
    "            angles = kwargs[\"position_ids\"][:, :, None, None].double().cpu() * theta\n"
    "            angles = torch.cat([angles, angles], -1)\n"
    "            place[\"cos\"] = (angles.cos() * scale).to(cos)\n"
    "            place[\"sin\"] = (angles.sin() * scale).to(sin)\n"
    "            none = torch.ones_like(cos), torch.zeros_like(sin)\n"
    "            return args, {**kwargs, \"position_embeddings\": none}\n"
    "\n"
    "        def rotate(module, args, x):\n"
    "            heads = x.unflatten(-1, (-1, size))\n"
    "            first, second = heads.chunk(2, -1)\n"
    "            turned = torch.cat([-second, first], -1)\n"
    "            group = heads.shape[-2] // place[\"cos\"].shape[-2]\n"
    "            cos, sin = (place[key].repeat_interleave(group, -2) for key in (\"cos\", "
    "\"sin\"))\n"
    "            return (heads * cos + turned * sin).flatten(-2)\n"
    "\n"
    "        layer.self_attn.register_forward_pre_hook(before, with_kwargs=True)\n"
    "        layer.self_attn.q_proj.register_forward_hook(rotate)\n"
    "        layer.self_attn.k_proj.register_forward_hook(rotate)\n"
    "\n"
    "    for layer, own in zip(model.base_model.layers, theta):\n"
    "        own_rotation(layer, own)\n"
    "```\n";
