/* Lines of a sweep: its runs, their names and settings, and refusals. */

#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/config/sweep.h"

static rt_sweep sweep;
static rt_config config;

/* Loads "theta.ini" with that text; returns the errors, which are freed after the test. */
static const char *load_sweep(const char *text, const char *const *overrides)
{
    sweep = (rt_sweep){0};
    const rt_config_source source = {.path = "theta.ini", .text = text, .sweep = &sweep};
    return owned(load_source(&config, source, overrides), rt_free);
}

static void expect_sweep(const char *text, const char *const *overrides)
{
    const char *errors = load_sweep(text, overrides);
    ck_assert_msg(!errors, "%s", errors);
}

static const char grid[] = "[sweep]\nposition.kind = rope, none\nrun.seed = 1,2 , 3\njobs = 2\n"
                           "[variant near]\ndata.task = copy\n"
                           "[variant far]\ndata.task = shift\ndata.distance = 5\n";

/* A variant that does not set train.steps has those of the file. */
TEST(the_longest_run_may_be_of_a_variant_without_steps)
{
    expect_sweep("[train]\nsteps = 100\n[variant a]\ntrain.steps = 50\n"
                 "[variant b]\nmodel.layers = 1\n",
                 NULL);
    ck_assert_int_eq(sweep.longest, 100);
}

TEST(runs_are_every_variant_with_every_combination)
{
    char name[RT_RUN_NAME_SIZE];
    expect_sweep(grid, NULL);
    ck_assert_int_eq(rt_sweep_count(&sweep), 12);
    ck_assert_int_eq(sweep.jobs, 2);
    rt_sweep_name(&sweep, 0, name);
    ck_assert_str_eq(name, "near_kind=rope_seed=1");
    rt_sweep_name(&sweep, 11, name);
    ck_assert_str_eq(name, "far_kind=none_seed=3");
    expect_text(rt_sweep_overrides(&sweep, 7),
                "data.task=shift\ndata.distance=5\nposition.kind=rope\nrun.seed=2\n");
}

TEST(no_two_runs_have_one_name)
{
    char names[64][RT_RUN_NAME_SIZE];
    expect_sweep("[sweep]\ndata.file = a/b, a-b, a b\nmodel.dim = 8, 16\n", NULL);
    const int count = rt_sweep_count(&sweep);
    ck_assert_int_eq(count, 6);
    for (int i = 0; i < count; i++) {
        rt_sweep_name(&sweep, i, names[i]);
        ck_assert_ptr_null(strchr(names[i], '/'));
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(names[i], names[k]);
    }
}

TEST(settings_of_a_run_of_a_sweep_are_applied_like_lines)
{
    expect_sweep(grid, NULL);
    const char *settings = owned(rt_sweep_overrides(&sweep, 8), rt_free);
    rt_config run;
    ck_assert_ptr_null(
        load_source(&run, (rt_config_source){"theta.ini", grid, .settings = settings}, NULL));
    ck_assert_int_eq(run.data.distance, 5);
    ck_assert_uint_eq(run.run.seed, 3);
    ck_assert_int_eq(run.origin[rt_key_find("data.distance")], RT_FROM_SWEEP);
}

TEST(the_command_line_overrides_the_values_of_a_sweep)
{
    expect_sweep(grid, OVERRIDES("sweep.run.seed=7", "sweep.jobs=1", "sweep.model.dim=8,16"));
    ck_assert_int_eq(rt_sweep_count(&sweep), 2 * 2 * 1 * 2);
    ck_assert_str_eq(rt_sweep_value(&sweep, 0, 1), "7");
    ck_assert_int_eq(sweep.jobs, 1);
}

/* An error of the shared lines may be corrected by every run. */
TEST(shared_lines_of_a_sweep_may_be_incomplete)
{
    expect_sweep("[data]\ntask = text\n[variant a]\ndata.file = x\n", NULL);
    ck_assert(rt_sweep_requested(&sweep));
    ck_assert_int_eq(rt_sweep_count(&sweep), 1);
}

/* The error is of "theta.ini:". */
#define NO_VARIANT "1: a variant needs a name of letters, digits and -_.+ ; got "
static const struct {
    const char *text, *errors;
} bad[] = {
    {"[sweep]\nposition.pairing = half, hal\n",
     "2: position.pairing must be one of interleaved, half; got 'hal'; did you mean "
     "'half'?"},
    {"[sweep]\nrun.seed = 1,,2\n", "2: run.seed has an empty value"},
    {"[sweep]\nrun.seed = 1,2,\n", "2: run.seed has an empty value"},
    {"[sweep]\nrun.seed = 1,2,1\n", "2: sweep.run.seed has '1' twice"},
    {"[sweep]\noptimizer.lr = 0.1, 1e-1\n", "2: sweep.optimizer.lr has '1e-1' twice"},
    {"[sweep]\nseed = 1\n", "2: [sweep]: unknown key 'seed'; did you mean 'run.seed'?"},
    {"[sweep]\nwombat = 1\n", "2: [sweep]: unknown key 'wombat'; a key is written section.key"},
    {"[sweep]\ntheta.lern = no\n", "2: unknown key 'lern' in [theta]; did you mean 'learn'?"},
    {"[sweep]\ntheat.learn = no\n", "2: unknown section 'theat'; did you mean 'theta'?"},
    {"[swep]\njobs = 1\n", "1: unknown section 'swep'; did you mean 'sweep'?"},
    {"[sweep]\nrun.name = a,b\n", "2: [sweep]: run.name is chosen by the sweep for each run"},
    {"[sweep]\nrun.seed = 1\nrun.seed = 2\n",
     "3: duplicate key 'run.seed' in [sweep]; line 2 has it"},
    {"[sweep]\njobs = 2\njobs = 1\n", "3: duplicate key 'jobs' in [sweep]; line 2 has it"},
    {"[sweep]\njobs = 0\n", "2: sweep.jobs must be a whole number from 1 to 1024; got '0'"},
    {"[variant figures]\nrun.seed = 1\n",
     "1: a sweep has a file or folder 'figures': rename the variant"},
    {"[variant a b]\nrun.seed = 1\n", NO_VARIANT "'a b'"},
    {"[variant .a]\nrun.seed = 1\n", NO_VARIANT "'.a'"},
    {"[variant -a]\nrun.seed = 1\n", NO_VARIANT "'-a'"},
    {"[variant a234567890123456789012345678901234567890123456789012345678901234]\nrun.seed = 1\n",
     NO_VARIANT "'a2345678901234567890123456789012345678901234567890...'"},
    {"[variant a]\nrun.seed = 1\n[variant a]\nrun.seed = 2\n", "3: there are two variants 'a'"},
    {"[variant a]\nseed = 1\n", "2: [variant a]: unknown key 'seed'; did you mean 'run.seed'?"},
    {"[variant a]\nrun.seed = 1\nrun.seed = 1\n", "3: duplicate key 'run.seed' in [variant a]"},
    {"[variant a]\nmodel.dim = x\n",
     "2: model.dim must be a whole number from 1 to 1000000; got 'x'"},
    {"[sweep]\nrun.seed = 1\n[variant a]\nrun.seed = 1\n",
     "2: run.seed is set by [sweep] and by [variant a]"},
};

TEST_ROWS(a_malformed_sweep_is_refused_with_its_line, 0, ROWS(bad))
{
    const char *errors = load_sweep(bad[_i].text, NULL);
    ck_assert_ptr_nonnull(errors);
    ck_assert_str_eq(errors, lasting("theta.ini:%s\n", bad[_i].errors));
}

TEST(a_key_is_swept_or_set)
{
    ck_assert_str_eq(load_sweep(grid, OVERRIDES("run.seed=1")),
                     "command line: run.seed is set by [sweep], for each run\n");
    ck_assert_str_eq(load_sweep(grid, OVERRIDES("data.distance=1")),
                     "command line: data.distance is set by [variant far], for each run\n");
    ck_assert_str_eq(load_sweep("", OVERRIDES("sweep.run.seed=1,2", "sweep.run.seed=3")),
                     "command line: sweep.run.seed is given twice\n");
    ck_assert_str_eq(load_sweep(grid, OVERRIDES("sweep.jobs=2", "sweep.jobs=1")),
                     "command line: sweep.jobs is given twice\n");
}

TEST(too_many_runs_are_refused)
{
    rt_writer text = {0};
    rt_writer_add(&text, "[sweep]\n");
    static const char *const keys[] = {"run.seed", "model.dim", "data.vocab"};
    for (int k = 0; k < 3; k++) {
        rt_writer_add(&text, "%s = ", keys[k]);
        for (int i = 0; i < 60; i++)
            rt_writer_add(&text, "%s%d", i ? "," : "", 10 + i);
        rt_writer_add(&text, "\n");
    }
    ck_assert_str_eq(load_sweep(text.bytes, NULL),
                     "theta.ini: a sweep can have at most 10000 runs\n");
    rt_writer_free(&text);
}

static rt_status load_with(const rt_config_source *source)
{
    char *errors;
    const rt_status status = rt_config_load(&config, source, &errors);
    rt_free(errors);
    return status;
}

/* Loads a sweep and its first run, and writes them. */
static rt_status try_sweep(void *unused)
{
    (void)unused;
    sweep = (rt_sweep){0};
    rt_status status = load_with(&(rt_config_source){"theta.ini", grid, .sweep = &sweep});
    char *settings = status.code ? NULL : rt_sweep_overrides(&sweep, 0), *printed = NULL;
    if (!status.code && !settings)
        status = rt_out_of_memory("settings");
    if (!status.code)
        status = load_with(&(rt_config_source){"theta.ini", grid, .settings = settings});
    if (!status.code && !(printed = rt_sweep_ini(&sweep, &config, false)))
        status = rt_out_of_memory("a sweep");
    rt_free(settings);
    rt_free(printed);
    return status;
}

TEST(a_sweep_is_loaded_or_the_heap_is_an_error)
{
    expect_faults(try_sweep, NULL, 8); /* texts that are shared are one request */
}
