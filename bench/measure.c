#include "bench/measure.h"

#include "core/memory.h"
#include "ops/gemm.h"
#include "train/number.h"
#include "train/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEAK_RUNS = 15 };

void bench_add(bench_times *t, double seconds)
{
    if (t->count < BENCH_MOST_TIMES)
        t->seconds[t->count++] = seconds;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quartile(bench_times *t, int quarter)
{
    qsort(t->seconds, (size_t)t->count, sizeof *t->seconds, ascending);
    const int i = t->count * quarter / 4;
    return t->count ? t->seconds[i < t->count ? i : t->count - 1] : 0;
}

double bench_median(bench_times *t)
{
    return bench_quartile(t, 2);
}

/* Memory that is made once and kept: fresh pages would be measured otherwise. */
static real *kept(size_t size)
{
    static real *memory;
    static size_t have;
    if (size > have) {
        rt_free(memory);
        memory = rt_alloc(size, sizeof *memory);
        have = memory ? size : 0;
    }
    return memory;
}

double bench_time_gemm(int size)
{
    const size_t n = (size_t)size * (size_t)size;
    real *m = kept(3 * n);
    if (!m)
        return 0;
    const double start = rt_seconds();
    rt_gemm(size, size, size, 1, (rt_operand){m, size, false}, (rt_operand){m + n, size, false}, 0,
            m + 2 * n, size);
    return rt_seconds() - start;
}

double bench_time_copy(size_t size)
{
    real *m = kept(2 * size);
    if (!m)
        return 0;
    const double start = rt_seconds();
    memcpy(m, m + size, size * sizeof *m);
    return rt_seconds() - start;
}

double bench_peak(void)
{
    static bench_times t;
    const double flops = 2.0 * BENCH_PEAK_SIZE * BENCH_PEAK_SIZE * BENCH_PEAK_SIZE;
    t.count = 0;
    for (int i = -2; i < PEAK_RUNS; i++) {
        const double seconds = bench_time_gemm(BENCH_PEAK_SIZE);
        if (i >= 0)
            bench_add(&t, seconds);
    }
    return 1e-9 * flops / bench_median(&t);
}

static bool watches(const bench_watch *w, const rt_node *n)
{
    return !w->op || !strcmp(w->op, n->op->name);
}

static void before(void *context, const rt_node *n, bool backward)
{
    bench_watch *w = context;
    (void)backward;
    if (watches(w, n))
        w->start = rt_seconds();
}

static void after(void *context, const rt_node *n, bool backward)
{
    bench_watch *w = context;
    if (watches(w, n))
        w->seconds[backward] += rt_seconds() - w->start;
}

rt_observer bench_watch_observer(bench_watch *w)
{
    return (rt_observer){before, after, w};
}

rt_status bench_sizes(int argc, char **argv, const char *const *names, int *values)
{
    for (int a = 0; a < argc; a++) {
        const size_t length = strcspn(argv[a], "=");
        int64_t whole;
        int i = 0;
        while (names[i] && (strlen(names[i]) != length || strncmp(names[i], argv[a], length)))
            i++;
        if (!names[i] || !argv[a][length] || !rt_whole_read(argv[a] + length + 1, &whole) ||
            whole < 1 || whole > 1 << 24)
            return rt_error(RT_CONFIG,
                            "'%s' is no NAME=NUMBER of this benchmark; its names begin "
                            "with %s",
                            argv[a], names[0]);
        values[i] = (int)whole;
    }
    return rt_ok();
}
