/* Opening a model. */

#include "io/origin.h"

#include "core/memory.h"
#include "train/huggingface/imported.h"
#include "train/step/batch_loss.h"

#include <stdio.h>

/* What is wrong with a configuration, or a model of it, is wrong with the file that has it. */
static rt_status as_checkpoint(rt_status status, const char *path)
{
    switch (status.code) {
    case RT_CONFIG: /* begins with the path and a line */
        status.code = RT_CHECKPOINT;
        return status;
    case RT_ARGUMENT:
    case RT_DATA:
        return rt_error(RT_CHECKPOINT, "%.400s: %.600s", rt_path_name(path), status.message);
    default:
        return status;
    }
}

/* Reads the configuration of m->origin->info, and opens what it needs of data: ids of so many words
 * and types of tokens. */
static rt_status configure(rt_model *m, const char *path, int words, int types)
{
    struct rt_model_origin *o = m->origin;
    const rt_config_source source = {.path = path, .text = o->info.config, .without_data = true};
    const rt_data_meaning meaning = {o->info.vocabulary, o->info.labels, words, types};
    char *errors;
    rt_status status = rt_config_load(&o->config, &source, &errors);
    rt_free(errors);
    if (!status.code)
        status = rt_data_open_without(&o->data, &o->config.data, meaning);
    if (status.code)
        return as_checkpoint(status, path);
    m->vocabulary = o->info.vocabulary;
    m->labels = o->info.labels;
    m->length = o->config.data.length;
    m->step = o->info.step;
    return rt_ok();
}

static rt_status make_roformer(rt_model *m, const char *path)
{
    const struct rt_model_origin *o = m->origin;
    const rt_roformer_options options = rt_model_options(&o->config, o->data);
    return as_checkpoint(rt_roformer_new_blank(&m->roformer, &options, o->config.run.seed), path);
}

/* ---- a checkpoint ---- */

typedef struct tally {
    rt_image *image;
    size_t parameters, numbers;
} tally;

static void count(void *context, const char *path)
{
    tally *t = context;
    char whole[RT_PATH_SIZE];
    rt_shape shape;
    const int length = snprintf(whole, sizeof whole, "/model/%s", path);
    if (length >= (int)sizeof whole || !rt_image_shape(t->image, whole, &shape))
        return;
    t->parameters++;
    t->numbers += rt_shape_size(shape);
}

/* Asked before there is a model, which may be as large as a forger likes. In memory every parameter
 * has up to a line of 64 bytes more. */
static rt_status check_size(const rt_model *m, rt_image *image, const char *path)
{
    const struct rt_model_origin *o = m->origin;
    const rt_roformer_options options = rt_model_options(&o->config, o->data);
    tally t = {.image = image};
    size_t size;
    rt_status status = as_checkpoint(rt_roformer_size(&options, &size), path);
    rt_image_visit(image, "/model", count, &t);
    if (!status.code && size > t.numbers + t.parameters * (64 / sizeof(real)))
        status = rt_error(RT_CHECKPOINT,
                          "%.400s: the model of its configuration has %zu numbers; there are %zu",
                          rt_path_name(path), size, t.numbers);
    return status;
}

static rt_status prepare(rt_model *m, rt_image *image, const char *path)
{
    int words, types;
    rt_status status = rt_image_status(image);
    if (!status.code)
        status = rt_checkpoint_look(image, &m->origin->info);
    if (!status.code)
        status = rt_checkpoint_tables(image, &words, &types);
    if (!status.code)
        status = configure(m, path, words, types);
    if (!status.code)
        status = check_size(m, image, path);
    return status.code ? status : make_roformer(m, path);
}

static rt_status open_file(rt_model *m, const char *path)
{
    rt_checkpoint_info again = {0};
    rt_image *image = rt_image_open(path, RT_PARSE_HERE);
    rt_status status = prepare(m, image, path);
    if (status.code) {
        rt_image_close(image);
        return status;
    }
    const rt_checkpoint_model model = rt_checkpoint_model_of(m->roformer, NULL, NULL);
    status = rt_checkpoint_load(image, &model, &again);
    rt_checkpoint_info_free(&again);
    m->has_head = true;
    return status;
}

/* ---- a folder of Hugging Face ---- */

/* The folder's own, from now on the model's. */
static rt_status take_meaning(rt_model *m, rt_imported *imported)
{
    struct rt_model_origin *o = m->origin;
    o->info.config = imported->config;
    o->info.vocabulary = imported->vocabulary;
    o->info.labels = imported->labels;
    imported->config = NULL;
    imported->vocabulary = NULL;
    imported->labels = NULL;
    o->warnings = rt_copy_text(imported->there->warnings);
    return o->warnings ? rt_ok() : rt_out_of_memory("the warnings about a folder");
}

static rt_status take_values(rt_model *m, const rt_imported *imported)
{
    rt_huggingface_taken taken;
    rt_status status = rt_imported_load(imported, m->roformer, true, &taken);
    if (status.code)
        return status;
    if (m->roformer->options.theta.learn)
        rt_roformer_theta(m->roformer, m->roformer->theta_start);
    m->has_head = taken.head;
    m->warnings = m->origin->warnings;
    return rt_ok();
}

static rt_status open_folder(rt_model *m, const char *path)
{
    rt_imported *imported;
    rt_status status = rt_imported_open(&imported, path);
    if (status.code)
        return as_checkpoint(status, path);
    status = take_meaning(m, imported);
    if (!status.code)
        status = configure(m, path, imported->there->options.vocab,
                           imported->there->options.token_types);
    if (!status.code)
        status = make_roformer(m, path);
    if (!status.code)
        status = take_values(m, imported);
    m->origin->info.seed = m->origin->config.run.seed;
    m->origin->info.schedule_steps = m->origin->config.optimizer.schedule_steps;
    rt_imported_close(imported);
    return status;
}

/* ---- either ---- */

rt_status rt_model_open(rt_model **model_new, const char *path)
{
    rt_model *m = rt_alloc(1, sizeof *m);
    *model_new = NULL;
    if (m)
        m->origin = rt_alloc(1, sizeof *m->origin);
    if (!m || !m->origin) {
        rt_model_close(m);
        return rt_out_of_memory("a model");
    }
    m->warnings = "";
    const bool folder = rt_is_huggingface(path);
    rt_status status = folder ? rt_ok() : rt_huggingface_refuse_format(path);
    if (!status.code)
        status = folder ? open_folder(m, path) : open_file(m, path);
    if (status.code)
        rt_model_close(m);
    else
        *model_new = m;
    return status;
}

void rt_model_close(rt_model *m)
{
    if (!m)
        return;
    rt_roformer_free(m->roformer);
    if (m->origin) {
        rt_data_close(m->origin->data);
        rt_checkpoint_info_free(&m->origin->info);
        rt_free(m->origin->warnings);
    }
    rt_free(m->origin);
    rt_free(m);
}
