/* The family of Llama (Touvron et al. 2023) and Mistral (Jiang et al. 2023), and its config.json as
 * it is read. */

#include "io/huggingface/llama.h"

#include "text/quote.h"

#include <string.h>

const rt_family_class rt_llama_classes[] = {
    {"LlamaForCausalLM", "llama", RT_HEAD_LM, true},
    {"LlamaModel", "llama", RT_HEAD_LM, false},
    {"MistralForCausalLM", "mistral", RT_HEAD_LM, true},
    {"MistralModel", "mistral", RT_HEAD_LM, false},
    {0},
};

/* ---- names ---- */

#define LAYER "model.layers.N."
static const rt_tensor_names names[] = {
    {"model.embed_tokens.weight", RT_TOKENS_NAME, RT_PLAIN, RT_ANY_HEAD},
    {LAYER "self_attn.q_proj", "layers.N.attention.query", RT_ROWS, RT_ANY_HEAD},
    {LAYER "self_attn.k_proj", "layers.N.attention.key", RT_ROWS, RT_ANY_HEAD},
    {LAYER "self_attn.v_proj", "layers.N.attention.value", RT_VALUE_ROWS, RT_ANY_HEAD},
    {LAYER "self_attn.o_proj", "layers.N.attention.output", RT_VALUE_COLUMNS, RT_ANY_HEAD},
    {LAYER "input_layernorm", "layers.N.attention_norm", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "mlp.gate_proj", "layers.N.ffn.gate", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "mlp.up_proj", "layers.N.ffn.up", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "mlp.down_proj", "layers.N.ffn.down", RT_PLAIN, RT_ANY_HEAD},
    {LAYER "post_attention_layernorm", "layers.N.ffn_norm", RT_PLAIN, RT_ANY_HEAD},
    {"model.norm", "norm", RT_PLAIN, RT_ANY_HEAD},
    {"lm_head.weight", RT_OUTPUT_NAME, RT_PLAIN, RT_ANY_HEAD},
    {0},
};
#undef LAYER
static const char *const head_prefixes[] = {"lm_head.", NULL};

/* Older versions saved the frequencies with the weights, but computed them from config.json all the
 * same; a tied decoder may be there as well. */
static bool is_beside(const rt_huggingface *there, const char *name)
{
    static const char end[] = ".rotary_emb.inv_freq";
    const size_t length = strlen(name), size = sizeof end - 1;
    const bool frequencies = length > size && !strcmp(name + length - size, end);
    return (frequencies && !strncmp(name, "model.layers.", 13)) ||
           (there->options.head == RT_HEAD_LM && !strcmp(name, "lm_head.weight"));
}

/* ---- config.json ---- */

static rt_ffn read_ffn(rt_reading *r)
{
    const char *name = rt_reading_find(r, "hidden_act") ? rt_reading_word(r, "hidden_act") : "silu";
    char quoted[RT_QUOTE_SIZE];
    if (!strcmp(name, "gelu") || !strcmp(name, "gelu_python"))
        return RT_FFN_GEGLU;
    if (strcmp(name, "silu") && strcmp(name, "swish"))
        rt_reading_refuse(r, "hidden_act must be silu or gelu: rotor has no other gates; got %s",
                          rt_quote(quoted, name));
    return RT_FFN_SWIGLU;
}

/* Mistral has no biases, and no keys for them. */
static rt_bias read_bias(rt_reading *r, bool mistral)
{
    const bool attention = !mistral && rt_reading_flag(r, "attention_bias", false);
    const bool mlp = !mistral && rt_reading_flag(r, "mlp_bias", false);
    if (attention != mlp)
        rt_reading_refuse(r,
                          "attention_bias = %s and mlp_bias = %s: rotor has biases in all linear "
                          "maps of a model or in none",
                          attention ? "true" : "false", mlp ? "true" : "false");
    return attention ? RT_BIAS_YES : RT_BIAS_NO;
}

/* All layers of a class see as far; what tells them apart is of other classes. */
static void check_layer_types(rt_reading *r, bool window)
{
    const json_t *types = rt_reading_find(r, "layer_types");
    const char *wanted = window ? "sliding_attention" : "full_attention";
    char quoted[RT_QUOTE_SIZE];
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type || strcmp(type, wanted))
            rt_reading_refuse(r, "layer_types must all be %s; got %s", wanted,
                              rt_quote(quoted, type ? type : "something else"));
    }
    if (window && !rt_reading_flag(r, "use_sliding_window", true))
        rt_reading_refuse(r, "use_sliding_window = false, but sliding_window gives a window");
}

static int read_window(rt_reading *r, bool mistral)
{
    const bool given = json_object_get(r->json, "sliding_window") != NULL;
    const int window = rt_reading_size(r, "sliding_window", 4096);
    const bool has_window = mistral && (!given || rt_reading_find(r, "sliding_window"));
    if (!mistral && rt_reading_find(r, "sliding_window"))
        rt_reading_refuse(r, "sliding_window: a window is for model_type mistral");
    check_layer_types(r, has_window);
    return has_window ? window : 0;
}

static void check_head_dim(rt_reading *r, const rt_transformer_options *o)
{
    const int size = o->dim / o->heads, head_dim = rt_reading_size(r, "head_dim", size);
    if (head_dim != size && o->dim % o->heads == 0)
        rt_reading_refuse(r,
                          "head_dim = %d: heads of rotor have hidden_size / num_attention_heads = "
                          "%d features",
                          head_dim, size);
    if (o->heads % o->kv_heads)
        rt_reading_refuse(r, "num_key_value_heads = %d does not divide num_attention_heads = %d",
                          o->kv_heads, o->heads);
}

/* Old files have -1 for none. */
static int read_padding(rt_reading *r, int vocab)
{
    const int id = rt_reading_whole(r, "pad_token_id", -1, -1, vocab - 1);
    return id < 0 ? RT_NO_PADDING : id;
}

static rt_transformer_options read_options(rt_reading *r, bool mistral)
{
    const int dim = rt_reading_size(r, "hidden_size", 4096);
    const int heads = rt_reading_size(r, "num_attention_heads", 32);
    const bool given = json_object_get(r->json, "num_key_value_heads") != NULL;
    const double std = rt_reading_below(r, "initializer_range", RT_INIT_STD, 0, 1e6);
    return (rt_transformer_options){
        .kind = RT_KIND_DECODER,
        .vocab = rt_reading_size(r, "vocab_size", 32000),
        .layers = rt_reading_whole(r, "num_hidden_layers", 32, 1, RT_MOST_HF_LAYERS),
        .dim = dim,
        .heads = heads,
        .kv_heads = rt_reading_size(r, "num_key_value_heads", mistral && !given ? 8 : heads),
        .embedding_dim = dim,
        .ffn_dim = rt_reading_size(r, "intermediate_size", mistral ? 14336 : 11008),
        .norm = RT_NORM_PRE,
        .norm_kind = RT_NORM_RMS,
        .ffn = read_ffn(r),
        .bias = read_bias(r, mistral),
        .norm_eps = rt_reading_eps(r, "rms_norm_eps", 1e-6),
        .init_std = std > 0 ? std : RT_INIT_STD,
        .activation = RT_SILU,
        .attention_dropout = rt_reading_below(r, "attention_dropout", 0, 0, 1),
        .causal = true,
        .window = read_window(r, mistral),
        .tie_embeddings = rt_reading_flag(r, "tie_word_embeddings", false),
        .position = {.pairing = RT_HALF, .fraction = 1, .every = 1},
        .theta = {.scope = RT_THETA_MODEL},
    };
}

/* For most models the number means nothing but a length to begin with. */
enum { MOST_POSITIONS = 1 << 30 };

static void read(rt_reading *r, rt_huggingface *there)
{
    const bool mistral = !strcmp(rt_reading_word(r, "model_type"), "mistral");
    rt_transformer_options *o = &there->options;
    *o = read_options(r, mistral);
    check_head_dim(r, o);
    there->max_positions = rt_reading_whole(r, "max_position_embeddings",
                                            mistral ? 4096 * 32 : 2048, 1, MOST_POSITIONS);
    there->padding_id = read_padding(r, o->vocab);
    o->position.frequencies =
        rt_llama_read_frequencies(r, o->dim / o->heads / 2, there->max_positions);
}

const rt_family rt_family_llama = {
    .name = "Llama",
    .classes = rt_llama_classes,
    .prefix = "model.",
    .names = names,
    .head_prefixes = head_prefixes,
    .layer_tensors = 9,
    .pairing = RT_HALF,
    .is_beside = is_beside,
    .read = read,
    .settle_theta = rt_llama_settle_theta,
    .expressible = rt_llama_expressible,
    .class_of = rt_llama_class_of,
    .put_config = rt_llama_put_config,
    .shared_theta = "`rope_parameters` in config.json has it as factors of longrope, so "
                    "transformers rotates by it, to the precision of a float, without any code.",
    .mean_theta = "transformers has one theta for all: `rope_parameters` in config.json is made of "
                  "the mean, and is not what the model was trained with.",
    .own_theta = rt_llama_own_theta,
};
