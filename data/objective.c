#include "data/objective.h"

#include "core/memory.h"
#include "core/random.h"
#include "data/task.h"
#include "data/tokenizers/bpe.h"

#include <limits.h>
#include <string.h>

static bool begins_with(const char *text, const char *word, size_t size)
{
    return size && !strncmp(text, word, size);
}

rt_mask_place rt_mask_find(const rt_vocabulary *vocabulary, const char *text)
{
    static const char word[] = "[MASK]";
    const int32_t id = vocabulary->special.mask;
    if (id == RT_NO_ID)
        return (rt_mask_place){NULL, 0};
    const rt_spelling own = rt_vocabulary_spell(vocabulary, id);
    for (; *text; text++) {
        if (begins_with(text, own.bytes, own.size))
            return (rt_mask_place){text, own.size};
        if (begins_with(text, word, sizeof word - 1))
            return (rt_mask_place){text, sizeof word - 1};
    }
    return (rt_mask_place){NULL, 0};
}

/* Byte range of a text. */
typedef struct span {
    size_t start, end;
} span;

/* Extends a mask by the blanks that belong to it. The tokenizer may define them; otherwise, at
 * level bpe, it is the blank before the mask, since pieces begin with theirs. */
static span with_blanks(const rt_vocabulary *v, const char *text, size_t bytes, span mask,
                        size_t before)
{
    const rt_added_token *token = v->bpe ? rt_bpe_added(v->bpe, NULL, v->special.mask) : NULL;
    if (token && (token->takes_left || token->takes_right)) {
        const rt_found_token found =
            rt_found_token_with_blanks((rt_found_token){token, mask.start, mask.end},
                                       (const unsigned char *)text, bytes, before);
        return (span){found.start, found.end};
    }
    mask.start -= v->bpe && mask.start > before && text[mask.start - 1] == ' ';
    return mask;
}

/* Encodes a part of a text that has no mask. */
static rt_status encode_part(const rt_vocabulary *vocabulary, bool special, const char *part,
                             size_t size, size_t before, int32_t *ids, int *count,
                             rt_unknown *unknown)
{
    rt_unknown here = {0};
    *count = 0;
    if (!size)
        return rt_ok();
    rt_status status = (special ? rt_vocabulary_encode_special
                                : rt_vocabulary_encode)(vocabulary, part, size, ids, count, &here);
    rt_unknown_add(unknown, &here, before);
    return status;
}

/* Appends the ids of a text with masks. */
static rt_status encode(const rt_vocabulary *vocabulary, bool special, const char *text,
                        int32_t *ids, int *count, int *masks, rt_unknown *unknown)
{
    const size_t bytes = strlen(text);
    size_t at = 0;
    rt_status status = rt_ok();
    for (bool more = true; more && !status.code;) {
        const rt_mask_place found = rt_mask_find(vocabulary, text + at);
        span mask = {bytes, bytes};
        int added;
        more = found.at != NULL;
        if (more) {
            mask.start = (size_t)(found.at - text);
            mask.end = mask.start + found.size;
            mask = with_blanks(vocabulary, text, bytes, mask, at);
        }
        status = encode_part(vocabulary, special, text + at, mask.start - at, at, ids + *count,
                             &added, unknown);
        *count += added;
        if (more && !status.code) {
            ids[(*count)++] = vocabulary->special.mask;
            ++*masks;
        }
        at = mask.end;
    }
    return status;
}

rt_status rt_masked_text_encode(const rt_vocabulary *vocabulary, bool begins, bool special,
                                const char *text, int32_t **ids_new, int *count, int *masks,
                                rt_unknown *unknown)
{
    const size_t bytes = strlen(text);
    *ids_new = NULL;
    *count = *masks = 0;
    *unknown = (rt_unknown){0};
    const int limit = rt_vocabulary_most_bytes(vocabulary) - 1;
    if (bytes > (size_t)limit)
        return rt_error(RT_ARGUMENT, "a text can have up to %d bytes; got %zu", limit, bytes);
    int32_t *ids = rt_alloc_unset(rt_vocabulary_most_ids(vocabulary, bytes) + 1, sizeof *ids);
    if (!ids)
        return rt_out_of_memory("the ids of a text");
    if (begins)
        ids[(*count)++] = vocabulary->special.cls;
    rt_status status = encode(vocabulary, special, text, ids, count, masks, unknown);
    if (!status.code && !*count)
        status = rt_error(RT_ARGUMENT,
                          "the text is empty, and the model has no token that begins a text");
    if (status.code)
        rt_free(ids);
    else
        *ids_new = ids;
    return status;
}

void rt_objective_check(const rt_data_options *o, rt_rule_sink to)
{
    /* Written to refuse a NaN as well. */
    if (o->objective == RT_OBJECTIVE_MLM && !(o->mask_probability > 0 && o->mask_probability <= 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.objective", "data.mask_probability"),
                       "data.mask_probability must be above 0 and at most 1; got %g",
                       o->mask_probability);
}

/* Returns a random ordinary token. */
static int32_t any_token(const rt_data *data, uint32_t word)
{
    const rt_vocabulary *v = data->vocabulary;
    const int first =
        data->special.cls == RT_NO_ID ? 0 : RT_FIRST_SYMBOL; /* used without a vocabulary */
    return v ? rt_vocabulary_ordinary_token(v,
                                            rt_word_below(word, rt_vocabulary_ordinary_tokens(v)))
             : first + rt_word_below(word, data->vocab - first);
}

/* Masks a chosen token as BERT does (Devlin et al. 2019): 80 % become [MASK], 10 % a random token,
 * 10 % stay. All are predicted. Uses words 1 and 2. */
static void mask_token(const rt_data *data, const uint32_t words[4], int32_t *id, int32_t *label)
{
    int tenth = rt_word_below(words[1], 10);
    *label = *id;
    if (tenth < 8)
        *id = data->special.mask;
    else if (tenth == 8)
        *id = any_token(data, words[2]);
}

/* Masks each token with data.mask_probability. If none was chosen, masks one, so that every
 * sequence has a label. This draw uses the index of the first token, which is never masked, or, if
 * no token begins the sequence, the index after the last. */
static void mask_some(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int first = rt_data_begins(data);
    rt_random random = {draw.seed, draw.step, RT_STREAM_MASK};
    uint32_t words[4];
    int chosen = 0;
    for (int t = first; t < row.length; t++) {
        rt_random_words(random, rt_draw_index(draw, t), words);
        if (words[0] * 0x1p-32 < data->options.mask_probability) {
            mask_token(data, words, &row.ids[t], &row.labels[t]);
            chosen++;
        }
    }
    if (chosen)
        return;
    rt_random_words(random, rt_draw_index(draw, first ? 0 : row.length), words);
    int t = first + rt_word_below(words[0], row.length - first);
    mask_token(data, words, &row.ids[t], &row.labels[t]);
}

/* Labels each position with the next id. The last position has no label; the token that begins the
 * sequence, if any, predicts the first token of the window. */
static void label_next(rt_sequence row)
{
    memcpy(row.labels, row.ids + 1, (size_t)(row.length - 1) * sizeof *row.labels);
}

void rt_objective_apply(const rt_data *data, rt_draw draw, rt_sequence row)
{
    if (data->options.objective == RT_OBJECTIVE_LM)
        label_next(row);
    else
        mask_some(data, draw, row);
}
