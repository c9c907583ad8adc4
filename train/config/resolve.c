#include "train/config/resolve.h"

#include "train/config/effect.h"

#include <string.h>

int rt_config_longest(const rt_config *config)
{
    int longest = config->data.length;
    for (int i = 0; i < config->train.eval_lengths.count; i++)
        if (config->train.eval_lengths.at[i] > longest)
            longest = config->train.eval_lengths.at[i];
    return longest;
}

/* ---- defaults ---- */

void rt_written_defaults(rt_written_config *written)
{
    const rt_key *key;
    *written = (rt_written_config){.keys = {.origin = {0}}};
    for (int i = 0; (key = rt_key_at(i)); i++)
        rt_key_set(key, key->initial, &written->keys);
}

/* What nobody has said of a decoder. */
static void resolve_kind(rt_config *config)
{
    const rt_key *key;
    for (int i = 0; config->model.kind == RT_KIND_DECODER && (key = rt_key_at(i)); i++)
        if (rt_key_decoder_default(key) && config->origin[i] == RT_FROM_DEFAULT)
            rt_key_set(key, rt_key_decoder_default(key), config);
}

/* What nobody has said of an optimizer. */
static void resolve_rule(rt_config *config)
{
    rt_optimizer_settings *s = &config->optimizer.settings;
    if (config->origin[rt_key_find("optimizer", "beta2")] == RT_FROM_DEFAULT)
        s->beta2 = rt_optimizer_defaults(s->rule).beta2;
}

/* Labelled data is evaluated on all of its rows, unless something else is asked for. */
static void resolve_evaluation(rt_config *config)
{
    const int origin = config->origin[rt_key_find("train", "eval_batches")];
    config->data.batch_size = config->train.batch_size;
    if (origin == RT_FROM_DEFAULT && rt_data_task_labelled(config->data.task))
        config->train.eval_batches = 0;
}

/* ---- zeros ---- */

enum {
    MOST_SHARDS = 16,
    FEWEST_TOKENS = 512 /* of an automatic shard */
};

static int automatic_shards(const rt_config *c)
{
    int shards = 1;
    while (2 * shards <= MOST_SHARDS && 2 * shards <= c->train.batch_size &&
           (long)(c->train.batch_size / (2 * shards)) * c->data.length >= FEWEST_TOKENS)
        shards *= 2;
    return shards;
}

static void resolve_horizon(rt_config *config)
{
    if (config->optimizer.schedule_steps)
        return;
    config->optimizer.schedule_steps = config->train.steps;
    config->origin[rt_key_find("optimizer", "schedule_steps")] = RT_FROM_DEFAULT;
}

static void resolve_zeros(rt_config *config)
{
    rt_transformer_resolve_lengths(&config->model, config->data.length, rt_config_longest(config));
    rt_transformer_resolve(&config->model);
    resolve_horizon(config);
    if (!config->train.shards)
        config->train.shards = automatic_shards(config);
}

static void resolve_all(rt_config *config, const rt_written_config *written)
{
    *config = written->keys;
    resolve_kind(config);
    resolve_rule(config);
    resolve_evaluation(config);
    resolve_zeros(config);
}

void rt_config_resolve(rt_config *config, const rt_written_config *written)
{
    bool idle[RT_MAX_KEYS];
    rt_written_config effective = *written;
    rt_config defaults;
    resolve_all(config, written);
    rt_config_defaults(&defaults, config);
    rt_config_find_idle(config, &written->keys, &defaults);
    if (written->trained)
        return;
    memcpy(idle, config->idle, sizeof idle);
    for (int i = 0; rt_key_at(i); i++)
        if (idle[i])
            rt_key_copy(rt_key_at(i), &effective.keys, &defaults);
    resolve_all(config, &effective);
    memcpy(config->idle, idle, sizeof idle);
}

/* ---- a use ---- */

static bool on_command_line(const rt_config *config, const char *section, const char *name)
{
    return config->origin[rt_key_find(section, name)] == RT_FROM_COMMAND_LINE;
}

void rt_config_resolve_use(rt_config *config)
{
    const bool other_batch =
        on_command_line(config, "train", "batch_size") || on_command_line(config, "data", "length");
    resolve_evaluation(config);
    if (!config->train.shards || (other_batch && !on_command_line(config, "train", "shards")))
        config->train.shards = automatic_shards(config);
}

bool rt_key_at_use(int key)
{
    static const char *const names[] = {/* how a model is used */
                                        "run.math", "theta.tolerance", "theta.check",
                                        "theta.tolerances", "data.task", "data.length",
                                        "data.distance", "data.period", "data.theta", "data.file",
                                        "data.eval_file", "data.objective", "data.mask_probability",
                                        "data.eval_fraction", "data.eval_seed",
                                        /* how it was trained, which does not count here */
                                        "model.dropout", "model.attention_dropout",
                                        "theta.init_from", "theta.lr_scale", "data.vocab_file",
                                        NULL};
    const rt_key *k = rt_key_at(key);
    return k->change == RT_MAY_DIFFER || !strcmp(k->section, "train") ||
           !strcmp(k->section, "optimizer") || rt_key_is_one_of(k, names);
}

/* ---- what a configuration implies ---- */

/* Keys whose zero stands for what follows from others. */
static const char *const zeros[] = {"model.kv_heads",           "model.head_dim",
                                    "model.embedding_dim",      "model.ffn_dim",
                                    "position.original_len",    "position.init_std",
                                    "position.max_len",         "train.shards",
                                    "optimizer.schedule_steps", NULL};

bool rt_key_follows(int key)
{
    return rt_key_is_one_of(rt_key_at(key), zeros);
}

void rt_config_defaults(rt_config *defaults, const rt_config *config)
{
    rt_written_config nothing;
    rt_written_defaults(&nothing);
    *defaults = nothing.keys;
    defaults->model.kind = config->model.kind;
    defaults->data.task = config->data.task;
    defaults->optimizer.settings.rule = config->optimizer.settings.rule;
    resolve_kind(defaults);
    resolve_rule(defaults);
    resolve_evaluation(defaults);
    defaults->optimizer.settings.rule = nothing.keys.optimizer.settings.rule;
    defaults->model.kind = nothing.keys.model.kind;
    defaults->data.task = nothing.keys.data.task;
}

void rt_config_implied(rt_config *implied, const rt_config *config)
{
    rt_written_config nothing, own = {.keys = *config};
    rt_written_defaults(&nothing);
    rt_config_defaults(implied, config);
    for (size_t i = 0; zeros[i]; i++)
        rt_key_copy(rt_key_at(rt_key_find_full(zeros[i])), &own.keys, &nothing.keys);
    resolve_zeros(&own.keys);
    for (size_t i = 0; zeros[i]; i++)
        rt_key_copy(rt_key_at(rt_key_find_full(zeros[i])), implied, &own.keys);
}
