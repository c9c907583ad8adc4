/* Every rule of a RoFormer's options, what it says, and which options it names. */

#include "models/options.h"

#include "models/encodings/encoding.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static void expect(const rt_transformer_options *o, const char *options, const char *message)
{
    heard h = {0};
    rt_transformer *m;
    rt_transformer_rules(o, listen, &h);
    ck_assert_int_eq(h.count, 1);
    ck_assert_str_eq(h.options, options);
    ck_assert_str_eq(h.message, message);
    const rt_status status = rt_transformer_new(&m, o, 1, NULL);
    ck_assert_int_eq(status.code, RT_ARGUMENT);
    ck_assert_str_eq(status.message, message);
    ck_assert_ptr_null(m);
}

TEST(good_options_break_no_rule)
{
    heard h = {0};
    rt_transformer_options o = good();
    rt_transformer_rules(&o, listen, &h);
    o.theta = (rt_theta_options){.learn = true, .init = RT_THETA_UNIFORM};
    rt_transformer_rules(&o, listen, &h);
    o.theta.learn = false;
    o.theta.init = RT_THETA_FREQUENCIES;
    o.position.fraction = 0;
    rt_transformer_rules(&o, listen, &h);
    ck_assert_msg(!h.count, "%s", h.message);
}

TEST(each_rule_names_its_options)
{
    rt_transformer_options o = good();
    o.layers = 0;
    expect(&o, "model.layers", "model.layers must be positive; got 0");
    o = good();
    o.attention = RT_ATTENTION_LINEAR_COSINE;
    o.theta.head_scale = true;
    expect(&o, "theta.head_scale model.attention",
           "theta.head_scale = yes needs model.attention = softmax: linear_cosine attention has no "
           "scores");
    o = good();
    o.head = RT_HEAD_TOKEN;
    expect(&o, "model.head model.labels",
           "a sequence or token head needs at least one label; got 0");
    o = good();
    o.dim = 33;
    expect(&o, "model.dim model.heads", "model.dim = 33 is not divisible by model.heads = 2");
    o.dim = 34;
    expect(&o, "position.kind model.dim model.heads",
           "position.kind = rope needs heads of even size; model.dim = 34 and model.heads = 2 make "
           "it 17");
    o = good();
    o.position.fraction = 0.3;
    expect(&o, "position.kind position.fraction model.dim model.heads",
           "position.fraction = 0.3 is 2.4 of the 8 pairs of a head; the nearest that fit are 0.25 "
           "and 0.375");
    o = good();
    o.init_std = -0.02;
    expect(&o, "model.init_std", "model.init_std must be at least 0; got -0.02");
    o.init_std = INFINITY;
    expect(&o, "model.init_std", "model.init_std must be at least 0; got inf");
    o = good();
    o.position.init_std = NAN;
    expect(&o, "position.init_std", "position.init_std must be at least 0; got nan");
    o = good();
    o.position.fraction = NAN;
    expect(&o, "position.fraction", "position.fraction must be from 0 to 1; got nan");
    o.position.fraction = 0;
    o.theta.learn = true;
    expect(&o, "position.kind position.fraction theta.learn",
           "theta.learn = yes needs rotated pairs; position.fraction = 0 leaves none");
    o = good();
    o.position.frequencies.scaling = RT_SCALING_YARN;
    expect(&o, "position.scaling position.scale position.frequencies position.fraction",
           "position.scaling: yarn needs the original length");
}

TEST(each_rule_of_positions_names_its_options)
{
    rt_transformer_options o = good();
    o.position.kind = RT_POSITION_NONE;
    o.theta.learn = true;
    expect(&o, "theta.learn position.kind", "theta.learn = yes needs position.kind = rope");
    o = good();
    o.theta.init = RT_THETA_PERTURBED;
    expect(&o, "theta.init theta.learn", "theta.init needs theta.learn = yes");
    o = good();
    o.position.kind = RT_POSITION_T5;
    o.position.frequencies.scaling = RT_SCALING_LINEAR;
    expect(&o, "position.scaling position.kind",
           "position.scaling needs position.kind = rope; got t5");
    o = good();
    o.attention = RT_ATTENTION_LINEAR_ELU;
    o.attention_dropout = 0.1;
    expect(&o, "model.attention_dropout model.attention",
           "model.attention_dropout > 0 needs model.attention = softmax: linear attention has no "
           "weights to drop");
    o = good();
    o.position.kind = RT_POSITION_LEARNED;
    o.position.max_len = 0;
    expect(&o, "position.kind position.max_len",
           "position.kind = learned needs position.max_len, the size of its table; got 0");
}

TEST(each_rule_of_xpos_names_its_options)
{
    static const double wrong[] = {-1, 0.5, NAN, INFINITY, -INFINITY};
    static const char *const written[] = {"-1", "0.5", "nan", "inf", "-inf"};
    rt_transformer_options o = good();
    o.causal = true;
    for (int i = 0; i < 5; i++) {
        char message[100];
        o.position.xpos = wrong[i];
        snprintf(message, sizeof message, "position.xpos must be 0 or at least 1; got %s",
                 written[i]);
        expect(&o, "position.xpos", message);
    }
    o.position.xpos = 512;
    o.causal = false;
    expect(&o, "position.xpos model.causal",
           "position.xpos needs model.causal = yes: scores decay towards keys behind a query and "
           "would grow towards those ahead");
    o.causal = true;
    o.attention = RT_ATTENTION_LINEAR_ELU;
    expect(&o, "position.xpos model.attention",
           "position.xpos needs model.attention = softmax; got linear_elu");
    o.attention = RT_ATTENTION_SOFTMAX;
    o.position.fraction = 0;
    expect(&o, "position.xpos position.fraction",
           "position.xpos needs rotated pairs; position.fraction = 0 leaves none");
    o.position.fraction = 1;
    static const rt_position_kind kinds[] = {RT_POSITION_ALIBI, RT_POSITION_NONE,
                                             RT_POSITION_LEARNED};
    static const char *const words[] = {"alibi", "none", "learned"};
    for (int i = 0; i < 3; i++) {
        char message[100];
        o.position.kind = kinds[i];
        snprintf(message, sizeof message, "position.xpos needs position.kind = rope; got %s",
                 words[i]);
        expect(&o, "position.xpos position.kind", message);
    }
}

TEST(each_rule_of_decoders_names_its_options)
{
    rt_transformer_options o = good();
    o.heads = 4;
    o.kv_heads = 3;
    expect(&o, "model.kv_heads model.heads", "model.kv_heads = 3 does not divide model.heads = 4");
    o.kv_heads = 8;
    expect(&o, "model.kv_heads model.heads", "model.kv_heads = 8 does not divide model.heads = 4");
    o.kv_heads = 2;
    o.attention = RT_ATTENTION_LINEAR_ELU;
    expect(&o, "model.kv_heads model.attention",
           "model.kv_heads = 2 for 4 heads needs model.attention = softmax; got linear_elu");
    o.kv_heads = 4;
    o.window = 5;
    expect(&o, "model.window model.attention",
           "model.window needs model.attention = softmax; got linear_elu");
    o = good();
    o.position.every = 3;
    o.position.kind = RT_POSITION_LEARNED;
    expect(&o, "position.every position.kind",
           "position.every = 3 omits positions in layers, but position.kind = learned adds none "
           "there");
    o = good();
    o.kind = RT_KIND_DECODER;
    o.tie_embeddings = true;
    o.embedding_dim = 16;
    expect(&o, "model.kind model.tie_embeddings model.embedding_dim model.dim",
           "model.kind = decoder with model.tie_embeddings = yes needs embeddings as wide as the "
           "model; model.embedding_dim = 16, model.dim = 32");
}

/* Options of a program that zeroes nothing. */
TEST(a_count_below_zero_is_refused)
{
    rt_transformer_options o = good();
    o.kv_heads = -2;
    expect(&o, "model.kv_heads", "model.kv_heads must be at least 0; got -2");
    o = good();
    o.window = -1;
    expect(&o, "model.window", "model.window must be at least 0; got -1");
    o = good();
    o.position.every = -1;
    expect(&o, "position.every", "position.every must be at least 0; got -1");
}

TEST(what_decoders_are_made_of_goes_together)
{
    heard h = {0};
    rt_transformer_options o = good();
    o.kind = RT_KIND_DECODER;
    o.causal = true;
    o.embedding_dim = 16;
    o.heads = 4;
    o.kv_heads = 2;
    o.window = 5;
    o.position.every = 2;
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_MODEL};
    rt_transformer_rules(&o, listen, &h);
    o.tie_embeddings = true;
    o.embedding_dim = o.dim;
    rt_transformer_rules(&o, listen, &h);
    o.position.every = 1;
    o.theta.scope = RT_THETA_HEAD;
    rt_transformer_rules(&o, listen, &h);
    o.kv_heads = 4;
    rt_transformer_rules(&o, listen, &h);
    o.attention = RT_ATTENTION_LINEAR_COSINE;
    o.window = 0;
    rt_transformer_rules(&o, listen, &h);
    ck_assert_msg(!h.count, "%s", h.message);
}

TEST(the_window_of_a_decoder_is_behind_a_token)
{
    rt_transformer_options o = good();
    heard h = {0};
    o.window = 5;
    rt_transformer_rules(&o, listen, &h);
    ck_assert_int_eq(h.count, 0);
    o.kind = RT_KIND_DECODER;
    o.embedding_dim = 0;
    expect(&o, "model.window model.causal model.kind",
           "model.window = 5 with model.causal = no needs model.kind = roformer: the window of a "
           "decoder lies behind a token");
}

TEST(what_layers_differ_in_goes_together)
{
    rt_transformer_options o = good();
    o.layer_types = (rt_layer_words){o.layers, {RT_LAYER_SLIDING, RT_LAYER_FULL}};
    expect(&o, "model.layer_types model.window",
           "model.layer_types has sliding layers, which need model.window");
    o.layer_types.at[0] = RT_LAYER_FULL;
    o.window = 3;
    expect(&o, "model.layer_types model.window",
           "model.layer_types has no sliding layer for model.window = 3");
    o.layer_types.count++;
    o.layer_types.at[0] = RT_LAYER_SLIDING;
    expect(&o, "model.layer_types model.layers",
           "model.layer_types must have a word for each layer; it has 3, model.layers = 2");
    o = good();
    o.position.layers = (rt_layer_words){o.layers, {0}};
    expect(&o, "position.layers",
           "position.layers leaves no layer with positions: set position.kind = none");
    o.position.layers.at[0] = RT_LAYER_WITH_POSITIONS;
    o.position.every = 2;
    expect(&o, "position.layers position.every",
           "position.layers says which layers have positions; position.every = 2 says it as well: "
           "leave one of them out");
    o.position.every = 1;
    o.position.kind = RT_POSITION_SINUSOIDAL;
    expect(&o, "position.layers position.kind",
           "position.layers is of positions in layers, but position.kind = sinusoidal adds none "
           "there");
}

TEST(a_base_of_sliding_layers_needs_some_and_no_theta_of_all)
{
    rt_transformer_options o = good();
    heard h = {0};
    o.position.local_base = 0.5;
    expect(&o, "position.local_base", "position.local_base must be 0 or above 1; got 0.5");
    o.position.local_base = 100;
    expect(&o, "position.local_base model.window model.layer_types position.layers",
           "position.local_base needs a sliding layer that has positions: see model.window and "
           "model.layer_types");
    o.window = 3;
    o.layer_types = (rt_layer_words){o.layers, {RT_LAYER_SLIDING, RT_LAYER_FULL}};
    rt_transformer_rules(&o, listen, &h);
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_LAYER};
    rt_transformer_rules(&o, listen, &h);
    o.theta.scope = RT_THETA_MODEL;
    o.position.local_base = o.position.frequencies.base;
    rt_transformer_rules(&o, listen, &h);
    o.position.local_base = 100;
    o.position.frequencies.family = RT_FREQUENCIES_RECIPROCAL;
    rt_transformer_rules(&o, listen, &h);
    o.position.frequencies.family = RT_FREQUENCIES_GEOMETRIC;
    o.position.layers = (rt_layer_words){o.layers, {1, 0}};
    rt_transformer_rules(&o, listen, &h);
    o.position.layers.count = 0;
    ck_assert_msg(!h.count, "%s", h.message);
    o.position.local_base = 100;
    expect(&o, "theta.scope position.local_base",
           "theta.scope = model learns one theta for all layers, but position.local_base = 100 has "
           "layers start apart: set theta.scope = layer or head");
    o.position.layers = (rt_layer_words){o.layers, {0, 1}};
    expect(&o, "position.local_base model.window model.layer_types position.layers",
           "position.local_base needs a sliding layer that has positions: see model.window and "
           "model.layer_types");
    o = good();
    o.position.local_base = 100;
    o.position.kind = RT_POSITION_ALIBI;
    expect(&o, "position.local_base position.kind",
           "position.local_base needs position.kind = rope; got alibi");
}

TEST(the_first_norm_is_one_before_a_block)
{
    rt_transformer_options o = good();
    o.first_norm = RT_WITHOUT;
    expect(&o, "model.first_norm model.norm",
           "model.first_norm = no needs model.norm = pre: a norm behind a block stays");
}

TEST(what_is_of_encoders_is_refused_of_others)
{
    rt_transformer_options o = good();
    o.token_dropout = true;
    o.causal = true;
    expect(&o, "model.token_dropout model.causal",
           "model.token_dropout = yes needs model.causal = no: it tells a token how many of the "
           "later ones are masked");
    o = good();
    o.kind = RT_KIND_DECODER;
    o.bias = RT_BIAS_OUTPUT;
    expect(&o, "model.bias model.kind",
           "model.bias = output needs model.kind = roformer: the output layer of a decoder has no "
           "bias");
    o.bias = RT_BIAS_NONE;
    o.classifier = RT_CLASSIFIER_NORM;
    expect(&o, "model.classifier model.kind",
           "model.classifier = norm needs model.kind = roformer");
}

TEST(heads_of_their_own_size_divide_nothing)
{
    heard h = {0};
    rt_transformer_options o = good();
    o.dim = 33;
    o.head_dim = 6;
    rt_transformer_rules(&o, listen, &h);
    ck_assert_msg(!h.count, "%s", h.message);
    o.head_dim = 7;
    expect(&o, "position.kind model.head_dim",
           "position.kind = rope needs heads of even size; model.head_dim = 7");
    o = good();
    o.residual = RT_RESIDUAL_PARALLEL;
    expect(&o, "model.residual model.norm", "model.residual = parallel needs model.norm = pre");
}

TEST(what_changes_scores_does_not_go_with_linear_attention)
{
    for (int kind = 0; rt_encoding_word(kind); kind++) {
        char message[128];
        rt_transformer_options o = good();
        o.position.kind = (rt_position_kind)kind;
        if (!rt_encoding_of(&o)->of_scores)
            continue;
        o.attention = RT_ATTENTION_LINEAR_COSINE;
        snprintf(message, sizeof message,
                 "position.kind = %s changes attention scores and needs model.attention = softmax; "
                 "got linear_cosine",
                 rt_encoding_word(kind));
        expect(&o, "position.kind model.attention", message);
    }
}

TEST(a_choice_that_there_is_not_is_refused)
{
    char message[64];
    rt_transformer_options o = good();
    o.head = (rt_head)3;
    expect(&o, "model.head", "model.head must be from 0 to 2; got 3");
    o = good();
    o.activation = (rt_activation)99;
    expect(&o, "model.activation", "model.activation must be from 0 to 6; got 99");
    o = good();
    o.kind = (rt_model_kind)2;
    expect(&o, "model.kind", "model.kind must be from 0 to 1; got 2");
    o = good();
    o.ffn = (rt_ffn)3;
    expect(&o, "model.ffn", "model.ffn must be from 0 to 2; got 3");
    o = good();
    o.norm_kind = (rt_norm_kind)2;
    expect(&o, "model.norm_kind", "model.norm_kind must be from 0 to 1; got 2");
    o = good();
    o.bias = (rt_bias)-1;
    expect(&o, "model.bias", "model.bias must be from 0 to 4; got -1");
    o = good();
    o.norm_bias = (rt_presence)2;
    expect(&o, "model.norm_bias", "model.norm_bias must be from 0 to 1; got 2");
    o = good();
    o.first_norm = (rt_presence)2;
    expect(&o, "model.first_norm", "model.first_norm must be from 0 to 1; got 2");
    o = good();
    o.embedding_norm = (rt_embedding_norm)3;
    expect(&o, "model.embedding_norm", "model.embedding_norm must be from 0 to 2; got 3");
    o = good();
    o.classifier = (rt_classifier)3;
    expect(&o, "model.classifier", "model.classifier must be from 0 to 2; got 3");
    o = good();
    o.position.kind = (rt_position_kind)-1;
    snprintf(message, sizeof message, "position.kind must be from 0 to %d; got -1",
             RT_POSITION_NONE);
    expect(&o, "position.kind", message);
    o = good();
    o.attention = (rt_attention_kind)4;
    expect(&o, "model.attention", "model.attention must be from 0 to 3; got 4");
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
