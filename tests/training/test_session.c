/* Facts that a run records about the origin of its numbers. */

#include "config_loading.h"
#include "data/samples.h"
#include "training/scratch.h"

#include "text/csv.h"
#include "train/folder/session.h"

#include <time.h>

static rt_data_options options;

static rt_csv csv;

static void close_csv(void)
{
    rt_csv_close(&csv);
    remove_scratch();
}

/* Returns a cell of a session by its name, as a reader of timing.csv finds it. */
static const char *cell_of(const char *name, int argc, const char *const *argv)
{
    char *data = rt_session_data(&options);
    ck_assert_ptr_nonnull(data);
    char *cells = rt_session_cells(data, "0123abc", argc, (char *const *)argv);
    ck_assert_ptr_nonnull(cells);
    rt_free(data);
    put_text("timing.csv", lasting(RT_SESSION_COLUMNS "\n%s\n", cells));
    rt_free(cells);
    ck_assert(rt_csv_open(&csv, scratch, "timing.csv") && rt_csv_row(&csv));
    return rt_csv_cell(&csv, name);
}

static void use_text(const char *first, const char *second)
{
    options = (rt_data_options){.task = task_named("text")};
    options.file = lasting("%s", in_scratch(first));
    if (second)
        options.file = lasting("%s, %s", options.file, in_scratch(second));
}

static const char *const words[] = {"train", "a b.ini", "run.name=it's", "--resume", "", "x;y"};

SUITE(.setup = make_scratch, .teardown = close_csv)

TEST(a_command_line_can_be_typed_again)
{
    use_text("a.txt", NULL);
    const char *command = cell_of("command", 6, words);
    ck_assert_ptr_nonnull(strchr(command, ' '));
    ck_assert_str_eq(strchr(command, ' '), " 'a b.ini' 'run.name=it'\\''s' --resume '' 'x;y'");
}

TEST(the_time_is_that_of_the_call)
{
    char today[16], tomorrow[16];
    const time_t before = time(NULL);
    use_text("a.txt", NULL);
    const char *begun = cell_of("begun", 2, words);
    const time_t after = time(NULL);
    struct tm parts;
    strftime(today, sizeof today, "%Y-%m-%d", gmtime_r(&before, &parts));
    strftime(tomorrow, sizeof tomorrow, "%Y-%m-%d", gmtime_r(&after, &parts));
    ck_assert_uint_eq(strlen(begun), strlen("2026-01-02 03:04:05"));
    ck_assert(!strncmp(begun, today, 10) || !strncmp(begun, tomorrow, 10));
    expect_in(rt_csv_cell(&csv, "program"),
              "rotor " ROTOR_VERSION " (double), revision 0123abc, HDF5 ");
}

/* The digests are those of xxhsum -H2. */
TEST(files_have_their_size_and_their_digest)
{
    put_text("a.txt", "abc");
    put_text("b.txt", "rotor\n");
    use_text("a.txt", "b.txt");
    options.vocab_file = lasting("%s", in_scratch("none.txt"));
    ck_assert_str_eq(
        cell_of("data", 2, words),
        lasting("%s/a.txt (3 bytes, XXH128 06b05ab6733a618578af5f94892f3950); %s/b.txt (6 bytes, "
                "XXH128 27085e721279998ba8af0c271585611f); %s/none.txt (cannot be read)",
                scratch, scratch, scratch));
}

TEST(a_toy_task_has_no_files)
{
    char path[RT_PATH_SIZE];
    options = (rt_data_options){.task = task_named("copy"), .file = "unused.txt"};
    ck_assert(!rt_data_file_at(&options, 0, path));
    ck_assert_str_eq(cell_of("data", 2, words), "");
}

TEST(the_file_of_a_data_set_is_named_without_it)
{
    char path[RT_PATH_SIZE];
    options = (rt_data_options){.task = task_named("tokens"), .file = "a:/b.h5:/train/ids"};
    ck_assert(rt_data_file_at(&options, 0, path));
    ck_assert_str_eq(path, "a:/b.h5");
    ck_assert(!rt_data_file_at(&options, 1, path));
}

#define OF_A(size) "(" size " bytes, XXH128 06b05ab6733a618578af5f94892f3950)"
#define OF_B(size) "(" size " bytes, XXH128 27085e721279998ba8af0c271585611f)"

static const struct {
    const char *before, *now;
    int files;
    const char *one, *other; /* NULL: they are the same */
} texts[] = {
    {"a " OF_A("3"), "a " OF_A("3"), 1, NULL, NULL},
    {"a " OF_A("3"), "/b c; (d) " OF_A("3"), 1, NULL, NULL},
    {"a " OF_A("3"), "a " OF_B("3"), 1, "a " OF_A("3"), "a " OF_B("3")},
    {"a " OF_A("3"), "a " OF_A("4"), 1, "a " OF_A("3"), "a " OF_A("4")},
    {"a (3 bytes); b " OF_B("6"), "a (3 bytes); c " OF_A("6"), 2, "b " OF_B("6"), "c " OF_A("6")},
    {"a (3 bytes); v " OF_B("6"), "a (3 bytes); v (cannot be read)", 1, NULL, NULL},
    {"a (3 bytes); v " OF_B("6"), "a (3 bytes); v (cannot be read)", 2, "v " OF_B("6"),
     "v (cannot be read)"},
    {"a (3 bytes)", "a " OF_A("3"), 1, "a (3 bytes)", "a " OF_A("3")},
    {"a (3 bytes)", "a (3 bytes); b (4 bytes)", 2, "a (3 bytes)", "a (3 bytes); b (4 bytes)"},
    {"a (3 bytes).b " OF_A("3"), "a (3 bytes).b " OF_B("3"), 1, "a (3 bytes).b " OF_A("3"),
     "a (3 bytes).b " OF_B("3")},
    {"nonsense", "a (3 bytes)", 1, "nonsense", "a (3 bytes)"},
    {"", "a (3 bytes)", 0, NULL, NULL},
};

static void expect_part(rt_session_part got, const char *expected)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", got.length, got.text);
    ck_assert_str_eq(text, expected);
}

TEST_ROWS(another_file_is_told_by_its_size_and_its_digest, 0, ROWS(texts))
{
    rt_session_part before = {.text = texts[_i].before}, now = {.text = texts[_i].now};
    ck_assert_int_eq(rt_session_data_differs(&before, &now, texts[_i].files),
                     texts[_i].one != NULL);
    if (texts[_i].one) {
        expect_part(before, texts[_i].one);
        expect_part(now, texts[_i].other);
    }
}
