/* Models: opening, creation and saving; rows of texts; logits of rows. */

#include "io/rotor-io.h"

#include "core/memory.h"
#include "data/data.h"
#include "data/labelled_batch.h"
#include "data/tokenizers/masked_text.h"
#include "io/checkpoint/checkpoint.h"
#include "io/import.h"
#include "io/model_options.h"
#include "models/keys.h"
#include "models/options.h"
#include "models/sampler.h"
#include "ops/engine.h"
#include "util/key_value.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

struct rt_model_origin {
    rt_data_options data_options;
    rt_checkpoint_info info; /* has vocabulary and labels, of a folder too */
    rt_data *data;           /* encodes texts; nothing can be drawn from it */
    char *warnings;
};

static rt_status begin(rt_model **m, rt_model **model_new)
{
    *model_new = NULL;
    *m = rt_alloc(1, sizeof **m);
    struct rt_model_origin *origin = rt_alloc(1, sizeof *origin);
    if (!*m || !origin) {
        rt_free(*m);
        rt_free(origin);
        return rt_out_of_memory("a model");
    }
    (*m)->origin = origin;
    (*m)->warnings = "";
    return rt_ok();
}

static rt_status finish(rt_status status, rt_model *m, rt_model **model_new)
{
    if (status.code)
        rt_model_close(m);
    else
        *model_new = m;
    return status;
}

/* Turns an error of the options of a file, or of a model with them, into RT_CHECKPOINT. */
static rt_status as_checkpoint(rt_status status, const char *path)
{
    const bool of_options =
        status.code == RT_CONFIG || status.code == RT_ARGUMENT || status.code == RT_DATA;
    return of_options
               ? rt_error(RT_CHECKPOINT, "%.400s: %.600s", rt_path_name(path), status.message)
               : status;
}

/* Opens the data that encodes texts, with so many ids and types of tokens, and sets the options of
 * the model that follow from it (rt_model_options). */
static rt_status configure(rt_model *m, rt_transformer_options *options, int words, int types)
{
    struct rt_model_origin *o = m->origin;
    const rt_data_of_model meaning = {o->info.vocabulary, o->info.labels, words, types, 0, true};
    if (rt_tasks[o->data_options.task].kind == RT_DATA_IMAGES)
        return rt_error(RT_ARGUMENT, "the model is of images (data.task), which only the program "
                                     "evaluates");
    RT_TRY(rt_data_open_encoder(&o->data, &o->data_options, meaning));
    *options = rt_model_options(options, o->data);
    rt_transformer_resolve_lengths(options, o->data_options.length, o->data_options.length);
    m->vocabulary = o->info.vocabulary;
    m->labels = o->info.labels;
    m->length = o->data_options.length;
    m->step = o->info.step;
    return rt_transformer_check(options);
}

typedef struct tally {
    rt_image *image;
    size_t parameters, numbers;
} tally;

static void count(void *context, const char *path)
{
    tally *t = context;
    rt_shape shape;
    if (!rt_image_shape(t->image, RT_PRINTED(RT_PATH_SIZE, "/model/%s", path), &shape))
        return;
    t->parameters++;
    t->numbers += rt_shape_size(shape);
}

/* Checks the size of a model before it is allocated, because a forged file may ask for any size. In
 * memory every parameter has up to 64 bytes of padding. */
static rt_status check_size(const rt_transformer_options *options, rt_image *image,
                            const char *path)
{
    tally t = {.image = image};
    size_t size;
    RT_TRY(as_checkpoint(rt_transformer_size(options, &size), path));
    rt_image_visit(image, "/model", count, &t);
    if (size > t.numbers + t.parameters * (64 / sizeof(real)))
        return rt_error(RT_CHECKPOINT,
                        "%.400s: the model of its options has %zu numbers; the file has %zu",
                        rt_path_name(path), size, t.numbers);
    return rt_ok();
}

static rt_status open_file(rt_model *m, const char *path)
{
    RT_CLOSED_BY(rt_checkpoint_close) rt_checkpoint c = {0};
    struct rt_model_origin *o = m->origin;
    m->has_head = true;
    RT_TRY(rt_checkpoint_open(&c, path, RT_PARSE_HERE));
    o->data_options = c.data;
    o->info = c.info; /* moved to the model, but for the step, which the load compares */
    c.info = (rt_checkpoint_info){.step = o->info.step};
    RT_TRY(as_checkpoint(configure(m, &c.model, c.words, c.types), path));
    RT_TRY(check_size(&c.model, c.image, path));
    const rt_model_start start = {.seed = o->info.seed, .blank = true};
    RT_TRY(as_checkpoint(rt_transformer_new_from(&m->transformer, &c.model, &start), path));
    const rt_checkpoint_model model = rt_checkpoint_model_of(m->transformer, NULL, NULL, NULL);
    return rt_checkpoint_load(&c, &model);
}

static rt_status open_folder(rt_model *m, const char *path)
{
    rt_huggingface *imported;
    rt_status status = rt_import(&imported, path);
    if (status.code)
        return as_checkpoint(status, path);
    struct rt_model_origin *o = m->origin;
    rt_transformer_options options = imported->options;
    o->data_options = imported->data;
    o->info.vocabulary = imported->vocabulary; /* moved to the model, as the labels */
    o->info.labels = imported->sorted_labels;
    imported->vocabulary = NULL;
    imported->sorted_labels = NULL;
    o->warnings = rt_copy_text(imported->warnings);
    status = rt_allocated(o->warnings, "the warnings about a folder");
    if (!status.code)
        status = configure(m, &options, options.vocab, options.token_types);
    status = as_checkpoint(status, path);
    if (!status.code)
        status = rt_huggingface_model(imported, &options, &m->transformer, &m->has_head);
    m->warnings = o->warnings;
    o->info.seed = RT_HUGGINGFACE_SEED;
    rt_huggingface_close(imported);
    return status;
}

rt_transformer_options rt_model_defaults(rt_model_kind kind)
{
    rt_transformer_options options = {.kind = kind};
    rt_keys_set_defaults(&rt_model_keys, &options);
    options.kind = kind;
    for (int i = 0; i < rt_model_keys.count && kind == RT_KIND_DECODER; i++)
        if (rt_model_keys.keys[i].decoder)
            rt_key_value_set(&rt_model_keys.keys[i], rt_model_keys.keys[i].decoder, &options);
    return options;
}

/* Replaces each 0 that its key does not allow by the default, and refuses other invalid values. */
static rt_status check_keys(const rt_key_table *table, void *options, const void *defaults,
                            void *scratch)
{
    char value[RT_VALUE_SIZE], name[RT_KEY_NAME_SIZE];
    rt_status status = rt_ok();
    for (int i = 0; i < table->count && !status.code; i++) {
        const rt_key *key = &table->keys[i];
        rt_writer problem = {0};
        rt_key_value_write(key, options, value);
        const bool taken = rt_key_value_read(key, value, scratch, &problem);
        if (!taken && !strcmp(value, "0"))
            memcpy((char *)options + key->offset, (const char *)defaults + key->offset, key->size);
        else if (taken) /* a copy: the caller may free its texts and lists */
            memcpy((char *)options + key->offset, (const char *)scratch + key->offset, key->size);
        else if (problem.failed)
            status = rt_out_of_memory("options");
        else
            status = rt_error(RT_CONFIG, "%s %s", rt_key_full_name(key, name),
                              problem.bytes ? problem.bytes : "");
        rt_writer_free(&problem);
    }
    return status;
}

static rt_status check_parts(const rt_transformer_options *o, const rt_vocabulary *vocabulary,
                             const rt_labels *labels)
{
    if (vocabulary && vocabulary->count < 1)
        return rt_error(RT_ARGUMENT, "the vocabulary has no ids: it was not made by rotor");
    if (vocabulary && o->vocab < vocabulary->count)
        return rt_error(RT_ARGUMENT, "model.vocab is %d; the vocabulary has %d ids", o->vocab,
                        vocabulary->count);
    if (o->head == RT_HEAD_LM ? labels != NULL : !labels || labels->count != o->labels)
        return rt_error(
            RT_ARGUMENT,
            "a sequence or token head needs the names of its %d labels, an lm head none",
            o->labels);
    if (o->head != RT_HEAD_LM && !vocabulary)
        return rt_error(RT_ARGUMENT, "a sequence or token head needs a vocabulary");
    return rt_transformer_check(o);
}

/* Copies vocabulary and labels, because the caller may free its own. */
static rt_status copy_meaning(rt_checkpoint_info *info, const rt_vocabulary *vocabulary,
                              const rt_labels *labels)
{
    RT_OWNED char *text = NULL;
    if (vocabulary)
        RT_TRY(rt_vocabulary_copy(&info->vocabulary, vocabulary));
    if (!labels)
        return rt_ok();
    RT_TRY(rt_labels_write(labels, &text));
    return rt_labels_read(&info->labels, "a new model", text, strlen(text)); /* for messages */
}

rt_status rt_model_new(rt_model **model_new, const rt_transformer_options *options,
                       const rt_vocabulary *vocabulary, const rt_labels *labels, int length,
                       uint64_t seed)
{
    const rt_transformer_options defaults = rt_model_defaults(options->kind);
    rt_transformer_options own = *options, scratch = defaults;
    rt_model *m;
    RT_TRY(begin(&m, model_new));
    rt_data_options *data = &m->origin->data_options, data_scratch;
    if (vocabulary && !own.vocab)
        own.vocab = vocabulary->count;
    if (labels && !own.labels)
        own.labels = labels->count;
    rt_status status = check_parts(&own, vocabulary, labels);
    if (!status.code)
        status = check_keys(&rt_model_keys, &own, &defaults, &scratch);
    if (!status.code)
        status = copy_meaning(&m->origin->info, vocabulary, labels);
    if (!status.code) {
        *data = data_scratch = rt_data_options_of(&own, vocabulary, length, RT_BEGIN_AUTO);
        status = check_keys(&rt_data_keys, data, data, &data_scratch);
    }
    if (!status.code)
        status = configure(m, &own, own.vocab, own.token_types);
    if (!status.code)
        status = rt_transformer_new(&m->transformer, &own, seed, NULL);
    m->origin->info.seed = seed;
    m->has_head = true;
    return finish(status, m, model_new);
}

rt_status rt_model_open(rt_model **model_new, const char *path)
{
    rt_model *m;
    RT_TRY(begin(&m, model_new));
    const bool folder = rt_is_import(path);
    rt_status status = folder ? rt_ok() : rt_huggingface_refuse_format(path);
    if (!status.code)
        status = folder ? open_folder(m, path) : open_file(m, path);
    return finish(status, m, model_new);
}

void rt_model_close(rt_model *m)
{
    if (!m || !m->origin)
        return;
    rt_transformer_free(m->transformer);
    rt_data_close(m->origin->data);
    rt_checkpoint_info_free(&m->origin->info);
    rt_free(m->origin->warnings);
    rt_free(m->origin);
    rt_free(m);
}

static rt_status check_made(const rt_model *m)
{
    return m->origin && m->transformer
               ? rt_ok()
               : rt_error(RT_ARGUMENT,
                          "the model was made by hand: rt_model_new makes one that can "
                          "be saved");
}

rt_status rt_model_save(const rt_model *m, const char *path)
{
    RT_TRY(check_made(m));
    rt_checkpoint_info info = m->origin->info;
    info.step = m->step;
    info.evaluations = RT_NO_EVALUATIONS; /* the parameters may have changed */
    rt_kernels_describe(info.blas);
    if (info.step < m->origin->info.step || info.step > RT_CHECKPOINT_STEPS)
        return rt_error(RT_ARGUMENT,
                        "the step of the model must be from %" PRId64 " to %d; got %" PRId64,
                        m->origin->info.step, RT_CHECKPOINT_STEPS, info.step);
    RT_OWNED real *zeros = rt_alloc(m->transformer->parameters.block_size, sizeof *zeros);
    RT_TRY(rt_allocated(zeros, "a checkpoint"));
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    const rt_checkpoint_model model =
        rt_checkpoint_model_of(m->transformer, &m->origin->data_options,
                               rt_update_rule_of(&settings),
                               (real *const[RT_MOST_STATES]){zeros, zeros});
    return rt_checkpoint_save(path, &model, &info);
}

rt_status rt_model_export(const rt_model *m, const char *folder)
{
    RT_TRY(check_made(m));
    const rt_huggingface_export export = {
        .vocabulary = m->vocabulary,
        .lowercase = m->vocabulary && m->vocabulary->lowercase,
        .labels = m->labels ? (const char *const *)m->labels->names : NULL,
        .length = m->length,
        .positions = rt_transformer_extent(&m->transformer->options, m->length),
        .bare = !rt_data_begins(m->origin->data),
        .open_ended = m->origin->data->options.end == RT_BEGIN_NONE};
    return rt_huggingface_write(folder, m->transformer, &export);
}

void rt_row_free(rt_row *row)
{
    rt_free(row->ids);
    rt_free(row->types);
    rt_free(row->tokens);
    *row = (rt_row){.length = 0};
}

static rt_status encode_labelled(const rt_model *m, const char *text, const char *second,
                                 rt_row *row)
{
    const rt_data *data = m->origin->data;
    const bool tokens = data->task->target == RT_TARGET_TOKENS;
    RT_CLOSED_BY(rt_example_text_free) rt_example_text x = {0};
    RT_CLOSED_BY(rt_labelled_batch_free) rt_labelled_batch b = {0};
    RT_TRY(rt_labelled_batch_new(&b, 1, m->length, 0, NULL));
    RT_TRY(tokens ? rt_data_encode_example(&x, data, text, strlen(text), &b.batch)
                  : rt_data_encode_texts(&x, data, text, second, &b.batch));
    *row = (rt_row){.ids = b.batch.ids,
                    .types = b.batch.types,
                    .tokens = tokens ? b.batch.labels : NULL,
                    .cut = x.cut,
                    .unknown = x.unknown};
    while (row->length < b.batch.length && b.batch.mask[row->length])
        row->length++;
    for (int t = 0; t < row->length && tokens; t++)
        if (row->tokens[t] == RT_NO_LABEL)
            row->tokens[t] = RT_NO_TOKEN;
    b.batch.ids = b.batch.types = NULL; /* the arrays are the row's now */
    b.batch.labels = tokens ? NULL : b.batch.labels;
    return rt_ok();
}

rt_status rt_model_encode(const rt_model *m, const char *text, const char *second, rt_row *row)
{
    const bool begins = !m->origin || rt_data_begins(m->origin->data);
    int masks;
    *row = (rt_row){.length = 0};
    if (!m->vocabulary)
        return rt_error(RT_ARGUMENT, "the model has no vocabulary: it reads token ids, not texts");
    if (m->labels && !m->origin)
        return rt_error(RT_ARGUMENT, "the model was made by hand: rt_model_new makes one that "
                                     "knows its labels");
    if (second && (!m->labels || m->origin->data->task->target == RT_TARGET_TOKENS))
        return rt_error(RT_ARGUMENT, "the model was trained without pairs of texts");
    return m->labels ? encode_labelled(m, text, second, row)
                     : rt_masked_text_encode(m->vocabulary, begins, false, text, &row->ids,
                                             &row->length, &masks, &row->unknown);
}

rt_tensor *rt_model_logits(rt_model *m, rt_graph *g, const rt_row *rows, int count)
{
    int T = 0;
    if (!m->transformer)
        return rt_graph_fail(g, RT_ARGUMENT, "[model] has no transformer: rt_model_new makes one");
    if (rt_graph_failed(g))
        return NULL;
    if (count < 1)
        return rt_graph_fail(g, RT_ARGUMENT, "[model] needs at least one row; got %d", count);
    for (int i = 0; i < count; i++) {
        if (rows[i].length < 1 || !rows[i].ids)
            return rt_graph_fail(g, RT_ARGUMENT, "[model] row %d has no ids", i);
        T = rows[i].length > T ? rows[i].length : T;
    }
    if (T > INT_MAX / count)
        return rt_graph_fail(g, RT_ARGUMENT, "[model] %d rows of %d tokens are too many", count, T);

    /* rows side by side, padded to T, in memory of the graph */
    const size_t size = (size_t)count * (size_t)T;
    const int32_t pad = m->vocabulary ? m->vocabulary->special.pad : RT_ID_PAD;
    int32_t *ids = rt_graph_memory(g, size, sizeof *ids);
    int32_t *types = rt_graph_memory(g, size, sizeof *types);
    uint8_t *mask = rt_graph_memory(g, size, sizeof *mask);
    if (!ids || !types || !mask)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        const rt_row *row = rows + i / (size_t)T;
        const size_t t = i % (size_t)T;
        mask[i] = t < (size_t)row->length;
        ids[i] = mask[i] ? row->ids[t] : pad;
        types[i] = mask[i] && row->types ? row->types[t] : 0;
    }
    const rt_transformer_input in = {.B = count,
                                     .T = T,
                                     .ids = ids,
                                     .token_types = types,
                                     .key_mask = mask,
                                     .padding_id = RT_NO_PADDING};
    return rt_transformer_forward(m->transformer, g, &in);
}

rt_status rt_logits_probabilities(const rt_tensor *logits, size_t row, double *probabilities)
{
    const int columns = rt_columns(logits);
    if (!logits->data)
        return rt_error(RT_ARGUMENT, "the tensor of logits has no values");
    return rt_probabilities(logits->data + row * (size_t)columns, columns, probabilities);
}

rt_status rt_model_classify(rt_model *m, const char *text, const char *second,
                            double *probabilities)
{
    RT_CLOSED_BY(rt_row_free) rt_row row = {0};
    if (!m->labels || !m->transformer || m->transformer->options.head != RT_HEAD_SEQUENCE)
        return rt_error(RT_ARGUMENT, "the model has no classes of texts");
    RT_TRY(rt_model_encode(m, text, second, &row));
    rt_graph *g = rt_graph_new();
    rt_status status = rt_allocated(g, "a graph");
    if (g) {
        rt_graph_record(g, false);
        const rt_tensor *logits = rt_model_logits(m, g, &row, 1);
        status = rt_engine_graph_status(g);
        if (!status.code)
            status = rt_logits_probabilities(logits, 0, probabilities);
    }
    rt_graph_free(g);
    return status;
}
