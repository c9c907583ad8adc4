#include "bench/bench.h"

#include "core/memory.h"
#include "train/step/workers.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

/* Estimates the time of a step on more threads than the machine has, from a trace of steps on one
 * thread: the time in runs of jobs and parts, the number of pieces of each run, and the time
 * between runs. In the model of a step on n threads, the time between runs is unchanged; a run of p
 * pieces takes ceil(p / n) / p of its time plus a barrier; n / s threads work on each of s shards
 * at once. Pieces of a run count as equal, and memory as fast enough: the table shows how many
 * bytes it would have to move. */

enum { FEWEST_ROUNDS = 5, MOST_PIECES = 1 << 16 };

/* Totals of runs, and their seconds by their number of pieces. */
typedef struct runs {
    double count, seconds, of_pieces[MOST_PIECES + 1];
} runs;

static struct {
    runs outer;               /* of the step: draws, sums, updates */
    runs inner;               /* within shards: parts of ops */
    double shards, in_shards; /* number of shards and their seconds */
    double steps, seconds;
    bool lost; /* a run had more than MOST_PIECES */

    int depth;
    int pieces[2]; /* of the current runs */
    double start[2];
    bool has_inner;
} trace;

static void add_run(runs *r, int pieces, double seconds)
{
    if (pieces > MOST_PIECES) {
        trace.lost = true;
        return;
    }
    r->of_pieces[pieces] += seconds;
    r->count++;
    r->seconds += seconds;
}

static void begin_run(void *context, int pieces)
{
    (void)context;
    trace.pieces[trace.depth] = pieces;
    trace.has_inner = trace.depth;
    trace.start[trace.depth++] = rt_seconds();
}

/* Adds a run to the trace. A run that contains runs is a run of shards. */
static void end_run(void *context)
{
    (void)context;
    const double seconds = rt_seconds() - trace.start[--trace.depth];
    if (trace.depth) {
        add_run(&trace.inner, trace.pieces[1], seconds);
    } else if (trace.has_inner) {
        trace.shards += trace.pieces[0];
        trace.in_shards += seconds;
    } else {
        add_run(&trace.outer, trace.pieces[0], seconds);
    }
}

static double on_threads(const runs *r, double threads)
{
    double sum = 0;
    for (int pieces = 1; pieces <= MOST_PIECES; pieces++)
        sum += r->of_pieces[pieces] * ceil(pieces / threads) / pieces;
    return sum;
}

/* Seconds of a step. */
typedef struct prediction {
    double step, serial, barriers;
} prediction;

/* Predicts a step. `barrier` is that of two threads; every further thread adds as much, because all
 * threads count at one place. */
static prediction predict(double threads, double barrier)
{
    const double shards = trace.shards / trace.steps, busy = fmin(threads, fmax(shards, 1));
    const double each = floor(threads / busy); /* threads per shard */
    const double rounds = ceil(shards / busy) / fmax(shards, 1);
    const double between = trace.seconds - trace.in_shards - trace.outer.seconds;
    const double within = (trace.in_shards - trace.inner.seconds) * rounds;
    const double waits =
        (threads - 1) * trace.outer.count + (each - 1) * trace.inner.count * rounds;
    const double step = between + within + on_threads(&trace.outer, threads) +
                        on_threads(&trace.inner, each) * rounds + barrier * waits;
    return (prediction){step / trace.steps, (between + within) / trace.steps,
                        barrier * waits / trace.steps};
}

/* Waits until both threads arrive. */
static void meet(void *context, int part, void *scratch)
{
    atomic_int *there = context;
    (void)part;
    (void)scratch;
    atomic_fetch_add(there, 1);
    while (atomic_load(there) < 2)
        sched_yield();
}

/* Returns the seconds of a barrier of two threads. */
static double measure_barrier(void)
{
    rt_workers *workers;
    bench_times times = {.count = 0};
    bench_need(rt_workers_new(&workers, 2));
    const rt_threads *threads = rt_workers_threads(workers, 0);
    for (int i = 0; i < BENCH_MOST_TIMES; i++) {
        atomic_int there = 0;
        const double start = rt_seconds();
        threads->run(threads->runner, meet, &there, 2, (rt_part_scratch){NULL, 0});
        bench_add(&times, NULL, rt_seconds() - start);
    }
    rt_workers_free(workers);
    return bench_median(&times);
}

/* Returns the bytes per second of a copy that exceeds the caches. */
static double measure_copy(int threads)
{
    const size_t copied = (size_t)16 << 20;
    bench_times times = {.count = 0};
    bench_yardstick y = bench_yardstick_new(threads, copied);
    for (int i = 0; i < FEWEST_ROUNDS; i++)
        bench_add(&times, NULL, bench_yardstick_time(&y));
    bench_yardstick_free(&y);
    return 2 * (double)copied * sizeof(real) * threads / bench_median(&times);
}

static double time_step(rt_trainer *trainer)
{
    rt_step_result last;
    const double start = rt_seconds();
    bench_need(rt_trainer_step(trainer, &last));
    return rt_seconds() - start;
}

/* Prints what was measured, and how far the model is from it on as many threads. Bytes are those
 * that ops read and write; a copy shows what the memory can move. */
static void print_measured(const bench_times *alone, const bench_times *together, int threads,
                           double barrier, double bytes)
{
    const double between = trace.seconds - trace.in_shards - trace.outer.seconds;
    const double within = trace.in_shards - trace.inner.seconds, step = bench_median(alone);
    const bench_times ratios = bench_ratios(together, alone);
    const double model = predict(threads, barrier).step;
    BENCH_LIST(BENCH_TEXT("kernels", 0, rt_engine_kernels()),
               BENCH_NUMBER("threads", 0, 0, threads),
               BENCH_NUMBER("ms on 1 thread", 0, 3, 1e3 * step),
               BENCH_NUMBER("ms", 0, 3, 1e3 * bench_median(together)),
               BENCH_TIMES("share of 1 thread's", 0, 3, 1, &ratios),
               BENCH_NUMBER("serial %", 0, 3, 100 * between / trace.seconds),
               BENCH_NUMBER("serial in shards %", 0, 3, 100 * within / trace.seconds),
               BENCH_NUMBER("shards", 0, 0, trace.shards / trace.steps),
               BENCH_NUMBER("runs over shards", 0, 0, trace.outer.count / trace.steps),
               BENCH_NUMBER("runs in shards", 0, 0, trace.inner.count / trace.steps),
               BENCH_NUMBER("us of a barrier", 0, 2, 1e6 * barrier),
               BENCH_NUMBER("MB", 0, 1, 1e-6 * bytes),
               BENCH_NUMBER("GB/s on 1 thread", 0, 1, 1e-9 * bytes / step),
               BENCH_NUMBER("copy GB/s on 1 thread", 0, 1, 1e-9 * measure_copy(1)),
               BENCH_NUMBER("copy GB/s", 0, 1, 1e-9 * measure_copy(threads)),
               BENCH_NUMBER("ms of the model", 0, 3, 1e3 * model),
               BENCH_NUMBER("model / measured", 0, 3, model / bench_median(together)));
    printf("\nif pieces of a run are alike, threads as fast as here, and memory keeps up:\n");
}

void bench_scale(void)
{
    static bench_times alone, together; /* on one thread, traced, and on several, alternately */
    bench_rounds rounds = {.fewest = FEWEST_ROUNDS, .seconds = 5};
    const int threads = bench.threads ? bench.threads : 2;
    if (bench.cpu)
        bench_need(
            rt_error(RT_CONFIG, "--cpu measures one thread; scale compares it with several"));
    if (threads < 2)
        bench_need(
            rt_error(RT_CONFIG, "scale compares 1 thread with several; got --threads %d", threads));
    bench_training *one = bench_training_new(1);
    bench_training *several = bench_training_new(threads);
    rt_workers *traced = rt_trainer_workers(one->trainer);
    for (int i = 0; i < 2; i++) { /* warm-up */
        time_step(one->trainer);
        time_step(several->trainer);
    }
    rt_workers_watch(traced, (rt_run_watch){begin_run, end_run, NULL});
    while (bench_next(&rounds)) {
        bench_add(&alone, NULL, time_step(one->trainer));
        bench_add(&together, NULL, time_step(several->trainer));
    }
    rt_workers_watch(traced, (rt_run_watch){0});
    trace.steps = alone.count;
    for (int i = 0; i < alone.count; i++)
        trace.seconds += alone.at[i];
    if (trace.lost)
        bench_need(rt_error(RT_CONFIG, "a run of a step has more than %d pieces", MOST_PIECES));
    bench_need(rt_trainer_observe(one->trainer, false, true));
    time_step(one->trainer); /* for its bytes, not its time */
    const double bytes = rt_trainer_profiled_bytes(one->trainer), barrier = measure_barrier();
    if (!bench.csv)
        print_measured(&alone, &together, threads, barrier, bytes);
    for (int n = 1; n <= 128; n *= 2) {
        const prediction p = predict(n, barrier);
        const double speedup = predict(1, barrier).step / p.step;
        BENCH_ROW(n == 1, BENCH_NUMBER("threads", 7, 0, n), BENCH_NUMBER("ms", 11, 3, 1e3 * p.step),
                  BENCH_NUMBER("speed-up", 9, 2, speedup),
                  BENCH_NUMBER("efficiency", 10, 2, speedup / n),
                  BENCH_NUMBER("serial %", 9, 2, 100 * p.serial / p.step),
                  BENCH_NUMBER("barriers %", 10, 2, 100 * p.barriers / p.step),
                  BENCH_NUMBER("GB/s", 9, 1, 1e-9 * bytes / p.step));
    }
    bench_training_free(several);
    bench_training_free(one);
}

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

/* Returns the seconds of the exchange of a step on P processes. */
static double exchange_time(double gradients, double processes, double rate, double latency)
{
    const double others = processes - 1;
    return 2 * others / processes * gradients / rate + 2 * others * latency;
}

/* Prints the step and the connection: `sent` bytes a step by the process that sends most, and the
 * least possible; the latency and the rate of messages each way. */
static void print_world(const bench_training *t, const bench_times *steps, double tokens,
                        double sent, double latency, double rate)
{
    const double processes = rt_world_size(bench.world), step = bench_median(steps);
    const double gradients = (double)t->model->parameters.block_size * sizeof(real);
    static const double networks[] = {1e9, 10e9, 100e9}; /* bits per second */
    const double exchange = exchange_time(gradients, processes, rate, latency);
    const double least = 2 * (processes - 1) / processes * gradients;
    const double computed = step > exchange ? step - exchange : step;
    BENCH_LIST(BENCH_NUMBER("processes", 0, 0, processes),
               BENCH_NUMBER("threads", 0, 0, t->threads), BENCH_TIMES("ms", 0, 4, 1e3, steps),
               BENCH_NUMBER("tokens/s", 0, 0, tokens / step),
               BENCH_NUMBER("sent MB", 0, 4, 1e-6 * sent),
               BENCH_NUMBER("least MB", 0, 4, 1e-6 * least),
               BENCH_NUMBER("gradient MB", 0, 1, 1e-6 * gradients),
               BENCH_NUMBER("latency us", 0, 2, 1e6 * latency),
               BENCH_NUMBER("GB/s", 0, 3, 1e-9 * rate),
               BENCH_NUMBER("ms of shards", 0, 1, 1e3 * computed));
    if (bench.csv)
        return;
    printf("\nfor processes that leave a subtree each:\n");
    for (int n = 2; n <= 1024; n *= 2) {
        double steps_of[3];
        for (int i = 0; i < 3; i++)
            steps_of[i] = computed + exchange_time(gradients, n, networks[i] / 8, latency);
        BENCH_ROW(n == 2, BENCH_NUMBER("processes", 9, 0, n),
                  BENCH_NUMBER("ms at 1 Gbit/s", 14, 1, 1e3 * steps_of[0]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps_of[0]),
                  BENCH_NUMBER("at 10", 9, 1, 1e3 * steps_of[1]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps_of[1]),
                  BENCH_NUMBER("at 100", 9, 1, 1e3 * steps_of[2]),
                  BENCH_NUMBER("efficiency", 10, 2, computed / steps_of[2]));
    }
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
