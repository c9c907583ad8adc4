/* Of a tokenizer.json: how a text is changed and cut before its bytes are joined. */

#include "data/tokenizers/bpe_file.h"
#include "data/tokenizers/simple_tokens.h"

#include <string.h>

rt_status rt_bpe_flag(const rt_bpe_reading *r, const json_t *object, const char *where,
                      const char *key, bool otherwise, bool *value)
{
    const json_t *found = json_object_get(object, key);
    *value = json_is_boolean(found) ? json_is_true(found) : otherwise;
    return !found || json_is_null(found) || json_is_boolean(found)
               ? rt_ok()
               : rt_error(RT_DATA, "%s: %s.%s must be true or false", r->name, where, key);
}

const char *rt_bpe_type(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

static bool is_absent(const json_t *part)
{
    return !part || json_is_null(part);
}

static bool has_type(const json_t *part, const char *type)
{
    return !strcmp(rt_bpe_type(part), type);
}

static rt_status refuse_type(const rt_bpe_reading *r, const char *where, const json_t *part,
                             const char *read)
{
    char word[RT_WORD_NAME_SIZE];
    const char *type = rt_bpe_type(part);
    return rt_error(RT_DATA, "%s: %s is %s; %s", r->name, where,
                    *type ? rt_word_name(type, strlen(type), word) : "missing", read);
}

/* ---- the normalizer ---- */

/* NFKC of NFC, and NFC of NFKC, are NFKC, so the order in a sequence does not matter. */
static rt_status read_form(rt_bpe_reading *r, const json_t *part)
{
    const rt_form form = has_type(part, "NFC")    ? RT_FORM_NFC
                         : has_type(part, "NFKC") ? RT_FORM_NFKC
                                                  : RT_FORM_NONE;
    if (form == RT_FORM_NONE)
        return refuse_type(r, "normalizer", part,
                           "null, 'NFC', 'NFKC' and a 'Sequence' of these are read");
    if (form > r->v->bpe->form)
        r->v->bpe->form = form;
    return rt_ok();
}

static rt_status read_normalizer(rt_bpe_reading *r)
{
    const json_t *part = json_object_get(r->json, "normalizer"), *list;
    rt_status status = rt_ok();
    if (is_absent(part))
        return status;
    if (!has_type(part, "Sequence"))
        return read_form(r, part);
    list = json_object_get(part, "normalizers");
    if (!json_is_array(list))
        return rt_error(RT_DATA, "%s: normalizer.normalizers must be a list", r->name);
    for (size_t i = 0; i < json_array_size(list) && !status.code; i++)
        status = read_form(r, json_array_get(list, i));
    return status;
}

/* ---- the pre-tokenizer ---- */

/* Patterns as files have them. Of GPT-2 and GPT-4 there are two spellings, of which the second is
 * that of OpenAI's tiktoken. */
static const struct {
    const char *pattern;
    rt_pretokenizer cut;
} patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_GPT2},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_GPT2},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_LLAMA3},
    {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}|"
     " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_LLAMA3},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_QWEN2},
};

static rt_status add_cut(rt_bpe_reading *r, rt_pretokenizer cut)
{
    rt_bpe *bpe = r->v->bpe;
    if (bpe->cut_count == RT_CUTS_LIMIT)
        return rt_error(RT_DATA, "%s: pre_tokenizer cuts a text more than %d times", r->name,
                        RT_CUTS_LIMIT);
    bpe->cuts[bpe->cut_count++] = cut;
    return rt_ok();
}

/* A pattern that fits everywhere cuts alike whether its matches are kept or what is between. */
static rt_status check_behavior(const rt_bpe_reading *r, const json_t *part)
{
    char word[RT_WORD_NAME_SIZE];
    const char *behavior = json_string_value(json_object_get(part, "behavior"));
    bool invert;
    rt_status status = rt_bpe_flag(r, part, "pre_tokenizer", "invert", false, &invert);
    if (status.code)
        return status;
    behavior = behavior ? behavior : "";
    if (!strcmp(behavior, "Isolated") || (invert && !strcmp(behavior, "Removed")))
        return rt_ok();
    return rt_error(RT_DATA, "%s: pre_tokenizer: the behavior of Split is %s; 'Isolated' is read",
                    r->name, rt_word_name(behavior, strlen(behavior), word));
}

static rt_status read_split(rt_bpe_reading *r, const json_t *part)
{
    const json_t *pattern = json_object_get(part, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    rt_status status = check_behavior(r, part);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && regex && !status.code; i++)
        if (!strcmp(regex, patterns[i].pattern))
            return add_cut(r, patterns[i].cut);
    if (status.code)
        return status;
    if (!regex)
        return rt_error(RT_DATA, "%s: pre_tokenizer: Split has no pattern with Regex", r->name);
    return rt_error(RT_DATA,
                    "%s: pre_tokenizer: Split has the pattern '%.400s', which is none of those "
                    "that are read: GPT-2's, GPT-4's and LLaMA 3's, Qwen2's",
                    r->name, regex);
}

static rt_status read_digits(rt_bpe_reading *r, const json_t *part)
{
    bool alone;
    rt_status status = rt_bpe_flag(r, part, "pre_tokenizer", "individual_digits", false, &alone);
    return status.code ? status
                       : add_cut(r, alone ? RT_PRETOKENIZER_DIGIT : RT_PRETOKENIZER_DIGITS);
}

static rt_status read_byte_level(rt_bpe_reading *r, const json_t *part)
{
    bool space, regex, offsets;
    rt_status status = rt_bpe_flag(r, part, "pre_tokenizer", "add_prefix_space", true, &space);
    if (!status.code)
        status = rt_bpe_flag(r, part, "pre_tokenizer", "trim_offsets", true, &offsets);
    if (!status.code)
        status = rt_bpe_flag(r, part, "pre_tokenizer", "use_regex", true, &regex);
    if (!status.code && space)
        r->v->bpe->space_before = r->v->bpe->cut_count;
    return status.code || !regex ? status : add_cut(r, RT_PRETOKENIZER_GPT2);
}

static rt_status read_cut(rt_bpe_reading *r, const json_t *part, bool last)
{
    if (last && has_type(part, "ByteLevel"))
        return read_byte_level(r, part);
    if (!last && has_type(part, "Digits"))
        return read_digits(r, part);
    if (!last && has_type(part, "Split"))
        return read_split(r, part);
    return refuse_type(r, last ? "pre_tokenizer, at its end," : "pre_tokenizer", part,
                       "'ByteLevel' is read, and before it 'Digits' and 'Split'");
}

static rt_status read_pre_tokenizer(rt_bpe_reading *r)
{
    const json_t *part = json_object_get(r->json, "pre_tokenizer");
    r->v->bpe->space_before = -1;
    if (!has_type(part, "Sequence"))
        return read_cut(r, part, true);
    const json_t *list = json_object_get(part, "pretokenizers");
    rt_status status = rt_ok();
    if (!json_is_array(list) || !json_array_size(list))
        return rt_error(RT_DATA, "%s: pre_tokenizer.pretokenizers must be a list", r->name);
    for (size_t i = 0; i < json_array_size(list) && !status.code; i++)
        status = read_cut(r, json_array_get(list, i), i + 1 == json_array_size(list));
    return status;
}

/* ---- the decoder and the post-processor ---- */

static rt_status read_decoder(const rt_bpe_reading *r)
{
    const json_t *part = json_object_get(r->json, "decoder");
    return has_type(part, "ByteLevel") ? rt_ok()
                                       : refuse_type(r, "decoder", part, "'ByteLevel' is read");
}

/* What a template has before a text, and behind it. */
static rt_status read_template(rt_bpe_reading *r, const json_t *part)
{
    const json_t *list = json_object_get(part, "single");
    bool behind = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *token =
            json_string_value(json_object_get(json_object_get(item, "SpecialToken"), "id"));
        behind |= json_object_get(item, "Sequence") != NULL;
        if (token && behind && !r->ends)
            r->ends = token;
        else if (token && !behind && !r->begins)
            r->begins = token;
    }
    return behind ? rt_ok()
                  : rt_error(RT_DATA, "%s: post_processor.single must be a list with a Sequence",
                             r->name);
}

static rt_status read_processor(rt_bpe_reading *r, const json_t *part)
{
    if (is_absent(part) || has_type(part, "ByteLevel"))
        return rt_ok();
    if (has_type(part, "TemplateProcessing"))
        return read_template(r, part);
    return refuse_type(r, "post_processor", part, "'ByteLevel' and 'TemplateProcessing' are read");
}

static rt_status read_post_processor(rt_bpe_reading *r)
{
    const json_t *part = json_object_get(r->json, "post_processor");
    const json_t *list = json_object_get(part, "processors");
    rt_status status = rt_ok();
    if (!has_type(part, "Sequence"))
        return read_processor(r, part);
    for (size_t i = 0; i < json_array_size(list) && !status.code; i++)
        status = read_processor(r, json_array_get(list, i));
    return status;
}

rt_status rt_bpe_read_parts(rt_bpe_reading *r)
{
    rt_status status = read_normalizer(r);
    if (!status.code)
        status = read_pre_tokenizer(r);
    if (!status.code)
        status = read_decoder(r);
    return status.code ? status : read_post_processor(r);
}
