#include "bench/bench.h"

#include "core/memory.h"
#include "ops/engine.h"
#include "ops/ops.h"
#include "train/run/kernels.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* A training step: forward, loss, backward, clipping, update. The arithmetic counted is that of the
 * matrix products in the formulas of the model: 6 for each weight of a linear map and each token,
 * 12 T C for each token and layer in attention. The share is relative to the peak of as many
 * threads, measured alternately with the steps. */

enum { WARM_UP_STEPS = 3, FEWEST_ROUNDS = 5 };

static const double long_enough = 5;   /* seconds of measuring */
static const double long_round = 0.15; /* seconds of steps between two products */
static const double long_step =
    0.05; /* a step so long that the state of the caches does not matter */

/* Counts the operations of a step; `head` is the part at labelled positions only. Tables that are
 * only looked up count nothing; a tied output layer counts. */
static double arithmetic_of(const bench_training *training, double tokens, double *head)
{
    const rt_config *c = &training->config;
    const rt_transformer *m = training->model;
    double weights = 0, of_head = 0;
    for (int i = 0; i < m->parameters.count; i++) {
        const rt_parameter *p = m->parameters.list[i];
        const rt_tensor *t = &p->tensor;
        if ((p->role != RT_ROLE_WEIGHT && p->role != RT_ROLE_MATRIX) || t == m->embeddings.types ||
            (t == m->embeddings.tokens && t != m->head.output.weight))
            continue;
        weights += (double)rt_size(t);
        if (m->head.output.weight && (t == m->head.dense.weight || t == m->head.output.weight))
            of_head += (double)rt_size(t);
    }
    *head = 6 * of_head * tokens;
    return 6 * weights * tokens + 12.0 * c->data.length * c->model.dim * c->model.layers * tokens;
}

static struct rusage usage_now(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r;
}

/* Times of all steps, and of each round the median step and the product. */
static bench_times steps, medians, peaks;
static rt_step_result last;
static size_t requests; /* heap requests in the counted steps; then page faults */
static long faults;

/* Measures steps between two products. The first finds the caches full of the product's matrices
 * and does not count, unless it is so long that this does not matter. */
static void measure_round(rt_trainer *trainer)
{
    bench_times times = {.count = 0};
    double spent = 0;
    for (int i = 0; spent < long_round || !times.count; i++) {
        const size_t requests_before = rt_memory_requests();
        const long faults_before = usage_now().ru_minflt;
        const double start = bench_now();
        bench_need(rt_trainer_step(trainer, &last));
        const double seconds = bench_now() - start;
        spent += seconds;
        if (!i && seconds < long_step)
            continue;
        requests += rt_memory_requests() - requests_before;
        faults += usage_now().ru_minflt - faults_before;
        bench_add(&steps, NULL, seconds);
        bench_add(&times, NULL, seconds);
    }
    bench_add(&medians, NULL, bench_median(&times));
}

/* Prints the results. The peak is that of the product of BENCH_PEAK_SIZE^3 on as many threads;
 * `head` is the arithmetic at labelled positions only; `resident` is in MB, requests to the heap
 * and page faults are those of a step. `first` is the time from the start of the program to the end
 * of the first step in seconds, 0 without --since. */
static void print(const bench_training *t, double first, double resident)
{
    double head;
    const int threads = t->threads, count = steps.count;
    const double tokens = (double)last.tokens, all = arithmetic_of(t, tokens, &head);
    const double seconds = bench_median(&steps), unit = threads * BENCH_PEAK_FLOPS;
    const double peak = unit / bench_median(&peaks);
    const double share = 100 * all / unit * bench_ratio(&peaks, &medians);
    const double requested = (double)requests / count, faulted = (double)faults / count;
    const size_t parameters = rt_parameters_count(&t->model->parameters);
    BENCH_LIST(BENCH_TEXT("kernels", 0, rt_engine_kernels()),
               BENCH_NUMBER("threads", 0, 0, threads),
               BENCH_NUMBER("parameters", 0, 0, (double)parameters),
               BENCH_NUMBER("steps", 0, 0, count), BENCH_TIMES("ms", 0, 4, 1e3, &steps),
               BENCH_NUMBER("tokens/s", 0, 0, tokens / seconds),
               BENCH_NUMBER("GFLOP/s", 0, 2, 1e-9 * all / seconds),
               BENCH_NUMBER("peak GFLOP/s", 0, 2, 1e-9 * peak),
               BENCH_NUMBER("share %", 0, 1, share), BENCH_NUMBER("head %", 0, 1, 100 * head / all),
               BENCH_NUMBER("MB", 0, 1, resident), BENCH_NUMBER("requests", 0, 2, requested),
               BENCH_NUMBER("faults", 0, 2, faulted), BENCH_NUMBER("first s", 0, 4, first));
}

void bench_step(void)
{
    bench_rounds rounds = {.fewest = FEWEST_ROUNDS, .seconds = long_enough};
    bench_training *t = bench_training_new(bench.threads, NULL);
    if (bench.cpu && t->threads > 1)
        bench_need(rt_error(RT_CONFIG, "--cpu measures one thread; got %d threads", t->threads));
    struct timespec now = {0, 0}; /* end of the first step */
    for (int i = 0; i < WARM_UP_STEPS; i++) {
        bench_need(rt_trainer_step(t->trainer, &last));
        if (!i)
            clock_gettime(CLOCK_MONOTONIC, &now);
    }
    const double end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    const double resident = (double)usage_now().ru_maxrss / 1024; /* MB, without the yardstick */
    bench_yardstick y = bench_yardstick_new(t->threads, 0);
    bench_yardstick_time(&y);
    while (steps.count < BENCH_MOST_TIMES && bench_next(&rounds)) {
        bench_add(&peaks, NULL, bench_yardstick_time(&y));
        measure_round(t->trainer);
    }
    bench_yardstick_free(&y);
    print(t, bench.since > 0 ? end - bench.since : 0, resident);
    bench_training_free(t);
}

/* Gradients of another engine, or of bf16, compared with those of OpenBLAS in float: with the same
 * parameters and the same batch, at the start and after some steps in float. */

enum { STEPS = 50 };

typedef struct comparison {
    double cosine;     /* of the two gradients */
    double difference; /* norm of the difference, over that of the float gradient */
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

/* Returns the gradient of the next batch, which the caller frees. The step is undone. */
static real *differentiate(const bench_training *t, rt_engine engine, rt_math math,
                           rt_step_result *taken)
{
    const rt_parameters *p = &t->model->parameters;
    const size_t bytes = p->block_size * sizeof(real);
    real *values = bench_alloc(p->block_size, sizeof *values);
    real *gradient = bench_alloc(p->block_size, sizeof *gradient);
    memcpy(values, p->values, bytes);
    bench_need(rt_engine_use(engine, math));
    bench_need(rt_trainer_step(t->trainer, taken));
    memcpy(gradient, p->grads, bytes);
    memcpy(p->values, values, bytes);
    rt_trainer_state(t->trainer)->step--;
    rt_free(values);
    return gradient;
}

static void compare_step(const bench_training *t, int step)
{
    const rt_run_options *run = &t->config.run;
    const rt_parameters *p = &t->model->parameters;
    rt_step_result results[2];
    real *exact = differentiate(t, RT_ENGINE_OPENBLAS, RT_MATH_FLOAT, results);
    real *other = differentiate(t, rt_kernels_engine(&t->config, ""), run->math, results + 1);
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
    BENCH_ROW(!step, BENCH_NUMBER("step", 5, 0, step + 1),
              BENCH_NUMBER("loss", 9, 5, results[0].loss),
              BENCH_NUMBER("difference", 11, 6, results[1].loss - results[0].loss),
              BENCH_NUMBER("cosine", 10, 6, all.cosine),
              BENCH_NUMBER("error", 9, 5, all.difference),
              BENCH_NUMBER("theta's error", 14, 5, theta.difference),
              BENCH_NUMBER("worst cosine", 13, 6, worst.cosine), BENCH_TEXT("of", 40, name));
    rt_free(exact);
    rt_free(other);
}

void bench_math(void)
{
    if (bench.world)
        bench_need(rt_error(RT_CONFIG, "math compares the gradients of one process"));
    bench_training *t = bench_training_new(bench.threads, NULL);
    compare_step(t, 0);
    bench_need(rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT));
    for (int i = 0; i < STEPS; i++)
        bench_need(rt_trainer_step(t->trainer, &last));
    compare_step(t, STEPS);
    bench_training_free(t);
}
