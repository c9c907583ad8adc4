/* Measures speed:
 *
 *     bench peak                                     what sgemm reaches here, one thread
 *     bench step CONFIG.ini [section.key=value ...]  a training step: forward, loss, backward,
 *                                                    clipping, update
 *
 * Times are medians after a warm-up. The arithmetic counted for a step is that of the matrix
 * products of the model as written down: 6 for each weight of a linear map and each token that
 * passes it, 12 T C for each token and layer in attention. Its share is of the peak measured
 * in the same run, times the threads.
 */

#include "core/memory.h"
#include "ops/gemm.h"
#include "train/progress.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 5, LARGEST = 1024, PEAK_RUNS = 15, FEWEST_RUNS = 20, MOST_RUNS = 2000 };

static const double long_enough = 5; /* seconds of measuring a step */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the times. */
static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

/* GFLOP/s of one thread; 0 when the heap is exhausted. */
static double measure_peak(void)
{
    double times[PEAK_RUNS];
    const size_t size = (size_t)LARGEST * LARGEST;
    real *a = rt_alloc(size, sizeof *a), *b = rt_alloc(size, sizeof *b);
    real *c = rt_alloc(size, sizeof *c);
    const rt_operand x = {a, LARGEST, false}, y = {b, LARGEST, false};
    for (int i = -2; a && b && c && i < PEAK_RUNS; i++) {
        const double start = rt_seconds();
        rt_gemm(LARGEST, LARGEST, LARGEST, 1, x, y, 0, c, LARGEST);
        if (i >= 0)
            times[i] = rt_seconds() - start;
    }
    const double peak =
        a && b && c ? 2e-9 * LARGEST * LARGEST * LARGEST / median(times, PEAK_RUNS) : 0;
    rt_free(a);
    rt_free(b);
    rt_free(c);
    return peak;
}

/* Tables that are looked up in, not multiplied by, do no arithmetic; the tied decoder does. */
static double flops_of_step(const rt_config *c, const rt_roformer *m, double tokens)
{
    const rt_parameters *p = &m->parameters;
    double weights = 0;
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->role == RT_ROLE_WEIGHT && &p->list[i]->tensor != m->types &&
            (&p->list[i]->tensor != m->words || m->words == m->decoder.weight))
            weights += (double)rt_size(&p->list[i]->tensor);
    return 6 * weights * tokens + 12.0 * c->data.length * c->model.dim * c->model.layers * tokens;
}

static rt_status measure_step(const rt_config *c, rt_trainer *trainer)
{
    static double times[MOST_RUNS];
    rt_step_result result = {0};
    rt_status status = rt_ok();
    int count = 0;
    for (int i = 0; i < WARM_UP && !status.code; i++)
        status = rt_trainer_step(trainer, &result);
    const double begin = rt_seconds();
    while (!status.code && count < MOST_RUNS &&
           (count < FEWEST_RUNS || rt_seconds() - begin < long_enough)) {
        const double start = rt_seconds();
        status = rt_trainer_step(trainer, &result);
        times[count++] = rt_seconds() - start;
    }
    if (status.code)
        return status;
    const double seconds = median(times, count), peak = measure_peak();
    const int threads = rt_trainer_threads(trainer);
    const double rate =
        1e-9 * flops_of_step(c, rt_trainer_state(trainer)->model, (double)result.tokens) / seconds;
    printf("step: %.3f ms (%.3f to %.3f, the middle half of %d), %.0f tokens/s, %d threads\n",
           1e3 * seconds, 1e3 * times[count / 4], 1e3 * times[count * 3 / 4], count,
           (double)result.tokens / seconds, threads);
    printf("rate: %.1f GFLOP/s, %.0f %% of %d x %.1f GFLOP/s (gemm %d^3, one thread, %s)\n", rate,
           100 * rate / (peak * threads), threads, peak, LARGEST, RT_PRECISION);
    return status;
}

static rt_status bench_step(int argc, char **argv)
{
    const rt_config_source source = {.path = argv[0],
                                     .overrides = (const char *const *)argv + 1,
                                     .override_count = argc - 1};
    rt_config config;
    rt_data *data = NULL;
    rt_trainer *trainer = NULL;
    char *errors = NULL;
    rt_status status = rt_config_load(&config, &source, &errors);
    rt_free(errors);
    if (!status.code)
        status = rt_data_open(&data, &config.data);
    if (!status.code)
        status = rt_trainer_new(&trainer, &config, data);
    if (!status.code)
        status = measure_step(&config, trainer);
    rt_trainer_free(trainer);
    rt_data_close(data);
    return status;
}

int main(int argc, char **argv)
{
    rt_status status = rt_ok();
    if (argc == 2 && !strcmp(argv[1], "peak"))
        printf("peak: %.1f GFLOP/s (gemm %d^3, one thread, %s)\n", measure_peak(), LARGEST,
               RT_PRECISION);
    else if (argc >= 3 && !strcmp(argv[1], "step"))
        status = bench_step(argc - 2, argv + 2);
    else
        status = rt_error(RT_CONFIG,
                          "usage: bench peak | bench step CONFIG.ini [section.key=value ...]");
    if (status.code)
        fprintf(stderr, "bench: %s\n", status.message);
    return status.code ? 2 : 0;
}
