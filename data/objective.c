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

/* Extends a mask by the blanks that belong to it. The tokenizer may define them; otherwise, at
 * level bpe, it is the blank before the mask, since pieces begin with theirs. */
static void take_blanks(rt_found_token *mask, const rt_vocabulary *v, const char *text,
                        size_t bytes, size_t before)
{
    mask->token = v->bpe ? rt_bpe_added(v->bpe, NULL, v->special.mask) : NULL;
    if (mask->token && (mask->token->takes_left || mask->token->takes_right))
        *mask = rt_found_token_with_blanks(*mask, (const unsigned char *)text, bytes, before);
    else
        mask->start -= v->bpe && mask->start > before && text[mask->start - 1] == ' ';
}

/* Allocates the ids of a text and of `others` tokens around it. */
static rt_status new_ids(int32_t **ids_new, const rt_vocabulary *v, size_t bytes, int others)
{
    const int limit = rt_vocabulary_most_bytes(v) - others;
    if (bytes > (size_t)limit)
        return rt_error(RT_ARGUMENT, "a text can have up to %d bytes; got %zu", limit, bytes);
    *ids_new = rt_alloc_unset(rt_vocabulary_most_ids(v, bytes) + (size_t)others, sizeof **ids_new);
    return *ids_new ? rt_ok() : rt_out_of_memory("the ids of a text");
}

/* Passes on the ids of a text or, after an error, frees them. */
static rt_status give_ids(rt_status status, int32_t *ids, int32_t **ids_new, int *count)
{
    if (status.code) {
        rt_free(ids);
        *count = 0;
    } else {
        *ids_new = ids;
    }
    return status;
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
        rt_found_token mask = {NULL, bytes, bytes};
        int added;
        more = found.at != NULL;
        if (more) {
            mask.start = (size_t)(found.at - text);
            mask.end = mask.start + found.size;
            take_blanks(&mask, vocabulary, text, bytes, at);
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
    int32_t *ids = *ids_new = NULL;
    *count = *masks = 0;
    *unknown = (rt_unknown){0};
    rt_status status = new_ids(&ids, vocabulary, strlen(text), 1);
    if (!status.code && begins)
        ids[(*count)++] = vocabulary->special.cls;
    if (!status.code)
        status = encode(vocabulary, special, text, ids, count, masks, unknown);
    if (!status.code && !*count)
        status = rt_error(RT_ARGUMENT,
                          "the text is empty, and the model has no token that begins a text");
    return give_ids(status, ids, ids_new, count);
}

rt_status rt_data_encode(const rt_data *data, const char *text, int32_t **ids_new, int *count,
                         rt_unknown *unknown)
{
    const size_t bytes = strlen(text);
    int32_t *ids = *ids_new = NULL;
    *count = 0;
    *unknown = (rt_unknown){0};
    if (!data->vocabulary)
        return rt_error(RT_ARGUMENT, "data.task = %s has no text to tokenize", data->task->name);
    rt_status status = new_ids(&ids, data->vocabulary, bytes, 0);
    if (!status.code)
        status = encode_part(data->vocabulary, data->options.special, text, bytes, 0, ids, count,
                             unknown);
    return give_ids(status, ids, ids_new, count);
}

/* ---- objectives ---- */

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
    return v ? v->ordinary[rt_word_below(word, v->ordinary_count)]
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
