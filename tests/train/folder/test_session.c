/* Facts that a run records about the origin of its numbers. */

#include "data/samples.h"
#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/folder/session.h"
#include "util/csv.h"

#include <sys/stat.h>
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

TEST(a_session_begins_at_the_time_of_the_call)
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
    options = (rt_data_options){.task = task_named("copy"), .file = "unused.txt"};
    ck_assert_str_eq(cell_of("data", 2, words), "");
}

TEST(a_data_set_is_listed_by_the_path_of_its_file)
{
    options = (rt_data_options){.task = task_named("tokens"), .file = "a:/b.h5:/train/ids"};
    ck_assert_str_eq(cell_of("data", 2, words), "a:/b.h5 (cannot be read)");
}

#define OF_A(size) "(" size " bytes, XXH128 06b05ab6733a618578af5f94892f3950)"
#define OF_B(size) "(" size " bytes, XXH128 27085e721279998ba8af0c271585611f)"

static const struct {
    const char *path, *before, *now, *told; /* "": they are the same */
} texts[] = {
    {"a", "a " OF_A("3"), "a " OF_A("3"), ""},
    {"a", "a " OF_A("3"), "a " OF_B("3"), "it was a " OF_A("3") ", it is a " OF_B("3")},
    {"a", "a " OF_A("3"), "a " OF_A("4"), "it was a " OF_A("3") ", it is a " OF_A("4")},
    {"b", "a (3 bytes); b " OF_B("6"), "b " OF_A("6"),
     "it was b " OF_B("6") ", it is b " OF_A("6")},
    {"a", "a (3 bytes); v " OF_B("6"), "a (3 bytes); v (cannot be read)", ""},
    {"a", "a (3 bytes)", "a " OF_A("3"), "it was a (3 bytes), it is a " OF_A("3")},
    {"a (3 bytes).b", "a (3 bytes).b " OF_A("3"), "a (3 bytes).b " OF_B("3"),
     "it was a (3 bytes).b " OF_A("3") ", it is a (3 bytes).b " OF_B("3")},
    {"a", "a " OF_A("3"), "a (cannot be read)", "it was a " OF_A("3") ", it is a"},
    {"a", "ba " OF_A("3") "; a (cannot be read)", "a " OF_B("3"), ""},
    {"a", "nonsense", "a (3 bytes)", ""},
};

TEST_ROWS(a_changed_file_is_recognized_by_its_size_and_digest, 0, ROWS(texts))
{
    rt_writer w = {0};
    options = (rt_data_options){.task = task_named("text"), .file = texts[_i].path};
    put_text("timing.csv", lasting("step,data\n1,\"%s\"\n2,\n", texts[_i].before));
    rt_session_compare(&w, &options, texts[_i].now, scratch, false);
    ck_assert_str_eq(w.length ? w.bytes : "", texts[_i].told);
    rt_writer_free(&w);
}

/* What a run has read, and another one, of a data file and of a table of theta. */
static const struct {
    const char *one, *other, *changed; /* "": none */
} pairs_of_runs[] = {
    {"/a " OF_A("3"), "/a " OF_A("3"), ""},
    {"/a " OF_A("3"), "/a " OF_B("3"), "/a"},
    {"/a " OF_A("3") "; /t " OF_A("3"), "/a " OF_A("3") "; /t " OF_B("3"), "/t"},
    {"/a " OF_A("3"), "/b " OF_B("3"), ""},
    {"/a " OF_A("3"), "/a (cannot be read)", ""},
    {"", "/a " OF_A("3"), ""},
    {"/a " OF_A("3") "; /trunk " OF_A("3"), "/a " OF_A("3") "; /trunk " OF_B("3"), ""},
};

TEST_ROWS(a_file_that_two_runs_have_read_differently_is_named, 0, ROWS(pairs_of_runs))
{
    rt_config config;
    load_sound(&config,
               "[data]\ntask = text\nfile = /a\n[theta]\nlearn = yes\ninit_from = /t\n[train]\n"
               "trunk = /trunk\n",
               NULL);
    const char *const texts_of[] = {pairs_of_runs[_i].one, pairs_of_runs[_i].other};
    const char *folders[] = {lasting("%s", in_scratch("one")), lasting("%s", in_scratch("other"))};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(mkdir(folders[i], 0777), 0);
        put_text(i ? "other/timing.csv" : "one/timing.csv",
                 lasting("step,data\n1,\"%s\"\n2,\n", texts_of[i]));
    }
    const char *changed = rt_session_changed_input(&config, folders[0], folders[1]);
    ck_assert_str_eq(changed ? changed : "", pairs_of_runs[_i].changed);
}
