#define _GNU_SOURCE

#include "faults/faults.h"

#include "core/memory.h"
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/checksummed.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECKPOINTS "trial/runs/tiny/checkpoints"

enum { TEXT_SIZE = 1 << 16, COMPLAINT_SIZE = 2048, SECONDS = 300 };

static char folder[256], before[4096], errors[TEXT_SIZE], complaint[COMPLAINT_SIZE];
static int checkpoint_every;
static long largest_file;

#define COMPLAIN(...) (snprintf(complaint, sizeof complaint, __VA_ARGS__), complaint)

void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

static RT_PRINTF(1, 2) void shell(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    must(system(command) == 0, command);
}

static void write_config(int steps, int every)
{
    FILE *to = fopen("tiny.ini", "w");
    must(to != NULL, "tiny.ini");
    fprintf(to,
            "[run]\nthreads = 1\nlog_every = 1\n[model]\nlayers = 1\ndim = 8\nheads = 1\n"
            "[theta]\nlearn = yes\n[data]\nlength = 8\nvocab = 8\n"
            "[optimizer]\nschedule_steps = %d\n[train]\nsteps = %d\n"
            "batch_size = 2\neval_every = %d\neval_batches = 1\ncheckpoint_every = %d\nkeep = 2\n",
            steps, steps, 3 * every, every);
    must(!fclose(to), "tiny.ini");
}

void faults_enter(int steps, int every)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/rotor-faults-XXXXXX", temporary ? temporary : "/tmp");
    must(getcwd(before, sizeof before) && mkdtemp(folder) && !chdir(folder), folder);
    setenv("ROTOR_NO_REPORT", "1", 1);
    checkpoint_every = every;
    write_config(steps, every);
    trial_empty();
    const int code = trial_run(NULL, NULL);
    if (code) {
        fprintf(stderr, "exit code %d of a training that nothing happened to:\n%s\n", code,
                trial_errors());
        exit(EXIT_FAILURE);
    }
    trial_keep("straight");
}

void faults_leave(void)
{
    must(!chdir(before), before);
    shell("rm -rf '%s'", folder);
}

void trial_empty(void)
{
    shell("rm -rf trial/* && mkdir -p trial");
}

void trial_keep(const char *as)
{
    shell("rm -rf '%s' && cp -r trial '%s'", as, as);
}

void trial_copy(const char *from)
{
    shell("rm -rf trial && cp -r '%s' trial", from);
}

enum { MOST_WORDS = 15 };

static void become_train(const char *fault, const char *const *arguments)
{
    /* Under nohup, or behind an &, a trial would inherit that they are ignored. */
    static const int reset[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    const char *all[MOST_WORDS + 1] = {"train"};
    int count = 1;
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
        signal(reset[i], SIG_DFL);
    while (*arguments && count < MOST_WORDS)
        all[count++] = *arguments++;
    const int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const int err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    must(out >= 0 && err >= 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2 && !chdir("trial"), "out");
    if (fault) {
        setenv("ROTOR_FAULT", fault, 1);
        setenv("ROTOR_FAULT_COUNTS", "../counts", 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
        setenv("LD_PRELOAD", TEST_SHIM, 1);
    }
    if (largest_file)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)largest_file, (rlim_t)largest_file});
    alarm(SECONDS); /* one that hangs is ended by this signal */
    execv(TEST_TRAIN, (char *const *)all);
    _exit(127);
}

void trial_limit(long bytes)
{
    largest_file = bytes;
}

pid_t trial_start(const char *fault, const char *const *arguments)
{
    const char *all[MOST_WORDS + 1] = {"../tiny.ini", "--quiet"};
    for (int i = 2; *arguments && i < MOST_WORDS; i++)
        all[i] = *arguments++;
    return trial_command(fault, all);
}

pid_t trial_command(const char *fault, const char *const *arguments)
{
    unlink("counts");
    const pid_t process = fork();
    must(process >= 0, "fork");
    if (process == 0)
        become_train(fault, arguments);
    return process;
}

int trial_wait(pid_t process)
{
    int status;
    must(waitpid(process, &status, 0) == process, "waitpid");
    FILE *from = fopen("err", "r");
    errors[from ? fread(errors, 1, sizeof errors - 1, from) : 0] = '\0';
    if (from)
        fclose(from);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int trial_run(const char *fault, const char *argument)
{
    return trial_wait(trial_start(fault, (const char *const[]){argument, NULL}));
}

long trial_each(const faulty *f, trial_of *run, long stride, trial_check *check)
{
    static const char *const words[] = {SHIM_KINDS(SHIM_WORD)};
    char fault[64];
    snprintf(fault, sizeof fault, "%s 0 EIO", words[f->kind]);
    const int code = run(fault, f->what);
    const long calls = trial_calls(f->kind);
    if (code) {
        fprintf(stderr, "exit code %d where nothing happened:\n%s\n", code, errors);
        exit(EXIT_FAILURE);
    }
    for (long n = 1; n <= calls; n += stride) {
        snprintf(fault, sizeof fault, "%s %ld %s", words[f->kind], n, f->how);
        check(f, fault, run(fault, f->what));
    }
    return calls;
}

int trial_train(const char *fault, int what)
{
    if (what)
        trial_copy("half");
    else
        trial_empty();
    return trial_run(fault, what ? "--resume" : NULL);
}

const char *trial_errors(void)
{
    return errors;
}

static shim_counts read_counts(void)
{
    shim_counts counts = {0};
    FILE *from = fopen("counts", "r");
    must(from && fread(&counts, sizeof counts, 1, from) == 1, "the counts of the shim");
    fclose(from);
    return counts;
}

long trial_calls(shim_kind kind)
{
    const shim_counts counts = read_counts();
    return counts.calls[kind];
}

bool trial_failed(void)
{
    const shim_counts counts = read_counts();
    return counts.failed > 0;
}

const char *check_exit(int code)
{
    if (code < 0 || code > 6 || code == 5) /* not in the manual */
        return COMPLAIN("exit code %d; it printed:\n%.1500s", code, errors);
    if (code && !strstr(errors, "runs") && !strstr(errors, "tiny.ini"))
        return COMPLAIN("exit code %d, and no path in:\n%.1500s", code, errors);
    return NULL;
}

long last_step(const char *path)
{
    char row[1024];
    long last = 0;
    FILE *from = fopen(path, "r");
    while (from && fgets(row, sizeof row, from))
        if (strchr(row, '\n') && atol(row) > last)
            last = atol(row);
    if (from)
        fclose(from);
    return last;
}

static const char *check_each(void)
{
    int64_t *steps;
    int count;
    rt_status status = rt_checkpoint_list(CHECKPOINTS, &steps, &count);
    for (int i = 0; i < count && !status.code; i++) {
        char path[RT_PATH_SIZE];
        unsigned char *bytes = NULL;
        size_t size;
        status = rt_checkpoint_path(path, CHECKPOINTS, steps[i]);
        if (!status.code)
            status = rt_checksummed_read(path, &bytes, &size);
        rt_free(bytes);
    }
    rt_free(steps);
    return status.code ? COMPLAIN("%s", status.message) : NULL;
}

const char *check_checkpoints(long *step, bool killed)
{
    rt_checkpoint c;
    char path[RT_PATH_SIZE], warnings[RT_MESSAGE_SIZE];
    const char *wrong = check_each();
    *step = -1;
    if (wrong)
        return wrong;
    rt_status status = rt_checkpoint_newest(&c, CHECKPOINTS, RT_PARSE_HERE, path, warnings);
    if (!status.code && c.image)
        *step = (long)c.info.step;
    rt_checkpoint_close(&c);
    if (status.code || *warnings)
        return COMPLAIN("%s%s", status.message, warnings);
    const long last = last_step("trial/runs/tiny/metrics.csv");
    const long acknowledged = last > 0 ? (last - 1) / checkpoint_every * checkpoint_every : 0;
    if (killed && acknowledged > 0 && *step < acknowledged)
        return COMPLAIN("the newest checkpoint is of step %ld, that of step %ld is lost", *step,
                        acknowledged);
    return NULL;
}

static const char *check_table(const char *name, bool may_differ)
{
    char command[512];
    snprintf(command, sizeof command, "cmp -s 'straight/runs/tiny/%s' 'trial/runs/tiny/%s'", name,
             name);
    return may_differ || !system(command)
               ? NULL
               : COMPLAIN("%s differs from that of the straight run", name);
}

const char *check_resume(void)
{
    const bool table_failed = strstr(errors, "cannot be written"); /* any of them */
    char last[64];
    const int code = trial_run(NULL, "--resume");
    if (code)
        return COMPLAIN("exit code %d of --resume, which printed:\n%.1500s", code, errors);
    int64_t *steps;
    int count;
    rt_status status = rt_checkpoint_list("straight/runs/tiny/checkpoints", &steps, &count);
    must(!status.code && count, "straight");
    snprintf(last, sizeof last, "checkpoints/step-%08ld.h5", (long)steps[0]);
    rt_free(steps);
    const char *wrong = check_table(last, false);
    if (!wrong)
        wrong = check_table("theta_final.csv", false);
    if (!wrong)
        wrong = check_table("metrics.csv", table_failed);
    return wrong ? wrong : check_table("theta.csv", table_failed);
}
