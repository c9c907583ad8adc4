#include "bench/bench.h"

#include "core/memory.h"

#include <math.h>

/* A step on several processes, started by mpirun, the bytes that it sends, and the speed of a
 * connection. */

enum { ROUNDS = 200, LARGE_ROUNDS = 12, SMALL = 8 };

static const size_t large = (size_t)8 << 20; /* bytes of a message that measures the bandwidth */

/* Returns the median seconds of a message between processes 0 and 1, which send to each other at
 * once. */
static double measure_way(size_t bytes, int rounds, char *memory)
{
    const int rank = rt_world_rank(bench.world);
    const rt_parcel to = {!rank, memory, bytes}, from = {!rank, memory + large, bytes};
    bench_times times = {.count = 0};
    for (int i = 0; i < rounds; i++) {
        const double start = bench_now();
        rt_world_exchange(bench.world, &to, rank < 2, &from, rank < 2);
        bench_add(&times, NULL, bench_now() - start);
    }
    return bench_median(&times);
}

/* Prints the step and the connection: `sent` bytes a step by the process that sends most, and the
 * least possible; the latency and the rate of messages each way. */
static void print_world(const bench_training *t, const bench_times *steps, double tokens,
                        double sent, double latency, double rate)
{
    const double processes = rt_world_size(bench.world), step = bench_median(steps);
    const double gradients = (double)t->model->parameters.block_size * sizeof(real);
    const double least = 2 * (processes - 1) / processes * gradients;
    BENCH_LIST(BENCH_NUMBER("processes", 0, 0, processes),
               BENCH_NUMBER("threads", 0, 0, t->threads), BENCH_TIMES("ms", 0, 4, 1e3, steps),
               BENCH_NUMBER("tokens/s", 0, 0, tokens / step),
               BENCH_NUMBER("sent MB", 0, 4, 1e-6 * sent),
               BENCH_NUMBER("least MB", 0, 4, 1e-6 * least),
               BENCH_NUMBER("gradient MB", 0, 1, 1e-6 * gradients),
               BENCH_NUMBER("latency us", 0, 2, 1e6 * latency),
               BENCH_NUMBER("GB/s", 0, 3, 1e-9 * rate));
}

void bench_world(void)
{
    static bench_times steps;
    bench_rounds rounds = {.warm_up = 3, .fewest = 8, .seconds = 5};
    rt_step_result last;
    rt_status status = rt_ok();
    if (!bench.world)
        bench_need(rt_error(RT_CONFIG, "world needs several processes: mpirun -n 2 bench world "
                                       "CONFIG.ini"));
    char *memory = rt_alloc(2 * large, 1);
    bench_need(rt_world_agree(bench.world, memory ? rt_ok() : rt_out_of_memory("a benchmark")));
    bench_training *t = bench_training_new(bench.threads, NULL);
    const double latency = measure_way(SMALL, ROUNDS, memory);
    const double rate = (double)large / measure_way(large, LARGE_ROUNDS, memory);
    const double before = rt_world_sent(bench.world);
    rt_free(memory);
    if (rt_world_rank(bench.world))
        rt_trainer_serve(t->trainer, NULL);
    while (!rt_world_rank(bench.world) && !status.code && bench_next(&rounds)) {
        const double start = bench_now();
        status = rt_trainer_step(t->trainer, &last);
        bench_add(&steps, &rounds, bench_now() - start);
    }
    rt_trainer_dismiss(t->trainer);
    bench_need(status);
    /* Bytes per step of the process that has sent most. */
    const int size = rt_world_size(bench.world), rank = rt_world_rank(bench.world);
    double sent[size], most = 0;
    sent[rank] = rt_world_sent(bench.world) - before;
    rt_world_gather(bench.world, sent, NULL, sizeof *sent);
    for (int i = 0; i < size; i++)
        most = fmax(most, sent[i] / (double)rt_trainer_state(t->trainer)->step);
    if (!rank)
        print_world(t, &steps, (double)last.tokens, most, latency, rate);
    bench_training_free(t);
}
