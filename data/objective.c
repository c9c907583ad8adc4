#include "core/memory.h"
#include "core/random.h"
#include "data/task.h"
#include "data/tokenizers/bpe.h"

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

/* Appends the ids of bytes from ... to - 1 of a text, which have no mask. */
static rt_status encode_part(const rt_vocabulary *v, bool special, const char *text, size_t from,
                             size_t to, int32_t *ids, int *count, rt_unknown *unknown)
{
    rt_unknown here;
    int added;
    if (from == to)
        return rt_ok();
    const rt_status status =
        (special ? rt_vocabulary_encode_special
                 : rt_vocabulary_encode)(v, text + from, to - from, ids + *count, &added, &here);
    rt_unknown_add(unknown, &here, from);
    *count += added;
    return status;
}

rt_status rt_masked_text_encode(const rt_vocabulary *v, bool begins, bool special, const char *text,
                                int32_t **ids_new, int *count, int *masks, rt_unknown *unknown)
{
    const bool masked = masks != NULL;
    const size_t bytes = strlen(text);
    const int limit = rt_vocabulary_most_bytes(v) - masked;
    rt_status status = rt_ok();
    *ids_new = NULL;
    *count = 0;
    if (masked)
        *masks = 0;
    *unknown = (rt_unknown){0};
    if (bytes > (size_t)limit)
        return rt_error(RT_ARGUMENT, "a text can have up to %d bytes; got %zu", limit, bytes);
    int32_t *ids = rt_alloc_unset(rt_vocabulary_most_ids(v, bytes) + masked, sizeof *ids);
    if (!ids)
        return rt_out_of_memory("the ids of a text");
    if (begins)
        ids[(*count)++] = v->special.cls;
    size_t at = 0;
    for (bool more = true; more && !status.code;) {
        const rt_mask_place found = masked ? rt_mask_find(v, text + at) : (rt_mask_place){NULL, 0};
        rt_found_token mask = {NULL, bytes, bytes};
        more = found.at != NULL;
        if (more) {
            mask.start = (size_t)(found.at - text);
            mask.end = mask.start + found.size;
            take_blanks(&mask, v, text, bytes, at);
        }
        status = encode_part(v, special, text, at, mask.start, ids, count, unknown);
        if (more && !status.code) {
            ids[(*count)++] = v->special.mask;
            ++*masks;
        }
        at = mask.end;
    }
    if (masked && !status.code && !*count)
        status = rt_error(RT_ARGUMENT,
                          "the text is empty, and the model has no token that begins a text");
    if (status.code) {
        rt_free(ids);
        *count = 0;
        return status;
    }
    *ids_new = ids;
    return status;
}

rt_status rt_data_encode(const rt_data *data, const char *text, int32_t **ids_new, int *count,
                         rt_unknown *unknown)
{
    *ids_new = NULL;
    *count = 0;
    *unknown = (rt_unknown){0};
    if (!data->vocabulary)
        return rt_error(RT_ARGUMENT, "data.task = %s has no text to tokenize", data->task->name);
    return rt_masked_text_encode(data->vocabulary, false, data->options.special, text, ids_new,
                                 count, NULL, unknown);
}

/* Masks a chosen token as BERT does (Devlin et al. 2019): 80 % become [MASK], 10 % a random token,
 * 10 % stay. All are predicted. Uses words 1 and 2. */
static void mask_token(const rt_data *data, const uint32_t words[4], int32_t *id, int32_t *label)
{
    const rt_vocabulary *v = data->vocabulary;
    const int tenth = rt_word_below(words[1], 10);
    const int first = data->special.cls == RT_NO_ID ? 0 : RT_FIRST_SYMBOL; /* without vocabulary */
    *label = *id;
    if (tenth < 8)
        *id = data->special.mask;
    else if (tenth == 8)
        *id = v ? v->ordinary[rt_word_below(words[2], v->ordinary_count)]
                : first + rt_word_below(words[2], data->vocab - first);
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

void rt_objective_apply(const rt_data *data, rt_draw draw, rt_sequence row)
{
    if (data->options.objective == RT_OBJECTIVE_MLM)
        mask_some(data, draw, row);
    else /* the token that begins the sequence, if any, predicts the first token of the window */
        memcpy(row.labels, row.ids + 1, (size_t)(row.length - 1) * sizeof *row.labels);
}
