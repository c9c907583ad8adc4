#include "train/config/private.h"

#include "core/rules.h"
#include "models/encodings/encoding.h"

#include <stdio.h>
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

/* Sets the defaults of decoders. */
static void resolve_kind(rt_config *config)
{
    const rt_key *key;
    for (int i = 0; config->model.kind == RT_KIND_DECODER && (key = rt_key_at(i)); i++)
        if (rt_key_decoder_default(key) && config->origin[i] == RT_FROM_DEFAULT)
            rt_key_set(key, rt_key_decoder_default(key), config);
}

/* Sets the defaults of the optimizer. */
static void resolve_rule(rt_config *config)
{
    rt_optimizer_settings *s = &config->optimizer.settings;
    if (config->origin[rt_key_find("optimizer", "beta2")] == RT_FROM_DEFAULT)
        s->beta2 = rt_optimizer_defaults(s->rule).beta2;
}

/* Sets the evaluation of labelled data to all rows by default. */
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
    FEWEST_TOKENS = 512 /* in an automatic micro-batch */
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

/* ---- use of a trained model ---- */

static bool on_command_line(const rt_config *config, const char *section, const char *name)
{
    return config->origin[rt_key_find(section, name)] == RT_FROM_COMMAND_LINE;
}

void rt_config_resolve_use(rt_config *config, const rt_written_config *written)
{
    rt_config defaults;
    const bool other_batch =
        on_command_line(config, "train", "batch_size") || on_command_line(config, "data", "length");
    resolve_evaluation(config);
    if (!config->train.shards || (other_batch && !on_command_line(config, "train", "shards")))
        config->train.shards = automatic_shards(config);
    rt_config_defaults(&defaults, config);
    rt_config_find_idle(config, &written->keys, &defaults);
}

bool rt_key_at_use(int key)
{
    static const char *const names[] = {/* settings of the use */
                                        "run.math", "theta.tolerance", "theta.check",
                                        "theta.tolerances", "data.task", "data.length",
                                        "data.distance", "data.period", "data.theta", "data.file",
                                        "data.eval_file", "data.objective", "data.mask_probability",
                                        "data.eval_fraction", "data.eval_seed",
                                        /* settings of the training, without effect in a use */
                                        "model.dropout", "model.attention_dropout",
                                        "theta.init_from", "theta.lr_scale", "data.vocab_file",
                                        NULL};
    const rt_key *k = rt_key_at(key);
    return k->change == RT_MAY_DIFFER || !strcmp(k->section, "train") ||
           !strcmp(k->section, "optimizer") || rt_key_is_one_of(k, names);
}

/* ---- continuing a run ---- */

void rt_config_frame_as(rt_config *config, const rt_data_options *model)
{
    if (config->data.begin == RT_BEGIN_AUTO && rt_data_task_begins(config->data.task))
        config->data.begin = model->begin;
    if (config->data.end == RT_BEGIN_AUTO && rt_data_task_labelled(config->data.task))
        config->data.end = model->end;
}

void rt_config_continue(rt_config *config, const rt_config *run)
{
    const int horizon = rt_key_find("optimizer", "schedule_steps");
    if (config->origin[horizon] == RT_FROM_DEFAULT && rt_key_counts(horizon, config))
        config->optimizer.schedule_steps = run->optimizer.schedule_steps;
    rt_config_frame_as(config, &run->data);
}

/* ---- implied values ---- */

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

typedef struct inheritance {
    rt_config *config;
    const rt_config *from;
    const rt_ancestor *ancestor;
} inheritance;

static bool is_section(const rt_key *key, const char *section)
{
    return !strcmp(key->section, section);
}

/* ---- inherited values ---- */

static bool is_inherited(const rt_key *key)
{
    return is_section(key, "model") || is_section(key, "position") ||
           rt_key_is_one_of(key, RT_OPTIONS("theta.learn", "theta.scope", "theta.form",
                                            "data.level", "data.lowercase", "data.vocab",
                                            "data.objective", "data.begin", "data.end",
                                            "data.mask_id", "data.special_tokens"));
}

static bool reads_text(const rt_config *c)
{
    return rt_data_task_labelled(c->data.task) || !strcmp(rt_data_task_name(c->data.task), "text");
}

static bool uses_original_len(const rt_config *c)
{
    const rt_scaling scaling = c->model.position.frequencies.scaling;
    return scaling != RT_SCALING_NONE && scaling != RT_SCALING_LINEAR && scaling != RT_SCALING_NTK;
}

/* position.kind and position.scaling precede the keys that depend on them in the table, so both are
 * already inherited here. */
static bool position_goes_with(const inheritance *h, const rt_key *key)
{
    const rt_position_options *here = &h->config->model.position, *there = &h->from->model.position;
    if (rt_key_is_one_of(key, RT_OPTIONS("position.kind", "position.pairing")))
        return true;
    if (here->kind != there->kind)
        return false;
    if (rt_key_is_one_of(key, RT_OPTIONS("position.layers")))
        return here->every < 2;
    if (rt_key_is_one_of(key, RT_OPTIONS("position.local_base")))
        return h->config->model.window > 0;
    if (rt_key_is_one_of(key, RT_OPTIONS("position.original_len")))
        return uses_original_len(h->config);
    return here->frequencies.scaling == there->frequencies.scaling ||
           !rt_key_is_one_of(key,
                             RT_OPTIONS("position.scale", "position.beta_fast",
                                        "position.beta_slow", "position.high_freq_factor",
                                        "position.low_freq_factor", "position.attention_factor",
                                        "position.short_factors", "position.long_factors"));
}

static bool theta_goes_with(const inheritance *h, const rt_key *key)
{
    const rt_transformer_options *here = &h->config->model, *there = &h->from->model;
    return here->position.kind == there->position.kind &&
           (rt_key_is_one_of(key, RT_OPTIONS("theta.learn")) ||
            (here->theta.learn && there->theta.learn));
}

static bool data_goes_with(const inheritance *h, const rt_key *key)
{
    if (rt_key_is_one_of(key, RT_OPTIONS("data.begin")))
        return rt_data_task_begins(h->config->data.task) && rt_data_task_begins(h->from->data.task);
    if (rt_key_is_one_of(key, RT_OPTIONS("data.end")))
        return rt_data_task_labelled(h->config->data.task);
    const bool text = reads_text(h->config);
    const bool text_there = reads_text(h->from) && !h->ancestor->wordless;
    if (rt_key_is_one_of(key, RT_OPTIONS("data.objective")))
        return rt_data_task_has_objective(h->config->data.task) &&
               rt_data_task_has_objective(h->from->data.task) &&
               h->config->model.causal == h->from->model.causal;
    return rt_key_is_one_of(key, RT_OPTIONS("data.vocab", "data.mask_id", "data.special_tokens"))
               ? !text && !text_there
               : text && text_there;
}

/* Returns whether the model's value is meaningful with the written keys. */
static bool goes_with(const inheritance *h, const rt_key *key)
{
    if (is_section(key, "position"))
        return position_goes_with(h, key);
    if (is_section(key, "theta"))
        return theta_goes_with(h, key);
    if (is_section(key, "data"))
        return data_goes_with(h, key);
    if (rt_key_is_one_of(key, RT_OPTIONS("model.layer_types")))
        return h->config->model.window > 0;
    if (rt_key_is_one_of(key, RT_OPTIONS("model.token_dropout")))
        return !h->config->model.causal;
    return h->config->model.attention == h->from->model.attention ||
           !rt_key_is_one_of(key, RT_OPTIONS("model.attention_dropout"));
}

/* ---- written values that must agree with the model ---- */

static int or_else(int size, int otherwise)
{
    return size ? size : otherwise;
}

static bool kind_fits(const inheritance *h)
{
    const rt_transformer_options *here = &h->config->model, *there = &h->from->model;
    return here->position.kind == there->position.kind ||
           !(h->ancestor->imported || rt_encoding_has_weights(here) ||
             rt_encoding_has_weights(there));
}

static bool max_len_fits(const inheritance *h)
{
    const rt_position_options *here = &h->config->model.position;
    const rt_position_options *there = &h->from->model.position;
    return here->kind != RT_POSITION_LEARNED || there->kind != RT_POSITION_LEARNED ||
           or_else(here->max_len, rt_config_longest(h->config)) == there->max_len;
}

/* Returns whether tie_embeddings fits: an imported lm head may have its own weights. */
static bool tying_fits(const inheritance *h)
{
    const bool lm = rt_data_task_target(h->config->data.task) == RT_TARGET_IDS;
    return !h->ancestor->imported || !lm || h->from->model.tie_embeddings ||
           !h->config->model.tie_embeddings;
}

/* Returns whether lowercase fits: a lowercase vocabulary may also be used as it is. */
static bool lowercase_fits(const inheritance *h)
{
    return !data_goes_with(h, rt_key_at(rt_key_find("data", "lowercase"))) ||
           h->from->data.lowercase || !h->config->data.lowercase;
}

static rt_embedding_norm embedding_norm_of(const rt_transformer_options *options)
{
    rt_transformer_options o = *options;
    rt_transformer_resolve(&o);
    return o.embedding_norm;
}

static bool sizes_fit(const inheritance *h, const rt_key *key)
{
    const rt_transformer_options *here = &h->config->model, *there = &h->from->model;
    if (rt_key_is_one_of(key, RT_OPTIONS("model.kv_heads")))
        return or_else(here->kv_heads, here->heads) == or_else(there->kv_heads, there->heads);
    if (rt_key_is_one_of(key, RT_OPTIONS("model.embedding_dim")))
        return or_else(here->embedding_dim, here->dim) == or_else(there->embedding_dim, there->dim);
    if (rt_key_is_one_of(key, RT_OPTIONS("model.head_dim")))
        return rt_transformer_head_dim(here) == rt_transformer_head_dim(there);
    return or_else(here->ffn_dim, 4 * here->dim) == or_else(there->ffn_dim, 4 * there->dim);
}

static bool is_equal(const inheritance *h, const rt_key *key)
{
    return rt_key_equal(key, h->config, h->from);
}

/* Returns whether the parameters of the ancestor fit a model with the configured value. */
static bool fits(const inheritance *h, const rt_key *key)
{
    if (rt_key_is_one_of(key, RT_OPTIONS("model.kind", "model.layers", "model.dim", "model.heads",
                                         "model.norm", "model.norm_kind", "model.norm_bias",
                                         "model.first_norm", "model.bias", "model.qk_norm",
                                         "position.pairing")))
        return is_equal(h, key);
    if (rt_key_is_one_of(key, RT_OPTIONS("model.embedding_norm")))
        return embedding_norm_of(&h->config->model) == embedding_norm_of(&h->from->model);
    if (rt_key_is_one_of(key, RT_OPTIONS("model.kv_heads", "model.head_dim", "model.embedding_dim",
                                         "model.ffn_dim")))
        return sizes_fit(h, key);
    if (rt_key_is_one_of(key, RT_OPTIONS("model.ffn")))
        return (h->config->model.ffn == RT_FFN_PLAIN) == (h->from->model.ffn == RT_FFN_PLAIN);
    if (rt_key_is_one_of(key, RT_OPTIONS("model.tie_embeddings")))
        return tying_fits(h);
    if (rt_key_is_one_of(key, RT_OPTIONS("position.kind")))
        return kind_fits(h);
    if (rt_key_is_one_of(key, RT_OPTIONS("position.max_len")))
        return max_len_fits(h);
    if (rt_key_is_one_of(key, RT_OPTIONS("data.lowercase")))
        return lowercase_fits(h);
    if (rt_key_is_one_of(key, RT_OPTIONS("data.level", "data.vocab")))
        return !data_goes_with(h, key) || is_equal(h, key);
    return true;
}

/* ---- inheritance ---- */

static void add_place(rt_writer *w, const rt_config *config, int origin)
{
    if (origin == RT_FROM_COMMAND_LINE)
        rt_writer_add(w, "command line");
    else if (origin == RT_FROM_SWEEP)
        rt_writer_add(w, "sweep");
    else
        rt_writer_add(w, "%s:%d", config->file, origin);
}

static void add_difference(rt_writer *w, const inheritance *h, int i)
{
    char name[RT_KEY_NAME_SIZE], value[RT_VALUE_SIZE];
    const rt_key *key = rt_key_at(i);
    rt_writer_add(w, "  %s = %s (", rt_key_full_name(key, name),
                  rt_key_write(key, h->config, value));
    add_place(w, h->config, h->config->origin[i]);
    rt_writer_add(w, "); the model has %s\n", rt_key_write(key, h->from, value));
}

static void take(const inheritance *h, int i)
{
    rt_key_copy(rt_key_at(i), h->config, h->from);
    h->config->origin[i] = RT_FROM_MODEL;
}

static void complain(const inheritance *h, rt_config_errors *errors, rt_writer *differences)
{
    rt_config_complain(errors, h->config->origin[rt_key_find("train", "init_from")],
                       "train.init_from: the configuration contradicts the model of %.600s; leave "
                       "these lines out to use its values:",
                       h->ancestor->name);
    rt_writer_add(&errors->lines, "%s", differences->bytes);
}

bool rt_config_inherit(rt_config *config, const rt_ancestor *ancestor, rt_config_errors *errors)
{
    const inheritance h = {config, ancestor->config, ancestor};
    rt_writer differences = {0};
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (is_inherited(key) && config->origin[i] == RT_FROM_DEFAULT && !errors->bad[i] &&
            goes_with(&h, key))
            take(&h, i);
    rt_config_frame_as(config, &ancestor->config->data); /* for a written `auto` */
    for (int i = 0; (key = rt_key_at(i)) && !ancestor->own; i++)
        if (is_inherited(key) && config->origin[i] != RT_FROM_MODEL &&
            config->origin[i] != RT_FROM_DEFAULT && !errors->bad[i] && !fits(&h, key))
            add_difference(&differences, &h, i);
    const bool good = !differences.length;
    if (!good)
        complain(&h, errors, &differences);
    errors->lines.failed |= differences.failed;
    rt_writer_free(&differences);
    return good;
}

/* Empty lists and keys without effect are never written, so they do not count as open. */
bool rt_config_is_open(const rt_config *config)
{
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (is_inherited(key) && key->type != RT_KEY_FACTORS && key->type != RT_KEY_LAYERS &&
            config->origin[i] == RT_FROM_DEFAULT && rt_key_counts(i, config))
            return true;
    return false;
}
