/* The family of ModernBERT (Warner et al. 2024): an encoder whose layers see all tokens or a
 * window, and have a base of theta by which of these they do. */

#include "io/huggingface/private.h"

#include "core/memory.h"

#include <string.h>

/* ---- tensors ---- */

#define LAYER "model.layers.N."
static const rt_tensor_row tensors[] = {
    {"model.embeddings.tok_embeddings.weight", .here = {RT_TOKENS_NAME}},
    {"model.embeddings.norm", .here = {"embeddings.norm"}},
    {LAYER "attn_norm", .here = {"layers.N.attention_norm"}},
    {LAYER "attn.Wqkv",
     .here = {"layers.N.attention.query", "layers.N.attention.key", "layers.N.attention.value"}},
    {LAYER "attn.Wo", .here = {"layers.N.attention.output"}},
    {LAYER "mlp_norm", .here = {"layers.N.ffn_norm"}},
    {LAYER "mlp.Wi", .here = {"layers.N.ffn.gate", "layers.N.ffn.up"}},
    {LAYER "mlp.Wo", .here = {"layers.N.ffn.down"}},
    {"model.final_norm", .here = {"norm"}},
    {"head.dense", .here = {"head.dense"}},
    {"head.norm", .here = {"head.norm"}},
    {"decoder.weight", .here = {RT_OUTPUT_NAME}, .when = rt_when_lm, .spare = true},
    {"decoder.bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm},
    {"classifier", .here = {"head.classifier"}},
    {0},
};
#undef LAYER
static const char *const head_prefixes[] = {"head.", "decoder.", "classifier.", NULL};

/* ---- what it is ---- */

/* Options of an encoder with norms before its blocks. */
const rt_option_row rt_encoder_options[] = {
    {"model.kind", RT_IS, "roformer", "the layers of an encoder"},
    {"model.norm", RT_IS, "pre", "its norms before the blocks"},
    {"model.norm_kind", RT_IS, "layer", "LayerNorm"},
    {"model.residual", RT_IS, "serial", "blocks one after the other"},
    {"model.attention", RT_IS, "softmax", "softmax attention"},
    {"model.causal", RT_IS, "no", "attention to both sides"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    {"model.kv_heads", RT_SAME_AS, "model.heads", "keys for every head"},
    {"model.embedding_dim", RT_SAME_AS, "model.dim", "embeddings as wide as its layers"},
    {"token types", RT_IS, "0", "none"},
    {"position.kind", RT_IS, "rope", "rotary positions"},
    {"position.rotate_value", RT_IS, "no", "values that are not rotated"},
    {"position.xpos", RT_IS, "0", "no decay of its scores"},
    {"position.every", RT_IS, "1", "positions in every layer"},
    {"position.layers", RT_IS, "", "positions in every layer"},
    {"position.pairing", RT_IS, "half", NULL},
    {0},
};

static const rt_option_row options[] = {
    {"model.norm_bias", RT_IS, "no", NULL},
    {"model.first_norm", RT_IS, "no", "no norm before the attention of layer 0"},
    {"model.embedding_norm", RT_IS, "yes", "a norm over its embeddings"},
    {"model.classifier", RT_IS, "norm", NULL}, /* see check */
    {"position.local_base", RT_IS, "0", NULL},
    {0},
};

static rt_status check(const rt_family *family, const rt_transformer_options *o)
{
    const rt_frequency_options *f = &o->position.frequencies;
    const bool labels = o->head != RT_HEAD_LM;
    if (labels && o->classifier != RT_CLASSIFIER_NORM)
        return rt_cannot_export(family, "model.classifier", o, "a norm in its head for labels");
    if (o->bias != RT_BIAS_ALL && o->bias != RT_BIAS_OUTPUT && (labels || o->bias != RT_BIAS_NONE))
        return rt_cannot_export(family, "model.bias", o,
                                labels ? "biases in all maps or in the last one alone"
                                       : "biases in all maps, in the last one alone or in none");
    const rt_status status = rt_check_head_dim(family, o);
    if (status.code)
        return status;
    if (!o->theta.learn && rt_layers_start_apart(o) &&
        (f->family != RT_FREQUENCIES_GEOMETRIC || 2 * rt_transformer_pairs(o) < o->head_dim))
        return rt_error(RT_CONFIG,
                        "position.frequencies and position.fraction cannot be exported with "
                        "position.local_base: a fixed theta of a %s of Hugging Face is then "
                        "geometric, of all pairs",
                        family->name);
    return rt_rope_parameters_check(family, o);
}

/* ---- config.json: biases and norms ---- */

/* The last map of a head for labels has a bias in any case. */
static void read_bias(rt_reading *r, rt_huggingface *there)
{
    rt_transformer_options *o = &there->options;
    const bool lm = o->head == RT_HEAD_LM;
    const bool attention = rt_reading_flag(r, "attention_bias", false);
    const bool mlp = rt_reading_flag(r, "mlp_bias", false);
    const bool head = rt_reading_flag(r, "classifier_bias", false);
    const bool last = !lm || rt_reading_flag(r, "decoder_bias", true) || !there->has_head;
    if (mlp != attention || head != attention || (attention && !last))
        rt_reading_refuse(r,
                          "attention_bias, mlp_bias, classifier_bias = %s, %s, %s%s: rotor has "
                          "biases in all maps of a model, in the last one alone or in none",
                          attention ? "true" : "false", mlp ? "true" : "false",
                          head ? "true" : "false", last ? "" : " without decoder_bias");
    o->bias = attention ? RT_BIAS_ALL : last ? RT_BIAS_OUTPUT : RT_BIAS_NONE;
}

static void put_bias(rt_config_writing *w)
{
    const rt_bias bias = w->options->bias;
    rt_json_put(&w->object, "attention_bias", json_boolean(bias == RT_BIAS_ALL));
    rt_json_put(&w->object, "mlp_bias", json_boolean(bias == RT_BIAS_ALL));
    rt_json_put(&w->object, "classifier_bias", json_boolean(bias == RT_BIAS_ALL));
    rt_json_put(&w->object, "decoder_bias", json_boolean(bias != RT_BIAS_NONE));
}

/* ---- config.json: layers ---- */

/* Without a list, every third layer sees all tokens, from layer 0 on. A token sees `local_attention
 * / 2` others on either side, or `sliding_window`; the window is one more. */
static void read_layers(rt_reading *r, rt_huggingface *there)
{
    enum { EVERY = 3, ATTENTION = 128 };
    bool by_rule[RT_MOST_HF_LAYERS];
    const int every = rt_reading_size(r, "global_attn_every_n_layers", EVERY);
    const int half = rt_reading_whole(r, "local_attention", ATTENTION, 0, RT_MOST_SIZE) / 2;
    const int around = rt_reading_whole(r, "sliding_window", half, 0, RT_MOST_SIZE);
    for (int l = 0; l < there->options.layers; l++)
        by_rule[l] = l % every != 0;
    rt_layer_types_read(r, there, around + 1, by_rule);
}

/* The rule by which older versions of transformers know the layers, where there is one. */
static int rule_of(const rt_transformer_options *o)
{
    for (int every = 1; every <= o->layers; every++) {
        bool same = true;
        for (int l = 0; l < o->layers; l++)
            same &= rt_layer_slides(o, l) == (l % every != 0);
        if (same)
            return every;
    }
    return 0;
}

static void put_layers(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    const int every = rule_of(o);
    rt_layer_types_put(w);
    if (every)
        rt_json_put(&w->object, "global_attn_every_n_layers", json_integer(every));
    if (o->window)
        rt_json_put(&w->object, "local_attention", json_integer(2 * (o->window - 1)));
}

/* ---- config.json: theta ---- */

/* Rope rules of each layer type, and the keys of older folders. */
static const struct {
    const char *key, *within;
    rt_rope_rules rules;
} types[] = {
    {"full_attention",
     "rope_parameters.full_attention.",
     {.base = 160000, .old_base = "global_rope_theta"}},
    {"sliding_attention",
     "rope_parameters.sliding_attention.",
     {.base = 10000, .old_base = "local_rope_theta"}},
};
enum { TYPES = sizeof types / sizeof *types };

/* rope_scaling holds for layers of both types. In a folder without rope_parameters transformers
 * starts with a rope_type, which a `type` of rope_scaling does not change. */
static rt_frequency_options read_type(rt_reading *r, rt_huggingface *there, int type)
{
    const json_t *both = rt_reading_find(r, "rope_parameters"),
                 *scaling = rt_reading_find(r, "rope_scaling");
    json_t *all = json_object(), *own = json_object_get(both, types[type].key);
    const bool made = all &&
                      (both || !json_object_set_new(all, "rope_type", json_string("default"))) &&
                      (!json_is_object(own) || !json_object_update(all, own)) &&
                      (!json_is_object(scaling) || !json_object_update(all, (json_t *)scaling));
    if ((both && !json_is_object(both)) || json_object_get(both, "rope_theta"))
        rt_reading_refuse(r, "rope_parameters must be an object with full_attention and "
                             "sliding_attention");
    if (!made)
        r->status = rt_out_of_memory("rope_parameters");
    const rt_frequency_options o =
        rt_rope_parameters_read_one(r, all, types[type].within, &types[type].rules, there);
    json_decref(all);
    return o;
}

/* A base for all layers if they all have a window, or none. */
static void read_theta(rt_reading *r, rt_huggingface *there)
{
    rt_transformer_options *o = &there->options;
    const rt_frequency_options full = read_type(r, there, 0), sliding = read_type(r, there, 1);
    const bool all_slide = o->window && !o->layer_types.count;
    there->files->sliding = o->window ? sliding : full;
    o->position.frequencies = all_slide ? sliding : full;
    if (o->window && !all_slide && sliding.base != full.base)
        o->position.local_base = sliding.base;
}

/* The mean of theta over the layers of a type; those of all layers where there are none. */
static void mean_of_type(double *mean, const double *theta, rt_shape shape, int pairs,
                         const rt_transformer_options *o, bool slide)
{
    const int rows = shape.axis[1], rotated = shape.axis[2];
    double weight = 0;
    for (int i = 0; i < pairs; i++)
        mean[i] = 0;
    for (int l = 0; l < o->layers; l++) {
        const double *layer =
            theta + (size_t)(shape.axis[0] > 1 ? l : 0) * (size_t)(rows * rotated);
        for (int n = 0; n < rows * rotated && rt_layer_slides(o, l) == slide; n++)
            mean[n % rotated] += layer[n];
        weight += rt_layer_slides(o, l) == slide ? rows : 0;
    }
    for (int i = 0; i < pairs && weight > 0; i++)
        mean[i] /= weight;
    if (!(weight > 0))
        rt_mean_theta(theta, shape, pairs, mean);
}

/* Sets *is if rope_parameters were made from rotor_theta. */
static rt_status is_written(const rt_huggingface *there, bool *is)
{
    const rt_written_theta *t = &there->files->written;
    const rt_transformer_options *o = &there->options;
    const rt_shape shape = RT_SHAPE_OF(t->layers, t->rows, t->pairs);
    const int pairs = rt_transformer_head_dim(o) / 2;
    double *mean = rt_alloc(2 * (size_t)pairs, sizeof *mean);
    if (!mean)
        return rt_out_of_memory("theta");
    *is = true;
    for (int slide = 0; slide < 2; slide++) {
        const bool sliding = slide && o->window;
        mean_of_type(mean, t->values, shape, pairs, o, sliding);
        rt_frequencies(mean + pairs, pairs,
                       sliding ? &there->files->sliding : &o->position.frequencies);
        *is &= rt_theta_is_near(mean, mean + pairs, pairs);
    }
    rt_free(mean);
    return rt_ok();
}

/* Returns whether both have the same scaling. */
static bool same_scaling(rt_frequency_options a, const rt_frequency_options *b)
{
    a.base = b->base;
    return !memcmp(&a, b, sizeof a);
}

static rt_status settle(rt_huggingface *there)
{
    bool fits = false;
    rt_status status = there->files->written.values ? is_written(there, &fits) : rt_ok();
    if (status.code)
        return status;
    rt_huggingface_choose_theta(there, fits, "rope_parameters", "rope_parameters");
    return fits || same_scaling(there->files->sliding, &there->options.position.frequencies)
               ? rt_ok()
               : rt_error(RT_CHECKPOINT,
                          RT_HF_CONFIG ": rope_parameters: full_attention and sliding_attention "
                                       "must have one scaling: rotor has one for all layers");
}

static int put_type(rt_config_writing *w, rt_json_object *to, int type, double *mean)
{
    const rt_transformer_options *o = w->options;
    rt_frequency_options f = o->position.frequencies;
    rt_export_theta theta = *w->theta;
    if (type && o->position.local_base > 0)
        f.base = o->position.local_base;
    theta.mean = mean;
    theta.base = f.base;
    mean_of_type(mean, theta.own, theta.shape, theta.pairs, o, type);
    return rt_rope_parameters_put_one(w, to, types[type].key, &f, &theta);
}

static void put_theta(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    const rt_frequency_options *f = &o->position.frequencies;
    double *mean = rt_alloc((size_t)w->theta->pairs + 1, sizeof *mean);
    rt_json_object both = rt_json_object_new();
    rt_frequency_options sliding = *f;
    int positions = 0;
    if (o->position.local_base > 0)
        sliding.base = o->position.local_base;
    for (int type = 0; type < TYPES && mean; type++)
        positions = put_type(w, &both, type, mean);
    rt_json_put_object(&w->object, "rope_parameters", &both);
    rt_json_put(&w->object, types[0].rules.old_base, rt_json_number(rt_rope_parameters_base(w, f)));
    rt_json_put(&w->object, types[1].rules.old_base,
                rt_json_number(rt_rope_parameters_base(w, &sliding)));
    rt_json_put(&w->object, "max_position_embeddings", mean ? json_integer(positions) : NULL);
    rt_free(mean);
}

/* ---- config.json ---- */

static const rt_config_word gates[] = {
    {"gelu", RT_FFN_GEGLU},
    {"silu", RT_FFN_SWIGLU},
    {"gelu_python", RT_FFN_GEGLU},
    {"swish", RT_FFN_SWIGLU},
    {0},
};

static const rt_config_word poolings[] = {{"cls", RT_POOL_FIRST}, {"mean", RT_POOL_MEAN}, {0}};

/* Dropouts of their own that rotor has not. */
static void put_dropouts(rt_config_writing *w)
{
    static const char *const keys[] = {"embedding_dropout", "mlp_dropout", "classifier_dropout"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        rt_json_put(&w->object, keys[i], json_real(w->options->dropout));
}

static const rt_config_row config[] = {
    RT_SIZES(50368, 768, 1152, 22, 12),
    {"hidden_activation", RT_WORD(ffn, gates), .reason = "rotor has no other gates",
     .wish = "gates"},
    {"classifier_activation", RT_WORD(activation, rt_roformer_activations),
     .reason = "rotor has no other", .wish = "no such function"},
    {"classifier_pooling", RT_WORD(pool, poolings), .reason = "rotor has no other",
     .wish = "the first token or the mean of all"},
    {"norm_eps", RT_EPS(norm_eps), .initial = 1e-5},
    {"norm_bias", RT_SWITCH(norm_bias, RT_WITHOUT, RT_WITH)},
    {"attention_bias", .read = read_bias, .put = put_bias,
     .also = RT_KEYS("mlp_bias", "classifier_bias", "decoder_bias")},
    {"attention_dropout", RT_SHARE(attention_dropout)},
    {"mlp_dropout", RT_SHARE(dropout), .put = put_dropouts},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"is_decoder", RT_MUST_BE("false"), .reason = "windows of a ModernBERT are symmetric"},
    {"layer_types", .read = read_layers, .put = put_layers,
     .also = RT_KEYS("global_attn_every_n_layers", "local_attention", "sliding_window")},
    {"head_dim", .read = rt_config_check_head_dim},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = true,
     .put = rt_config_put_tied},
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_encoder_ids},
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_POSITIONS), .initial = 8192, .when = rt_never},
    {"rope_parameters", .read = read_theta, .put = put_theta,
     .also = RT_KEYS("rope_scaling", "global_rope_theta", "local_rope_theta",
                     "partial_rotary_factor", "original_max_position_embeddings")},
    {0},
};

/* ---- the model card ---- */

/* Queries and keys are rotated as they come out of their matrix. */
/* clang-format off */
static const char own_theta[] =
    "```python\n"
    "import torch\n"
    "\n"
    "def use_own_theta(model):\n"
    "    theta = torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n"
    "    base = model.base_model\n"
    "    scale = getattr(base.rotary_emb, base.layers[0].attention_type + \"_attention_scaling\")\n"
    "    size = base.layers[0].attn.head_dim\n"
    "    theta = torch.nn.functional.pad(theta, (0, size // 2 - theta.shape[-1]))\n"
    "\n"
    "    def own_rotation(attention, theta):\n"
    "        def before(module, args, kwargs):\n"
    "            cos, sin = kwargs[\"position_embeddings\"]\n"
    "            none = torch.ones_like(cos), torch.zeros_like(sin)\n"
    "            return args, {**kwargs, \"position_embeddings\": none}\n"
    "\n"
    "        def rotate(module, args, x):\n"
    "            heads = x.unflatten(-1, (3, -1, size))\n"
    "            angles = torch.arange(x.shape[1], dtype=torch.float64)[:, None, None] * theta\n"
    "            angles = torch.cat([angles, angles], -1)[:, None]\n"
    "            cos, sin = (angles.cos() * scale).to(x), (angles.sin() * scale).to(x)\n"
    "            both, value = heads[:, :, :2], heads[:, :, 2:]\n"
    "            first, second = both.chunk(2, -1)\n"
    "            turned = both * cos + torch.cat([-second, first], -1) * sin\n"
    "            return torch.cat([turned, value], 2).flatten(2)\n"
    "\n"
    "        attention.register_forward_pre_hook(before, with_kwargs=True)\n"
    "        attention.Wqkv.register_forward_hook(rotate)\n"
    "\n"
    "    for layer, own in zip(base.layers, theta):\n"
    "        own_rotation(layer.attn, own)\n"
    "```\n";
/* clang-format on */

/* ---- the family ---- */

const rt_family rt_family_modernbert = {
    .name = "ModernBERT",
    .type = "modernbert",
    .classes = RT_ENCODER_CLASSES("ModernBert", rt_when_pool_first_or_mean),
    .prefix = "model.",
    .tensors = tensors,
    .head_prefixes = head_prefixes,
    .layer_tensors = 5,
    .pairing = RT_HALF,
    .alike = rt_encoder_options,
    .options = options,
    .config = config,
    .unused = RT_KEYS("is_causal", "embedding_dropout", "initializer_cutoff_factor",
                      "deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index",
                      "reference_compile", "repad_logits_with_grad", "layer_norm_eps",
                      "position_embedding_type"),
    .check = check,
    .settle_theta = settle,
    .shared_theta = rt_rope_parameters_shared,
    .mean_theta = "transformers has one theta for layers with a window and one for the others: "
                  "`rope_parameters` in config.json is made of their means, and is not what the "
                  "model was trained with.",
    .own_theta = own_theta,
};
