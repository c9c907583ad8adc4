#include "train/config/inherit.h"

#include "core/rules.h"
#include "models/encodings/encoding.h"
#include "train/config/effect.h"

#include <stdio.h>
#include <string.h>

typedef struct inheritance {
    rt_config *config;
    const rt_config *from;
    const rt_ancestor *ancestor;
} inheritance;

static bool is_section(const rt_key *key, const char *section)
{
    return !strcmp(key->section, section);
}

/* ---- what is inherited ---- */

static bool is_inherited(const rt_key *key)
{
    return is_section(key, "model") || is_section(key, "position") ||
           rt_key_is_one_of(key,
                            RT_OPTIONS("theta.learn", "theta.scope", "theta.form", "data.level",
                                       "data.lowercase", "data.vocab", "data.objective",
                                       "data.begin", "data.end", "data.mask_id"));
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

/* position.kind and position.scaling stand in the table before the keys that depend on them, so
 * these two are settled by now. */
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
    return rt_key_is_one_of(key, RT_OPTIONS("data.vocab", "data.mask_id")) ? !text && !text_there
                                                                           : text && text_there;
}

/* Whether the model's value makes sense beside what is written. */
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

/* ---- what must agree ---- */

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

/* An lm head of the ancestor that has a matrix of its own. */
static bool tying_fits(const inheritance *h)
{
    const bool lm = rt_data_task_target(h->config->data.task) == RT_TARGET_IDS;
    return !h->ancestor->imported || !lm || h->from->model.tie_embeddings ||
           !h->config->model.tie_embeddings;
}

/* A vocabulary without capitals may be read as it is. */
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

/* Whether the parameters of a model with the configured value can be those of the ancestor. */
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

/* ---- both ---- */

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
    char value[RT_VALUE_SIZE];
    rt_writer problem = {0};
    const rt_key *key = rt_key_at(i);
    if (rt_key_read(key, rt_key_write(key, h->from, value), h->config, &problem))
        h->config->origin[i] = RT_FROM_MODEL;
    rt_writer_free(&problem);
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
    rt_config_frame_as(config, &ancestor->config->data); /* an auto that is written */
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

/* A list that is empty is written as a comment, and a key without effect is left out. */
bool rt_config_is_open(const rt_config *config)
{
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (is_inherited(key) && key->type != RT_KEY_FACTORS && key->type != RT_KEY_LAYERS &&
            config->origin[i] == RT_FROM_DEFAULT && rt_key_counts(i, config))
            return true;
    return false;
}
