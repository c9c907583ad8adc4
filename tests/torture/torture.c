/* Uses the whole program at random, to find untested cases:
 *
 *     torture [--seed N] [--jobs N] [--only KIND] (MINUTES | --tries N | --try N)
 *
 * A try is a run, a sweep or a forgery, by its number; what it does is a function of the seed and
 * that number (the moment of a signal aside). With --only, tries of another KIND (run, sweep,
 * forgery) are skipped. Each find is printed with its commands, and its folder is kept. The
 * last line is `tries N, finds M`; exit code 1 if there is any, 2 if the torture itself could not
 * go on. */

#define _GNU_SOURCE

#include "torture/torture.h"

#include <hdf5.h>
#include <sys/wait.h>

/* A try that came to its end says how much it found by its exit code, above those of sanitizers. */
enum { MOST_JOBS = 64, ENDED = 100, MOST_FINDS = 20 };

static char base[TORTURE_PATH_SIZE / 2];
static trial current;

static void start_trial(uint64_t seed, long number, const char *kind)
{
    current = (trial){.seed = seed, .number = number, .kind = kind, .base = base};
    snprintf(current.folder, sizeof current.folder, "%s/try-%ld", base, number);
}

static void remove_folder(const char *folder)
{
    const char *line = text_of("rm -rf '%s'", folder);
    if (system(line))
        fprintf(stderr, "torture: %s failed\n", line);
}

typedef struct kind {
    const char *name;
    void (*make)(trial *t);
} kind;

enum { KINDS = 7 };

static const kind *kind_of(long number)
{
    static const kind kinds[KINDS] = {{"run", try_run},         {"forgery", try_forgery},
                                      {"run", try_run},         {"sweep", try_sweep},
                                      {"forgery", try_forgery}, {"run", try_run},
                                      {"forgery", try_forgery}};
    return &kinds[number % KINDS];
}

static int be_try(uint64_t seed, long number)
{
    start_trial(seed, number, kind_of(number)->name);
    make_folder(&current, "");
    kind_of(number)->make(&current);
    if (!current.finds)
        remove_folder(current.folder);
    return ENDED + (current.finds < MOST_FINDS ? current.finds : MOST_FINDS);
}

static bool prepare(uint64_t seed)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(base, sizeof base, "%s/rotor-torture-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(base)) {
        perror(base);
        return false;
    }
    start_trial(seed, -1, "templates");
    snprintf(current.folder, sizeof current.folder, "%s", base);
    make_samples(&current);
    return make_templates(&current);
}

typedef struct torture {
    uint64_t seed;
    const char *only; /* the kind that is made; NULL: all */
    long tries, next, done, finds;
    int jobs, running;
    double end; /* of the time; 0: none */
    struct {
        pid_t process;
        long number;
    } at_work[MOST_JOBS];
} torture;

static bool has_more(torture *a)
{
    while (a->only && strcmp(a->only, kind_of(a->next)->name) != 0)
        a->next++;
    return a->end > 0 ? now() < a->end : a->next < a->tries;
}

static bool start_one(torture *a)
{
    fflush(stdout);
    const pid_t process = fork();
    if (process == 0)
        _exit(be_try(a->seed, a->next));
    if (process < 0)
        return false;
    a->at_work[a->running].process = process;
    a->at_work[a->running++].number = a->next++;
    return true;
}

static bool end_one(torture *a)
{
    int how;
    const pid_t process = wait(&how);
    for (int i = 0; i < a->running; i++) {
        if (a->at_work[i].process != process)
            continue;
        const int code = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
        if (code == TORTURE_STUCK)
            return false;
        if (code >= ENDED && code <= ENDED + MOST_FINDS) {
            a->finds += code - ENDED;
        } else {
            a->finds++;
            printf("FIND in try %ld: the library ended the torture itself; again: "
                   "scripts/torture --seed %llu --try %ld\n",
                   a->at_work[i].number, (unsigned long long)a->seed, a->at_work[i].number);
        }
        a->done++;
        a->at_work[i] = a->at_work[--a->running];
        return true;
    }
    return process > 0;
}

static bool go_through(torture *a)
{
    bool good = true;
    while (good && (a->running || has_more(a))) {
        while (good && a->running < a->jobs && has_more(a))
            good = start_one(a);
        good = good && end_one(a);
    }
    return good;
}

static int usage(void)
{
    fprintf(stderr, "usage: torture [--seed N] [--jobs N] [--only KIND] "
                    "(MINUTES | --tries N | --try N)\n");
    return 2;
}

static bool parse(torture *a, int argc, char **argv)
{
    a->jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 1; i < argc; i++) {
        char *end;
        const char *option = argv[i];
        const bool named = !strncmp(option, "--", 2);
        if (named && ++i == argc)
            return false;
        if (!strcmp(option, "--only")) {
            a->only = argv[i];
            continue;
        }
        const long value = strtol(argv[i], &end, 10);
        if (*end || value < 0)
            return false;
        if (!strcmp(option, "--seed"))
            a->seed = (uint64_t)value;
        else if (!strcmp(option, "--jobs"))
            a->jobs = (int)value;
        else if (!strcmp(option, "--tries"))
            a->tries = value;
        else if (!strcmp(option, "--try"))
            a->tries = (a->next = value) + 1;
        else if (!named && value > 0)
            a->end = now() + 60.0 * (double)value;
        else
            return false;
    }
    bool known = !a->only;
    for (long i = 0; i < KINDS && !known; i++)
        known = !strcmp(a->only, kind_of(i)->name);
    return known && a->jobs > 0 && a->jobs <= MOST_JOBS && (a->tries > 0) != (a->end > 0);
}

int main(int argc, char **argv)
{
    torture a = {.seed = 1};
    if (!parse(&a, argc, argv))
        return usage();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (!prepare(a.seed) || !go_through(&a))
        return 2;
    if (!a.finds)
        remove_folder(base);
    printf("tries %ld, finds %ld\n", a.done, a.finds);
    return a.finds > 0;
}
