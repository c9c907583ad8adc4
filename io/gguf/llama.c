/* The architectures of llama.cpp that rotor writes: "llama", which Mistral has too, and "qwen3". */

#include "io/gguf/private.h"

#include "io/huggingface/llama.h"
#include "text/number.h"

#include <math.h>
#include <stdio.h>

/* ---- theta ---- */

/* Returns whether theta differs from base^(-2i/D). */
static bool has_factors(const rt_transformer_options *o)
{
    const rt_frequency_options *f = &o->position.frequencies;
    return o->theta.learn || o->position.fraction < 1 || f->scaling != RT_SCALING_NONE ||
           f->family != RT_FREQUENCIES_GEOMETRIC;
}

/* base^(-2i/D) / theta. A theta of 0 is taken for one that turns by nothing a float can hold. */
static void fill_factors(const void *context, size_t first, size_t count, float *values)
{
    const rt_export_theta *theta = context;
    const double nothing = 1e30;
    for (size_t n = 0; n < count; n++) {
        const size_t i = first + n;
        const double geometric = pow(theta->base, -(double)i / theta->pairs);
        const bool turns = fabs(theta->mean[i]) * nothing > geometric;
        values[n] = (float)(turns ? geometric / theta->mean[i] : nothing);
    }
}

static void make_factors(rt_safetensors_entry *e, const rt_beside *from)
{
    e->axes = 1;
    e->shape[0] = from->theta->pairs;
    e->fill = fill_factors;
    e->context = from->theta;
}

/* ---- the tables ---- */

#define WORDS                                                                                      \
    {                                                                                              \
        "token_embd.weight", .here = { RT_TOKENS_NAME }                                            \
    }
#define LAYER "blk.N."
#define OF_LAYERS                                                                                  \
    {LAYER "attn_q", .here = {"layers.N.attention.query"}},                                        \
        {LAYER "attn_k", .here = {"layers.N.attention.key"}},                                      \
        {LAYER "attn_v", .here = {"layers.N.attention.value"}},                                    \
        {LAYER "attn_output", .here = {"layers.N.attention.output"}},                              \
        {LAYER "attn_norm", .here = {"layers.N.attention_norm"}},                                  \
        {LAYER "ffn_gate", .here = {"layers.N.ffn.gate"}},                                         \
        {LAYER "ffn_up", .here = {"layers.N.ffn.up"}},                                             \
        {LAYER "ffn_down", .here = {"layers.N.ffn.down"}},                                         \
        {LAYER "ffn_norm", .here = {"layers.N.ffn_norm"}}, {"output_norm", .here = {"norm"}},      \
    {                                                                                              \
        "output.weight", .here = { RT_OUTPUT_NAME }                                                \
    }

static const rt_tensor_row llama_tensors[] = {
    WORDS,
    {"rope_freqs.weight", .make = make_factors, .when = has_factors},
    OF_LAYERS,
    {0},
};

static const rt_tensor_row qwen3_tensors[] = {
    WORDS,
    {LAYER "attn_q_norm", .here = {"layers.N.attention.query_norm"}},
    {LAYER "attn_k_norm", .here = {"layers.N.attention.key_norm"}},
    OF_LAYERS,
    {0},
};
#undef LAYER

#define OPTIONS                                                                                    \
    {"model.head", RT_IS, "lm", "a head for the next token"},                                      \
        {"model.ffn", RT_IS, "swiglu", "a gate of silu"}, RT_POSITIONS_EVERYWHERE

static const rt_option_row llama_options[] = {
    OPTIONS,
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    {0},
};

static const rt_option_row qwen3_options[] = {
    OPTIONS,
    {"model.qk_norm", RT_IS, "yes", "norms of queries and keys"},
    {"model.bias", RT_IS, "none", "no biases"},
    {"theta.head_scale", RT_IS, "no", "norms that undo factors of heads"},
    {0},
};

static const rt_config_row no_keys[] = {{0}};

static rt_status check_llama(const rt_family *family, const rt_transformer_options *o)
{
    static const char *const scopes[] = {RT_THETA_SCOPES(RT_CHOICE_WORD)};
    static const char *const scalings[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    const rt_scaling scaling = o->position.frequencies.scaling;
    if (o->theta.learn && o->theta.scope != RT_THETA_MODEL)
        return rt_cannot_export(family, "theta.scope", scopes[o->theta.scope],
                                "one theta for all layers and heads");
    if (scaling == RT_SCALING_DYNAMIC || scaling == RT_SCALING_LONGROPE)
        return rt_cannot_export(family, "position.scaling", scalings[scaling],
                                "a theta that does not change with the length of a text");
    return rt_ok();
}

/* Its program rotates by base^(-2i/D) and reads no rope_freqs. */
static rt_status check_qwen3(const rt_family *family, const rt_transformer_options *o)
{
    static const char *const families[] = {RT_FREQUENCIES(RT_CHOICE_WORD)};
    static const char *const scalings[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    static const char wish[] = "a theta of base^(-2i/D)";
    const rt_frequency_options *f = &o->position.frequencies;
    char fraction[RT_NUMBER_SIZE];
    if (o->theta.learn)
        return rt_cannot_export(family, "theta.learn", "yes", wish);
    if (o->position.fraction < 1)
        return rt_cannot_export(family, "position.fraction",
                                rt_number_write(fraction, o->position.fraction), wish);
    if (f->scaling != RT_SCALING_NONE)
        return rt_cannot_export(family, "position.scaling", scalings[f->scaling], wish);
    if (f->family != RT_FREQUENCIES_GEOMETRIC)
        return rt_cannot_export(family, "position.frequencies", families[f->family], wish);
    return rt_ok();
}

static const rt_family_class llama_classes[] = {{"llama", RT_HEAD_LM, true, NULL}, {0}};
static const rt_family_class qwen3_classes[] = {{"qwen3", RT_HEAD_LM, true, NULL}, {0}};

#define OF_LLAMA_CPP                                                                               \
    .library = "llama.cpp", .prefix = "", .alike = rt_llama_options, .config = no_keys

static const rt_family llama = {
    OF_LLAMA_CPP,
    .name = "Llama",
    .type = "llama",
    .classes = llama_classes,
    .tensors = llama_tensors,
    .pairing = RT_INTERLEAVED,
    .options = llama_options,
    .check = check_llama,
};

static const rt_family qwen3 = {
    OF_LLAMA_CPP,
    .name = "Qwen3",
    .type = "qwen3",
    .classes = qwen3_classes,
    .tensors = qwen3_tensors,
    .pairing = RT_HALF,
    .options = qwen3_options,
    .check = check_qwen3,
};

const rt_family *const rt_gguf_families[] = {&llama, &qwen3, NULL};

/* ---- the keys ---- */

static int context_of(const rt_transformer_options *o, const rt_huggingface_export *export)
{
    const int positions = export->length;
    return o->window && o->window < positions ? o->window : positions;
}

/* Writes "ARCHITECTURE.name", in the room of a key. */
static const char *key_of(const rt_family *family, const char *name, char key[RT_GGUF_KEY_SIZE])
{
    snprintf(key, RT_GGUF_KEY_SIZE, "%s.%s", family->type, name);
    return key;
}

static void put_rope(rt_gguf_keys *k, const rt_family *family, const rt_transformer_options *o)
{
    const double magnitude = rt_frequencies_magnitude(&o->position.frequencies);
    char key[RT_GGUF_KEY_SIZE];
    rt_gguf_put_whole(k, key_of(family, "rope.dimension_count", key), (uint32_t)o->head_dim);
    rt_gguf_put_float(k, key_of(family, "rope.freq_base", key), o->position.frequencies.base);
    if (magnitude == 1)
        return;
    rt_gguf_put_text(k, key_of(family, "rope.scaling.type", key), "none");
    rt_gguf_put_float(k, key_of(family, "rope.scaling.attn_factor", key), magnitude);
}

void rt_gguf_put_model(rt_gguf_keys *k, const rt_family *family, const rt_transformer *model,
                       const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const rt_transformer_options *o = &model->options;
    const struct {
        const char *name;
        int value;
    } sizes[] = {
        {"context_length", context_of(o, export)},
        {"embedding_length", o->dim},
        {"block_count", o->layers},
        {"feed_forward_length", o->ffn_dim},
        {"attention.head_count", o->heads},
        {"attention.head_count_kv", o->kv_heads},
        {"attention.key_length", o->head_dim},
        {"attention.value_length", o->head_dim},
    };
    char key[RT_GGUF_KEY_SIZE];
    rt_gguf_put_text(k, "general.architecture", family->type);
    rt_gguf_put_text(k, "general.type", "model");
    if (export->title)
        rt_gguf_put_text(k, "general.name", export->title);
    rt_gguf_put_whole(k, "general.file_type", dtype); /* the same numbers there */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        rt_gguf_put_whole(k, key_of(family, sizes[i].name, key), (uint32_t)sizes[i].value);
    rt_gguf_put_float(k, key_of(family, "attention.layer_norm_rms_epsilon", key), o->norm_eps);
    rt_gguf_put_whole(k, key_of(family, "vocab_size", key), (uint32_t)o->vocab);
    put_rope(k, family, o);
}
