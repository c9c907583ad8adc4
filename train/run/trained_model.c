/* Opens models that were trained before. */

#include "train/run/trained_model.h"

#include "core/memory.h"
#include "train/config/config.h"
#include "train/folder/run_folder.h"
#include "train/run/broadcast.h"
#include "util/csv.h"
#include "util/writer.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat found;
    return !stat(path, &found) && S_ISDIR(found.st_mode);
}

static rt_status open_file(rt_trained_model *found, const char *path, rt_parse parse)
{
    if (snprintf(found->path, sizeof found->path, "%s", path) >= (int)sizeof found->path)
        return rt_error(RT_CONFIG, "the path of the checkpoint is too long");
    if (rt_is_import(path))
        return rt_import(&found->imported, path);
    RT_TRY(rt_huggingface_refuse_format(path));
    return rt_checkpoint_open(&found->checkpoint, path, parse);
}

void rt_trained_model_close(rt_trained_model *found)
{
    rt_checkpoint_close(&found->checkpoint);
    rt_huggingface_close(found->imported);
    found->imported = NULL;
}

/* Returns the error for a folder without a checkpoint. The error for a sweep names its runs. */
static rt_status no_checkpoint(const char *folder)
{
    enum { SHOWN = 3 };
    rt_csv runs;
    RT_CLOSED_BY(rt_writer_free) rt_writer names = {0};
    int count = 0;
    for (rt_csv_open(&runs, folder, "runs.csv"); rt_csv_row(&runs); count++)
        if (count < SHOWN)
            rt_writer_add(&names, "%s%s", count ? ", " : "", RT_QUOTED(rt_csv_cell(&runs, "run")));
    return count ? rt_error(RT_CHECKPOINT,
                            "%s is the folder of a sweep: add the name of one of its %d runs: %s%s",
                            folder, count, names.bytes ? names.bytes : "",
                            count > SHOWN ? ", ..." : "")
                 : rt_error(RT_CHECKPOINT, "%s has no checkpoint", folder);
}

rt_status rt_trained_model_find(rt_trained_model *found, const char *named,
                                rt_which_checkpoint which, const rt_config *config)
{
    const bool best = which == RT_CHECKPOINT_BEST;
    const rt_parse parse = which == RT_CHECKPOINT_TRUNK ? RT_PARSE_APART : RT_PARSE_MODEL;
    const rt_checkpoint_info *info = &found->checkpoint.info;
    char path[RT_PATH_SIZE];
    rt_run_folder folder;
    rt_config own;
    *found = (rt_trained_model){0};
    if (named && (!is_folder(named) || rt_is_huggingface(named)))
        return best ? rt_error(RT_CONFIG, "--best needs a folder%s; %s is not one",
                               is_folder(named) ? " of checkpoints" : "", named)
                    : open_file(found, named, parse);
    RT_TRY(named ? rt_huggingface_refuse_format(named)
                 : rt_run_folder_name(&folder, config->run.dir, config->run.name));
    if (named)
        RT_TRY(rt_path_join(folder.checkpoints, named, "checkpoints"));
    const char *checkpoints = named && !is_folder(folder.checkpoints) ? named : folder.checkpoints;
    RT_TRY(
        rt_checkpoint_newest(&found->checkpoint, checkpoints, parse, found->path, found->warnings));
    if (!found->checkpoint.image)
        return no_checkpoint(named ? named : folder.path);
    if (which == RT_CHECKPOINT_LAST || which == RT_CHECKPOINT_TRUNK)
        return rt_ok();
    /* with train.patience, the last steps are no improvement */
    const int64_t best_step = rt_checkpoint_best_step(info), newest = info->step;
    const bool wanted =
        best || (best_step && !rt_config_load_run(&own, "config.ini", info->config, NULL).code &&
                 own.train.patience > 0);
    if (best_step == newest || !wanted)
        return rt_ok();
    rt_trained_model_close(found);
    if (!best_step)
        return rt_error(RT_CHECKPOINT, "%s: no evaluation was made: there is no best checkpoint",
                        found->path);
    found->newest = newest;
    RT_TRY(rt_checkpoint_path(path, checkpoints, best_step));
    return open_file(found, path, parse);
}

/* Loads the configuration from its text, with the overrides of `arguments` unless NULL. */
static rt_status load_text(rt_config *config, const rt_trained_model *found, const char *text,
                           const rt_arguments *arguments, char **errors)
{
    const rt_config_source source = {.path = found->path,
                                     .text = text,
                                     .overrides = arguments ? arguments->overrides : NULL,
                                     .override_count = arguments ? arguments->override_count : 0};
    const rt_status status = rt_config_load_model(config, &source, found->imported != NULL, errors);
    for (int i = 0; !status.code && i < RT_MAX_KEYS; i++)
        if (config->origin[i] > 0) /* the text is not a file */
            config->origin[i] = RT_FROM_OWN;
    return status;
}

void rt_config_train_as(rt_config *config, const rt_config *own)
{
    config->optimizer = own->optimizer;
    rt_config_frame_as(config, &own->data);
}

rt_status rt_trained_model_configuration(rt_config *config, const rt_trained_model *found,
                                         const rt_arguments *arguments, char **errors)
{
    rt_config own;
    const rt_huggingface *imported = found->imported;
    const rt_checkpoint *c = &found->checkpoint;
    /* without a configuration, it follows from the options of the model */
    RT_OWNED char *text = imported          ? rt_model_ini(&imported->options, &imported->data)
                          : *c->info.config ? rt_copy_text(c->info.config)
                                            : rt_model_ini(&c->model, &c->data);
    RT_TRY(rt_allocated(text, "a configuration"));
    rt_status status = load_text(&own, found, text, NULL, NULL);
    if (status.code == RT_CONFIG)
        status.code = RT_CHECKPOINT;
    RT_TRY(status);
    if (arguments)
        RT_TRY(load_text(config, found, text, arguments, errors));
    else
        *config = own;
    rt_config_train_as(config, &own);
    return rt_ok();
}

rt_status rt_init_model_search(void *context, const rt_config *config, rt_init_model *found)
{
    rt_init_model_cache *a = context;
    const char *path = config->train.init_from;
    rt_run_folder folder;
    rt_trained_model model = {0};
    rt_status status = rt_ok();
    const bool known =
        a->received || (a->found.config && !a->found.own && !strcmp(a->found.name, path));
    if (!known) {
        if (!a->last)
            a->last = rt_alloc(1, sizeof *a->last);
        if (!a->last) {
            *found = a->found;
            return rt_out_of_memory("a configuration");
        }
        /* an existing run has its own configuration */
        const bool own = (rt_arguments_use_model(a->arguments) || a->arguments->resume) &&
                         !rt_run_folder_name(&folder, config->run.dir, config->run.name).code &&
                         !rt_config_load_folder(a->last, folder.path).code;
        a->found = (rt_init_model){.name = path, .own = own};
        if (!own) {
            status = rt_trained_model_find(&model, path, RT_CHECKPOINT_OF_RUN, NULL);
            if (!status.code)
                status = rt_trained_model_configuration(a->last, &model, NULL, NULL);
            a->found.imported = model.imported != NULL;
            a->found.without_vocabulary = model.imported && !model.imported->vocabulary;
            rt_trained_model_close(&model);
        }
        if (!status.code)
            a->found.config = a->last;
    }
    *found = a->found;
    return status;
}

/* Broadcasts the configuration as text, since other program versions have other structs. */
rt_status rt_init_model_broadcast(rt_init_model_cache *a, rt_world *world)
{
    const bool first = rt_world_rank(world) == 0;
    bool facts[] = {a->found.own, a->found.imported, a->found.without_vocabulary};
    RT_OWNED char *text = first && a->found.config ? rt_config_ini(a->last) : NULL;
    rt_world_broadcast(world, facts, sizeof facts);
    rt_status status = rt_world_broadcast_text(world, &text);
    if (!first) {
        a->received = true;
        a->found = (rt_init_model){.name = "",
                                   .own = facts[0],
                                   .imported = facts[1],
                                   .without_vocabulary = facts[2]};
    }
    if (!status.code && !first && text) {
        const rt_config_source source = {.path = "the configuration of process 0", .text = text};
        a->last = rt_alloc(1, sizeof *a->last);
        status = a->last ? rt_config_load_model(a->last, &source, true, NULL)
                         : rt_out_of_memory("a configuration");
        a->found.config = status.code ? NULL : a->last;
    }
    return status;
}
