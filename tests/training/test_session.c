/* Facts that a run records about the origin of its numbers. */

#include "config_loading.h"
#include "data/samples.h"
#include "training/scratch.h"

#include "core/memory.h"
#include "text/csv.h"
#include "train/folder/session.h"

#include <time.h>

static rt_data_options options;

/* The cells below their names, as a reader of timing.csv finds them. */
static void read_cells(rt_csv *csv, int argc, const char *const *argv)
{
    char *data = rt_session_data(&options);
    ck_assert_ptr_nonnull(data);
    char *cells = rt_session_cells(data, "0123abc", argc, (char *const *)argv);
    ck_assert_ptr_nonnull(cells);
    rt_free(data);
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
    options.file = lasting("%s", in_scratch(first));
    if (second)
        options.file = lasting("%s, %s", options.file, in_scratch(second));
}

static const char *const words[] = {"train", "a b.ini", "run.name=it's", "--resume", "", "x;y"};

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_command_line_can_be_typed_again)
{
    rt_csv csv;
    use_text("a.txt", NULL);
    read_cells(&csv, 6, words);
    const char *command = rt_csv_cell(&csv, "command");
    ck_assert_ptr_nonnull(strchr(command, ' '));
    ck_assert_str_eq(strchr(command, ' '), " 'a b.ini' 'run.name=it'\\''s' --resume '' 'x;y'");
    rt_csv_close(&csv);
}

TEST(the_time_is_that_of_the_call)
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

/* The digests are those of xxhsum -H2. */
TEST(files_have_their_size_and_their_digest)
{
    char expected[3 * RT_PATH_SIZE];
    rt_csv csv;
    write_bytes(in_scratch("a.txt"), "abc", 3);
    write_bytes(in_scratch("b.txt"), "rotor\n", 6);
    use_text("a.txt", "b.txt");
    options.vocab_file = lasting("%s", in_scratch("none.txt"));
    read_cells(&csv, 2, words);
    snprintf(expected, sizeof expected,
             "%s/a.txt (3 bytes, XXH128 06b05ab6733a618578af5f94892f3950); %s/b.txt (6 bytes, "
             "XXH128 27085e721279998ba8af0c271585611f); %s/none.txt (cannot be read)",
             scratch, scratch, scratch);
    ck_assert_str_eq(rt_csv_cell(&csv, "data"), expected);
    rt_csv_close(&csv);
}

TEST(a_toy_task_has_no_files)
{
    char path[RT_PATH_SIZE];
    rt_csv csv;
    options = (rt_data_options){.task = task_named("copy"), .file = "unused.txt"};
    ck_assert(!rt_data_file_at(&options, 0, path));
    read_cells(&csv, 2, words);
    ck_assert_str_eq(rt_csv_cell(&csv, "data"), "");
    rt_csv_close(&csv);
}

TEST(the_file_of_a_data_set_is_named_without_it)
{
    char path[RT_PATH_SIZE];
    options = (rt_data_options){.task = task_named("tokens"), .file = "a:/b.h5:/train/ids"};
    ck_assert(rt_data_file_at(&options, 0, path));
    ck_assert_str_eq(path, "a:/b.h5");
    ck_assert(!rt_data_file_at(&options, 1, path));
}

#define A "06b05ab6733a618578af5f94892f3950"
#define B "27085e721279998ba8af0c271585611f"

static const struct {
    const char *before, *now;
    int files;
    const char *one, *other; /* NULL: they are the same */
} texts[] = {
    {"a (3 bytes, XXH128 " A ")", "a (3 bytes, XXH128 " A ")", 1, NULL, NULL},
    {"a (3 bytes, XXH128 " A ")", "/b c; (d) (3 bytes, XXH128 " A ")", 1, NULL, NULL},
    {"a (3 bytes, XXH128 " A ")", "a (3 bytes, XXH128 " B ")", 1, "a (3 bytes, XXH128 " A ")",
     "a (3 bytes, XXH128 " B ")"},
    {"a (3 bytes, XXH128 " A ")", "a (4 bytes, XXH128 " A ")", 1, "a (3 bytes, XXH128 " A ")",
     "a (4 bytes, XXH128 " A ")"},
    {"a (3 bytes); b (6 bytes, XXH128 " B ")", "a (3 bytes); c (6 bytes, XXH128 " A ")", 2,
     "b (6 bytes, XXH128 " B ")", "c (6 bytes, XXH128 " A ")"},
    {"a (3 bytes); v (6 bytes, XXH128 " B ")", "a (3 bytes); v (cannot be read)", 1, NULL, NULL},
    {"a (3 bytes); v (6 bytes, XXH128 " B ")", "a (3 bytes); v (cannot be read)", 2,
     "v (6 bytes, XXH128 " B ")", "v (cannot be read)"},
    {"a (3 bytes)", "a (3 bytes, XXH128 " A ")", 1, "a (3 bytes)", "a (3 bytes, XXH128 " A ")"},
    {"a (3 bytes)", "a (3 bytes); b (4 bytes)", 2, "a (3 bytes)", "a (3 bytes); b (4 bytes)"},
    {"nonsense", "a (3 bytes)", 1, "nonsense", "a (3 bytes)"},
    {"", "a (3 bytes)", 0, NULL, NULL},
};

static void expect_part(rt_session_part got, const char *expected)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", got.length, got.text);
    ck_assert_str_eq(text, expected);
}

TEST_ROWS(another_file_is_told_by_its_size_and_its_digest, 0, sizeof texts / sizeof *texts)
{
    rt_session_part before = {.text = texts[_i].before}, now = {.text = texts[_i].now};
    ck_assert_int_eq(rt_session_data_differs(&before, &now, texts[_i].files),
                     texts[_i].one != NULL);
    if (texts[_i].one) {
        expect_part(before, texts[_i].one);
        expect_part(now, texts[_i].other);
    }
}
