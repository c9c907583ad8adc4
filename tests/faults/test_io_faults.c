/* Every call of `train` for its files fails once: the program says so and ends as the manual
 * says, and what it had saved is there and is gone on from. */

#include "faults/faults.h"
#include "suite.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 3, EVERY = 1 };

static void enter(void)
{
    faults_enter(STEPS, EVERY);
    trial_empty();
    ck_assert_int_eq(trial_run(NULL, "train.steps=1"), 0);
    trial_keep("half");
}

typedef struct row {
    const char *kind;
    const char *how;
    shim_kind counter;
    bool resumed; /* the run that it happens to goes on from the middle */
} row;

static const row failing[] = {
    {"open", "EIO", SHIM_OPEN, false},      {"open", "EIO", SHIM_OPEN, true},
    {"read", "EIO", SHIM_READ, false},      {"read", "EIO", SHIM_READ, true},
    {"write", "ENOSPC", SHIM_WRITE, false}, {"write", "EIO", SHIM_WRITE, true},
    {"write", "full", SHIM_WRITE, false},   {"fsync", "EIO", SHIM_FSYNC, false},
    {"fsync", "full", SHIM_FSYNC, false},   {"rename", "EIO", SHIM_RENAME, false},
    {"rename", "EIO", SHIM_RENAME, true},   {"rename", "full", SHIM_RENAME, false},
    {"close", "EIO", SHIM_CLOSE, false},    {"close", "EIO", SHIM_CLOSE, true},
    {"mkdir", "ENOSPC", SHIM_MKDIR, false}, {"unlink", "EIO", SHIM_UNLINK, false},
};

/* A training, or its second half. */
static int train(const row *r, const char *fault)
{
    if (r->resumed)
        trial_copy("half");
    else
        trial_empty();
    return trial_run(fault, r->resumed ? "--resume" : NULL);
}

static long calls_of(const row *r)
{
    char none[32];
    snprintf(none, sizeof none, "%s 0 EIO", r->kind);
    ck_assert_int_eq(train(r, none), 0);
    return trial_calls(r->counter);
}

SUITE(.setup = enter, .teardown = faults_leave, .timeout = 300)

TEST_ROWS(a_failing_call_is_reported_and_loses_nothing, 0, ROWS(failing))
{
    const row *r = &failing[_i];
    const long calls = calls_of(r);
    ck_assert_int_gt(calls, 0);
    for (long n = 1; n <= calls; n++) {
        char fault[32];
        long step;
        snprintf(fault, sizeof fault, "%s %ld %s", r->kind, n, r->how);
        const int code = train(r, fault);
        ck_assert_msg(trial_failed(), "%s: nothing failed", fault);
        const char *wrong = check_exit(code);
        if (!wrong)
            wrong = check_checkpoints(&step, false);
        if (!wrong)
            wrong = r->resumed && step < 1 ? "the checkpoint that was there is gone" : NULL;
        if (!wrong)
            wrong = check_resume();
        ck_assert_msg(!wrong, "%s of %ld%s: %s", fault, calls, r->resumed ? ", resumed" : "",
                      wrong);
    }
}

/* The tables that grow have their names before their rows. */
TEST(what_is_written_once_is_on_the_disk_before_it_has_its_name)
{
    enum { TABLES = 3 };
    trial_empty();
    ck_assert_int_eq(trial_run("fsync 0 EIO", NULL), 0);
    const long names = trial_calls(SHIM_RENAME) - TABLES;
    ck_assert_int_gt(names, STEPS);
    ck_assert_int_eq(trial_calls(SHIM_FSYNC), 2 * names); /* the file, and then its folder */
}

static const row harmless[] = {
    {"write", "short", SHIM_WRITE, false},
    {"fsync", "EINTR", SHIM_FSYNC, false},
};

TEST_ROWS(a_call_that_is_interrupted_or_cut_short_is_taken_up_again, 0, ROWS(harmless))
{
    const row *r = &harmless[_i];
    const long calls = calls_of(r);
    for (long n = 1; n <= calls; n++) {
        char fault[32];
        snprintf(fault, sizeof fault, "%s %ld %s", r->kind, n, r->how);
        const int code = train(r, fault);
        ck_assert_msg(!code && !*trial_errors(), "%s: exit code %d, %s", fault, code,
                      trial_errors());
        const char *wrong = check_resume();
        ck_assert_msg(!wrong, "%s of %ld: %s", fault, calls, wrong);
    }
}

static const row deadly[] = {
    {"write", "half", SHIM_WRITE, false},
    {"rename", "kill", SHIM_RENAME, false},
    {"rename", "after", SHIM_RENAME, false},
    {"unlink", "after", SHIM_UNLINK, false},
};

TEST_ROWS(a_kill_at_any_call_loses_nothing, 0, ROWS(deadly))
{
    const row *r = &deadly[_i];
    const long calls = calls_of(r);
    for (long n = 1; n <= calls; n++) {
        char fault[32];
        long step;
        snprintf(fault, sizeof fault, "%s %ld %s", r->kind, n, r->how);
        const int code = train(r, fault);
        ck_assert_msg(code == 137, "%s: exit code %d", fault, code);
        const char *wrong = check_checkpoints(&step, true);
        if (!wrong)
            wrong = check_resume();
        ck_assert_msg(!wrong, "%s of %ld: %s", fault, calls, wrong);
    }
}

/* ---- files of strangers, which are parsed in a child process ---- */

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

static const struct {
    const char *kind;
    const char *how;
    const char *arguments[4];
    shim_kind counter;
    bool harmless;
} apart[] = {
    {"fork", "EIO", {TOKENS}, SHIM_FORK, false},
    {"pipe", "EIO", {TOKENS}, SHIM_PIPE, false},
    {"wait", "EIO", {TOKENS}, SHIM_WAIT, true}, /* what was answered is whole */
    {"wait", "EINTR", {TOKENS}, SHIM_WAIT, true},
    {"open", "EIO", {TOKENS}, SHIM_OPEN, false},
    {"write", "ENOSPC", {TOKENS}, SHIM_WRITE, false},
    {"write", "short", {TOKENS}, SHIM_WRITE, true},
    {"fork", "EIO", {CHECKPOINT}, SHIM_FORK, false},
    {"pipe", "EIO", {CHECKPOINT}, SHIM_PIPE, false},
    {"wait", "EIO", {CHECKPOINT}, SHIM_WAIT, true},
};

static int parse_apart(int i, long n)
{
    char fault[32];
    snprintf(fault, sizeof fault, "%s %ld %s", apart[i].kind, n, apart[i].how);
    trial_copy("half");
    return trial_wait(trial_start(fault, apart[i].arguments));
}

TEST_ROWS(a_failing_call_for_a_child_is_told, 0, ROWS(apart))
{
    write_tokens();
    ck_assert_int_eq(parse_apart(_i, 0), 0);
    const long calls = trial_calls(apart[_i].counter);
    long refused = 0;
    ck_assert_int_gt(calls, 0);
    for (long n = 1; n <= calls; n++) {
        const int code = parse_apart(_i, n);
        /* Limits of memory that cannot be read are none; and there are two places for a temporary
         * file, which is made before its child opens. */
        const bool elsewhere = apart[_i].counter == SHIM_OPEN;
        ck_assert_msg(elsewhere || (code == 0) == apart[_i].harmless,
                      "%s %ld of %ld: exit code %d, %s", apart[_i].kind, n, calls, code,
                      trial_errors());
        refused += code != 0;
        const char *wrong = check_exit(code);
        ck_assert_msg(!wrong || strstr(trial_errors(), "ids.h5") ||
                          strstr(trial_errors(), "step-00000001.h5"),
                      "%s %ld of %ld: %s", apart[_i].kind, n, calls, wrong);
    }
    ck_assert_msg((refused == 0) == apart[_i].harmless, "%ld of %ld calls", refused, calls);
}
