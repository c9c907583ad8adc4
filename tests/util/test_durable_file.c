/* Files and folders that are replaced while each of their system calls fails, is cut short, or is
 * the last one of the program. The calls are those of faults/io_shim.c. */

#include "faults/io_shim.h"
#include "suite.h"
#include "util/durable_file.h"
#include "util/scratch.h"

#include <signal.h>
#include <sys/wait.h>

/* The files of a folder. A writer's folder has no file "b": an old one is removed. */
static const char *const names[] = {"a", "b", "last", NULL};

static const char *in_work(const char *name)
{
    return lasting("%s/work/%s", scratch, name);
}

static void make_old(const char *name)
{
    write_bytes(in_work(name), "old", 3);
}

static void make_work(void)
{
    make_scratch();
    shim_order(NULL, NULL);
    ck_assert(!mkdir(in_scratch("work"), 0777));
}

SUITE(.setup = make_work, .teardown = remove_scratch, .timeout = 300)

static rt_status write_pieces(const char *path)
{
    rt_durable_file file;
    rt_status status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_durable_write(&file, "n", 1);
    if (!status.code)
        status = rt_durable_write(&file, "ew", 2);
    return rt_durable_close(&file, status);
}

static rt_status write_file(void)
{
    return write_pieces(in_work("last"));
}

static rt_status write_text_at_once(void)
{
    char *text = rt_alloc(4, 1);
    ck_assert_ptr_nonnull(text);
    return rt_durable_write_and_free(in_scratch("work"), "last", strcpy(text, "new"));
}

static rt_status write_folder(void)
{
    rt_durable_folder folder;
    rt_status status = rt_durable_folder_open(&folder, in_scratch("work"), names);
    for (int i = 0; i < 3 && !status.code; i++)
        if (i != 1)
            status = write_pieces(RT_PATH_IN(folder.staging, names[i]));
    return rt_durable_folder_close(&folder, status);
}

static void nothing(void)
{
}

static void old_file(void)
{
    make_old("last");
}

static void old_folder(void)
{
    for (int i = 0; i < 3; i++)
        make_old(names[i]);
}

/* The folder is not exchanged then: its files are moved. */
static void old_folder_with_another_file(void)
{
    old_folder();
    make_old("mine");
}

static const struct {
    void (*make)(void);
    rt_status (*act)(void);
    bool folder;
} acts[] = {
    {nothing, write_file, false},          {old_file, write_file, false},
    {old_file, write_text_at_once, false}, {nothing, write_folder, true},
    {old_folder, write_folder, true},      {old_folder_with_another_file, write_folder, true},
};

/* Runs an act in a process of its own, with a fault or NULL. Returns the code of its status, or -1
 * if the fault ended it. Its message is in the file message, the counts of the shim are in counts.
 */
static int act_with(rt_status (*act)(void), const char *fault)
{
    remove(in_scratch("counts"));
    remove(in_scratch("message"));
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        shim_order(fault, in_scratch("counts"));
        const rt_status status = act();
        shim_order(NULL, NULL);
        write_bytes(in_scratch("message"), status.message, strlen(status.message));
        _exit(status.code);
    }
    int how;
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how) || WTERMSIG(how) == SIGKILL);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static shim_counts counts(void)
{
    size_t size;
    shim_counts found;
    const unsigned char *bytes = file_bytes(in_scratch("counts"), &size);
    ck_assert_uint_eq(size, sizeof found);
    memcpy(&found, bytes, size);
    return found;
}

/* Returns 'o' or 'n' for a file with the old or the new text, 'x' for another one, '-' for none. */
static char state_of(const char *name)
{
    const char *path = lasting("work/%s", name);
    if (!exists(in_scratch(path)))
        return '-';
    const char *text = text_in(path);
    return !strcmp(text, "old") ? 'o' : !strcmp(text, "new") ? 'n' : 'x';
}

static int entries(const char *path)
{
    DIR *directory = opendir(path);
    ck_assert_ptr_nonnull(directory);
    int count = -2; /* "." and ".." */
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* Expects the new files and those that are not the writer's, and nothing beside them. */
static void expect_new(int number, const char *fault)
{
    const bool folder = acts[number].folder;
    const bool other = acts[number].make == old_folder_with_another_file;
    ck_assert_msg(state_of("last") == 'n', "%s: last is not new", fault);
    ck_assert_msg(!folder || (state_of("a") == 'n' && state_of("b") == '-'), "%s: a, b", fault);
    ck_assert_msg(!other || state_of("mine") == 'o', "%s: another file is gone", fault);
    ck_assert_msg(entries(in_scratch("work")) == 1 + folder + other, "%s: something is left",
                  fault);
    remove(in_scratch("counts"));
    remove(in_scratch("message"));
    ck_assert_msg(entries(scratch) == 1, "%s: something is left beside the folder", fault);
}

/* Every file is whole; together they are the old ones or the new ones, unless the last one, by
 * which the folder is recognized, is absent. Then none of the new files is lost. */
static void expect_whole(int number, const char *fault, int code, bool may_leave)
{
    const bool folder = acts[number].folder, old = acts[number].make != nothing;
    const char a = state_of("a"), b = state_of("b"), last = state_of("last");
    const bool all_old = last == (old ? 'o' : '-') && (!folder || (a == last && b == last));
    const bool all_new = last == 'n' && (!folder || (a == 'n' && b == '-'));
    const bool moving = folder && last == '-' && code;
    ck_assert_msg(all_old || all_new || moving, "%s: code %d, a %c, b %c, last %c", fault, code, a,
                  b, last);
    ck_assert_msg(code || all_new, "%s: no error, and the files are old", fault);
    if (moving && !all_old)
        ck_assert_msg(!strcmp(text_in("work/" RT_STAGING "/last"), "new") ||
                          !strcmp(text_in(".work" RT_STAGING "/last"), "new"),
                      "%s: the new file is lost", fault);
    if (code > 0) {
        ck_assert_msg(code == RT_IO, "%s: code %d", fault, code);
        ck_assert_msg(strstr(text_in("message"), scratch), "%s: no path in: %s", fault,
                      text_in("message"));
        const bool named = strstr(text_in("message"), "the folder of");
        ck_assert_msg(all_old || moving || named || folder, "%s: %s", fault, text_in("message"));
        if (!folder && !may_leave)
            ck_assert_msg(!exists(in_work("last.tmp")), "%s: a temporary file is left", fault);
    }
}

static void begin_again(int number)
{
    remove_scratch();
    make_work();
    acts[number].make();
}

static const char *const kinds[] = {SHIM_KINDS(SHIM_WORD)};
static const char *const ways[] = {"EIO", "kill", "half", "full", "after"};
enum { FULL = 3, FAST_WAYS = 3 };

/* Returns the number of faults. A row is a way and an act. */
static int each_call(int row)
{
    const int number = row % ROWS(acts), way = row / ROWS(acts);
    int faults = 0;
    acts[number].make();
    ck_assert_int_eq(act_with(acts[number].act, NULL), 0);
    const shim_counts whole = counts();
    expect_new(number, "no fault");
    for (int kind = 0; kind < SHIM_COUNT; kind++) {
        if (kind == SHIM_BYTES || kind == SHIM_MEMORY ||
            (!strcmp(ways[way], "half") && kind != SHIM_WRITE))
            continue;
        for (long call = 1; call <= whole.calls[kind]; call++, faults++) {
            const char *fault = lasting("%s %ld %s", kinds[kind], call, ways[way]);
            begin_again(number);
            const int code = act_with(acts[number].act, fault);
            /* of a file that cannot be removed, or not be told from that of another process */
            const bool may_leave = kind == SHIM_UNLINK || (kind == SHIM_FACTS && way == FULL);
            expect_whole(number, fault, code, may_leave);
            expect_ok(acts[number].act()); /* the next writer */
            expect_new(number, fault);
        }
    }
    return faults;
}

TEST_ROWS(a_failing_call_leaves_the_old_files_or_the_new_ones, 0, FAST_WAYS *ROWS(acts))
{
    ck_assert_int_gt(each_call(_i), 0);
}

NIGHTLY_ROWS(a_failing_call_of_the_nightly_set_does_so_too, FAST_WAYS *ROWS(acts),
             ROWS(ways) * ROWS(acts))
{
    ck_assert_int_gt(each_call(_i), 8);
}

TEST_ROWS(an_interrupted_or_short_call_is_taken_up_again, 0, ROWS(acts))
{
    static const char *const harmless[] = {"fsync %ld EINTR", "write %ld short", "write %ld EINTR",
                                           "close %ld EINTR"};
    for (int i = 0; i < ROWS(harmless); i++)
        for (long call = 1; call <= 2; call++) {
            const char *fault = lasting(harmless[i], call);
            begin_again(_i);
            ck_assert_msg(!act_with(acts[_i].act, fault), "%s: %s", fault, text_in("message"));
            expect_new(_i, fault);
        }
}

/* What has its name is on the disk, and so is the name. */
TEST_ROWS(a_file_is_synchronized_before_its_folder, 0, 3)
{
    acts[_i].make();
    ck_assert_int_eq(act_with(acts[_i].act, "fsync 1 kill"), -1);
    ck_assert_int_eq(state_of("last"), acts[_i].make == nothing ? '-' : 'o');
    begin_again(_i);
    ck_assert_int_eq(act_with(acts[_i].act, "fsync 2 kill"), -1);
    ck_assert_int_eq(state_of("last"), 'n');
    begin_again(_i);
    ck_assert_int_eq(act_with(acts[_i].act, "fsync 2 EIO"), RT_IO);
    ck_assert_ptr_nonnull(strstr(text_in("message"), "cannot synchronise the folder of"));
    begin_again(_i);
    ck_assert_int_eq(act_with(acts[_i].act, NULL), 0);
    ck_assert_int_eq(counts().calls[SHIM_FSYNC], 2);
}

TEST(the_first_of_two_writers_fails)
{
    rt_durable_file first, second;
    const char *path = in_work("last");
    expect_ok(rt_durable_open(&first, path));
    expect_ok(rt_durable_open(&second, path));
    is_status(rt_durable_close(&first, rt_ok()), RT_IO,
              lasting("cannot write %s: another process writes it, too", path));
    expect_ok(rt_durable_close(&second, rt_durable_write(&second, "new", 3)));
    expect_new(0, "two writers");
}

/* The renames of two files, of the staging folder, and of the two folders in one call. */
TEST(files_are_moved_if_the_folders_cannot_be_exchanged)
{
    static const char *const faults[] = {"rename 3 EIO", "rename 4 EIO"};
    for (int i = 0; i < ROWS(faults); i++) {
        begin_again(4);
        ck_assert_msg(!act_with(write_folder, faults[i]), "%s", text_in("message"));
        ck_assert_int_eq(counts().calls[SHIM_FSYNC], 2 * 2 + 1); /* and the folder */
        expect_new(4, faults[i]);
    }
}

TEST(a_call_that_fails_is_not_taken_for_another_process)
{
    ck_assert_int_eq(act_with(write_file, "facts 3 EIO"), RT_IO);
    const char *expected = lasting("cannot find %s.tmp: Input/output error", in_work("last"));
    ck_assert_str_eq(text_in("message"), expected);
}

static rt_status open_alone(void)
{
    rt_durable_file file;
    const rt_status status = rt_durable_open(&file, in_work("last"));
    return status.code && file.descriptor < 0 ? status : rt_error(RT_ARGUMENT, "it is open");
}

TEST(a_file_that_cannot_be_opened_leaves_nothing_without_a_close)
{
    ck_assert_int_eq(act_with(open_alone, "facts 2 EIO"), RT_IO);
    ck_assert_int_eq(entries(in_scratch("work")), 0);
}

TEST(an_error_before_the_end_leaves_the_old_file)
{
    rt_durable_file file;
    make_old("last");
    expect_ok(rt_durable_open(&file, in_work("last")));
    expect_ok(rt_durable_write(&file, "new", 3));
    is_status(rt_durable_close(&file, rt_error(RT_DATA, "too bad")), RT_DATA, "too bad");
    ck_assert_int_eq(state_of("last"), 'o');
    ck_assert_int_eq(entries(in_scratch("work")), 1);
}

/* The folder of someone else may have a link under the name. */
TEST(a_link_is_followed_by_open_alone)
{
    const char *link = in_work("last"), *target = in_scratch("target");
    ck_assert(!mkfifo(target, 0666) && !symlink(target, link));
    char *text = strcpy(rt_alloc(4, 1), "new");
    expect_ok(rt_durable_write_and_free(in_scratch("work"), "last", text));
    ck_assert(!remove(target));
    expect_new(0, "a link to a pipe");
    expect_ok(write_pieces("/dev/null"));
}

TEST(a_path_that_is_too_long_is_refused)
{
    rt_durable_file file;
    const char *path = lasting("%0*d", RT_PATH_SIZE, 0);
    ck_assert_int_eq(rt_durable_close(&file, rt_durable_open(&file, path)).code, RT_IO);
    char *text = strcpy(rt_alloc(4, 1), "new");
    ck_assert_int_eq(rt_durable_write_and_free(path, "last", text).code, RT_CONFIG);
    ck_assert_int_eq(rt_durable_write_and_free(in_scratch("work"), "last", NULL).code, RT_MEMORY);
}

TEST(a_folder_in_the_place_of_a_file_is_an_obstacle)
{
    ck_assert(!mkdir(in_work("a"), 0777));
    const rt_status status = write_folder();
    is_status(status, RT_IO, lasting("cannot replace %s: Is a directory", in_work("a")));
    ck_assert_int_eq(entries(in_scratch("work")), 1);
}

/* As of a folder that others may read: the new one is as open or closed as the old one. */
TEST(a_new_folder_has_the_permissions_of_the_old_one)
{
    struct stat facts;
    ck_assert(!chmod(in_scratch("work"), 0750));
    expect_ok(write_folder());
    ck_assert(!stat(in_scratch("work"), &facts));
    ck_assert_int_eq(facts.st_mode & 07777, 0750);
}

TEST(a_folder_that_was_made_is_removed_after_an_error)
{
    rt_durable_folder folder;
    ck_assert(!rmdir(in_scratch("work")));
    expect_ok(rt_durable_folder_open(&folder, in_scratch("work"), names));
    is_status(rt_durable_folder_close(&folder, rt_error(RT_DATA, "too bad")), RT_DATA, "too bad");
    ck_assert(!exists(in_scratch("work")));
}

TEST(a_folder_holds_only_its_files_and_remains)
{
    old_folder();
    ck_assert(!mkdir(in_work(RT_STAGING), 0777));
    ck_assert(rt_folder_holds_only(in_scratch("work"), names));
    make_old("mine");
    ck_assert(!rt_folder_holds_only(in_scratch("work"), names));
    ck_assert(!rt_folder_holds_only(in_scratch("nowhere"), names));
}

TEST(a_file_for_results_is_new_or_replaced_on_request)
{
    make_old("a");
    const char *there = in_work("a");
    ck_assert_int_eq(rt_output_check("nowhere", false).code, RT_OK);
    ck_assert_int_eq(rt_output_check("/dev/null", false).code, RT_OK);
    ck_assert_int_eq(rt_output_check(there, true).code, RT_OK);
    is_status(rt_output_check(there, false), RT_CONFIG,
              lasting("%s: the file exists; give --overwrite to replace it", there));
    ck_assert_int_eq(rt_output_check(in_scratch("work"), true).code, RT_CONFIG);
}
