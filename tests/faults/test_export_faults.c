/* A model of Hugging Face is exported over another one while every call fails once, or the program
 * is killed at it: the folder holds the older model or the newer one, whole, and the next export
 * goes well. */

#include "faults/faults.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OLDER   "--checkpoint", "runs/tiny/checkpoints/step-00000001.h5"
#define NEWER   "--checkpoint", "runs/tiny/checkpoints/step-00000002.h5"
#define ITSELF  "--checkpoint", "out"
#define STAGING ".rotor-export"

static bool holds(const char *command)
{
    return !system(command);
}

static int export(const char *fault, const char *const *source)
{
    return trial_wait(trial_start(fault, (const char *const[]){source[0], source[1], "--export",
                                                               "out", "--overwrite", NULL}));
}

static const char *const sources[][2] = {{NEWER}, {ITSELF}};

/* The folders older/ and newer/, newer/ for each source. */
static void enter(void)
{
    static const char *const older[] = {OLDER};
    faults_enter(2, 1);
    trial_copy("straight");
    ck_assert_int_eq(export(NULL, older), 0);
    trial_keep("older");
    ck_assert_int_eq(export(NULL, sources[1]), 0);
    trial_keep("itself");
    trial_copy("older");
    ck_assert_int_eq(export(NULL, sources[0]), 0);
    trial_keep("newer");
    ck_assert(!holds("diff -r older/out newer/out >/dev/null"));
}

/* But for the card, which tells less of a run whose tables cannot be read. */
static bool is_like(const char *other)
{
    char command[256];
    snprintf(command, sizeof command,
             "diff -r -x " STAGING " -x notes -x README.md trial/out '%s/out' >/dev/null 2>&1",
             other);
    return !access("trial/out/README.md", F_OK) && holds(command);
}

static const char *name_of(int source)
{
    return source ? "itself" : "newer";
}

static void expect_one_of_both(int source, const char *fault)
{
    ck_assert_msg(is_like("older") || is_like(name_of(source)),
                  "%s: the folder holds neither model: %s", fault, trial_errors());
}

/* Nothing is left of the export before it. */
static void expect_next_export(int source, const char *fault)
{
    if (source && access("trial/out/config.json", F_OK))
        source = 0; /* there is nothing to export again */
    const int code = export(NULL, sources[source]);
    ck_assert_msg(!code, "%s: exit code %d of the next export: %s", fault, code, trial_errors());
    ck_assert_msg(source || is_like("newer"), "%s: the next export is another one", fault);
    ck_assert(access("trial/out/" STAGING, F_OK) && access("trial/.out" STAGING, F_OK));
}

typedef struct row {
    const char *kind;
    const char *how;
    shim_kind counter;
    int source;
} row;

static long calls_of(const row *r)
{
    char none[32];
    snprintf(none, sizeof none, "%s 0 EIO", r->kind);
    trial_copy("older");
    ck_assert_int_eq(export(none, sources[r->source]), 0);
    const long calls = trial_calls(r->counter);
    ck_assert_int_gt(calls, 0);
    return calls;
}

/* The export of a row over the older model, with its n-th call failing; `fault` gets its name. */
enum { FAULT_SIZE = 32 };
static int export_failing(const row *r, long n, char fault[FAULT_SIZE])
{
    snprintf(fault, FAULT_SIZE, "%s %ld %s", r->kind, n, r->how);
    trial_copy("older");
    return export(fault, sources[r->source]);
}

/* ---- the folders are exchanged ---- */

static const row failing[] = {
    {"open", "EIO", SHIM_OPEN, 0},      {"write", "full", SHIM_WRITE, 1},
    {"fsync", "EIO", SHIM_FSYNC, 0},    {"close", "EIO", SHIM_CLOSE, 0},
    {"rename", "EIO", SHIM_RENAME, 0},  {"rename", "EIO", SHIM_RENAME, 1},
    {"mkdir", "ENOSPC", SHIM_MKDIR, 0}, {"unlink", "EIO", SHIM_UNLINK, 0},
};

SUITE(.setup = enter, .teardown = faults_leave, .once = true, .timeout = 300)

TEST_ROWS(a_failing_call_leaves_one_of_both_models, 0, ROWS(failing))
{
    const row *r = &failing[_i];
    const long calls = calls_of(r);
    for (long n = 1; n <= calls; n++) {
        char fault[FAULT_SIZE];
        const int code = export_failing(r, n, fault);
        ck_assert_msg(trial_failed(), "%s: nothing failed", fault);
        const char *wrong = check_exit(code);
        ck_assert_msg(!wrong || strstr(trial_errors(), "out"), "%s: %s", fault, wrong);
        expect_one_of_both(r->source, fault);
        ck_assert_msg(code || is_like(name_of(r->source)), "%s: exit code 0", fault);
    }
    expect_next_export(r->source, r->kind);
}

static const row deadly[] = {
    {"open", "kill", SHIM_OPEN, 0},      {"write", "half", SHIM_WRITE, 0},
    {"fsync", "kill", SHIM_FSYNC, 0},    {"mkdir", "after", SHIM_MKDIR, 0},
    {"rename", "kill", SHIM_RENAME, 0},  {"rename", "after", SHIM_RENAME, 0},
    {"rename", "after", SHIM_RENAME, 1}, {"unlink", "after", SHIM_UNLINK, 0},
};

TEST_ROWS(a_kill_at_any_call_leaves_one_of_both_models, 0, ROWS(deadly))
{
    const row *r = &deadly[_i];
    const long calls = calls_of(r);
    for (long n = 1; n <= calls; n++) {
        char fault[FAULT_SIZE];
        const int code = export_failing(r, n, fault);
        const bool in_child = code == 4; /* that parses the checkpoint */
        ck_assert_msg(code == 137 || in_child, "%s: exit code %d", fault, code);
        expect_one_of_both(r->source, fault);
        if (r->counter == SHIM_RENAME || r->counter == SHIM_MKDIR || n == calls / 2)
            expect_next_export(r->source, fault);
    }
}

TEST_ROWS(a_file_that_may_not_grow_leaves_the_older_model, 0, 2)
{
    for (long bytes = 100; bytes < 8000; bytes += 1900) {
        trial_copy("older");
        trial_limit(bytes);
        const int code = export(NULL, sources[_i]);
        trial_limit(0);
        ck_assert_int_ne(code, 0);
        ck_assert_msg(is_like("older"), "%ld bytes", bytes);
        expect_next_export(_i, "ulimit -f");
    }
}

TEST_ROWS(a_folder_in_the_place_of_a_file_leaves_the_older_model, 0, 2)
{
    trial_copy("older");
    ck_assert(holds("rm trial/out/README.md && mkdir trial/out/README.md && "
                    "touch trial/out/README.md/mine && rm -rf kept && cp -r trial/out kept"));
    ck_assert_int_eq(export(NULL, sources[_i]), 1);
    ck_assert_msg(strstr(trial_errors(), "README.md: Is a directory"), "%s", trial_errors());
    ck_assert(holds("diff -r trial/out kept"));
}

/* ---- the files are moved one by one, since there are others in the folder ---- */

static const row beside_others[] = {
    {"rename", "kill", SHIM_RENAME, 0},
    {"rename", "after", SHIM_RENAME, 0},
    {"unlink", "after", SHIM_UNLINK, 0},
    {"fsync", "kill", SHIM_FSYNC, 0},

};

/* Nobody takes it for a model, and what is to be moved yet is all there. */
static bool is_on_its_way(void)
{
    return access("trial/out/config.json", F_OK) &&
           holds("rm -rf moved && cp -r trial/out moved && mv moved/" STAGING "/* moved && "
                 "diff -r -x " STAGING " -x notes moved newer/out >/dev/null");
}

TEST_ROWS(what_else_is_in_the_folder_stays_and_no_file_is_lost, 0, ROWS(beside_others))
{
    const row *r = &beside_others[_i];
    long calls = 0;
    for (long n = 0; n <= calls; n++) {
        char fault[32];
        snprintf(fault, sizeof fault, "%s %ld %s", r->kind, n, r->how);
        trial_copy("older");
        ck_assert(holds("mkdir trial/out/notes && echo mine >trial/out/notes/a"));
        const int code = export(fault, sources[r->source]);
        ck_assert_msg(n || (!code && is_like("newer")), "exit code %d: %s", code, trial_errors());
        if (!n)
            calls = trial_calls(r->counter);
        ck_assert_msg(is_like("older") || is_like("newer") || is_on_its_way(), "%s of %ld: %s",
                      fault, calls, trial_errors());
        ck_assert(holds("grep -q mine trial/out/notes/a"));
    }
    expect_next_export(r->source, r->kind);
}
