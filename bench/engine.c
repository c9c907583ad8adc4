#include "bench/bench.h"

#include "core/memory.h"
#include "train/run/kernels.h"

#include <stdio.h>

/* The engine that a training step takes less time with, by the width of the model. Steps of both
 * alternate in a round, with the same batches; ratios are of the steps of a round. */

enum { WARM_UP = 2, FEWEST = 7, HEAD = 16 };

static const double long_enough = 4;  /* seconds */
static const double long_round = 0.1; /* seconds of steps with each engine */

static const int widths[] = {16, 32, 64, 128, 256, 512};
enum { WIDTHS = sizeof widths / sizeof *widths };

static const char *const names[] = {"OpenBLAS", "oneDNN"};
static const rt_engine engines[] = {RT_ENGINE_OPENBLAS, RT_ENGINE_ONEDNN};

/* Returns the median time of a step of a round. */
static double measure_steps(rt_trainer *trainer, rt_engine engine)
{
    bench_times times = {.count = 0};
    rt_step_result result;
    bench_need(rt_engine_use(engine, RT_MATH_FLOAT));
    bench_need(rt_trainer_step(trainer, &result)); /* finds the caches as the other left them */
    for (double spent = 0; spent < long_round;) {
        const double start = bench_now();
        bench_need(rt_trainer_step(trainer, &result));
        const double seconds = bench_now() - start;
        bench_add(&times, NULL, seconds);
        spent += seconds;
    }
    return bench_median(&times);
}

/* Measures a width and prints its row. Returns whether oneDNN took less time in three quarters of
 * the rounds. */
static bool measure_width(int width)
{
    static bench_times times[2];
    char dim[32], heads[32];
    snprintf(dim, sizeof dim, "model.dim=%d", width);
    snprintf(heads, sizeof heads, "model.heads=%d", width / HEAD);
    bench_training *t = bench_training_new(bench.threads, (const char *[]){dim, heads, NULL});
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST, .seconds = long_enough};
    times[0].count = times[1].count = 0;
    while (bench_next(&rounds))
        for (int i = 0; i < 2; i++)
            bench_add(&times[i], &rounds, measure_steps(t->trainer, engines[i]));
    bench_training_free(t);
    const bench_times ratios = bench_ratios(&times[0], &times[1]);
    BENCH_ROW(width == widths[0], BENCH_NUMBER("width", 5, 0, width),
              BENCH_NUMBER("rounds", 6, 0, ratios.count),
              BENCH_NUMBER(names[0], 9, 3, 1e3 * bench_median(&times[0])),
              BENCH_NUMBER(names[1], 9, 3, 1e3 * bench_median(&times[1])),
              BENCH_TIMES("ratio", 6, 3, 1, &ratios));
    return bench_quartile(&ratios, 1) > 1;
}

void bench_engine(void)
{
    char processor[RT_PROCESSOR_SIZE];
    int from = 0; /* the width from which oneDNN took less time, 0 for none */
    bench_need(rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_FLOAT));
    for (int i = 0; i < WIDTHS; i++) {
        const bool faster = measure_width(widths[i]);
        from = !faster ? 0 : from ? from : widths[i];
    }
    rt_kernels_processor(processor);
    if (!bench.csv && rt_onednn_is_faster("", rt_row_set_widest(), rt_openblas_kernels(), 0))
        printf("no row: OpenBLAS has faster kernels than %s; set OPENBLAS_CORETYPE\n",
               rt_openblas_kernels());
    else if (!bench.csv && from)
        printf("{\"%s\", %d},\n", processor, from);
    else if (!bench.csv)
        printf("no row: OpenBLAS takes less time on %s\n", processor);
}
