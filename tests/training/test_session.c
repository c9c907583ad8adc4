/* What a run tells of where its numbers come from. */

#include "config_loading.h"
#include "data/samples.h"
#include "training/scratch.h"

#include "core/memory.h"
#include "train/folder/session.h"
#include "train/text/csv.h"

#include <time.h>

static rt_data_options options;

/* The cells below their names, as a reader of timing.csv finds them. */
static void read_cells(rt_csv *csv, int argc, const char *const *argv)
{
    char *cells = rt_session_cells(&options, "0123abc", argc, (char *const *)argv);
    ck_assert_ptr_nonnull(cells);
    FILE *file = fopen(in_scratch("timing.csv"), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, RT_SESSION_COLUMNS "\n%s\n", cells);
    fclose(file);
    rt_free(cells);
    ck_assert(rt_csv_open(csv, scratch, "timing.csv") && rt_csv_row(csv));
}

static void use_text(const char *first, const char *second)
{
    options = (rt_data_options){.task = task_named("text")};
    snprintf(options.file, sizeof options.file, "%s", in_scratch(first));
    if (second)
        snprintf(options.file + strlen(options.file), RT_PATH_SIZE, ", %s", in_scratch(second));
}

static const char *const words[] = {"train", "a b.ini", "run.name=it's", "--resume", "", "x;y"};

START_TEST(a_command_line_can_be_typed_again)
{
    rt_csv csv;
    use_text("a.txt", NULL);
    read_cells(&csv, 6, words);
    const char *command = rt_csv_cell(&csv, "command");
    ck_assert_ptr_nonnull(strchr(command, ' '));
    ck_assert_str_eq(strchr(command, ' '), " 'a b.ini' 'run.name=it'\\''s' --resume '' 'x;y'");
    rt_csv_close(&csv);
}
END_TEST

START_TEST(the_time_is_that_of_the_call)
{
    char today[16], tomorrow[16];
    const time_t before = time(NULL);
    rt_csv csv;
    use_text("a.txt", NULL);
    read_cells(&csv, 2, words);
    const time_t after = time(NULL);
    struct tm parts;
    strftime(today, sizeof today, "%Y-%m-%d", gmtime_r(&before, &parts));
    strftime(tomorrow, sizeof tomorrow, "%Y-%m-%d", gmtime_r(&after, &parts));
    const char *begun = rt_csv_cell(&csv, "begun");
    ck_assert_uint_eq(strlen(begun), strlen("2026-01-02 03:04:05"));
    ck_assert(!strncmp(begun, today, 10) || !strncmp(begun, tomorrow, 10));
    expect_in(rt_csv_cell(&csv, "program"),
              "rotor " ROTOR_VERSION " (double), revision 0123abc, HDF5 ");
    rt_csv_close(&csv);
}
END_TEST

/* The digests are those of xxhsum -H2. */
START_TEST(files_have_their_size_and_their_digest)
{
    char expected[3 * RT_PATH_SIZE];
    rt_csv csv;
    write_bytes(in_scratch("a.txt"), "abc", 3);
    write_bytes(in_scratch("b.txt"), "rotor\n", 6);
    use_text("a.txt", "b.txt");
    snprintf(options.vocab_file, RT_PATH_SIZE, "%s", in_scratch("none.txt"));
    read_cells(&csv, 2, words);
    snprintf(expected, sizeof expected,
             "%s/a.txt (3 bytes, XXH128 06b05ab6733a618578af5f94892f3950); "
             "%s/b.txt (6 bytes, XXH128 27085e721279998ba8af0c271585611f); %s/none.txt (cannot be read)",
             scratch, scratch, scratch);
    ck_assert_str_eq(rt_csv_cell(&csv, "data"), expected);
    rt_csv_close(&csv);
}
END_TEST

START_TEST(a_toy_task_has_no_files)
{
    char path[RT_PATH_SIZE];
    rt_csv csv;
    options = (rt_data_options){.task = task_named("copy"), .file = "unused.txt"};
    ck_assert(!rt_data_file_at(&options, 0, path));
    read_cells(&csv, 2, words);
    ck_assert_str_eq(rt_csv_cell(&csv, "data"), "");
    rt_csv_close(&csv);
}
END_TEST

START_TEST(the_file_of_a_data_set_is_named_without_it)
{
    char path[RT_PATH_SIZE];
    options = (rt_data_options){.task = task_named("tokens"), .file = "a:/b.h5:/train/ids"};
    ck_assert(rt_data_file_at(&options, 0, path));
    ck_assert_str_eq(path, "a:/b.h5");
    ck_assert(!rt_data_file_at(&options, 1, path));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *tests = leak_checked_case(suite, "cells");
    tcase_add_checked_fixture(tests, make_scratch, remove_scratch);
    tcase_add_test(tests, a_command_line_can_be_typed_again);
    tcase_add_test(tests, the_time_is_that_of_the_call);
    tcase_add_test(tests, files_have_their_size_and_their_digest);
    tcase_add_test(tests, a_toy_task_has_no_files);
    tcase_add_test(tests, the_file_of_a_data_set_is_named_without_it);
    return run_suite(suite);
}
