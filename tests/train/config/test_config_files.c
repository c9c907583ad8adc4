#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/config/private.h"

/* Loads a file of the folder, which must be sound. */
static void load_file(rt_config *config, const char *name, const char *const *overrides)
{
    char *errors = load(config, in_scratch(name), NULL, overrides);
    ck_assert_msg(!errors, "%s", errors);
}

static void expect_file_error(const char *path, const char *expected)
{
    rt_config config;
    expect_text(load(&config, path, NULL, NULL), lasting("%s%s", path, expected));
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_file_that_is_no_configuration_is_refused_with_the_reason)
{
    static const char zero[] = "[train]\nsteps = 5\0 6\nkeep = 1\n";
    static char endless[1 << 20] = "[run]\nname = ";
    memset(endless + strlen(endless), 'x', sizeof endless - strlen(endless));
    endless[sizeof endless - 1] = '\n';
    expect_file_error("/nowhere/theta.ini",
                      ": cannot read the configuration: No such file or directory\n");
    expect_file_error(scratch, ": is a folder; a CONFIG.ini is expected\n");
    write_bytes(in_scratch("theta.ini"), zero, sizeof zero - 1);
    expect_file_error(in_scratch("theta.ini"),
                      ": is a binary file; a CONFIG.ini is expected, and --checkpoint names "
                      "weights\n");
    write_bytes(in_scratch("theta.ini"), endless, sizeof endless);
    expect_file_error(in_scratch("theta.ini"), ":2: the line is longer than 8190 bytes\n");
    expect_file_error("/dev/zero", ":1: the file is larger than 16 MiB\n");
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

/* Expects the files of data that theta.ini in the folder names with this text. */
static void expect_path(const char *text, bool for_evaluation, const char *expected)
{
    rt_config config;
    put_text("theta.ini", text);
    load_file(&config, "theta.ini", NULL);
    ck_assert_str_eq(for_evaluation ? config.data.eval_file : config.data.file, expected);
}

/* Labelled texts are not given as lists. */
TEST(data_files_are_relative_to_the_file_that_names_them)
{
    const char *here = real_scratch();
    expect_path("[data]\ntask = text\n"
                "file = a.txt, ./sub/../b.txt , ../../../../c.txt, ../d,/e\n",
                false,
                lasting("%s/a.txt,%s/sub/../b.txt,/c.txt,%.*s/d,/e", here, here,
                        (int)(strrchr(here, '/') - here), here));
    expect_path("[data]\ntask = text\nfile = a\neval_file = /b , c/d\n", true,
                lasting("/b,%s/c/d", here));
    expect_path("[data]\ntask = tokens\nfile = a.bin\neval_file = /b.npy , c:/d\n", true,
                lasting("/b.npy,%s/c:/d", here));
    expect_path("[data]\ntask = classify\nfile = a.tsv\neval_file = c , d.tsv\n", true,
                lasting("%s/c , d.tsv", here));
}

TEST(a_data_file_on_the_command_line_is_relative_to_the_working_directory)
{
    rt_config config;
    char here[4096];
    put_text("theta.ini", "");
    load_file(&config, "theta.ini", OVERRIDES("data.task=text", "data.file=a.txt"));
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_str_eq(config.data.file, lasting("%s/a.txt", here));
}

TEST(a_comma_in_the_path_of_a_single_file_is_part_of_it)
{
    rt_config config;
    static const char name[] = "with, comma/theta.ini";
    ck_assert_int_eq(mkdir(in_scratch("with, comma"), 0700), 0);
    put_text(name, "[data]\ntask = classify\nfile = a,b/c , d.tsv\n[train]\ninit_from = x,y.h5\n");
    load_file(&config, name, NULL);
    ck_assert_str_eq(config.data.file, lasting("%s/with, comma/a,b/c , d.tsv", real_scratch()));
    ck_assert_str_eq(config.train.init_from, lasting("%s/with, comma/x,y.h5", real_scratch()));
}

TEST(a_value_longer_than_its_buffer_is_refused)
{
    char text[8190] = "[data]\nfile = /";
    char *end = text + strlen(text);
    memset(end, 'x', 8000);
    expect_errors(text, NULL,
                  "theta.ini:2: data.file must be text of at most 7999 bytes without control "
                  "characters; got '/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'\n");
}

/* Finds the path of a key whose value is written in theta.ini. */
static const char *found_path(int key, const char *value, rt_config_errors *errors)
{
    static rt_config config;
    *errors = (rt_config_errors){.file = "theta.ini"};
    rt_config_initial(&config);
    config.file = "theta.ini";
    rt_config_set_key(&config, key, value, 1, errors);
    rt_config_find_files(&config, 0, errors);
    return *(const char *const *)((const char *)&config + rt_key_at(key)->offset);
}

TEST(a_tilde_stands_for_the_home_folder_in_every_key_of_a_path)
{
    rt_config_errors errors;
    int paths = 0;
    for (int i = 0; rt_key_at(i); i++) {
        const bool is_path = rt_key_at(i)->path != RT_NO_PATH;
        if (rt_key_at(i)->type != RT_KEY_TEXT)
            continue;
        paths += is_path;
        rt_path_set_home("/home/me");
        ck_assert_str_eq(found_path(i, "~/a/b", &errors), is_path ? "/home/me/a/b" : "~/a/b");
        ck_assert_int_eq(errors.count, 0);
        rt_path_set_home("");
        found_path(i, "~/a/b", &errors);
        ck_assert_str_eq(errors.lines.bytes ? errors.lines.bytes : "",
                         is_path ? lasting("theta.ini:1: %s begins with ~, and HOME is not set; "
                                           "write the whole path\n",
                                           rt_key_name(i))
                                 : "");
        rt_writer_free(&errors.lines);
    }
    ck_assert_int_eq(paths, 8);
    rt_path_set_home("/home/me");
    expect_path("[data]\ntask = text\nfile = ~/a.txt, /b, ~\n", false,
                "/home/me/a.txt,/b,/home/me");
    expect_path("[data]\ntask = tokens\nfile = ~/a.h5:/ids\n", false, "/home/me/a.h5:/ids");
    ck_assert_str_eq(rt_path_home("~you/a"), "");
    rt_path_set_home(NULL);
}
