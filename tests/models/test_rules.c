/* Every rule of a RoFormer's options, what it says, and which options it names. */

#include "models/options.h"

#include "models/encodings/encoding.h"
#include "models/keys.h"
#include "suite.h"

#include <math.h>

typedef struct heard {
    int count;
    char options[256]; /* of the last, with spaces between */
    char message[RT_MESSAGE_SIZE];
} heard;

static void listen(void *context, const char *const *options, const char *message)
{
    heard *h = context;
    size_t used = 0;
    h->count++;
    for (; *options; options++)
        used += (size_t)snprintf(h->options + used, sizeof h->options - used, "%s%s",
                                 used ? " " : "", *options);
    snprintf(h->message, sizeof h->message, "%s", message);
}

static rt_transformer_options good(void)
{
    return (rt_transformer_options){.vocab = 7,
                                    .layers = 2,
                                    .dim = 32,
                                    .heads = 2,
                                    .norm_eps = 1e-12,
                                    .position = {.frequencies = {.base = 10000, .scale = 1},
                                                 .fraction = 1,
                                                 .max_len = 9}};
}

/* Returns whether there is a key of that name; head and labels follow from the data. */
static bool is_option(const char *name)
{
    bool found = !strcmp(name, "model.head") || !strcmp(name, "model.labels");
    for (int i = 0; i < rt_model_keys.count; i++) {
        const rt_key *key = rt_model_keys.keys + i;
        found |= !strcmp(name, lasting("%s.%s", key->section, key->name));
    }
    return found;
}

/* Expects options to break one rule, which the program and a new model say. */
static void expect(const rt_transformer_options *o, const char *options, const char *message)
{
    heard h = {0};
    rt_transformer *m;
    rt_transformer_rules(o, listen, &h);
    ck_assert_int_eq(h.count, 1);
    ck_assert_str_eq(h.options, options);
    ck_assert_str_eq(h.message, message);
    for (const char *at = options; *at; at += strspn(at, " ")) {
        const char *name = lasting("%.*s", (int)strcspn(at, " "), at);
        at += strlen(name);
        ck_assert_msg(is_option(name), "there is no key %s", name);
    }
    is_status(rt_transformer_new(&m, o, 1, NULL), RT_ARGUMENT, message);
    ck_assert_ptr_null(m);
}

/* The same for good options `o` after some assignments. */
#define BREAKS(options, message, ...)                                                              \
    do {                                                                                           \
        rt_transformer_options o = good();                                                         \
        __VA_ARGS__;                                                                               \
        expect(&o, options, message);                                                              \
    } while (0)

static void expect_good(const rt_transformer_options *o)
{
    heard h = {0};
    rt_transformer_rules(o, listen, &h);
    ck_assert_msg(!h.count, "%s", h.message);
}

#define HOLDS(...)                                                                                 \
    do {                                                                                           \
        rt_transformer_options o = good();                                                         \
        __VA_ARGS__;                                                                               \
        expect_good(&o);                                                                           \
    } while (0)

static const rt_layer_words sliding_first = {2, {RT_LAYER_SLIDING, RT_LAYER_FULL}};

TEST(good_options_break_no_rule)
{
    HOLDS(o.dim = 32);
    HOLDS(o.theta = (rt_theta_options){.learn = true, .init = RT_THETA_UNIFORM});
    HOLDS(o.position.fraction = 0);
}

TEST(each_rule_names_its_options)
{
    BREAKS("model.layers", "model.layers must be positive; got 0", o.layers = 0);
    BREAKS("theta.head_scale model.attention",
           "theta.head_scale = yes needs model.attention = softmax: linear_cosine attention has no "
           "scores",
           o.attention = RT_ATTENTION_LINEAR_COSINE, o.theta.head_scale = true);
    BREAKS("model.head model.labels", "a sequence or token head needs at least one label; got 0",
           o.head = RT_HEAD_TOKEN);
    BREAKS("model.dim model.heads", "model.dim = 33 is not divisible by model.heads = 2",
           o.dim = 33);
    BREAKS("position.kind model.dim model.heads",
           "position.kind = rope needs heads of even size; model.dim = 34 and model.heads = 2 make "
           "it 17",
           o.dim = 34);
    BREAKS("position.kind position.fraction model.dim model.heads",
           "position.fraction = 0.3 is 2.4 of the 8 pairs of a head; the nearest that fit are 0.25 "
           "and 0.375",
           o.position.fraction = 0.3);
    BREAKS("model.init_std", "model.init_std must be at least 0; got -0.02", o.init_std = -0.02);
    BREAKS("model.init_std", "model.init_std must be at least 0; got inf", o.init_std = INFINITY);
    BREAKS("position.init_std", "position.init_std must be at least 0; got nan",
           o.position.init_std = NAN);
    BREAKS("position.fraction", "position.fraction must be from 0 to 1; got nan",
           o.position.fraction = NAN);
    BREAKS("position.kind position.fraction theta.learn",
           "theta.learn = yes needs rotated pairs; position.fraction = 0 leaves none",
           o.position.fraction = 0, o.theta.learn = true);
    BREAKS("position.scaling position.scale position.frequencies position.fraction",
           "position.scaling: yarn needs the original length",
           o.position.frequencies.scaling = RT_SCALING_YARN);
}

TEST(each_rule_of_positions_names_its_options)
{
    BREAKS("theta.learn position.kind", "theta.learn = yes needs position.kind = rope",
           o.position.kind = RT_POSITION_NONE, o.theta.learn = true);
    BREAKS("theta.init theta.learn", "theta.init needs theta.learn = yes",
           o.theta.init = RT_THETA_PERTURBED);
    BREAKS("position.scaling position.kind", "position.scaling needs position.kind = rope; got t5",
           o.position.kind = RT_POSITION_T5, o.position.frequencies.scaling = RT_SCALING_LINEAR);
    BREAKS("model.attention_dropout model.attention",
           "model.attention_dropout > 0 needs model.attention = softmax: linear attention has no "
           "weights to drop",
           o.attention = RT_ATTENTION_LINEAR_ELU, o.attention_dropout = 0.1);
    BREAKS("position.kind position.max_len",
           "position.kind = learned needs position.max_len, the size of its table; got 0",
           o.position.kind = RT_POSITION_LEARNED, o.position.max_len = 0);
    BREAKS("model.first_norm model.norm",
           "model.first_norm = no needs model.norm = pre: a norm behind a block stays",
           o.first_norm = RT_WITHOUT);
}

TEST(each_rule_of_xpos_names_its_options)
{
    static const struct {
        double xpos;
        const char *word;
    } wrong[] = {{-1, "-1"}, {0.5, "0.5"}, {NAN, "nan"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};
    static const rt_position_kind kinds[] = {RT_POSITION_ALIBI, RT_POSITION_NONE,
                                             RT_POSITION_LEARNED};
    for (int i = 0; i < ROWS(wrong); i++)
        BREAKS("position.xpos",
               lasting("position.xpos must be 0 or at least 1; got %s", wrong[i].word),
               o.causal = true, o.position.xpos = wrong[i].xpos);
    for (int i = 0; i < ROWS(kinds); i++)
        BREAKS("position.xpos position.kind",
               lasting("position.xpos needs position.kind = rope; got %s",
                       rt_encoding_word((int)kinds[i])),
               o.causal = true, o.position.xpos = 512, o.position.kind = kinds[i]);
    BREAKS("position.xpos model.causal",
           "position.xpos needs model.causal = yes: scores decay towards keys behind a query and "
           "would grow towards those ahead",
           o.position.xpos = 512);
    BREAKS("position.xpos model.attention",
           "position.xpos needs model.attention = softmax; got linear_elu", o.causal = true,
           o.position.xpos = 512, o.attention = RT_ATTENTION_LINEAR_ELU);
    BREAKS("position.xpos position.fraction",
           "position.xpos needs rotated pairs; position.fraction = 0 leaves none", o.causal = true,
           o.position.xpos = 512, o.position.fraction = 0);
}

TEST(each_rule_of_decoders_names_its_options)
{
    BREAKS("model.kv_heads model.heads", "model.kv_heads = 3 does not divide model.heads = 4",
           o.heads = 4, o.kv_heads = 3);
    BREAKS("model.kv_heads model.heads", "model.kv_heads = 8 does not divide model.heads = 4",
           o.heads = 4, o.kv_heads = 8);
    BREAKS("model.kv_heads model.attention",
           "model.kv_heads = 2 for 4 heads needs model.attention = softmax; got linear_elu",
           o.heads = 4, o.kv_heads = 2, o.attention = RT_ATTENTION_LINEAR_ELU);
    BREAKS("model.window model.attention",
           "model.window needs model.attention = softmax; got linear_elu", o.heads = 4,
           o.kv_heads = 4, o.attention = RT_ATTENTION_LINEAR_ELU, o.window = 5);
    BREAKS("position.every position.kind",
           "position.every = 3 omits positions in layers, but position.kind = learned adds none "
           "there",
           o.position.every = 3, o.position.kind = RT_POSITION_LEARNED);
    BREAKS("model.kind model.tie_embeddings model.embedding_dim model.dim",
           "model.kind = decoder with model.tie_embeddings = yes needs embeddings as wide as the "
           "model; model.embedding_dim = 16, model.dim = 32",
           o.kind = RT_KIND_DECODER, o.tie_embeddings = true, o.embedding_dim = 16);
    HOLDS(o.window = 5);
    BREAKS("model.window model.causal model.kind",
           "model.window = 5 with model.causal = no needs model.kind = roformer: the window of a "
           "decoder lies behind a token",
           o.window = 5, o.kind = RT_KIND_DECODER);
}

/* Options of a program that zeroes nothing. */
TEST(a_count_below_zero_is_refused)
{
    BREAKS("model.kv_heads", "model.kv_heads must be at least 0; got -2", o.kv_heads = -2);
    BREAKS("model.window", "model.window must be at least 0; got -1", o.window = -1);
    BREAKS("position.every", "position.every must be at least 0; got -1", o.position.every = -1);
}

TEST(what_decoders_are_made_of_goes_together)
{
    rt_transformer_options o = good();
    o.kind = RT_KIND_DECODER;
    o.causal = true;
    o.embedding_dim = 16;
    o.heads = 4;
    o.kv_heads = 2;
    o.window = 5;
    o.position.every = 2;
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_MODEL};
    expect_good(&o);
    o.tie_embeddings = true;
    o.embedding_dim = o.dim;
    expect_good(&o);
    o.position.every = 1;
    o.theta.scope = RT_THETA_HEAD;
    expect_good(&o);
    o.kv_heads = 4;
    expect_good(&o);
    o.attention = RT_ATTENTION_LINEAR_COSINE;
    o.window = 0;
    expect_good(&o);
}

TEST(what_layers_differ_in_goes_together)
{
    BREAKS("model.layer_types model.window",
           "model.layer_types has sliding layers, which need model.window",
           o.layer_types = sliding_first);
    BREAKS("model.layer_types model.window",
           "model.layer_types has no sliding layer for model.window = 3",
           o.layer_types = (rt_layer_words){2, {RT_LAYER_FULL, RT_LAYER_FULL}}, o.window = 3);
    BREAKS("model.layer_types model.layers",
           "model.layer_types must have a word for each layer; it has 3, model.layers = 2",
           o.layer_types = (rt_layer_words){3, {RT_LAYER_SLIDING, RT_LAYER_FULL}}, o.window = 3);
    BREAKS("position.layers",
           "position.layers leaves no layer with positions: set position.kind = none",
           o.position.layers = (rt_layer_words){2, {0}});
    BREAKS("position.layers position.every",
           "position.layers says which layers have positions; position.every = 2 says it as well: "
           "leave one of them out",
           o.position.layers = (rt_layer_words){2, {RT_LAYER_WITH_POSITIONS}},
           o.position.every = 2);
    BREAKS("position.layers position.kind",
           "position.layers is of positions in layers, but position.kind = sinusoidal adds none "
           "there",
           o.position.layers = (rt_layer_words){2, {RT_LAYER_WITH_POSITIONS}}, o.position.every = 1,
           o.position.kind = RT_POSITION_SINUSOIDAL);
}

TEST(a_base_of_sliding_layers_needs_some_and_no_theta_of_all)
{
    static const char needs[] =
        "position.local_base needs a sliding layer that has positions: see model.window and "
        "model.layer_types";
    static const char names[] =
        "position.local_base model.window model.layer_types position.layers";
    BREAKS("position.local_base", "position.local_base must be 0 or above 1; got 0.5",
           o.position.local_base = 0.5);
    BREAKS(names, needs, o.position.local_base = 100);
    BREAKS("position.local_base position.kind",
           "position.local_base needs position.kind = rope; got alibi", o.position.local_base = 100,
           o.position.kind = RT_POSITION_ALIBI);
    rt_transformer_options o = good();
    o.position.local_base = 100;
    o.window = 3;
    o.layer_types = sliding_first;
    expect_good(&o);
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_LAYER};
    expect_good(&o);
    o.theta.scope = RT_THETA_MODEL;
    o.position.local_base = o.position.frequencies.base;
    expect_good(&o);
    o.position.local_base = 100;
    o.position.frequencies.family = RT_FREQUENCIES_RECIPROCAL;
    expect_good(&o);
    o.position.frequencies.family = RT_FREQUENCIES_GEOMETRIC;
    o.position.layers = (rt_layer_words){o.layers, {1, 0}};
    expect_good(&o);
    o.position.layers.count = 0;
    expect(&o, "theta.scope position.local_base",
           "theta.scope = model learns one theta for all layers, but position.local_base = 100 has "
           "layers start apart: set theta.scope = layer or head");
    o.position.layers = (rt_layer_words){o.layers, {0, 1}};
    expect(&o, names, needs);
}

TEST(what_is_of_encoders_is_refused_of_others)
{
    BREAKS("model.token_dropout model.causal",
           "model.token_dropout = yes needs model.causal = no: it tells a token how many of the "
           "later ones are masked",
           o.token_dropout = true, o.causal = true);
    BREAKS("model.bias model.kind",
           "model.bias = output needs model.kind = roformer: the output layer of a decoder has no "
           "bias",
           o.kind = RT_KIND_DECODER, o.bias = RT_BIAS_OUTPUT);
    BREAKS("model.classifier model.kind", "model.classifier = norm needs model.kind = roformer",
           o.kind = RT_KIND_DECODER, o.bias = RT_BIAS_NONE, o.classifier = RT_CLASSIFIER_NORM);
}

TEST(heads_of_their_own_size_divide_nothing)
{
    HOLDS(o.dim = 33, o.head_dim = 6);
    BREAKS("position.kind model.head_dim",
           "position.kind = rope needs heads of even size; model.head_dim = 7", o.dim = 33,
           o.head_dim = 7);
    BREAKS("model.residual model.norm", "model.residual = parallel needs model.norm = pre",
           o.residual = RT_RESIDUAL_PARALLEL);
}

TEST(what_changes_scores_does_not_go_with_linear_attention)
{
    for (int kind = 0; rt_encoding_word(kind); kind++) {
        const rt_transformer_options of_kind = {.position.kind = (rt_position_kind)kind};
        if (rt_encoding_of(&of_kind)->of_scores)
            BREAKS("position.kind model.attention",
                   lasting("position.kind = %s changes attention scores and needs "
                           "model.attention = softmax; got linear_cosine",
                           rt_encoding_word(kind)),
                   o.position.kind = (rt_position_kind)kind,
                   o.attention = RT_ATTENTION_LINEAR_COSINE);
    }
}

TEST(a_choice_that_there_is_not_is_refused)
{
    BREAKS("model.head", "model.head must be from 0 to 2; got 3", o.head = (rt_head)3);
    BREAKS("model.activation", "model.activation must be from 0 to 6; got 99",
           o.activation = (rt_activation)99);
    BREAKS("model.kind", "model.kind must be from 0 to 1; got 2", o.kind = (rt_model_kind)2);
    BREAKS("model.ffn", "model.ffn must be from 0 to 2; got 3", o.ffn = (rt_ffn)3);
    BREAKS("model.norm_kind", "model.norm_kind must be from 0 to 1; got 2",
           o.norm_kind = (rt_norm_kind)2);
    BREAKS("model.bias", "model.bias must be from 0 to 4; got -1", o.bias = (rt_bias)-1);
    BREAKS("model.norm_bias", "model.norm_bias must be from 0 to 1; got 2",
           o.norm_bias = (rt_presence)2);
    BREAKS("model.first_norm", "model.first_norm must be from 0 to 1; got 2",
           o.first_norm = (rt_presence)2);
    BREAKS("model.embedding_norm", "model.embedding_norm must be from 0 to 2; got 3",
           o.embedding_norm = (rt_embedding_norm)3);
    BREAKS("model.classifier", "model.classifier must be from 0 to 2; got 3",
           o.classifier = (rt_classifier)3);
    BREAKS("position.kind", lasting("position.kind must be from 0 to %d; got -1", RT_POSITION_NONE),
           o.position.kind = (rt_position_kind)-1);
    BREAKS("model.attention", "model.attention must be from 0 to 3; got 4",
           o.attention = (rt_attention_kind)4);
}

TEST(all_rules_that_are_broken_are_told)
{
    heard h = {0};
    rt_transformer_options o = good();
    o.vocab = o.dim = o.heads = 0;
    rt_transformer_rules(&o, listen, &h);
    ck_assert_int_eq(h.count, 3);
    o = good();
    o.dim = 33;
    o.theta.init = RT_THETA_UNIFORM;
    o.attention = RT_ATTENTION_LINEAR_ELU;
    o.attention_dropout = 0.5;
    rt_transformer_rules(&o, listen, &h);
    ck_assert_int_eq(h.count, 6);
}
