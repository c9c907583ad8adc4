#include "bench/measure.h"

#include "core/memory.h"
#include "train/batch_loss.h"
#include "train/progress.h"
#include "train/trainer.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* A training step: forward, loss, backward, clipping, update. The arithmetic counted is that of
 * the matrix products of the model as written down: 6 for each weight of a linear map and each
 * token that passes it, 12 T C for each token and layer in attention. Its share is of the peak
 * measured in the same run, times the threads. */

enum { WARM_UP = 5, FEWEST_RUNS = 20 };

static const double long_enough = 5; /* seconds of measuring a step */

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

static long page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static rt_status measure(const rt_config *c, rt_trainer *trainer)
{
    static bench_times times;
    rt_step_result result = {0};
    rt_status status = rt_ok();
    for (int i = 0; i < WARM_UP && !status.code; i++)
        status = rt_trainer_step(trainer, &result);
    const size_t requests = rt_memory_requests();
    const long faults = page_faults();
    const double begin = rt_seconds();
    while (!status.code && times.count < BENCH_MOST_TIMES &&
           (times.count < FEWEST_RUNS || rt_seconds() - begin < long_enough)) {
        const double start = rt_seconds();
        status = rt_trainer_step(trainer, &result);
        bench_add(&times, rt_seconds() - start);
    }
    if (status.code)
        return status;
    const size_t new_requests = rt_memory_requests() - requests;
    const long new_faults = page_faults() - faults;
    const double seconds = bench_median(&times), peak = bench_peak();
    const rt_roformer *model = rt_trainer_state(trainer)->model;
    const int threads = rt_trainer_threads(trainer);
    const double rate = 1e-9 * flops_of_step(c, model, (double)result.tokens) / seconds;
    printf("step: %.3f ms (%.3f to %.3f, the middle half of %d), %.0f tokens/s, %d threads, "
           "%zu parameters\n",
           1e3 * seconds, 1e3 * bench_quartile(&times, 1), 1e3 * bench_quartile(&times, 3),
           times.count, (double)result.tokens / seconds, threads,
           rt_parameters_count(&model->parameters));
    printf("rate: %.1f GFLOP/s, %.0f %% of %d x %.1f GFLOP/s (gemm %d^3, one thread, %s)\n", rate,
           100 * rate / (peak * threads), threads, peak, BENCH_PEAK_SIZE, RT_PRECISION);
    printf("heap: %zu requests and %.1f page faults a step\n", new_requests / (size_t)times.count,
           (double)new_faults / times.count);
    return status;
}

rt_status bench_step(int argc, char **argv)
{
    if (argc < 1)
        return rt_error(RT_CONFIG, "step needs a CONFIG.ini");
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
        status = measure(&config, trainer);
    rt_trainer_free(trainer);
    rt_data_close(data);
    return status;
}
