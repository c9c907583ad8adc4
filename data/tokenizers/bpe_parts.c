/* Parses the other parts of a tokenizer.json: added tokens, normalizer, pre-tokenizer, decoder and
 * post-processor. */

#include "data/tokenizers/bpe_file.h"

#include "core/memory.h"
#include "data/tokenizers/characters.h"
#include "data/tokenizers/simple_tokens.h"

#include <string.h>

/* ---- added tokens ---- */

/* A token that is a piece has its id; the others have those behind the pieces, in their order.
 * tokenizers sees to that whatever the file says; a file that says something else is refused. */
static rt_status check_id(const rt_bpe_reading *r, size_t number, const json_t *token,
                          json_int_t *largest)
{
    const json_t *piece =
        json_object_get(r->vocab, json_string_value(json_object_get(token, "content")));
    const json_int_t id = json_integer_value(json_object_get(token, "id"));
    const json_int_t pieces = (json_int_t)json_object_size(r->vocab);
    const json_int_t wanted = piece                ? json_integer_value(piece)
                              : *largest >= pieces ? *largest + 1
                                                   : pieces;
    *largest = id > *largest ? id : *largest;
    return id == wanted ? rt_ok()
                        : rt_error(RT_DATA, "%s: added_tokens[%zu].id must be %lld; it is %lld",
                                   r->name, number, (long long)wanted, (long long)id);
}

static rt_status read_token_flags(const rt_bpe_reading *r, size_t number, const json_t *token,
                                  rt_added_token *t, bool *normalized)
{
    char where[40];
    bool alone;
    snprintf(where, sizeof where, "added_tokens[%zu]", number);
    rt_status status = rt_bpe_flag(r, token, where, "single_word", false, &alone);
    if (!status.code && alone)
        status = rt_error(RT_DATA, "%s: %s.single_word must be false", r->name, where);
    if (!status.code)
        status = rt_bpe_flag(r, token, where, "special", false, &t->special);
    if (!status.code)
        status = rt_bpe_flag(r, token, where, "lstrip", false, &t->takes_left);
    if (!status.code)
        status = rt_bpe_flag(r, token, where, "rstrip", false, &t->takes_right);
    return status.code ? status : rt_bpe_flag(r, token, where, "normalized", false, normalized);
}

/* Brings a token that is found in a normalized text into the form of that text, in a block that the
 * caller frees. */
static rt_status form_token(const rt_bpe_reading *r, rt_added_token *t, unsigned char **formed)
{
    size_t size;
    if (r->v->bpe->form == RT_FORM_NONE)
        return rt_ok();
    rt_status status =
        rt_normal_form(r->v->bpe->form, formed, &size, (const unsigned char *)t->text, t->size);
    if (status.code)
        return status;
    (*formed)[size] = '\0';
    t->text = (const char *)*formed;
    t->size = size;
    return status;
}

static rt_status read_token(rt_bpe_reading *r, size_t number, const json_t *token,
                            unsigned char **formed)
{
    rt_bpe *bpe = r->v->bpe;
    const char *content = json_string_value(json_object_get(token, "content"));
    bool normalized;
    rt_added_token t = {.text = content,
                        .size = strlen(content),
                        .id = (int32_t)json_integer_value(json_object_get(token, "id"))};
    rt_status status = read_token_flags(r, number, token, &t, &normalized);
    if (!status.code && normalized)
        status = form_token(r, &t, formed);
    if (status.code)
        return status;
    rt_added_tokens *to = normalized ? &bpe->composed : &bpe->as_is;
    to->list[to->count++] = t;
    if (t.special)
        bpe->kinds[t.id] = RT_BPE_SPECIAL;
    return rt_ok();
}

static rt_status complete(const rt_bpe_reading *r, rt_added_tokens *tokens)
{
    char word[RT_WORD_NAME_SIZE];
    const char *twice = rt_added_tokens_complete(tokens);
    if (!twice)
        return rt_ok();
    return *twice ? rt_error(RT_DATA, "%s: added_tokens has %s twice", r->name,
                             rt_word_name(twice, strlen(twice), word))
                  : rt_out_of_memory("a vocabulary");
}

static rt_status read_added_tokens(rt_bpe_reading *r)
{
    const json_t *list = json_object_get(r->json, "added_tokens"), *token;
    const size_t count = json_array_size(list);
    rt_bpe *bpe = r->v->bpe;
    json_int_t largest = -1;
    size_t i;
    unsigned char **formed = rt_alloc(count, sizeof *formed); /* until the lists have copies */
    bpe->as_is.list = rt_alloc(count, sizeof *bpe->as_is.list);
    bpe->composed.list = rt_alloc(count, sizeof *bpe->composed.list);
    rt_status status = formed && bpe->as_is.list && bpe->composed.list
                           ? rt_ok()
                           : rt_out_of_memory("a vocabulary");
    json_array_foreach(list, i, token)
    {
        if (!status.code)
            status = check_id(r, i, token, &largest);
        if (!status.code)
            status = read_token(r, i, token, formed + i);
        if (status.code)
            break;
    }
    if (!status.code)
        status = complete(r, &bpe->as_is);
    if (!status.code)
        status = complete(r, &bpe->composed);
    for (i = 0; formed && i < count; i++)
        rt_free(formed[i]);
    rt_free(formed);
    return status;
}

/* ---- what they are for ---- */

/* The id of a special token; RT_NO_ID if there is none of that text, which may be NULL. */
static int32_t find_special(const rt_bpe_reading *r, const char *text)
{
    const json_t *list = json_object_get(r->json, "added_tokens"), *token;
    size_t i;
    json_array_foreach(list, i, token)
    {
        if (text && json_is_true(json_object_get(token, "special")) &&
            !strcmp(json_string_value(json_object_get(token, "content")), text))
            return (int32_t)json_integer_value(json_object_get(token, "id"));
    }
    return RT_NO_ID;
}

/* The first of some names that there is. */
static int32_t find_first(const rt_bpe_reading *r, const char *const *names)
{
    int32_t id = RT_NO_ID;
    for (; *names && id == RT_NO_ID; names++)
        id = find_special(r, *names);
    return id;
}

/* A text begins with what the post-processor puts before it, or with a token of a name that is
 * known for that, or else with the one that ends it, as GPT-2 has it. */
static rt_special_ids find_roles(const rt_bpe_reading *r)
{
    static const char *const begins[] = {"<|begin_of_text|>", "<s>", "<bos>", "<|bos|>", "[CLS]",
                                         "<|startoftext|>",   NULL};
    static const char *const ends[] = {"<|end_of_text|>", "</s>",  "<eos>", "<|eos|>",
                                       "<|endoftext|>",   "[SEP]", NULL};
    static const char *const pads[] = {"<pad>",       "[PAD]",
                                       "<|pad|>",     "<|finetune_right_pad_id|>",
                                       "<|padding|>", "<|_pad_|>",
                                       NULL};
    static const char *const masks[] = {"<mask>", "[MASK]", "<|mask|>", NULL};
    rt_bpe *bpe = r->v->bpe;
    rt_special_ids ids = {.cls = find_special(r, r->begins),
                          .sep = find_special(r, r->ends),
                          .pad = find_first(r, pads),
                          .mask = find_first(r, masks),
                          .unknown = bpe->unknown};
    bpe->first = ids.cls;
    bpe->last = ids.sep;
    if (ids.cls == RT_NO_ID)
        ids.cls = find_first(r, begins);
    if (ids.sep == RT_NO_ID)
        ids.sep = find_first(r, ends);
    if (ids.cls == RT_NO_ID)
        ids.cls = ids.sep;
    return ids;
}

static void find_ordinary(rt_bpe *bpe, int32_t count)
{
    bpe->ordinary_count = 0;
    for (int32_t id = 0; id < count; id++)
        if (bpe->kinds[id] == RT_BPE_ORDINARY)
            bpe->ordinary[bpe->ordinary_count++] = id;
}

/* Padding is never looked at: it may have any id. */
static int32_t padding(const rt_special_ids *ids)
{
    return ids->pad != RT_NO_ID ? ids->pad : ids->sep != RT_NO_ID ? ids->sep : ids->cls;
}

rt_status rt_bpe_know(rt_vocabulary *v, const char *name, const rt_special_ids *known)
{
    rt_special_ids ids = *known, *special = &v->special;
    *special = v->bpe->found;
    for (int i = 0; i < RT_SPECIAL_TOKENS; i++) {
        int32_t *here = rt_special_id(special, i);
        const int32_t id = *rt_special_id(&ids, i);
        const bool pad = here == &special->pad;
        if (id < RT_NO_ID || id >= v->count ||
            (id >= 0 && !pad && v->bpe->kinds[id] == RT_BPE_NONE))
            return rt_error(RT_DATA, "%s: has no id %d, which is to be %s", name, (int)id,
                            rt_special_token(v->level, i));
        if (id != RT_NO_ID && here != &special->unknown)
            *here = id;
        if (*here != RT_NO_ID && !pad)
            v->bpe->kinds[*here] = RT_BPE_SPECIAL;
    }
    if (special->cls == RT_NO_ID)
        special->cls = special->sep;
    special->pad = padding(special) != RT_NO_ID ? padding(special) : 0;
    find_ordinary(v->bpe, v->count);
    return v->bpe->ordinary_count
               ? rt_ok()
               : rt_error(RT_DATA, "%s: has no token beside the special ones", name);
}

rt_status rt_bpe_read_tokens(rt_bpe_reading *r)
{
    const rt_special_ids nothing = {RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
    rt_status status = read_added_tokens(r);
    if (status.code)
        return status;
    r->v->bpe->found = find_roles(r);
    return rt_bpe_know(r->v, r->name, &nothing);
}

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

/* Reads the tokens that a template puts before and behind a text. */
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
