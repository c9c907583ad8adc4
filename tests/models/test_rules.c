/* Every rule of a RoFormer's options: its message, and the options that it names. */

#include "models/options.h"

#include "models/encodings/encoding.h"
#include "option_words.h"
#include "suite.h"

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

/* Returns whether there is a key of that name; head, labels and patch follow from the data. */
static bool is_option(const char *name)
{
    return !strcmp(name, "model.head") || !strcmp(name, "model.labels") ||
           !strcmp(name, "model.patch") || rt_keys_find(&rt_model_keys, name);
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

#define DECODER   "model.kind=decoder "
#define LINEAR    "model.attention=linear_elu "
#define XPOS      "position.xpos=512 "
#define CAUSAL    "model.causal=yes "
#define SELECTIVE CAUSAL "position.kind=selective position.rank=2 "
#define SLIDING   "model.window=3 model.layer_types=sliding,full "
#define GROUPED                                                                                    \
    DECODER CAUSAL "model.heads=4 model.kv_heads=2 model.window=5 position.every=2 "               \
                   "theta.learn=yes "
#define LOCAL_BASE                                                                                 \
    "position.local_base model.window model.layer_types position.layers",                          \
        "position.local_base needs a sliding layer that has positions: see model.window and "      \
        "model.layer_types"
#define XPOS_RANGE "position.xpos", "position.xpos must be 0 or at least 1; got "

/* Changes of good options, the options of the one rule that they break, and its message; NULL: they
 * break none. */
static const struct {
    const char *words, *options, *message;
} rows[] = {
    {"model.dim=32", NULL, NULL},
    {"theta.learn=yes theta.init=uniform", NULL, NULL},
    {"position.fraction=0", NULL, NULL},
    {"model.layers=0", "model.layers", "model.layers must be positive; got 0"},
    {"model.attention=linear_cosine theta.head_scale=yes", "theta.head_scale model.attention",
     "theta.head_scale = yes needs model.attention = softmax: linear_cosine attention has no "
     "scores"},
    {"head=token", "model.head model.labels",
     "a sequence or token head needs at least one label; got 0"},
    {"model.dim=33", "model.dim model.heads", "model.dim = 33 is not divisible by model.heads = 2"},
    {"model.dim=34", "position.kind model.dim model.heads",
     "position.kind = rope needs heads of even size; model.dim = 34 and model.heads = 2 make it "
     "17"},
    {"position.fraction=0.3", "position.kind position.fraction model.dim model.heads",
     "position.fraction = 0.3 is 2.4 of the 8 pairs of a head; the nearest that fit are 0.25 and "
     "0.375"},
    {"model.init_std=-0.02", "model.init_std", "model.init_std must be at least 0; got -0.02"},
    {"model.init_std=inf", "model.init_std", "model.init_std must be at least 0; got inf"},
    {"position.init_std=nan", "position.init_std", "position.init_std must be at least 0; got nan"},
    {"position.fraction=nan", "position.fraction",
     "position.fraction must be from 0 to 1; got nan"},
    {"position.fraction=0 theta.learn=yes", "position.kind position.fraction theta.learn",
     "theta.learn = yes needs rotated pairs; position.fraction = 0 leaves none"},
    {"position.scaling=yarn",
     "position.scaling position.scale position.frequencies position.fraction",
     "position.scaling: yarn needs the original length"},
    /* positions */
    {"position.kind=none theta.learn=yes", "theta.learn position.kind",
     "theta.learn = yes needs position.kind = rope, selective or pope"},
    {SLIDING "position.local_fraction=0.25", NULL, NULL},
    {"position.local_fraction=0.5",
     "position.local_fraction model.window model.layer_types position.layers",
     "position.local_fraction needs a sliding layer that has positions: see model.window and "
     "model.layer_types"},
    {SLIDING "position.local_fraction=0.3",
     "position.kind position.local_fraction model.dim "
     "model.heads",
     "position.local_fraction = 0.3 is 2.4 of the 8 pairs of a head; the nearest that fit are 0.25 "
     "and 0.375"},
    {SLIDING "position.local_fraction=0.5 theta.learn=yes", "position.local_fraction theta.learn",
     "theta.learn = yes needs as many rotated pairs in all layers, but position.local_fraction = "
     "0.5, position.fraction = 1: leave one out"},
    {SLIDING "position.local_fraction=1 theta.learn=yes", NULL, NULL},
    {SLIDING "position.kind=pope position.local_fraction=1",
     "position.local_fraction position.kind",
     "position.local_fraction needs position.kind = rope; got pope"},
    {"position.kind=pope theta.learn=yes model.dim=34", NULL, NULL},
    {"position.kind=pope position.scaling=linear position.scale=2 model.kv_heads=1", NULL, NULL},
    {"position.kind=pope position.axes=2", "position.axes position.kind",
     "position.axes = 2 needs position.kind = rope, sinusoidal, learned or none; got pope"},
    {"position.kind=pope position.xpos=9", "position.xpos position.kind",
     "position.xpos needs position.kind = rope; got pope"},
    {"position.kind=pope position.local_base=9", LOCAL_BASE},
    {"position.kind=pope position.base=0.5", "position.base",
     "position.base must be above 1; got 0.5"},
    {"position.kind=pope " LINEAR, "position.kind model.attention",
     "position.kind = pope changes attention scores and needs model.attention = softmax; got "
     "linear_elu"},
    {CAUSAL "position.kind=pope position.key_shift=yes", "position.key_shift position.kind",
     "position.key_shift = yes needs position.kind = rope or none; got pope"},
    {SELECTIVE "theta.learn=yes theta.form=raw position.forget=gate", NULL, NULL},
    {"position.kind=selective position.rank=2", "position.kind model.causal",
     "position.kind = selective needs model.causal = yes: it is published for causal models"},
    {SELECTIVE "model.kv_heads=1", "position.kind model.kv_heads model.heads",
     "position.kind = selective needs as many key heads as heads; model.kv_heads = 1, model.heads "
     "= 2: set model.kv_heads = 0"},
    {SELECTIVE "model.dim=33 model.head_dim=8", "position.kind model.dim model.heads",
     "position.kind = selective cuts the width into heads, but model.dim = 33 is not divisible by "
     "model.heads = 2: change one of them"},
    {SELECTIVE "model.head_dim=7", "position.kind model.head_dim",
     "position.kind = selective needs heads of even size; model.head_dim = 7"},
    {SELECTIVE "position.base=0.5", "position.base", "position.base must be above 1; got 0.5"},
    {SELECTIVE "position.taps=-1", "position.taps", "position.taps must be at least 0; got -1"},
    {SELECTIVE "position.axes=2", "position.axes position.kind",
     "position.axes = 2 needs position.kind = rope, sinusoidal, learned or none; got selective"},
    {SELECTIVE "position.xpos=9", "position.xpos position.kind",
     "position.xpos needs position.kind = rope; got selective"},
    {SELECTIVE "position.key_shift=yes", "position.key_shift position.kind",
     "position.key_shift = yes needs position.kind = rope or none; got selective"},
    {"theta.init=perturbed", "theta.init theta.learn", "theta.init needs theta.learn = yes"},
    {CAUSAL "position.forget=gate position.key_shift=yes position.fraction=0.5 "
            "model.length_scale=learned",
     NULL, NULL},
    {CAUSAL "position.kind=t5 position.forget=bias position.forget_times=7", NULL, NULL},
    {"position.forget=fixed position.forget_times=4..9", "position.forget model.causal",
     "position.forget = fixed needs model.causal = yes: it is published for causal models"},
    {CAUSAL LINEAR "position.forget=gate", "position.forget model.attention",
     "position.forget = gate needs model.attention = softmax: it changes scores"},
    {CAUSAL "position.kind=alibi position.forget=gate", "position.forget position.kind",
     "position.forget = gate beside position.kind = alibi lowers scores twice: set position.kind = "
     "none"},
    {CAUSAL "position.axes=2 position.forget=gate", "position.forget position.axes",
     "position.forget = gate needs position.axes = 1: it counts along a text"},
    {CAUSAL "position.forget=gate position.forget_bias=nan", "position.forget_bias",
     "position.forget_bias must be finite; got nan"},
    {CAUSAL "position.forget=bias", "position.forget_times",
     "position.forget_times must be A..B tokens, 1 <= A <= B; got 0..0"},
    {"position.key_shift=yes position.fraction=0.5", "position.key_shift model.causal",
     "position.key_shift = yes needs model.causal = yes: it is published for causal models"},
    {CAUSAL LINEAR "position.key_shift=yes position.fraction=0.5",
     "position.key_shift model.attention",
     "position.key_shift = yes needs model.attention = softmax: it changes scores"},
    {CAUSAL "position.key_shift=yes", "position.key_shift position.fraction",
     "position.key_shift = yes shifts the features that do not rotate: set position.fraction below "
     "1, such as 0.5"},
    {CAUSAL "position.key_shift=yes position.kind=alibi", "position.key_shift position.kind",
     "position.key_shift = yes needs position.kind = rope or none; got alibi"},
    {CAUSAL "position.key_shift=yes position.kind=none position.axes=2",
     "position.key_shift position.axes",
     "position.key_shift = yes needs position.axes = 1: a key before is one of a text"},
    {"model.length_scale=log", "model.length_scale model.causal",
     "model.length_scale = log needs model.causal = yes: it is published for causal models"},
    {CAUSAL LINEAR "model.length_scale=learned", "model.length_scale model.attention",
     "model.length_scale = learned needs model.attention = softmax: it changes scores"},
    {CAUSAL "model.length_scale=floor", "model.length_factor model.length_floor",
     "model.length_factor must be finite, and model.length_floor positive; got 0 and 0"},
    {"position.kind=t5 position.scaling=linear", "position.scaling position.kind",
     "position.scaling needs position.kind = rope; got t5"},
    {LINEAR "model.attention_dropout=0.1", "model.attention_dropout model.attention",
     "model.attention_dropout > 0 needs model.attention = softmax: linear attention has no weights "
     "to drop"},
    {"position.kind=learned position.max_len=0", "position.kind position.max_len",
     "position.kind = learned needs position.max_len, the size of its table; got 0"},
    {"model.first_norm=no", "model.first_norm model.norm",
     "model.first_norm = no needs model.norm = pre: a norm behind a block stays"},
    {CAUSAL "position.xpos=-1", XPOS_RANGE "-1"},
    {CAUSAL "position.xpos=0.5", XPOS_RANGE "0.5"},
    {CAUSAL "position.xpos=nan", XPOS_RANGE "nan"},
    {CAUSAL "position.xpos=inf", XPOS_RANGE "inf"},
    {CAUSAL XPOS "position.kind=alibi", "position.xpos position.kind",
     "position.xpos needs position.kind = rope; got alibi"},
    {XPOS, "position.xpos model.causal",
     "position.xpos needs model.causal = yes: scores decay towards keys behind a query and would "
     "grow towards those ahead"},
    {CAUSAL XPOS LINEAR, "position.xpos model.attention",
     "position.xpos needs model.attention = softmax; got linear_elu"},
    {CAUSAL XPOS "position.fraction=0", "position.xpos position.fraction",
     "position.xpos needs rotated pairs; position.fraction = 0 leaves none"},
    /* two coordinates */
    {"position.axes=2 position.fraction=0.625",
     "position.axes position.fraction model.dim model.heads",
     "position.axes = 2 rotates half of the pairs by each coordinate and needs a multiple of 4 "
     "rotated features per head; got 10: change model.heads or position.fraction"},
    {CAUSAL "position.axes=2 position.xpos=8", "position.axes position.xpos",
     "position.axes = 2 needs position.xpos = 0; got 8"},
    {"position.axes=2 position.scaling=linear position.scale=2", "position.axes position.scaling",
     "position.axes = 2 needs position.scaling = none"},
    {"position.axes=2 position.mixing=mixed", "position.mixing theta.learn",
     "position.mixing = mixed needs theta.learn = yes, since each head has angles of its own; "
     "train.freeze = theta keeps their initial values"},
    {"position.axes=2 position.mixing=mixed theta.learn=yes", "position.mixing theta.form",
     "position.mixing = mixed needs theta.form = raw: its theta can be negative"},
    {"position.axes=3", "position.axes", "position.axes must be from 0 to 2; got 3"},
    {"patch=-1", "model.patch", "model.patch must be at least 0; got -1"},
    /* decoders */
    {"model.heads=4 model.kv_heads=3", "model.kv_heads model.heads",
     "model.kv_heads = 3 does not divide model.heads = 4"},
    {LINEAR "model.heads=4 model.kv_heads=2", "model.kv_heads model.attention",
     "model.kv_heads = 2 for 4 heads needs model.attention = softmax; got linear_elu"},
    {LINEAR "model.heads=4 model.kv_heads=4 model.window=5", "model.window model.attention",
     "model.window needs model.attention = softmax; got linear_elu"},
    {"position.every=3 position.kind=learned", "position.every position.kind",
     "position.every = 3 omits positions in layers, but position.kind = learned adds none there"},
    {DECODER "model.tie_embeddings=yes model.embedding_dim=16",
     "model.kind model.tie_embeddings model.embedding_dim model.dim",
     "model.kind = decoder with model.tie_embeddings = yes needs embeddings as wide as the model; "
     "model.embedding_dim = 16, model.dim = 32"},
    {"model.window=5", NULL, NULL},
    {DECODER "model.window=5", "model.window model.causal model.kind",
     "model.window = 5 with model.causal = no needs model.kind = roformer: the window of a decoder "
     "lies behind a token"},
    {"model.kv_heads=-2", "model.kv_heads", "model.kv_heads must be at least 0; got -2"},
    {"model.window=-1", "model.window", "model.window must be at least 0; got -1"},
    {"position.every=-1", "position.every", "position.every must be at least 0; got -1"},
    {GROUPED "model.embedding_dim=16 theta.scope=model", NULL, NULL},
    {GROUPED "model.tie_embeddings=yes model.embedding_dim=32 theta.scope=model", NULL, NULL},
    {GROUPED "position.every=1 theta.scope=head", NULL, NULL},
    {GROUPED "position.every=1 model.kv_heads=4 theta.scope=head model.window=0 "
             "model.attention=linear_cosine",
     NULL, NULL},
    /* layers that differ */
    {"model.layer_types=sliding,full", "model.layer_types model.window",
     "model.layer_types has sliding layers, which need model.window"},
    {"model.layer_types=full,full model.window=3", "model.layer_types model.window",
     "model.layer_types has no sliding layer for model.window = 3"},
    {"model.layer_types=sliding,full,full model.window=3", "model.layer_types model.layers",
     "model.layer_types must have a word for each layer; it has 3, model.layers = 2"},
    {"position.layers=no,no", "position.layers",
     "position.layers leaves no layer with positions: set position.kind = none"},
    {"position.layers=yes,no position.every=2", "position.layers position.every",
     "position.layers says which layers have positions; position.every = 2 says it as well: leave "
     "one of them out"},
    {"position.layers=yes,no position.every=1 position.kind=sinusoidal",
     "position.layers position.kind",
     "position.layers is of positions in layers, but position.kind = sinusoidal adds none there"},
    {"position.base=0.5", "position.base", "position.base must be above 1; got 0.5"},
    {"position.local_base=0.5", "position.local_base",
     "position.local_base must be 0 or above 1; got 0.5"},
    {"position.local_base=100", LOCAL_BASE},
    {"position.local_base=100 position.kind=alibi", "position.local_base position.kind",
     "position.local_base needs position.kind = rope; got alibi"},
    {SLIDING "position.local_base=100", NULL, NULL},
    {SLIDING "position.local_base=100 theta.learn=yes theta.scope=layer", NULL, NULL},
    {SLIDING "position.local_base=10000 theta.learn=yes theta.scope=model", NULL, NULL},
    {SLIDING "position.local_base=100 theta.learn=yes theta.scope=model "
             "position.frequencies=reciprocal",
     NULL, NULL},
    {SLIDING "position.local_base=100 theta.learn=yes theta.scope=model position.layers=yes,no",
     NULL, NULL},
    {SLIDING "position.local_base=100 theta.learn=yes theta.scope=model",
     "theta.scope position.local_base",
     "theta.scope = model learns one theta for all layers, but position.local_base = 100 "
     "starts them apart: set theta.scope = layer or head"},
    {SLIDING "position.local_base=100 theta.learn=yes theta.scope=model position.layers=no,yes",
     LOCAL_BASE},
    /* encoders */
    {CAUSAL "model.token_dropout=yes", "model.token_dropout model.causal",
     "model.token_dropout = yes needs model.causal = no: it tells a token how many of the later "
     "ones are masked"},
    {DECODER "model.bias=output", "model.bias model.kind",
     "model.bias = output needs model.kind = roformer: the output layer of a decoder has no bias"},
    {DECODER "model.bias=none model.classifier=norm", "model.classifier model.kind",
     "model.classifier = norm needs model.kind = roformer"},
    {"model.dim=33 model.head_dim=6", NULL, NULL},
    {"model.dim=33 model.head_dim=7", "position.kind model.head_dim",
     "position.kind = rope needs heads of even size; model.head_dim = 7"},
    {"model.residual=parallel", "model.residual model.norm",
     "model.residual = parallel needs model.norm = pre"},
    /* choices that there are not */
    {"head=3", "model.head", "model.head must be from 0 to 2; got 3"},
    {"model.activation=99", "model.activation", "model.activation must be from 0 to 7; got 99"},
    {"model.kind=2", "model.kind", "model.kind must be from 0 to 1; got 2"},
    {"model.ffn=3", "model.ffn", "model.ffn must be from 0 to 2; got 3"},
    {"model.norm_kind=2", "model.norm_kind", "model.norm_kind must be from 0 to 1; got 2"},
    {"model.bias=-1", "model.bias", "model.bias must be from 0 to 4; got -1"},
    {"model.norm_bias=2", "model.norm_bias", "model.norm_bias must be from 0 to 1; got 2"},
    {"model.first_norm=2", "model.first_norm", "model.first_norm must be from 0 to 1; got 2"},
    {"model.embedding_norm=3", "model.embedding_norm",
     "model.embedding_norm must be from 0 to 2; got 3"},
    {"model.classifier=3", "model.classifier", "model.classifier must be from 0 to 2; got 3"},
    {"model.attention=4", "model.attention", "model.attention must be from 0 to 3; got 4"},
};

TEST_ROWS(each_rule_names_its_options, 0, ROWS(rows))
{
    rt_transformer_options o = good();
    heard h = {0};
    set_options(&o, rows[_i].words);
    if (rows[_i].message)
        expect(&o, rows[_i].options, rows[_i].message);
    else
        rt_transformer_rules(&o, listen, &h);
    ck_assert_msg(!h.count, "%s: %s", rows[_i].words, h.message);
}

TEST(encodings_that_change_scores_are_refused_with_linear_attention)
{
    rt_transformer_options o = good();
    for (int kind = 0; rt_encoding_word(kind); kind++) {
        o.position.kind = (rt_position_kind)kind;
        o.attention = RT_ATTENTION_LINEAR_COSINE;
        o.causal = rt_encoding_of(&o)->causal;
        if (rt_encoding_of(&o)->of_scores)
            expect(&o, "position.kind model.attention",
                   lasting("position.kind = %s changes attention scores and needs "
                           "model.attention = softmax; got linear_cosine",
                           rt_encoding_word(kind)));
    }
    o = good();
    o.position.kind = (rt_position_kind)-1;
    expect(&o, "position.kind",
           lasting("position.kind must be from 0 to %d; got -1", RT_POSITION_NONE));
}

TEST(all_broken_rules_are_reported)
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
