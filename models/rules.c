#include "models/rules.h"

#include "models/encodings/encoding.h"

#include <math.h>

typedef struct rules {
    const rt_transformer_options *o;
    rt_rule_sink to;
} rules;

/* ---- sizes and choices ---- */

/* Without these there is nothing to divide or to name. */
static bool has_sizes(rules r)
{
    const struct {
        const char *name;
        int size;
    } sizes[] = {{"model.vocab", r.o->vocab},
                 {"model.layers", r.o->layers},
                 {"model.dim", r.o->dim},
                 {"model.heads", r.o->heads}};
    bool all = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].size < 1) {
            rt_rule_broken(r.to, RT_OPTIONS(sizes[i].name), "%s must be positive; got %d",
                           sizes[i].name, sizes[i].size);
            all = false;
        }
    return all;
}

#define COUNT(value, word) +1
static bool has_choices(rules r)
{
    const rt_transformer_options *o = r.o;
    const struct {
        const char *name;
        int choice, count;
    } choices[] = {
        {"model.kind", (int)o->kind, RT_MODEL_KINDS(COUNT)},
        {"model.norm", (int)o->norm, RT_NORM_ORDERS(COUNT)},
        {"model.norm_kind", (int)o->norm_kind, RT_NORM_KINDS(COUNT)},
        {"model.norm_bias", (int)o->norm_bias, RT_PRESENCES(COUNT)},
        {"model.first_norm", (int)o->first_norm, RT_PRESENCES(COUNT)},
        {"model.embedding_norm", (int)o->embedding_norm, RT_EMBEDDING_NORMS(COUNT)},
        {"model.residual", (int)o->residual, RT_RESIDUALS(COUNT)},
        {"model.ffn", (int)o->ffn, RT_FFNS(COUNT)},
        {"model.bias", (int)o->bias, RT_BIASES(COUNT)},
        {"model.classifier", (int)o->classifier, RT_CLASSIFIERS(COUNT)},
        {"model.activation", (int)o->activation, RT_ACTIVATIONS(COUNT)},
        {"model.attention", (int)o->attention, RT_ATTENTIONS(COUNT)},
        {"model.head", (int)o->head, RT_HEADS(COUNT)},
        {"position.kind", (int)o->position.kind, RT_POSITION_KINDS(COUNT)},
        {"position.pairing", (int)o->position.pairing, RT_PAIRINGS(COUNT)},
        {"position.frequencies", (int)o->position.frequencies.family, RT_FREQUENCIES(COUNT)},
        {"position.scaling", (int)o->position.frequencies.scaling, RT_SCALINGS(COUNT)},
        {"theta.scope", (int)o->theta.scope, RT_THETA_SCOPES(COUNT)},
        {"theta.form", (int)o->theta.form, RT_THETA_FORMS(COUNT)},
        {"theta.init", (int)o->theta.init, RT_THETA_INITS(COUNT)},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].choice < 0 || choices[i].choice >= choices[i].count) {
            rt_rule_broken(r.to, RT_OPTIONS(choices[i].name), "%s must be from 0 to %d; got %d",
                           choices[i].name, choices[i].count - 1, choices[i].choice);
            all = false;
        }
    return all;
}

/* Zero stands for a default, or for none. */
static bool has_counts(rules r)
{
    const struct {
        const char *name;
        int count;
    } counts[] = {{"model.kv_heads", r.o->kv_heads},
                  {"model.head_dim", r.o->head_dim},
                  {"model.window", r.o->window},
                  {"position.every", r.o->position.every}};
    bool all = true;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].count < 0) {
            rt_rule_broken(r.to, RT_OPTIONS(counts[i].name), "%s must be at least 0; got %d",
                           counts[i].name, counts[i].count);
            all = false;
        }
    return all;
}

static void check_head(rules r)
{
    if (r.o->head != RT_HEAD_LM && r.o->labels < 1)
        rt_rule_broken(r.to, RT_OPTIONS("model.head", "model.labels"),
                       "a sequence or token head needs at least one label; got %d", r.o->labels);
    if (r.o->kind == RT_KIND_DECODER && r.o->head == RT_HEAD_LM && r.o->tie_embeddings &&
        r.o->embedding_dim != r.o->dim)
        rt_rule_broken(r.to,
                       RT_OPTIONS("model.kind", "model.tie_embeddings", "model.embedding_dim",
                                  "model.dim"),
                       "model.kind = decoder with model.tie_embeddings = yes needs embeddings as "
                       "wide as the model; model.embedding_dim = %d, model.dim = %d",
                       r.o->embedding_dim, r.o->dim);
}

/* What is of a RoFormer's head, or of its input. */
static void check_encoder(rules r)
{
    static const char *const classifiers[] = {RT_CLASSIFIERS(RT_CHOICE_WORD)};
    const bool decoder = r.o->kind == RT_KIND_DECODER;
    if (decoder && r.o->bias == RT_BIAS_OUTPUT)
        rt_rule_broken(r.to, RT_OPTIONS("model.bias", "model.kind"),
                       "model.bias = output needs model.kind = roformer: the output layer of a "
                       "decoder has no bias");
    if (decoder && r.o->classifier != RT_CLASSIFIER_DENSE)
        rt_rule_broken(r.to, RT_OPTIONS("model.classifier", "model.kind"),
                       "model.classifier = %s needs model.kind = roformer",
                       classifiers[r.o->classifier]);
    if (decoder && !r.o->causal && r.o->window > 0)
        rt_rule_broken(r.to, RT_OPTIONS("model.window", "model.causal", "model.kind"),
                       "model.window = %d with model.causal = no needs model.kind = roformer: the "
                       "window of a decoder lies behind a token",
                       r.o->window);
    if (r.o->token_dropout && r.o->causal)
        rt_rule_broken(r.to, RT_OPTIONS("model.token_dropout", "model.causal"),
                       "model.token_dropout = yes needs model.causal = no: it tells a token how "
                       "many of the later ones are masked");
}

static void check_start(rules r)
{
    const struct {
        const char *name;
        double init_std;
    } starts[] = {{"model.init_std", r.o->init_std}, {"position.init_std", r.o->position.init_std}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (!(starts[i].init_std >= 0 && isfinite(starts[i].init_std)))
            rt_rule_broken(r.to, RT_OPTIONS(starts[i].name), "%s must be at least 0; got %g",
                           starts[i].name, starts[i].init_std);
}

/* ---- positions ---- */

static const char *attention_of(rules r)
{
    static const char *const words[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    return words[r.o->attention];
}

/* What only goes with some kinds of position and forms of attention. */
static void check_position(rules r)
{
    const rt_encoding *encoding = rt_encoding_of(r.o);
    const bool linear = r.o->attention != RT_ATTENTION_SOFTMAX;
    if (linear && encoding->of_scores)
        rt_rule_broken(r.to, RT_OPTIONS("position.kind", "model.attention"),
                       "position.kind = %s changes attention scores and needs model.attention = "
                       "softmax; got %s",
                       encoding->word, attention_of(r));
    if (linear && r.o->attention_dropout > 0)
        rt_rule_broken(
            r.to, RT_OPTIONS("model.attention_dropout", "model.attention"),
            "model.attention_dropout > 0 needs model.attention = softmax: linear attention has "
            "no weights to drop");
    if (linear && r.o->theta.head_scale)
        rt_rule_broken(
            r.to, RT_OPTIONS("theta.head_scale", "model.attention"),
            "theta.head_scale = yes needs model.attention = softmax: %s attention has no scores",
            attention_of(r));
    if (encoding->check)
        encoding->check(r.o, r.to);
}

/* ---- layers ---- */

/* How many words of a list are that one. */
static int count_words(const rt_layer_words *words, int word)
{
    int count = 0;
    for (int l = 0; l < words->count; l++)
        count += words->at[l] == word;
    return count;
}

/* A list has a word for each layer. */
static bool fits_layers(rules r, const char *key, const rt_layer_words *words)
{
    if (!words->count || words->count == r.o->layers)
        return true;
    rt_rule_broken(r.to, (const char *const[]){key, "model.layers", NULL},
                   "%s must have a word for each layer; it has %d, model.layers = %d", key,
                   words->count, r.o->layers);
    return false;
}

/* Layers without positions are for what is known of positions inside the layers. */
static void check_positions_of_layers(rules r)
{
    const rt_encoding *encoding = rt_encoding_of(r.o);
    const rt_layer_words *layers = &r.o->position.layers;
    const int every = r.o->position.every;
    if (every > 1 && !encoding->in_layers)
        rt_rule_broken(
            r.to, RT_OPTIONS("position.every", "position.kind"),
            "position.every = %d omits positions in layers, but position.kind = %s adds none there",
            every, encoding->word);
    if (!fits_layers(r, "position.layers", layers) || !layers->count)
        return;
    if (every > 1)
        rt_rule_broken(r.to, RT_OPTIONS("position.layers", "position.every"),
                       "position.layers says which layers have positions; position.every = %d says "
                       "it as well: leave one of them out",
                       every);
    if (!encoding->in_layers)
        rt_rule_broken(
            r.to, RT_OPTIONS("position.layers", "position.kind"),
            "position.layers is of positions in layers, but position.kind = %s adds none "
            "there",
            encoding->word);
    else if (!count_words(layers, RT_LAYER_WITH_POSITIONS))
        rt_rule_broken(r.to, RT_OPTIONS("position.layers"),
                       "position.layers leaves no layer with positions: set position.kind = none");
}

static void check_layer_types(rules r)
{
    const rt_layer_words *types = &r.o->layer_types;
    if (!fits_layers(r, "model.layer_types", types) || !types->count)
        return;
    const bool slides = count_words(types, RT_LAYER_SLIDING) > 0;
    if (slides && !r.o->window)
        rt_rule_broken(r.to, RT_OPTIONS("model.layer_types", "model.window"),
                       "model.layer_types has sliding layers, which need model.window");
    if (!slides && r.o->window)
        rt_rule_broken(r.to, RT_OPTIONS("model.layer_types", "model.window"),
                       "model.layer_types has no sliding layer for model.window = %d", r.o->window);
}

static void check_norms(rules r)
{
    if (r.o->first_norm == RT_WITHOUT && r.o->norm != RT_NORM_PRE)
        rt_rule_broken(r.to, RT_OPTIONS("model.first_norm", "model.norm"),
                       "model.first_norm = no needs model.norm = pre: a norm behind a block stays");
    if (r.o->residual == RT_RESIDUAL_PARALLEL && r.o->norm != RT_NORM_PRE)
        rt_rule_broken(r.to, RT_OPTIONS("model.residual", "model.norm"),
                       "model.residual = parallel needs model.norm = pre");
}

/* The width is divided by the heads, unless the size of a head is given. */
static void check_width(rules r)
{
    if (!r.o->head_dim && r.o->dim % r.o->heads)
        rt_rule_broken(r.to, RT_OPTIONS("model.dim", "model.heads"),
                       "model.dim = %d is not divisible by model.heads = %d", r.o->dim, r.o->heads);
}

/* Some heads share their keys, and not all keys are visible. */
static void check_heads(rules r)
{
    const int kv_heads = r.o->kv_heads;
    const bool linear = r.o->attention != RT_ATTENTION_SOFTMAX;
    if (r.o->heads % kv_heads)
        rt_rule_broken(r.to, RT_OPTIONS("model.kv_heads", "model.heads"),
                       "model.kv_heads = %d does not divide model.heads = %d", kv_heads,
                       r.o->heads);
    else if (kv_heads < r.o->heads && linear)
        rt_rule_broken(r.to, RT_OPTIONS("model.kv_heads", "model.attention"),
                       "model.kv_heads = %d for %d heads needs model.attention = softmax; got %s",
                       kv_heads, r.o->heads, attention_of(r));
    if (r.o->window && linear)
        rt_rule_broken(r.to, RT_OPTIONS("model.window", "model.attention"),
                       "model.window needs model.attention = softmax; got %s", attention_of(r));
}

/* What turns, and how, is nothing to an encoding that turns nothing. */
static void check_rotation(rules r)
{
    const rt_encoding *encoding = rt_encoding_of(r.o);
    const rt_position_options *position = &r.o->position;
    if (!encoding->rotation && position->frequencies.scaling != RT_SCALING_NONE)
        rt_rule_broken(r.to, RT_OPTIONS("position.scaling", "position.kind"),
                       "position.scaling needs position.kind = rope; got %s", encoding->word);
    if (!encoding->rotation && position->xpos != 0)
        rt_rule_broken(r.to, RT_OPTIONS("position.xpos", "position.kind"),
                       "position.xpos needs position.kind = rope; got %s", encoding->word);
    if (!encoding->rotation && position->local_base != 0)
        rt_rule_broken(r.to, RT_OPTIONS("position.local_base", "position.kind"),
                       "position.local_base needs position.kind = rope; got %s", encoding->word);
    if (!encoding->rotation && r.o->theta.learn)
        rt_rule_broken(r.to, RT_OPTIONS("theta.learn", "position.kind"),
                       "theta.learn = yes needs position.kind = rope");
    if (r.o->theta.init != RT_THETA_FREQUENCIES && !r.o->theta.learn)
        rt_rule_broken(r.to, RT_OPTIONS("theta.init", "theta.learn"),
                       "theta.init needs theta.learn = yes");
}

void rt_transformer_rules(const rt_transformer_options *o, rt_rule_listener *tell, void *context)
{
    rt_transformer_options resolved = *o;
    const rules r = {&resolved, {tell, context}};
    const bool sizes = has_sizes(r), choices = has_choices(r), counts = has_counts(r);
    if (!sizes || !choices || !counts)
        return;
    check_start(r);
    check_width(r);
    rt_transformer_resolve(&resolved);
    check_head(r);
    check_encoder(r);
    check_heads(r);
    check_norms(r);
    check_layer_types(r);
    check_position(r);
    check_rotation(r);
    check_positions_of_layers(r);
}

rt_status rt_transformer_check(const rt_transformer_options *o)
{
    rt_first_rule first = {RT_ARGUMENT, rt_ok()};
    rt_transformer_rules(o, rt_keep_first_rule, &first);
    return first.status;
}
