/* Injects every kind of fault into trainings many times, and counts losses:
 *
 *     fault_matrix [quick] [kills|points|calls|memory|limits|signals|interrupts|damage|steps|
 *                           disks ...]
 *
 * Prints a table. Lost: a checkpoint is damaged, older than the last acknowledged one, or does not
 * resume to the same files. Crashed: a program ended by an unexpected signal, or with an exit code
 * that the manual does not name. Exit code 1 if there is any, 2 if a name is unknown. */

#define _GNU_SOURCE

#include "faults/faults.h"

#include "core/memory.h"
#include "core/random.h"
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/checksummed.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 12, EVERY = 1, KILLED = 128 + SIGKILL };

static bool quick, all_good = true;
static rt_random random_numbers = {2718, 0, RT_STREAM_CHECK};
static size_t drawn;

static int several(int many, int few)
{
    return quick ? few : many;
}

static long below(long limit)
{
    return (long)rt_random_below(random_numbers, drawn++, (uint32_t)limit);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

typedef struct row {
    const char *fault;
    double start;
    long tries, lost, crashed;
    long missed; /* tries that the fault came too late for, which do not count */
} row;

static row begin(const char *fault)
{
    return (row){.fault = fault, .start = now()};
}

/* Counts a try as lost or as crashed, and prints the first of them. */
static void note(const row *r, long *count, const char *wrong)
{
    if ((*count)++ < 5)
        fprintf(stderr, "%s, try %ld: %s\n", r->fault, r->tries, wrong);
}

#define lose(r, wrong)  note(r, &(r)->lost, wrong)
#define crash(r, wrong) note(r, &(r)->crashed, wrong)

/* Returns whether a fault at a random moment came too late. Gives up on a fault that nearly always
 * does. */
static bool misses(row *r, bool missed)
{
    enum { MOST_MISSED = 1000, MOST_SHARE = 10 };
    r->missed += missed;
    if (r->missed < MOST_MISSED || r->missed < MOST_SHARE * r->tries)
        return missed;
    fprintf(stderr, "%s: came too late for %ld tries, and in time for %ld\n", r->fault, r->missed,
            r->tries);
    exit(EXIT_FAILURE);
}

static void end_row(const row *r)
{
    printf("| %-51s | %6ld | %4ld | %7ld | %5.0f s |\n", r->fault, r->tries, r->lost, r->crashed,
           now() - r->start);
    fflush(stdout);
    all_good = all_good && !r->lost && !r->crashed;
}

/* The checkpoint that a trial goes on from; -1: none. */
static long begun = -1;

/* Checks the invariants of a trial after any fault. */
static void judge(row *r, bool killed)
{
    long step;
    const char *wrong = check_checkpoints(&step, killed);
    if (!wrong && step < begun)
        wrong = "the checkpoint that was there is gone";
    if (!wrong)
        wrong = check_resume();
    if (wrong)
        lose(r, wrong);
}

static void judge_exit(row *r, int code)
{
    const char *wrong = check_exit(code);
    if (wrong)
        crash(r, wrong);
    judge(r, false);
}

static const char *const no_arguments[] = {NULL};

/* A training that is killed and resumed, killed again, and so on until it is through. */
static void random_kills(void)
{
    row r = begin("kill -9 at a random moment");
    const double start = now();
    trial_empty();
    trial_run(NULL, NULL);
    const double longest = 1.2 * (now() - start);
    bool under_way = false;
    while (r.tries < several(1000, 20)) {
        const char *const resume[] = {under_way ? "--resume" : NULL, NULL};
        if (!under_way)
            trial_empty();
        const pid_t process = trial_start(NULL, resume);
        sleep_for(longest * (double)below(1000) / 1000);
        kill(process, SIGKILL);
        const int code = trial_wait(process);
        r.tries += !misses(&r, code != KILLED);
        under_way = code == KILLED && below(3) > 0;
        if (code && code != KILLED)
            crash(&r, trial_errors());
        long step;
        const char *wrong = check_checkpoints(&step, true);
        if (!wrong && !under_way)
            wrong = check_resume();
        if (wrong)
            lose(&r, wrong);
        under_way = under_way && !wrong;
    }
    end_row(&r);
}

static row *current;

static void judge_kill(const faulty *f, const char *fault, int code)
{
    (void)f;
    current->tries++;
    if (code != KILLED)
        crash(current, fault);
    judge(current, true);
}

/* A refusal of memory has no path to name, but a message. */
static void judge_failure(const faulty *f, const char *fault, int code)
{
    current->tries++;
    if (!trial_failed())
        crash(current, fault);
    if (f->kind != SHIM_MEMORY)
        judge_exit(current, code);
    else if (code > 6 || (code && !*trial_errors()))
        crash(current, fault);
    if (f->kind == SHIM_MEMORY)
        judge(current, false);
}

/* Tries each way of failing at every call of the kinds from `first` to `end` - 1, in quick at some.
 * No read is killed, and only a write is cut in half. */
static void every_call(const char *title, const char *const how[3], int first, int end,
                       trial_check *check)
{
    row r = begin(title);
    const bool memory = first == SHIM_MEMORY, kills = check == judge_kill;
    current = &r;
    for (int resumed = 0; resumed < (memory ? 2 : several(2, 1)); resumed++) {
        begun = resumed ? STEPS / 2 : -1;
        for (int kind = first; kind < end; kind++)
            for (int h = 0; h < 3 && how[h]; h++)
                if (!(kills && (kind == SHIM_READ || (kind != SHIM_WRITE && h == 2))))
                    trial_each(&(const faulty){(shim_kind)kind, how[h], resumed}, trial_train,
                               several(1, memory ? 15 : 3), check);
    }
    begun = -1;
    end_row(&r);
}

static void every_kill_point(void)
{
    static const char *const how[3] = {"kill", "after", "half"};
    every_call("kill -9 before, in and after every call", how, quick ? SHIM_RENAME : SHIM_OPEN,
               SHIM_BYTES, judge_kill);
}

static void every_failing_call(void)
{
    const char *const how[3] = {"EIO", quick ? NULL : "full"};
    every_call("every call fails, once or from then on", how, quick ? SHIM_FSYNC : SHIM_OPEN,
               SHIM_BYTES, judge_failure);
}

static void every_refusal_of_memory(void)
{
    static const char *const how[3] = {"ENOMEM"};
    every_call("every request of the heap refused, once", how, SHIM_MEMORY, SHIM_MEMORY + 1,
               judge_failure);
}

/* Mounts a disk for trial/, which needs root or the right to create name spaces. */
static bool mount_disk(long kilobytes, unsigned long flags)
{
    char size[64];
    snprintf(size, sizeof size, "size=%ldk", kilobytes);
    return !mount("rotor", "trial", "tmpfs", flags, size);
}

static void disk_sizes(void)
{
    const int tries = several(64, 8);
    const bool own = geteuid() == 0 && !unshare(CLONE_NEWNS) &&
                     !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    row r = begin(own ? "full disk (tmpfs of 16 kB to 1 MB)" : "full disk (a limit on all bytes)");
    if (!own)
        printf("SKIP full disk: needs the right to mount a tmpfs; a limit takes its place\n");
    for (int i = 1; i <= tries; i++) {
        char fault[64] = "";
        const long kilobytes = 1024L * i / tries;
        trial_empty();
        if (own && !mount_disk(kilobytes, 0)) {
            perror("mount");
            all_good = false;
            return;
        }
        if (!own)
            snprintf(fault, sizeof fault, "bytes %ld full", 4 * 1024 * kilobytes);
        r.tries++;
        const int code = trial_run(own ? NULL : fault, NULL);
        if (own && !mount_disk(16384, MS_REMOUNT))
            lose(&r, "the disk cannot be made larger");
        judge_exit(&r, code);
        if (own)
            umount("trial");
    }
    end_row(&r);
}

static void file_limits(void)
{
    row r = begin("no file larger than 4 kB to 256 kB (ulimit -f)");
    for (int i = 1; i <= several(64, 8); i++) {
        trial_empty();
        trial_limit(262144L * i / several(64, 8));
        const int code = trial_run(NULL, NULL);
        trial_limit(0);
        r.tries++;
        judge_exit(&r, code);
    }
    end_row(&r);
}

/* The step after which it says that it stopped has its checkpoint. */
static void judge_stop(row *r)
{
    long step, newest;
    if (sscanf(trial_errors(), "train: stopped by a signal after step %ld", &step) != 1)
        crash(r, trial_errors());
    else if (!check_checkpoints(&newest, true) && newest != step)
        lose(r, "the step at which it stopped was not saved");
    judge(r, true);
}

/* Starts a training and returns when its run folder exists: from then on it answers a signal. */
static pid_t start_and_await_folder(void)
{
    trial_empty();
    const pid_t process = trial_start(NULL, no_arguments);
    siginfo_t ended = {0};
    while (access("trial/runs/tiny", F_OK) && !ended.si_pid) {
        sleep_for(0.0002);
        waitid(P_PID, (id_t)process, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    return process;
}

/* Sends a signal, and perhaps the same soon after, at a random moment of a training. */
static void interrupt(row r, const int sent[4], long tries, bool twice)
{
    const pid_t first = start_and_await_folder();
    const double start = now();
    trial_wait(first);
    const double longest = now() - start;
    while (r.tries < tries) {
        const int number = sent[r.tries % 4];
        const pid_t process = start_and_await_folder();
        sleep_for(longest * (double)below(1000) / 1000);
        kill(process, number);
        if (twice) {
            sleep_for(longest * (double)below(1000) / 50000);
            kill(process, number);
        }
        const int code = trial_wait(process);
        const bool stopped = code == 75 || (twice && code == 130);
        r.tries += !misses(&r, !stopped);
        if (stopped && twice)
            judge(&r, true);
        else if (stopped)
            judge_stop(&r);
        else if (code == 128 + number)
            crash(&r, "ended by the signal although it had begun");
        else if (code)
            crash(&r, trial_errors());
    }
    end_row(&r);
}

static void signals(void)
{
    static const int sent[4] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    interrupt(begin("SIGINT, SIGTERM, SIGHUP, SIGUSR1 at a random moment"), sent, several(500, 12),
              false);
}

static void two_interrupts(void)
{
    static const int sent[4] = {SIGINT, SIGINT, SIGINT, SIGINT};
    interrupt(begin("SIGINT twice at random moments"), sent, several(100, 6), true);
}

#define CHECKPOINTS "trial/runs/tiny/checkpoints"

/* Returns whether the previous checkpoint is used instead of the newest, with one warning. */
static bool falls_back(long newest)
{
    rt_checkpoint c;
    char path[RT_PATH_SIZE], warnings[RT_MESSAGE_SIZE];
    rt_status status = rt_checkpoint_newest(&c, CHECKPOINTS, RT_PARSE_HERE, path, warnings);
    const int64_t step = c.info.step;
    rt_checkpoint_close(&c);
    return !status.code && step == newest - EVERY && *warnings && !strchr(warnings, '\n');
}

/* Calls `damage` for numbers from 0 in a child process, since it may crash. */
static void damage_all(row *r, long tries, bool (*damage)(long number))
{
    enum { BATCH = 500 };
    for (long first = 0; first < tries; first += BATCH) {
        int status;
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            int lost = 0;
            for (long i = first; i < first + BATCH && i < tries; i++)
                lost += !damage(i);
            _exit(lost > 100 ? 100 : lost);
        }
        waitpid(child, &status, 0);
        r->tries += tries - first < BATCH ? tries - first : BATCH;
        if (!WIFEXITED(status))
            crash(r, "reading it ended the program");
        else if (WEXITSTATUS(status)) {
            r->lost += WEXITSTATUS(status) - 1;
            lose(r, "damage was not found");
        }
    }
}

static unsigned char *whole;
static size_t whole_size;
static char newest_path[256];

static void write_newest(size_t size)
{
    FILE *to = fopen(newest_path, "wb");
    must(to && fwrite(whole, 1, size, to) == size && !fclose(to), newest_path);
}

static bool flip(long number)
{
    const size_t bits = 8 * (number % 4 ? whole_size : RT_CHECKSUM_BLOCK_SIZE);
    const size_t bit = rt_random_below(random_numbers, (size_t)number, (uint32_t)bits);
    whole[bit / 8] ^= (unsigned char)(1 << bit % 8);
    write_newest(whole_size);
    whole[bit / 8] ^= (unsigned char)(1 << bit % 8);
    return falls_back(STEPS);
}

static bool cut(long number)
{
    const uint32_t size = (uint32_t)whole_size;
    write_newest(number < 4096 ? (size_t)number
                               : rt_random_below(random_numbers, (size_t)number, size));
    return falls_back(STEPS);
}

static void damage(void)
{
    snprintf(newest_path, sizeof newest_path, CHECKPOINTS "/step-%08d.h5", STEPS);
    trial_copy("straight");
    must(!rt_checksummed_read(newest_path, &whole, &whole_size).code, newest_path);
    row flips = begin("one bit of the newest checkpoint flipped");
    damage_all(&flips, several(10000, 400), flip);
    end_row(&flips);
    row cuts = begin("the newest checkpoint cut short");
    damage_all(&cuts, several(5000, 400), cut);
    end_row(&cuts);
    write_newest(whole_size);
    rt_free(whole);
}

/* Memory in kB that a process has. */
static long resident(pid_t process)
{
    char path[64];
    long pages = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)process);
    FILE *from = fopen(path, "r");
    if (from && fscanf(from, "%*s %ld", &pages) != 1)
        pages = 0;
    if (from)
        fclose(from);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int descriptors(pid_t process)
{
    char path[64];
    int count = -2; /* . and .. */
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)process);
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* A sanitizer keeps freed memory for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MORE_KILOBYTES = 1 << 20 };
#else
enum { MORE_KILOBYTES = 1 << 10 };
#endif

/* Memory and descriptors after a tenth of the steps and near their end. */
static void long_run(void)
{
    const long steps = several(100000, 4000);
    char number[64];
    row r = begin("steps of one run; memory and descriptors flat");
    trial_empty();
    snprintf(number, sizeof number, "train.steps=%ld", steps);
    const pid_t process =
        trial_start(NULL, (const char *const[]){number, "train.checkpoint_every=100",
                                                "train.eval_every=100", "run.log_every=10", NULL});
    long early = 0, late = 0, at = 0;
    int early_files = 0, late_files = 0, most = 0;
    siginfo_t info = {0};
    while (!waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid) {
        at = last_step("trial/runs/tiny/metrics.csv");
        const long kilobytes = resident(process);
        const int files = descriptors(process);
        if (at >= steps / 10 && !early) {
            early = kilobytes;
            early_files = files;
        }
        if (at < steps && files > 0) {
            late = kilobytes;
            late_files = files;
        }
        most = files > most ? files : most;
        sleep_for(quick ? 0.02 : 0.1);
    }
    const int code = trial_wait(process);
    r.tries = steps;
    if (code)
        crash(&r, trial_errors());
    if (!early || late > early + MORE_KILOBYTES || most > early_files + 2)
        lose(&r, "it grows");
    end_row(&r);
    printf("  resident after a tenth of the steps: %ld kB, near the end: %ld kB; descriptors: %d, "
           "%d, at most %d\n",
           early, late, early_files, late_files, most);
}

static const struct {
    const char *name;
    void (*try)(void);
} faults[] = {
    {"kills", random_kills},
    {"points", every_kill_point},
    {"calls", every_failing_call},
    {"memory", every_refusal_of_memory},
    {"limits", file_limits},
    {"signals", signals},
    {"interrupts", two_interrupts},
    {"damage", damage},
    {"steps", long_run},
    {"disks", disk_sizes},
};

enum { FAULTS = sizeof faults / sizeof *faults };

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    bool asked[FAULTS] = {false};
    for (int i = 1 + quick; i < argc; i++) {
        int fault = 0;
        while (fault < FAULTS && strcmp(argv[i], faults[fault].name) != 0)
            fault++;
        if (fault < FAULTS) {
            asked[fault] = true;
            continue;
        }
        fprintf(stderr, "there is no fault '%s'; there are", argv[i]);
        for (fault = 0; fault < FAULTS; fault++)
            fprintf(stderr, " %s", faults[fault].name);
        fputc('\n', stderr);
        return 2;
    }
    faults_enter(STEPS, EVERY);
    trial_empty();
    if (trial_run(NULL, "train.steps=6"))
        return EXIT_FAILURE;
    trial_keep("half");
    printf("| %-51s | %6s | %4s | %7s | %7s |\n|---|---|---|---|---|\n", "fault", "tries", "lost",
           "crashed", "time");
    for (int i = 0; i < FAULTS; i++)
        if (asked[i] || argc < 2 + quick)
            faults[i].try();
    faults_leave();
    return all_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
