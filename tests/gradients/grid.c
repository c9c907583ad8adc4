/* Compares every gradient of many configured models with central differences, in one process, as
 * `train-f64 --gradcheck` does for one of them.
 *
 *     gradient-grid quick          rows in which every pair of values of two factors occurs
 *     gradient-grid full           four times as many: each pair among four choices of the others
 *     gradient-grid KEY=VALUE ...  one row, of the settings that a failed row printed
 *
 * With --list behind it, quick and full print their rows and the pairs that cannot go together;
 * none is checked. The exit code is 1 if a row failed or more pairs than before were refused. */

#include "core/gradcheck.h"
#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "train/model_check.h"
#include "train/run/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Configuration that all rows share. Of an odd length, the last token of copy is padding. */
static const char base[] = "[model]\nlayers = 2\ndim = 8\nheads = 2\n"
                           "[data]\ntask = copy\nlength = 9\nvocab = 9\n";

enum { MAX_SETTINGS = 64, SETTING_SIZE = 64 };

/* Settings "section.key=value" of one configuration, each key once. */
typedef struct row {
    int count;
    char settings[MAX_SETTINGS][SETTING_SIZE];
} row;

/* Rounds of full; and in quick, elements of each parameter that are compared one by one. The random
 * direction has all. */
enum { ROUNDS = 4, QUICK_SAMPLES = 1 };

/* Options of the checks, and their results. */
static struct {
    bool list;
    int samples;
    int rows, failed;
    double error;
} total;

/* Returns the setting of the row with the same key as `setting`; NULL if there is none. */
static const char *setting_of_key(const row *r, const char *setting)
{
    const size_t length = strcspn(setting, "=") + 1;
    for (int i = 0; i < r->count; i++)
        if (!strncmp(r->settings[i], setting, length))
            return r->settings[i];
    return NULL;
}

/* Adds one setting. A key that the row has keeps its value. */
static void add_setting(row *r, const char *setting)
{
    if (setting_of_key(r, setting))
        return;
    if (r->count == MAX_SETTINGS || strlen(setting) >= SETTING_SIZE || !strchr(setting, '=')) {
        fprintf(stderr, "gradient-grid: a row cannot have the setting '%s'\n", setting);
        exit(2);
    }
    strcpy(r->settings[r->count++], setting);
}

/* Adds settings with blanks between them. Returns false if one of them contradicts the row. */
static bool add_settings(row *r, const char *settings)
{
    bool agree = true;
    char one[SETTING_SIZE];
    for (int used; sscanf(settings, " %63s%n", one, &used) == 1; settings += used) {
        const char *present = setting_of_key(r, one);
        agree = agree && (!present || !strcmp(present, one));
        add_setting(r, one);
    }
    return agree;
}

static void print_row(const row *r)
{
    for (int i = 0; i < r->count; i++)
        printf("%s%s", i ? " " : "", r->settings[i]);
    putchar('\n');
}

static rt_status load(rt_config *config, const row *r)
{
    const char *overrides[MAX_SETTINGS];
    char *errors = NULL;
    for (int i = 0; i < r->count; i++)
        overrides[i] = r->settings[i];
    const rt_config_source source = {.path = "gradient-grid",
                                     .text = base,
                                     .overrides = overrides,
                                     .override_count = r->count};
    const rt_status status = rt_config_load(config, &source, &errors);
    rt_free(errors);
    return status;
}

static void report_failure(const row *r, const char *message, const rt_model_check_result *result)
{
    total.failed++;
    printf("FAILED: ");
    print_row(r);
    printf("    %s\n", message);
    if (result->parameters)
        printf("    %d of %d parameters are wrong; largest error %.2e, of %s\n", result->wrong,
               result->parameters, result->worst_error, result->worst);
    fflush(stdout);
}

/* Checks the gradients of a row. */
static void check_row(const row *r)
{
    static rt_config config;
    rt_model_check_result result = {0};
    total.rows++;
    if (total.list) {
        print_row(r);
        return;
    }
    rt_status status = load(&config, r);
    if (!status.code)
        status = rt_model_check(NULL, &config, total.samples, &result);
    total.error = rt_larger_error(total.error, result.error);
    if (status.code)
        report_failure(r, status.message, &result);
}

#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ROPE        "position.kind=rope "
#define LEARNED     ROPE "theta.learn=yes "
#define FORGET      "model.causal=yes model.attention=softmax position.forget="
#define SHIFT       "model.causal=yes model.attention=softmax position.key_shift=yes "
#define LENGTH      "model.causal=yes model.attention=softmax model.length_scale="
#define SELECTIVE                                                                                  \
    "model.causal=yes model.attention=softmax position.kind=selective position.rank=3 "
#define POLAR      "model.attention=softmax position.kind=pope "
#define LEARN      "theta.learn=yes "
#define ORDER      "data.task=order "
#define DECODER    "model.kind=decoder "
#define PRE        "model.norm=pre "
#define SLIDING    "model.window=3 model.layer_types=full,sliding"
#define LOCAL_BASE SLIDING " position.local_base=50"
#define SCALED     "position.scale=2 position.original_len=4 position.scaling="
#define FACTORS    " position.short_factors=1,1.5 position.long_factors=2,3"
#define OUTPUT     "model.bias=output " PRE
#define MODERNBERT                                                                                 \
    ROPE OUTPUT                                                                                    \
        "model.norm_bias=no model.first_norm=no model.ffn=geglu position.pairing=half " LOCAL_BASE
#define ESM                                                                                        \
    ROPE PRE "model.bias=all model.embedding_norm=no model.token_dropout=yes model.causal=no "     \
             "position.pairing=half"
#define ATTENTION(name)                                                                            \
    "model.causal=no model.attention=" name, "model.causal=yes model.attention=" name

/* Settings of position.kind, as many as the program has. */
enum { MAX_KINDS = 32 };
static char kind_settings[MAX_KINDS][SETTING_SIZE];
static const char *kinds[MAX_KINDS + 1];

/* Factors and their values, those with the most values first. The settings of a value include
 * those of other factors that it needs. */
static const char *const *const factors[] = {
    kinds,
    VALUES("position.scaling=none", ROPE "position.scaling=linear position.scale=2",
           ROPE "position.scaling=ntk position.scale=2", ROPE SCALED "yarn", ROPE SCALED "llama3",
           ROPE SCALED "dynamic", ROPE SCALED "longrope" FACTORS),
    VALUES("model.bias=all", "model.bias=none", "model.bias=qkv", "model.bias=ffn",
           "model.bias=output", MODERNBERT, ESM),
    VALUES(ATTENTION("softmax"), ATTENTION("linear_elu"), ATTENTION("linear_softmax"),
           ATTENTION("linear_cosine")),
    VALUES("theta.learn=no", LEARNED "theta.scope=model", LEARNED "theta.scope=layer",
           LEARNED "theta.scope=head"),
    VALUES("model.window=0", "model.window=3", SLIDING, ROPE LOCAL_BASE),
    VALUES("data.task=copy", ORDER "model.pool=first", ORDER "model.pool=mean",
           ORDER "model.pool=last"),
    VALUES("position.every=1", "position.every=2", "position.layers=no,yes position.every=1",
           "position.every=3 model.layers=3"),
    VALUES("model.ffn=plain", "model.ffn=swiglu", "model.ffn=geglu"),
    VALUES("model.classifier=dense", ORDER "model.classifier=tanh", ORDER "model.classifier=norm"),
    VALUES("model.heads=2 model.kv_heads=2", "model.heads=2 model.kv_heads=1",
           "model.heads=4 model.kv_heads=2 model.dim=16"),
    VALUES("model.kind=roformer", DECODER, DECODER ROPE "position.xpos=2 model.causal=yes"),
    VALUES("model.norm=post", "model.norm=pre"),
    VALUES("model.norm_kind=layer", "model.norm_kind=rms"),
    VALUES("model.norm_bias=yes", "model.norm_bias=no model.norm_kind=layer"),
    VALUES("model.first_norm=yes", "model.first_norm=no model.norm=pre"),
    VALUES("model.embedding_norm=yes", "model.embedding_norm=no"),
    VALUES("model.residual=serial", "model.residual=parallel model.norm=pre"),
    VALUES("model.token_dropout=no", "model.token_dropout=yes model.causal=no"),
    VALUES("model.tie_embeddings=yes", "model.tie_embeddings=no data.task=copy"),
    VALUES("model.qk_norm=no", "model.qk_norm=yes"),
    VALUES("model.head_dim=4", "model.head_dim=8"),
    VALUES("model.embedding_dim=8", "model.embedding_dim=6"),
    VALUES("position.xpos=0", ROPE "position.xpos=2 model.causal=yes"),
    VALUES("position.fraction=1", ROPE "position.fraction=0.5"),
    VALUES("position.pairing=interleaved", ROPE "position.pairing=half"),
    VALUES("position.rotate_value=no", ROPE "position.rotate_value=yes"),
    VALUES("theta.form=log", LEARNED "theta.form=raw"),
    VALUES("theta.head_scale=no", "theta.head_scale=yes model.attention=softmax"),
    VALUES("position.forget=none", FORGET "gate", FORGET "bias", FORGET "fixed"),
    VALUES("position.key_shift=no", SHIFT "position.kind=none", SHIFT ROPE "position.fraction=0.5"),
    VALUES("position.phase_gate=no", SELECTIVE "position.taps=0",
           SELECTIVE "position.phase_bias=yes position.phase_gate=yes",
           SELECTIVE "theta.learn=yes position.taps=2"),
    VALUES("position.phase=yes", POLAR "position.phase=no", POLAR LEARN "theta.scope=head"),
    VALUES("model.length_scale=none", LENGTH "log", LENGTH "learned",
           LENGTH "floor position.kind=none model.length_floor=3 model.length_factor=0.5"),
    VALUES("data.length=9", "data.length=8"),
    VALUES("model.dropout=0", "model.dropout=0.2"),
    VALUES("model.attention_dropout=0", "model.attention_dropout=0.2 model.attention=softmax"),
    VALUES("train.recompute=none", "train.recompute=layers"),
};
enum { FACTORS_COUNT = sizeof factors / sizeof *factors, MAX_VALUES = 128 };

/* Pairs that the program may refuse: by each kind of position, and of other factors in each round.
 * A rule that refuses more takes rows away, and changes these numbers. */
enum { MOST_REFUSED_BY_KIND = 35 };
static const int most_refused[ROUNDS] = {445, 478, 447, 448};

typedef enum pair_state { PAIR_OPEN, PAIR_REFUSED, PAIR_COVERED } pair_state;

/* The values of all factors in one list, and the state of each pair (a, b) of them, a < b. */
static struct {
    int count;
    int factor[MAX_VALUES];
    const char *settings[MAX_VALUES];
    pair_state pairs[MAX_VALUES][MAX_VALUES];
} values;

/* A row of the covering array: the value of each factor, or -1 where the default stays. */
typedef struct cover {
    int value[FACTORS_COUNT];
} cover;

/* Writes the settings of a row to `r`. Returns whether they agree and the program takes them. */
static bool accepts(const cover *c, row *r)
{
    static rt_config config;
    bool agree = true;
    *r = (row){0};
    for (int f = 0; f < FACTORS_COUNT; f++)
        agree = agree && (c->value[f] < 0 || add_settings(r, values.settings[c->value[f]]));
    return agree && !load(&config, r).code;
}

/* Counts the open pairs that a value makes with those of a row; closes them if `take`. */
static int pairs_with(const cover *c, int value, bool take)
{
    int open = 0;
    for (int f = 0; f < FACTORS_COUNT; f++) {
        const int other = c->value[f];
        if (other < 0 || f == values.factor[value])
            continue;
        pair_state *pair =
            &values.pairs[other < value ? other : value][other < value ? value : other];
        open += *pair == PAIR_OPEN;
        if (take)
            *pair = PAIR_COVERED;
    }
    return open;
}

/* Gives a factor, of the values that the program takes, the one that makes the most open pairs; or
 * none. */
static void choose(cover *c, int f)
{
    bool tried[MAX_VALUES] = {false};
    row r;
    for (int best = 0; best >= 0;) {
        int most = -1;
        best = -1;
        for (int v = 0; v < values.count; v++) {
            const int open = values.factor[v] == f && !tried[v] ? pairs_with(c, v, false) : -1;
            if (open > most) {
                most = open;
                best = v;
            }
        }
        c->value[f] = best;
        if (best < 0 || accepts(c, &r))
            return;
        tried[best] = true;
        c->value[f] = -1;
    }
}

/* Completes a row, and closes its pairs. */
static void complete(cover *c, row *r)
{
    for (int f = 0; f < FACTORS_COUNT; f++)
        if (c->value[f] < 0)
            choose(c, f);
    accepts(c, r);
    for (int f = 0; f < FACTORS_COUNT; f++)
        if (c->value[f] >= 0)
            pairs_with(c, c->value[f], true);
}

/* Lists the values of all factors, beginning with another factor in each round. */
static void list_values(int round)
{
    memset(&values, 0, sizeof values);
    for (int f = 0; f < FACTORS_COUNT; f++) {
        const char *const *of_factor =
            factors[(f + round * FACTORS_COUNT / ROUNDS) % FACTORS_COUNT];
        for (int i = 0; of_factor[i]; i++) {
            if (values.count == MAX_VALUES) {
                fprintf(stderr, "gradient-grid: more than %d values\n", MAX_VALUES);
                exit(2);
            }
            values.factor[values.count] = f;
            values.settings[values.count++] = of_factor[i];
        }
    }
}

/* Checks a row that has the values a and b and as many open pairs as it can have. A pair that the
 * program refuses, with all other keys at their defaults, is left out. With a = b, only shows that
 * the program takes the value: if not, the row fails. */
static void cover_pair(int a, int b)
{
    cover c;
    row r;
    for (int f = 0; f < FACTORS_COUNT; f++)
        c.value[f] = -1;
    c.value[values.factor[a]] = a;
    c.value[values.factor[b]] = b;
    if (!accepts(&c, &r)) {
        values.pairs[a][b] = PAIR_REFUSED;
        if (a == b)
            check_row(&r);
        else if (total.list)
            printf("refused: %s | %s\n", values.settings[a], values.settings[b]);
        return;
    }
    if (a == b)
        return;
    complete(&c, &r);
    check_row(&r);
}

static void expect_refused(int got, int most, const char *by)
{
    total.failed += got > most;
    if (got > most)
        printf("FAILED: %d pairs are refused, %d expected at most, of %s\n", got, most, by);
}

/* Returns whether a value is a kind of position, of which `kinds` has the settings. */
static bool is_kind(int value)
{
    return strchr(values.settings[value], ' ') == NULL &&
           !strncmp(values.settings[value], "position.kind=", strlen("position.kind="));
}

static void check_pairs(int round)
{
    int count[] = {0, 0, 0}, refused[MAX_VALUES + 1] = {0};
    list_values(round);
    for (int a = 0; a < values.count; a++)
        cover_pair(a, a);
    for (int a = 0; a < values.count; a++)
        for (int b = a + 1; b < values.count; b++) {
            if (values.factor[a] == values.factor[b])
                continue;
            if (values.pairs[a][b] == PAIR_OPEN)
                cover_pair(a, b);
            count[values.pairs[a][b]]++;
            refused[is_kind(a)   ? a
                    : is_kind(b) ? b
                                 : MAX_VALUES] += values.pairs[a][b] == PAIR_REFUSED;
        }
    printf("%d pairs covered, %d refused by the program\n", count[PAIR_COVERED],
           count[PAIR_REFUSED]);
    for (int a = 0; a < values.count; a++)
        expect_refused(refused[a], MOST_REFUSED_BY_KIND, values.settings[a]);
    expect_refused(refused[MAX_VALUES], most_refused[round], "other factors");
}

/* Lists the kinds of position that the program has. */
static void list_kinds(void)
{
    for (int i = 0; rt_encoding_word(i) && i < MAX_KINDS; i++) {
        const rt_transformer_options o = {.position.kind = (rt_position_kind)i};
        const rt_encoding *kind = rt_encoding_of(&o);
        snprintf(kind_settings[i], SETTING_SIZE, "position.kind=%s%s", kind->word,
                 kind->causal ? " model.causal=yes" : "");
        kinds[i] = kind_settings[i];
    }
}

int main(int argc, char **argv)
{
    row r = {0};
    const char *mode = argc > 1 ? argv[1] : "";
    const bool quick = !strcmp(mode, "quick"), full = !strcmp(mode, "full");
    const rt_status status = rt_kernels_of_environment();
    if (status.code || !*mode) {
        fprintf(stderr, "%s\n",
                status.code ? status.message : "usage: gradient-grid quick | full | KEY=VALUE ...");
        return 2;
    }
    total.samples = quick ? QUICK_SAMPLES : RT_MODEL_CHECK_SAMPLES;
    total.list = argc == 3 && (quick || full) && !strcmp(argv[2], "--list");
    list_kinds();
    for (int round = 0; round < (full ? ROUNDS : quick); round++)
        check_pairs(round);
    for (int i = 1; i < argc && !quick && !full; i++)
        add_settings(&r, argv[i]);
    if (!quick && !full)
        check_row(&r);
    printf("%d rows, %d failed, largest error %.2e\n", total.rows, total.failed, total.error);
    return total.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
