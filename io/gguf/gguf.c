/* Files of llama.cpp: the architectures "llama", which Mistral has too, and "qwen3", as families,
 * whose folders there are none of; their keys; and the file. */

#include "io/gguf/private.h"

#include "io/huggingface/private.h"
#include "text/durable_file.h"
#include "text/writer.h"

#include <math.h>
#include <string.h>

enum { VERSION = 3, ALIGNMENT = 32 };

bool rt_is_gguf(const char *path)
{
    return rt_path_ends_in(path, ".gguf");
}

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
    const rt_scaling scaling = o->position.frequencies.scaling;
    if (o->theta.learn && o->theta.scope != RT_THETA_MODEL)
        return rt_cannot_export(family, "theta.scope", o, "one theta for all layers and heads");
    if (scaling == RT_SCALING_DYNAMIC || scaling == RT_SCALING_LONGROPE)
        return rt_cannot_export(family, "position.scaling", o,
                                "a theta that does not change with the length of a text");
    return rt_ok();
}

/* Its program rotates by base^(-2i/D) and reads no rope_freqs. */
static rt_status check_qwen3(const rt_family *family, const rt_transformer_options *o)
{
    const rt_frequency_options *f = &o->position.frequencies;
    const char *key = o->theta.learn                          ? "theta.learn"
                      : o->position.fraction < 1              ? "position.fraction"
                      : f->scaling != RT_SCALING_NONE         ? "position.scaling"
                      : f->family != RT_FREQUENCIES_GEOMETRIC ? "position.frequencies"
                                                              : NULL;
    if (key)
        return rt_cannot_export(family, key, o, "a theta of base^(-2i/D)");
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

static const rt_family *const families[] = {&llama, &qwen3, NULL};

/* ---- the keys ---- */

void rt_gguf_number(FILE *to, uint64_t number, size_t size)
{
    unsigned char bytes[8];
    rt_put_little_endian(bytes, number, size);
    fwrite(bytes, 1, size, to);
}

void rt_gguf_string(FILE *to, const char *text, size_t size)
{
    rt_gguf_number(to, size, 8);
    fwrite(text, 1, size, to);
}

/* Types of values, as the format numbers them, beside those of lists. */
enum { WHOLE = 4, FLOAT = 6, FLAG = 7, TEXT = 8, LIST = 9 };

static FILE *put(rt_gguf_keys *k, const char *key, int type)
{
    rt_gguf_string(k->to, key, strlen(key));
    rt_gguf_number(k->to, (uint64_t)type, 4);
    k->count++;
    return k->to;
}

void rt_gguf_put_whole(rt_gguf_keys *k, const char *key, uint32_t value)
{
    rt_gguf_number(put(k, key, WHOLE), value, 4);
}

static void put_float(rt_gguf_keys *k, const char *key, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    rt_gguf_number(put(k, key, FLOAT), bits, 4);
}

void rt_gguf_put_flag(rt_gguf_keys *k, const char *key, bool value)
{
    rt_gguf_number(put(k, key, FLAG), value, 1);
}

void rt_gguf_put_text(rt_gguf_keys *k, const char *key, const char *text)
{
    rt_gguf_string(put(k, key, TEXT), text, strlen(text));
}

void rt_gguf_put_list(rt_gguf_keys *k, const char *key, rt_gguf_type type, size_t count)
{
    rt_gguf_number(put(k, key, LIST), type, 4);
    rt_gguf_number(k->to, count, 8);
}

enum { KEY_SIZE = 64 }; /* bytes of the name of a key, with its final zero */

/* Writes "ARCHITECTURE.name", in the room of a key. */
static const char *key_of(const rt_family *family, const char *name, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "%s.%s", family->type, name);
    return key;
}

static void put_rope(rt_gguf_keys *k, const rt_family *family, const rt_transformer_options *o)
{
    const double magnitude = rt_frequencies_magnitude(&o->position.frequencies);
    char key[KEY_SIZE];
    rt_gguf_put_whole(k, key_of(family, "rope.dimension_count", key), (uint32_t)o->head_dim);
    put_float(k, key_of(family, "rope.freq_base", key), o->position.frequencies.base);
    if (magnitude == 1)
        return;
    rt_gguf_put_text(k, key_of(family, "rope.scaling.type", key), "none");
    put_float(k, key_of(family, "rope.scaling.attn_factor", key), magnitude);
}

static void put_model(rt_gguf_keys *k, const rt_family *family, const rt_transformer *model,
                      const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const rt_transformer_options *o = &model->options;
    const int context = o->window && o->window < export->length ? o->window : export->length;
    const struct {
        const char *name;
        int value;
    } sizes[] = {
        {"context_length", context},
        {"embedding_length", o->dim},
        {"block_count", o->layers},
        {"feed_forward_length", o->ffn_dim},
        {"attention.head_count", o->heads},
        {"attention.head_count_kv", o->kv_heads},
        {"attention.key_length", o->head_dim},
        {"attention.value_length", o->head_dim},
    };
    char key[KEY_SIZE];
    rt_gguf_put_text(k, "general.architecture", family->type);
    rt_gguf_put_text(k, "general.type", "model");
    if (export->title)
        rt_gguf_put_text(k, "general.name", export->title);
    rt_gguf_put_whole(k, "general.file_type", dtype); /* the same numbers there */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        rt_gguf_put_whole(k, key_of(family, sizes[i].name, key), (uint32_t)sizes[i].value);
    put_float(k, key_of(family, "attention.layer_norm_rms_epsilon", key), o->norm_eps);
    rt_gguf_put_whole(k, key_of(family, "vocab_size", key), (uint32_t)o->vocab);
    put_rope(k, family, o);
}

/* ---- the file ---- */

/* Vectors are F32 always. */
static rt_gguf_dtype dtype_of(const rt_safetensors_entry *e, rt_gguf_dtype dtype)
{
    return e->axes > 1 ? dtype : RT_GGUF_F32;
}

static size_t size_of(const rt_safetensors_entry *e, rt_gguf_dtype dtype)
{
    return rt_entry_count(e) * (dtype_of(e, dtype) == RT_GGUF_F16 ? 2 : 4);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The axes are there from the last to the first. */
static void put_tensors(FILE *to, const rt_tensor_list *list, rt_gguf_dtype dtype)
{
    uint64_t begin = 0;
    for (int n = 0; n < list->count; n++) {
        const rt_safetensors_entry *e = list->entries + n;
        rt_gguf_string(to, e->name, strlen(e->name));
        rt_gguf_number(to, (uint64_t)e->axes, 4);
        for (int i = e->axes; i--;)
            rt_gguf_number(to, (uint64_t)e->shape[i], 8);
        rt_gguf_number(to, dtype_of(e, dtype), 4);
        rt_gguf_number(to, begin, 8);
        begin += aligned(size_of(e, dtype));
    }
}

static rt_status write_padding(rt_durable_file *file, size_t size)
{
    static const unsigned char zeros[ALIGNMENT];
    return rt_durable_write(file, zeros, aligned(size) - size);
}

static rt_status write_all(rt_durable_file *file, const rt_capture *header, uint64_t keys,
                           const rt_tensor_list *list, rt_gguf_dtype dtype)
{
    unsigned char start[24] = "GGUF";
    rt_put_little_endian(start + 4, VERSION, 4);
    rt_put_little_endian(start + 8, (uint64_t)list->count, 8);
    rt_put_little_endian(start + 16, keys, 8);
    rt_status status = rt_durable_write(file, start, sizeof start);
    if (!status.code)
        status = rt_durable_write(file, header->bytes, header->size);
    if (!status.code)
        status = write_padding(file, sizeof start + header->size);
    for (int n = 0; n < list->count && !status.code; n++) {
        const rt_safetensors_entry *e = list->entries + n;
        const bool halves = dtype_of(e, dtype) == RT_GGUF_F16;
        status = rt_entry_write(file, e, halves, halves ? "f16" : "f32");
        if (!status.code)
            status = write_padding(file, size_of(e, dtype));
    }
    return status;
}

static rt_status write_file(const char *path, const rt_family *family, const rt_transformer *model,
                            const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    rt_durable_file file;
    rt_capture header = {0};
    rt_tensor_list list = {0};
    rt_status status = rt_capture_begin(&header) ? rt_ok() : rt_out_of_memory("a header");
    rt_gguf_keys keys = {.to = header.file};
    if (!status.code) {
        put_model(&keys, family, model, export, dtype);
        status = rt_gguf_put_vocabulary(&keys, model, export);
    }
    if (!status.code)
        status = rt_tensor_list_open(&list, family, model, export->length);
    if (!status.code) {
        put_tensors(keys.to, &list, dtype);
        const bool failed = ferror(keys.to);
        if (!rt_capture_end(&header) || failed)
            status = rt_out_of_memory("a header");
    }
    if (!status.code) {
        status = rt_durable_open(&file, path);
        if (!status.code)
            status = write_all(&file, &header, keys.count, &list, dtype);
        status = rt_durable_close(&file, status);
    }
    rt_tensor_list_close(&list);
    rt_capture_free(&header);
    return status;
}

rt_status rt_gguf_write(const char *path, const rt_transformer *model,
                        const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const rt_family *family;
    rt_status status = rt_family_find(&family, families, &model->options);
    if (!status.code)
        status = rt_output_check(path, export->overwrite, NULL);
    return status.code ? status : write_file(path, family, model, export, dtype);
}
