/* Of a tokenizer.json: the added tokens, and what rotor has them for. */

#include "data/tokenizers/bpe_file.h"

#include "core/memory.h"
#include "data/tokenizers/normal_form.h"
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
