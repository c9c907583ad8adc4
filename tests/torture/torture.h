#ifndef ROTOR_TESTS_TORTURE_TORTURE_H
#define ROTOR_TESTS_TORTURE_TORTURE_H

/* A try of the torture run: a folder of its own, random numbers that are a function of the seed
 * and the number of the try, commands that are run in it, and what was found.
 *
 *   keys.c    random configurations, by walking the table of keys
 *   runs.c    trains one, interrupts and resumes it, asks everything of it, uses it with other
 *             keys, exports it, and starts another one from it
 *   sweeps.c  the same of a sweep, which then grows
 *   forge.c   changes a finished run behind the program's back, and uses it
 */

#include "core/memory.h"
#include "core/random.h"
#include "core/status.h"
#include "train/config/config.h"
#include "util/files.h"
#include "util/writer.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TORTURE_PATH_SIZE = 512,
    TORTURE_OUTPUT_SIZE = 1 << 16,
    TORTURE_WORDS = 24,
    TORTURE_STUCK = 125 /* the exit code of a try that could not go on, as on a full disk */
};

typedef struct trial {
    uint64_t seed;
    long number;
    const char *kind;
    uint64_t drawn;
    const char *base; /* the folder of all tries, with samples and finished runs */
    char folder[TORTURE_PATH_SIZE];
    int commands, finds;
    char out[TORTURE_OUTPUT_SIZE], err[TORTURE_OUTPUT_SIZE]; /* of the last command */
    double seconds;                                          /* that it took */
} trial;

/* ---- random numbers ---- */

int draw(trial *t, int n);          /* 0 ... n-1 */
bool chance(trial *t, int percent); /* true that often */
double draw_uniform(trial *t);      /* from 0 to 1 */
#define draw_of(t, list) ((list)[draw(t, (int)(sizeof(list) / sizeof *(list)))])

/* Seconds of the clock. */
double now(void);

int draw_key(trial *t); /* the number of a key */

/* ---- commands ---- */

/* Returns a text that lasts. */
const char *text_of(const char *format, ...) RT_PRINTF(1, 2);

/* A command line of train-f64. */
typedef struct command {
    const char *folder; /* of the try, in which it is run; NULL: the try's own */
    bool reports;       /* leaves ROTOR_NO_REPORT out */
    int signal;         /* sent after so many seconds; 0: none */
    double after;
    const char *words[TORTURE_WORDS]; /* up to a NULL */
} command;

void add_word(command *c, const char *word);

/* Runs it, writes its line to the file `commands` of the try, and holds it to what is true of any:
 * a documented exit code, a message with a failure, no sanitizer, no signal, no hang, and a code
 * that is on the list. Returns the code, 128 and the signal's number after a signal; -1 if there
 * was something to find. */
int run_command(trial *t, const command *c, const char *codes);

/* Runs train-f64 with these words. */
#define TRAIN(t, codes, in_folder, ...)                                                            \
    run_command(t, &(const command){.folder = in_folder, .words = {__VA_ARGS__}}, codes)
#define ANY_CODE   "0 1 2 3 4 5 6 7"
#define NO_FAILURE "0 2 3 4 5 7"

/* Prints a finding, and keeps the folder. */
void find(trial *t, const char *format, ...) RT_PRINTF(2, 3);

/* ---- files, whose paths are below the folder of the try ---- */

#define path_in(t, ...) text_of("%s/%s", (t)->folder, text_of(__VA_ARGS__))
void make_folder(const trial *t, const char *name);
bool is_there(const trial *t, const char *name);
void write_text(const char *path, const char *text, size_t size);
/* NULL if it cannot be read; a 0 behind it; freed by the caller with rt_free. */
char *read_text(const char *path, size_t *size);

/* Compares two files of the try, in checkpoints all but the number of threads: whether the first is
 * there, the second is there, and their bytes are the same. */
typedef struct comparison {
    bool one, other, same;
} comparison;
comparison compare_files(const trial *t, const char *one, const char *other);

/* ---- configurations ---- */

typedef struct drawn_config {
    bool good; /* what the library says of the text alone */
    bool tame; /* no extreme numbers */
    bool text; /* --predict can be asked */
    rt_config config;
    char ini[1 << 15];
} drawn_config;

/* Draws one and writes it to the path; `small`: a run of it takes less than a second. */
void draw_config(trial *t, drawn_config *d, const char *path, bool small);

/* Draws again, as a configuration that starts from a trained run, what of the last drawn one leaves
 * the shapes of its model: train.init_from is `start`, and theta.init_from, in some, `theta`. */
void draw_another(trial *t, drawn_config *d, const char *path, const char *start,
                  const char *theta);

/* A value for a key, good for itself in most cases; false for a key that is not drawn. */
bool draw_value(trial *t, int key, bool tame, char value[RT_FILE_LIST_SIZE]);

/* The files that configurations read, made once. */
void make_samples(trial *t);

/* ---- tries ---- */

void try_run(trial *t);
void try_sweep(trial *t);
void try_forgery(trial *t);

/* Returns the newest checkpoint of a run in a folder of the try; -1: none. */
long newest_checkpoint(const trial *t, const char *folder, const char *run);

/* The finished runs that are forged, made once; false if they cannot be. */
bool make_templates(trial *t);

#endif
