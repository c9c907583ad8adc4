#include "config_loading.h"
#include "scratch.h"

static const char *write_file(const char *bytes, size_t size)
{
    const char *path = in_scratch("theta.ini");
    write_bytes(path, bytes, size);
    return path;
}

static void expect_file_error(const char *path, const char *expected)
{
    rt_config config;
    char *errors = load(&config, path, NULL, NULL);
    ck_assert_ptr_nonnull(errors);
    ck_assert_msg(!strncmp(errors, path, strlen(path)), "no path: %s", errors);
    ck_assert_str_eq(errors + strlen(path), expected);
    rt_free(errors);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(what_is_no_configuration_is_named_with_the_reason)
{
    static const char zero[] = "[train]\nsteps = 5\0 6\nkeep = 1\n";
    static char endless[1 << 20] = "[run]\nname = ";
    memset(endless + strlen(endless), 'x', sizeof endless - strlen(endless));
    endless[sizeof endless - 1] = '\n';
    expect_file_error("/nowhere/theta.ini",
                      ": cannot read the configuration: No such file or directory\n");
    expect_file_error(scratch, ": is a folder; a CONFIG.ini is expected\n");
    expect_file_error(write_file(zero, sizeof zero - 1),
                      ": is a binary file; a CONFIG.ini is expected, and --checkpoint names "
                      "weights\n");
    expect_file_error(write_file(endless, sizeof endless),
                      ":2: the line is longer than 8190 bytes\n");
    expect_file_error("/dev/zero", ":1: the file is larger than 16 MiB\n");
}

TEST(file_without_last_newline_is_read)
{
    rt_config config;
    static const char text[] = "[train]\nsteps = 5";
    char *errors = load(&config, write_file(text, sizeof text - 1), NULL, NULL);
    ck_assert_ptr_null(errors);
    ck_assert_int_eq(config.train.steps, 5);
    ck_assert_str_eq(config.run.name, "theta");
}

/* The folder of a path of the test may itself be behind a link. */
static const char *real_scratch(void)
{
    static char path[4096];
    char here[4096];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(chdir(scratch), 0);
    ck_assert_ptr_nonnull(getcwd(path, sizeof path));
    ck_assert_int_eq(chdir(here), 0);
    return path;
}

TEST(data_files_are_relative_to_the_file_that_names_them)
{
    rt_config config;
    static const char text[] =
        "[data]\ntask = text\nfile = a.txt, ./sub/../b.txt , ../../../../c.txt, ../d,/e\n";
    char *errors = load(&config, write_file(text, sizeof text - 1), NULL, NULL);
    ck_assert_msg(!errors, "%s", errors);
    const char *here = real_scratch();
    int above = (int)(strrchr(here, '/') - here);
    ck_assert_str_eq(config.data.file,
                     lasting("%s/a.txt,%s/sub/../b.txt,/c.txt,%.*s/d,/e", here, here, above, here));
}

TEST(data_file_of_the_command_line_is_relative_to_the_working_directory)
{
    rt_config config;
    char here[4096];
    char *errors =
        load(&config, write_file("", 0), NULL, OVERRIDES("data.task=text", "data.file=a.txt"));
    ck_assert_ptr_null(errors);
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_str_eq(config.data.file, lasting("%s/a.txt", here));
}

/* Labelled texts are not given as lists. */
TEST(a_comma_in_the_path_of_a_single_file_is_part_of_it)
{
    rt_config config;
    char folder[600];
    static const char text[] =
        "[data]\ntask = classify\nfile = a,b/c , d.tsv\n[train]\ninit_from = x,y.h5\n";
    snprintf(folder, sizeof folder, "%s", in_scratch("with, comma"));
    const char *path = lasting("%s/theta.ini", folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    write_bytes(path, text, sizeof text - 1);
    char *errors = load(&config, path, NULL, NULL);
    ck_assert_msg(!errors, "%s", errors);
    const char *expected = lasting("%s/with, comma/a,b/c , d.tsv", real_scratch());
    ck_assert_str_eq(config.data.file, expected);
    expected = lasting("%s/with, comma/x,y.h5", real_scratch());
    ck_assert_str_eq(config.train.init_from, expected);
    remove(path);
}

TEST(files_for_evaluation_are_a_list_where_files_for_training_are)
{
    static const struct {
        const char *text, *before, *after;
    } rows[] = {
        {"[data]\ntask = text\nfile = a\neval_file = /b , c/d\n", "/b,", "c/d"},
        {"[data]\ntask = tokens\nfile = a.bin\neval_file = /b.npy , c:/d\n", "/b.npy,", "c:/d"},
        {"[data]\ntask = classify\nfile = a.tsv\neval_file = c , d.tsv\n", "", "c , d.tsv"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rt_config config;
        char *errors = load(&config, write_file(rows[i].text, strlen(rows[i].text)), NULL, NULL);
        ck_assert_msg(!errors, "%s", errors);
        ck_assert_str_eq(config.data.eval_file,
                         lasting("%s%s/%s", rows[i].before, real_scratch(), rows[i].after));
    }
}

TEST(long_list_of_files_survives)
{
    rt_config config, again;
    char list[4200] = "[data]\ntask = text\nfile = /first";
    size_t first = strlen("[data]\ntask = text\nfile = ");
    for (int i = 0; strlen(list) < 4000; i++)
        snprintf(list + strlen(list), 64, ",/a folder/#%d;x=[%d]/file", i, i);
    load_sound(&config, list, NULL);
    ck_assert_str_eq(config.data.file, list + first);
    char *ini = rt_config_ini(&config);
    load_sound(&again, ini, NULL);
    ck_assert_str_eq(again.data.file, config.data.file);
    rt_free(ini);
}

TEST(value_longer_than_its_place_is_refused)
{
    char text[8190] = "[data]\nfile = /";
    char *end = text + strlen(text);
    memset(end, 'x', 8000);
    rt_config config;
    char *errors = load(&config, "theta.ini", text, NULL);
    ck_assert_str_eq(errors, "theta.ini:2: data.file must be text of at most 7999 bytes without "
                             "control characters; got "
                             "'/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'\n");
    rt_free(errors);
}
