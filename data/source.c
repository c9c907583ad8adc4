/* Parts that all kinds of sources share: the vocabulary, texts with masks, and rows of a batch. */

#include "data/source.h"

#include "core/memory.h"
#include "data/labels.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/masked_text.h"
#include "util/files.h"

const char *rt_data_task_name(int task)
{
    int count = 0;
    while (rt_tasks[count].name && count != task)
        count++;
    return rt_tasks[count].name;
}

bool rt_data_has_special_tokens(const rt_data *data)
{
    return !data->task->token_ids || data->options.special_tokens == RT_SPECIAL_TOKENS_YES;
}

bool rt_data_begins(const rt_data *data)
{
    return data->options.begin != RT_BEGIN_NONE && rt_data_has_special_tokens(data);
}

rt_status rt_data_use_vocabulary(rt_data *data, const rt_vocabulary *v)
{
    const rt_data_options *o = &data->options;
    const rt_special_ids *special = &v->special;
    const bool labelled = rt_tasks[o->task].kind == RT_DATA_LABELLED;
    const bool begins = special->cls != RT_NO_ID || o->begin == RT_BEGIN_NONE,
               ends = special->sep != RT_NO_ID;
    const bool framed = v->bpe && (v->bpe->first != RT_NO_ID || v->bpe->last != RT_NO_ID);
    data->vocabulary = v;
    data->special = v->special;
    data->vocab = v->count;
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
    if (!labelled && special->sep == RT_NO_ID && data->state->documents)
        return rt_error(RT_CONFIG,
                        "data.documents = %.60s needs a token that ends a text, such as "
                        "<|endoftext|>, as JSON lines do; the vocabulary has no such special token",
                        o->documents ? o->documents : "none");
    if (!labelled && o->objective == RT_OBJECTIVE_MLM && special->mask == RT_NO_ID)
        return rt_error(RT_CONFIG, "data.objective = mlm needs a mask token, such as "
                                   "<mask>; the vocabulary has no such special token");
    return rt_ok();
}

bool rt_data_takes_characters(const rt_data *data)
{
    const rt_data_options *o = &data->options;
    return o->level == RT_LEVEL_CHAR && !o->vocab_file && !data->state->meaning.vocabulary;
}

/* Prefers the given vocabulary, which data.vocab_file must equal. At level bpe the file is read
 * with the special ids of the given vocabulary: they may come from other files. */
rt_status rt_data_find_vocabulary(rt_data *data)
{
    static const char *const needed[] = {
        [RT_LEVEL_BPE] = "a tokenizer.json for data.level = bpe",
        [RT_LEVEL_WORDPIECE] =
            ("a vocab.txt for data.level = wordpiece; train --train-tokenizer N --level wordpiece "
             "makes one of texts"),
        [RT_LEVEL_RESIDUE] = "a vocab.txt of ESM for data.level = residue"};
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->state->meaning.vocabulary;
    if (o->vocab_file) {
        rt_vocabulary_kind kind = {.level = o->level, .lowercase = o->lowercase};
        RT_OWNED unsigned char *bytes = NULL;
        size_t size;
        if (given && given->bpe)
            kind = rt_vocabulary_kind_of(given);
        RT_TRY(rt_file_read("data.vocab_file", o->vocab_file, &bytes, &size));
        RT_TRY(rt_vocabulary_read(&data->state->vocabulary, kind, o->vocab_file, bytes, size));
    } else if (!given && o->level == RT_LEVEL_BYTE) {
        RT_TRY(rt_vocabulary_of_bytes(&data->state->vocabulary));
    } else if (!given && needed[o->level]) {
        return rt_error(RT_CONFIG, "data.vocab_file must name %s", needed[o->level]);
    }
    if (given && data->state->vocabulary && !rt_vocabularies_equal(given, data->state->vocabulary))
        return rt_error(RT_CONFIG,
                        "data.vocab_file: %s%s is not the vocabulary that the model was trained "
                        "with; leave the key out to use that one",
                        o->vocab_file,
                        o->level != RT_LEVEL_WORDPIECE ? ""
                        : o->lowercase                 ? ", in lower case,"
                                                       : ", cased,");
    return rt_data_use_vocabulary(data, given ? given : data->state->vocabulary);
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
