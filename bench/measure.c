#include "bench/measure.h"

#include "core/memory.h"
#include "ops/gemm.h"
#include "train/step/observers.h"
#include "train/step/workers.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- statistics ---- */

void bench_add(bench_times *t, double seconds)
{
    if (t->count < BENCH_MOST_TIMES)
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

double bench_ratio(const bench_times *a, const bench_times *b)
{
    bench_times ratios = {.count = 0};
    for (int i = 0; i < a->count && i < b->count; i++)
        bench_add(&ratios, a->at[i] / b->at[i]);
    return bench_median(&ratios);
}

/* ---- rounds ---- */

double bench_now(const bench_options *o)
{
    struct timespec t;
    if (!o->cpu)
        return rt_seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool bench_counts(const bench_rounds *r)
{
    return r->begun > r->warm_up;
}

bool bench_next(bench_rounds *r, const bench_options *o, double seconds)
{
    const double enough = o->seconds > 0 ? o->seconds : seconds;
    const int counted = r->begun - r->warm_up;
    if (r->begun == r->warm_up)
        r->start = rt_seconds();
    if (counted >= BENCH_MOST_TIMES ||
        (counted >= r->fewest && counted > 0 && rt_seconds() - r->start >= enough))
        return false;
    r->begun++;
    return true;
}

/* ---- yardsticks ---- */

rt_status bench_yardstick_new(bench_yardstick *y, const bench_options *o, int threads, size_t size)
{
    *y = (bench_yardstick){.options = o, .threads = threads, .size = size};
    rt_status status = rt_workers_new(&y->workers, threads);
    if (status.code)
        return status;
    y->memory = rt_alloc((size_t)threads * size, sizeof *y->memory);
    for (size_t i = 0; y->memory && i < (size_t)threads * size; i++)
        y->memory[i] = (real)(1e-3 * (double)(i % 1000) - 0.5);
    return y->memory ? rt_ok() : rt_out_of_memory("a reference");
}

void bench_yardstick_free(bench_yardstick *y)
{
    rt_workers_free(y->workers);
    rt_free(y->memory);
    *y = (bench_yardstick){0};
}

typedef struct product {
    const bench_yardstick *yardstick;
    int m, n, k;
    bool a_turned, b_turned;
} product;

static void multiply(void *context, int job, int worker)
{
    const product *p = context;
    const size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    real *a = p->yardstick->memory + (size_t)job * p->yardstick->size;
    real *b = a + m * k, *c = b + k * n;
    (void)worker;
    const rt_operand x = {.data = a,
                          .stride = p->a_turned ? p->m : p->k,
                          .transposed = p->a_turned};
    const rt_operand y = {.data = b,
                          .stride = p->b_turned ? p->k : p->n,
                          .transposed = p->b_turned};
    rt_gemm(p->m, p->n, p->k, 1, x, y, 0, c, p->n);
}

double bench_product(bench_yardstick *y, int m, int n, int k, bool a_turned, bool b_turned)
{
    product p = {y, m, n, k, a_turned, b_turned};
    const double start = bench_now(y->options);
    rt_workers_run(y->workers, multiply, &p, y->threads);
    return bench_now(y->options) - start;
}

typedef struct copying {
    const bench_yardstick *yardstick;
    size_t count;
} copying;

static void copy(void *context, int job, int worker)
{
    const copying *c = context;
    real *to = c->yardstick->memory + (size_t)job * c->yardstick->size;
    (void)worker;
    memcpy(to, to + c->count, c->count * sizeof *to);
}

double bench_copy(bench_yardstick *y, size_t count)
{
    copying c = {y, count};
    const double start = bench_now(y->options);
    rt_workers_run(y->workers, copy, &c, y->threads);
    return bench_now(y->options) - start;
}

double bench_peak_product(bench_yardstick *y)
{
    return bench_product(y, BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, BENCH_PEAK_SIZE, false, false);
}

size_t bench_peak_memory(void)
{
    return 3 * (size_t)BENCH_PEAK_SIZE * BENCH_PEAK_SIZE;
}

double bench_peak_flops(void)
{
    return 2.0 * BENCH_PEAK_SIZE * BENCH_PEAK_SIZE * BENCH_PEAK_SIZE;
}
