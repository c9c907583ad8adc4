#include "models/encodings/encoding.h"
#include "models/keys.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns whether a value is from `least` to `most`, and reports it otherwise. `least` is 0 if
 * `most` is below INT_MAX. */
static bool is_within(rt_rule_sink to, const char *key, int value, int least, int most)
{
    if (value >= least && value <= most)
        return true;
    if (most < INT_MAX)
        rt_rule_broken(to, RT_OPTIONS(key), "%s must be from 0 to %d; got %d", key, most, value);
    else
        rt_rule_broken(to, RT_OPTIONS(key), "%s must be %s; got %d", key,
                       least ? "positive" : "at least 0", value);
    return false;
}

/* Checks sizes and choices, which later rules divide by or index with. */
static bool are_within_bounds(const rt_transformer_options *o, rt_rule_sink to)
{
    const struct {
        const char *key;
        int value, least, most;
    } all[] = {
        {"model.vocab", o->vocab, 1, INT_MAX},
        {"model.layers", o->layers, 1, INT_MAX},
        {"model.dim", o->dim, 1, INT_MAX},
        {"model.heads", o->heads, 1, INT_MAX},
        {"model.head", (int)o->head, 0, RT_HEAD_TOKEN},
        {"position.axes", o->position.axes, 0, 2},
        {"model.kv_heads", o->kv_heads, 0, INT_MAX},
        {"model.head_dim", o->head_dim, 0, INT_MAX},
        {"model.window", o->window, 0, INT_MAX},
        {"model.patch", o->patch, 0, INT_MAX},
        {"position.every", o->position.every, 0, INT_MAX},
        {"position.rank", o->position.rank, 0, INT_MAX},
        {"position.taps", o->position.taps, 0, INT_MAX},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        good &= is_within(to, all[i].key, all[i].value, all[i].least, all[i].most);
    for (const rt_key *k = rt_model_keys.keys; k < rt_model_keys.keys + rt_model_keys.count; k++) {
        char name[RT_KEY_NAME_SIZE];
        int value, words = 0;
        if (k->type != RT_KEY_CHOICE)
            continue;
        while (k->word(words))
            words++;
        memcpy(&value, (const char *)o + k->offset, sizeof value);
        snprintf(name, sizeof name, "%s.%s", k->section, k->name);
        good &= is_within(to, name, value, 0, words - 1);
    }
    return good;
}

/* Checks options of the head, and those of a RoFormer alone. */
static void check_head(const rt_transformer_options *o, rt_rule_sink to)
{
    static const char *const classifiers[] = {RT_CLASSIFIERS(RT_CHOICE_WORD)};
    const bool decoder = o->kind == RT_KIND_DECODER;
    if (o->head != RT_HEAD_LM && o->labels < 1)
        rt_rule_broken(to, RT_OPTIONS("model.head", "model.labels"),
                       "a sequence or token head needs at least one label; got %d", o->labels);
    if (decoder && o->head == RT_HEAD_LM && o->tie_embeddings && o->embedding_dim != o->dim)
        rt_rule_broken(to,
                       RT_OPTIONS("model.kind", "model.tie_embeddings", "model.embedding_dim",
                                  "model.dim"),
                       "model.kind = decoder with model.tie_embeddings = yes needs embeddings as "
                       "wide as the model; model.embedding_dim = %d, model.dim = %d",
                       o->embedding_dim, o->dim);
    if (decoder && o->bias == RT_BIAS_OUTPUT)
        rt_rule_broken(to, RT_OPTIONS("model.bias", "model.kind"),
                       "model.bias = output needs model.kind = roformer: the output layer of a "
                       "decoder has no bias");
    if (decoder && o->classifier != RT_CLASSIFIER_DENSE)
        rt_rule_broken(to, RT_OPTIONS("model.classifier", "model.kind"),
                       "model.classifier = %s needs model.kind = roformer",
                       classifiers[o->classifier]);
    if (decoder && !o->causal && o->window > 0)
        rt_rule_broken(to, RT_OPTIONS("model.window", "model.causal", "model.kind"),
                       "model.window = %d with model.causal = no needs model.kind = roformer: the "
                       "window of a decoder lies behind a token",
                       o->window);
    if (o->token_dropout && o->causal)
        rt_rule_broken(to, RT_OPTIONS("model.token_dropout", "model.causal"),
                       "model.token_dropout = yes needs model.causal = no: it tells a token how "
                       "many of the later ones are masked");
}

/* Checks the standard deviations of initial weights, and that the heads divide the width unless
 * head_dim is set. */
static void check_start(const rt_transformer_options *o, rt_rule_sink to)
{
    const struct {
        const char *name;
        double init_std;
    } starts[] = {{"model.init_std", o->init_std}, {"position.init_std", o->position.init_std}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (!(starts[i].init_std >= 0 && isfinite(starts[i].init_std)))
            rt_rule_broken(to, RT_OPTIONS(starts[i].name), "%s must be at least 0; got %g",
                           starts[i].name, starts[i].init_std);
    if (!o->head_dim && o->dim % o->heads)
        rt_rule_broken(to, RT_OPTIONS("model.dim", "model.heads"),
                       "model.dim = %d is not divisible by model.heads = %d", o->dim, o->heads);
}

static const char *attention_of(const rt_transformer_options *o)
{
    static const char *const words[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    return words[o->attention];
}

/* Checks options that only fit some kinds of position, such as those of rotation, and some forms of
 * attention. */
static void check_position(const rt_transformer_options *o, const rt_encoding *encoding,
                           rt_rule_sink to)
{
    const rt_position_options *position = &o->position;
    const bool linear = o->attention != RT_ATTENTION_SOFTMAX;
    if (linear && encoding->of_scores)
        rt_rule_broken(to, RT_OPTIONS("position.kind", "model.attention"),
                       "position.kind = %s changes attention scores and needs model.attention = "
                       "softmax; got %s",
                       encoding->word, attention_of(o));
    if (linear && o->attention_dropout > 0)
        rt_rule_broken(
            to, RT_OPTIONS("model.attention_dropout", "model.attention"),
            "model.attention_dropout > 0 needs model.attention = softmax: linear attention has "
            "no weights to drop");
    if (linear && o->theta.head_scale)
        rt_rule_broken(
            to, RT_OPTIONS("theta.head_scale", "model.attention"),
            "theta.head_scale = yes needs model.attention = softmax: %s attention has no scores",
            attention_of(o));
    if (encoding->causal && !o->causal)
        rt_rule_broken(to, RT_OPTIONS("position.kind", "model.causal"),
                       "position.kind = %s needs model.causal = yes: it is published for causal "
                       "models",
                       encoding->word);
    if (o->position.axes > 1 && encoding->axes < 2)
        rt_rule_broken(to, RT_OPTIONS("position.axes", "position.kind"),
                       "position.axes = 2 needs position.kind = rope, sinusoidal, learned or none; "
                       "got %s",
                       encoding->word);
    const rt_encoding *each;
    for (int n = 0; (each = rt_encoding_at(o, n)); n++)
        if (each->check)
            each->check(o, to);
    if (!encoding->rotation && position->frequencies.scaling != RT_SCALING_NONE)
        rt_rule_broken(to, RT_OPTIONS("position.scaling", "position.kind"),
                       "position.scaling needs position.kind = rope; got %s", encoding->word);
    if (!encoding->rotation && position->xpos != 0)
        rt_rule_broken(to, RT_OPTIONS("position.xpos", "position.kind"),
                       "position.xpos needs position.kind = rope; got %s", encoding->word);
    if (!encoding->rotation && position->local_base != 0)
        rt_rule_broken(to, RT_OPTIONS("position.local_base", "position.kind"),
                       "position.local_base needs position.kind = rope; got %s", encoding->word);
    if (position->kind != RT_POSITION_ROPE && position->local_fraction != 0)
        rt_rule_broken(to, RT_OPTIONS("position.local_fraction", "position.kind"),
                       "position.local_fraction needs position.kind = rope; got %s",
                       encoding->word);
    if (!encoding->pairs && o->theta.learn)
        rt_rule_broken(to, RT_OPTIONS("theta.learn", "position.kind"),
                       "theta.learn = yes needs position.kind = rope, selective or pope");
    if (o->theta.init != RT_THETA_FREQUENCIES && !o->theta.learn)
        rt_rule_broken(to, RT_OPTIONS("theta.init", "theta.learn"),
                       "theta.init needs theta.learn = yes");
}

/* Returns the number of words of a list that equal `word`. */
static int count_words(const rt_layer_words *words, int word)
{
    int count = 0;
    for (int l = 0; l < words->count; l++)
        count += words->at[l] == word;
    return count;
}

/* Checks that a list is empty or has a word for each layer. */
static bool fits_layers(const rt_transformer_options *o, rt_rule_sink to, const char *key,
                        const rt_layer_words *words)
{
    if (!words->count || words->count == o->layers)
        return true;
    rt_rule_broken(to, (const char *const[]){key, "model.layers", NULL},
                   "%s must have a word for each layer; it has %d, model.layers = %d", key,
                   words->count, o->layers);
    return false;
}

/* Checks the options that omit positions in layers. */
static void check_positions_of_layers(const rt_transformer_options *o, const rt_encoding *encoding,
                                      rt_rule_sink to)
{
    const rt_layer_words *layers = &o->position.layers;
    const int every = o->position.every;
    if (every > 1 && !encoding->in_layers)
        rt_rule_broken(
            to, RT_OPTIONS("position.every", "position.kind"),
            "position.every = %d omits positions in layers, but position.kind = %s adds none there",
            every, encoding->word);
    if (!fits_layers(o, to, "position.layers", layers) || !layers->count)
        return;
    if (every > 1)
        rt_rule_broken(to, RT_OPTIONS("position.layers", "position.every"),
                       "position.layers says which layers have positions; position.every = %d says "
                       "it as well: leave one of them out",
                       every);
    if (!encoding->in_layers)
        rt_rule_broken(
            to, RT_OPTIONS("position.layers", "position.kind"),
            "position.layers is of positions in layers, but position.kind = %s adds none "
            "there",
            encoding->word);
    else if (!count_words(layers, RT_LAYER_WITH_POSITIONS))
        rt_rule_broken(to, RT_OPTIONS("position.layers"),
                       "position.layers leaves no layer with positions: set position.kind = none");
}

/* Checks shared key heads, norms before the blocks, and windows. */
static void check_blocks(const rt_transformer_options *o, rt_rule_sink to)
{
    const int kv_heads = o->kv_heads;
    const bool linear = o->attention != RT_ATTENTION_SOFTMAX;
    const rt_layer_words *types = &o->layer_types;
    if (o->heads % kv_heads)
        rt_rule_broken(to, RT_OPTIONS("model.kv_heads", "model.heads"),
                       "model.kv_heads = %d does not divide model.heads = %d", kv_heads, o->heads);
    else if (kv_heads < o->heads && linear)
        rt_rule_broken(to, RT_OPTIONS("model.kv_heads", "model.attention"),
                       "model.kv_heads = %d for %d heads needs model.attention = softmax; got %s",
                       kv_heads, o->heads, attention_of(o));
    if (o->window && linear)
        rt_rule_broken(to, RT_OPTIONS("model.window", "model.attention"),
                       "model.window needs model.attention = softmax; got %s", attention_of(o));
    if (o->first_norm == RT_WITHOUT && o->norm != RT_NORM_PRE)
        rt_rule_broken(to, RT_OPTIONS("model.first_norm", "model.norm"),
                       "model.first_norm = no needs model.norm = pre: a norm behind a block stays");
    if (o->residual == RT_RESIDUAL_PARALLEL && o->norm != RT_NORM_PRE)
        rt_rule_broken(to, RT_OPTIONS("model.residual", "model.norm"),
                       "model.residual = parallel needs model.norm = pre");
    if (!fits_layers(o, to, "model.layer_types", types) || !types->count)
        return;
    const bool slides = count_words(types, RT_LAYER_SLIDING) > 0;
    if (slides && !o->window)
        rt_rule_broken(to, RT_OPTIONS("model.layer_types", "model.window"),
                       "model.layer_types has sliding layers, which need model.window");
    if (!slides && o->window)
        rt_rule_broken(to, RT_OPTIONS("model.layer_types", "model.window"),
                       "model.layer_types has no sliding layer for model.window = %d", o->window);
}

void rt_transformer_rules(const rt_transformer_options *given, rt_rule_listener *tell,
                          void *context)
{
    rt_transformer_options options = *given, *o = &options;
    const rt_rule_sink to = {tell, context};
    if (!are_within_bounds(o, to))
        return;
    check_start(o, to);
    rt_transformer_resolve(o);
    const rt_encoding *encoding = rt_encoding_of(o);
    check_head(o, to);
    check_blocks(o, to);
    check_position(o, encoding, to);
    check_positions_of_layers(o, encoding, to);
}

rt_status rt_transformer_check(const rt_transformer_options *o)
{
    rt_first_rule first = {RT_ARGUMENT, rt_ok()};
    rt_transformer_rules(o, rt_keep_first_rule, &first);
    return first.status;
}
