#ifndef ROTOR_BENCH_BENCH_H
#define ROTOR_BENCH_BENCH_H

/* The parts that the commands of bench share. */

#include "core/real.h"
#include "core/status.h"
#include "ops/engine.h"
#include "train/step/trainer.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- options ---- */

/* Options of all commands. */
typedef struct bench_options {
    bool csv;
    bool cpu;         /* time by the processor's clock, not the wall's */
    int threads;      /* 0: not given */
    rt_engine engine; /* of peak, generate and the ops; a configuration names its own */
    rt_math math;
    struct rt_world *world; /* of processes; NULL: one alone */
    double seconds;         /* how long a measurement lasts at least; 0: not given */
    double since; /* step: when the program was started, by CLOCK_MONOTONIC; 0: not given */
} bench_options;

/* Removes the options from the arguments, and moves the others to the front. Returns RT_CONFIG for
 * an option that is unknown or has no value. */
rt_status bench_options_take(bench_options *o, int *argc, char **argv) RT_MUST_CHECK;

/* Parses NAME=NUMBER arguments; `values` keeps the defaults of names that are absent. Returns
 * RT_CONFIG for an argument that is none of the names (NULL ends them). */
rt_status bench_sizes(int argc, char **argv, const char *const *names, int *values) RT_MUST_CHECK;

/* Returns RT_CONFIG if --threads was given to a command that runs on one thread. */
rt_status bench_one_thread(const bench_options *o) RT_MUST_CHECK;

/* ---- measurements ----
 *
 * A measurement is a number of rounds. Each round measures the subject and its yardstick, a matrix
 * product or a copy, one after the other. Shares are medians of the quotients within a round: a
 * busy machine slows both alike. */

struct rt_workers;

/* ---- statistics ---- */

enum { BENCH_MOST_TIMES = 2000 };

typedef struct bench_times {
    int count;
    double at[BENCH_MOST_TIMES];
} bench_times;

/* Adds a time. Times beyond BENCH_MOST_TIMES are dropped. */
void bench_add(bench_times *t, double seconds);

/* Returns the quartile 1, 2 (the median) or 3; 0 without times. */
double bench_quartile(const bench_times *t, int quarter);
double bench_median(const bench_times *t);

/* Returns the median of the ratios a/b of all rounds. */
double bench_ratio(const bench_times *a, const bench_times *b);

/* ---- rounds ---- */

/* Returns seconds by the clock that the options choose. */
double bench_now(const bench_options *o);

/* Rounds of a measurement: `warm_up` that do not count, then at least `fewest`, then until the time
 * is over. */
typedef struct bench_rounds {
    int warm_up, fewest;
    int begun;
    double start;
} bench_rounds;

/* Begins another round. Returns false after the last. `seconds` is the default of --seconds. */
bool bench_next(bench_rounds *r, const bench_options *o, double seconds);

/* Returns whether the present round counts. */
bool bench_counts(const bench_rounds *r);

/* ---- yardsticks ---- */

enum { BENCH_PEAK_SIZE = 1024 };

/* Threads with memory of their own, which is written before so that no page fault is measured. */
typedef struct bench_yardstick {
    const bench_options *options;
    struct rt_workers *workers;
    int threads;
    size_t size; /* numbers of each thread */
    real *memory;
} bench_yardstick;

rt_status bench_yardstick_new(bench_yardstick *y, const bench_options *o, int threads,
                              size_t size) RT_MUST_CHECK;
void bench_yardstick_free(bench_yardstick *y);

/* Return the seconds in which every thread multiplies (m, k) by (k, n), or copies `count` numbers.
 * The memory must hold all three matrices, or twice the count. */
double bench_product(bench_yardstick *y, int m, int n, int k, bool a_turned, bool b_turned);
double bench_copy(bench_yardstick *y, size_t count);

/* Returns the seconds of the product of BENCH_PEAK_SIZE^3, the peak; the numbers that it needs; and
 * its operations. */
double bench_peak_product(bench_yardstick *y);
size_t bench_peak_memory(void);
double bench_peak_flops(void);

/* ---- tables: rows under headings, in columns or as CSV ---- */

typedef struct bench_cell {
    const char *heading;
    int width;  /* of the column; negative: flush left */
    int digits; /* after the point */
    double number;
    const char *text; /* instead of the number, or NULL */
} bench_cell;

#define BENCH_NUMBER(heading, width, digits, number)                                               \
    ((bench_cell){heading, width, digits, number, NULL})
#define BENCH_TEXT(heading, width, text) ((bench_cell){heading, -(width), 0, 0, text})

/* Prints a row, after the headings if it is the first. A NaN is an empty cell. */
void bench_row(const bench_options *o, bool first, const bench_cell *cells, int count);

#define BENCH_ROW(o, first, ...)                                                                   \
    bench_row(o, first, (const bench_cell[]){__VA_ARGS__},                                         \
              (int)(sizeof((const bench_cell[]){__VA_ARGS__}) / sizeof(bench_cell)))

/* ---- trainings ---- */

/* The trainer of CONFIG.ini [section.key=value ...] and --threads. */
typedef struct bench_training {
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
} bench_training;

/* Makes a trainer, which is to be freed after an error, too. */
rt_status bench_training_new(bench_training *t, const bench_options *o, int argc,
                             char **argv) RT_MUST_CHECK;
void bench_training_free(bench_training *t);

/* ---- commands ---- */

/* Runs a command with the arguments behind its name. */
typedef rt_status bench_command(const bench_options *o, int argc, char **argv);

bench_command bench_peak;
bench_command bench_rope;
bench_command bench_attention;
bench_command bench_linear_attention;
bench_command bench_linear;
bench_command bench_layernorm;
bench_command bench_gelu;
bench_command bench_softmax;
bench_command bench_xent;
bench_command bench_adamw;
bench_command bench_step;
bench_command bench_scale;
bench_command bench_world;
bench_command bench_math;
bench_command bench_generate;

#endif
