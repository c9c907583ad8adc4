/* The output of --print-config is the same configuration again. */

#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/commands.h"
#include "train/config/sweep.h"

#include <glob.h>

SUITE(.setup = make_scratch, .teardown = remove_scratch)

#define BESIDE TEST_SOURCES "/../experiments/printed.ini"

static void load_with_sweep(rt_config *config, rt_sweep *sweep, const char *path, const char *text,
                            const char *settings)
{
    const rt_config_source source = {.path = path,
                                     .text = text,
                                     .settings = settings,
                                     .sweep = sweep};
    const char *errors = load_source(config, source, NULL);
    ck_assert_msg(!errors, "%s: %s", path, errors);
}

/* Expects a run of the file and of its print to have one configuration. A path in a setting is
 * relative in the file and absolute in the print, and may be part of the name of the run. */
static void expect_same_run(const rt_sweep *sweep, const rt_sweep *same, int run, const char *path,
                            const char *printed)
{
    rt_config one, other;
    char name[RT_RUN_NAME_SIZE], name_again[RT_RUN_NAME_SIZE];
    const char *settings = owned(rt_sweep_overrides(sweep, run), rt_free);
    const char *settings_again = owned(rt_sweep_overrides(same, run), rt_free);
    load_with_sweep(&one, NULL, path, NULL, settings);
    load_with_sweep(&other, NULL, BESIDE, printed, settings_again);
    expect_text(rt_config_ini(&other), owned(rt_config_ini(&one), rt_free));
    rt_sweep_name(sweep, run, name);
    rt_sweep_name(same, run, name_again);
    if (!strcmp(settings, settings_again))
        ck_assert_str_eq(name, name_again);
}

static void expect_to_read_back(const char *path)
{
    rt_config config, again;
    rt_sweep sweep = {0}, same = {0};
    load_with_sweep(&config, &sweep, path, NULL, NULL);
    char *printed = owned(rt_sweep_ini(&sweep, &config, true), rt_free);
    load_with_sweep(&again, &same, BESIDE, printed, NULL);
    expect_text(rt_sweep_ini(&same, &again, true), printed);
    ck_assert_int_eq(rt_sweep_count(&sweep), rt_sweep_count(&same));
    for (int run = 0; run < rt_sweep_count(&sweep); run++)
        expect_same_run(&sweep, &same, run, path, printed);
}

TEST(every_experiment_reads_back)
{
    glob_t found;
    ck_assert_int_eq(glob(TEST_SOURCES "/../experiments/*.ini", 0, NULL, &found), 0);
    ck_assert_int_eq(glob(TEST_SOURCES "/../experiments/*/*.ini", GLOB_APPEND, NULL, &found), 0);
    ck_assert_int_ge((int)found.gl_pathc, 30);
    for (size_t i = 0; i < found.gl_pathc; i++)
        expect_to_read_back(found.gl_pathv[i]);
    globfree(&found);
}

TEST(each_key_is_explained)
{
    rt_config config, again;
    load_sound(&config, "[data]\ntask = copy\n", NULL);
    char *plain = owned(rt_config_ini(&config), rt_free);
    char *explained = owned(rt_sweep_ini(&(rt_sweep){0}, &config, true), rt_free);
    expect_in(explained, "\n; steps between evaluations\neval_every = 100\n");
    expect_in(explained, "\n;eval_lengths =\n"); /* is explained, too */
    expect_in(explained, "\n; other sequence lengths, in tokens,");
    for (const char *line = explained; *line; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strncmp(line, "; ", 2) || strcspn(line, "\n") <= 98, "%s", line);
    load_sound(&again, explained, NULL);
    expect_text(rt_config_ini(&again), plain);
}

static void expect_values_to_read_back(const char *const *overrides)
{
    rt_config config, again;
    load_sound(&config, "[data]\ntask = text\n", overrides);
    const char *printed = owned(rt_config_ini(&config), rt_free);
    load_sound(&again, printed, NULL);
    expect_text(rt_config_ini(&again), printed);
}

TEST(values_that_look_like_something_else_read_back)
{
    expect_values_to_read_back(
        OVERRIDES("data.file=/a#b;c d,/ [x] = y:z", "run.name=x#;y", "run.dir=  a  b;  "));
    expect_values_to_read_back(OVERRIDES("data.file=/=,/:", "run.name==:[a]", "run.seed= 7 "));
}

TEST(long_lists_read_back)
{
    char files[RT_FILE_LIST_SIZE + 16] = "data.file=";
    const size_t start = strlen(files);
    while (strlen(files) < start + RT_FILE_LIST_SIZE - 20)
        strcat(files, strlen(files) > start ? ",/folder/file" : "/folder/file");
    expect_values_to_read_back(OVERRIDES(files, "train.eval_lengths=33,34,35,36,37,38,39,40"));
}

/* Images, copy and alibi each use only some of the keys. */
TEST(a_key_without_effect_has_its_default_in_a_run_of_a_sweep)
{
    static const char text[] =
        "[data]\nlength = 26\nfile = a-images-idx3\n"
        "[position]\nrandomized = 30\n[train]\neval_lengths = 26\n"
        "[variant a]\ndata.task = images\nposition.kind = none\n[variant b]\ndata.task = copy\n"
        "[variant c]\nposition.kind = alibi\n";
    static const int expected[][3] = {{50, 0, 0}, {26, 1, 30}, {26, 1, 0}};
    rt_config config;
    rt_sweep sweep = {0};
    load_with_sweep(&config, &sweep, BESIDE, text, NULL);
    for (int run = 0; run < ROWS(expected); run++) {
        const char *settings = owned(rt_sweep_overrides(&sweep, run), rt_free);
        load_with_sweep(&config, NULL, BESIDE, text, settings);
        ck_assert_int_eq(config.data.length, expected[run][0]);
        ck_assert_int_eq(config.train.eval_lengths.count, expected[run][1]);
        ck_assert_int_eq(config.model.position.randomized, expected[run][2]);
    }
}

static const struct {
    const char *path, *text;
    bool explained;
    const char *parts[4];
} printed[] = {
    /* the keys of a sweep are not explained again */
    {"s.ini",
     "[train]\nsteps = 5\n[variant a]\ntrain.steps = 7\n[sweep]\njobs = 2\n",
     true,
     {"\n; number of optimizer steps\nsteps = 5\n",
      "\n\n[sweep]\njobs = 2\n\n[variant a]\ntrain.steps = 7\n"}},
    /* a run of another length has another schedule: a default stays a default */
    {"s.ini",
     "[model]\nlayers = 3\n[sweep]\ntrain.steps = 10, 20\n",
     false,
     {"\nlayers = 3\n", "\n;schedule_steps = 1000\n", "\n[sweep]\ntrain.steps = 10,20\n",
      "\nname = s\n"}},
    /* paths become absolute */
    {"/tmp/s.ini",
     "[variant a]\ntrain.init_from = y/z.h5\n[sweep]\ndata.file = b,/c\n",
     false,
     {"\ntrain.init_from = /tmp/y/z.h5\n", "\ndata.file = /tmp/b,/c\n"}},
};

TEST_ROWS(a_sweep_is_printed_with_the_values_of_its_file, 0, ROWS(printed))
{
    rt_config config;
    rt_sweep sweep = {0};
    load_with_sweep(&config, &sweep, printed[_i].path, printed[_i].text, NULL);
    const char *text = owned(rt_sweep_ini(&sweep, &config, printed[_i].explained), rt_free);
    for (int i = 0; i < 4 && printed[_i].parts[i]; i++)
        expect_in(text, printed[_i].parts[i]);
}

#define NAME(name, purpose) #name,
static const char *const templates[] = {RT_TEMPLATES(NAME)};

static rt_status write_template(int name, const char *path, bool overwrite)
{
    char program[] = "build/train";
    return rt_init_command(&(rt_arguments){.argv = (char *[]){program, NULL},
                                           .init = name,
                                           .config = path,
                                           .overwrite = overwrite,
                                           .quiet = true});
}

/* The comments name the program, the file and the run as they would be typed. */
TEST_ROWS(a_template_is_a_configuration_whose_comments_name_its_file_and_run, 0, ROWS(templates))
{
    static const char *const runs[] = {"runs/own", "runs/own.v2", "'runs/it'\\''s'"};
    static const char *const names[] = {"own.ini", "own.v2.ini", "it's.ini"};
    for (int i = 0; i < ROWS(names); i++) {
        size_t size;
        const char *path = in_scratch(names[i]), *name = templates[_i];
        expect_ok(write_template(_i, path, false));
        expect_to_read_back(path);
        const char *text = (const char *)file_bytes(path, &size);
        expect_in(text, i < 2 ? lasting(";     build/train %s", path) : "it'\\''s.ini'");
        expect_in(text, lasting(" %s", runs[i]));
        ck_assert_ptr_null(strchr(text, '@'));
        ck_assert_ptr_null(strstr(text, lasting("%s.ini", name)));
        ck_assert_ptr_null(strstr(text, lasting("runs/%s/", name)));
    }
}

TEST(a_template_replaces_a_file_only_with_overwrite)
{
    const char *path = in_scratch("own.ini");
    expect_ok(write_template(0, path, false));
    const rt_status again = write_template(3, path, false);
    ck_assert_int_eq(again.code, RT_CONFIG);
    expect_in(again.message, "own.ini: the file exists; give --overwrite");
    expect_ok(write_template(3, path, true));
    expect_to_read_back(path);
}

/* The help on a part, whose lines fit a terminal; "" for an unknown part. */
static const char *help_on(const char *part)
{
    enum { WIDTH = 80 };
    const char *text = owned(rt_config_help(part), rt_free);
    ck_assert_ptr_nonnull(text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strcspn(line, "\n") <= WIDTH, "--help %s: %.*s", part ? part : "",
                      (int)strcspn(line, "\n"), line);
    return text;
}

TEST(help_exists_for_all_keys_and_fits_a_terminal)
{
    char name[2 * RT_KEY_NAME_SIZE];
    const char *all = help_on(NULL);
    for (int i = 0; rt_key_at(i); i++) {
        const rt_key *key = rt_key_at(i);
        snprintf(name, sizeof name, "\n  %s=", rt_key_name(i));
        ck_assert_ptr_nonnull(strstr(all, name + (i == 0)));
        ck_assert_ptr_nonnull(strstr(help_on(key->section), name + rt_key_starts_section(i)));
        ck_assert_ptr_nonnull(strstr(help_on(rt_key_name(i)), "\n  values:"));
        if (!rt_section_exists(key->name))
            ck_assert_ptr_nonnull(strstr(help_on(key->name), name + 1));
        snprintf(name, sizeof name, "sweep.%s", rt_key_name(i));
        ck_assert_ptr_nonnull(strstr(help_on(name), "\n  sweep.SECTION.KEY  "));
    }
    for (int i = 0; i < RT_SWEEP_SETTINGS; i++)
        for (int k = 0; k < 5; k += 4)
            ck_assert_ptr_nonnull(
                strstr(help_on(rt_sweep_settings[i][k]), rt_sweep_settings[i][2]));
    ck_assert_str_eq(help_on("sweep.theta"), "");
    ck_assert_str_eq(help_on("wombat"), "");
}

TEST(help_suggests_the_nearest_name)
{
    static const char *const near[][2] = {
        {"data.fil", "data.file"},      {"fiel", "data.file"},
        {"positon", "position"},        {"swep", "sweep"},
        {"sweep.job", "sweep.jobs"},    {"varient", "variant"},
        {"hidden_size", "model.dim"},   {"optimiser", "optimizer"},
        {"train.Steps", "train.steps"}, {"theta-learn", "theta.learn"}};
    for (int i = 0; i < ROWS(near); i++) {
        rt_nearest nearest = {.written = near[i][0]};
        rt_config_help_try(&nearest);
        ck_assert_str_eq(nearest.name ? nearest.name : "", near[i][1]);
    }
}
