#include "io/huggingface/imported.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/private.h"
#include "io/huggingface/tokenizer.h"
#include "io/model_options.h"
#include "models/keys.h"
#include "text/key_value.h"

#include <stdio.h>
#include <string.h>

/* ---- labels ---- */

static rt_status as_checkpoint(rt_status status)
{
    return status.code == RT_DATA ? rt_error(RT_CHECKPOINT, "%s", status.message) : status;
}

/* Two classes of one name could not be told apart. */
static rt_status check_names(const rt_label_name *names, int count)
{
    for (int i = 0; i < count; i++) {
        const char *problem = rt_label_problem(names[i]);
        if (problem)
            return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": id2label of %d %s", i, problem);
    }
    return rt_ok();
}

/* Finds the class number that each label had. */
static void find_places(rt_imported *m)
{
    const int count = m->there->options.labels;
    for (int i = 0; i < count; i++) {
        const char *name = m->there->labels[i];
        m->places[rt_labels_find(m->labels, (rt_label_name){name, strlen(name)})] = i;
    }
}

static rt_status read_labels(rt_imported *m)
{
    const int count = m->there->options.labels;
    if (!m->there->labels)
        return rt_ok();
    rt_label_name *names = rt_alloc((size_t)count, sizeof *names);
    m->places = rt_alloc((size_t)count, sizeof *m->places);
    rt_status status = names && m->places ? rt_ok() : rt_out_of_memory("labels");
    for (int i = 0; i < count && !status.code; i++)
        names[i] = (rt_label_name){m->there->labels[i], strlen(m->there->labels[i])};
    if (!status.code)
        status = check_names(names, count);
    if (!status.code)
        status = as_checkpoint(rt_labels_of(&m->labels, RT_HF_CONFIG, names, (size_t)count));
    if (!status.code && m->labels->count < count)
        status = rt_error(RT_CHECKPOINT,
                          RT_HF_CONFIG ": id2label has %d classes, but %d different names", count,
                          m->labels->count);
    if (!status.code)
        find_places(m);
    rt_free(names);
    return status;
}

/* ---- what it reads ---- */

/* A length that rotor trained with is kept; a few positions, of a model of others, are not a
 * length. */
enum { LEAST_POSITIONS = 8 };

static void find_data(rt_imported *m)
{
    const rt_huggingface *there = m->there;
    const bool known = there->own || there->length >= LEAST_POSITIONS;
    m->data = rt_data_options_of(&there->options, m->vocabulary, known ? there->length : 0,
                                 m->bare ? RT_BEGIN_NONE : RT_BEGIN_AUTO);
    if (m->open_ended)
        m->data.end = RT_BEGIN_NONE;
    if (!m->vocabulary && there->options.mask_id > 0)
        m->data.mask_id = there->options.mask_id;
}

/* ---- the folder ---- */

static rt_status add_warning(rt_huggingface *there, const char *line)
{
    rt_writer w = {0};
    rt_writer_add(&w, "%s%s\n", there->warnings, line);
    char *warnings = rt_writer_take(&w);
    if (!warnings)
        return rt_out_of_memory("warnings");
    rt_free(there->warnings);
    there->warnings = warnings;
    return rt_ok();
}

/* Finds out whether a token is put before a text, and behind one with a label. A tokenizer of BPE
 * does so if its template has one, others always. What rotor has trained with is what it wrote. */
static void find_frame(rt_imported *m)
{
    const rt_bpe *bpe = m->vocabulary ? m->vocabulary->bpe : NULL;
    m->bare = m->there->own ? m->there->bare : bpe && bpe->first == RT_NO_ID;
    m->open_ended = m->there->own ? m->there->open_ended : bpe && bpe->last == RT_NO_ID;
}

/* The mask of the vocabulary hides tokens, that of config.json scales the others: of a model that
 * scales they must be the same. */
static rt_status check_mask(rt_imported *m)
{
    const rt_transformer_options *o = &m->there->options;
    const rt_vocabulary *v = m->vocabulary;
    char line[RT_MESSAGE_SIZE];
    if (!v && o->token_dropout && !o->mask_id)
        return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": mask_token_id is 0, the id of padding where "
                                                    "the folder has no vocabulary");
    if (!v || o->mask_id <= 0 || v->special.mask == o->mask_id)
        return rt_ok();
    snprintf(line, sizeof line,
             RT_HF_CONFIG ": mask_token_id is %d, but the mask of the vocabulary has the id %d",
             o->mask_id, (int)v->special.mask);
    if (o->token_dropout)
        return rt_error(RT_CHECKPOINT,
                        "%s; make them equal: with token_dropout = true the model "
                        "depends on both",
                        line);
    snprintf(line + strlen(line), sizeof line - strlen(line),
             "; rotor uses that of the vocabulary");
    return add_warning(m->there, line);
}

/* Tokenizers of decoders are of many kinds: one that rotor has not leaves the ids. */
static rt_status read_vocabulary(rt_imported *m, const char *folder)
{
    char line[RT_MESSAGE_SIZE + 64];
    rt_status status = rt_tokenizer_read(&m->vocabulary, folder, m->there->level, &m->warning);
    find_frame(m);
    if (!status.code && !m->bare && m->vocabulary && m->vocabulary->special.cls == RT_NO_ID) {
        rt_vocabulary_free(m->vocabulary);
        m->vocabulary = NULL;
        status = rt_error(RT_CHECKPOINT, "the vocabulary has no token that begins a sequence");
    }
    if (status.code != RT_CHECKPOINT || m->there->options.kind != RT_KIND_DECODER)
        return status;
    m->refused = rt_copy_text(status.message);
    if (!m->refused)
        return rt_out_of_memory("warnings");
    snprintf(line, sizeof line, "%s; the model reads token ids, but no texts", status.message);
    return add_warning(m->there, line);
}

rt_status rt_imported_no_vocabulary(const rt_imported *m, const char *path)
{
    return m->refused
               ? rt_error(RT_CHECKPOINT, "%.400s: %.600s; the model reads token ids, not texts",
                          path, m->refused)
               : rt_error(RT_CHECKPOINT,
                          "%s has no vocab.txt and no tokenizer.json that rotor reads: the model "
                          "reads token ids, not texts",
                          path);
}

static rt_status check_vocabulary(const rt_imported *m)
{
    const int words = m->there->options.vocab;
    if (!m->vocabulary || m->vocabulary->count <= words)
        return rt_ok();
    return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": vocab_size is %d; the vocabulary has %d tokens",
                    words, m->vocabulary->count);
}

/* The vocabulary knows from now on what ends a text. Rows behind its last token are of no token. */
static rt_status take_ends(rt_imported *m)
{
    const rt_end_ids *ends = &m->there->ends;
    rt_status status = rt_ok();
    for (int i = 0; m->vocabulary && i < ends->count && !status.code; i++)
        if (ends->ids[i] < m->vocabulary->count)
            m->vocabulary->ends.ids[m->vocabulary->ends.count++] = ends->ids[i];
        else
            status = add_warning(
                m->there, "the vocabulary lacks a token of eos_token_id: that token ends no text");
    return status;
}

rt_status rt_imported_open(rt_imported **imported_new, const char *folder)
{
    rt_imported *m = rt_alloc(1, sizeof *m);
    *imported_new = NULL;
    if (!m)
        return rt_out_of_memory("a folder of Hugging Face");
    rt_status status = rt_huggingface_open(&m->there, folder);
    if (!status.code)
        status = read_vocabulary(m, folder);
    if (!status.code)
        status = check_vocabulary(m);
    if (!status.code)
        status = check_mask(m);
    if (!status.code)
        status = take_ends(m);
    if (!status.code)
        status = read_labels(m);
    if (status.code) {
        rt_imported_close(m);
    } else {
        find_data(m);
        *imported_new = m;
    }
    return status;
}

void rt_imported_close(rt_imported *m)
{
    if (!m)
        return;
    rt_huggingface_close(m->there);
    rt_vocabulary_free(m->vocabulary);
    rt_labels_free(m->labels);
    rt_free(m->places);
    rt_free(m->refused);
    rt_free(m);
}

/* ---- values ---- */

/* Row i of a parameter of the head becomes what row places[i] was. */
static rt_status sort_rows(const rt_imported *m, rt_tensor *t)
{
    const size_t rows = (size_t)m->there->options.labels, size = rt_size(t), width = size / rows;
    real *before = rt_alloc(size, sizeof *before);
    if (!before)
        return rt_out_of_memory("the head of a model");
    memcpy(before, t->data, size * sizeof *before);
    for (size_t i = 0; i < rows; i++)
        memcpy(t->data + i * width, before + (size_t)m->places[i] * width, width * sizeof *before);
    rt_free(before);
    return rt_ok();
}

/* The parameters of the head as they are now, or as they were. */
static rt_status keep_head(const rt_parameters *p, real **kept_new)
{
    *kept_new = rt_alloc(p->block_size, sizeof **kept_new);
    if (!*kept_new)
        return rt_out_of_memory("the head of a model");
    memcpy(*kept_new, p->values, p->block_size * sizeof **kept_new);
    return rt_ok();
}

static void put_head_back(const rt_parameters *p, const real *kept)
{
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->part == RT_PART_HEAD)
            memcpy(p->list[i]->tensor.data, kept + p->list[i]->offset,
                   rt_size(&p->list[i]->tensor) * sizeof *kept);
}

rt_status rt_imported_load(const rt_imported *m, rt_transformer *model, bool head,
                           rt_huggingface_taken *taken)
{
    real *kept = NULL;
    rt_status status = head ? rt_ok() : keep_head(&model->parameters, &kept);
    if (!status.code)
        status = rt_huggingface_load(m->there, model, taken);
    if (!status.code && !head) {
        put_head_back(&model->parameters, kept);
        taken->head = false;
    }
    if (!status.code && taken->head && m->places) {
        status = sort_rows(m, model->head.classifier.weight);
        if (!status.code && model->head.classifier.bias)
            status = sort_rows(m, model->head.classifier.bias);
    }
    rt_free(kept);
    return status;
}

/* A list, and a key that says as much of all layers, are the same. */
static bool same_positions(const rt_transformer_options *a, const rt_transformer_options *b)
{
    for (int l = 0; l < b->layers; l++)
        if (rt_layer_row_of(a, l).has_positions != rt_layer_row_of(b, l).has_positions)
            return false;
    return true;
}

/* Keys by which a model computes something else. Layers and widths need no look: with others, the
 * weights do not fit. */
static const char *const computing[] = {"model.norm",       "model.norm_eps",
                                        "model.activation", "model.attention",
                                        "model.ffn",        "model.causal",
                                        "model.residual",   "model.token_dropout",
                                        "model.classifier", "model.window",
                                        "model.layer_types"};

const char *rt_imported_difference(const rt_imported *m, const rt_transformer_options *o,
                                   bool theta)
{
    const rt_transformer_options *there = &m->there->options;
    const bool labels = there->head == o->head && o->head != RT_HEAD_LM;
    for (size_t i = 0; i < sizeof computing / sizeof *computing; i++) {
        const char *name = computing[i];
        if (!rt_key_value_equal(rt_keys_find(&rt_model_keys, name), there, o) &&
            (labels || strcmp(name, "model.classifier") != 0))
            return name;
    }
    if (!same_positions(there, o))
        return o->position.every > 1 ? "position.every" : "position.layers";
    if (o->position.xpos > 0)
        return "position.xpos";
    if (there->position.rotate_value != o->position.rotate_value)
        return "position.rotate_value";
    return theta || o->theta.learn ? NULL : "the fixed theta";
}
