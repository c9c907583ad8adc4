#include "bench/bench.h"

#include "core/memory.h"
#include "ops/engine.h"
#include "ops/ops.h"
#include "train/step/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* A training step: forward, loss, backward, clipping, update. The arithmetic counted is that of
 * the matrix products of the model as written down: 6 for each weight of a linear map and each
 * token that passes it, 12 T C for each token and layer in attention. Its share is of the peak
 * that as many threads reach at once, measured in turns with the steps. */

enum { WARM_UP_STEPS = 3, FEWEST_ROUNDS = 5, ROOM = 32 };

static const double long_enough = 5;   /* seconds of measuring */
static const double long_round = 0.15; /* seconds of steps between two products */
static const double long_step = 0.05;  /* a step that does not feel whether the caches were warm */

typedef struct arithmetic {
    double all;  /* a step */
    double head; /* the part that is done at labelled positions only */
} arithmetic;

/* Tables that are looked up in, not multiplied by, do no arithmetic; the tied decoder does. */
static arithmetic arithmetic_of(const rt_config *c, const rt_transformer *m, double tokens)
{
    const rt_parameters *p = &m->parameters;
    double weights = 0, head = 0;
    for (int i = 0; i < p->count; i++) {
        const rt_tensor *t = &p->list[i]->tensor;
        if ((p->list[i]->role != RT_ROLE_WEIGHT && p->list[i]->role != RT_ROLE_MATRIX) ||
            t == m->embeddings.types || (t == m->embeddings.tokens && t != m->head.output.weight))
            continue;
        weights += (double)rt_size(t);
        if (m->head.output.weight && (t == m->head.dense.weight || t == m->head.output.weight))
            head += (double)rt_size(t);
    }
    return (arithmetic){6 * weights * tokens +
                            12.0 * c->data.length * c->model.dim * c->model.layers * tokens,
                        6 * head * tokens};
}

typedef struct usage {
    size_t requests;
    long faults;
    double resident; /* the most so far, in MB */
} usage;

static usage usage_now(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (usage){rt_memory_requests(), r.ru_minflt, (double)r.ru_maxrss / 1024};
}

typedef struct result {
    bench_times steps;
    bench_times round; /* the median step of a round */
    bench_times peak;
    size_t requests;
    long faults;
    double resident;
    double first; /* seconds from the start of the program to the end of the first step */
    rt_step_result last;
} result;

/* Steps between two products. The first finds the caches full of the product's matrices and
 * does not count, unless it is so long that this is nothing. */
static rt_status steps_of_round(const bench_options *o, rt_trainer *trainer, result *r)
{
    static bench_times times;
    rt_status status = rt_ok();
    double spent = 0;
    times.count = 0;
    for (int i = 0; !status.code && (spent < long_round || !times.count); i++) {
        const usage before = usage_now();
        const double start = bench_now(o);
        status = rt_trainer_step(trainer, &r->last);
        const double seconds = bench_now(o) - start;
        const usage after = usage_now();
        spent += seconds;
        if (!i && seconds < long_step)
            continue;
        r->requests += after.requests - before.requests;
        r->faults += after.faults - before.faults;
        bench_add(&r->steps, seconds);
        bench_add(&times, seconds);
    }
    bench_add(&r->round, bench_median(&times));
    return status;
}

static double monotonic_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static rt_status measure(const bench_options *o, rt_trainer *trainer, result *r)
{
    bench_rounds rounds = {.fewest = FEWEST_ROUNDS};
    bench_yardstick y = {0};
    rt_status status = rt_ok();
    for (int i = 0; i < WARM_UP_STEPS && !status.code; i++) {
        status = rt_trainer_step(trainer, &r->last);
        if (!i && o->since > 0)
            r->first = monotonic_now() - o->since;
    }
    r->resident = usage_now().resident; /* before the yardstick takes its own */
    if (!status.code)
        status = bench_yardstick_new(&y, o, rt_workers_count(rt_trainer_workers(trainer)),
                                     bench_peak_memory());
    if (!status.code)
        bench_peak_product(&y);
    while (!status.code && r->steps.count < BENCH_MOST_TIMES &&
           bench_next(&rounds, o, long_enough)) {
        bench_add(&r->peak, bench_peak_product(&y));
        status = steps_of_round(o, trainer, r);
    }
    bench_yardstick_free(&y);
    return status;
}

static void print(const bench_options *o, const rt_config *c, rt_trainer *trainer, const result *r)
{
    const rt_transformer *m = rt_trainer_state(trainer)->model;
    const int threads = rt_workers_count(rt_trainer_workers(trainer)), steps = r->steps.count;
    const arithmetic a = arithmetic_of(c, m, (double)r->last.tokens);
    const double seconds = bench_median(&r->steps), peak = bench_median(&r->peak);
    const double unit = threads * bench_peak_flops();
    const double share = 100 * a.all / unit * bench_ratio(&r->peak, &r->round);
    const double requests = (double)r->requests / steps, faults = (double)r->faults / steps;
    const double low = bench_quartile(&r->steps, 1), high = bench_quartile(&r->steps, 3);
    const size_t parameters = rt_parameters_count(&m->parameters);
    if (o->csv) {
        BENCH_ROW(o, true, BENCH_TEXT("kernels", 0, rt_engine_kernels()),
                  BENCH_NUMBER("threads", 0, 0, threads),
                  BENCH_NUMBER("parameters", 0, 0, (double)parameters),
                  BENCH_NUMBER("steps", 0, 0, steps), BENCH_NUMBER("ms", 0, 4, 1e3 * seconds),
                  BENCH_NUMBER("low", 0, 4, 1e3 * low), BENCH_NUMBER("high", 0, 4, 1e3 * high),
                  BENCH_NUMBER("tokens/s", 0, 0, (double)r->last.tokens / seconds),
                  BENCH_NUMBER("GFLOP/s", 0, 2, 1e-9 * a.all / seconds),
                  BENCH_NUMBER("peak GFLOP/s", 0, 2, 1e-9 * unit / peak),
                  BENCH_NUMBER("share %", 0, 1, share),
                  BENCH_NUMBER("head %", 0, 1, 100 * a.head / a.all),
                  BENCH_NUMBER("MB", 0, 1, r->resident), BENCH_NUMBER("requests", 0, 2, requests),
                  BENCH_NUMBER("faults", 0, 2, faults), BENCH_NUMBER("first s", 0, 4, r->first));
        return;
    }
    printf("step: %.3f ms (%.3f to %.3f, the middle half of %d), %.0f tokens/s, %d thread%s, "
           "%zu parameters\n",
           1e3 * seconds, 1e3 * low, 1e3 * high, steps, (double)r->last.tokens / seconds, threads,
           threads > 1 ? "s" : "", parameters);
    printf("rate: %.1f GFLOP/s, %.0f %% of %.1f GFLOP/s (gemm %d^3 on as many threads, %s, %s "
           "kernels %s)\n",
           1e-9 * a.all / seconds, share, 1e-9 * unit / peak, BENCH_PEAK_SIZE, RT_PRECISION,
           rt_engine_name(), rt_engine_kernels());
    printf("head: %.1f %% of the arithmetic, done at labelled positions only\n",
           100 * a.head / a.all);
    printf("memory: %.1f MB resident at most; %.2f requests to the heap and %.2f page faults a "
           "step\n",
           r->resident, requests, faults);
    if (r->first > 0)
        printf("start: %.3f s from the start of the program to the end of the first step\n",
               r->first);
}

rt_status bench_step(const bench_options *o, int argc, char **argv)
{
    if (argc < 1)
        return rt_error(RT_CONFIG, "step needs a CONFIG.ini");
    bench_training t = {.data = NULL};
    result *r = rt_alloc(1, sizeof *r);
    rt_status status = r ? rt_ok() : rt_out_of_memory("a benchmark");
    if (!status.code)
        status = bench_training_new(&t, o, argc, argv);
    if (!status.code && o->cpu && rt_workers_count(rt_trainer_workers(t.trainer)) > 1)
        status = rt_error(RT_CONFIG, "--cpu measures one thread; got %d threads",
                          rt_workers_count(rt_trainer_workers(t.trainer)));
    if (!status.code)
        status = measure(o, t.trainer, r);
    if (!status.code)
        print(o, &t.config, t.trainer, r);
    bench_training_free(&t);
    rt_free(r);
    return status;
}

/* Compares the gradients of another engine, or of bf16, with those of OpenBLAS in float: the same
 * parameters and the same batch, at the start and after some steps in float. */

enum { STEPS = 50 };

typedef struct comparison {
    double cosine;     /* of the two gradients */
    double difference; /* its norm, over that of the float gradient */
} comparison;

static comparison compare(const real *a, const real *b, size_t size)
{
    double aa = 0, bb = 0, ab = 0, dd = 0;
    for (size_t i = 0; i < size; i++) {
        const double x = (double)a[i], y = (double)b[i];
        aa += x * x;
        bb += y * y;
        ab += x * y;
        dd += (x - y) * (x - y);
    }
    return (comparison){ab / sqrt(aa * bb), sqrt(dd / aa)};
}

/* The gradient of the next batch, whose step is taken back. */
static rt_status differentiate(const bench_training *t, rt_engine engine, rt_math math,
                               real *gradient, rt_step_result *taken)
{
    rt_training_state *state = rt_trainer_state(t->trainer);
    const rt_parameters *p = &state->model->parameters;
    const size_t bytes = p->block_size * sizeof(real);
    real *values = rt_alloc(p->block_size, sizeof *values);
    if (!values)
        return rt_out_of_memory("a benchmark");
    memcpy(values, p->values, bytes);
    rt_status status = rt_engine_use(engine, math);
    if (!status.code)
        status = rt_trainer_step(t->trainer, taken);
    memcpy(gradient, p->grads, bytes);
    memcpy(p->values, values, bytes);
    state->step--;
    rt_free(values);
    return status;
}

static void print_comparison(const bench_options *o, const bench_training *t, int step,
                             const real *exact, const real *other, const rt_step_result *results)
{
    const rt_parameters *p = &rt_trainer_state(t->trainer)->model->parameters;
    const comparison all = compare(exact, other, p->block_size);
    comparison worst = {1, 0}, theta = {1, 0};
    const char *name = "";
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *q = p->list[i];
        const comparison c = compare(exact + q->offset, other + q->offset, rt_size(&q->tensor));
        if (c.cosine < worst.cosine) {
            worst = c;
            name = q->name;
        }
        if (q->role == RT_ROLE_THETA && c.difference > theta.difference)
            theta = c;
    }
    BENCH_ROW(o, !step, BENCH_NUMBER("step", 5, 0, step + 1),
              BENCH_NUMBER("loss", 9, 5, results[0].loss),
              BENCH_NUMBER("difference", 11, 6, results[1].loss - results[0].loss),
              BENCH_NUMBER("cosine", 10, 6, all.cosine),
              BENCH_NUMBER("error", 9, 5, all.difference),
              BENCH_NUMBER("theta's error", 14, 5, theta.difference),
              BENCH_NUMBER("worst cosine", 13, 6, worst.cosine), BENCH_TEXT("of", 40, name));
}

static rt_status compare_step(const bench_options *o, const bench_training *t, int step)
{
    const size_t size = rt_trainer_state(t->trainer)->model->parameters.block_size;
    const rt_run_options *run = &t->config.run;
    rt_step_result results[2];
    real *exact = rt_alloc(size, sizeof *exact), *other = rt_alloc(size, sizeof *other);
    rt_status status = exact && other ? rt_ok() : rt_out_of_memory("a benchmark");
    if (!status.code)
        status = differentiate(t, RT_ENGINE_OPENBLAS, RT_MATH_FLOAT, exact, results);
    if (!status.code)
        status = differentiate(t, run->engine, run->math, other, results + 1);
    if (!status.code)
        print_comparison(o, t, step, exact, other, results);
    rt_free(exact);
    rt_free(other);
    return status;
}

rt_status bench_math(const bench_options *o, int argc, char **argv)
{
    bench_training t = {.data = NULL};
    rt_step_result ignored;
    if (argc < 1)
        return rt_error(RT_CONFIG, "math needs a CONFIG.ini");
    if (o->world)
        return rt_error(RT_CONFIG, "math compares the gradients of one process");
    rt_status status = bench_training_new(&t, o, argc, argv);
    if (!status.code)
        status = compare_step(o, &t, 0);
    if (!status.code)
        status = rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT);
    for (int i = 0; i < STEPS && !status.code; i++)
        status = rt_trainer_step(t.trainer, &ignored);
    if (!status.code)
        status = compare_step(o, &t, STEPS);
    bench_training_free(&t);
    return status;
}
