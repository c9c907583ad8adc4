/* A vocabulary as llama.cpp has it. */

#include "io/gguf/private.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/tokenizer.h"
#include "text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Type of a token, with the numbers of llama.cpp. */
typedef enum token_type { NORMAL = 1, UNKNOWN, CONTROL, ADDED, UNUSED } token_type;

#define TOKENIZER      "tokenizer.ggml."
#define TOKENIZER_CHAT "tokenizer.chat_template"

/* Character that llama.cpp writes for a blank where tokens are characters. */
#define BLANK "\xe2\x96\x81"

/* ---- tokens ---- */

static bool is_added(const rt_vocabulary *v, int32_t id)
{
    return v->level == RT_LEVEL_BPE && rt_bpe_added(v->bpe, NULL, id);
}

static token_type type_of(const rt_vocabulary *v, int32_t id)
{
    if (id >= v->count || (v->level == RT_LEVEL_BPE && v->bpe->kinds[id] == RT_BPE_NONE))
        return UNUSED;
    if (v->level == RT_LEVEL_CHAR && id == v->special.unknown)
        return UNKNOWN;
    if (!rt_vocabulary_is_ordinary(v, id))
        return CONTROL;
    return is_added(v, id) ? ADDED : NORMAL;
}

/* Returns the bytes of some bytes as the characters that GPT-2 writes them as, and writes these,
 * unless `to` is NULL. */
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
    char unused[32];
    const token_type type = type_of(v, id);
    const rt_spelling s = rt_vocabulary_spell(v, id);
    const rt_added_token *added = is_added(v, id) ? rt_bpe_added(v->bpe, NULL, id) : NULL;
    if (type == UNUSED)
        rt_gguf_string(to, unused, (size_t)snprintf(unused, sizeof unused, "[PAD%d]", (int)id));
    else if (added)
        rt_gguf_string(to, added->text, added->size);
    else if (type != NORMAL)
        rt_gguf_string(to, s.bytes, s.size);
    else if (v->level != RT_LEVEL_CHAR) {
        rt_gguf_number(to, put_bytes(NULL, s), 8);
        put_bytes(to, s);
    } else if (s.size == 1 && *s.bytes == ' ')
        rt_gguf_string(to, BLANK, strlen(BLANK));
    else
        rt_gguf_string(to, s.bytes, s.size);
}

static void put_tokens(rt_gguf_keys *k, const rt_vocabulary *v, int count)
{
    rt_gguf_put_list(k, TOKENIZER "tokens", RT_GGUF_STRINGS, (size_t)count);
    for (int32_t id = 0; id < count; id++)
        put_token(k->to, v, id);
    rt_gguf_put_list(k, TOKENIZER "token_type", RT_GGUF_INTS, (size_t)count);
    for (int32_t id = 0; id < count; id++)
        rt_gguf_number(k->to, type_of(v, id), 4);
}

/* ---- merges ---- */

static int by_rank(const void *one, const void *other)
{
    const rt_pair *a = one, *b = other;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static void put_merge(FILE *to, rt_spelling left, rt_spelling right)
{
    rt_gguf_number(to, put_bytes(NULL, left) + 1 + put_bytes(NULL, right), 8);
    put_bytes(to, left);
    fputc(' ', to);
    put_bytes(to, right);
}

static rt_status put_merges(rt_gguf_keys *k, const rt_vocabulary *v)
{
    const size_t count = v->level == RT_LEVEL_BPE ? v->bpe->merges.count : 0;
    rt_pair *merges = rt_alloc_unset(count, sizeof *merges);
    if (!merges)
        return rt_out_of_memory("a header");
    rt_gguf_put_list(k, TOKENIZER "merges", RT_GGUF_STRINGS, count);
    if (count) {
        const rt_pair *slot = v->bpe->merges.slots;
        for (size_t i = 0; i < count; slot++)
            if (slot->left >= 0)
                merges[i++] = *slot;
        qsort(merges, count, sizeof *merges, by_rank);
    }
    for (size_t i = 0; i < count; i++)
        put_merge(k->to, rt_vocabulary_spell(v, merges[i].left),
                  rt_vocabulary_spell(v, merges[i].right));
    rt_free(merges);
    return rt_ok();
}

/* ---- how a text is cut ---- */

/* A list of cuts, and the name of the pattern that llama.cpp has for it. */
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

static rt_status check_bpe(const rt_bpe *bpe)
{
    if (!pattern_of(bpe))
        return refuse("llama.cpp has no pre-tokenizer that cuts texts as its tokenizer.json does");
    if (bpe->space_before >= 0)
        return refuse("its tokenizer.json puts a space before a text, which llama.cpp does not");
    if (bpe->unknown != RT_NO_ID)
        return refuse("its tokenizer.json has an unk_token, which llama.cpp leaves out");
    return rt_ok();
}

static rt_status check_vocabulary(const rt_vocabulary *v)
{
    int32_t blank;
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
    if (v->level == RT_LEVEL_BPE)
        return check_bpe(v->bpe);
    rt_utf8_read((const unsigned char *)BLANK, strlen(BLANK), &blank);
    for (int32_t id = 0; id < v->count && v->level == RT_LEVEL_CHAR; id++)
        if (v->characters[id] == blank)
            return refuse("it has the character U+2581, which is a blank in llama.cpp");
    return rt_ok();
}

/* ---- all of it ---- */

static void put_id(rt_gguf_keys *k, const char *key, int32_t id)
{
    if (id != RT_NO_ID)
        rt_gguf_put_whole(k, key, (uint32_t)id);
}

/* Without these, some other ids would be special there. What ends a text is for the model to know;
 * one that has learned running text never says so. */
static rt_status put_special(rt_gguf_keys *k, const rt_vocabulary *v, bool begins)
{
    const rt_special_ids *s = &v->special;
    const int32_t end = v->ends.count ? v->ends.ids[0] : s->sep != RT_NO_ID ? s->sep : s->cls;
    if (end == RT_NO_ID)
        return refuse("it has no token that ends a text, which llama.cpp needs");
    put_id(k, TOKENIZER "bos_token_id", s->cls != RT_NO_ID ? s->cls : end);
    put_id(k, TOKENIZER "eos_token_id", end);
    put_id(k, TOKENIZER "padding_token_id", rt_vocabulary_pads(s) ? s->pad : RT_NO_ID);
    put_id(k, TOKENIZER "unknown_token_id", s->unknown);
    put_id(k, TOKENIZER "mask_token_id", s->mask);
    rt_gguf_put_flag(k, TOKENIZER "add_bos_token", begins);
    rt_gguf_put_flag(k, TOKENIZER "add_eos_token", false);
    rt_gguf_put_flag(k, TOKENIZER "add_space_prefix", false);
    return rt_ok();
}

/* A folder may have several templates, with names: a list, which llama.cpp does not read. */
static void put_chat_template(rt_gguf_keys *k, const char *chat_template)
{
    json_t *text = chat_template ? json_loads(chat_template, JSON_DECODE_ANY, NULL) : NULL;
    if (json_is_string(text))
        rt_gguf_put_text(k, TOKENIZER_CHAT, json_string_value(text));
    json_decref(text);
}

rt_status rt_gguf_put_vocabulary(rt_gguf_keys *k, const rt_transformer *model,
                                 const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    const int count = model->options.vocab;
    rt_status status = check_vocabulary(v);
    if (status.code)
        return status;
    const bool characters = v->level == RT_LEVEL_CHAR;
    rt_gguf_put_text(k, TOKENIZER "model", characters ? "llama" : "gpt2");
    rt_gguf_put_text(k, TOKENIZER "pre",
                     characters                 ? "default"
                     : v->level == RT_LEVEL_BPE ? pattern_of(v->bpe)
                                                : "gpt-2");
    put_tokens(k, v, count);
    if (characters) {
        rt_gguf_put_list(k, TOKENIZER "scores", RT_GGUF_FLOATS, (size_t)count);
        for (int i = 0; i < count; i++)
            rt_gguf_number(k->to, 0, 4);
    } else {
        status = put_merges(k, v);
    }
    put_chat_template(k, export->chat_template);
    return status.code ? status : put_special(k, v, !export->bare);
}
