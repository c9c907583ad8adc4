/* Finding and checking the vocabulary of a text. */

#include "core/memory.h"
#include "data/documents.h"
#include "data/task.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/tokens.h"
#include "text/files.h"

void rt_text_check_vocabulary(const rt_data_options *o, rt_rule_sink to)
{
    if (o->vocab_file && o->level == RT_LEVEL_BYTE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.vocab_file", "data.level"),
                       "data.vocab_file is for data.level = char, wordpiece, bpe or residue: level "
                       "byte has all bytes as its vocabulary");
    if (o->lowercase && o->level != RT_LEVEL_WORDPIECE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.lowercase", "data.level"),
                       "data.lowercase is for data.level = wordpiece");
}

static rt_status check_special(const rt_data_options *o, const rt_vocabulary *vocabulary)
{
    const rt_special_ids *special = &vocabulary->special;
    const bool labelled = rt_data_task_labelled(o->task);
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

/* Reads data.vocab_file, at level bpe with the special ids of the given vocabulary: they may come
 * from other files. */
static rt_status read_vocabulary(rt_vocabulary **vocabulary_new, const rt_data_options *o,
                                 const rt_vocabulary *given)
{
    rt_vocabulary_kind kind = {.level = o->level, .lowercase = o->lowercase};
    if (given && given->bpe)
        kind = rt_vocabulary_kind_of(given);
    unsigned char *bytes;
    size_t size;
    rt_status status = rt_file_read("data.vocab_file", o->vocab_file, &bytes, &size);
    *vocabulary_new = NULL;
    if (status.code)
        return status;
    status = rt_vocabulary_read(vocabulary_new, kind, o->vocab_file, bytes, size);
    rt_free(bytes);
    return status;
}

rt_status rt_text_check_given(const rt_data *data)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    if (!given)
        return rt_ok();
    if (given->level != o->level)
        return rt_error(RT_CONFIG,
                        "data.level cuts a text into %s, but the vocabulary of the model has %s",
                        rt_words_for_tokens(o->level).many, rt_words_for_tokens(given->level).many);
    if (o->lowercase && !given->lowercase)
        return rt_error(RT_CONFIG,
                        "data.lowercase = yes, but the vocabulary of the model is cased");
    return rt_ok();
}

rt_status rt_text_use_vocabulary(rt_data *data, const rt_vocabulary *v)
{
    data->vocabulary = v;
    data->special = v->special;
    data->vocab = v->count;
    return check_special(&data->options, v);
}

/* Prefers the given vocabulary, which data.vocab_file must equal. */
rt_status rt_text_find_vocabulary(rt_data *data, rt_vocabulary_maker *make, void *context)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    rt_status status = rt_text_check_given(data);
    if (status.code)
        return status;
    if (o->vocab_file)
        status = read_vocabulary(&data->own, o, given);
    else if (!given && o->level == RT_LEVEL_BYTE)
        status = rt_vocabulary_of_bytes(&data->own);
    else if (!given && o->level == RT_LEVEL_BPE)
        status = rt_error(RT_CONFIG, "data.vocab_file must name a tokenizer.json for data.level = "
                                     "bpe");
    else if (!given && o->level == RT_LEVEL_WORDPIECE)
        status =
            rt_error(RT_CONFIG,
                     "data.vocab_file must name a vocab.txt for data.level = "
                     "wordpiece; train --train-tokenizer N --level wordpiece makes one of texts");
    else if (!given && o->level == RT_LEVEL_RESIDUE)
        status = rt_error(RT_CONFIG, "data.vocab_file must name a vocab.txt of ESM for data.level "
                                     "= residue");
    else if (!given)
        status = make(context, &data->own);
    if (!status.code && given && data->own && !rt_vocabularies_equal(given, data->own))
        status = rt_error(RT_CONFIG,
                          "data.vocab_file: %s%s is not the vocabulary that the model was trained "
                          "with; leave the key out to use that one",
                          o->vocab_file,
                          o->level != RT_LEVEL_WORDPIECE ? ""
                          : o->lowercase                 ? ", in lower case,"
                                                         : ", cased,");
    return status.code ? status : rt_text_use_vocabulary(data, given ? given : data->own);
}
