#include "bench/bench.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>

/* A step on several processes, started by mpirun: the bytes sent, the speed of a connection, and a
 * model of a step on more processes and other networks. In the model, a process computes its shards
 * as measured here, and then exchanges 2 (P-1)/P of the gradients in 2 (P-1) messages, without
 * overlap. */

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

/* Returns the bytes per step sent by the process that has sent most since `before`. */
static double find_sent(double before, int steps)
{
    const int size = rt_world_size(bench.world);
    double sent[size], most = 0;
    sent[rt_world_rank(bench.world)] = rt_world_sent(bench.world) - before;
    rt_world_gather(bench.world, sent, NULL, sizeof *sent);
    for (int i = 0; i < size; i++)
        most = fmax(most, sent[i] / steps);
    return most;
}

/* Returns the seconds of the exchange of a step on P processes. */
static double exchange_time(double gradients, double processes, double rate, double latency)
{
    const double others = processes - 1;
    return 2 * others / processes * gradients / rate + 2 * others * latency;
}

static void print_model(double gradients, double computed, double latency)
{
    static const double networks[] = {1e9, 10e9, 100e9}; /* bits per second */
    printf("computed for processes that leave a subtree each: %.1f ms of shards a step on every "
           "process, %.1f MB of gradients\n",
           1e3 * computed, 1e-6 * gradients);
    for (int processes = 2; processes <= 1024; processes *= 2) {
        double steps[3];
        for (int i = 0; i < 3; i++)
            steps[i] = computed + exchange_time(gradients, processes, networks[i] / 8, latency);
        BENCH_ROW(processes == 2, BENCH_NUMBER("processes", 9, 0, processes),
                  BENCH_NUMBER("ms at 1 Gbit/s", 14, 1, 1e3 * steps[0]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps[0]),
                  BENCH_NUMBER("at 10", 9, 1, 1e3 * steps[1]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps[1]),
                  BENCH_NUMBER("at 100", 9, 1, 1e3 * steps[2]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps[2]));
    }
}

static void print(const bench_training *t, const bench_times *steps, double tokens, double sent,
                  double latency, double rate)
{
    const double processes = rt_world_size(bench.world), step = bench_median(steps);
    const double gradients = (double)t->model->parameters.block_size * sizeof(real);
    const double exchange = exchange_time(gradients, processes, rate, latency);
    const double least = 2 * (processes - 1) / processes * gradients;
    if (bench.csv) {
        BENCH_ROW(true, BENCH_NUMBER("processes", 0, 0, processes),
                  BENCH_NUMBER("threads", 0, 0, t->threads), BENCH_NUMBER("ms", 0, 4, 1e3 * step),
                  BENCH_NUMBER("sent MB", 0, 4, 1e-6 * sent),
                  BENCH_NUMBER("least MB", 0, 4, 1e-6 * least),
                  BENCH_NUMBER("latency us", 0, 2, 1e6 * latency),
                  BENCH_NUMBER("GB/s", 0, 3, 1e-9 * rate));
        return;
    }
    printf("step: %.3f ms (%.3f to %.3f, the middle half of %d), %.0f tokens/s, %.0f processes of "
           "%d thread%s\n",
           1e3 * step, 1e3 * bench_quartile(steps, 1), 1e3 * bench_quartile(steps, 3), steps->count,
           tokens / step, processes, t->threads, t->threads > 1 ? "s" : "");
    printf("sent: %.3f MB a step by the process that sends most, %.3f times the least possible\n",
           1e-6 * sent, sent / least);
    printf("way: %.1f microseconds for a message, %.2f GB/s each way for %zu MB\n", 1e6 * latency,
           1e-9 * rate, large >> 20);
    print_model(gradients, step > exchange ? step - exchange : step, latency);
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
    bench_training *t = bench_training_new(bench.threads);
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
    const double sent = find_sent(before, rt_trainer_state(t->trainer)->step);
    if (!rt_world_rank(bench.world))
        print(t, &steps, (double)last.tokens, sent, latency, rate);
    bench_training_free(t);
}
