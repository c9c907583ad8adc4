/* A trained model is used with other keys: another length, other data, another batch. None of them
 * makes another model of it. */

#include "train/config/config_loading.h"
#include "util/key_values.h"

#include "core/memory.h"
#include "models/transformer.h"
#include "train/config/private.h"

/* Configuration of the trained run. */
#define SMALL "[model]\nlayers = 1\ndim = 16\n"
static const char *const runs[] = {
    SMALL,
    SMALL "[model]\nkind = decoder\n[data]\ntask = period\n",
    SMALL "[model]\nkv_heads = 2\ncausal = yes\n[position]\nxpos = 4\n",
    SMALL "[position]\nscaling = linear\nscale = 4\n",
    SMALL "[position]\nscaling = ntk\nscale = 4\n",
    SMALL "[position]\nscaling = yarn\nscale = 4\n",
    SMALL "[position]\nscaling = dynamic\nscale = 4\n",
    SMALL "[position]\nscaling = llama3\nscale = 4\n",
    SMALL "[position]\nscaling = longrope\nscale = 4\nshort_factors = 1,1\n"
          "long_factors = 2,2\n",
    SMALL "[position]\nkind = learned\n[train]\neval_lengths = 48\n",
    SMALL "[position]\nkind = t5\n",
    SMALL "[position]\nkind = shaw\n",
    SMALL "[position]\nkind = sinusoidal\n",
    SMALL
    "[position]\nscaling = yarn\nscale = 2\n[theta]\nlearn = yes\nscope = head\ninit = perturbed\n",
    SMALL "[theta]\nlearn = yes\nform = raw\ninit = uniform\n[train]\nsteps = 70\n",
};

static const key_values values = {
    [RT_KEY_INTEGER] = VALUES("64", "16", "2", "1"), [RT_KEY_NUMBER] = VALUES("0.25", "0.5", "2"),
    [RT_KEY_LENGTHS] = VALUES("64,100", "16"),       [RT_KEY_SEED] = VALUES("9"),
    [RT_KEY_YES_NO] = VALUES("yes", "no"),           [RT_KEY_FACTORS] = VALUES("/a.txt", "head"),
    [RT_KEY_LAYERS] = VALUES("/a.txt", "head"),      [RT_KEY_TEXT] = VALUES("/a.txt", "head"),
    [RT_KEY_INTERVAL] = VALUES("64", "4..16"),
};

/* Returns whether the text and the override make a configuration. */
static bool use(rt_config *config, const char *text, const char *override)
{
    char *errors;
    const rt_config_source source = {.path = "runs/a/checkpoints/step-00000001.h5",
                                     .text = text,
                                     .overrides = &override,
                                     .override_count = override != NULL};
    rt_status status = rt_config_load_model(config, &source, false, &errors);
    ck_assert(status.code == RT_OK || status.code == RT_CONFIG);
    rt_free(errors);
    return !status.code;
}

static rt_transformer *model_of(const rt_config *config)
{
    rt_transformer *model;
    rt_transformer_options o = config->model;
    o.vocab = 32;
    rt_status status = rt_transformer_new(&model, &o, 1, NULL);
    ck_assert_msg(!status.code, "%s", status.message);
    return model;
}

static void expect_same_theta(const rt_transformer_options *a, const rt_transformer_options *b,
                              const char *override)
{
    static const int spans[] = {2, 31, 32, 33, 64, 100};
    double one[64], other[64];
    const int pairs = rt_transformer_pairs(a);
    ck_assert_int_eq(pairs, rt_transformer_pairs(b));
    for (int i = 0; i < ROWS(spans) && pairs; i++) {
        rt_frequencies_at(one, pairs, &a->position.frequencies, spans[i]);
        rt_frequencies_at(other, pairs, &b->position.frequencies, spans[i]);
        ck_assert_msg(!memcmp(one, other, (size_t)pairs * sizeof *one),
                      "%s: theta of %d tokens begins %.6g, %.6g; trained with %.6g, %.6g", override,
                      spans[i], other[0], other[1], one[0], one[1]);
    }
    ck_assert(rt_frequencies_magnitude(&a->position.frequencies) ==
              rt_frequencies_magnitude(&b->position.frequencies));
}

static void expect_same_model(const rt_transformer *a, const rt_config *used, const char *override)
{
    rt_transformer *b = model_of(used);
    const size_t count =
        rt_transformer_theta_start(a) ? rt_transformer_theta_count(&a->options) : 0;
    expect_same_theta(&a->options, &b->options, override);
    ck_assert_msg(a->parameters.block_size == b->parameters.block_size &&
                      !memcmp(a->parameters.values, b->parameters.values,
                              a->parameters.block_size * sizeof(real)),
                  "%s: other tables", override);
    ck_assert_msg(!count || !memcmp(rt_transformer_theta_start(a), rt_transformer_theta_start(b),
                                    count * sizeof(double)),
                  "%s: theta starts elsewhere", override);
    ck_assert_msg(rt_transformer_capacity(&a->options) == rt_transformer_capacity(&b->options),
                  "%s: room for %d positions, trained with %d", override,
                  rt_transformer_capacity(&b->options), rt_transformer_capacity(&a->options));
    rt_transformer_free(b);
}

/* Every value of every key that may be set; returns how many were taken. */
static int try_all(const char *text, const rt_transformer *trained)
{
    int taken = 0;
    for (int i = 0; rt_key_at(i); i++)
        for (int v = 0; rt_key_at_use(i) && value_for(values, rt_key_at(i), v); v++) {
            char name[RT_KEY_NAME_SIZE];
            rt_config used;
            const char *override = lasting("%s=%s", rt_key_full_name(rt_key_at(i), name),
                                           value_for(values, rt_key_at(i), v));
            if (!use(&used, text, override))
                continue;
            expect_same_model(trained, &used, override);
            taken++;
        }
    return taken;
}

SUITE(.timeout = 300)

/* The effective configuration has no zeros, and the file may have them. */
SAMPLED_ROWS(no_key_of_a_use_changes_the_model, 0, ROWS(runs), 4)
{
    rt_config written, read;
    load_sound(&written, runs[_i], NULL);
    rt_transformer *trained = model_of(&written);
    char *ini = rt_config_ini(&written);
    ck_assert(use(&read, ini, NULL));
    expect_same_model(trained, &read, "nothing");
    ck_assert_int_ge(try_all(ini, trained), 60);
    ck_assert_int_ge(try_all(runs[_i], trained), 60);
    rt_transformer_free(trained);
    rt_free(ini);
}

TEST(a_key_of_the_model_can_only_be_repeated_with_its_value)
{
    static const char run[] = "[model]\ndim = 32\n[position]\nscaling = dynamic\nscale = 2\n";
    static const char *const taken[] = {
        "model.dim=32",     "model.kv_heads=0",        "model.kv_heads=4",
        "position.scale=2", "position.original_len=0", "position.original_len=32",
        "data.vocab=32",    "data.length=64"};
    static const char *const refused[] = {"model.dim=64",        "model.kv_heads=2",
                                          "position.scale=4",    "position.original_len=64",
                                          "position.kind=alibi", "theta.learn=yes",
                                          "data.vocab=64"};
    rt_config config;
    for (int i = 0; i < ROWS(taken); i++)
        ck_assert_msg(use(&config, run, taken[i]), "%s is refused", taken[i]);
    for (int i = 0; i < ROWS(refused); i++)
        ck_assert_msg(!use(&config, run, refused[i]), "%s is taken", refused[i]);
}

/* A causal model that an earlier program has trained on masked tokens is used as it is; to ask one
 * that continues texts for masks is refused. */
TEST(a_trained_causal_model_keeps_its_objective)
{
    static const char masks[] = "[model]\nkind = decoder\n[data]\ntask = period\nobjective = mlm\n";
    static const char next[] = "[model]\nkind = decoder\n[data]\ntask = period\n";
    rt_config config;
    ck_assert(use(&config, masks, NULL));
    ck_assert_int_eq(config.data.objective, RT_OBJECTIVE_MLM);
    ck_assert(use(&config, masks, "data.length=64"));
    ck_assert(use(&config, next, NULL));
    ck_assert_int_eq(config.data.objective, RT_OBJECTIVE_LM);
    ck_assert(!use(&config, next, "data.objective=mlm"));
}

/* The number of shards is no property of the model. */
TEST(a_use_with_another_batch_size_computes_its_number_of_shards)
{
    rt_config config;
    ck_assert(use(&config, "[train]\nshards = 4\n", "train.batch_size=2"));
    ck_assert_int_eq(config.train.shards, 1);
    ck_assert(use(&config, "[train]\nshards = 4\n", "train.eval_batches=2"));
    ck_assert_int_eq(config.train.shards, 4);
    ck_assert(use(&config, "[train]\nshards = 4\n", "data.length=128"));
    ck_assert_int_eq(config.train.shards, 8);
}

/* Zeros that stand for another value are replaced by it. */
TEST(a_resolved_configuration_has_no_placeholder_zeros)
{
    rt_config config;
    load_sound(&config, "[data]\nlength = 40\n[train]\neval_lengths = 50\n", NULL);
    const rt_transformer_options *o = &config.model;
    ck_assert_int_eq(o->kv_heads, 4);
    ck_assert_int_eq(o->embedding_dim, 64);
    ck_assert_int_eq(o->ffn_dim, 256);
    ck_assert_int_eq(o->position.max_len, 50);
    ck_assert_int_eq(o->position.frequencies.original_len, 40);
    ck_assert_double_eq(o->position.init_std, 0.02);
    ck_assert_int_eq(config.train.shards, 2);
    ck_assert_int_eq(config.optimizer.schedule_steps, 1000);
    for (int i = 0; rt_key_at(i); i++) {
        char value[RT_VALUE_SIZE];
        ck_assert_msg(!rt_key_at(i)->follows ||
                          strcmp(rt_key_value_write(rt_key_at(i), &config, value), "0") != 0,
                      "%s", rt_key_at(i)->name);
    }
}

TEST(every_key_of_the_model_declares_whether_it_is_inherited)
{
    for (int i = 0; rt_key_at(i); i++) {
        const rt_key *key = rt_key_at(i);
        ck_assert_msg(key->change != RT_FIXED || key->handed != RT_UNANSWERED,
                      "%s needs HANDED or OWN", rt_key_name(i));
        ck_assert_msg(!key->fits || key->handed > RT_NOT_HANDED, "%s has FITS and is not handed on",
                      rt_key_name(i));
    }
}
