#define _GNU_SOURCE

#include "torture/torture.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* Limits of a command in seconds: of processor time, whatever the load, and of the clock. */
enum { LIMIT = 40, LIMIT_OF_CLOCK = 600 };

static rt_random randomness(const trial *t)
{
    return (rt_random){t->seed, (uint32_t)t->number, RT_STREAM_CHECK};
}

int draw(trial *t, int n)
{
    return (int)rt_random_below(randomness(t), t->drawn++, (uint32_t)n);
}

bool chance(trial *t, int percent)
{
    return draw(t, 100) < percent;
}

double draw_uniform(trial *t)
{
    return rt_random_uniform(randomness(t), t->drawn++);
}

const char *text_of(const char *format, ...)
{
    char text[RT_FILE_LIST_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text) {
        fprintf(stderr, "torture: a text is too long: %s\n", text);
        exit(TORTURE_STUCK);
    }
    return rt_intern_text(text);
}

void make_folder(const trial *t, const char *name)
{
    const char *path = path_in(t, "%s", name);
    if (mkdir(path, 0777) && errno != EEXIST) {
        perror(path);
        exit(TORTURE_STUCK);
    }
}

bool is_there(const trial *t, const char *name)
{
    return !access(path_in(t, "%s", name), F_OK);
}

void write_text(const char *path, const char *text, size_t size)
{
    FILE *to = fopen(path, "wb");
    if (!to || fwrite(text, 1, size, to) != size || fclose(to)) {
        perror(path);
        exit(TORTURE_STUCK);
    }
}

char *read_text(const char *path, size_t *size)
{
    return rt_read_bytes(path, LONG_MAX, size);
}

/* The number of threads is written down, and enters the checksum of the seal; all else is equal. */
static void mask_threads(char *bytes, size_t size)
{
    static const char setting[] = "\nthreads = ";
    const size_t length = sizeof setting - 1;
    memset(bytes + (size < 24 ? size : 24), 0, size < 32 ? 0 : 8);
    for (size_t i = 0; i + length < size; i++)
        if (!memcmp(bytes + i, setting, length))
            for (size_t k = i + length; k < size && isdigit((unsigned char)bytes[k]); k++)
                bytes[k] = 'N';
}

comparison compare_files(const trial *t, const char *one, const char *other)
{
    size_t size = 0, other_size = 0;
    char *bytes = read_text(path_in(t, "%s", one), &size);
    char *other_bytes = read_text(path_in(t, "%s", other), &other_size);
    comparison c = {.one = bytes, .other = other_bytes};
    if (strstr(one, ".h5") && bytes && other_bytes) {
        mask_threads(bytes, size);
        mask_threads(other_bytes, other_size);
    }
    c.same = c.one && c.other && size == other_size && !memcmp(bytes, other_bytes, size);
    rt_free(bytes);
    rt_free(other_bytes);
    return c;
}

static void read_output(const trial *t, const char *ending, char text[TORTURE_OUTPUT_SIZE])
{
    FILE *from = fopen(path_in(t, "%02d.%s", t->commands, ending), "r");
    text[from ? fread(text, 1, TORTURE_OUTPUT_SIZE - 1, from) : 0] = '\0';
    if (from)
        fclose(from);
}

void find(trial *t, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    size_t size = 0;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    char *commands = t->finds ? NULL : read_text(path_in(t, "commands"), &size); /* once */
    t->finds++;
    printf("FIND in try %ld (%s): %s\n%s    kept in %s; again: scripts/torture --seed %llu --try "
           "%ld\n",
           t->number, t->kind, message, commands ? commands : "", t->folder,
           (unsigned long long)t->seed, t->number);
    fflush(stdout);
    rt_free(commands);
}

void add_word(command *c, const char *word)
{
    int count = 0;
    while (c->words[count])
        count++;
    if (count < TORTURE_WORDS - 1)
        c->words[count] = word;
}

/* Prints a word quoted for the shell. */
static void quote(FILE *to, const char *word)
{
    if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_-=./,:+")]) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[2]){*word, '\0'}, to);
    fputc('\'', to);
}

static void note_command(const trial *t, const command *c)
{
    FILE *to = fopen(path_in(t, "commands"), "a");
    if (!to)
        return;
    fprintf(to, "    (cd %s%s%s &&%s", t->folder, c->folder ? "/" : "", c->folder ? c->folder : "",
            c->reports ? "" : " ROTOR_NO_REPORT=1");
    fprintf(to, " %s", TORTURE_TRAIN);
    for (int i = 0; c->words[i]; i++) {
        fputc(' ', to);
        quote(to, c->words[i]);
    }
    fputc(')', to);
    if (c->signal)
        fprintf(to, " # %s after %.3f s", strsignal(c->signal), c->after);
    fputc('\n', to);
    fclose(to);
}

static void become(const trial *t, const command *c)
{
    const char *words[TORTURE_WORDS + 1] = {TORTURE_TRAIN};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL); /* behind an & they are ignored */
    signal(SIGTERM, SIG_DFL);
    setenv("ASAN_OPTIONS",
           text_of("log_path=%s/sanitizer:exitcode=99:detect_leaks=%d", t->folder,
                   !strcmp(t->kind, "run") || !strcmp(t->kind, "sweep")),
           1);
    setenv("UBSAN_OPTIONS", text_of("log_path=%s/sanitizer:print_stacktrace=1", t->folder), 1);
    if (c->reports)
        unsetenv("ROTOR_NO_REPORT");
    else
        setenv("ROTOR_NO_REPORT", "1", 1);
    const int out = open(path_in(t, "%02d.out", t->commands), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const int err = open(path_in(t, "%02d.err", t->commands), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const int in = open("/dev/null", O_RDONLY);
    if (out < 0 || err < 0 || in < 0 || chdir(path_in(t, "%s", c->folder ? c->folder : ".")))
        _exit(126);
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    memcpy(words + 1, c->words, sizeof c->words);
    setrlimit(RLIMIT_CPU, &(struct rlimit){LIMIT, LIMIT + 5});
    alarm(LIMIT_OF_CLOCK);
    execv(words[0], (char *const *)words);
    _exit(127);
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int execute(trial *t, const command *c)
{
    int how = 0;
    const double start = now();
    fflush(stdout);
    const pid_t process = fork();
    if (process == 0)
        become(t, c);
    if (process > 0 && c->signal) {
        nanosleep(&(struct timespec){(time_t)c->after,
                                     (long)(1e9 * (c->after - (double)(time_t)c->after))},
                  NULL);
        kill(process, c->signal); /* it has not been waited for: the number is still its own */
    }
    if (process < 0 || waitpid(process, &how, 0) != process) {
        perror("torture");
        exit(TORTURE_STUCK);
    }
    kill(-process, SIGKILL); /* what it left behind */
    t->seconds = now() - start;
    return how;
}

/* Finds the first error in the reports of sanitizers. Warnings, such as those of ended threads, do
 * not count. */
static bool look_for_reports(trial *t)
{
    const char *pattern = path_in(t, "sanitizer.*");
    char line[512] = "";
    glob_t found;
    bool said = false;
    if (glob(pattern, 0, NULL, &found))
        return false;
    for (size_t i = 0; i < found.gl_pathc && !said; i++) {
        FILE *from = fopen(found.gl_pathv[i], "r");
        while (from && !said && fgets(line, sizeof line, from))
            said = strstr(line, "ERROR:") || strstr(line, "runtime error:");
        if (from)
            fclose(from);
    }
    if (said)
        find(t, "a sanitizer, in %s: %.*s", pattern, (int)strcspn(line, "\n"), line);
    globfree(&found);
    return said;
}

/* Codes of a list have blanks between. */
static bool is_listed(int code, const char *codes)
{
    return strstr(text_of(" %s ", codes), text_of(" %d ", code)) != NULL;
}

int run_command(trial *t, const command *c, const char *codes)
{
    t->commands++;
    note_command(t, c);
    const int how = execute(t, c);
    read_output(t, "out", t->out);
    read_output(t, "err", t->err);
    const int code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    const bool stopped = WIFSIGNALED(how) && WTERMSIG(how) == c->signal;
    if (look_for_reports(t))
        return -1;
    if (stopped || (c->signal && (code == 75 || code == 130)))
        return code;
    if (WIFSIGNALED(how) && (WTERMSIG(how) == SIGALRM || WTERMSIG(how) == SIGXCPU))
        find(t, "no end after %d s of the processor, or %d s", LIMIT, LIMIT_OF_CLOCK);
    else if (WIFSIGNALED(how))
        find(t, "ended by a signal: %s\n%.800s", strsignal(WTERMSIG(how)), t->err);
    else if (!is_listed(code, codes))
        find(t, "exit code %d instead of one of %s\n%.400s%.400s", code, codes, t->out, t->err);
    else if (code && !*t->err && !*t->out)
        find(t, "exit code %d without a word", code);
    else
        return code;
    return -1;
}
