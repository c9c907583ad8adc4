/* Interrupted and short calls of `train` for its files, the order of writes to the disk, and
 * failing calls for a child. Every failing call of a training is in fault_matrix.c. */

#include "faults/faults.h"
#include "suite.h"

#include <hdf5.h>

enum { STEPS = 3 };

static void enter(void)
{
    faults_enter(STEPS, 1);
    trial_empty();
    ck_assert_int_eq(trial_run(NULL, "train.steps=1"), 0);
    trial_keep("half");
}

static const faulty harmless[] = {{SHIM_WRITE, "short", 0},
                                  {SHIM_FSYNC, "EINTR", 0},
                                  {SHIM_LOCK, "EINTR", 0}};

SUITE(.setup = enter, .teardown = faults_leave, .timeout = 300)

static void expect_nothing(const faulty *f, const char *fault, int code)
{
    (void)f;
    ck_assert_msg(!code && !*trial_errors(), "%s: exit code %d, %s", fault, code, trial_errors());
    const char *wrong = check_resume();
    ck_assert_msg(!wrong, "%s: %s", fault, wrong);
}

TEST_ROWS(interrupted_and_short_calls_are_continued, 0, ROWS(harmless))
{
    ck_assert_int_gt(trial_each(&harmless[_i], trial_train, 1, expect_nothing), 0);
}

TEST(a_file_is_synced_before_it_is_renamed)
{
    trial_empty();
    ck_assert_int_eq(trial_run("fsync 0 EIO", NULL), 0);
    const long names = trial_calls(SHIM_RENAME);
    ck_assert_int_gt(names, STEPS);
    ck_assert_int_eq(trial_calls(SHIM_FSYNC), 2 * names); /* the file, and then its folder */
}

static void write_tokens(void)
{
    static const int ids[1000] = {4, 5, 6};
    const hsize_t count = 1000, chunk = 100;
    hid_t file = H5Fcreate("ids.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &count, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    hid_t set = H5Dcreate2(file, "ids", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, ids);
    H5Dclose(set);
    H5Pclose(creation);
    H5Sclose(space);
    ck_assert(H5Fclose(file) >= 0);
}

#define TOKENS     "--check", "data.task=tokens", "data.file=../ids.h5:/ids"
#define CHECKPOINT "--eval", "--checkpoint", "runs/tiny/checkpoints/step-00000001.h5"

enum { OF_TOKENS, OF_CHECKPOINT };

static const struct {
    faulty f;
    bool harmless;
} apart[] = {
    {{SHIM_FORK, "EIO", OF_TOKENS}, false},     {{SHIM_PIPE, "EIO", OF_TOKENS}, false},
    {{SHIM_WAIT, "EIO", OF_TOKENS}, true}, /* what was answered is whole */
    {{SHIM_WAIT, "EINTR", OF_TOKENS}, true},    {{SHIM_OPEN, "EIO", OF_TOKENS}, false},
    {{SHIM_WRITE, "ENOSPC", OF_TOKENS}, false}, {{SHIM_WRITE, "short", OF_TOKENS}, true},
    {{SHIM_FORK, "EIO", OF_CHECKPOINT}, false}, {{SHIM_PIPE, "EIO", OF_CHECKPOINT}, false},
    {{SHIM_WAIT, "EIO", OF_CHECKPOINT}, true},
};

static int parse_apart(const char *fault, int what)
{
    static const char *const arguments[][4] = {{TOKENS}, {CHECKPOINT}};
    trial_copy("half");
    return trial_wait(trial_start(fault, arguments[what]));
}

TEST(a_file_system_without_locks_is_warned_of)
{
    write_tokens();
    ck_assert_int_eq(parse_apart("lock 1 ENOLCK", OF_TOKENS), 0);
    trial_empty();
    ck_assert_int_eq(trial_run("lock 1 ENOLCK", NULL), 0);
    ck_assert_ptr_nonnull(
        strstr(trial_errors(), "runs/tiny cannot be locked (No locks available)"));
    const char *wrong = check_resume();
    ck_assert_msg(!wrong, "%s", wrong);
}

static long refused;

static void expect_stderr(const faulty *f, const char *fault, int code)
{
    (void)f;
    refused += code != 0;
    const char *wrong = check_exit(code);
    ck_assert_msg(!wrong || strstr(trial_errors(), "ids.h5") ||
                      strstr(trial_errors(), "step-00000001.h5"),
                  "%s: %s", fault, wrong);
}

/* Unreadable memory limits count as none. There are two places for a temporary file, created before
 * its child opens files: some failing opens are harmless. */
TEST_ROWS(a_failing_call_of_a_parser_child_is_reported, 0, ROWS(apart))
{
    write_tokens();
    refused = 0;
    const long calls = trial_each(&apart[_i].f, parse_apart, 1, expect_stderr);
    ck_assert_int_gt(calls, 0);
    const bool some = apart[_i].f.kind == SHIM_OPEN && refused > 0;
    ck_assert_msg(some || refused == (apart[_i].harmless ? 0 : calls), "%ld of %ld calls", refused,
                  calls);
}
