#include "bench/bench.h"

#include "core/memory.h"
#include "ops/engine.h"

#include <math.h>
#include <stdio.h>

/* Measures the limits of the machine: the product of 1024^3, the reference of all shares; the
 * products of models of four sizes; and copies from the caches to main memory. */

enum { WARM_UP = 2, FEWEST = 9, SMALLEST_KILOBYTES = 64, MOST_KILOBYTES = 1 << 16 };

static const double long_enough = 4; /* seconds */

typedef struct shape {
    const char *what;
    bench_product product;
} shape;

/* Channels, head size and positions of each model. */
static const struct {
    int C, D, T;
} models[] = {{64, 16, 32}, {128, 32, 64}, {256, 64, 128}, {512, 64, 256}};

enum { MODELS = sizeof models / sizeof *models, OF_MODEL = 9, SHAPES = 1 + MODELS * OF_MODEL };

/* Lists the peak product, and those of a shard of N tokens of each model. */
static void list_shapes(shape *s)
{
    *s++ = (shape){"peak", {BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, false, false}};
    for (int i = 0; i < MODELS; i++, s += OF_MODEL) {
        const int N = 512, C = models[i].C, D = models[i].D, T = models[i].T, F = 4 * C;
        s[0] = (shape){"linear", {N, C, C, false, true}};
        s[1] = (shape){"linear dx", {N, C, C, false, false}};
        s[2] = (shape){"linear dW", {C, C, N, true, false}};
        s[3] = (shape){"wide", {N, F, C, false, true}};
        s[4] = (shape){"wide dx", {N, C, F, false, false}};
        s[5] = (shape){"wide dW", {F, C, N, true, false}};
        s[6] = (shape){"narrow", {N, C, F, false, true}};
        s[7] = (shape){"q k^T", {T, T, D, false, true}};
        s[8] = (shape){"p v", {T, D, T, false, false}};
    }
}

static void print(bool first, const char *what, const char *size, const bench_times *t, double work,
                  const char *unit, double share)
{
    BENCH_ROW(first, BENCH_TEXT("what", 10, what), BENCH_TEXT("size", 16, size),
              BENCH_NUMBER("runs", 5, 0, t->count), BENCH_TIMES("us", 10, 1, 1e6, t),
              BENCH_NUMBER("rate", 7, 1, 1e-9 * work / bench_median(t)),
              BENCH_TEXT("unit", 7, unit), BENCH_NUMBER("share %", 7, 0, share));
}

static void measure_products(bench_yardstick *y)
{
    static bench_times times[SHAPES];
    shape shapes[SHAPES];
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough};
    list_shapes(shapes);
    y->copied = 0;
    while (bench_next(&rounds))
        for (int i = 0; i < SHAPES; i++) {
            y->product = shapes[i].product;
            /* Runs once before, to have the operands in the same caches as in a model. */
            bench_yardstick_time(y);
            bench_add(&times[i], &rounds, bench_yardstick_time(y));
        }
    for (int i = 0; i < SHAPES; i++) {
        const bench_product p = shapes[i].product;
        const double flops = 2.0 * p.m * p.n * p.k;
        char size[64];
        snprintf(size, sizeof size, "%d x %d x %d", p.m, p.n, p.k);
        print(!i, shapes[i].what, size, &times[i], y->threads * flops, "GFLOP/s",
              100 * flops / BENCH_PEAK_FLOPS * bench_ratio(&times[0], &times[i]));
    }
}

static void measure_copies(bench_yardstick *y)
{
    for (int kilobytes = SMALLEST_KILOBYTES; kilobytes <= MOST_KILOBYTES; kilobytes *= 4) {
        bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough / 8};
        bench_times times = {.count = 0};
        char size[64];
        y->copied = (size_t)kilobytes * 1024 / sizeof(real);
        while (bench_next(&rounds))
            bench_add(&times, &rounds, bench_yardstick_time(y));
        snprintf(size, sizeof size, "%d kB", kilobytes);
        print(false, "copy", size, &times, 2.0 * 1024 * kilobytes * y->threads, "GB/s",
              (double)NAN);
    }
}

void bench_peak(void)
{
    const int threads = bench.threads ? bench.threads : 1;
    bench_yardstick y = bench_yardstick_new(threads, 1024 * MOST_KILOBYTES / sizeof(real));
    if (!bench.csv)
        printf("%d thread%s, %s, %s kernels %s; rates are of all threads together\n\n", threads,
               threads > 1 ? "s" : "", RT_PRECISION, rt_engine_name(), rt_engine_kernels());
    measure_products(&y);
    measure_copies(&y);
    bench_yardstick_free(&y);
}
