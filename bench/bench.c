#include "bench/bench.h"

#include "core/memory.h"
#include "core/row_kernels.h"
#include "ops/gemm.h"
#include "train/run/kernels.h"
#include "train/step/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *bench_alloc(size_t count, size_t size)
{
    void *block = rt_alloc(count, size);
    bench_need(block ? rt_ok() : rt_out_of_memory("a benchmark"));
    return block;
}

double bench_now(void)
{
    struct timespec t;
    if (!bench.cpu)
        return rt_seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool bench_next(bench_rounds *r)
{
    const double enough = bench.seconds > 0 ? bench.seconds : r->seconds;
    const int counted = r->begun - r->warm_up;
    if (!counted)
        r->start = rt_seconds();
    if (counted >= BENCH_MOST_TIMES ||
        (counted >= r->fewest && counted > 0 && rt_seconds() - r->start >= enough))
        return false;
    r->begun++;
    return true;
}

void bench_add(bench_times *t, const bench_rounds *r, double seconds)
{
    if (t->count < BENCH_MOST_TIMES && (!r || r->begun > r->warm_up))
        t->at[t->count++] = seconds;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quartile(const bench_times *t, int quarter)
{
    bench_times sorted = *t;
    if (!t->count)
        return 0;
    qsort(sorted.at, (size_t)t->count, sizeof *sorted.at, ascending);
    return sorted.at[(t->count - 1) * quarter / 4];
}

double bench_median(const bench_times *t)
{
    return bench_quartile(t, 2);
}

bench_times bench_ratios(const bench_times *a, const bench_times *b)
{
    bench_times ratios = {.count = 0};
    for (int i = 0; i < a->count && i < b->count; i++)
        bench_add(&ratios, NULL, a->at[i] / b->at[i]);
    return ratios;
}

double bench_ratio(const bench_times *a, const bench_times *b)
{
    const bench_times ratios = bench_ratios(a, b);
    return bench_median(&ratios);
}

bench_yardstick bench_yardstick_new(int threads, size_t copied)
{
    const size_t size = BENCH_PEAK_SIZE;
    bench_yardstick y = {.threads = threads,
                         .copied = copied,
                         .product = {BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, false,
                                     false},
                         .size = copied ? 2 * copied : 3 * size * size};
    bench_need(rt_workers_new(&y.workers, threads));
    y.memory = bench_alloc((size_t)threads * y.size, sizeof *y.memory);
    for (size_t i = 0; i < (size_t)threads * y.size; i++)
        y.memory[i] = (real)(1e-3 * (double)(i % 1000) - 0.5);
    return y;
}

void bench_yardstick_free(bench_yardstick *y)
{
    rt_workers_free(y->workers);
    rt_free(y->memory);
}

/* Multiplies and adds in 10 independent vectors of BYTES, which hide the latency and fit into the
 * registers: x = x factor + factor is fused where the instruction set can. */
enum { CHAINS = 10 };
#define FUSED_LOOP(BYTES)                                                                          \
    {                                                                                              \
        typedef real vector __attribute__((vector_size(BYTES)));                                   \
        vector chain[CHAINS], sum = {0}, factor = sum + *x;                                        \
        for (int i = 0; i < CHAINS; i++)                                                           \
            chain[i] = factor + (real)i;                                                           \
        for (double done = 0; done < BENCH_FUSED_FLOPS;                                            \
             done += 2.0 * CHAINS * (BYTES) / sizeof *x)                                           \
            for (int i = 0; i < CHAINS; i++)                                                       \
                chain[i] = chain[i] * factor + factor;                                             \
        for (int i = 0; i < CHAINS; i++)                                                           \
            sum += chain[i];                                                                       \
        *x = sum[0] * 0 + *x;                                                                      \
    }
static RT_ROW_KERNEL(multiply_and_add, (real * x), (x))
{
    if (rt_row_set_in_use == RT_ROWS_AVX512)
        FUSED_LOOP(64)
    else if (rt_row_set_in_use == RT_ROWS_AVX2)
        FUSED_LOOP(32)
    else
        FUSED_LOOP(16)
}

static void work(void *context, int thread, int worker)
{
    const bench_yardstick *y = context;
    const bench_product p = y->product;
    real *a = y->memory + (size_t)thread * y->size;
    (void)worker;
    if (y->fused) {
        multiply_and_add(a);
        return;
    }
    if (y->copied) {
        memcpy(a, a + y->copied, y->copied * sizeof *a);
        return;
    }
    real *b = a + (size_t)p.m * (size_t)p.k, *c = b + (size_t)p.k * (size_t)p.n;
    const rt_operand left = {a, .stride = p.a_transposed ? p.m : p.k, .transposed = p.a_transposed};
    const rt_operand right = {b, .stride = p.b_transposed ? p.k : p.n,
                              .transposed = p.b_transposed};
    rt_gemm((rt_sizes){p.m, p.n, p.k}, 1, left, right, 0, rt_result_at(c, p.n));
}

double bench_yardstick_time(bench_yardstick *y)
{
    const double start = bench_now();
    rt_workers_run(y->workers, 0, work, y, y->threads);
    return bench_now() - start;
}

static void print_cell(int i, int width, const char *text)
{
    printf("%s%*s", !i ? "" : bench.csv ? "," : "  ", bench.csv ? 0 : width, text);
}

/* Returns the text of a cell, which may be in `number`. */
static const char *text_of(const bench_cell *c, char number[64])
{
    snprintf(number, 64, "%.*f", c->digits, c->number);
    return c->text ? c->text : isnan(c->number) ? "" : number;
}

void bench_row(bool first, const bench_cell *cells, int count)
{
    for (int i = 0; first && i < count; i++)
        print_cell(i, cells[i].width, cells[i].heading);
    if (first)
        putchar('\n');
    for (int i = 0; i < count; i++)
        print_cell(i, cells[i].width, text_of(&cells[i], (char[64]){0}));
    putchar('\n');
    fflush(stdout);
}

void bench_list(const bench_cell *cells, int count)
{
    if (bench.csv)
        bench_row(true, cells, count);
    for (int i = 0; i < count && !bench.csv; i++)
        printf("%-22s %s\n", cells[i].heading, text_of(&cells[i], (char[64]){0}));
}

bench_training *bench_training_new(int threads, const char *const *further)
{
    enum { MOST_FURTHER = 8 };
    int argc = 0, count = 0;
    while (bench.arguments[argc])
        argc++;
    char setting[32], *errors = NULL;
    const char **settings = bench_alloc((size_t)argc + MOST_FURTHER, sizeof *settings);
    bench_training *t = bench_alloc(1, sizeof *t);
    for (int i = 1; i < argc; i++)
        settings[count++] = bench.arguments[i];
    for (int i = 0; further && further[i] && i < MOST_FURTHER; i++)
        settings[count++] = further[i];
    snprintf(setting, sizeof setting, "run.threads=%d", threads);
    if (threads > 0)
        settings[count++] = setting;
    const rt_config_source source = {.path = bench.arguments[0],
                                     .overrides = settings,
                                     .override_count = count};
    rt_status status = rt_config_load(&t->config, &source, &errors);
    if (!status.code)
        status = rt_engine_use(rt_kernels_engine(&t->config, ""), t->config.run.math);
    if (!status.code)
        status = rt_data_open(&t->data, &t->config.data, (rt_data_of_model){.vocabulary = NULL});
    bench_need(rt_world_agree(bench.world, status));
    bench_need(rt_trainer_new(&t->trainer, &t->config, t->data,
                              &(rt_trainer_options){.world = bench.world}));
    t->model = rt_trainer_state(t->trainer)->model;
    t->threads = rt_workers_count(rt_trainer_workers(t->trainer));
    rt_free(errors);
    rt_free(settings);
    return t;
}

void bench_training_free(bench_training *t)
{
    rt_trainer_free(t->trainer);
    rt_data_close(t->data);
    rt_free(t);
}

/* Measures the limits of the machine: multiply-adds in registers; the product of 1024^3, the
 * reference of all shares; the products of models of four sizes; and copies from the caches to main
 * memory. */

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

static void print_peak(bool first, const char *what, const char *size, const bench_times *t,
                       double work, const char *unit, double share)
{
    BENCH_ROW(first, BENCH_TEXT("what", 10, what), BENCH_TEXT("size", 18, size),
              BENCH_NUMBER("runs", 5, 0, t->count), BENCH_TIMES("us", 10, 1, 1e6, t),
              BENCH_NUMBER("rate", 7, 1, 1e-9 * work / bench_median(t)),
              BENCH_TEXT("unit", 7, unit), BENCH_NUMBER("share %", 7, 0, share));
}

/* The other engine, if this build has it. */
static bool find_other(rt_engine *other)
{
    *other = bench.engine == RT_ENGINE_ONEDNN ? RT_ENGINE_OPENBLAS : RT_ENGINE_ONEDNN;
    const bool there = !rt_engine_use(*other, RT_MATH_FLOAT).code;
    bench_need(rt_engine_use(bench.engine, bench.math));
    return there;
}

/* Measures the peak product, with the other engine as well, fused multiply-adds in registers, and
 * the products of a shard of N tokens of each model. */
static void measure_products(bench_yardstick *y)
{
    enum { N = 512 };
    static bench_times times[SHAPES], fused, of_other;
    rt_engine other;
    const bool has_other = find_other(&other);
    shape shapes[SHAPES] = {
        {"peak", {BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, false, false}}};
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough};
    for (int i = 0; i < MODELS; i++) {
        const int C = models[i].C, D = models[i].D, T = models[i].T, F = 4 * C;
        const shape of_model[OF_MODEL] = {
            {"linear", {N, C, C, false, true}},    {"linear dx", {N, C, C, false, false}},
            {"linear dW", {C, C, N, true, false}}, {"wide", {N, F, C, false, true}},
            {"wide dx", {N, C, F, false, false}},  {"wide dW", {F, C, N, true, false}},
            {"narrow", {N, C, F, false, true}},    {"q k^T", {T, T, D, false, true}},
            {"p v", {T, D, T, false, false}}};
        memcpy(shapes + 1 + i * OF_MODEL, of_model, sizeof of_model);
    }
    y->copied = 0;
    while (bench_next(&rounds)) {
        y->fused = true;
        bench_add(&fused, &rounds, bench_yardstick_time(y));
        y->fused = false;
        for (int i = 0; i < SHAPES; i++) {
            y->product = shapes[i].product;
            /* Runs once before, to have the operands in the same caches as in a model. */
            bench_yardstick_time(y);
            bench_add(&times[i], &rounds, bench_yardstick_time(y));
        }
        if (!has_other)
            continue;
        y->product = shapes[0].product;
        bench_need(rt_engine_use(other, RT_MATH_FLOAT));
        bench_yardstick_time(y);
        bench_add(&of_other, &rounds, bench_yardstick_time(y));
        bench_need(rt_engine_use(bench.engine, bench.math));
    }
    print_peak(true, "registers", rt_row_kernels(), &fused, y->threads * BENCH_FUSED_FLOPS,
               "GFLOP/s", 100 * BENCH_FUSED_FLOPS / BENCH_PEAK_FLOPS * bench_ratio(times, &fused));
    if (has_other)
        print_peak(false, other == RT_ENGINE_ONEDNN ? "oneDNN" : "OpenBLAS", "1024 x 1024 x 1024",
                   &of_other, y->threads * BENCH_PEAK_FLOPS, "GFLOP/s",
                   100 * bench_ratio(times, &of_other));
    for (int i = 0; i < SHAPES; i++) {
        const bench_product p = shapes[i].product;
        const double flops = 2.0 * p.m * p.n * p.k;
        char size[64];
        snprintf(size, sizeof size, "%d x %d x %d", p.m, p.n, p.k);
        print_peak(false, shapes[i].what, size, &times[i], y->threads * flops, "GFLOP/s",
                   100 * flops / BENCH_PEAK_FLOPS * bench_ratio(&times[0], &times[i]));
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
    for (int kilobytes = SMALLEST_KILOBYTES; kilobytes <= MOST_KILOBYTES; kilobytes *= 4) {
        bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough / 8};
        bench_times times = {.count = 0};
        char size[64];
        y.copied = (size_t)kilobytes * 1024 / sizeof(real);
        while (bench_next(&rounds))
            bench_add(&times, &rounds, bench_yardstick_time(&y));
        snprintf(size, sizeof size, "%d kB", kilobytes);
        print_peak(false, "copy", size, &times, 2.0 * 1024 * kilobytes * threads, "GB/s",
                   (double)NAN);
    }
    bench_yardstick_free(&y);
}
