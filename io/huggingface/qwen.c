/* Families that are built as Llama, and differ by layer: Qwen2 (Yang et al. 2024), with biases of
 * queries, keys and values; Qwen3 (2025), with norms of queries and keys; SmolLM3 (2025), with
 * layers that have no positions. */

#include "io/huggingface/llama.h"
#include "io/huggingface/private.h"

static const rt_family_class qwen2_classes[] = {
    {"Qwen2ForCausalLM", RT_HEAD_LM, true, NULL},
    {"Qwen2ForSequenceClassification", RT_HEAD_SEQUENCE, true, rt_when_pool_last},
    {"Qwen2ForTokenClassification", RT_HEAD_TOKEN, true, NULL},
    {"Qwen2Model", RT_HEAD_LM, false, NULL},
    {0},
};

static const rt_family_class qwen3_classes[] = {
    {"Qwen3ForCausalLM", RT_HEAD_LM, true, NULL},
    {"Qwen3ForSequenceClassification", RT_HEAD_SEQUENCE, true, rt_when_pool_last},
    {"Qwen3ForTokenClassification", RT_HEAD_TOKEN, true, NULL},
    {"Qwen3Model", RT_HEAD_LM, false, NULL},
    {0},
};

static const rt_family_class smollm3_classes[] = {
    {"SmolLM3ForCausalLM", RT_HEAD_LM, true, NULL},
    {"SmolLM3ForSequenceClassification", RT_HEAD_SEQUENCE, true, rt_when_pool_last},
    {"SmolLM3ForTokenClassification", RT_HEAD_TOKEN, true, NULL},
    {"SmolLM3Model", RT_HEAD_LM, false, NULL},
    {0},
};

/* ---- layers with a window ---- */

static int read_window(rt_reading *r, int initial)
{
    const bool null =
        json_object_get(r->json, "sliding_window") && !rt_reading_find(r, "sliding_window");
    const int window = initial || rt_reading_find(r, "sliding_window")
                           ? rt_reading_size(r, "sliding_window", initial)
                           : 0;
    return rt_reading_flag(r, "use_sliding_window", false) && !null ? window : 0;
}

/* Of Qwen, the layers from max_window_layers on have one. */
static void read_qwen_layers(rt_reading *r, rt_huggingface *there)
{
    enum { BEHIND = 28, WINDOW = 4096 };
    bool by_rule[RT_MOST_HF_LAYERS];
    const int window = read_window(r, WINDOW);
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

/* Where older folders have no layer_types, the window is that of layers without positions. */
static void read_smollm3_layers(rt_reading *r, rt_huggingface *there)
{
    enum { INTERVAL = 4 };
    bool by_rule[RT_MOST_HF_LAYERS];
    rt_transformer_options *o = &there->options;
    const json_t *list = rt_layer_list(r, "no_rope_layers", o->layers);
    const int interval = rt_reading_size(r, "no_rope_layer_interval", INTERVAL);
    const int window = read_window(r, 0);
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

#define NO_BIAS "rotor has biases in all maps of a layer, of queries, keys and values, or in none"
#define REST                                                                                       \
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},            \
        RT_ROPE_PARAMETERS(32768),                                                                 \
    {                                                                                              \
        0                                                                                          \
    }

static const rt_config_row qwen2_config[] = {
    RT_LLAMA_SIZES(151936, 4096, 22016, 32, 32),
    RT_LLAMA_KEY_HEADS(32),
    RT_LLAMA_HEAD_DIM,
    RT_LLAMA_REST,
    {"layer_types", .read = read_qwen_layers, .put = put_qwen_layers,
     .also = RT_KEYS("use_sliding_window", "sliding_window", "max_window_layers")},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    REST,
};

static const rt_config_row qwen3_config[] = {
    RT_LLAMA_SIZES(151936, 4096, 22016, 32, 32),
    RT_LLAMA_KEY_HEADS(32),
    {"head_dim", RT_SIZE(head_dim), .initial = 128},
    RT_LLAMA_REST,
    {"attention_bias", RT_MUST_BE("false"), .reason = NO_BIAS, .when = rt_always},
    {"layer_types", .read = read_qwen_layers, .put = put_qwen_layers,
     .also = RT_KEYS("use_sliding_window", "sliding_window", "max_window_layers")},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    REST,
};

static const rt_config_row smollm3_config[] = {
    RT_LLAMA_SIZES(128256, 2048, 11008, 36, 16),
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
    .classes = qwen2_classes,
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
    .classes = qwen3_classes,
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
    .classes = smollm3_classes,
    .options = smollm3_options,
    .config = smollm3_config,
    .check = rt_rope_parameters_check,
    .rope = {.base = 2000000},
    RT_LIKE_LLAMA,
    .unused = RT_KEYS("is_decoder", "pretraining_tp", "max_window_layers"),
};
