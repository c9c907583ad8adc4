#include "train/config/config_loading.h"

static const struct {
    const char *key, *written, *stored;
} values[] = {
    {"run.name", "a b.c", "a b.c"},
    {"run.dir", "/tmp/a=b;c", "/tmp/a=b;c"},
    {"run.seed", "9223372036854775807", "9223372036854775807"},
    {"run.seed", "+0", "0"},
    {"run.threads", "007", "7"},
    {"model.norm", "pre", "pre"},
    {"model.norm_eps", "1.e-6", "1e-06"},
    {"model.dropout", ".5", "0.5"},
    {"model.dropout", "-0.0", "0"},
    {"position.base", "5E5", "500000"},
    {"optimizer.lr", "0.1", "0.1"},
    {"optimizer.lr", "0.30000000000000004", "0.30000000000000004"},
    {"optimizer.lr", "1e-300", "1e-300"},
};

/* Words of all keys are in test_config_keys.c. */
TEST_ROWS(a_value_is_stored_as_written, 0, ROWS(values))
{
    rt_config config;
    char stored[RT_VALUE_SIZE];
    const char *dot = strchr(values[_i].key, '.');
    int i = rt_key_find(values[_i].key);
    ck_assert_int_ge(i, 0);
    const char *line = lasting("[%.*s]\n%s = %s\n", (int)(dot - values[_i].key), values[_i].key,
                               dot + 1, values[_i].written);
    load_sound(&config, line, NULL);
    ck_assert_str_eq(rt_key_value_write(rt_key_at(i), &config, stored), values[_i].stored);
    ck_assert_int_eq(config.origin[i], 2);
}

static const char *const same_files[] = {
    "[optimizer]\nlr = 0.5\n",
    "[optimizer]\nlr = 0.5",
    "[optimizer]\r\nlr = 0.5\r\n",
    "\xEF\xBB\xBF[optimizer]\nlr = 0.5\n",
    "  \t[ optimizer ] ; the section\n\tlr=0.5 ; the value\n",
    "# one\n;two\n\n[optimizer]\n    kind = adamw\n    lr = 0.5\n  beta1 = 0.9\n",
    "[optimizer]\nkind = adamw\n[train]\n[optimizer]\nlr: 0.5\n",
};

TEST_ROWS(the_layout_of_a_file_does_not_change_its_values, 0, ROWS(same_files))
{
    rt_config config;
    load_sound(&config, same_files[_i], NULL);
    ck_assert_double_eq(config.optimizer.lr, 0.5);
}

TEST(an_override_replaces_a_value_of_the_file)
{
    rt_config config;
    load_sound(&config, "[optimizer]\nlr = 0.5\n[run]\nname = one\n",
               OVERRIDES("optimizer.lr=0.25", " run.name = other "));
    ck_assert_double_eq(config.optimizer.lr, 0.25);
    ck_assert_str_eq(config.run.name, "other");
    ck_assert_int_eq(config.origin[rt_key_find("optimizer.lr")], RT_FROM_COMMAND_LINE);
    expect_text(rt_config_overrides(&config), "run.name = other\noptimizer.lr = 0.25\n");
    load_sound(&config, "[train]\neval_lengths = 24,48\ninit_from = gone.h5\n",
               OVERRIDES("train.eval_lengths=", "train.init_from="));
    ck_assert_int_eq(config.train.eval_lengths.count, 0);
    ck_assert(!config.train.init_from || !*config.train.init_from);
}

/* Loads the effective configuration, which must be the same; returns its text. */
static const char *expect_same_again(const rt_config *config)
{
    rt_config again;
    char *ini = owned(rt_config_ini(config), rt_free);
    char *errors = load(&again, "runs/theta/config.ini", ini, NULL);
    ck_assert_msg(!errors, "%s\n%s", errors, ini);
    expect_text(rt_config_ini(&again), ini);
    expect_text(rt_config_differences(config, &again, false), "");
    return ini;
}

static const char *const decoders[] = {
    "[model]\nkind = decoder\nbias = all\nnorm_eps = 1e-12\n[position]\npairing = interleaved\n",
    "[position]\npairing = interleaved\n[model]\nbias = all\nnorm_eps = 1e-12\nkind = decoder\n",
};

/* The written values are the defaults of a RoFormer. */
TEST_ROWS(a_decoder_has_other_defaults_and_keeps_written_values, 0, ROWS(decoders))
{
    rt_config config, other;
    load_sound(&config, decoders[_i], OVERRIDES("model.causal=no"));
    const rt_transformer_options *o = &config.model;
    ck_assert(o->norm == RT_NORM_PRE && o->norm_kind == RT_NORM_RMS && o->ffn == RT_FFN_SWIGLU);
    ck_assert(o->activation == RT_SILU && !o->tie_embeddings);
    ck_assert(o->bias == RT_BIAS_ALL && !o->causal && o->position.pairing == RT_INTERLEAVED);
    ck_assert_double_eq(o->norm_eps, 1e-12);
    ck_assert_int_eq(config.origin[rt_key_find("model.norm")], RT_FROM_DEFAULT);
    ck_assert_ptr_nonnull(strstr(expect_same_again(&config), "\nnorm = pre\n"));
    load_sound(&other, "", OVERRIDES("model.kind=decoder"));
    ck_assert(other.model.bias == RT_BIAS_NONE && other.model.causal);
    ck_assert(other.model.position.pairing == RT_HALF);
    ck_assert_double_eq(other.model.norm_eps, 1e-5);
}

TEST(the_effective_configuration_has_every_key_with_an_effect)
{
    rt_config config;
    load_sound(&config, "", NULL);
    const char *ini = owned(rt_config_ini(&config), rt_free);
    for (int i = 0; rt_key_at(i); i++) {
        const char *line = lasting("%s =", rt_key_at(i)->name);
        ck_assert_msg(!rt_key_has_effect(i, &config) || strstr(ini, line) != NULL, "no '%s' in\n%s",
                      line, ini);
    }
    ck_assert_msg(strstr(ini, "\n;init_from =\n") != NULL, "%s", ini);
    ck_assert_msg(!strstr(ini, "original_len") && !strstr(ini, "momentum"), "%s", ini);
}

TEST(the_printed_configuration_names_the_origin_of_each_value)
{
    rt_config config;
    load_sound(&config, "[model]\nlayers=3\nheads=4\n", OVERRIDES("train.steps=9"));
    expect_text(rt_config_origins(&config), /* four heads are the default */
                "theta.ini:2               model.layers               3\n"
                "command line              train.steps                9\n");
}

TEST(only_some_keys_may_differ_when_resuming)
{
    rt_config run, now;
    load_sound(&run, "", NULL);
    load_sound(&now, "",
               OVERRIDES("run.threads=2", "run.log_every=1", "run.name=n", "run.dir=d",
                         "train.eval_every=7", "train.keep=1", "train.steps=10"));
    expect_text(rt_config_differences(&run, &now, false), "");
    load_sound(&now, "",
               OVERRIDES("optimizer.lr=0.5", "train.checkpoint_every=9",
                         "train.target_accuracy=0.5"));
    expect_text(rt_config_differences(&run, &now, false),
                "optimizer.lr: the run has '0.001', now it is '0.5'\n"
                "train.target_accuracy: the run has '0', now it is '0.5'\n");
    load_sound(&run, "[data]\ntask = text\nfile = /a\neval_file = /b\n", NULL);
    load_sound(&now, "[data]\ntask = text\nfile = /a\neval_file = /c\n", NULL);
    expect_text(rt_config_differences(&run, &now, false),
                "data.eval_file: the run has '/b', now it is '/c', whose content differs or cannot "
                "be compared\n");
}

TEST(a_run_is_extended_only_after_all_its_steps)
{
    rt_config run, now;
    load_sound(&run, "[train]\nsteps=100\n", NULL);
    load_sound(&now, "[train]\nsteps=101\n",
               OVERRIDES("optimizer.lr=0.5", "optimizer.schedule=linear",
                         "optimizer.min_lr_ratio=0.5", "optimizer.schedule_steps=300",
                         "optimizer.beta1=0.5"));
    ck_assert(rt_config_extends(&run, 100, &now));
    ck_assert(!rt_config_extends(&run, 99, &now));
    ck_assert(!rt_config_extends(&run, 100, &run));
    expect_text(rt_config_differences(&run, &now, true),
                "optimizer.beta1: the run has '0.9', now it is '0.5'\n");
    expect_text(rt_config_extension(&run, &now),
                "optimizer.lr 0.001 -> 0.5, optimizer.schedule cosine -> linear, "
                "optimizer.min_lr_ratio 0 -> 0.5, optimizer.schedule_steps 100 -> 300, "
                "train.steps 100 -> 101");
    expect_text(rt_config_extension(&run, &run), "");
}

TEST(a_comparison_names_the_folder_or_runs_out_of_memory)
{
    rt_config run, now;
    rt_status status = {.code = RT_MEMORY};
    load_sound(&run, "", NULL);
    load_sound(&now, "", OVERRIDES("optimizer.lr=0.5"));
    expect_ok(rt_config_compare(&run, 0, &run, "runs/a"));
    FOR_EACH_REFUSAL(status.code, 1)
    {
        status = rt_config_compare(&run, 0, &now, "runs/a");
    }
    ck_assert_int_eq(status.code, RT_CONFIG);
    ck_assert_str_eq(status.message, "the run in runs/a has another configuration:\n"
                                     "optimizer.lr: the run has '0.001', now it is '0.5'\n");
}

/* Raising train.steps must not change the learning rates of the past. */
TEST(a_resumed_run_keeps_the_horizon_of_its_schedule)
{
    rt_config run, now, stored;
    load_sound(&run, "[train]\nsteps=100\n", NULL);
    load_sound(&stored, owned(rt_config_ini(&run), rt_free), NULL);
    load_sound(&now, "[train]\nsteps=200\n", NULL);
    expect_text(rt_config_differences(&stored, &now, false), "");
    rt_config_continue(&now, &stored, 99);
    ck_assert_int_eq(now.optimizer.schedule_steps, 100);
    /* further steps of a finished run would be at a rate of 0 */
    rt_config_continue(&now, &stored, 100);
    ck_assert_int_eq(now.optimizer.schedule_steps, 200);
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "runs/theta/config.ini" : "theta.ini";
        const char *text = owned(rt_config_ini(&stored), rt_free);
        char *errors = load(&now, path, text, OVERRIDES("train.steps=200"));
        ck_assert_ptr_null(errors);
        rt_config_continue(&now, &stored, 100);
        ck_assert_int_eq(now.optimizer.schedule_steps, i ? 200 : 100);
    }
    load_sound(&now, "", OVERRIDES("train.steps=200", "optimizer.schedule_steps=100"));
    rt_config_continue(&now, &stored, 100);
    ck_assert_int_eq(now.optimizer.schedule_steps, 100);
    load_sound(&stored, "[train]\nsteps=100\n[optimizer]\nmin_lr_ratio=0.1\n", NULL);
    load_sound(&now, "[train]\nsteps=200\n[optimizer]\nmin_lr_ratio=0.1\n", NULL);
    rt_config_continue(&now, &stored, 100);
    ck_assert_int_eq(now.optimizer.schedule_steps, 100);
    load_sound(&stored, owned(rt_config_ini(&run), rt_free), NULL);

    load_sound(&now, "[train]\nsteps=200\n[optimizer]\nschedule_steps=200\n", NULL);
    expect_text(rt_config_differences(&stored, &now, false),
                "optimizer.schedule_steps: the run has '100', now it is '200'\n");
    load_sound(&now, "[train]\nsteps=200\n[optimizer]\nschedule_steps=100\n", NULL);
    expect_text(rt_config_differences(&stored, &now, false), "");
}

static rt_status find_ancestor(void *context, const rt_config *config, rt_init_model *found)
{
    (void)config;
    *found = (rt_init_model){.config = context, .name = "/model"};
    return rt_ok();
}

/* Texts that no other test has made the program keep. An ancestor fits, or it does not. */
TEST_ROWS(each_allocation_of_a_load_can_fail, 0, 3)
{
    static const char *const texts[] = {
        "[model]\nlayer = 2\ndim = x\n[trian]\n[data]\nfile = exhausted\n",
        "[train]\ninit_from = /model\n", "[model]\ndim = 32\n[train]\ninit_from = /model\n"};
    static const rt_code codes[] = {RT_CONFIG, RT_OK, RT_CONFIG};
    rt_config config, ancestor;
    char *errors;
    load_sound(&ancestor, "", NULL);
    const rt_config_source source = {.path = "exhausted.ini",
                                     .text = texts[_i],
                                     .find_ancestor = find_ancestor,
                                     .finder = &ancestor};
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 1)
    {
        code = rt_config_load(&config, &source, &errors).code;
        ck_assert((code == RT_CONFIG) == (errors != NULL));
        rt_free(errors);
    }
    ck_assert_int_eq(code, codes[_i]);
}

TEST(a_configuration_or_help_that_cannot_be_written_is_null)
{
    rt_config config;
    load_sound(&config, "", NULL);
    rt_memory_fail_at(1);
    ck_assert_ptr_null(rt_config_ini(&config));
    rt_memory_fail_at(2);
    ck_assert_ptr_null(rt_config_help(NULL));
}

typedef struct start {
    rt_code answer;
    int begun;
    rt_kernels kernels; /* as written */
    bool valid;
} start;

static rt_status begin_run(void *context, const rt_config *written)
{
    start *s = context;
    s->begun++;
    s->valid = written != NULL;
    s->kernels = written ? written->run.kernels : RT_KERNELS_NATIVE;
    return s->answer ? rt_error(s->answer, "no start") : rt_ok();
}

static const struct {
    const char *text;
    rt_code answer, code;
    bool valid;
} starts[] = {
    {"[run]\nkernels = portable\n", RT_OK, RT_OK, true},
    {"[run]\nkernels = portable\n", RT_IO, RT_IO, true},
    {"[run]\nkernels = fast\n", RT_OK, RT_CONFIG, false},
    /* keys that do not go together are found after the start */
    {"[run]\nkernels = portable\n[model]\ndim = 63\n", RT_OK, RT_CONFIG, true},
};

TEST_ROWS(a_run_starts_once_with_the_values_as_written, 0, ROWS(starts))
{
    rt_config config;
    char *errors;
    start s = {.answer = starts[_i].answer};
    const rt_config_source source = {.path = "theta.ini",
                                     .text = starts[_i].text,
                                     .begin = begin_run,
                                     .beginner = &s};
    const rt_status status = rt_config_load(&config, &source, &errors);
    ck_assert_int_eq(status.code, starts[_i].code);
    ck_assert_int_eq(errors != NULL, status.code == RT_CONFIG);
    ck_assert_int_eq(s.begun, 1);
    ck_assert_int_eq(s.valid, starts[_i].valid);
    ck_assert_int_eq(s.kernels, s.valid ? RT_KERNELS_PORTABLE : RT_KERNELS_NATIVE);
    rt_free(errors);
}
