#include "bench/bench.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Several processes at one step: what they send, how fast the way between two of them is, and what
 * a step would take on more processes and other networks, by a model: the shards that a process
 * has, computed as here, and after them 2 (P-1)/P of the gradients and 2 (P-1) messages, nothing of
 * it hidden behind the computation. To be started by mpirun. */

enum { WARM_UP_STEPS = 3, FEWEST_STEPS = 8, ROUNDS = 200, LARGE_ROUNDS = 12, SMALL = 8 };

static const size_t large = (size_t)8 << 20; /* bytes of a message that tells the bandwidth */
static const double long_enough = 5;         /* seconds of measuring */

typedef struct result {
    bench_times steps, small, large;
    double sent; /* bytes of the process that sends most, a step */
    rt_step_result last;
} result;

/* ---- the way between processes 0 and 1 ---- */

/* Each sends to the other at once. */
static void swap(rt_world *world, char *out, char *in, size_t bytes)
{
    const int rank = rt_world_rank(world);
    const rt_parcel to = {!rank, out, bytes}, from = {!rank, in, bytes};
    rt_world_exchange(world, &to, rank < 2, &from, rank < 2);
}

static void time_swaps(const bench_options *o, bench_times *times, size_t bytes, int rounds,
                       char *memory)
{
    for (int i = 0; i < rounds; i++) {
        const double start = bench_now(o);
        swap(o->world, memory, memory + large, bytes);
        bench_add(times, bench_now(o) - start);
    }
}

static rt_status measure_way(const bench_options *o, result *r)
{
    char *memory = rt_alloc(2 * large, 1);
    rt_status status = rt_world_agree(o->world, memory ? rt_ok() : rt_out_of_memory("a benchmark"));
    if (!status.code) {
        time_swaps(o, &r->small, SMALL, ROUNDS, memory);
        time_swaps(o, &r->large, large, LARGE_ROUNDS, memory);
    }
    rt_free(memory);
    return status;
}

/* ---- steps ---- */

static rt_status measure_steps(const bench_options *o, rt_trainer *trainer, result *r)
{
    bench_rounds rounds = {.warm_up = WARM_UP_STEPS, .fewest = FEWEST_STEPS};
    rt_status status = rt_ok();
    while (!status.code && bench_next(&rounds, o, long_enough)) {
        const double start = bench_now(o);
        status = rt_trainer_step(trainer, &r->last);
        if (bench_counts(&rounds))
            bench_add(&r->steps, bench_now(o) - start);
    }
    return status;
}

/* The process that has sent most since then has sent that a step. */
static void find_sent(const bench_options *o, result *r, double before, int steps)
{
    const int size = rt_world_size(o->world);
    double sent[size];
    size_t starts[size + 1];
    for (int i = 0; i <= size; i++)
        starts[i] = (size_t)i;
    sent[rt_world_rank(o->world)] = rt_world_sent(o->world) - before;
    rt_world_gather(o->world, sent, starts, sizeof *sent);
    for (int i = 0; i < size; i++)
        r->sent = fmax(r->sent, sent[i] / steps);
}

/* ---- what comes of it ---- */

static void print_measured(const bench_options *o, rt_trainer *trainer, const result *r,
                           double least)
{
    const double step = bench_median(&r->steps);
    const int size = rt_world_size(o->world),
              threads = rt_workers_count(rt_trainer_workers(trainer));
    printf("step: %.3f ms (%.3f to %.3f, the middle half of %d), %.0f tokens/s, %d processes of %d "
           "thread%s\n",
           1e3 * step, 1e3 * bench_quartile(&r->steps, 1), 1e3 * bench_quartile(&r->steps, 3),
           r->steps.count, (double)r->last.tokens / step, size, threads, threads > 1 ? "s" : "");
    printf("sent: %.3f MB a step by the process that sends most, %.3f times the least possible\n",
           1e-6 * r->sent, r->sent / least);
    printf("way: %.1f microseconds for a message, %.2f GB/s each way for %zu MB\n",
           1e6 * bench_median(&r->small), 1e-9 * (double)large / bench_median(&r->large),
           large >> 20);
}

/* Seconds that the exchange of a step takes on P processes. */
static double exchange_time(double gradients, double processes, double rate, double latency)
{
    const double others = processes - 1;
    return 2 * others / processes * gradients / rate + 2 * others * latency;
}

static void print_model(const bench_options *o, double gradients, double computed, double latency)
{
    static const double networks[] = {1e9, 10e9, 100e9}; /* bits a second */
    bool first = true;
    printf("computed for processes that leave a subtree each: %.1f ms of shards a step on every "
           "process, %.1f MB of gradients\n",
           1e3 * computed, 1e-6 * gradients);
    for (int processes = 2; processes <= 1024; processes *= 2) {
        double steps[3];
        for (int i = 0; i < 3; i++)
            steps[i] = computed + exchange_time(gradients, processes, networks[i] / 8, latency);
        BENCH_ROW(o, first, BENCH_NUMBER("processes", 9, 0, processes),
                  BENCH_NUMBER("ms at 1 Gbit/s", 14, 1, 1e3 * steps[0]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps[0]),
                  BENCH_NUMBER("at 10", 9, 1, 1e3 * steps[1]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps[1]),
                  BENCH_NUMBER("at 100", 9, 1, 1e3 * steps[2]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps[2]));
        first = false;
    }
}

static void print(const bench_options *o, rt_trainer *trainer, const result *r)
{
    const double processes = rt_world_size(o->world);
    const size_t numbers = rt_trainer_state(trainer)->model->parameters.block_size;
    const double gradients = (double)numbers * sizeof(real), latency = bench_median(&r->small);
    const double rate = (double)large / bench_median(&r->large);
    const double step = bench_median(&r->steps);
    const double exchange = exchange_time(gradients, processes, rate, latency);
    const double least = 2 * (processes - 1) / processes * gradients;
    if (o->csv) {
        BENCH_ROW(o, true, BENCH_NUMBER("processes", 0, 0, processes),
                  BENCH_NUMBER("threads", 0, 0, rt_workers_count(rt_trainer_workers(trainer))),
                  BENCH_NUMBER("ms", 0, 4, 1e3 * step),
                  BENCH_NUMBER("sent MB", 0, 4, 1e-6 * r->sent),
                  BENCH_NUMBER("least MB", 0, 4, 1e-6 * least),
                  BENCH_NUMBER("latency us", 0, 2, 1e6 * latency),
                  BENCH_NUMBER("GB/s", 0, 3, 1e-9 * rate));
        return;
    }
    print_measured(o, trainer, r, least);
    print_model(o, gradients, step > exchange ? step - exchange : step, latency);
}

rt_status bench_world(const bench_options *o, int argc, char **argv)
{
    if (!o->world)
        return rt_error(RT_CONFIG, "world needs several processes: mpirun -n 2 bench world "
                                   "CONFIG.ini");
    if (argc < 1)
        return rt_error(RT_CONFIG, "world needs a CONFIG.ini");
    bench_training t = {.data = NULL};
    result *r = rt_alloc(1, sizeof *r);
    rt_status status = rt_world_agree(o->world, r ? rt_ok() : rt_out_of_memory("a benchmark"));
    if (!status.code)
        status = bench_training_new(&t, o, argc, argv);
    if (!status.code)
        status = measure_way(o, r);
    const double before = rt_world_sent(o->world);
    if (!status.code && rt_world_rank(o->world))
        rt_trainer_serve(t.trainer, NULL);
    else if (!status.code)
        status = measure_steps(o, t.trainer, r);
    rt_trainer_dismiss(t.trainer);
    if (!status.code)
        find_sent(o, r, before, rt_trainer_state(t.trainer)->step);
    if (!status.code && !rt_world_rank(o->world))
        print(o, t.trainer, r);
    bench_training_free(&t);
    rt_free(r);
    return status;
}
