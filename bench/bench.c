#include "bench/bench.h"

#include "core/memory.h"
#include "ops/gemm.h"
#include "text/number.h"
#include "train/step/observers.h"
#include "train/step/workers.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 256, LARGEST_SIZE = 1 << 26 };

/* ---- options ---- */

static const char *const engines[] = {RT_ENGINES(RT_CHOICE_WORD) NULL};
static const char *const maths[] = {RT_MATHS(RT_CHOICE_WORD) NULL};

static bool takes_value(const char *name)
{
    static const char *const all[] = {"--threads", "--seconds", "--since", "--engine", "--math"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(name, all[i]))
            return true;
    return false;
}

static int choice_of(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    return -1;
}

static bool set_value(bench_options *o, const char *name, const char *text)
{
    int64_t whole;
    const int engine = choice_of(text, engines), math = choice_of(text, maths);
    if (!strcmp(name, "--engine")) {
        o->engine = (rt_engine)engine;
        return engine >= 0;
    }
    if (!strcmp(name, "--math")) {
        o->math = (rt_math)math;
        return math >= 0;
    }
    if (!strcmp(name, "--seconds"))
        return rt_number_read(text, &o->seconds) && o->seconds > 0;
    if (!strcmp(name, "--since"))
        return rt_number_read(text, &o->since) && o->since > 0;
    if (!rt_whole_read(text, &whole) || whole < 1 || whole > MOST_THREADS)
        return false;
    o->threads = (int)whole;
    return true;
}

static const char *wanted_by(const char *name)
{
    return !strcmp(name, "--engine") ? "openblas or onednn"
           : !strcmp(name, "--math") ? "float or bf16"
                                     : "a number above 0";
}

rt_status bench_options_take(bench_options *o, int *argc, char **argv)
{
    int left = 0;
    for (int i = 0; i < *argc; i++) {
        const char *name = argv[i];
        if (strncmp(name, "--", 2))
            argv[left++] = argv[i];
        else if (!strcmp(name, "--csv"))
            o->csv = true;
        else if (!strcmp(name, "--cpu"))
            o->cpu = true;
        else if (!takes_value(name))
            return rt_error(RT_CONFIG, "unknown option '%s'; bench --help lists them", name);
        else if (++i == *argc || !set_value(o, name, argv[i]))
            return rt_error(RT_CONFIG, "%s needs %s; got '%s'", name, wanted_by(name),
                            i < *argc ? argv[i] : "");
    }
    *argc = left;
    if (o->cpu && o->threads > 1)
        return rt_error(RT_CONFIG, "--cpu measures one thread; got --threads %d", o->threads);
    return rt_ok();
}

/* ---- sizes ---- */

static int place_of(const char *argument, const char *const *names)
{
    const size_t length = strcspn(argument, "=");
    int i = 0;
    while (names[i] && (strlen(names[i]) != length || strncmp(names[i], argument, length)))
        i++;
    return argument[length] && names[i] ? i : -1;
}

rt_status bench_sizes(int argc, char **argv, const char *const *names, int *values)
{
    for (int a = 0; a < argc; a++) {
        const int i = place_of(argv[a], names);
        int64_t whole;
        if (i < 0)
            return rt_error(RT_CONFIG,
                            "'%s' is no NAME=NUMBER of this benchmark; bench --help lists them",
                            argv[a]);
        if (!rt_whole_read(strchr(argv[a], '=') + 1, &whole) || whole < 1 || whole > LARGEST_SIZE)
            return rt_error(RT_CONFIG, "%s must be a whole number from 1 to %d; got '%s'", names[i],
                            LARGEST_SIZE, strchr(argv[a], '=') + 1);
        values[i] = (int)whole;
    }
    return rt_ok();
}

rt_status bench_one_thread(const bench_options *o)
{
    if (o->threads > 1)
        return rt_error(RT_CONFIG, "this benchmark has one thread; --threads is for peak and step");
    return rt_ok();
}

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

enum { CELL_SIZE = 64 };

static void print_cell(const bench_options *o, int i, int width, const char *text)
{
    if (o->csv)
        printf("%s%s", i ? "," : "", text);
    else
        printf("%s%*s", i ? "  " : "", width, text);
}

void bench_row(const bench_options *o, bool first, const bench_cell *cells, int count)
{
    for (int i = 0; first && i < count; i++)
        print_cell(o, i, cells[i].width, cells[i].heading);
    if (first)
        putchar('\n');
    for (int i = 0; i < count; i++) {
        char number[CELL_SIZE] = "";
        if (!cells[i].text && !isnan(cells[i].number))
            snprintf(number, sizeof number, "%.*f", cells[i].digits, cells[i].number);
        print_cell(o, i, cells[i].width, cells[i].text ? cells[i].text : number);
    }
    putchar('\n');
    fflush(stdout);
}

enum { SETTING_SIZE = 32 };

static rt_status load_config(rt_config *config, const bench_options *o, int argc, char **argv)
{
    char threads[SETTING_SIZE], *errors = NULL;
    const char **settings = rt_alloc((size_t)argc + 1, sizeof *settings);
    if (!settings)
        return rt_out_of_memory("the configuration");
    for (int i = 1; i < argc; i++)
        settings[i - 1] = argv[i];
    snprintf(threads, sizeof threads, "run.threads=%d", o->threads);
    settings[argc - 1] = threads;
    const rt_config_source source = {.path = argv[0],
                                     .overrides = settings,
                                     .override_count = argc - 1 + (o->threads > 0)};
    const rt_status status = rt_config_load(config, &source, &errors);
    rt_free(errors);
    rt_free(settings);
    return status;
}

rt_status bench_training_new(bench_training *t, const bench_options *o, int argc, char **argv)
{
    rt_status status = load_config(&t->config, o, argc, argv);
    if (!status.code)
        status = rt_engine_use(t->config.run.engine, t->config.run.math);
    if (!status.code)
        status = rt_data_open(&t->data, &t->config.data, NULL);
    status = rt_world_agree(o->world, status);
    return status.code ? status
                       : rt_trainer_new(&t->trainer, &t->config, t->data,
                                        &(rt_trainer_options){.world = o->world});
}

void bench_training_free(bench_training *t)
{
    rt_trainer_free(t->trainer);
    rt_data_close(t->data);
}
