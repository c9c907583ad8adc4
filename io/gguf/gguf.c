/* Files of llama.cpp: the architectures "llama", which includes Mistral, and "qwen3" as families
 * that are only written; their keys; and the file. */

#include "io/gguf/gguf.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/export.h"
#include "util/durable_file.h"
#include "util/number.h"
#include "util/utf8.h"
#include "util/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 3, ALIGNMENT = 32 };

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

/* Tensors of both architectures. The options leave "llama" without norms of queries and keys, and
 * "qwen3" without factors. */
#define LAYER "blk.N."
static const rt_tensor_row tensors[] = {
    {"token_embd.weight", .here = {RT_TOKENS_NAME}},
    {"rope_freqs.weight", .when = has_factors, .extra = {RT_AXIS_PAIRS}, .fill = fill_factors},
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
    {"output.weight", .here = {RT_OUTPUT_NAME}},
    {0},
};
#undef LAYER

#define OPTIONS                                                                                    \
    RT_LLAMA_OPTIONS, {"model.head", RT_IS, "lm", "a head for the next token"},                    \
        {"model.ffn", RT_IS, "swiglu", "a gate of silu"},                                          \
        RT_ROW("model.window", RT_ANY_VALUE, NULL, NULL)

static const rt_option_row llama_options[] = {OPTIONS, {0}};

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

/* Checks that theta is base^(-2i/D), because llama.cpp reads no rope_freqs for a Qwen3. */
static rt_status check_qwen3(const rt_family *family, const rt_transformer_options *o)
{
    const char *key = key_of_factors(o);
    return key ? rt_cannot_export(family, key, o, "a theta of base^(-2i/D)") : rt_ok();
}

static const rt_family_class llama_classes[] = {{"llama", RT_HEAD_LM, true, NULL}, {0}};
static const rt_family_class qwen3_classes[] = {{"qwen3", RT_HEAD_LM, true, NULL}, {0}};

#define OF_LLAMA_CPP .library = "llama.cpp", .prefix = "", .tensors = tensors, .config = no_keys

static const rt_family llama = {
    OF_LLAMA_CPP,
    .name = "Llama",
    .type = "llama",
    .classes = llama_classes,
    .pairing = RT_INTERLEAVED,
    .options = llama_options,
    .check = check_llama,
};

static const rt_family qwen3 = {
    OF_LLAMA_CPP,       .name = "Qwen3",          .type = "qwen3",      .classes = qwen3_classes,
    .pairing = RT_HALF, .options = qwen3_options, .check = check_qwen3,
};

static const rt_family *const families[] = {&llama, &qwen3, NULL};

/* Keys with their values, and their number. The stream writes to memory and keeps an error. */
typedef struct gguf_keys {
    FILE *to;
    const char *architecture; /* begins keys that are written as ".name" */
    uint64_t count;
} gguf_keys;

static void write_number(FILE *to, uint64_t number, size_t size)
{
    unsigned char bytes[8];
    rt_put_little_endian(bytes, number, size);
    fwrite(bytes, 1, size, to);
}

static void write_string(FILE *to, const char *text, size_t size)
{
    write_number(to, size, 8);
    fwrite(text, 1, size, to);
}

/* Types of values, with the numbers of the format. */
typedef enum gguf_type { WHOLE = 4, SIGNED, FLOAT, FLAG, TEXT, LIST } gguf_type;

static FILE *put(gguf_keys *k, const char *key, gguf_type type)
{
    const char *whole = RT_PRINTED(64, "%s%s", *key == '.' ? k->architecture : "", key);
    write_string(k->to, whole, strlen(whole));
    write_number(k->to, (uint64_t)type, 4);
    k->count++;
    return k->to;
}

static void put_whole(gguf_keys *k, const char *key, uint32_t value)
{
    write_number(put(k, key, WHOLE), value, 4);
}

static void put_float(gguf_keys *k, const char *key, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    write_number(put(k, key, FLOAT), bits, 4);
}

static void put_flag(gguf_keys *k, const char *key, bool value)
{
    write_number(put(k, key, FLAG), value, 1);
}

static void put_text(gguf_keys *k, const char *key, const char *text)
{
    write_string(put(k, key, TEXT), text, strlen(text));
}

/* Begins a list. The caller writes the values, with write_string or as numbers of 4 bytes. */
static void put_list(gguf_keys *k, const char *key, gguf_type type, size_t count)
{
    write_number(put(k, key, LIST), type, 4);
    write_number(k->to, count, 8);
}

static void put_model(gguf_keys *k, const rt_transformer_options *o,
                      const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const double magnitude = rt_frequencies_magnitude(&o->position.frequencies);
    const int length = export->length ? export->length : export->positions;
    const int context = o->window && o->window < length ? o->window : length;
    const struct {
        const char *key;
        int value;
    } sizes[] = {
        {".context_length", context},
        {".embedding_length", o->dim},
        {".block_count", o->layers},
        {".feed_forward_length", o->ffn_dim},
        {".attention.head_count", o->heads},
        {".attention.head_count_kv", o->kv_heads},
        {".attention.key_length", o->head_dim},
        {".attention.value_length", o->head_dim},
    };
    put_text(k, "general.architecture", k->architecture);
    put_text(k, "general.type", "model");
    if (export->title)
        put_text(k, "general.name", export->title);
    put_whole(k, "general.file_type", dtype); /* the format has the same numbers */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        put_whole(k, sizes[i].key, (uint32_t)sizes[i].value);
    put_float(k, ".attention.layer_norm_rms_epsilon", o->norm_eps);
    put_whole(k, ".vocab_size", (uint32_t)o->vocab);
    put_whole(k, ".rope.dimension_count", (uint32_t)o->head_dim);
    put_float(k, ".rope.freq_base", o->position.frequencies.base);
    if (magnitude != 1) {
        put_text(k, ".rope.scaling.type", "none");
        put_float(k, ".rope.scaling.attn_factor", magnitude);
    }
}

/* Type of a token, with the numbers of llama.cpp. */
typedef enum token_type { NORMAL = 1, UNKNOWN, CONTROL, ADDED, UNUSED } token_type;

#define TOKENIZER      "tokenizer.ggml."
#define TOKENIZER_CHAT "tokenizer.chat_template"

/* Character that stands for a blank in llama.cpp if tokens are characters. */
#define BLANK "\xe2\x96\x81"

static bool is_added(const rt_vocabulary *v, int32_t id)
{
    return v->level == RT_LEVEL_BPE && rt_bpe_added(v->bpe, NULL, id);
}

static token_type type_of(const rt_vocabulary *v, int32_t id)
{
    if (id >= v->count || (v->level == RT_LEVEL_BPE && v->kinds[id] == RT_TOKEN_NONE))
        return UNUSED;
    if (v->level == RT_LEVEL_CHAR && id == v->special.unknown)
        return UNKNOWN;
    if (!rt_vocabulary_is_ordinary(v, id))
        return CONTROL;
    return is_added(v, id) ? ADDED : NORMAL;
}

/* Writes bytes as the characters that GPT-2 has for them, unless `to` is NULL. Returns the size of
 * these characters in bytes. */
static size_t put_bytes(FILE *to, rt_spelling s)
{
    size_t length = 0;
    char text[RT_UTF8_SIZE];
    for (size_t i = 0; i < s.size; i++) {
        const size_t size = rt_utf8_write(rt_bpe_character_of((unsigned char)s.bytes[i]), text);
        length += to ? fwrite(text, 1, size, to) : size;
    }
    return length;
}

static void put_token(FILE *to, const rt_vocabulary *v, int32_t id)
{
    const token_type type = type_of(v, id);
    const bool characters = v->level == RT_LEVEL_CHAR;
    const rt_spelling s = rt_vocabulary_spell(v, id);
    const rt_added_token *added = is_added(v, id) ? rt_bpe_added(v->bpe, NULL, id) : NULL;
    const char *unused = RT_PRINTED(32, "[PAD%d]", (int)id);
    if (type == UNUSED)
        write_string(to, unused, strlen(unused));
    else if (added)
        write_string(to, added->text, added->size);
    else if (type == NORMAL && characters && s.size == 1 && *s.bytes == ' ')
        write_string(to, BLANK, strlen(BLANK));
    else if (type != NORMAL || characters)
        write_string(to, s.bytes, s.size);
    else {
        write_number(to, put_bytes(NULL, s), 8);
        put_bytes(to, s);
    }
}

static int by_rank(const void *one, const void *other)
{
    const rt_pair *a = one, *b = other;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static rt_status put_merges(gguf_keys *k, const rt_vocabulary *v)
{
    const size_t count = v->level == RT_LEVEL_BPE ? (size_t)v->bpe->merges.count : 0;
    rt_pair *merges = rt_alloc_unset(count, sizeof *merges);
    if (!merges)
        return rt_out_of_memory("a header");
    put_list(k, TOKENIZER "merges", TEXT, count);
    if (count) {
        memcpy(merges, v->bpe->merges.list, count * sizeof *merges);
        qsort(merges, count, sizeof *merges, by_rank);
    }
    for (size_t i = 0; i < count; i++) {
        const rt_spelling left = rt_vocabulary_spell(v, merges[i].left);
        const rt_spelling right = rt_vocabulary_spell(v, merges[i].right);
        write_number(k->to, put_bytes(NULL, left) + 1 + put_bytes(NULL, right), 8);
        put_bytes(k->to, left);
        fputc(' ', k->to);
        put_bytes(k->to, right);
    }
    rt_free(merges);
    return rt_ok();
}

/* A sequence of pre-tokenizers, and its name in llama.cpp. */
typedef struct pattern {
    const char *name;
    bool ignore_merges;
    int count;
    rt_pretokenizer cuts[RT_CUTS_LIMIT];
} pattern;

static const pattern patterns[] = {
    {"gpt-2", false, 1, {RT_PRETOKENIZER_GPT2}},
    {"smollm", false, 2, {RT_PRETOKENIZER_DIGIT, RT_PRETOKENIZER_GPT2}},
    {"llama-bpe", true, 1, {RT_PRETOKENIZER_LLAMA3}},
    {"smaug-bpe", false, 1, {RT_PRETOKENIZER_LLAMA3}},
    {"qwen2", false, 1, {RT_PRETOKENIZER_QWEN2}},
};

static const char *pattern_of(const rt_bpe *bpe)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const pattern *p = patterns + i;
        bool same = p->count == bpe->cut_count && p->ignore_merges == bpe->ignore_merges;
        for (int c = 0; c < p->count && same; c++)
            same = p->cuts[c] == bpe->cuts[c];
        if (same)
            return p->name;
    }
    return NULL;
}

static rt_status refuse(const char *what)
{
    return rt_error(RT_CONFIG, "data.vocab_file cannot be exported: %s", what);
}

static rt_status check_vocabulary(const rt_vocabulary *v)
{
    const rt_bpe *bpe = v && v->level == RT_LEVEL_BPE ? v->bpe : NULL;
    if (!v)
        return rt_error(RT_CONFIG,
                        "a model of token ids alone cannot be exported as GGUF: llama.cpp "
                        "needs its vocabulary");
    if (v->level == RT_LEVEL_WORDPIECE)
        return rt_error(RT_CONFIG,
                        "data.level = wordpiece cannot be exported: llama.cpp has it for "
                        "encoders, without capitals");
    if (v->level == RT_LEVEL_RESIDUE)
        return rt_error(
            RT_CONFIG, "data.level = residue cannot be exported: llama.cpp has no such vocabulary");
    if (bpe && !pattern_of(bpe))
        return refuse("llama.cpp has no pre-tokenizer that cuts texts as its tokenizer.json does");
    if (bpe && bpe->space_before >= 0)
        return refuse("its tokenizer.json puts a space before a text, which llama.cpp does not");
    if (bpe && bpe->unknown != RT_NO_ID)
        return refuse("its tokenizer.json has an unk_token, which llama.cpp leaves out");
    for (int32_t id = 0; id < v->count && v->level == RT_LEVEL_CHAR; id++)
        if (!strcmp(rt_vocabulary_spell(v, id).bytes, BLANK))
            return refuse("it has the character U+2581, which is a blank in llama.cpp");
    return rt_ok();
}

/* Writes the special ids, because llama.cpp makes other ids special if they are missing. The end of
 * a text is that of the model, if it has learned one, else [SEP] or [CLS]. */
static rt_status put_special(gguf_keys *k, const rt_vocabulary *v, bool begins)
{
    const rt_special_ids *s = &v->special;
    const int32_t end = v->ends.count ? v->ends.ids[0] : s->sep != RT_NO_ID ? s->sep : s->cls;
    if (end == RT_NO_ID)
        return refuse("it has no token that ends a text, which llama.cpp needs");
    const struct {
        const char *key;
        int32_t id;
    } ids[] = {
        {TOKENIZER "bos_token_id", s->cls != RT_NO_ID ? s->cls : end},
        {TOKENIZER "eos_token_id", end},
        {TOKENIZER "padding_token_id", rt_vocabulary_pads(s) ? s->pad : RT_NO_ID},
        {TOKENIZER "unknown_token_id", s->unknown},
        {TOKENIZER "mask_token_id", s->mask},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id != RT_NO_ID)
            put_whole(k, ids[i].key, (uint32_t)ids[i].id);
    put_flag(k, TOKENIZER "add_bos_token", begins);
    put_flag(k, TOKENIZER "add_eos_token", false);
    put_flag(k, TOKENIZER "add_space_prefix", false);
    return rt_ok();
}

static rt_status put_vocabulary(gguf_keys *k, const rt_transformer *model,
                                const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    const int count = model->options.vocab;
    rt_status status = check_vocabulary(v);
    if (status.code)
        return status;
    const bool characters = v->level == RT_LEVEL_CHAR;
    json_auto_t *chat =
        export->chat_template ? json_loads(export->chat_template, JSON_DECODE_ANY, NULL) : NULL;
    put_text(k, TOKENIZER "model", characters ? "llama" : "gpt2");
    put_text(k, TOKENIZER "pre",
             characters                 ? "default"
             : v->level == RT_LEVEL_BPE ? pattern_of(v->bpe)
                                        : "gpt-2");
    put_list(k, TOKENIZER "tokens", TEXT, (size_t)count);
    for (int32_t id = 0; id < count; id++)
        put_token(k->to, v, id);
    put_list(k, TOKENIZER "token_type", SIGNED, (size_t)count);
    for (int32_t id = 0; id < count; id++)
        write_number(k->to, type_of(v, id), 4);
    if (characters) {
        put_list(k, TOKENIZER "scores", FLOAT, (size_t)count);
        for (int i = 0; i < count; i++)
            write_number(k->to, 0, 4);
    } else {
        status = put_merges(k, v);
    }
    if (json_is_string(chat)) /* llama.cpp reads no list of several */
        put_text(k, TOKENIZER_CHAT, json_string_value(chat));
    return status.code ? status : put_special(k, v, !export->bare);
}

/* Returns the type of a tensor; vectors are always F32. */
static rt_gguf_dtype dtype_of(const rt_safetensors_entry *e, rt_gguf_dtype dtype)
{
    return e->shape.ndim > 1 ? dtype : RT_GGUF_F32;
}

static size_t size_of(const rt_safetensors_entry *e, rt_gguf_dtype dtype)
{
    return rt_entry_count(e) * (dtype_of(e, dtype) == RT_GGUF_F16 ? 2 : 4);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Writes name, axes, type and offset of each tensor. The format has the last axis first. */
static void put_tensors(FILE *to, const rt_tensor_list *list, rt_gguf_dtype dtype)
{
    uint64_t begin = 0;
    for (int n = 0; n < list->count; n++) {
        const rt_safetensors_entry *e = list->entries + n;
        write_string(to, e->name, strlen(e->name));
        write_number(to, (uint64_t)e->shape.ndim, 4);
        for (int i = e->shape.ndim; i--;)
            write_number(to, (uint64_t)e->shape.axis[i], 8);
        write_number(to, dtype_of(e, dtype), 4);
        write_number(to, begin, 8);
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

rt_status rt_gguf_write(const char *path, const rt_transformer *model,
                        const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const rt_family *family;
    rt_durable_file file;
    rt_capture header = {0};
    rt_tensor_list list = {0};
    rt_status status = rt_family_find(&family, families, &model->options);
    if (!status.code)
        status = rt_output_check(path, export->overwrite);
    if (!status.code && !rt_capture_begin(&header))
        status = rt_out_of_memory("a header");
    gguf_keys keys = {header.file, family->type, 0};
    if (!status.code) {
        put_model(&keys, &model->options, export, dtype);
        status = put_vocabulary(&keys, model, export);
    }
    if (!status.code)
        status = rt_tensor_list_open(&list, family, model, 0);
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
