/* Writes a GGUF file. */

#include "io/gguf/gguf.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/gguf/private.h"
#include "io/huggingface/export.h"
#include "util/durable_file.h"
#include "util/number.h"
#include "util/utf8.h"
#include "util/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 3, ALIGNMENT = 32 };

/* Keys with their values, and their number. The stream writes to memory and keeps an error. */
typedef struct gguf_keys {
    FILE *to;
    const char *architecture; /* begins keys that are written as ".name" */
    uint64_t count;
    bool failed; /* a value could not be made */
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

static FILE *put(gguf_keys *k, const char *key, rt_gguf_kind kind)
{
    const char *whole = RT_PRINTED(64, "%s%s", *key == '.' ? k->architecture : "", key);
    write_string(k->to, whole, strlen(whole));
    write_number(k->to, (uint64_t)kind, 4);
    k->count++;
    return k->to;
}

/* Writes a value, which it takes over. */
static void put_value(gguf_keys *k, const char *key, json_t *value)
{
    const float narrow = (float)json_number_value(value);
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (json_is_integer(value))
        write_number(put(k, key, RT_GGUF_U32), (uint64_t)json_integer_value(value), 4);
    else if (json_is_real(value))
        write_number(put(k, key, RT_GGUF_FLOAT), bits, 4);
    else if (json_is_boolean(value))
        write_number(put(k, key, RT_GGUF_FLAG), json_is_true(value), 1);
    else if (value)
        write_string(put(k, key, RT_GGUF_TEXT), json_string_value(value),
                     json_string_length(value));
    k->failed |= !value;
    json_decref(value);
}

/* Begins a list. The caller writes the values, with write_string or as numbers of 4 bytes. */
static void put_list(gguf_keys *k, const char *key, rt_gguf_kind kind, size_t count)
{
    write_number(put(k, key, RT_GGUF_LIST), kind, 4);
    write_number(k->to, count, 8);
}

/* Writes the keys of the file, and those of the family. */
static void put_model(gguf_keys *k, const rt_family *family, const rt_transformer_options *o,
                      const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    rt_config_writing w = {json_object(), family, o, export, NULL};
    const char *key;
    json_t *value;
    put_value(k, "general.architecture", json_string(k->architecture));
    put_value(k, "general.type", json_string("model"));
    if (export->title)
        put_value(k, "general.name", rt_json_string(export->title));
    put_value(k, "general.file_type", json_integer(dtype)); /* the format has the same numbers */
    rt_config_rows_put(family->config, &w);
    json_object_foreach(w.object, key, value) put_value(k, key, json_incref(value));
    k->failed |= !w.object;
    json_decref(w.object);
}

#define TOKENIZER RT_GGUF_TOKENIZER

/* Character that stands for a blank in llama.cpp if tokens are characters. */
#define BLANK "\xe2\x96\x81"

static bool is_added(const rt_vocabulary *v, int32_t id)
{
    return v->level == RT_LEVEL_BPE && rt_bpe_added(v->bpe, NULL, id);
}

static unsigned type_of(const rt_vocabulary *v, int32_t id)
{
    if (id >= v->count || (v->level == RT_LEVEL_BPE && v->kinds[id] == RT_TOKEN_NONE))
        return RT_GGUF_UNUSED;
    if (v->level == RT_LEVEL_CHAR && id == v->special.unknown)
        return RT_GGUF_UNKNOWN;
    if (!rt_vocabulary_is_ordinary(v, id))
        return RT_GGUF_CONTROL;
    return is_added(v, id) ? RT_GGUF_ADDED : RT_GGUF_NORMAL;
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
    const unsigned type = type_of(v, id);
    const bool characters = v->level == RT_LEVEL_CHAR;
    const rt_spelling s = rt_vocabulary_spell(v, id);
    const rt_added_token *added = is_added(v, id) ? rt_bpe_added(v->bpe, NULL, id) : NULL;
    const char *unused = RT_PRINTED(32, "[PAD%d]", (int)id);
    if (type == RT_GGUF_UNUSED)
        write_string(to, unused, strlen(unused));
    else if (added)
        write_string(to, added->text, added->size);
    else if (type == RT_GGUF_NORMAL && characters && s.size == 1 && *s.bytes == ' ')
        write_string(to, BLANK, strlen(BLANK));
    else if (type != RT_GGUF_NORMAL || characters)
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
    RT_OWNED rt_pair *merges = rt_alloc_unset(count, sizeof *merges);
    RT_TRY(rt_allocated(merges, "a header"));
    put_list(k, TOKENIZER "merges", RT_GGUF_TEXT, count);
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
    return rt_ok();
}

static const char *pattern_of(const rt_bpe *bpe)
{
    for (const rt_gguf_pattern *p = rt_gguf_patterns; p->name; p++) {
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
        {TOKENIZER "eot_token_id", v->ends.count > 1 ? v->ends.ids[1] : RT_NO_ID},
        {TOKENIZER "padding_token_id", rt_vocabulary_pads(s) ? s->pad : RT_NO_ID},
        {TOKENIZER "unknown_token_id", s->unknown},
        {TOKENIZER "mask_token_id", s->mask},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id != RT_NO_ID)
            put_value(k, ids[i].key, json_integer(ids[i].id));
    put_value(k, TOKENIZER "add_bos_token", json_boolean(begins));
    put_value(k, TOKENIZER "add_eos_token", json_false());
    put_value(k, TOKENIZER "add_space_prefix", json_false());
    return rt_ok();
}

static rt_status put_vocabulary(gguf_keys *k, const rt_transformer *model,
                                const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    const int count = model->options.vocab;
    RT_TRY(check_vocabulary(v));
    const bool characters = v->level == RT_LEVEL_CHAR;
    json_auto_t *chat =
        export->chat_template ? json_loads(export->chat_template, JSON_DECODE_ANY, NULL) : NULL;
    put_value(k, TOKENIZER "model", json_string(characters ? "llama" : "gpt2"));
    const char *pre = v->level == RT_LEVEL_BPE ? pattern_of(v->bpe) : "gpt-2";
    put_value(k, TOKENIZER "pre", json_string(characters ? "default" : pre));
    put_list(k, TOKENIZER "tokens", RT_GGUF_TEXT, (size_t)count);
    for (int32_t id = 0; id < count; id++)
        put_token(k->to, v, id);
    put_list(k, TOKENIZER "token_type", RT_GGUF_I32, (size_t)count);
    for (int32_t id = 0; id < count; id++)
        write_number(k->to, type_of(v, id), 4);
    if (characters) {
        put_list(k, TOKENIZER "scores", RT_GGUF_FLOAT, (size_t)count);
        for (int i = 0; i < count; i++)
            write_number(k->to, 0, 4);
    } else {
        RT_TRY(put_merges(k, v));
    }
    if (json_is_string(chat)) /* llama.cpp reads no list of several */
        put_value(k, RT_GGUF_CHAT, json_incref(chat));
    return put_special(k, v, !export->bare);
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
    RT_TRY(rt_durable_write(file, start, sizeof start));
    RT_TRY(rt_durable_write(file, header->bytes, header->size));
    RT_TRY(write_padding(file, sizeof start + header->size));
    for (int n = 0; n < list->count; n++) {
        const rt_safetensors_entry *e = list->entries + n;
        const bool halves = dtype_of(e, dtype) == RT_GGUF_F16;
        RT_TRY(rt_entry_write(file, e, halves, halves ? "f16" : "f32"));
        RT_TRY(write_padding(file, size_of(e, dtype)));
    }
    return rt_ok();
}

rt_status rt_gguf_write(const char *path, const rt_transformer *model,
                        const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const rt_family *family;
    rt_durable_file file;
    RT_CLOSED_BY(rt_capture_free) rt_capture header = {0};
    RT_CLOSED_BY(rt_tensor_list_close) rt_tensor_list list = {0};
    RT_TRY(rt_family_find(&family, rt_gguf_written, &model->options));
    RT_TRY(rt_output_check(path, export->overwrite));
    RT_TRY(rt_allocated(rt_capture_begin(&header), "a header"));
    gguf_keys keys = {header.file, family->type, 0, false};
    put_model(&keys, family, &model->options, export, dtype);
    RT_TRY(put_vocabulary(&keys, model, export));
    RT_TRY(rt_tensor_list_open(&list, family, model, 0));
    put_tensors(keys.to, &list, dtype);
    RT_TRY(rt_allocated(!keys.failed && !ferror(keys.to) && rt_capture_end(&header), "a header"));
    RT_TRY(rt_durable_open(&file, path));
    return rt_durable_close(&file, write_all(&file, &header, keys.count, &list, dtype));
}
