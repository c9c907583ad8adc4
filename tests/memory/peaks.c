/* Compares the memory that `train --check` reports with that of a run, phase by phase.
 *
 *     memory_peaks [NAME ...]
 *
 * Measures the largest resident memory of a process, less that of the same phase of a tiny model,
 * which is the program's own. A step is measured until the first evaluation is due, a checkpoint
 * while it is written, other phases until the program ends. Prints a line for each phase of each
 * configuration. Exit code 1 if one that takes over 100 MB differs by more than 10 %. */

#define _GNU_SOURCE /* wait4 */

#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_SIZE = 1 << 14, RUN_STEPS = 2 };

static const double mega = 1e6, tolerated = 0.1, counts_from = 100;

static char folder[256];
static bool all_good = true;

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

typedef struct configuration {
    const char *name;
    const char *keys; /* with blanks between */
    bool starts;      /* from a checkpoint of its own */
    bool no_export;   /* no format of --export has it */
} configuration;

#define LM    " model.causal=yes data.task=period data.objective=lm"
#define SMALL " run.threads=1 train.batch_size=4"
#define TINY  " model.layers=1 model.dim=16 model.heads=2" SMALL

static const configuration all[] = {
    {.name = "small",
     .keys = "model.layers=2 model.dim=256 model.heads=4 data.vocab=24000 data.length=32" SMALL},
    {.name = "encoder",
     .keys = "model.layers=6 model.dim=512 model.heads=8 data.vocab=1024 data.length=256 "
             "train.batch_size=8 run.threads=1"},
    {.name = "threads",
     .keys = "model.layers=6 model.dim=512 model.heads=8 data.vocab=1024 data.length=256 "
             "train.batch_size=8 train.shards=8 run.threads=4"},
    {.name = "decoder",
     .keys = "model.kind=decoder model.layers=4 model.dim=512 model.heads=8 model.kv_heads=2 "
             "data.vocab=8000 data.length=256 train.batch_size=4 run.threads=2" LM},
    {.name = "vocabulary",
     .keys = "model.layers=2 model.dim=256 model.heads=4 data.vocab=50000 data.length=128 "
             "data.task=period data.objective=mlm train.batch_size=8 run.threads=2"},
    {.name = "wide",
     .keys = "model.layers=2 model.dim=2048 model.heads=16 data.vocab=1000 data.length=64" SMALL},
    {.name = "deep",
     .keys = "model.layers=64 model.dim=192 model.heads=4 data.vocab=100 data.length=64 "
             "model.dropout=0.1 train.batch_size=8 run.threads=1"},
    {.name = "long",
     .keys = "model.layers=2 model.dim=128 model.heads=4 data.vocab=100 data.length=8192 "
             "theta.learn=yes train.batch_size=2 run.threads=1" LM},
    {.name = "content",
     .keys = "model.layers=2 model.dim=256 model.heads=4 data.vocab=100 data.length=2048 "
             "position.kind=selective position.forget=gate train.batch_size=4 run.threads=1" LM,
     .no_export = true},
    {.name = "polar",
     .keys = "model.layers=2 model.dim=256 model.heads=4 data.vocab=100 data.length=2048 "
             "position.kind=pope theta.learn=yes train.batch_size=4 run.threads=1" LM,
     .no_export = true},
    {.name = "linear",
     .keys = "model.layers=4 model.dim=128 model.heads=4 model.attention=linear_elu "
             "data.vocab=100 data.length=4096 train.batch_size=2 run.threads=2 "
             "train.eval_lengths=8192",
     .no_export = true},
    {.name = "sinusoidal",
     .keys = "model.layers=4 model.dim=512 model.heads=8 position.kind=sinusoidal model.norm=pre "
             "model.ffn=geglu data.vocab=4000 data.length=256 train.batch_size=4 run.threads=1",
     .no_export = true},
    {.name = "onednn",
     .keys = "run.engine=onednn model.layers=6 model.dim=512 model.heads=8 data.vocab=8000 "
             "data.length=256 train.batch_size=8 run.threads=2"},
    {.name = "bf16",
     .keys = "run.engine=onednn run.math=bf16 model.layers=6 model.dim=512 model.heads=8 "
             "data.vocab=8000 data.length=256 train.batch_size=8 run.threads=2"},
    {.name = "init_from",
     .starts = true,
     .keys = "model.layers=4 model.dim=768 model.heads=12 data.vocab=8000 data.length=64" SMALL},
    {.name = "images",
     .keys = "data.task=images data.file=made-images-idx3-ubyte data.size=64 data.patch=16" TINY,
     .no_export = true},
    {.name = "text", .keys = "data.task=text data.file=made.txt data.length=64" TINY},
};
enum { CONFIGURATIONS = sizeof all / sizeof *all };

/* Makes the configuration of a model that takes nearly no memory, for the same program, libraries
 * and threads: the section run of the keys, and other keys in place of the rest. */
static void make_least(char least[TEXT_SIZE], const char *keys)
{
    int length = snprintf(least, TEXT_SIZE,
                          "model.layers=1 model.dim=8 model.heads=1 data.vocab=20 data.length=16 "
                          "train.batch_size=8 train.shards=8");
    for (const char *at = keys; (at = strstr(at, "run.")); at++)
        length += snprintf(least + length, (size_t)(TEXT_SIZE - length), " %.*s",
                           (int)strcspn(at, " "), at);
}

/* Starts `train` with arguments for a shell; its output goes to a file. */
static __attribute__((format(printf, 1, 2))) pid_t start(const char *format, ...)
{
    static char command[2 * TEXT_SIZE] = "exec " TEST_TRAIN " >output 2>&1 ";
    const size_t length = strlen("exec " TEST_TRAIN " >output 2>&1 ");
    va_list list;
    va_start(list, format);
    vsnprintf(command + length, sizeof command - length, format, list);
    va_end(list);
    fflush(stdout);
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child)
        return child;
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static void read_output(char text[TEXT_SIZE], const char *name)
{
    FILE *from = fopen(name, "r");
    text[from ? fread(text, 1, TEXT_SIZE - 1, from) : 0] = '\0';
    if (from)
        fclose(from);
}

/* A run that does not end well measures nothing. */
static _Noreturn void fail(int code)
{
    char text[TEXT_SIZE];
    read_output(text, "output");
    fprintf(stderr, "memory_peaks: code %d: %s\n", code, text);
    exit(EXIT_FAILURE);
}

/* Returns the largest resident memory in MB of a process, or of a child of it. The process must
 * succeed. */
static double peak_of(pid_t child)
{
    struct rusage used;
    int how;
    must(wait4(child, &how, 0, &used) == child, "wait4");
    if (how)
        fail(WIFEXITED(how) ? WEXITSTATUS(how) : -how);
    return (double)used.ru_maxrss * 1024 / mega;
}

/* A field of a file of /proc in bytes, as MB. */
static double field_of(pid_t process, const char *file, const char *name)
{
    char path[64], line[256];
    double kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, file);
    FILE *from = fopen(path, "r");
    while (from && fgets(line, sizeof line, from))
        if (!strncmp(line, name, strlen(name)))
            kilobytes = strtod(line + strlen(name), NULL);
    if (from)
        fclose(from);
    return kilobytes * 1024 / mega;
}

static bool has_row(const char *path, const char *beginning)
{
    char text[TEXT_SIZE];
    read_output(text, path);
    return strstr(text, beginning) != NULL;
}

static bool is_writing(const char *pattern)
{
    glob_t found = {0};
    const bool any = !glob(pattern, 0, NULL, &found);
    globfree(&found);
    return any;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* The peak of steps alone, of which none is the last. */
static double measure_step(const char *keys)
{
    int code;
    unlink("runs/step/metrics.csv"); /* of the configuration before */
    const pid_t child = start("base.ini --quiet --overwrite run.name=step train.steps=1000000 "
                              "train.eval_every=1000000 train.checkpoint_every=1000000 %s",
                              keys);
    while (!has_row("runs/step/metrics.csv", "\n3,")) {
        if (waitpid(child, &code, WNOHANG))
            fail(code);
        wait_a_little();
    }
    const double peak = field_of(child, "status", "VmHWM:");
    kill(child, SIGKILL);
    waitpid(child, &code, 0);
    return peak;
}

enum { STEP, RUN, CHECKPOINT, RESUME, EVAL, EXPORT, PHASES };
static const char *const phases[PHASES] = {"step",     "run",    "checkpoint",
                                           "--resume", "--eval", "--export"};

/* Peaks in MB. */
typedef struct peaks {
    double of[PHASES];
} peaks;

/* Measures a run from its first step to its end, and its resident memory while it writes. */
static void measure_run(const char *keys, peaks *p)
{
    int code = 0;
    struct rusage used;
    const pid_t child =
        start("base.ini --quiet --overwrite run.name=run train.steps=%d %s", RUN_STEPS, keys);
    while (wait4(child, &code, WNOHANG, &used) == 0) {
        const double now =
            is_writing("runs/run/checkpoints/*.tmp*") ? field_of(child, "status", "VmRSS:") : 0;
        p->of[CHECKPOINT] = fmax(p->of[CHECKPOINT], now);
        wait_a_little();
    }
    if (code)
        fail(code);
    p->of[RUN] = (double)used.ru_maxrss * 1024 / mega;
}

static peaks measure(const char *keys, bool exports)
{
    peaks p = {.of = {[STEP] = measure_step(keys), [EXPORT] = (double)NAN}};
    measure_run(keys, &p);
    p.of[EVAL] = peak_of(start("runs/run/config.ini --quiet --eval"));
    if (exports)
        p.of[EXPORT] = peak_of(start("runs/run/config.ini --quiet --export exported --overwrite"));
    p.of[RESUME] =
        peak_of(start("base.ini --quiet --resume run.name=run train.steps=%d %s", RUN_STEPS, keys));
    return p;
}

static double number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at ? strtod(at + strlen(word), NULL) : (double)NAN;
}

static peaks estimate(const char *keys)
{
    char text[TEXT_SIZE];
    peak_of(start("base.ini --quiet --check run.name=checked %s", keys));
    read_output(text, "output");
    peaks p = {.of = {[STEP] = number_after(text, " step "),
                      [CHECKPOINT] = number_after(text, " checkpoint "),
                      [RESUME] = number_after(text, " --resume "),
                      [EVAL] = number_after(text, " --eval "),
                      [EXPORT] = number_after(text, " --export ")}};
    p.of[RUN] = fmax(fmax(p.of[STEP], number_after(text, " evaluation ")), p.of[CHECKPOINT]);
    p.of[RESUME] = fmax(p.of[RESUME], p.of[EVAL]); /* the run has ended: it is evaluated again */
    return p;
}

static void print_row(const char *name, const char *phase, double estimated, double peak,
                      double own)
{
    const double measured = peak - own, ratio = estimated / measured;
    const bool good = measured < counts_from || fabs(ratio - 1) <= tolerated;
    printf("| %-10s | %-10s | %8.0f | %8.0f | %5.2f |%s\n", name, phase, estimated, measured, ratio,
           good ? "" : " <- more than 10 %");
    fflush(stdout);
    all_good &= good;
}

static void try(const configuration *of)
{
    int how;
    char keys[TEXT_SIZE], least[TEXT_SIZE];
    snprintf(keys, sizeof keys, "%s", of->keys);
    const pid_t check = start("base.ini --quiet --check run.name=checked %s", keys);
    must(waitpid(check, &how, 0) == check, "waitpid");
    if (how) { /* the build or the processor lacks the engine that the keys name */
        printf("SKIP memory_peaks: %s needs oneDNN and a processor with what it asks for\n",
               of->name);
        return;
    }
    if (of->starts) {
        peak_of(start("base.ini --quiet --overwrite run.name=first train.steps=1 %s", keys));
        snprintf(keys, sizeof keys, "%s train.init_from=%s/runs/first/checkpoints/step-00000001.h5",
                 of->keys, folder);
    }
    make_least(least, of->keys);
    const peaks e = estimate(keys), m = measure(keys, !of->no_export), own = measure(least, true);
    for (int i = 0; i < PHASES; i++)
        if (!isnan(m.of[i]))
            print_row(of->name, phases[i], e.of[i], m.of[i], own.of[i]);
}

/* Writes files of data of over 100 MB in memory. */
static void make_data(void)
{
    enum { IMAGES = 30000, PIXELS = 64 * 64, LABELS = 2, LINES = 900000 };
    static unsigned char image[PIXELS], label[LABELS] = {0, 1};
    static const unsigned char head[] = {0, 0, 8, 3,  0, 0, IMAGES >> 8, IMAGES & 255,
                                         0, 0, 0, 64, 0, 0, 0,           64};
    static const unsigned char labels_head[] = {0, 0, 8, 1, 0, 0, IMAGES >> 8, IMAGES & 255};
    FILE *images = fopen("made-images-idx3-ubyte", "w");
    FILE *labels = fopen("made-labels-idx1-ubyte", "w"), *text = fopen("made.txt", "w");
    must(images && labels && text, "a file of data");
    fwrite(head, sizeof head, 1, images);
    fwrite(labels_head, sizeof labels_head, 1, labels);
    for (int i = 0; i < IMAGES; i++) {
        fwrite(image, sizeof image, 1, images);
        fwrite(&label[i % LABELS], 1, 1, labels);
    }
    for (int i = 0; i < LINES; i++)
        fprintf(text, "line %d of a text that is read into memory, with some words more\n", i);
    must(!fclose(images) && !fclose(labels) && !fclose(text), "a file of data");
}

static void enter(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/rotor-memory-XXXXXX", temporary ? temporary : "/tmp");
    must(mkdtemp(folder) != NULL, folder);
    must(!chdir(folder), folder);
    must(!setenv("ROTOR_NO_REPORT", "1", 1), "setenv");
    FILE *to = fopen("base.ini", "w");
    must(to != NULL, "base.ini");
    fprintf(to, "[run]\nlog_every = 1\n[train]\nsteps = 2\neval_batches = "
                "2\n[optimizer]\nwarmup_steps = 0\n");
    must(!fclose(to), "base.ini");
    make_data();
}

static void leave(void)
{
    char remove[300];
    must(!chdir("/"), "/");
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    must(!system(remove), remove);
}

int main(int argc, char **argv)
{
    enter();
    printf("| %-10s | %-10s | %8s | %8s | %5s |\n|---|---|---|---|---|\n", "run", "phase",
           "estimate", "measured", "ratio");
    for (int i = 0; i < CONFIGURATIONS; i++) {
        bool asked = argc < 2;
        for (int k = 1; k < argc; k++)
            asked |= !strcmp(argv[k], all[i].name);
        if (asked)
            try(all + i);
    }
    leave();
    return all_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
