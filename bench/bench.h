#ifndef ROTOR_BENCH_BENCH_H
#define ROTOR_BENCH_BENCH_H

/* Declarations shared by the commands of bench. */

#include "core/real.h"
#include "core/status.h"
#include "ops/engine.h"
#include "train/step/trainer.h"

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_MOST_SIZES = 9 };

/* The command and the options of all commands. */
typedef struct bench_options {
    const char *command;
    char **arguments;            /* those before the sizes, NULL-terminated */
    int sizes[BENCH_MOST_SIZES]; /* NAME=NUMBER arguments, in the order of the command's row */
    bool csv;
    bool cpu;         /* measure processor time, not wall-clock time */
    int threads;      /* 0: not given */
    rt_engine engine; /* of peak, generate and the ops; a configuration has its own */
    rt_math math;
    struct rt_world *world; /* NULL: a single process */
    double seconds;         /* minimum duration of a measurement; 0: not given */
    double since;           /* for step: start of the program by CLOCK_MONOTONIC; 0: not given */
} bench_options;

extern bench_options bench;

/* Ends the program if the status is an error, which the first process prints. */
void bench_need(rt_status status);

/* Returns zeroed memory, which the caller frees (rt_free), or ends the program. */
void *bench_alloc(size_t count, size_t size);

/* ---- measurements ----
 *
 * A measurement is a number of rounds. Each round measures the subject and then its yardstick, a
 * matrix product or a copy. Shares are medians of the ratios within a round, because a busy machine
 * slows both alike. */

enum { BENCH_MOST_TIMES = 2000 };

typedef struct bench_times {
    int count;
    double at[BENCH_MOST_TIMES];
} bench_times;

/* Rounds: `warm_up` rounds that do not count, then at least `fewest`, until `seconds` or those of
 * --seconds have passed. */
typedef struct bench_rounds {
    int warm_up, fewest;
    double seconds;
    int begun;
    double start;
} bench_rounds;

/* Begins another round. Returns false after the last. */
bool bench_next(bench_rounds *r);

/* Adds a time of the current round, except during the warm-up; always without rounds (NULL). Times
 * beyond BENCH_MOST_TIMES are dropped. */
void bench_add(bench_times *t, const bench_rounds *r, double seconds);

/* Returns the current time in seconds, of the clock that the options select. */
double bench_now(void);

/* Returns the quartile 1, 2 (the median) or 3; 0 without times. */
double bench_quartile(const bench_times *t, int quarter);
double bench_median(const bench_times *t);

/* Returns the ratios a/b of all rounds, and their median. */
bench_times bench_ratios(const bench_times *a, const bench_times *b);
double bench_ratio(const bench_times *a, const bench_times *b);

#define BENCH_FUSED_FLOPS 1e9
#define BENCH_PEAK_FLOPS  (2.0 * BENCH_PEAK_SIZE * BENCH_PEAK_SIZE * BENCH_PEAK_SIZE)
enum { BENCH_PEAK_SIZE = 1024 };

/* A matrix product, (m, k) by (k, n). */
typedef struct bench_product {
    int m, n, k;
    bool a_transposed, b_transposed;
} bench_product;

/* Threads that each copy, or multiply matrices, in their own memory, which is written in advance,
 * so that no page fault is measured. */
typedef struct bench_yardstick {
    struct rt_workers *workers;
    int threads;
    size_t copied; /* numbers that a thread copies; 0: it multiplies */
    bool fused;    /* it multiplies and adds in registers, BENCH_FUSED_FLOPS in all */
    bench_product product;
    size_t size; /* numbers per thread */
    real *memory;
} bench_yardstick;

/* Creates a yardstick that copies so many numbers or, for 0, computes the product of
 * BENCH_PEAK_SIZE^3, the peak. */
bench_yardstick bench_yardstick_new(int threads, size_t copied);
void bench_yardstick_free(bench_yardstick *y);

/* Returns the seconds for every thread to copy or to multiply. */
double bench_yardstick_time(bench_yardstick *y);

/* ---- tables: rows under headings, in columns or as CSV ---- */

typedef struct bench_cell {
    const char *heading;
    int width;  /* of the column; negative: left-aligned */
    int digits; /* after the point */
    double number;
    const char *text; /* replaces the number; or NULL */
} bench_cell;

#define BENCH_NUMBER(heading, width, digits, number)                                               \
    ((bench_cell){heading, width, digits, number, NULL})
#define BENCH_TEXT(heading, width, text) ((bench_cell){heading, -(width), 0, 0, text})

/* Median of times in a unit, such as 1e3 for milliseconds, and the bounds of their middle half. */
#define BENCH_TIMES(heading, width, digits, unit, times)                                           \
    BENCH_NUMBER(heading, width, digits, (unit)*bench_median(times)),                              \
        BENCH_NUMBER("low", width, digits, (unit)*bench_quartile(times, 1)),                       \
        BENCH_NUMBER("high", width, digits, (unit)*bench_quartile(times, 3))

/* Prints a row, after the headings if it is the first. A NaN is an empty cell. bench_list prints a
 * row that is the only one: without CSV, as lines of a heading and a value. */
void bench_row(bool first, const bench_cell *cells, int count);
void bench_list(const bench_cell *cells, int count);

#define BENCH_CELLS(...)                                                                           \
    (const bench_cell[]){__VA_ARGS__},                                                             \
        (int)(sizeof((const bench_cell[]){__VA_ARGS__}) / sizeof(bench_cell))
#define BENCH_ROW(first, ...) bench_row(first, BENCH_CELLS(__VA_ARGS__))
#define BENCH_LIST(...)       bench_list(BENCH_CELLS(__VA_ARGS__))

/* Trainer of CONFIG.ini [section.key=value ...], the arguments of the command, and of further
 * settings, NULL-terminated. */
typedef struct bench_training {
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
    rt_transformer *model;
    int threads;
} bench_training;

bench_training *bench_training_new(int threads, const char *const *further);
void bench_training_free(bench_training *t);

void bench_peak(void);
void bench_op(void);
void bench_adamw(void);
void bench_linear_attention(void);
void bench_step(void);
void bench_math(void);
void bench_engine(void);
void bench_world(void);
void bench_generate(void);

#endif
