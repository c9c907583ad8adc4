/* Compares every gradient of many configured models with central differences, in one process, as
 * `train-f64 --gradcheck` does for one of them.
 *
 *     gradient-grid quick          rows in which every pair of values of two factors occurs
 *     gradient-grid full           every row of the grids
 *     gradient-grid KEY=VALUE ...  one row, of the settings that a failed row printed
 *
 * With --list behind it, quick prints its rows and the pairs that cannot go together, and full
 * prints its rows; none is checked. The exit code is 1 if a row failed. */

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

/* ---- rows ---- */

enum { MAX_SETTINGS = 64, SETTING_SIZE = 64 };

/* Settings "section.key=value" of one configuration, each key once. */
typedef struct row {
    int count;
    char settings[MAX_SETTINGS][SETTING_SIZE];
} row;

/* In quick, elements of each parameter that are compared one by one. The random direction has all.
 */
enum { QUICK_SAMPLES = 1 };

/* How rows are checked, and the results of all that were. */
static struct {
    bool list;
    int samples;
    int rows, refused, failed;
    double error;
} total;

/* Returns the setting of the row that has the key of `setting`; NULL if there is none. */
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

/* Checks the gradients of a row, unless the program refuses its attention. */
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
    if (status.code == RT_CONFIG && strstr(status.message, "changes attention scores")) {
        total.refused++; /* models/test_rules.c and laws/test_place_laws.c have which */
        return;
    }
    if (!status.code)
        status = rt_model_check(NULL, &config, total.samples, &result);
    total.error = rt_larger_error(total.error, result.error);
    if (status.code)
        report_failure(r, status.message, &result);
}

/* ---- full: products of lists ---- */

enum { MAX_LISTS = 3, MAX_KINDS = 32 };

/* Lists of settings of position.kind, as many as the program has; room for two more and the end. */
static char kind_settings[MAX_KINDS][SETTING_SIZE];
static const char *kinds[MAX_KINDS + 3];
static const char *grid_kinds[MAX_KINDS + 3]; /* also with a learned theta, and with xPos */

#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SLIDING     "model.window=3 model.layer_types=full,sliding"
#define LOCAL_BASE  SLIDING " position.local_base=50"
#define PARALLEL    "model.norm=pre model.residual=parallel"
#define NO_FIRST    "position.layers=no,yes position.every=1"
#define SCALED      "position.scale=2 position.original_len=4 position.scaling="
#define FACTORS     " position.short_factors=1,1.5 position.long_factors=2,3"

static const char *const attentions[] = {"model.attention=softmax", "model.attention=linear_elu",
                                         "model.attention=linear_softmax",
                                         "model.attention=linear_cosine", NULL};
static const char *const decoder_keys[] = {
    "model.norm_kind=rms", "model.ffn=swiglu", "model.ffn=geglu",  "model.kv_heads=1",
    "model.bias=none",     "model.bias=qkv",   "model.bias=ffn",   "model.window=3",
    "position.every=2",    NO_FIRST,           "model.head_dim=6", "model.qk_norm=yes",
    "model.causal=yes",    "model.norm=pre",   "theta.scope=head", NULL,
};
#define ENCODER_PARTS                                                                              \
    "model.norm_bias=no", "model.first_norm=no", "model.embedding_norm=no",                        \
        "model.token_dropout=yes", "model.bias=output"
#define MODERNBERT                                                                                 \
    " model.norm_bias=no model.first_norm=no model.bias=output model.ffn=geglu " LOCAL_BASE        \
    " position.pairing=half"
#define ESM " model.embedding_norm=no model.token_dropout=yes position.pairing=half"

/* Rows of one value of each list: those whose settings agree, each value adding a setting. Of a
 * list with itself, each pair once. */
typedef struct block {
    const char *defaults; /* for keys that the lists leave out */
    const char *const *lists[MAX_LISTS + 1];
} block;

#define ENCODER "theta.learn=yes model.norm=pre"
static const block blocks[] = {
    {"theta.learn=no", {attentions, VALUES("model.causal=no", "model.causal=yes"), grid_kinds}},
    {"theta.learn=yes", {decoder_keys}},
    {"theta.learn=yes", {decoder_keys, decoder_keys}},
    {"theta.learn=yes", {VALUES(PARALLEL, SLIDING)}},
    {"theta.learn=yes",
     {VALUES(PARALLEL, SLIDING),
      VALUES("model.norm_kind=rms", "model.ffn=swiglu", "model.kv_heads=1", "model.bias=none",
             "model.bias=qkv", "model.bias=ffn", "position.every=2", NO_FIRST, "model.head_dim=6",
             "model.qk_norm=yes", "model.causal=yes", "theta.scope=head")}},
    {"theta.learn=yes",
     {VALUES(LOCAL_BASE), VALUES("theta.form=raw", "model.kv_heads=1", NO_FIRST, "theta.scope=head",
                                 "theta.learn=no")}},
    {"theta.learn=yes", {VALUES(PARALLEL " " SLIDING)}},
    {"theta.learn=yes", {VALUES("model.kind=decoder")}},
    {"theta.learn=yes",
     {VALUES("model.kind=decoder"),
      VALUES(
          "model.kv_heads=1", "model.window=3", "position.every=2", "model.norm=post",
          "model.norm_kind=layer", "model.ffn=plain", "model.bias=all", "model.causal=no",
          "model.tie_embeddings=yes", "position.scale=2 position.scaling=linear",
          "position.scale=2 position.scaling=ntk", SCALED "yarn", SCALED "llama3",
          SCALED "dynamic theta.learn=no", SCALED "longrope theta.learn=no" FACTORS,
          SCALED "yarn position.xpos=2", "model.layers=4 position.every=3 theta.form=raw",
          "model.heads=4 model.kv_heads=2 theta.scope=head position.pairing=interleaved",
          "model.kv_heads=1 model.window=4 position.every=2 theta.learn=no position.kind=alibi",
          "model.kv_heads=1 model.window=4 position.every=2 theta.learn=no position.kind=t5",
          "model.kv_heads=1 model.window=4 position.every=2 theta.learn=no position.kind=shaw")}},
    {"theta.learn=yes",
     {VALUES("model.kind=decoder position.xpos=2"),
      VALUES("model.kv_heads=1", "model.window=3", "position.every=2", "position.fraction=0.5",
             "position.pairing=interleaved", "position.rotate_value=yes", "theta.learn=no",
             "theta.scope=layer theta.form=raw", "theta.scope=head theta.form=raw")}},
    {ENCODER,
     {VALUES(ENCODER_PARTS, LOCAL_BASE, "model.bias=none", "model.ffn=geglu", SLIDING,
             "theta.scope=head")}},
    {ENCODER,
     {VALUES(ENCODER_PARTS, LOCAL_BASE),
      VALUES(ENCODER_PARTS, "model.ffn=geglu", "model.embedding_dim=6", "model.kv_heads=1",
             NO_FIRST, "theta.scope=head", "theta.form=raw", "theta.learn=no")}},
    {ENCODER,
     {VALUES("data.task=order model.classifier=dense", "data.task=order model.classifier=tanh",
             "data.task=order model.classifier=norm"),
      VALUES("model.pool=first", "model.pool=mean", "model.pool=last", "model.bias=output",
             "model.norm_bias=no", "model.token_dropout=yes", "model.ffn=geglu")}},
    {ENCODER,
     {VALUES("data.task=copy" MODERNBERT, "data.task=order model.classifier=norm" MODERNBERT,
             "data.task=copy" ESM, "data.task=order model.classifier=tanh" ESM)}},
};

/* Checks the rows that the remaining lists make of a row. */
static void check_lists(const char *defaults, const char *const *const *lists, int first,
                        const row *partial)
{
    row r = *partial;
    if (!*lists) {
        add_settings(&r, defaults);
        check_row(&r);
        return;
    }
    const bool again = lists[1] == *lists;
    for (int i = first; (*lists)[i]; i++, r = *partial)
        if (add_settings(&r, (*lists)[i]) && r.count > partial->count)
            check_lists(defaults, lists + 1, again ? i + 1 : 0, &r);
}

/* ---- quick: a covering array ---- */

#define ROPE    "position.kind=rope "
#define LEARNED ROPE "theta.learn=yes "
#define ORDER   "data.task=order "

/* Factors and their values, those with the most values first. The settings of a value include
 * those of other factors that it needs. */
static const char *const *const factors[] = {
    kinds,
    VALUES("position.scaling=none", ROPE "position.scaling=linear position.scale=2",
           ROPE "position.scaling=ntk position.scale=2", ROPE SCALED "yarn", ROPE SCALED "llama3",
           ROPE SCALED "dynamic", ROPE SCALED "longrope" FACTORS),
    VALUES("model.bias=all", "model.bias=none", "model.bias=qkv", "model.bias=ffn",
           "model.bias=output"),
    attentions,
    VALUES("theta.learn=no", LEARNED "theta.scope=model", LEARNED "theta.scope=layer",
           LEARNED "theta.scope=head"),
    VALUES("model.window=0", "model.window=3", SLIDING, ROPE LOCAL_BASE),
    VALUES("data.task=copy", ORDER "model.pool=first", ORDER "model.pool=mean",
           ORDER "model.pool=last"),
    VALUES("position.every=1", "position.every=2", NO_FIRST, "position.every=3 model.layers=3"),
    VALUES("model.ffn=plain", "model.ffn=swiglu", "model.ffn=geglu"),
    VALUES("model.classifier=dense", ORDER "model.classifier=tanh", ORDER "model.classifier=norm"),
    VALUES("model.heads=2 model.kv_heads=2", "model.heads=2 model.kv_heads=1",
           "model.heads=4 model.kv_heads=2 model.dim=16"),
    VALUES("model.kind=roformer", "model.kind=decoder"),
    VALUES("model.causal=no", "model.causal=yes"),
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
    VALUES("data.length=9", "data.length=8"),
    VALUES("model.dropout=0", "model.dropout=0.2"),
    VALUES("model.attention_dropout=0", "model.attention_dropout=0.2 model.attention=softmax"),
    VALUES("train.recompute=none", "train.recompute=layers"),
};
enum { FACTORS_COUNT = sizeof factors / sizeof *factors, MAX_VALUES = 128 };

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

static void list_values(void)
{
    for (int f = 0; f < FACTORS_COUNT; f++)
        for (int i = 0; factors[f][i]; i++) {
            if (values.count == MAX_VALUES) {
                fprintf(stderr, "gradient-grid: more than %d values\n", MAX_VALUES);
                exit(2);
            }
            values.factor[values.count] = f;
            values.settings[values.count++] = factors[f][i];
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

static void check_quick(void)
{
    int count[] = {0, 0, 0};
    list_values();
    for (int a = 0; a < values.count; a++)
        cover_pair(a, a);
    for (int a = 0; a < values.count; a++)
        for (int b = a + 1; b < values.count; b++) {
            if (values.factor[a] == values.factor[b])
                continue;
            if (values.pairs[a][b] == PAIR_OPEN)
                cover_pair(a, b);
            count[values.pairs[a][b]]++;
        }
    printf("%d pairs covered, %d refused by the program\n", count[PAIR_COVERED],
           count[PAIR_REFUSED]);
}

/* ---- main ---- */

/* Lists the kinds of position that the program has. */
static void list_kinds(void)
{
    int count = 0;
    for (; rt_encoding_word(count) && count < MAX_KINDS; count++) {
        snprintf(kind_settings[count], SETTING_SIZE, "position.kind=%s", rt_encoding_word(count));
        kinds[count] = grid_kinds[count] = kind_settings[count];
    }
    grid_kinds[count++] = "position.kind=rope theta.learn=yes";
    grid_kinds[count] = "position.kind=rope position.xpos=3 model.attention=softmax "
                        "model.causal=yes";
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
    if (quick)
        check_quick();
    for (size_t i = 0; full && i < sizeof blocks / sizeof *blocks; i++)
        check_lists(blocks[i].defaults, blocks[i].lists, 0, &r);
    for (int i = 1; i < argc && !quick && !full; i++)
        add_settings(&r, argv[i]);
    if (!quick && !full)
        check_row(&r);
    if (total.refused)
        printf("%d rows refused\n", total.refused);
    printf("%d rows, %d failed, largest error %.2e\n", total.rows, total.failed, total.error);
    return total.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
