#include "io/gguf/private.h"

#include "io/huggingface/folder.h"

#include <math.h>
#include <stddef.h>

/* Returns the key by which theta differs from base^(-2i/D); NULL if it does not. */
static const char *key_of_factors(const rt_transformer_options *o)
{
    const rt_frequency_options *f = &o->position.frequencies;
    return o->theta.learn                          ? "theta.learn"
           : o->position.fraction < 1              ? "position.fraction"
           : f->scaling != RT_SCALING_NONE         ? "position.scaling"
           : f->family != RT_FREQUENCIES_GEOMETRIC ? "position.frequencies"
                                                   : NULL;
}

static bool has_factors(const rt_transformer_options *o)
{
    return key_of_factors(o) != NULL;
}

/* Fills in base^(-2i/D) / theta; of a theta of almost 0 it is 1e30. */
static void fill_factors(const void *context, size_t first, size_t count, float *values)
{
    const rt_folder_theta *theta = context;
    const double nothing = 1e30;
    for (size_t n = 0; n < count; n++) {
        const size_t i = first + n;
        const double geometric = pow(theta->base, -(double)i / theta->pairs);
        const bool rotates = fabs(theta->mean[i]) * nothing > geometric;
        values[n] = (float)(rotates ? geometric / theta->mean[i] : nothing);
    }
}

/* Tensors of the architectures like Llama. The options leave "llama" without norms of queries and
 * keys, and "qwen3" without factors. */
#define LAYER "blk.N."
static const rt_tensor_row tensors[] = {
    {"token_embd.weight", .here = {RT_TOKENS_NAME}},
    {RT_GGUF_FACTORS, .when = has_factors, .spare = true, .extra = {RT_AXIS_PAIRS},
     .fill = fill_factors},
    {RT_GGUF_LONG, .when = has_factors, .spare = true},
    {RT_GGUF_SHORT, .when = has_factors, .spare = true},
    {LAYER "attn_q", .here = {"layers.N.attention.query"}},
    {LAYER "attn_k", .here = {"layers.N.attention.key"}},
    {LAYER "attn_v", .here = {"layers.N.attention.value"}},
    {LAYER "attn_q_norm", .here = {"layers.N.attention.query_norm"}},
    {LAYER "attn_k_norm", .here = {"layers.N.attention.key_norm"}},
    {LAYER "attn_output", .here = {"layers.N.attention.output"}},
    {LAYER "attn_norm", .here = {"layers.N.attention_norm"}},
    {LAYER "ffn_gate", .here = {"layers.N.ffn.gate"}},
    {LAYER "ffn_up", .here = {"layers.N.ffn.up"}},
    {LAYER "ffn_down", .here = {"layers.N.ffn.down"}},
    {LAYER "ffn_norm", .here = {"layers.N.ffn_norm"}},
    {"output_norm", .here = {"norm"}},
    {"output.weight", .here = {RT_OUTPUT_NAME}, .spare = true},
    {0},
};

static const rt_tensor_row neox_tensors[] = {
    {"token_embd.weight", .here = {RT_TOKENS_NAME}},
    {LAYER "attn_norm", .here = {"layers.N.attention_norm"}},
    {LAYER "attn_qkv",
     .here = {"layers.N.attention.query", "layers.N.attention.key", "layers.N.attention.value"}},
    {LAYER "attn_output", .here = {"layers.N.attention.output"}},
    {LAYER "ffn_norm", .here = {"layers.N.ffn_norm"}},
    {LAYER "ffn_up", .here = {"layers.N.ffn.up"}},
    {LAYER "ffn_down", .here = {"layers.N.ffn.down"}},
    {"output_norm", .here = {"norm"}},
    {"output.weight", .here = {RT_OUTPUT_NAME}, .spare = true},
    {0},
};
#undef LAYER

/* ---- keys, without the name of the architecture ---- */

static void read_vocab_size(rt_reading *r, rt_huggingface *there)
{
    const rt_safetensor *tokens = rt_huggingface_tensor(there, "token_embd.weight");
    there->options.vocab = tokens && tokens->shape[0] <= RT_MOST_SIZE ? (int)tokens->shape[0] : 0;
    if (!there->options.vocab || tokens->axes != 2)
        rt_reading_refuse(r, ": there is no matrix token_embd.weight with the tokens");
}

static void put_context(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    const int length = w->export->length ? w->export->length : w->export->positions;
    rt_json_put(&w->object, ".context_length",
                json_integer(o->window && o->window < length ? o->window : length));
}

static void read_value_length(rt_reading *r, rt_huggingface *there)
{
    const int size = there->options.heads ? rt_transformer_head_dim(&there->options) : 2;
    if (size < 2 || size % 2)
        rt_reading_refuse(r, ": heads of %d features have no pairs to rotate", size);
    if (rt_reading_size(r, ".attention.value_length", size) != size)
        rt_reading_refuse(r, ".attention.value_length must be %d, as for keys", size);
}

/* Reads the factors of theta in a tensor; NULL: ones. */
static rt_factors read_factors(rt_reading *r, const rt_huggingface *there, const char *name,
                               int pairs)
{
    double values[RT_MOST_FACTORS];
    const rt_safetensor *t = name ? rt_huggingface_tensor(there, name) : NULL;
    rt_factors all = {pairs, NULL};
    bool good = pairs <= RT_MOST_FACTORS && (!name || (t && t->count == (uint64_t)pairs));
    if (good && t && !r->status.code)
        r->status = rt_safetensors_doubles(t, 0, (size_t)pairs, values);
    for (int i = 0; i < pairs && good && !r->status.code; i++) {
        values[i] = t ? values[i] : 1;
        good = values[i] > 0 && isfinite(values[i]);
    }
    if (!good)
        rt_reading_refuse(r, ": %s must have a number above 0 for each of the %d pairs, at most %d",
                          name ? name : "theta", pairs, RT_MOST_FACTORS);
    if (!r->status.code)
        all.at = rt_intern(values, (size_t)pairs * sizeof *values);
    if (!r->status.code && !all.at)
        r->status = rt_out_of_memory("factors of theta");
    return all;
}

/* Reads theta. A divisor for each pair is a longrope with the same divisors at all lengths. Without
 * a type, llama.cpp scales by the factor. */
static void read_rope(rt_reading *r, rt_huggingface *there)
{
    static const char *const types[] = {"none", "linear", "yarn", "longrope", NULL};
    enum { NONE, LINEAR, YARN, LONGROPE };
    const char *scaling = ".rope.scaling.type", *word = rt_reading_word(r, scaling);
    rt_frequency_options *f = &there->options.position.frequencies;
    const int size = there->options.heads ? rt_transformer_head_dim(&there->options) : 2;
    const int rotated = rt_reading_whole(r, ".rope.dimension_count", size, 2, size);
    const int type = *word ? rt_word_index(types, word) : LINEAR;
    const double scale = rt_reading_above_0(r, ".rope.scaling.factor",
                                            rt_reading_above_0(r, ".rope.scale_linear", 1));
    const double magnitude = rt_reading_above_0(r, ".rope.scaling.attn_factor", 1);
    const int length =
        rt_reading_size(r, ".rope.scaling.original_context_length",
                        there->max_positions < RT_MOST_SIZE ? there->max_positions : RT_MOST_SIZE);
    const bool linear = type == LINEAR && scale != 1;
    const bool table = rt_huggingface_tensor(there, RT_GGUF_FACTORS) != NULL;
    there->options.position.fraction = (double)rotated / size;
    f->base = rt_reading_above_0(r, ".rope.freq_base", f->base);
    if (rotated % 2 || (rotated < size && !there->files->family->pairs_rotated))
        rt_reading_refuse(r, ".rope.dimension_count = %d of heads of %d is not read", rotated,
                          size);
    if (!(f->base > 1))
        rt_reading_refuse(r, ".rope.freq_base must be above 1; got %g", f->base);
    if (type < 0)
        rt_reading_refuse(r, "%s must be none, linear, yarn or longrope; got %s", scaling,
                          RT_QUOTED(word));
    if ((linear && (table || magnitude != 1)) || (type == YARN && table) ||
        (type == LONGROPE && scale != 1))
        rt_reading_refuse(r, "%s = %s is not read with %s", scaling, types[type],
                          type == LONGROPE ? "a factor"
                          : table          ? RT_GGUF_FACTORS
                                           : "attn_factor");
    if (!(scale >= 1) && (linear || type == YARN))
        rt_reading_refuse(r, ".rope.scaling.factor must be at least 1; got %g", scale);
    if (linear || type == YARN) {
        f->scaling = linear ? RT_SCALING_LINEAR : RT_SCALING_YARN;
        f->scale = scale;
    } else if (type == LONGROPE || table || magnitude != 1) {
        const char *name = type == LONGROPE ? RT_GGUF_SHORT : table ? RT_GGUF_FACTORS : NULL;
        f->scaling = RT_SCALING_LONGROPE;
        f->short_factors = read_factors(r, there, name, rotated / 2);
        f->long_factors =
            type == LONGROPE ? read_factors(r, there, RT_GGUF_LONG, rotated / 2) : f->short_factors;
        f->attention_factor = magnitude;
    }
    if (type == YARN) {
        f->attention_factor = magnitude * (0.1 * log(scale) + 1);
        f->beta_fast = rt_reading_above_0(r, ".rope.scaling.yarn_beta_fast", f->beta_fast);
        f->beta_slow = rt_reading_above_0(r, ".rope.scaling.yarn_beta_slow", f->beta_slow);
    }
    if (f->scaling > RT_SCALING_LINEAR)
        f->original_len = length;
}

static void put_rope(rt_config_writing *w)
{
    const double magnitude = rt_frequencies_magnitude(&w->options->position.frequencies);
    rt_json_put(&w->object, ".rope.dimension_count", json_integer(w->options->head_dim));
    rt_json_put(&w->object, ".rope.freq_base", json_real(w->options->position.frequencies.base));
    if (magnitude != 1) {
        rt_json_put(&w->object, ".rope.scaling.type", json_string("none"));
        rt_json_put(&w->object, ".rope.scaling.attn_factor", json_real(magnitude));
    }
}

#define SIZES                                                                                      \
    {".context_length", RT_POSITIONS(RT_MOST_POSITIONS), .needed = true, .put = put_context},      \
        {".embedding_length", RT_SIZE(dim), .needed = true},                                       \
        {".block_count", RT_LAYERS, .needed = true},                                               \
        {".feed_forward_length", RT_SIZE(ffn_dim), .needed = true},                                \
        {".attention.head_count", RT_SIZE(heads), .needed = true},                                 \
        {".attention.head_count_kv", RT_SIZE(kv_heads), .same_as = RT_MEMBER_OF(int, heads)},      \
        {".attention.key_length", RT_SIZE(head_dim)},                                              \
        RT_ROW(".attention.value_length", RT_SIZE(head_dim), .read = read_value_length)
#define REST                                                                                       \
    {".vocab_size", RT_SIZE(vocab), .read = read_vocab_size},                                      \
        {".rope.freq_base", .read = read_rope, .put = put_rope,                                    \
         .also = RT_KEYS(".rope.dimension_count", ".rope.scale_linear", ".rope.scaling.type",      \
                         ".rope.scaling.factor", ".rope.scaling.attn_factor",                      \
                         ".rope.scaling.original_context_length", ".rope.scaling.yarn_beta_fast",  \
                         ".rope.scaling.yarn_beta_slow")},                                         \
        RT_ROW(0)

static const rt_config_row llama_keys[] = {
    SIZES,
    {".attention.layer_norm_rms_epsilon", RT_EPS(norm_eps), .needed = true},
    REST,
};

static const rt_config_row neox_keys[] = {
    SIZES,
    {".attention.layer_norm_epsilon", RT_EPS(norm_eps), .needed = true},
    {".use_parallel_residual", RT_SWITCH(residual, RT_RESIDUAL_SERIAL, RT_RESIDUAL_PARALLEL),
     .initial = true},
    REST,
};

static const char *const unused[] = {".tensor_data_layout", ".rope.scaling.finetuned", NULL};

/* ---- families ---- */

#define OPTIONS                                                                                    \
    RT_LLAMA_OPTIONS, {"model.head", RT_IS, "lm", "a head for the next token"},                    \
        {"model.ffn", RT_IS, "swiglu", "a gate of silu"},                                          \
        RT_ROW("model.window", RT_ANY_VALUE, NULL, NULL)

static const rt_option_row llama_options[] = {OPTIONS, {0}};

static const rt_option_row qwen2_options[] = {
    OPTIONS,
    {"model.bias", RT_IS, "qkv", "biases of queries, keys and values"},
    {0},
};

static const rt_option_row qwen3_options[] = {
    OPTIONS,
    {"model.qk_norm", RT_IS, "yes", "norms of queries and keys"},
    {"model.bias", RT_IS, "none", "no biases"},
    {"theta.head_scale", RT_IS, "no", "norms that undo factors of heads"},
    {0},
};

static const rt_option_row neox_options[] = {
    RT_DECODER_OPTIONS,
    {"model.norm_kind", RT_IS, "layer", "LayerNorm"},
    {"model.ffn", RT_IS, "plain", "no gates"},
    {"model.activation", RT_IS, "gelu", "gelu"},
    {0},
};

static rt_status check_llama(const rt_family *family, const rt_transformer_options *o)
{
    const rt_frequency_options *f = &o->position.frequencies;
    if (o->theta.learn && o->theta.scope != RT_THETA_MODEL)
        return rt_cannot_export(family, "theta.scope", o, "one theta for all layers and heads");
    if (f->scaling == RT_SCALING_DYNAMIC ||
        (f->scaling == RT_SCALING_LONGROPE && f->short_factors.at != f->long_factors.at))
        return rt_cannot_export(family, "position.scaling", o,
                                "a theta that does not change with the length of a text");
    return rt_ok();
}

/* Checks that theta is base^(-2i/D), because llama.cpp reads no rope_freqs for a Qwen. */
static rt_status check_qwen(const rt_family *family, const rt_transformer_options *o)
{
    const char *key = key_of_factors(o);
    return key ? rt_cannot_export(family, key, o, "a theta of base^(-2i/D)") : rt_ok();
}

#define FAMILY(family_name, architecture, tensor_rows, keys, order)                                \
    .library = "llama.cpp", .name = family_name, .type = architecture,                             \
    .classes = (const rt_family_class[]){{architecture, RT_HEAD_LM, true, NULL}, {0}},             \
    .prefix = "", .tensors = tensor_rows, .config = keys, .unused = unused, .layer_tensors = 9,    \
    .head_prefixes = RT_KEYS("output."), .pairing = order

static const rt_family llama = {
    FAMILY("Llama", "llama", tensors, llama_keys, RT_INTERLEAVED),
    .options = llama_options,
    .check = check_llama,
};

static const rt_family qwen3 = {
    FAMILY("Qwen3", "qwen3", tensors, llama_keys, RT_HALF),
    .options = qwen3_options,
    .check = check_qwen,
};

static const rt_family qwen2 = {
    FAMILY("Qwen2", "qwen2", tensors, llama_keys, RT_HALF),
    .options = qwen2_options,
    .check = check_qwen,
};

static const rt_family gpt_neox = {
    /* which is only read */
    FAMILY("GPT-NeoX", "gptneox", neox_tensors, neox_keys, RT_HALF),
    .pairs_rotated = true,
    .options = neox_options,
};

const rt_family *const rt_gguf_written[] = {&qwen2, &llama, &qwen3, NULL};
const rt_family *const rt_gguf_read[] = {&llama, &qwen2, &qwen3, &gpt_neox, NULL};

const rt_gguf_pattern rt_gguf_patterns[] = {
    {"gpt-2", false, 1, {RT_PRETOKENIZER_GPT2}},
    {"smollm", false, 2, {RT_PRETOKENIZER_DIGIT, RT_PRETOKENIZER_GPT2}},
    {"llama-bpe", true, 1, {RT_PRETOKENIZER_LLAMA3}},
    {"smaug-bpe", false, 1, {RT_PRETOKENIZER_LLAMA3}},
    {"qwen2", false, 1, {RT_PRETOKENIZER_QWEN2}},
    /* further names of the same patterns */
    {"phi-2", false, 1, {RT_PRETOKENIZER_GPT2}},
    {"mpt", false, 1, {RT_PRETOKENIZER_GPT2}},
    {"olmo", false, 1, {RT_PRETOKENIZER_GPT2}},
    {"llama3", true, 1, {RT_PRETOKENIZER_LLAMA3}},
    {"llama-v3", true, 1, {RT_PRETOKENIZER_LLAMA3}},
    {"dbrx", false, 1, {RT_PRETOKENIZER_LLAMA3}},
    {"stablelm2", false, 1, {RT_PRETOKENIZER_QWEN2}},
    {"deepseek-r1-qwen", false, 1, {RT_PRETOKENIZER_QWEN2}},
    {0},
};
