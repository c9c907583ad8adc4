#define _XOPEN_SOURCE 700 /* realpath */

#include "train/config/private.h"

#include "core/status.h"
#include "models/encodings/encoding.h"
#include "text/files.h"
#include "text/number.h"
#include "text/writer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rt_config_longest(const rt_config *config)
{
    int longest = config->data.length;
    for (int i = 0; i < config->train.eval_lengths.count; i++)
        if (config->train.eval_lengths.at[i] > longest)
            longest = config->train.eval_lengths.at[i];
    return longest;
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

/* Computes the defaults that follow from model.kind, data.task, position.mixing and optimizer.kind;
 * zeros stay. */
static void find_defaults(rt_config *defaults, const rt_config *config)
{
    const rt_position_options *position = &config->model.position;
    const bool mixed = position->kind == RT_POSITION_ROPE && position->mixing == RT_MIXED;
    const rt_lengths *sizes = &config->train.eval_sizes;
    const rt_key *key;
    rt_config_initial(defaults);
    for (int i = 0; config->model.kind == RT_KIND_DECODER && (key = rt_key_at(i)); i++)
        if (rt_key_decoder_default(key))
            rt_key_value_set(key, rt_key_decoder_default(key), defaults);
    defaults->optimizer.settings.beta2 =
        rt_optimizer_defaults(config->optimizer.settings.rule).beta2;
    if (rt_tasks[config->data.task].files == RT_ONE_FILE)
        defaults->train.eval_batches = 0;     /* all rows */
    if (rt_tasks[config->data.task].images) { /* lengths follow from sizes */
        defaults->data.length = tokens_of_image(config->data.size, config->data.patch);
        defaults->train.eval_lengths = *sizes;
        for (int i = 0; i < sizes->count; i++)
            defaults->train.eval_lengths.at[i] = tokens_of_image(sizes->at[i], config->data.patch);
    }
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

/* Keys whose zero stands for a value that follows from other keys. */
static const char *const zeros[] = {"model.kv_heads",           "model.head_dim",
                                    "model.embedding_dim",      "model.ffn_dim",
                                    "position.original_len",    "position.init_std",
                                    "position.max_len",         "train.shards",
                                    "optimizer.schedule_steps", NULL};

bool rt_key_follows(int key)
{
    return rt_key_is_one_of(rt_key_at(key), zeros);
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
        if (rt_key_follows(i) && written->origin[i] != RT_FROM_DEFAULT) {
            rt_key_value_copy(rt_key_at(i), config, written);
            config->origin[i] = written->origin[i];
        }
}

void rt_config_implied(rt_config *implied, const rt_config *config)
{
    rt_config own = *config;
    find_defaults(implied, config);
    for (size_t i = 0; zeros[i]; i++)
        rt_key_value_copy(rt_key_at(rt_key_find(zeros[i])), &own, implied);
    resolve_zeros(&own);
    for (size_t i = 0; zeros[i]; i++)
        rt_key_value_copy(rt_key_at(rt_key_find(zeros[i])), implied, &own);
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
    /* questions with answers stay what they are */
    if (trained.data.shortest > 0 && !config->data.shortest)
        config->data.shortest = written->data.shortest = config->data.length;
    find_defaults(&defaults, written);
    const bool other_batch =
        (rt_on_command_line(late, "train.batch_size") || rt_on_command_line(late, "data.length") ||
         rt_on_command_line(late, "data.size")) &&
        !rt_on_command_line(late, "train.shards");
    if (config->origin[rt_key_find("train.eval_batches")] == RT_FROM_DEFAULT)
        config->train.eval_batches = defaults.train.eval_batches;
    if (rt_tasks[written->data.task].images) {
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
    static const char *const names[] = {
        /* settings of the use */
        "run.math", "theta.tolerance", "theta.check", "theta.tolerances", "data.task",
        "data.length", "data.distance", "data.pairs", "data.period", "data.theta", "data.theta2",
        "data.size", "data.file", "data.eval_file", "data.objective", "data.mask_probability",
        "position.randomized", "data.eval_fraction", "data.eval_seed",
        /* settings of the training, without effect in a use */
        "model.dropout", "model.attention_dropout", "theta.init_from", "theta.lr_scale",
        "data.vocab_file", NULL};
    const rt_key *k = rt_key_at(key);
    return k->change == RT_MAY_DIFFER || !strcmp(k->section, "train") ||
           !strcmp(k->section, "optimizer") || rt_key_is_one_of(k, names);
}

/* Returns whether tokens can begin the sequences of a task. */
static bool has_frames(int task)
{
    return rt_tasks[task].files != RT_NO_FILE && !rt_tasks[task].images;
}

void rt_config_frame_as(rt_config *config, const rt_data_options *model)
{
    if (config->data.begin == RT_BEGIN_AUTO && has_frames(config->data.task))
        config->data.begin = model->begin;
    if (config->data.end == RT_BEGIN_AUTO && rt_tasks[config->data.task].labels_texts)
        config->data.end = model->end;
}

void rt_config_continue(rt_config *config, const rt_config *run)
{
    const int horizon = rt_key_find("optimizer.schedule_steps");
    if (config->origin[horizon] == RT_FROM_DEFAULT && rt_key_has_effect(horizon, config))
        config->optimizer.schedule_steps = run->optimizer.schedule_steps;
    rt_config_frame_as(config, &run->data);
}

/* The configuration of an ancestor is effective: it has no zeros. */

#define ONE_OF(key, ...) rt_key_is_one_of(key, RT_OPTIONS(__VA_ARGS__))

static bool is_inherited(const rt_key *key)
{
    return !strcmp(key->section, "model") || !strcmp(key->section, "position") ||
           ONE_OF(key, "theta.learn", "theta.scope", "theta.form", "data.level", "data.lowercase",
                  "data.vocab", "data.objective", "data.begin", "data.end", "data.mask_id",
                  "data.special_tokens");
}

static bool reads_text(const rt_config *c)
{
    return rt_tasks[c->data.task].labels_texts || !strcmp(rt_data_task_name(c->data.task), "text");
}

static bool data_goes_with(const rt_config *c, const rt_init_model *from, const rt_key *key)
{
    const int here = c->data.task, there = from->config->data.task;
    if (ONE_OF(key, "data.begin"))
        return has_frames(here) && has_frames(there);
    if (ONE_OF(key, "data.end"))
        return rt_tasks[here].labels_texts;
    if (ONE_OF(key, "data.objective"))
        return rt_tasks[here].objective && rt_tasks[there].objective &&
               c->model.causal == from->config->model.causal;
    const bool text = reads_text(c);
    const bool text_there = reads_text(from->config) && !from->without_vocabulary;
    return ONE_OF(key, "data.vocab", "data.mask_id", "data.special_tokens") ? !text && !text_there
                                                                            : text && text_there;
}

/* Returns whether the model's value is meaningful together with the written keys. position.kind and
 * position.scaling precede the keys that depend on them in the table, so both are already inherited
 * here. */
static bool goes_with(const rt_config *c, const rt_init_model *from, const rt_key *key)
{
    const rt_transformer_options *here = &c->model, *there = &from->config->model;
    const rt_scaling scaling = here->position.frequencies.scaling;
    const bool same_kind = here->position.kind == there->position.kind;
    const bool same_mixing = here->position.mixing == there->position.mixing;
    if (!strcmp(key->section, "theta"))
        return same_kind && same_mixing &&
               (ONE_OF(key, "theta.learn") || (here->theta.learn && there->theta.learn));
    if (!strcmp(key->section, "data"))
        return data_goes_with(c, from, key);
    if (ONE_OF(key, "model.layer_types"))
        return here->window > 0;
    if (ONE_OF(key, "model.token_dropout"))
        return !here->causal;
    if (strcmp(key->section, "position") != 0)
        return here->attention == there->attention || !ONE_OF(key, "model.attention_dropout");
    if (ONE_OF(key, "position.kind", "position.pairing"))
        return true;
    if (!same_kind)
        return false;
    if (ONE_OF(key, "position.base"))
        return same_mixing && here->position.axes == there->position.axes;
    if (ONE_OF(key, "position.layers"))
        return here->position.every < 2;
    if (ONE_OF(key, "position.local_base"))
        return here->window > 0;
    if (ONE_OF(key, "position.original_len"))
        return scaling != RT_SCALING_NONE && scaling != RT_SCALING_LINEAR &&
               scaling != RT_SCALING_NTK;
    return scaling == there->position.frequencies.scaling ||
           !ONE_OF(key, "position.scale", "position.beta_fast", "position.beta_slow",
                   "position.high_freq_factor", "position.low_freq_factor",
                   "position.attention_factor", "position.short_factors", "position.long_factors");
}

/* Returns whether the parameters of the ancestor's model fit a model with the written value;
 * `effective` has its zeros replaced. */
static bool fits(const rt_config *c, const rt_init_model *from, const rt_key *key,
                 const rt_config *effective)
{
    const rt_transformer_options *here = &c->model, *there = &from->config->model;
    const rt_position_kind kind = here->position.kind;
    const bool equal = rt_key_value_equal(key, effective, from->config);
    if (ONE_OF(key, "model.kind", "model.layers", "model.dim", "model.heads", "model.kv_heads",
               "model.head_dim", "model.embedding_dim", "model.ffn_dim", "model.norm",
               "model.norm_kind", "model.norm_bias", "model.first_norm", "model.embedding_norm",
               "model.bias", "model.qk_norm", "position.pairing"))
        return equal;
    if (ONE_OF(key, "model.ffn"))
        return (here->ffn == RT_FFN_PLAIN) == (there->ffn == RT_FFN_PLAIN);
    if (ONE_OF(key, "model.tie_embeddings")) /* an imported lm head may have its own weights */
        return equal || there->tie_embeddings || !from->imported ||
               rt_tasks[c->data.task].target != RT_TARGET_IDS;
    if (ONE_OF(key, "position.kind"))
        return equal ||
               !(from->imported || rt_encoding_has_weights(here) || rt_encoding_has_weights(there));
    if (ONE_OF(key, "position.axes", "position.mixing"))
        return equal || !(here->theta.learn && there->theta.learn);
    if (ONE_OF(key, "position.max_len"))
        return equal || kind != RT_POSITION_LEARNED || there->position.kind != kind;
    if (ONE_OF(key, "data.lowercase")) /* a lowercase vocabulary can also be used unchanged */
        return equal || from->config->data.lowercase || !data_goes_with(c, from, key);
    return equal || !ONE_OF(key, "data.level", "data.vocab") || !data_goes_with(c, from, key);
}

bool rt_config_inherit(rt_config *config, const rt_init_model *ancestor, rt_config_errors *errors)
{
    const rt_config *there = ancestor->config;
    char value[RT_VALUE_SIZE], own[RT_VALUE_SIZE], place[RT_PLACE_SIZE];
    rt_writer differences = {0};
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (is_inherited(key) && config->origin[i] == RT_FROM_DEFAULT && !errors->bad[i] &&
            goes_with(config, ancestor, key)) {
            rt_key_value_copy(key, config, there);
            config->origin[i] = RT_FROM_MODEL;
        }
    rt_config_frame_as(config, &there->data); /* for a written `auto` */
    rt_config effective = *config;
    resolve_zeros(&effective);
    for (int i = 0; (key = rt_key_at(i)) && !ancestor->own; i++)
        if (is_inherited(key) && rt_key_is_written(i, config) && !errors->bad[i] &&
            !fits(config, ancestor, key, &effective))
            rt_writer_add(&differences, "  %s = %s (%s); the model has %s\n", rt_key_name(i),
                          rt_key_value_write(key, config, value),
                          rt_config_origin_name(config, i, place),
                          rt_key_value_write(key, there, own));
    const bool good = !differences.length;
    if (!good) {
        rt_config_add_error(errors, config->origin[rt_key_find("train.init_from")],
                            "train.init_from: the configuration contradicts the model of %.600s; "
                            "leave these lines out to use its values:",
                            ancestor->name);
        rt_writer_add(&errors->lines, "%s", differences.bytes);
    }
    errors->lines.failed |= differences.failed;
    rt_writer_free(&differences);
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

void rt_config_find_files(rt_config *config, int task, rt_config_errors *errors)
{
    char folder[PATH_MAX], path[RT_FILE_LIST_SIZE], place[RT_PATH_SIZE];
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const int origin = config->origin[i];
        const bool list = key->path == RT_INPUT_FILES && rt_tasks[task].files != RT_ONE_FILE;
        const char *names =
            key->path ? *(const char *const *)((const char *)config + key->offset) : NULL;
        const char *file = origin == RT_FROM_COMMAND_LINE || !config->file ? "" : config->file;
        rt_writer paths = {0}, problem = {0};
        if (!names || errors->bad[i])
            continue;
        const bool known = rt_path_split(file, place) && realpath(place, folder);
        const int reason = errno;
        while (names && !problem.length) {
            rt_list_item item = {.start = names, .length = strlen(names)};
            names = list ? rt_list_parse(names, &item) : NULL;
            rt_list_item_copy(item, path, sizeof path);
            if (!*path || *path == '/')
                rt_writer_add(&paths, "%s", path);
            else if (!known)
                rt_writer_add(&problem, "needs the folder of the configuration: %s",
                              strerror(reason));
            else if (list && strchr(folder, ','))
                rt_writer_add(&problem,
                              "is in a folder with a comma in its name, which separates files");
            else
                add_path(&paths, folder, path);
            rt_writer_add(&paths, "%s", names ? "," : "");
        }
        if (paths.bytes && !problem.length)
            rt_key_value_read(key, paths.bytes, config, &problem);
        errors->bad[i] = problem.length > 0;
        if (problem.length)
            rt_config_add_error(errors, origin, "%s %s", rt_key_name(i), problem.bytes);
        errors->lines.failed = errors->lines.failed || paths.failed || problem.failed;
        rt_writer_free(&paths);
        rt_writer_free(&problem);
    }
}
