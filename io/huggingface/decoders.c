/* Families of decoders: Llama (Touvron et al. 2023), those that are built like it, and GPT-NeoX. */

#include "io/huggingface/family.h"
#include "own_theta.h"
#include "util/writer.h"

#include <string.h>

/* ---- tensors of Llama ---- */

#define LAYER "model.layers.N."
static const rt_tensor_row llama_tensors[] = {
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

/* Members of families that are built like Llama. The Python code rotates queries and keys after
 * their projections or norms; a cosine of 1 and a sine of 0 disable the model's own rotation. */
#define LIKE_LLAMA(family_name, word)                                                              \
    .name = family_name, .classes = RT_CLASSES(word, "ForCausalLM", rt_when_pool_last),            \
    .prefix = "model.", .tensors = llama_tensors, .head_prefixes = RT_KEYS("lm_head.", "score."),  \
    .layer_tensors = 9, .pairing = RT_HALF, .own_theta = llama_py

/* ---- keys of config.json that several families share ---- */

static const rt_config_word gates[] = {
    {"silu", RT_FFN_SWIGLU},
    {"gelu", RT_FFN_GEGLU},
    {"gelu_python", RT_FFN_GEGLU},
    {"swish", RT_FFN_SWIGLU},
    {0},
};

/* Refuses layers of another type than `wanted`: the layers of these families do not differ. */
static void check_layer_types(rt_reading *r, const char *wanted)
{
    const json_t *types = rt_reading_find(r, "layer_types");
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type || strcmp(type, wanted))
            rt_reading_refuse(r, "layer_types must all be %s; got %s", wanted,
                              RT_QUOTED(type ? type : "something else"));
    }
}

/* Keys by which a decoder of transformers attends to both sides, or has a head without biases. */
#define CAUSAL                                                                                     \
    {"is_causal", RT_MUST_BE("true"),                                                              \
     .reason = "a decoder of rotor attends to no token behind its own"},                           \
        RT_ROW("token_classification_bias", RT_MUST_BE("true"),                                    \
               .reason = "the head of rotor for labels of tokens has a bias")
/* key_heads = 0: as many as heads. head_size = 0: hidden_size / num_attention_heads. */
#define SIZES(words, width, ffn_width, layers, heads_count, key_heads, head_size)                  \
    RT_SIZES(words, width, ffn_width, layers, heads_count),                                        \
        {"num_key_value_heads", RT_SIZE(kv_heads), .initial = key_heads,                           \
         .same_as = RT_MEMBER_OF(int, heads)},                                                     \
        {"head_dim", RT_SIZE(head_dim), .initial = head_size},                                     \
        {"hidden_act", RT_WORD(ffn, gates), .reason = "rotor has no other gates",                  \
         .wish = "gates"},                                                                         \
        {"rms_norm_eps", RT_EPS(norm_eps), .initial = 1e-6},                                       \
        {"attention_dropout", RT_SHARE(attention_dropout)}, CAUSAL,                                \
        RT_ROW("initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD)
#define REST(positions, tied)                                                                      \
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = tied},                        \
        {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},        \
        RT_ROPE_PARAMETERS(positions), RT_ROW(0)

/* Keys without effect; published folders have rope_interleaved, is_llama_config and use_mrope. */
static const char *const unused[] = {"is_decoder",      "pretraining_tp", "rope_interleaved",
                                     "is_llama_config", "use_mrope",      NULL};

/* ---- Llama ---- */

static const rt_option_row llama_options[] = {RT_LLAMA_OPTIONS, {0}};

static rt_status check_llama(const rt_family *family, const rt_transformer_options *o)
{
    if (o->bias != RT_BIAS_ALL && o->bias != RT_BIAS_NONE)
        return rt_cannot_export(family, "model.bias", o,
                                "biases in all maps of its layers or in none");
    return rt_rope_parameters_check(family, o);
}

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
    SIZES(32000, 4096, 11008, 32, 32, 0, 0),
    {"sliding_window", RT_ABSENT, .reason = "a window is for model_type mistral"},
    {"layer_types", .read = read_full_attention},
    {"attention_bias", .read = read_bias, .put = put_bias, .also = RT_KEYS("mlp_bias")},
    REST(2048, false),
};

const rt_family rt_family_llama = {
    .type = "llama",
    .options = llama_options,
    .config = llama_config,
    .unused = unused,
    .check = check_llama,
    LIKE_LLAMA("Llama", "Llama"),
};

/* ---- Mistral (Jiang et al. 2023), which has a window and other defaults ---- */

static const rt_option_row mistral_options[] = {
    RT_LLAMA_OPTIONS,
    {"model.window", RT_ABOVE_0, NULL, "a window"},
    {"model.layer_types", RT_IS, "", "a window in every layer"},
    {"model.bias", RT_IS, "none", NULL}, /* see check_mistral */
    {0},
};

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

static const rt_config_row mistral_config[] = {
    SIZES(32000, 4096, 14336, 32, 32, 8, 0),
    {"sliding_window", RT_SIZE(window), .read = read_window,
     .also = RT_KEYS("layer_types", "use_sliding_window")},
    REST(4096 * 32, false),
};

const rt_family rt_family_mistral = {
    .type = "mistral",
    .options = mistral_options,
    .config = mistral_config,
    .unused = unused,
    .check = check_mistral,
    LIKE_LLAMA("Llama", "Mistral"),
};

/* ---- Qwen2 (Yang et al. 2024), with biases of queries, keys and values; Qwen3 (2025), with norms
 * of queries and keys ---- */

static const rt_option_row qwen2_options[] = {
    RT_LLAMA_OPTIONS,
    {"model.bias", RT_IS, "qkv", "biases of queries, keys and values"},
    {"model.window", RT_ANY_VALUE, NULL, NULL},
    {0},
};

static const rt_option_row qwen3_options[] = {
    RT_LLAMA_OPTIONS,
    {"model.bias", RT_IS, "none", "no biases"},
    {"model.qk_norm", RT_IS, "yes", "norms of queries and keys"},
    {"theta.head_scale", RT_IS, "no", "norms that undo factors of heads"},
    {"model.window", RT_ANY_VALUE, NULL, NULL},
    {0},
};

static int qwen_read_window(rt_reading *r, int initial)
{
    const bool null =
        json_object_get(r->json, "sliding_window") && !rt_reading_find(r, "sliding_window");
    const int window = initial || rt_reading_find(r, "sliding_window")
                           ? rt_reading_size(r, "sliding_window", initial)
                           : 0;
    return rt_reading_flag(r, "use_sliding_window", false) && !null ? window : 0;
}

/* Reads the layers with a window; without layer_types those from max_window_layers on. */
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
    while (first < o->layers && !rt_layer_row_of(o, first).window)
        first++;
    put_types(w);
    rt_json_put(&w->object, "max_window_layers", json_integer(first));
}

#define QWEN_LAYERS                                                                                \
    RT_ROW("layer_types", .read = read_qwen_layers, .put = put_qwen_layers,                        \
           .also = RT_KEYS("use_sliding_window", "sliding_window", "max_window_layers"))
#define NO_BIAS "rotor has biases in all maps of a layer, of queries, keys and values, or in none"

static const rt_config_row qwen2_config[] = {
    SIZES(151936, 4096, 22016, 32, 32, 32, 0),
    QWEN_LAYERS,
    REST(32768, false),
};

static const rt_config_row qwen3_config[] = {
    SIZES(151936, 4096, 22016, 32, 32, 32, 128),
    {"attention_bias", RT_MUST_BE("false"), .reason = NO_BIAS, .when = rt_always},
    QWEN_LAYERS,
    REST(32768, false),
};

const rt_family rt_family_qwen2 = {
    .type = "qwen2",
    .options = qwen2_options,
    .config = qwen2_config,
    .tokenizer =
        "byte-level BPE, since transformers ignores another class of tokenizer; train with "
        "data.level = bpe, or with model.bias = none or all",
    .unused = unused,
    .check = rt_rope_parameters_check,
    LIKE_LLAMA("Qwen2", "Qwen2"),
};

const rt_family rt_family_qwen3 = {
    .type = "qwen3",
    .options = qwen3_options,
    .config = qwen3_config,
    .unused = unused,
    .check = rt_rope_parameters_check,
    LIKE_LLAMA("Qwen3", "Qwen3"),
};

/* ---- SmolLM3 (2025), with layers that have no positions ---- */

static const rt_option_row smollm3_options[] = {
    RT_LLAMA_OPTIONS,
    {"model.bias", RT_IS, "none", "no biases"},
    {"model.window", RT_ANY_VALUE, NULL, NULL},
    {"position.every", RT_ANY_VALUE, NULL, NULL},
    {"position.layers", RT_ANY_VALUE, NULL, NULL},
    {0},
};

/* Reads the layers with positions and, without layer_types, gives the window to the others. */
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
        const json_t *number = json_array_get(list, (size_t)l);
        layers.at[l] = list ? json_integer_value(number) == 1 : (l + 1) % interval != 0;
        if (list && (!json_is_integer(number) || (json_integer_value(number) & ~1)))
            rt_reading_refuse(r, "no_rope_layers must have 1 or 0 for each layer");
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

static const rt_config_row smollm3_config[] = {
    SIZES(128256, 2048, 11008, 36, 16, 4, 0),
    {"attention_bias", RT_MUST_BE("false"), .reason = NO_BIAS, .when = rt_always},
    {"mlp_bias", RT_MUST_BE("false"), .reason = NO_BIAS, .when = rt_always},
    {"no_rope_layers", .read = read_smollm3_layers, .put = put_smollm3_layers,
     .also =
         RT_KEYS("no_rope_layer_interval", "layer_types", "use_sliding_window", "sliding_window")},
    REST(32768, true),
};

const rt_family rt_family_smollm3 = {
    .type = "smollm3",
    .rope = {.base = 2000000},
    .options = smollm3_options,
    .config = smollm3_config,
    .unused = RT_KEYS("is_decoder", "pretraining_tp", "max_window_layers"),
    .check = rt_rope_parameters_check,
    LIKE_LLAMA("SmolLM3", "SmolLM3"),
};

/* ---- GPT-NeoX (Black et al. 2022), the family of Pythia (Biderman et al. 2023) ---- */

#define LAYER "gpt_neox.layers.N."
static const rt_tensor_row neox_tensors[] = {
    {"gpt_neox.embed_in.weight", .here = {RT_TOKENS_NAME}},
    {LAYER "input_layernorm", .here = {"layers.N.attention_norm"}},
    {LAYER "attention.query_key_value",
     .here = {"layers.N.attention.query", "layers.N.attention.key", "layers.N.attention.value"},
     .form = RT_BY_HEAD},
    {LAYER "attention.dense", .here = {"layers.N.attention.output"}},
    {LAYER "post_attention_layernorm", .here = {"layers.N.ffn_norm"}},
    {LAYER "mlp.dense_h_to_4h", .here = {"layers.N.ffn.up"}},
    {LAYER "mlp.dense_4h_to_h", .here = {"layers.N.ffn.down"}},
    {"gpt_neox.final_layer_norm", .here = {"norm"}},
    {"embed_out.weight", .here = {RT_OUTPUT_NAME}, .spare = true},
    {"lm_head.weight", .here = {RT_OUTPUT_NAME}, .written = rt_never, .spare = true},
    {"score", .here = {"head.classifier"}, .when = rt_when_sequence},
    {"classifier", .here = {"head.classifier"}, .when = rt_when_token},
    /* masks, which older versions saved with the weights */
    {LAYER "attention.bias", .spare = true},
    {LAYER "attention.masked_bias", .spare = true},
    {0},
};
#undef LAYER

static const rt_option_row neox_options[] = {
    RT_DECODER_OPTIONS,
    {"model.norm_kind", RT_IS, "layer", "LayerNorm"},
    {"model.ffn", RT_IS, "plain", "no gates"},
    {"model.kv_heads", RT_SAME_AS, "model.heads", "keys for every head"},
    {"position.fraction", RT_ABOVE_0, NULL, "pairs that are rotated"},
    {0},
};

static rt_status check_neox(const rt_family *family, const rt_transformer_options *o)
{
    if (o->bias != RT_BIAS_ALL && o->bias != RT_BIAS_FFN)
        return rt_cannot_export(family, "model.bias", o,
                                "biases in its feed-forward blocks, and in attention or not");
    RT_TRY(rt_check_head_dim(family, o));
    return rt_rope_parameters_check(family, o);
}

static const rt_config_row neox_config[] = {
    RT_SIZES(50432, 6144, 24576, 44, 64),
    {"hidden_act", RT_WORD(activation, rt_hf_activations), .reason = "rotor has no other",
     .wish = "no such function"},
    {"layer_norm_eps", RT_EPS(norm_eps), .initial = 1e-5},
    {"hidden_dropout", RT_SHARE(dropout)},
    {"attention_dropout", RT_SHARE(attention_dropout)},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"use_parallel_residual", RT_SWITCH(residual, RT_RESIDUAL_SERIAL, RT_RESIDUAL_PARALLEL),
     .initial = true},
    {"attention_bias", RT_SWITCH(bias, RT_BIAS_FFN, RT_BIAS_ALL), .initial = true},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},
    {"head_dim", .read = rt_config_check_head_dim},
    CAUSAL,
    RT_ROPE_PARAMETERS_BASED(2048, "rotary_emb_base", "rotary_pct"),
    {0},
};

const rt_family rt_family_gpt_neox = {
    .name = "GPT-NeoX",
    .type = "gpt_neox",
    .classes = RT_CLASSES("GPTNeoX", "ForCausalLM", rt_when_pool_last),
    .prefix = "gpt_neox.",
    .tensors = neox_tensors,
    .head_prefixes = RT_KEYS("embed_out.", "lm_head.", "score.", "classifier."),
    .layer_tensors = 10,
    .rope = {.fraction = 0.25, .old_base = "rotary_emb_base", .old_fraction = "rotary_pct"},
    .pairing = RT_HALF,
    .pairs_rotated = true,
    .options = neox_options,
    .config = neox_config,
    .unused = RT_KEYS("is_decoder", "rope_theta", "partial_rotary_factor"),
    .check = check_neox,
    .own_theta = gpt_neox_py, /* rotates queries and keys after their projection */
};
