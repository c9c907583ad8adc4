#include "bench/bench.h"

#include "core/memory.h"
#include "ops/engine.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>

/* Measures what the machine reaches: the product of 1024^3 to which shares refer, the products of
 * models of four sizes, and copies from the caches to main memory. */

enum { WARM_UP = 2, FEWEST = 9, MOST_KILOBYTES = 1 << 16, TEXT_SIZE = 64 };

static const double long_enough = 4; /* seconds */

/* Sizes of one shard; rows are its tokens. */
typedef struct model {
    int rows, C, H, T;
} model;

static const model models[] = {{512, 64, 4, 32},
                               {512, 128, 4, 64},
                               {512, 256, 4, 128},
                               {512, 512, 8, 256}};
enum { MODELS = sizeof models / sizeof *models };

typedef struct shape {
    const char *what;
    int m, n, k;
    bool a_turned, b_turned;
} shape;

enum { SHAPES_OF_MODEL = 9, SHAPES = 1 + MODELS * SHAPES_OF_MODEL };

static void shapes_of(const model *x, shape *s)
{
    const int N = x->rows, C = x->C, F = 4 * x->C, D = x->C / x->H, T = x->T;
    const shape all[SHAPES_OF_MODEL] = {
        {"linear", N, C, C, false, true},    {"linear dx", N, C, C, false, false},
        {"linear dW", C, C, N, true, false}, {"wide", N, F, C, false, true},
        {"wide dx", N, C, F, false, false},  {"wide dW", F, C, N, true, false},
        {"narrow", N, C, F, false, true},    {"q k^T", T, T, D, false, true},
        {"p v", T, D, T, false, false},
    };
    for (int i = 0; i < SHAPES_OF_MODEL; i++)
        s[i] = all[i];
}

static double flops(const shape *s)
{
    return 2.0 * s->m * s->n * s->k;
}

static void print(const bench_options *o, bool first, const char *what, const char *size,
                  const bench_times *t, double work, bool products, double share)
{
    const double seconds = bench_median(t);
    BENCH_ROW(o, first, BENCH_TEXT("what", 10, what), BENCH_TEXT("size", 16, size),
              BENCH_NUMBER("runs", 5, 0, t->count), BENCH_NUMBER("us", 10, 1, 1e6 * seconds),
              BENCH_NUMBER("low", 10, 1, 1e6 * bench_quartile(t, 1)),
              BENCH_NUMBER("high", 10, 1, 1e6 * bench_quartile(t, 3)),
              BENCH_NUMBER("rate", 7, 1, 1e-9 * work / seconds),
              BENCH_TEXT("unit", 7, products ? "GFLOP/s" : "GB/s"),
              BENCH_NUMBER("share %", 7, 0, share));
}

static void measure_products(const bench_options *o, bench_yardstick *y, bench_times *times)
{
    shape s[SHAPES] = {{"peak", BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, false, false}};
    for (int i = 0; i < MODELS; i++)
        shapes_of(&models[i], s + 1 + i * SHAPES_OF_MODEL);
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
    while (bench_next(&rounds, o, long_enough))
        for (int i = 0; i < SHAPES; i++) {
            /* Once before, so that the operands are where those of a model would be. */
            bench_product(y, s[i].m, s[i].n, s[i].k, s[i].a_turned, s[i].b_turned);
            const double t = bench_product(y, s[i].m, s[i].n, s[i].k, s[i].a_turned, s[i].b_turned);
            if (bench_counts(&rounds))
                bench_add(&times[i], t);
        }
    for (int i = 0; i < SHAPES; i++) {
        char size[TEXT_SIZE];
        snprintf(size, sizeof size, "%d x %d x %d", s[i].m, s[i].n, s[i].k);
        print(o, !i, s[i].what, size, &times[i], y->threads * flops(&s[i]), true,
              100 * flops(&s[i]) / bench_peak_flops() * bench_ratio(&times[0], &times[i]));
    }
}

static void measure_copies(const bench_options *o, bench_yardstick *y, bench_times *times)
{
    for (int kilobytes = 64; kilobytes <= MOST_KILOBYTES; kilobytes *= 4) {
        const size_t count = (size_t)kilobytes * 1024 / sizeof(real);
        bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
        char size[TEXT_SIZE];
        times->count = 0;
        while (bench_next(&rounds, o, long_enough / 8)) {
            const double t = bench_copy(y, count);
            if (bench_counts(&rounds))
                bench_add(times, t);
        }
        snprintf(size, sizeof size, "%d kB", kilobytes);
        print(o, false, "copy", size, times, 2.0 * 1024 * kilobytes * y->threads, false,
              (double)NAN);
    }
}

rt_status bench_peak(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {NULL};
    const int threads = o->threads ? o->threads : 1;
    bench_yardstick y = {0};
    bench_times *times = NULL;
    rt_status status = bench_sizes(argc, argv, names, NULL);
    if (!status.code)
        status = bench_yardstick_new(&y, o, threads, 2 * 1024 * MOST_KILOBYTES / sizeof(real));
    if (!status.code) {
        times = rt_alloc(SHAPES, sizeof *times);
        status = times ? rt_ok() : rt_out_of_memory("a benchmark");
    }
    if (!status.code) {
        if (!o->csv)
            printf("%d thread%s, %s, %s kernels %s; rates are of all threads together\n\n", threads,
                   threads > 1 ? "s" : "", RT_PRECISION, rt_engine_name(), rt_engine_kernels());
        measure_products(o, &y, times);
        measure_copies(o, &y, times);
    }
    rt_free(times);
    bench_yardstick_free(&y);
    return status;
}
