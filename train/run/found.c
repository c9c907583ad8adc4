#include "train/run/found.h"

#include "core/memory.h"
#include "train/config/config.h"
#include "train/folder/run_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat found;
    return !stat(path, &found) && S_ISDIR(found.st_mode);
}

static rt_status open_file(rt_found *found, const char *path)
{
    if (snprintf(found->path, sizeof found->path, "%s", path) >= (int)sizeof found->path)
        return rt_error(RT_CONFIG, "the path of the checkpoint is too long");
    if (rt_is_huggingface(path))
        return rt_imported_open(&found->imported, path);
    rt_status status = rt_huggingface_refuse_format(path);
    if (status.code)
        return status;
    found->image = rt_image_open(path, RT_PARSE_MODEL);
    return rt_image_status(found->image);
}

void rt_found_close(rt_found *found)
{
    rt_image_close(found->image);
    rt_imported_close(found->imported);
    found->image = NULL;
    found->imported = NULL;
}

/* In place of the newest of a folder, the one of the best evaluation that it knows of, which may be
 * itself. */
static rt_status open_best(rt_found *found, const char *checkpoints)
{
    rt_checkpoint_info info;
    char path[RT_PATH_SIZE];
    rt_status status = rt_checkpoint_look(found->image, &info);
    const int64_t best = status.code ? 0 : rt_checkpoint_best_step(&info);
    rt_checkpoint_info_free(&info);
    if (status.code || best == found->step)
        return status;
    rt_found_close(found);
    if (!best)
        return rt_error(RT_CHECKPOINT, "%s: no evaluation was made: there is no best checkpoint",
                        found->path);
    status = rt_checkpoint_path(path, checkpoints, best);
    if (!status.code)
        status = open_file(found, path);
    found->step = best;
    return status;
}

/* The newest of a folder; `name` is what the folder is of. */
static rt_status open_newest(rt_found *found, const char *checkpoints, const char *name)
{
    rt_checkpoint_found newest;
    rt_status status = rt_checkpoint_newest(checkpoints, RT_PARSE_MODEL, &newest);
    found->image = newest.image;
    found->step = newest.step;
    memcpy(found->path, newest.path, sizeof found->path);
    memcpy(found->warnings, newest.warnings, sizeof found->warnings);
    if (!status.code && !newest.found)
        status = rt_error(RT_CHECKPOINT, "%s has no checkpoint", name);
    return status;
}

rt_status rt_find_checkpoint(rt_found *found, const rt_arguments *arguments,
                             const rt_config *config)
{
    const char *named = arguments->checkpoint;
    char inner[RT_PATH_SIZE];
    rt_run_folder folder;
    *found = (rt_found){0};
    if (named && (!is_folder(named) || rt_is_huggingface(named)))
        return arguments->best ? rt_error(RT_CONFIG, "--best needs a folder%s; %s is not one",
                                          is_folder(named) ? " of checkpoints" : "", named)
                               : open_file(found, named);
    rt_status status = named ? rt_huggingface_refuse_format(named)
                             : rt_run_folder_name(&folder, config->run.dir, config->run.name);
    if (!status.code && named)
        status = rt_path_join(inner, named, "checkpoints");
    if (status.code)
        return status;
    const char *checkpoints = !named ? folder.checkpoints : is_folder(inner) ? inner : named;
    status = open_newest(found, checkpoints, named ? named : folder.path);
    return status.code || !arguments->best ? status : open_best(found, checkpoints);
}

/* ---- its configuration ---- */

/* A folder of Hugging Face has none, nor a checkpoint that no run has saved: theirs follows from
 * the options of the model. */
static rt_status write_own(const rt_found *found, char **text_new)
{
    rt_checkpoint_info info = {0};
    rt_transformer_options model;
    rt_data_options data;
    rt_status status = rt_ok();
    *text_new = NULL;
    if (found->imported) {
        *text_new = rt_model_ini(&found->imported->there->options, &found->imported->data);
        return *text_new ? status : rt_out_of_memory("a configuration");
    }
    status = rt_checkpoint_look(found->image, &info);
    if (!status.code && *info.config) {
        *text_new = info.config;
        info.config = NULL;
    } else if (!status.code) {
        status = rt_checkpoint_options(found->image, &model, &data);
        *text_new = status.code ? NULL : rt_model_ini(&model, &data);
        if (!status.code && !*text_new)
            status = rt_out_of_memory("a configuration");
    }
    rt_checkpoint_info_free(&info);
    return status;
}

/* With the first `count` of the overrides. */
static rt_status load(rt_config *config, const rt_found *found, const rt_arguments *arguments,
                      int count, char **errors)
{
    char *text;
    *errors = NULL;
    rt_status status = write_own(found, &text);
    const rt_config_source source = {.path = found->path,
                                     .text = text,
                                     .trained = true,
                                     .without_data = true, /* a model alone may have none */
                                     .at_use = true,
                                     .whole = !found->imported,
                                     .overrides = arguments->overrides,
                                     .override_count = count};
    if (!status.code)
        status = rt_config_load(config, &source, errors);
    rt_free(text);
    return status;
}

/* With nothing of the command line. */
static rt_status load_own(rt_config *config, const rt_found *found)
{
    char *errors;
    rt_status status = load(config, found, &(rt_arguments){0}, 0, &errors);
    rt_free(errors);
    if (status.code == RT_CONFIG)
        status.code = RT_CHECKPOINT;
    return status;
}

static void train_as(rt_config *config, const rt_config *own)
{
    config->optimizer = own->optimizer;
    rt_config_frame_as(config, &own->data);
}

rt_status rt_found_training(rt_config *config, const rt_found *found)
{
    rt_config own;
    rt_status status = load_own(&own, found);
    if (!status.code)
        train_as(config, &own);
    return status;
}

rt_status rt_found_configuration(rt_config *config, const rt_found *found,
                                 const rt_arguments *arguments, char **errors)
{
    rt_config own;
    *errors = NULL;
    rt_status status = load_own(&own, found);
    if (!status.code)
        status = load(config, found, arguments, arguments->override_count, errors);
    if (!status.code)
        train_as(config, &own);
    return status;
}
