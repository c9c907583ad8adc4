/* The architecture "llama" of llama.cpp, which Mistral has too. */

#include "io/gguf/private.h"

#include "io/huggingface/llama.h"

#include <math.h>

/* ---- theta ---- */

/* Whether theta is not base^(-2i/D) as it is. */
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

#define LAYER "blk.N."
static const rt_tensor_row tensors[] = {
    {"token_embd.weight", .here = {RT_TOKENS_NAME}},
    {"rope_freqs.weight", .make = make_factors, .when = has_factors},
    {LAYER "attn_q", .here = {"layers.N.attention.query"}},
    {LAYER "attn_k", .here = {"layers.N.attention.key"}},
    {LAYER "attn_v", .here = {"layers.N.attention.value"}},
    {LAYER "attn_output", .here = {"layers.N.attention.output"}},
    {LAYER "attn_norm", .here = {"layers.N.attention_norm"}},
    {LAYER "ffn_gate", .here = {"layers.N.ffn.gate"}},
    {LAYER "ffn_up", .here = {"layers.N.ffn.up"}},
    {LAYER "ffn_down", .here = {"layers.N.ffn.down"}},
    {LAYER "ffn_norm", .here = {"layers.N.ffn_norm"}},
    {"output_norm", .here = {"norm"}},
    {"output.weight", .here = {RT_OUTPUT_NAME}},
    {0},
};
#undef LAYER

static const rt_option_row options[] = {
    {"model.head", RT_IS, "lm", "a head for the next token"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    RT_POSITIONS_EVERYWHERE,
    {"model.ffn", RT_IS, "swiglu", "a gate of silu"},
    {0},
};

static const rt_config_row no_keys[] = {{0}};

static rt_status check(const rt_family *family, const rt_transformer_options *o)
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

/* The only one. */
static const rt_family_class classes[] = {{"llama", RT_HEAD_LM, true, NULL}, {0}};

static const rt_family llama = {
    .name = "Llama",
    .library = "llama.cpp",
    .type = "llama",
    .classes = classes,
    .prefix = "",
    .tensors = tensors,
    .pairing = RT_INTERLEAVED,
    .alike = rt_llama_options,
    .options = options,
    .config = no_keys,
    .check = check,
};

const rt_family *const rt_gguf_families[] = {&llama, NULL};

/* ---- the keys ---- */

static int context_of(const rt_transformer_options *o, const rt_huggingface_export *export)
{
    const int positions = export->length;
    return o->window && o->window < positions ? o->window : positions;
}

static void put_rope(rt_gguf_keys *k, const rt_transformer_options *o)
{
    const double magnitude = rt_frequencies_magnitude(&o->position.frequencies);
    rt_gguf_put_whole(k, "llama.rope.dimension_count", (uint32_t)o->head_dim);
    rt_gguf_put_float(k, "llama.rope.freq_base", o->position.frequencies.base);
    if (magnitude == 1)
        return;
    rt_gguf_put_text(k, "llama.rope.scaling.type", "none");
    rt_gguf_put_float(k, "llama.rope.scaling.attn_factor", magnitude);
}

void rt_gguf_put_model(rt_gguf_keys *k, const rt_transformer *model,
                       const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const rt_transformer_options *o = &model->options;
    rt_gguf_put_text(k, "general.architecture", llama.type);
    rt_gguf_put_text(k, "general.type", "model");
    if (export->title)
        rt_gguf_put_text(k, "general.name", export->title);
    rt_gguf_put_whole(k, "general.file_type", dtype); /* the same numbers there */
    rt_gguf_put_whole(k, "llama.context_length", (uint32_t)context_of(o, export));
    rt_gguf_put_whole(k, "llama.embedding_length", (uint32_t)o->dim);
    rt_gguf_put_whole(k, "llama.block_count", (uint32_t)o->layers);
    rt_gguf_put_whole(k, "llama.feed_forward_length", (uint32_t)o->ffn_dim);
    rt_gguf_put_whole(k, "llama.attention.head_count", (uint32_t)o->heads);
    rt_gguf_put_whole(k, "llama.attention.head_count_kv", (uint32_t)o->kv_heads);
    rt_gguf_put_whole(k, "llama.attention.key_length", (uint32_t)o->head_dim);
    rt_gguf_put_whole(k, "llama.attention.value_length", (uint32_t)o->head_dim);
    rt_gguf_put_float(k, "llama.attention.layer_norm_rms_epsilon", o->norm_eps);
    rt_gguf_put_whole(k, "llama.vocab_size", (uint32_t)o->vocab);
    put_rope(k, o);
}
