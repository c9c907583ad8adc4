#ifndef ROTOR_BENCH_MEASURE_H
#define ROTOR_BENCH_MEASURE_H

/* Times, and what the machine reaches at the same time.
 *
 * A measurement is a number of rounds. In each the thing measured and its yardstick, a matrix
 * product or a copy, take their turn, and shares are medians of the quotients within a round: a
 * busy machine slows both alike. */

#include "bench/options.h"
#include "core/real.h"
#include "core/status.h"

#include <stddef.h>

struct rt_workers;

/* ---- statistics ---- */

enum { BENCH_MOST_TIMES = 2000 };

typedef struct bench_times {
    int count;
    double at[BENCH_MOST_TIMES];
} bench_times;

/* What is beyond the room is dropped. */
void bench_add(bench_times *t, double seconds);

/* 1: the first quartile, 2: the median, 3: the third. 0 of nothing. */
double bench_quartile(const bench_times *t, int quarter);
double bench_median(const bench_times *t);

/* The median of a/b, round by round. */
double bench_ratio(const bench_times *a, const bench_times *b);

/* ---- rounds ---- */

/* Seconds, by the clock that was asked for. */
double bench_now(const bench_options *o);

/* Rounds that warm up, then at least `fewest`, then until the time is over. Zeroed but for
 * `warm_up` and `fewest` at the start. */
typedef struct bench_rounds {
    int warm_up, fewest;
    int begun;
    double start;
} bench_rounds;

/* Whether there is another round; `seconds` counts if the options do not say. */
bool bench_next(bench_rounds *r, const bench_options *o, double seconds);

/* Whether the present one counts. */
bool bench_counts(const bench_rounds *r);

/* ---- yardsticks ---- */

enum { BENCH_PEAK_SIZE = 1024 };

/* Memory of its own for each of the threads, written before, so that no fresh page is
 * measured. */
typedef struct bench_yardstick {
    const bench_options *options;
    struct rt_workers *workers;
    int threads;
    size_t size; /* numbers a thread has */
    real *memory;
} bench_yardstick;

rt_status bench_yardstick_new(bench_yardstick *y, const bench_options *o, int threads,
                              size_t size) RT_MUST_CHECK;
void bench_yardstick_free(bench_yardstick *y);

/* Seconds until every thread has multiplied (m, k) by (k, n), or copied `count` numbers. The
 * memory must hold all three matrices, or twice the count. */
double bench_product(bench_yardstick *y, int m, int n, int k, bool a_turned, bool b_turned);
double bench_copy(bench_yardstick *y, size_t count);

/* The product of two matrices of BENCH_PEAK_SIZE^3: what shares of the peak are shares of. */
double bench_peak_product(bench_yardstick *y);
size_t bench_peak_memory(void);
double bench_peak_flops(void);

#endif
