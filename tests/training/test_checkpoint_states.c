/* Whatever state a training can come to is saved, and what was saved is loaded: models of random
 * keys, trained for a few steps at rates at which theta crosses 0, each started from the one before
 * where that is possible, or from a theta of its own. */

#include "scratch.h"
#include "training.h"

#include "core/random.h"
#include "data/keys.h"
#include "io/checkpoint/checkpoint.h"
#include "models/keys.h"
#include "text/key_value.h"

enum { STATES = 50, MOST_STEPS = 4, KEYS_SIZE = 4096 };

/* ---- what is drawn ---- */

typedef struct dice {
    uint64_t seed, thrown;
} dice;

static int below(dice *d, int n)
{
    return (int)rt_random_below((rt_random){d->seed, 0, RT_STREAM_CHECK}, d->thrown++, (uint32_t)n);
}

/* What keeps the shapes of all parameters can be drawn again for a model that starts from another.
 */
static const struct {
    const char *key;
    const char *values[6]; /* the first is drawn as often as all others together */
    bool again;
} choices[] = {
    {"theta.learn", {"yes", "no"}, true},
    {"theta.form", {"raw", "log"}, true},
    {"theta.scope", {"layer", "model", "head"}, false},
    {"theta.init", {"frequencies", "perturbed", "uniform"}, true},
    {"theta.lr_scale", {"1", "10", "0"}, true},
    {"model.kind", {"roformer", "decoder"}, false},
    {"model.layers", {"1", "2", "3"}, false},
    {"model.heads", {"2", "1", "4"}, false},
    {"model.kv_heads", {"0", "1"}, false},
    {"model.embedding_dim", {"0", "4"}, false},
    {"model.norm", {"post", "pre"}, false},
    {"model.norm_kind", {"layer", "rms"}, false},
    {"model.norm_bias", {"yes", "no"}, false},
    {"model.first_norm", {"yes", "no"}, false},
    {"model.embedding_norm", {"yes", "no"}, false},
    {"model.ffn", {"plain", "swiglu"}, false},
    {"model.bias", {"all", "none", "qkv", "ffn", "output"}, false},
    {"model.token_dropout", {"no", "yes"}, true},
    {"model.head_dim", {"0", "6"}, false},
    {"model.qk_norm", {"no", "yes"}, false},
    {"model.causal", {"no", "yes"}, true},
    {"model.tie_embeddings", {"yes", "no"}, false},
    {"model.attention", {"softmax", "linear_elu"}, true},
    {"position.kind", {"rope", "sinusoidal", "learned", "alibi", "t5", "shaw"}, false},
    {"position.pairing", {"interleaved", "half"}, false},
    {"position.fraction", {"1", "0.5"}, false},
    {"position.every", {"1", "2"}, false},
    {"model.window", {"0", "3"}, true},
    {"model.layer_types", {"", "sliding", "full,sliding", "sliding,full"}, true},
    {"position.local_base", {"0", "50"}, true},
    {"position.frequencies", {"geometric", "linear", "reciprocal"}, true},
    {"position.scaling", {"none", "linear", "ntk", "dynamic"}, true},
    {"optimizer.kind", {"adamw", "sgd", "adam", "lion", "muon"}, true},
    {"optimizer.lr", {"0.5", "0.05", "0.001", "0"}, true},
    {"train.freeze", {"", "theta", "embeddings", "head,layers.0"}, true},
    {"data.task", {"copy", "shift", "period", "recall"}, true},
};

static const char *draw_value(dice *d, int choice)
{
    int count = 0;
    while (count < 6 && choices[choice].values[count])
        count++;
    return choices[choice].values[below(d, 2) ? 0 : below(d, count)];
}

static bool loads(rt_config *config, const char *settings)
{
    char *errors;
    const rt_config_source source = {.path = "state.ini", .text = "", .settings = settings};
    rt_status status = rt_config_load(config, &source, &errors);
    rt_free(errors);
    return !status.code;
}

/* Muon is for matrices of layers; the data of a training that has none are no state of it. */
static bool has_matrices(const rt_config *c)
{
    const char *freeze = c->train.freeze ? c->train.freeze : "";
    return strcmp(freeze, "head,layers.0") != 0 || c->model.layers > 1;
}

/* The keys are set one after the other, each if the whole is still a configuration. With `again`,
 * those that make the shapes stay as they were drawn last. The trainers stay while a file is read
 * in a child, and GCC 12's AddressSanitizer may hang in a child if another thread allocates during
 * the fork: one thread each. */
static void draw_config(dice *d, rt_config *config, const char *drawn[ROWS(choices)], bool again)
{
    char settings[KEYS_SIZE] = "model.dim=8\nmodel.ffn_dim=8\ndata.length=10\n"
                               "data.vocab=12\ntrain.batch_size=2\ntrain.eval_batches=1\n"
                               "optimizer.clip_norm=0\nrun.threads=1\n";
    for (int i = 0; i < ROWS(choices); i++) {
        const size_t length = strlen(settings);
        if (!again || choices[i].again)
            drawn[i] = draw_value(d, i);
        if (*drawn[i])
            snprintf(settings + length, sizeof settings - length, "%s=%s\n", choices[i].key,
                     drawn[i]);
        if (!loads(config, settings) || !has_matrices(config))
            settings[length] = '\0';
    }
    ck_assert_msg(loads(config, settings), "%s", settings);
}

/* ---- a training ---- */

static void open_training(training *t, bool blank)
{
    expect_ok(rt_data_open(&t->data, &t->config.data, (rt_data_of_model){.vocabulary = NULL}));
    expect_ok(
        rt_trainer_new(&t->trainer, &t->config, t->data, &(rt_trainer_options){.blank = blank}));
    t->state = rt_trainer_state(t->trainer);
}

static void close_training(training *t)
{
    rt_trainer_free(t->trainer);
    rt_data_close(t->data);
}

static rt_checkpoint_model model_of(const training *t)
{
    return rt_checkpoint_model_of(t->state->model, &t->config.data,
                                  rt_update_rule_of(&t->config.optimizer.settings),
                                  t->state->states);
}

/* Starts from the checkpoint of another state, as train.init_from does; whether it could. */
static bool start_from(training *t, const char *path)
{
    const rt_checkpoint_model model = model_of(t);
    rt_checkpoint_taken start;
    rt_checkpoint c;
    rt_status status = rt_checkpoint_open(&c, path, RT_PARSE_HERE);
    if (!status.code)
        status = rt_checkpoint_start_from(&c, &model, true, &start);
    rt_checkpoint_close(&c);
    ck_assert_int_eq(status.code == RT_OK || status.code == RT_CHECKPOINT, true);
    if (!status.code && start.theta)
        rt_transformer_theta(t->state->model, rt_transformer_theta_start(t->state->model));
    return !status.code;
}

/* A theta of its own, as theta.init_from gives it; below 0 if the form can hold that. */
static void draw_theta(dice *d, training *t)
{
    rt_transformer *model = t->state->model;
    double *start = rt_transformer_theta_start(model);
    for (size_t i = 0; i < rt_transformer_theta_count(&model->options); i++) {
        const double size = below(d, 1000) / 500.0 + 1e-4;
        const bool minus = model->options.theta.form == RT_THETA_RAW && below(d, 2);
        start[i] = minus ? -size : size;
    }
    rt_transformer_set_theta(model, start);
}

/* Takes some steps; false if one was not finite, after which nothing is saved. */
static bool take_steps(dice *d, training *t)
{
    rt_step_result result;
    rt_status status = rt_ok();
    for (int steps = below(d, MOST_STEPS + 1); steps > 0 && !status.code; steps--)
        status = rt_trainer_step(t->trainer, &result);
    ck_assert_int_eq(status.code == RT_OK || status.code == RT_NONFINITE, true);
    return !status.code;
}

/* ---- saved and loaded ---- */

static void save(const training *t, const char *path)
{
    const rt_checkpoint_model model = model_of(t);
    char *config = rt_config_ini(&t->config);
    const rt_checkpoint_info info = {.step = t->state->step,
                                     .seed = t->config.run.seed,
                                     .position = t->state->sequences,
                                     .schedule_steps = t->config.optimizer.schedule_steps,
                                     .evaluations.best_loss = 1,
                                     .config = config};
    expect_ok(rt_checkpoint_save(path, &model, &info));
    rt_free(config);
}

static void expect_block(const training *a, const training *b, const real *one, const real *other)
{
    const rt_parameters *p = &a->state->model->parameters;
    ck_assert_int_eq(p->count, b->state->model->parameters.count);
    for (int i = 0; one && i < p->count; i++)
        ck_assert_mem_eq(one + p->list[i]->offset, other + p->list[i]->offset,
                         rt_size(&p->list[i]->tensor) * sizeof *one);
}

static void expect_keys(const rt_key_table *table, const void *here, const void *there)
{
    char one[RT_VALUE_SIZE], other[RT_VALUE_SIZE], name[RT_KEY_NAME_SIZE];
    for (int i = 0; i < table->count; i++) {
        const rt_key *key = &table->keys[i];
        if (key->type == RT_KEY_TEXT)
            continue;
        ck_assert_msg(!strcmp(rt_key_value_write(key, here, one),
                              rt_key_value_write(key, there, other)),
                      "%s is %s, not %s", rt_key_full_name(key, name), other, one);
    }
}

/* Loads into a model of the configuration that the checkpoint has. The options that are in the file
 * by key are those that hold. */
static void load_and_compare(const training *t, const char *path)
{
    static training read;
    rt_checkpoint c;
    expect_ok(rt_checkpoint_open(&c, path, RT_PARSE_APART));
    expect_keys(&rt_model_keys, &t->state->model->options, &c.model);
    expect_keys(&rt_data_keys, &t->config.data, &c.data);
    load_sound(&read.config, c.info.config, NULL);
    open_training(&read, true);
    const rt_checkpoint_model model = model_of(&read);
    expect_ok(rt_checkpoint_load(&c, &model));
    ck_assert_int_eq(c.info.step, t->state->step);
    rt_checkpoint_close(&c);
    expect_block(t, &read, t->state->model->parameters.values,
                 read.state->model->parameters.values);
    for (int i = 0; i < 2; i++)
        expect_block(t, &read, t->state->states[i], read.state->states[i]);
    const double *one = rt_transformer_theta_start(t->state->model),
                 *other = rt_transformer_theta_start(read.state->model);
    ck_assert(!one == !other);
    if (one)
        ck_assert_mem_eq(one, other,
                         rt_transformer_theta_count(&t->state->model->options) * sizeof *one);
    close_training(&read);
}

static bool starts_below_0(const training *t)
{
    const double *start = rt_transformer_theta_start(t->state->model);
    size_t count = start ? rt_transformer_theta_count(&t->state->model->options) : 0;
    while (count && start[count - 1] >= 0)
        count--;
    return count > 0;
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

NIGHTLY_ROWS(every_state_that_can_be_reached_is_saved_and_loaded, 0, 2)
{
    dice d = {.seed = (uint64_t)_i + 3};
    const char *drawn[ROWS(choices)];
    int saved = 0, started = 0, below_0 = 0;
    const char *before = lasting("%s", in_scratch("before.h5"));
    const char *now = lasting("%s", in_scratch("now.h5"));
    for (int i = 0; i < STATES; i++) {
        static training t;
        draw_config(&d, &t.config, drawn, i % 2);
        open_training(&t, false);
        const bool another = saved && start_from(&t, before);
        if (!another && t.config.model.theta.learn && below(&d, 2))
            draw_theta(&d, &t);
        if (take_steps(&d, &t)) {
            save(&t, now);
            load_and_compare(&t, now);
            ck_assert_int_eq(rename(now, before), 0);
            saved++;
            started += another;
            below_0 += starts_below_0(&t);
        }
        close_training(&t);
    }
    ck_assert_msg(saved > STATES / 2 && started > STATES / 5 && below_0 > STATES / 10,
                  "saved %d, started from another %d, with a theta that began below 0 %d", saved,
                  started, below_0);
}
