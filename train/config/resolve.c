#define _XOPEN_SOURCE 700 /* realpath */

#include "train/config/private.h"

#include "core/memory.h"
#include "data/files.h"
#include "models/encodings/encoding.h"
#include "util/number.h"
#include "util/writer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *home;

void rt_path_set_home(const char *folder)
{
    home = folder && *folder == '/' ? folder : NULL;
}

const char *rt_path_home(const char *path)
{
    return path[0] != '~' || (path[1] && path[1] != '/') ? "" : home;
}

int rt_config_longest(const rt_config *config)
{
    int longest = config->data.length;
    for (int i = 0; i < config->train.eval_lengths.count; i++)
        if (config->train.eval_lengths.at[i] > longest)
            longest = config->train.eval_lengths.at[i];
    return longest;
}

static bool has_images(const rt_config *config)
{
    return rt_tasks[config->data.task].kind == RT_DATA_IMAGES;
}

int rt_config_extent(const rt_config *config, int i)
{
    if (i < 0)
        return has_images(config) ? config->data.size : config->data.length;
    return (has_images(config) ? &config->train.eval_sizes : &config->train.eval_lengths)->at[i];
}

const char *rt_config_extent_word(const rt_config *config)
{
    return has_images(config) ? "size" : "length";
}

void rt_config_initial(rt_config *config)
{
    const rt_key *key;
    *config = (rt_config){.origin = {0}};
    for (int i = 0; (key = rt_key_at(i)); i++)
        rt_key_value_set(key, key->initial, config);
}

/* Returns the tokens of an image, [CLS] and its patches. */
static int tokens_of_image(int size, int patch)
{
    const int side = size / patch;
    return 1 + side * side;
}

/* Computes the defaults that follow from other keys, such as model.kind; zeros stay. */
static void find_defaults(rt_config *defaults, const rt_config *config)
{
    const rt_position_options *position = &config->model.position;
    const bool mixed = position->kind == RT_POSITION_ROPE && position->mixing == RT_MIXED;
    const rt_lengths *sizes = &config->train.eval_sizes;
    const rt_key *key;
    rt_config_initial(defaults);
    for (int i = 0; config->model.kind == RT_KIND_DECODER && (key = rt_key_at(i)); i++)
        if (key->decoder)
            rt_key_value_set(key, key->decoder, defaults);
    defaults->optimizer.settings.beta2 =
        rt_optimizer_defaults(config->optimizer.settings.rule).beta2;
    if (rt_task_has_rows(&rt_tasks[config->data.task]))
        defaults->train.eval_batches = 0; /* all rows */
    if (has_images(config)) {             /* lengths follow from sizes */
        defaults->data.length = tokens_of_image(config->data.size, config->data.patch);
        defaults->train.eval_lengths = *sizes;
        for (int i = 0; i < sizes->count; i++)
            defaults->train.eval_lengths.at[i] = tokens_of_image(sizes->at[i], config->data.patch);
    }
    if (rt_encoding_of(&config->model)->base > 0)
        defaults->model.position.frequencies.base = rt_encoding_of(&config->model)->base;
    defaults->model.position.axes = rt_tasks[config->data.task].grid ? 2 : 1;
    const bool written = config->origin[rt_key_find("position.axes")] != RT_FROM_DEFAULT;
    if ((written ? config : defaults)->model.position.axes < 2)
        return;
    /* positions with two coordinates are few: higher frequencies (Heo et al. 2024) */
    defaults->model.position.frequencies.base = mixed ? 10 : 100;
    if (!mixed)
        return;
    defaults->model.theta.learn = true;
    defaults->model.theta.form = RT_THETA_RAW;
    defaults->model.theta.scope = RT_THETA_HEAD;
}

enum {
    MOST_SHARDS = 16,
    FEWEST_TOKENS = 512 /* tokens in an automatic micro-batch */
};

static int automatic_shards(const rt_config *c)
{
    int shards = 1;
    while (2 * shards <= MOST_SHARDS && 2 * shards <= c->train.batch_size &&
           (long)(c->train.batch_size / (2 * shards)) * c->data.length >= FEWEST_TOKENS)
        shards *= 2;
    return shards;
}

static void resolve_zeros(rt_config *config)
{
    const int longest = rt_config_longest(config);
    if (!config->train.shards)
        config->train.shards = automatic_shards(config);
    if (!config->optimizer.schedule_steps) {
        config->optimizer.schedule_steps = config->train.steps;
        config->origin[rt_key_find("optimizer.schedule_steps")] = RT_FROM_DEFAULT;
    }
    /* A table of patches belongs to one size. */
    const bool plane = config->model.position.axes > 1;
    rt_transformer_resolve_lengths(&config->model, config->data.length,
                                   plane ? config->data.length : longest);
    rt_transformer_resolve(&config->model);
}

/* Marks the keys that were written, differ from their defaults and have no effect. */
static void mark_idle(rt_config *config, const rt_config *written, const rt_config *defaults)
{
    for (int i = 0; rt_key_at(i); i++)
        config->idle[i] = rt_key_is_written(i, written) && !rt_key_has_effect(i, config) &&
                          !rt_key_value_equal(rt_key_at(i), written, defaults);
}

/* Finds keys without effect before it replaces zeros, because no condition depends on a zero. */
void rt_config_resolve(rt_config *config, const rt_config *written, bool trained, bool shared)
{
    rt_config initial, defaults;
    *config = *written;
    rt_config_initial(&initial);
    find_defaults(&defaults, written);
    for (int i = 0; rt_key_at(i); i++)
        if (written->origin[i] == RT_FROM_DEFAULT &&
            !rt_key_value_equal(rt_key_at(i), &initial, &defaults))
            rt_key_value_copy(rt_key_at(i), config, &defaults);
    mark_idle(config, written, &defaults);
    for (int i = 0; !trained && rt_key_at(i); i++)
        if (config->idle[i])
            rt_key_value_copy(rt_key_at(i), config, &defaults);
    config->data.batch_size = config->train.batch_size;
    resolve_zeros(config);
    for (int i = 0; shared && rt_key_at(i); i++)
        if (rt_key_at(i)->follows && written->origin[i] != RT_FROM_DEFAULT) {
            rt_key_value_copy(rt_key_at(i), config, written);
            config->origin[i] = written->origin[i];
        }
}

void rt_config_implied(rt_config *implied, const rt_config *config)
{
    rt_config own = *config;
    const rt_key *key;
    find_defaults(implied, config);
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (key->follows)
            rt_key_value_copy(key, &own, implied);
    resolve_zeros(&own);
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (key->follows)
            rt_key_value_copy(key, implied, &own);
}

void rt_config_resolve_use(rt_config *config, rt_config *written, const rt_config *late,
                           rt_config_errors *errors)
{
    char value[RT_VALUE_SIZE], own[RT_VALUE_SIZE];
    const rt_key *key;
    rt_config defaults, other;
    const rt_config trained = *config;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        if (late->origin[i] == RT_FROM_DEFAULT)
            continue;
        if (rt_key_at_use(i)) {
            rt_key_value_copy(key, config, late);
            rt_key_value_copy(key, written, late);
            config->origin[i] = written->origin[i] = late->origin[i];
            continue;
        }
        other = trained; /* with zeros replaced, since an override may repeat the model's value */
        rt_key_value_copy(key, &other, late);
        resolve_zeros(&other);
        if (!rt_key_value_equal(key, &trained, &other))
            rt_config_add_error(errors, RT_FROM_COMMAND_LINE,
                                "%s = %.60s cannot be changed here: the trained model has %.60s",
                                rt_key_name(i), rt_key_value_write(key, late, value),
                                rt_key_value_write(key, &trained, own));
    }
    /* a range of lengths stays one, of a single length */
    if (trained.data.shortest > 0 && !config->data.shortest)
        config->data.shortest = written->data.shortest = config->data.length;
    find_defaults(&defaults, written);
    const bool other_batch =
        (rt_on_command_line(late, "train.batch_size") || rt_on_command_line(late, "data.length") ||
         rt_on_command_line(late, "data.size")) &&
        !rt_on_command_line(late, "train.shards");
    if (config->origin[rt_key_find("train.eval_batches")] == RT_FROM_DEFAULT)
        config->train.eval_batches = defaults.train.eval_batches;
    if (has_images(written)) {
        config->data.length = defaults.data.length;
        config->train.eval_lengths = defaults.train.eval_lengths;
    }
    config->data.batch_size = config->train.batch_size;
    if (!config->train.shards || other_batch)
        config->train.shards = automatic_shards(config);
    mark_idle(config, written, &defaults);
}

bool rt_key_at_use(int key)
{
    return rt_key_at(key)->change != RT_FIXED;
}

/* Returns whether tokens can begin the sequences of a task. */
static bool has_frames(int task)
{
    return rt_tasks[task].kind != RT_DATA_TOY && rt_tasks[task].kind != RT_DATA_IMAGES;
}

void rt_config_frame_as(rt_config *config, const rt_data_options *model)
{
    if (config->data.begin == RT_BEGIN_AUTO && has_frames(config->data.task))
        config->data.begin = model->begin;
    if (config->data.end == RT_BEGIN_AUTO && rt_tasks[config->data.task].kind == RT_DATA_LABELLED)
        config->data.end = model->end;
}

bool rt_config_extends(const rt_config *run, int step, const rt_config *now)
{
    return step >= run->train.steps && now->train.steps > run->train.steps;
}

void rt_config_continue(rt_config *config, const rt_config *run, int step)
{
    const int horizon = rt_key_find("optimizer.schedule_steps"), origin = config->origin[horizon];
    int *steps = &config->optimizer.schedule_steps;
    if (origin == RT_FROM_DEFAULT && rt_key_has_effect(horizon, config))
        *steps = run->optimizer.schedule_steps;
    bool follows = origin == RT_FROM_DEFAULT ||
                   (origin > 0 && !strcmp(rt_path_name(config->file), "config.ini"));
    for (int i = 0; rt_key_at(i); i++)
        follows &= config->origin[i] != RT_FROM_SWEEP; /* whose runs are compared */
    if (follows && rt_key_has_effect(horizon, config) && *steps == run->train.steps &&
        config->optimizer.min_lr_ratio <= 0 && rt_config_extends(run, step, config))
        *steps = config->train.steps;
    rt_config_frame_as(config, &run->data);
}

/* The configuration of an ancestor is effective: it has no zeros. */

static bool is_inherited(const rt_key *key)
{
    return key->handed > RT_NOT_HANDED;
}

static bool reads_text(const rt_config *c)
{
    return rt_tasks[c->data.task].kind == RT_DATA_LABELLED ||
           !strcmp(rt_tasks[c->data.task].name, "text");
}

/* Returns whether the model's value is meaningful together with the written keys. Keys on which a
 * condition depends have earlier conditions, so that they are already inherited. */
static bool goes_with(const rt_config *c, const rt_init_model *from, const rt_key *key)
{
    const rt_transformer_options *here = &c->model, *there = &from->config->model;
    const rt_position_options *position = &here->position, *other = &there->position;
    const rt_scaling scaling = position->frequencies.scaling;
    const int task = c->data.task, task_there = from->config->data.task;
    const bool same_kind = position->kind == other->kind;
    const bool same_mixing = position->mixing == other->mixing;
    const bool text = reads_text(c);
    const bool text_there = reads_text(from->config) && !from->without_vocabulary;
    switch (key->handed) {
    case RT_HANDED_ALWAYS:
        return true;
    case RT_HANDED_WITH_ENCODING:
        return same_kind;
    case RT_HANDED_WITH_AXES:
        return same_kind && same_mixing && position->axes == other->axes;
    case RT_HANDED_WITH_SCALING:
        return same_kind && scaling == other->frequencies.scaling;
    case RT_HANDED_WITH_LENGTH:
        return same_kind && scaling != RT_SCALING_NONE && scaling != RT_SCALING_LINEAR &&
               scaling != RT_SCALING_NTK;
    case RT_HANDED_WITHOUT_EVERY:
        return same_kind && position->every < 2;
    case RT_HANDED_IN_WINDOWS:
        return here->window > 0;
    case RT_HANDED_WITH_ENCODING_IN_WINDOWS:
        return same_kind && here->window > 0;
    case RT_HANDED_BOTH_WAYS:
        return !here->causal;
    case RT_HANDED_WITH_ATTENTION:
        return here->attention == there->attention;
    case RT_HANDED_WITH_ROTATION:
        return same_kind && same_mixing;
    case RT_HANDED_WITH_LEARNED:
        return same_kind && same_mixing && here->theta.learn && there->theta.learn;
    case RT_HANDED_WITH_FRAMES:
        return has_frames(task) && has_frames(task_there);
    case RT_HANDED_WITH_LABELS:
        return rt_tasks[task].kind == RT_DATA_LABELLED;
    case RT_HANDED_WITH_OBJECTIVE:
        return rt_tasks[task].objective && rt_tasks[task_there].objective &&
               here->causal == there->causal;
    case RT_HANDED_WITH_IDS:
        return !text && !text_there;
    case RT_HANDED_WITH_TEXTS:
        return text && text_there;
    case RT_UNANSWERED:
    case RT_NOT_HANDED:
        break;
    }
    return false;
}

/* Returns whether the parameters of the ancestor's model fit a model with the written value;
 * `effective` has its zeros replaced. */
static bool fits(const rt_config *c, const rt_init_model *from, const rt_key *key,
                 const rt_config *effective)
{
    const rt_transformer_options *here = &c->model, *there = &from->config->model;
    if (rt_key_value_equal(key, effective, from->config))
        return true;
    switch (key->fits) {
    case RT_FITS_ANY:
        return true;
    case RT_FITS_SAME:
        return false;
    case RT_FITS_GATES:
        return (here->ffn == RT_FFN_PLAIN) == (there->ffn == RT_FFN_PLAIN);
    case RT_FITS_OUTPUT: /* an imported lm head may have its own weights */
        return there->tie_embeddings || !from->imported ||
               rt_tasks[c->data.task].target != RT_TARGET_IDS;
    case RT_FITS_ENCODING:
        return !from->imported && !rt_encoding_obstacle(&effective->model, there);
    case RT_FITS_ROTATION:
        return !(here->theta.learn && there->theta.learn);
    case RT_FITS_OTHER:
        return here->position.kind != there->position.kind;
    case RT_FITS_LOWERCASE:
        return from->config->data.lowercase || !goes_with(c, from, key);
    case RT_FITS_TOKENS:
        return !goes_with(c, from, key);
    }
    return false;
}

/* Sets the keys of parameters that the model does not have so that its function stays. An existing
 * run keeps the values that it began with. */
static void join(rt_config *config, const rt_init_model *ancestor)
{
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        if (!key->joining || rt_key_is_written(i, config) || !rt_key_has_effect(i, config) ||
            rt_key_is_written(rt_key_find(key->unless), config))
            continue;
        if (ancestor->own)
            rt_key_value_copy(key, config, ancestor->config);
        else if (!rt_key_has_effect(i, ancestor->config))
            rt_key_value_set(key, key->joining, config);
        else
            continue;
        config->origin[i] = RT_FROM_MODEL;
    }
}

bool rt_config_inherit(rt_config *config, const rt_init_model *ancestor, rt_config_errors *errors)
{
    const rt_config *there = ancestor->config;
    RT_CLOSED_BY(rt_writer_free) rt_writer differences = {0};
    const rt_key *key;
    for (int handed = RT_HANDED_ALWAYS; handed <= RT_HANDED_WITH_TEXTS; handed++)
        for (int i = 0; (key = rt_key_at(i)); i++)
            if ((int)key->handed == handed && config->origin[i] == RT_FROM_DEFAULT &&
                !errors->bad[i] && goes_with(config, ancestor, key)) {
                rt_key_value_copy(key, config, there);
                config->origin[i] = RT_FROM_MODEL;
            }
    rt_config_frame_as(config, &there->data); /* for a written `auto` */
    join(config, ancestor);
    rt_config effective = *config;
    resolve_zeros(&effective);
    const char *obstacle = rt_encoding_obstacle(&effective.model, &there->model);
    for (int i = 0; (key = rt_key_at(i)) && !ancestor->own; i++)
        if (is_inherited(key) && rt_key_is_written(i, config) && !errors->bad[i] &&
            !fits(config, ancestor, key, &effective))
            rt_writer_add(&differences, "  %s = %s (%s); the model has %s%s\n", rt_key_name(i),
                          RT_KEY_VALUE(key, config), RT_ORIGIN_NAME(config, i),
                          RT_KEY_VALUE(key, there),
                          obstacle && key->fits == RT_FITS_ENCODING ? obstacle : "");
    const bool good = !differences.length;
    if (!good) {
        rt_config_add_error(errors, config->origin[rt_key_find("train.init_from")],
                            "train.init_from: the configuration contradicts the model of %.600s; "
                            "leave these lines out to use its values:",
                            ancestor->name);
        rt_writer_add(&errors->lines, "%s", differences.bytes);
    }
    errors->lines.failed |= differences.failed;
    return good;
}

/* Ignores empty lists and keys without effect, which are never written. */
bool rt_config_is_open(const rt_config *config)
{
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (is_inherited(key) && key->type != RT_KEY_FACTORS && key->type != RT_KEY_LAYERS &&
            config->origin[i] == RT_FROM_DEFAULT && rt_key_has_effect(i, config))
            return true;
    return false;
}

/* Adds folder/path with every leading ./ and ../ resolved; `folder` has no symbolic links. */
static void add_path(rt_writer *list, const char *folder, const char *path)
{
    size_t length = strlen(folder);
    for (;;) {
        while (length && folder[length - 1] == '/')
            length--;
        if (!strncmp(path, "./", 2)) {
            path += 2;
        } else if (!strncmp(path, "../", 3)) {
            path += 3;
            while (length && folder[length - 1] != '/')
                length--;
        } else {
            break;
        }
        path += strspn(path, "/");
    }
    rt_writer_add(list, "%.*s/%s", (int)length, folder, path);
}

/* Returns whether a path names an open descriptor, such as a pipe, which has no folder. */
static bool is_descriptor(const char *path)
{
    return !strcmp(path, "/dev/stdin") || !strncmp(path, "/dev/fd/", strlen("/dev/fd/"));
}

void rt_config_find_files(rt_config *config, int task, rt_config_errors *errors)
{
    char folder[PATH_MAX], path[RT_FILE_LIST_SIZE], place[RT_PATH_SIZE];
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const int origin = config->origin[i];
        const bool list = key->path == RT_INPUT_FILES && rt_tasks[task].kind == RT_DATA_WINDOWS;
        const char *names =
            key->path ? *(const char *const *)((const char *)config + key->offset) : NULL;
        const char *file =
            origin == RT_FROM_COMMAND_LINE || !config->file || is_descriptor(config->file)
                ? ""
                : config->file;
        rt_writer paths = {0}, problem = {0};
        if (!names || errors->bad[i])
            continue;
        const bool known = rt_path_split(file, place) && realpath(place, folder);
        const int reason = errno;
        const rt_data_options one = {.task = task, .file = names};
        rt_data_files files = {.count = 1};
        if (list)
            files = rt_data_files_of(&one);
        for (size_t n = 0; n < files.count && !problem.length; n++) {
            const rt_list_item whole = {names, strlen(names)};
            rt_list_item_copy(list ? files.list[n].item : whole, path, sizeof path);
            const char *own = rt_path_home(path);
            if (own && !*own && (!*path || *path == '/' || key->path == RT_WORKING_FOLDER))
                rt_writer_add(&paths, "%s", path);
            else if (!own)
                rt_writer_add(&problem, "begins with ~, and HOME is not set; write the whole path");
            else if (!*own && !known)
                rt_writer_add(&problem, "needs the folder of the configuration: %s",
                              strerror(reason));
            else if (list && strchr(*own ? own : folder, ','))
                rt_writer_add(&problem,
                              "is in a folder with a comma in its name, which separates files");
            else if (*own)
                rt_writer_add(&paths, "%s%s", own, path + 1);
            else
                add_path(&paths, folder, path);
            rt_writer_add(&paths, "%s", n + 1 < files.count ? "," : "");
        }
        if (paths.bytes && !problem.length)
            rt_key_value_read(key, paths.bytes, config, &problem);
        errors->bad[i] = problem.length > 0;
        if (problem.length)
            rt_config_add_error(errors, origin, "%s %s", rt_key_name(i), problem.bytes);
        errors->lines.failed |= paths.failed || problem.failed || files.failed;
        rt_data_files_free(&files);
        rt_writer_free(&paths);
        rt_writer_free(&problem);
    }
}
