/* Parts that all kinds of sources share: names and flags, the vocabulary, texts with masks, rows of
 * a batch and the training objective. */

#include "core/memory.h"
#include "data/task.h"
#include "data/tokenizers/bpe.h"
#include "util/files.h"

#include <string.h>

const char *rt_data_task_name(int task)
{
    int count = 0;
    while (rt_tasks[count].name && count != task)
        count++;
    return rt_tasks[count].name;
}

bool rt_documents_are_cut(const rt_data_options *o)
{
    return o->documents && *o->documents && strcmp(o->documents, "none") != 0;
}

bool rt_data_reads_training(const rt_data *data)
{
    return !data->evaluation_only || !data->options.eval_file;
}

bool rt_data_has_special_tokens(const rt_data *data)
{
    return !data->task->token_ids || data->options.special_tokens == RT_SPECIAL_TOKENS_YES;
}

bool rt_data_begins(const rt_data *data)
{
    return data->options.begin != RT_BEGIN_NONE && rt_data_has_special_tokens(data);
}

int rt_data_classes(const rt_data *data)
{
    return data->labels ? data->labels->count : data->task->classes;
}

static rt_status check_special(const rt_data_options *o, const rt_vocabulary *vocabulary)
{
    const rt_special_ids *special = &vocabulary->special;
    const bool labelled = rt_tasks[o->task].files == RT_ONE_FILE;
    const bool begins = special->cls != RT_NO_ID || o->begin == RT_BEGIN_NONE,
               ends = special->sep != RT_NO_ID;
    const bool framed = vocabulary->bpe &&
                        (vocabulary->bpe->first != RT_NO_ID || vocabulary->bpe->last != RT_NO_ID);
    if (labelled && framed)
        return rt_ok();
    if (labelled && !(begins && (ends || o->end == RT_BEGIN_NONE)))
        return rt_error(RT_CONFIG,
                        "data.task = %s needs tokens that begin and end a text, such as <s> and "
                        "</s>; the vocabulary has no such special token: set data.begin = none "
                        "and data.end = none",
                        rt_data_task_name(o->task));
    if (!begins)
        return rt_error(RT_CONFIG,
                        "data.task = %s needs a token that begins a sequence, such as <s> or "
                        "<|endoftext|>; the vocabulary has no such special token",
                        rt_data_task_name(o->task));
    if (!labelled && special->sep == RT_NO_ID && rt_documents_are_cut(o))
        return rt_error(RT_CONFIG,
                        "data.documents = %.60s needs a token that ends a text, such as "
                        "<|endoftext|>; the vocabulary has no such special token",
                        o->documents);
    if (!labelled && o->objective == RT_OBJECTIVE_MLM && special->mask == RT_NO_ID)
        return rt_error(RT_CONFIG, "data.objective = mlm needs a mask token, such as "
                                   "<mask>; the vocabulary has no such special token");
    return rt_ok();
}

rt_status rt_data_use_vocabulary(rt_data *data, const rt_vocabulary *v)
{
    data->vocabulary = v;
    data->special = v->special;
    data->vocab = v->count;
    return check_special(&data->options, v);
}

bool rt_data_takes_characters(const rt_data *data)
{
    const rt_data_options *o = &data->options;
    return o->level == RT_LEVEL_CHAR && !o->vocab_file && !data->meaning.vocabulary;
}

/* Prefers the given vocabulary, which data.vocab_file must equal. At level bpe the file is read
 * with the special ids of the given vocabulary: they may come from other files. */
rt_status rt_text_find_vocabulary(rt_data *data)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    rt_status status = rt_ok();
    if (o->vocab_file) {
        rt_vocabulary_kind kind = {.level = o->level, .lowercase = o->lowercase};
        unsigned char *bytes;
        size_t size;
        if (given && given->bpe)
            kind = rt_vocabulary_kind_of(given);
        status = rt_file_read("data.vocab_file", o->vocab_file, &bytes, &size);
        if (status.code)
            return status;
        status = rt_vocabulary_read(&data->own, kind, o->vocab_file, bytes, size);
        rt_free(bytes);
    } else if (!given && o->level == RT_LEVEL_BYTE) {
        status = rt_vocabulary_of_bytes(&data->own);
    } else if (!given && o->level == RT_LEVEL_BPE) {
        status = rt_error(RT_CONFIG, "data.vocab_file must name a tokenizer.json for data.level = "
                                     "bpe");
    } else if (!given && o->level == RT_LEVEL_WORDPIECE) {
        status =
            rt_error(RT_CONFIG,
                     "data.vocab_file must name a vocab.txt for data.level = "
                     "wordpiece; train --train-tokenizer N --level wordpiece makes one of texts");
    } else if (!given && o->level == RT_LEVEL_RESIDUE) {
        status = rt_error(RT_CONFIG, "data.vocab_file must name a vocab.txt of ESM for data.level "
                                     "= residue");
    }
    if (!status.code && given && data->own && !rt_vocabularies_equal(given, data->own))
        status = rt_error(RT_CONFIG,
                          "data.vocab_file: %s%s is not the vocabulary that the model was trained "
                          "with; leave the key out to use that one",
                          o->vocab_file,
                          o->level != RT_LEVEL_WORDPIECE ? ""
                          : o->lowercase                 ? ", in lower case,"
                                                         : ", cased,");
    return status.code ? status : rt_data_use_vocabulary(data, given ? given : data->own);
}

rt_mask_place rt_mask_find(const rt_vocabulary *vocabulary, const char *text)
{
    static const char word[] = "[MASK]";
    const int32_t id = vocabulary->special.mask;
    if (id == RT_NO_ID)
        return (rt_mask_place){NULL, 0};
    const rt_spelling own = rt_vocabulary_spell(vocabulary, id);
    for (; *text; text++) {
        if (own.size && !strncmp(text, own.bytes, own.size))
            return (rt_mask_place){text, own.size};
        if (!strncmp(text, word, sizeof word - 1))
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

rt_sequence rt_sequence_clear(const rt_data *data, rt_batch *batch, int number)
{
    const size_t at = (size_t)number * (size_t)batch->length, patch = (size_t)data->patch;
    const rt_sequence row = {batch->length,
                             batch->ids + at,
                             batch->labels + at,
                             batch->mask + at,
                             batch->types ? batch->types + at : NULL,
                             batch->distances ? batch->distances + at : NULL,
                             batch->patches ? batch->patches + at * patch : NULL};
    for (int t = 0; t < row.length; t++) {
        row.ids[t] = data->special.pad;
        row.labels[t] = RT_NO_LABEL;
        row.mask[t] = 0;
        if (row.types)
            row.types[t] = 0;
        if (row.distances)
            row.distances[t] = 0;
    }
    for (size_t i = 0; row.patches && i < (size_t)row.length * patch; i++)
        row.patches[i] = 0;
    return row;
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

bool rt_data_masks(const rt_data *data, int32_t id)
{
    const rt_special_ids *s = &data->special;
    if (id == s->mask || id == s->cls || id == s->sep || id == s->unknown)
        return false;
    if (data->vocabulary)
        return id != s->pad && rt_vocabulary_is_ordinary(data->vocabulary, id);
    return id >= RT_FIRST_SYMBOL || !rt_data_has_special_tokens(data);
}

/* For mlm, masks each token that is not special with data.mask_probability. If none was chosen,
 * masks one, so that every sequence with such a token has a label. This draw uses the index of the
 * first token, which is never masked, or, if no token begins the sequence, the index after the
 * last. */
void rt_objective_apply(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int first = rt_data_begins(data);
    const rt_random random = {draw.seed, draw.step, RT_STREAM_MASK};
    uint32_t words[4];
    int chosen = 0, ordinary = 0;
    if (data->options.objective != RT_OBJECTIVE_MLM) {
        /* the token that begins the sequence, if any, predicts the first token of the window */
        memcpy(row.labels, row.ids + 1, (size_t)(row.length - 1) * sizeof *row.labels);
        return;
    }
    for (int t = first; t < row.length; t++) {
        if (!rt_data_masks(data, row.ids[t]))
            continue;
        ordinary++;
        rt_random_words(random, rt_draw_index(draw, t), words);
        if (words[0] * 0x1p-32 < data->options.mask_probability) {
            mask_token(data, words, &row.ids[t], &row.labels[t]);
            chosen++;
        }
    }
    if (chosen || !ordinary)
        return;
    rt_random_words(random, rt_draw_index(draw, first ? 0 : row.length), words);
    int t = first;
    for (int left = rt_word_below(words[0], ordinary); left || !rt_data_masks(data, row.ids[t]);)
        left -= rt_data_masks(data, row.ids[t++]);
    mask_token(data, words, &row.ids[t], &row.labels[t]);
}
