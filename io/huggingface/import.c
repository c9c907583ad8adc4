/* Opens a folder as a run needs it: vocabulary, labels, data options. Compares models. */

#include "io/huggingface/private.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/model_options.h"
#include "models/keys.h"
#include "text/key_value.h"

#include <string.h>

/* Sorts the labels, whose names must differ, and finds the place of each class in the folder. */
static rt_status sort_labels(rt_huggingface *m)
{
    const int count = m->options.labels;
    if (!m->labels)
        return rt_ok();
    rt_text_span *names = rt_alloc((size_t)count, sizeof *names);
    m->places = rt_alloc((size_t)count, sizeof *m->places);
    rt_status status = names && m->places ? rt_ok() : rt_out_of_memory("labels");
    for (int i = 0; i < count && !status.code; i++) {
        names[i] = (rt_text_span){m->labels[i], strlen(m->labels[i])};
        const char *problem = rt_label_problem(names[i]);
        if (problem)
            status = rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": id2label of %d %s", i, problem);
    }
    if (!status.code)
        status = rt_labels_of(&m->sorted_labels, RT_HF_CONFIG, names, (size_t)count);
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    if (!status.code && m->sorted_labels->count < count)
        status = rt_error(RT_CHECKPOINT,
                          RT_HF_CONFIG ": id2label has %d classes, but %d different names", count,
                          m->sorted_labels->count);
    for (int i = 0; i < count && !status.code; i++) {
        const rt_text_span name = {m->labels[i], strlen(m->labels[i])};
        m->places[rt_labels_find(m->sorted_labels, name)] = i;
    }
    rt_free(names);
    return status;
}

/* Checks that mask_token_id is the mask of the vocabulary. The latter hides tokens. The former
 * scales embeddings with token_dropout, which therefore requires both to be equal. */
static rt_status check_mask(rt_huggingface *m)
{
    static const char differ[] =
        RT_HF_CONFIG ": mask_token_id is %d, but the mask of the vocabulary has the id %d; %s";
    const rt_transformer_options *o = &m->options;
    const rt_vocabulary *v = m->vocabulary;
    if (!v && o->token_dropout && !o->mask_id)
        return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": mask_token_id is 0, the id of padding where "
                                                    "the folder has no vocabulary");
    if (!v || o->mask_id <= 0 || v->special.mask == o->mask_id)
        return rt_ok();
    if (o->token_dropout)
        return rt_error(RT_CHECKPOINT, differ, o->mask_id, (int)v->special.mask,
                        "make them equal: with token_dropout = true the model depends on both");
    rt_writer_add(&m->files->warnings, differ, o->mask_id, (int)v->special.mask,
                  "rotor uses that of the vocabulary\n");
    return rt_ok();
}

/* Reads the vocabulary. A decoder whose tokenizer is refused reads ids only. Determines whether a
 * token is put before a text, and after one with a label: a BPE tokenizer does so if its template
 * has one, others always. For a folder that rotor wrote, config.json says so. */
static rt_status read_vocabulary(rt_huggingface *m, const char *folder, const char **warning)
{
    rt_status status = rt_tokenizer_read(&m->vocabulary, folder, m->level, warning);
    const rt_bpe *bpe = m->vocabulary ? m->vocabulary->bpe : NULL;
    if (!m->own) {
        m->bare = bpe && bpe->first == RT_NO_ID;
        m->open_ended = bpe && bpe->last == RT_NO_ID;
    }
    if (!status.code && !m->bare && m->vocabulary && m->vocabulary->special.cls == RT_NO_ID) {
        rt_vocabulary_free(m->vocabulary);
        m->vocabulary = NULL;
        status = rt_error(RT_CHECKPOINT, "the vocabulary has no token that begins a sequence");
    }
    if (status.code != RT_CHECKPOINT || m->options.kind != RT_KIND_DECODER)
        return status;
    m->refused = rt_copy_text(status.message);
    rt_writer_add(&m->files->warnings, "%s; the model reads token ids, but no texts\n",
                  status.message);
    return m->refused ? rt_ok() : rt_out_of_memory("warnings");
}

rt_status rt_huggingface_no_vocabulary(const rt_huggingface *m, const char *path)
{
    return m->refused
               ? rt_error(RT_CHECKPOINT, "%.400s: %.600s; the model reads token ids, not texts",
                          path, m->refused)
               : rt_error(RT_CHECKPOINT,
                          "%s has no vocab.txt and no tokenizer.json that rotor reads: the model "
                          "reads token ids, not texts",
                          path);
}

rt_status rt_huggingface_import(rt_huggingface **imported_new, const char *folder)
{
    /* least max_position_embeddings that counts as a length, except in folders that rotor wrote */
    enum { LEAST_POSITIONS = 8 };
    rt_huggingface *m;
    const char *warning = NULL;
    rt_status status = rt_huggingface_open(&m, folder);
    *imported_new = NULL;
    if (!status.code)
        status = read_vocabulary(m, folder, &warning);
    if (!status.code && m->vocabulary && m->vocabulary->count > m->options.vocab)
        status =
            rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": vocab_size is %d; the vocabulary has %d tokens",
                     m->options.vocab, m->vocabulary->count);
    if (!status.code)
        status = check_mask(m);
    for (int i = 0; !status.code && m->vocabulary && i < m->ends.count; i++)
        if (m->ends.ids[i] < m->vocabulary->count)
            m->vocabulary->ends.ids[m->vocabulary->ends.count++] = m->ends.ids[i];
        else
            rt_writer_add(&m->files->warnings, "the vocabulary lacks a token of eos_token_id: that "
                                               "token ends no text\n");
    if (!status.code)
        status = sort_labels(m);
    if (!status.code && warning)
        rt_writer_add(&m->files->warnings, "%s\n", warning);
    if (!status.code)
        status = rt_huggingface_warnings(m);
    if (status.code) {
        rt_huggingface_close(m);
        return status;
    }
    const bool known = m->own || m->length >= LEAST_POSITIONS;
    m->data = rt_data_options_of(&m->options, m->vocabulary, known ? m->length : 0,
                                 m->bare ? RT_BEGIN_NONE : RT_BEGIN_AUTO);
    if (m->open_ended)
        m->data.end = RT_BEGIN_NONE;
    if (!m->vocabulary && m->options.mask_id > 0)
        m->data.mask_id = m->options.mask_id;
    *imported_new = m;
    return rt_ok();
}

/* Keys that change what a model computes. Layers and widths are not among them, because weights of
 * other sizes do not fit. */
static const char *const computing[] = {"model.norm",       "model.norm_eps",
                                        "model.activation", "model.attention",
                                        "model.ffn",        "model.causal",
                                        "model.residual",   "model.token_dropout",
                                        "model.classifier", "model.window",
                                        "model.layer_types"};

const char *rt_huggingface_difference(const rt_huggingface *m, const rt_transformer_options *o,
                                      bool theta)
{
    const rt_transformer_options *there = &m->options;
    const bool labels = there->head == o->head && o->head != RT_HEAD_LM;
    for (size_t i = 0; i < sizeof computing / sizeof *computing; i++) {
        const char *name = computing[i];
        if (!rt_key_value_equal(rt_keys_find(&rt_model_keys, name), there, o) &&
            (labels || strcmp(name, "model.classifier") != 0))
            return name;
    }
    for (int l = 0; l < o->layers; l++) /* by a list or by position.every */
        if (rt_layer_row_of(there, l).has_positions != rt_layer_row_of(o, l).has_positions)
            return o->position.every > 1 ? "position.every" : "position.layers";
    if (o->position.xpos > 0)
        return "position.xpos";
    if (there->position.rotate_value != o->position.rotate_value)
        return "position.rotate_value";
    return theta || o->theta.learn ? NULL : "the fixed theta";
}
