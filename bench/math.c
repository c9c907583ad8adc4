#include "bench/commands.h"
#include "bench/table.h"
#include "bench/training.h"
#include "core/memory.h"
#include "ops/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What another engine, or bf16, does to a gradient: the same parameters and the same batch, by
 * OpenBLAS in float and as the configuration says; at the start and after some steps in float. */

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
                               real *gradient, rt_step_result *result)
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
        status = rt_trainer_step(t->trainer, result);
    memcpy(gradient, p->grads, bytes);
    memcpy(p->values, values, bytes);
    state->step--;
    rt_free(values);
    return status;
}

static void print(const bench_options *o, const bench_training *t, int step, const real *exact,
                  const real *other, const rt_step_result *results)
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
        print(o, t, step, exact, other, results);
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
