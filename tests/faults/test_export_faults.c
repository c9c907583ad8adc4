/* A model of Hugging Face is exported over another one while every call fails once, or the program
 * is killed at it: the folder holds the older model or the newer one, whole, and the next export
 * goes well. */

#include "faults/faults.h"
#include "suite.h"

#include <unistd.h>

#define STAGING ".rotor-export"

static bool holds(const char *command)
{
    return !system(command);
}

enum { NEWER, ITSELF, OLDER };

static int export(const char *fault, int source)
{
    static const char *const sources[] = {"runs/tiny/checkpoints/step-00000002.h5", "out",
                                          "runs/tiny/checkpoints/step-00000001.h5"};
    return trial_wait(
        trial_start(fault, (const char *const[]){"--checkpoint", sources[source], "--export", "out",
                                                 "--overwrite", NULL}));
}

/* Over the older model. */
static int export_over(const char *fault, int source)
{
    trial_copy("older");
    return export(fault, source);
}

/* The folders older/ and newer/, newer/ for each source. */
static void enter(void)
{
    faults_enter(2, 1);
    trial_copy("straight");
    ck_assert_int_eq(export(NULL, OLDER), 0);
    trial_keep("older");
    ck_assert_int_eq(export(NULL, ITSELF), 0);
    trial_keep("itself");
    ck_assert_int_eq(export_over(NULL, NEWER), 0);
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
    const int code = export(NULL, source);
    ck_assert_msg(!code, "%s: exit code %d of the next export: %s", fault, code, trial_errors());
    ck_assert_msg(source || is_like("newer"), "%s: the next export is another one", fault);
    ck_assert(access("trial/out/" STAGING, F_OK) && access("trial/.out" STAGING, F_OK));
}

/* ---- the folders are exchanged ---- */

static const faulty failing[] = {
    {SHIM_OPEN, "EIO", 0},     {SHIM_WRITE, "full", 1}, {SHIM_FSYNC, "EIO", 0},
    {SHIM_CLOSE, "EIO", 0},    {SHIM_RENAME, "EIO", 0}, {SHIM_RENAME, "EIO", 1},
    {SHIM_MKDIR, "ENOSPC", 0}, {SHIM_UNLINK, "EIO", 0},
};

SUITE(.setup = enter, .teardown = faults_leave, .once = true, .timeout = 300)

static void expect_report(const faulty *f, const char *fault, int code)
{
    ck_assert_msg(trial_failed(), "%s: nothing failed", fault);
    const char *wrong = check_exit(code);
    ck_assert_msg(!wrong || strstr(trial_errors(), "out"), "%s: %s", fault, wrong);
    expect_one_of_both(f->what, fault);
    ck_assert_msg(code || is_like(name_of(f->what)), "%s: exit code 0", fault);
}

TEST_ROWS(a_failing_call_leaves_one_of_both_models, 0, ROWS(failing))
{
    ck_assert_int_gt(trial_each(&failing[_i], export_over, 1, expect_report), 0);
    expect_next_export(failing[_i].what, failing[_i].how);
}

static const faulty deadly[] = {
    {SHIM_OPEN, "kill", 0},    {SHIM_WRITE, "half", 0},   {SHIM_FSYNC, "kill", 0},
    {SHIM_MKDIR, "after", 0},  {SHIM_RENAME, "kill", 0},  {SHIM_RENAME, "after", 0},
    {SHIM_RENAME, "after", 1}, {SHIM_UNLINK, "after", 0},
};

static void expect_kill(const faulty *f, const char *fault, int code)
{
    const bool in_child = code == 4; /* that parses the checkpoint */
    ck_assert_msg(code == 137 || in_child, "%s: exit code %d", fault, code);
    static int kills;
    expect_one_of_both(f->what, fault);
    if (f->kind == SHIM_RENAME || f->kind == SHIM_MKDIR || kills++ % 8 == 4)
        expect_next_export(f->what, fault);
}

TEST_ROWS(a_kill_at_any_call_leaves_one_of_both_models, 0, ROWS(deadly))
{
    ck_assert_int_gt(trial_each(&deadly[_i], export_over, 1, expect_kill), 0);
    expect_next_export(deadly[_i].what, deadly[_i].how);
}

TEST_ROWS(a_file_that_may_not_grow_leaves_the_older_model, 0, 2)
{
    for (long bytes = 100; bytes < 8000; bytes += 1900) {
        trial_copy("older");
        trial_limit(bytes);
        const int code = export(NULL, _i);
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
    ck_assert_int_eq(export(NULL, _i), 1);
    ck_assert_msg(strstr(trial_errors(), "README.md: Is a directory"), "%s", trial_errors());
    ck_assert(holds("diff -r trial/out kept"));
}

/* ---- the files are moved one by one, since there are others in the folder ---- */

static const faulty beside_others[] = {{SHIM_RENAME, "kill", 0},
                                       {SHIM_RENAME, "after", 0},
                                       {SHIM_UNLINK, "after", 0},
                                       {SHIM_FSYNC, "kill", 0}};

static int export_beside(const char *fault, int source)
{
    trial_copy("older");
    ck_assert(holds("mkdir trial/out/notes && echo mine >trial/out/notes/a"));
    return export(fault, source);
}

/* Nobody takes it for a model, and what is to be moved yet is all there. */
static bool is_on_its_way(void)
{
    return access("trial/out/config.json", F_OK) &&
           holds("rm -rf moved && cp -r trial/out moved && mv moved/" STAGING "/* moved && "
                 "diff -r -x " STAGING " -x notes moved newer/out >/dev/null");
}

static void expect_notes(const faulty *f, const char *fault, int code)
{
    (void)f, (void)code;
    ck_assert_msg(is_like("older") || is_like("newer") || is_on_its_way(), "%s: %s", fault,
                  trial_errors());
    ck_assert(holds("grep -q mine trial/out/notes/a"));
}

TEST_ROWS(what_else_is_in_the_folder_stays_and_no_file_is_lost, 0, ROWS(beside_others))
{
    ck_assert_int_eq(export_beside(NULL, 0), 0);
    ck_assert(is_like("newer"));
    ck_assert_int_gt(trial_each(&beside_others[_i], export_beside, 1, expect_notes), 0);
    expect_next_export(0, beside_others[_i].how);
}
