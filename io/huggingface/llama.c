/* The family of Llama (Touvron et al. 2023), and that of Mistral (Jiang et al. 2023), which has a
 * window and other defaults. */

#include "io/huggingface/private.h"
#include "text/writer.h"

#include <string.h>

/* ---- tensors ---- */

#define LAYER "model.layers.N."
const rt_tensor_row rt_llama_tensors[] = {
    {"model.embed_tokens.weight", .here = {RT_TOKENS_NAME}},
    {LAYER "self_attn.q_proj", .here = {"layers.N.attention.query"}},
    {LAYER "self_attn.k_proj", .here = {"layers.N.attention.key"}},
    {LAYER "self_attn.v_proj", .here = {"layers.N.attention.value"}},
    {LAYER "self_attn.q_norm", .here = {"layers.N.attention.query_norm"}},
    {LAYER "self_attn.k_norm", .here = {"layers.N.attention.key_norm"}},
    {LAYER "self_attn.o_proj", .here = {"layers.N.attention.output"}},
    {LAYER "input_layernorm", .here = {"layers.N.attention_norm"}},
    {LAYER "mlp.gate_proj", .here = {"layers.N.ffn.gate"}},
    {LAYER "mlp.up_proj", .here = {"layers.N.ffn.up"}},
    {LAYER "mlp.down_proj", .here = {"layers.N.ffn.down"}},
    {LAYER "post_attention_layernorm", .here = {"layers.N.ffn_norm"}},
    {"model.norm", .here = {"norm"}},
    {"lm_head.weight", .here = {RT_OUTPUT_NAME}, .spare = true},
    {"score", .here = {"head.classifier"}},
    {0},
};
#undef LAYER
const char *const rt_llama_head_prefixes[] = {"lm_head.", "score.", NULL};

/* ---- what both are ---- */

const rt_option_row rt_llama_options[] = {
    RT_DECODER_OPTIONS,
    {"model.norm_kind", RT_IS, "rms", "RMS norms"},
    {"model.residual", RT_IS, "serial", "blocks one after the other"},
    {"model.activation", RT_IS, "silu", NULL},
    {0},
};

static const rt_option_row llama_options[] = {
    {"model.window", RT_IS, "0", "attention to all tokens"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    RT_POSITIONS_EVERYWHERE,
    {0},
};

static const rt_option_row mistral_options[] = {
    {"model.window", RT_ABOVE_0, NULL, "a window"},
    {"model.layer_types", RT_IS, "", "a window in every layer"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    RT_POSITIONS_EVERYWHERE,
    {"model.bias", RT_IS, "none", NULL}, /* see check_mistral */
    {0},
};

static rt_status check_llama(const rt_family *family, const rt_transformer_options *o)
{
    if (o->bias != RT_BIAS_ALL && o->bias != RT_BIAS_NONE)
        return rt_cannot_export(family, "model.bias", o,
                                "biases in all maps of its layers or in none");
    return rt_rope_parameters_check(family, o);
}

static rt_status check_mistral(const rt_family *family, const rt_transformer_options *o)
{
    static const char *const biases[] = {RT_BIASES(RT_CHOICE_WORD)};
    if (o->bias != RT_BIAS_NONE)
        return rt_error(RT_CONFIG,
                        "model.bias = %s cannot be exported with model.window = %d: a "
                        "Mistral of Hugging Face has no biases",
                        biases[o->bias], o->window);
    return rt_rope_parameters_check(family, o);
}

/* ---- config.json: what both have ---- */

const rt_config_word rt_llama_gates[] = {
    {"silu", RT_FFN_SWIGLU},
    {"gelu", RT_FFN_GEGLU},
    {"gelu_python", RT_FFN_GEGLU},
    {"swish", RT_FFN_SWIGLU},
    {0},
};

/* rope_interleaved, is_llama_config and use_mrope stand in published folders. */
const char *const rt_llama_unused[] = {"is_decoder",      "pretraining_tp", "rope_interleaved",
                                       "is_llama_config", "use_mrope",      NULL};

void rt_config_put_head_dim(rt_config_writing *w)
{
    rt_json_put(&w->object, "head_dim", json_integer(w->options->head_dim));
}

/* Null, or not there: hidden_size / num_attention_heads, which check_heads divides. */
void rt_config_read_head_dim(rt_reading *r, rt_huggingface *there)
{
    if (rt_reading_find(r, "head_dim"))
        there->options.head_dim = rt_reading_size(r, "head_dim", 0);
}

/* All layers of a class see as far; what tells them apart is of other classes. */
static void check_layer_types(rt_reading *r, const char *wanted)
{
    const json_t *types = rt_reading_find(r, "layer_types");
    char quoted[RT_QUOTE_SIZE];
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type || strcmp(type, wanted))
            rt_reading_refuse(r, "layer_types must all be %s; got %s", wanted,
                              rt_quote(quoted, type ? type : "something else"));
    }
}

#define LLAMA_SIZES(ffn_width, key_heads)                                                          \
    RT_SIZES(32000, 4096, ffn_width, 32, 32), RT_LLAMA_KEY_HEADS(key_heads), RT_LLAMA_HEAD_DIM,    \
        RT_LLAMA_REST

/* ---- of Llama ---- */

static void read_bias(rt_reading *r, rt_huggingface *there)
{
    const bool attention = rt_reading_flag(r, "attention_bias", false);
    const bool mlp = rt_reading_flag(r, "mlp_bias", false);
    if (attention != mlp)
        rt_reading_refuse(r,
                          "attention_bias = %s and mlp_bias = %s: rotor has biases in all linear "
                          "maps of a model or in none",
                          attention ? "true" : "false", mlp ? "true" : "false");
    there->options.bias = attention ? RT_BIAS_ALL : RT_BIAS_NONE;
}

static void put_bias(rt_config_writing *w)
{
    const bool bias = w->options->bias == RT_BIAS_ALL;
    rt_json_put(&w->object, "attention_bias", json_boolean(bias));
    rt_json_put(&w->object, "mlp_bias", json_boolean(bias));
}

static void read_full_attention(rt_reading *r, rt_huggingface *there)
{
    (void)there;
    check_layer_types(r, "full_attention");
}

static const rt_config_row llama_config[] = {
    LLAMA_SIZES(11008, 0),
    {"sliding_window", RT_ABSENT, .reason = "a window is for model_type mistral"},
    {"layer_types", .read = read_full_attention},
    {"attention_bias", .read = read_bias, .put = put_bias, .also = RT_KEYS("mlp_bias")},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},
    RT_ROPE_PARAMETERS(2048),
    {0},
};

/* ---- of Mistral ---- */

static void read_window(rt_reading *r, rt_huggingface *there)
{
    const bool given = json_object_get(r->json, "sliding_window") != NULL;
    const bool has_window = !given || rt_reading_find(r, "sliding_window");
    const int window = rt_reading_size(r, "sliding_window", 4096);
    there->options.window = has_window ? window : 0;
    check_layer_types(r, has_window ? "sliding_attention" : "full_attention");
    if (has_window && !rt_reading_flag(r, "use_sliding_window", true))
        rt_reading_refuse(r, "use_sliding_window = false, but sliding_window gives a window");
}

static void put_window(rt_config_writing *w)
{
    rt_json_put(&w->object, "sliding_window", json_integer(w->options->window));
}

static const rt_config_row mistral_config[] = {
    LLAMA_SIZES(14336, 8),
    {"sliding_window", .read = read_window, .put = put_window,
     .also = RT_KEYS("layer_types", "use_sliding_window")},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},
    RT_ROPE_PARAMETERS(4096 * 32),
    {0},
};

/* ---- the model card ---- */

/* The model's own rotation is put out by a cosine of 1 and a sine of 0; queries and keys are
 * rotated as they come out of their projections, or of the norms behind these. */
/* clang-format off */
const char rt_llama_own_theta[] =
    "```python\n"
    "import torch\n"
    "\n"
    "def use_own_theta(model):\n"
    "    theta = torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n"
    "    base = model.base_model\n"
    "    layers = [l for l in base.layers if getattr(l.self_attn, \"use_rope\", True)]\n"
    "    size = base.layers[0].self_attn.head_dim\n"
    "    theta = torch.nn.functional.pad(theta, (0, size // 2 - theta.shape[-1]))\n"
    "    scale = base.rotary_emb.attention_scaling\n"
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
    "            heads = x.reshape(*x.shape[:2], -1, size)\n"
    "            first, second = heads.chunk(2, -1)\n"
    "            swapped = torch.cat([-second, first], -1)\n"
    "            group = heads.shape[-2] // place[\"cos\"].shape[-2]\n"
    "            cos, sin = (place[key].repeat_interleave(group, -2) for key in (\"cos\", \"sin\"))\n"
    "            return (heads * cos + swapped * sin).reshape(x.shape)\n"
    "\n"
    "        attention = layer.self_attn\n"
    "        attention.register_forward_pre_hook(before, with_kwargs=True)\n"
    "        getattr(attention, \"q_norm\", attention.q_proj).register_forward_hook(rotate)\n"
    "        getattr(attention, \"k_norm\", attention.k_proj).register_forward_hook(rotate)\n"
    "\n"
    "    for layer, own in zip(layers, theta):\n"
    "        own_rotation(layer, own)\n"
    "```\n";
/* clang-format on */

/* ---- the families ---- */

#define ALIKE .name = "Llama", RT_LIKE_LLAMA, .unused = rt_llama_unused, .rope = {.base = 10000}

const rt_family rt_family_llama = {
    .type = "llama",
    .classes = RT_DECODER_CLASSES("Llama"),
    .options = llama_options,
    .config = llama_config,
    .check = check_llama,
    ALIKE,
};

const rt_family rt_family_mistral = {
    .type = "mistral",
    .classes = RT_DECODER_CLASSES("Mistral"),
    .options = mistral_options,
    .config = mistral_config,
    .check = check_mistral,
    ALIKE,
};

/* ---- Qwen and SmolLM ---- */

/* Families that are built as Llama, and differ by layer: Qwen2 (Yang et al. 2024), with biases of
 * queries, keys and values; Qwen3 (2025), with norms of queries and keys; SmolLM3 (2025), with
 * layers that have no positions. */

/* ---- layers with a window ---- */

static int qwen_read_window(rt_reading *r, int initial)
{
    const bool null =
        json_object_get(r->json, "sliding_window") && !rt_reading_find(r, "sliding_window");
    const int window = initial || rt_reading_find(r, "sliding_window")
                           ? rt_reading_size(r, "sliding_window", initial)
                           : 0;
    return rt_reading_flag(r, "use_sliding_window", false) && !null ? window : 0;
}

/* In a Qwen, the layers from max_window_layers on have a window. */
static void read_qwen_layers(rt_reading *r, rt_huggingface *there)
{
    enum { BEHIND = 28, WINDOW = 4096 };
    bool by_rule[RT_MOST_HF_LAYERS];
    const int window = qwen_read_window(r, WINDOW);
    const int first = rt_reading_whole(r, "max_window_layers", BEHIND, 0, RT_MOST_SIZE);
    for (int l = 0; l < there->options.layers; l++)
        by_rule[l] = window && l >= first;
    rt_layer_types_read(r, there, window, by_rule);
}

static void put_types(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    rt_layer_types_put(w);
    rt_json_put(&w->object, "use_sliding_window", json_boolean(o->window > 0));
    rt_json_put(&w->object, "sliding_window", o->window ? json_integer(o->window) : json_null());
}

static void put_qwen_layers(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    int first = 0;
    while (first < o->layers && !rt_layer_slides(o, first))
        first++;
    put_types(w);
    rt_json_put(&w->object, "max_window_layers", json_integer(first));
}

/* ---- layers without positions ---- */

static bool read_rotated(rt_reading *r, const json_t *list, int l, int interval)
{
    const json_t *number = json_array_get(list, (size_t)l);
    if (!list)
        return (l + 1) % interval != 0;
    if (!json_is_integer(number) || (json_integer_value(number) & ~1))
        rt_reading_refuse(r, "no_rope_layers must have 1 or 0 for each layer");
    return json_integer_value(number) == 1;
}

/* In older folders without layer_types, the layers without positions have the window. */
static void read_smollm3_layers(rt_reading *r, rt_huggingface *there)
{
    enum { INTERVAL = 4 };
    bool by_rule[RT_MOST_HF_LAYERS];
    rt_transformer_options *o = &there->options;
    const json_t *list = rt_layer_list(r, "no_rope_layers", o->layers);
    const int interval = rt_reading_size(r, "no_rope_layer_interval", INTERVAL);
    const int window = qwen_read_window(r, 0);
    rt_layer_words layers = {.count = o->layers};
    int rotated = 0;
    for (int l = 0; l < o->layers; l++) {
        layers.at[l] = read_rotated(r, list, l, interval);
        by_rule[l] = window && !layers.at[l];
        rotated += layers.at[l];
    }
    if (!rotated)
        rt_reading_refuse(r, "no_rope_layers leaves no layer with positions: rotor reads models "
                             "that have one");
    if (rotated < o->layers)
        o->position.layers = layers;
    rt_layer_types_read(r, there, window, by_rule);
}

static void put_smollm3_layers(rt_config_writing *w)
{
    enum { NEVER = 1000000 };
    const rt_transformer_options *o = w->options;
    double rotated[RT_MOST_LAYER_WORDS];
    for (int l = 0; l < o->layers; l++)
        rotated[l] = rt_layer_row_of(o, l).has_positions;
    put_types(w);
    rt_json_put(&w->object, "no_rope_layers", rt_json_numbers(rotated, o->layers));
    rt_json_put(&w->object, "no_rope_layer_interval", json_integer(NEVER));
}

/* ---- options ---- */

static const rt_option_row qwen2_options[] = {
    {"model.bias", RT_IS, "qkv", "biases of queries, keys and values"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    RT_POSITIONS_EVERYWHERE,
    {0},
};

static const rt_option_row qwen3_options[] = {
    {"model.bias", RT_IS, "none", "no biases"},
    {"model.qk_norm", RT_IS, "yes", "norms of queries and keys"},
    {"theta.head_scale", RT_IS, "no", "norms that undo factors of heads"},
    RT_POSITIONS_EVERYWHERE,
    {0},
};

static const rt_option_row smollm3_options[] = {
    {"model.bias", RT_IS, "none", "no biases"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    {0},
};

/* ---- config.json ---- */

#define QWEN_LAYERS                                                                                \
    {                                                                                              \
        "layer_types",                                                                             \
            .read = read_qwen_layers, .put = put_qwen_layers,                                      \
            .also = RT_KEYS("use_sliding_window", "sliding_window", "max_window_layers")           \
    }
#define NO_BIAS "rotor has biases in all maps of a layer, of queries, keys and values, or in none"
#define REST                                                                                       \
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},            \
        RT_ROPE_PARAMETERS(32768),                                                                 \
    {                                                                                              \
        0                                                                                          \
    }

static const rt_config_row qwen2_config[] = {
    RT_SIZES(151936, 4096, 22016, 32, 32),
    RT_LLAMA_KEY_HEADS(32),
    RT_LLAMA_HEAD_DIM,
    RT_LLAMA_REST,
    QWEN_LAYERS,
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    REST,
};

static const rt_config_row qwen3_config[] = {
    RT_SIZES(151936, 4096, 22016, 32, 32),
    RT_LLAMA_KEY_HEADS(32),
    {"head_dim", RT_SIZE(head_dim), .initial = 128},
    RT_LLAMA_REST,
    {"attention_bias", RT_MUST_BE("false"), .reason = NO_BIAS, .when = rt_always},
    QWEN_LAYERS,
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    REST,
};

static const rt_config_row smollm3_config[] = {
    RT_SIZES(128256, 2048, 11008, 36, 16),
    RT_LLAMA_KEY_HEADS(4),
    RT_LLAMA_HEAD_DIM,
    RT_LLAMA_REST,
    {"attention_bias", RT_MUST_BE("false"), .reason = NO_BIAS, .when = rt_always},
    {"mlp_bias", RT_MUST_BE("false"), .reason = NO_BIAS, .when = rt_always},
    {"no_rope_layers", .read = read_smollm3_layers, .put = put_smollm3_layers,
     .also =
         RT_KEYS("no_rope_layer_interval", "layer_types", "use_sliding_window", "sliding_window")},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = true},
    REST,
};

/* ---- the families ---- */

const rt_family rt_family_qwen2 = {
    .name = "Qwen2",
    .type = "qwen2",
    .classes = RT_DECODER_CLASSES("Qwen2"),
    .options = qwen2_options,
    .config = qwen2_config,
    .check = rt_rope_parameters_check,
    .rope = {.base = 10000},
    RT_LIKE_LLAMA,
    .unused = rt_llama_unused,
};

const rt_family rt_family_qwen3 = {
    .name = "Qwen3",
    .type = "qwen3",
    .classes = RT_DECODER_CLASSES("Qwen3"),
    .options = qwen3_options,
    .config = qwen3_config,
    .check = rt_rope_parameters_check,
    .rope = {.base = 10000},
    RT_LIKE_LLAMA,
    .unused = rt_llama_unused,
};

const rt_family rt_family_smollm3 = {
    .name = "SmolLM3",
    .type = "smollm3",
    .classes = RT_DECODER_CLASSES("SmolLM3"),
    .options = smollm3_options,
    .config = smollm3_config,
    .check = rt_rope_parameters_check,
    .rope = {.base = 2000000},
    RT_LIKE_LLAMA,
    .unused = RT_KEYS("is_decoder", "pretraining_tp", "max_window_layers"),
};
