#include "bench/bench.h"

#include "core/memory.h"
#include "train/step/observers.h"
#include "train/step/workers.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

/* Estimates the time of a step on more threads than the machine has.  A step on one thread is
 * watched: the time in runs of jobs and parts, the number of pieces of each run, and the time
 * between runs. The model of a step on n threads: the time between runs stays; a run of p pieces
 * takes ceil(p / n) / p of its time and a barrier; n / s threads work at each of s shards at once.
 * Pieces of a run count as equal, and memory as fast enough: the table says how many bytes it would
 * have to move. */

enum { WARM_UP_STEPS = 2, FEWEST_ROUNDS = 5, KINDS = 512, MOST_THREADS = 128, BARRIERS = 2000 };

static const double long_enough = 5;           /* seconds of measuring */
static const size_t copied = (size_t)16 << 20; /* numbers, more than caches hold */

/* ---- the trace of steps on one thread ---- */

/* Runs of as many pieces, together. */
typedef struct runs_alike {
    int pieces;
    double runs, seconds;
} runs_alike;

typedef struct runs {
    int count;
    runs_alike list[KINDS];
} runs;

typedef struct trace {
    runs outer;               /* of a step itself: draws, sums, updates */
    runs inner;               /* within shards: parts of ops */
    double shards, in_shards; /* and their seconds */
    double steps, seconds;
    bool lost; /* more kinds of runs than there is room for */

    int depth;
    int pieces[2]; /* of the runs under way */
    double start[2];
    bool has_inner;
} trace;

static void add_run(trace *t, runs *r, int pieces, double seconds)
{
    int i = 0;
    while (i < r->count && r->list[i].pieces != pieces)
        i++;
    if (i == KINDS) {
        t->lost = true;
        return;
    }
    if (i == r->count)
        r->list[r->count++] = (runs_alike){.pieces = pieces};
    r->list[i].runs++;
    r->list[i].seconds += seconds;
}

static void begin_run(void *context, int pieces)
{
    trace *t = context;
    t->pieces[t->depth] = pieces;
    t->has_inner = t->depth;
    t->start[t->depth++] = rt_seconds();
}

/* A run that has runs in it is one of shards. */
static void end_run(void *context)
{
    trace *t = context;
    const double seconds = rt_seconds() - t->start[--t->depth];
    if (t->depth) {
        add_run(t, &t->inner, t->pieces[1], seconds);
    } else if (t->has_inner) {
        t->shards += t->pieces[0];
        t->in_shards += seconds;
    } else {
        add_run(t, &t->outer, t->pieces[0], seconds);
    }
}

static double seconds_of(const runs *r)
{
    double sum = 0;
    for (int i = 0; i < r->count; i++)
        sum += r->list[i].seconds;
    return sum;
}

static double count_of(const runs *r)
{
    double sum = 0;
    for (int i = 0; i < r->count; i++)
        sum += r->list[i].runs;
    return sum;
}

/* ---- the model ---- */

typedef struct prediction {
    double step, serial, barriers; /* seconds */
} prediction;

static double on_threads(const runs *r, double threads)
{
    double sum = 0;
    for (int i = 0; i < r->count; i++) {
        const double pieces = r->list[i].pieces;
        sum += r->list[i].seconds * ceil(pieces / threads) / pieces;
    }
    return sum;
}

/* `barrier` is that of two threads; every further thread adds as much, since all of them count at
 * one place. */
static prediction predict(const trace *t, double threads, double barrier)
{
    const double shards = t->shards / t->steps, places = fmin(threads, fmax(shards, 1));
    const double each = floor(threads / places); /* threads of a shard */
    const double rounds = ceil(shards / places) / fmax(shards, 1);
    const double between = t->seconds - t->in_shards - seconds_of(&t->outer);
    const double within = (t->in_shards - seconds_of(&t->inner)) * rounds;
    const double waits =
        (threads - 1) * count_of(&t->outer) + (each - 1) * count_of(&t->inner) * rounds;
    const prediction all = {
        .step = between + within + on_threads(&t->outer, threads) +
                on_threads(&t->inner, each) * rounds + barrier * waits,
        .serial = between + within,
        .barriers = barrier * waits,
    };
    return (prediction){all.step / t->steps, all.serial / t->steps, all.barriers / t->steps};
}

/* ---- measuring ---- */

typedef struct result {
    int threads;                 /* N */
    bench_training one, several; /* trainers on 1 and on N threads */
    bench_times alone, together; /* their steps */
    trace trace;
    double barrier;                   /* seconds */
    double bytes;                     /* of a step */
    double copy_alone, copy_together; /* bytes a second */
} result;

/* Both threads come. */
static void meet(void *context, int part, void *room)
{
    atomic_int *there = context;
    (void)part;
    (void)room;
    atomic_fetch_add(there, 1);
    while (atomic_load(there) < 2)
        sched_yield();
}

static rt_status measure_barrier(result *r)
{
    rt_workers *workers;
    bench_times *times = rt_alloc(1, sizeof *times);
    rt_status status = times ? rt_workers_new(&workers, 2) : rt_out_of_memory("a benchmark");
    if (status.code) {
        rt_free(times);
        return status;
    }
    const rt_crew *crew = rt_workers_crew(workers, 0);
    for (int i = 0; i < BARRIERS; i++) {
        atomic_int there = 0;
        const double start = rt_seconds();
        crew->run(crew->threads, meet, &there, 2, (rt_part_room){NULL, 0});
        bench_add(times, rt_seconds() - start);
    }
    r->barrier = bench_median(times);
    rt_workers_free(workers);
    rt_free(times);
    return rt_ok();
}

static rt_status measure_copy(const bench_options *o, int threads, double *rate)
{
    bench_yardstick y = {0};
    bench_times *times = rt_alloc(1, sizeof *times);
    rt_status status =
        times ? bench_yardstick_new(&y, o, threads, 2 * copied) : rt_out_of_memory("a benchmark");
    for (int i = 0; !status.code && i < FEWEST_ROUNDS; i++)
        bench_add(times, bench_copy(&y, copied));
    if (!status.code)
        *rate = 2 * (double)copied * sizeof(real) * threads / bench_median(times);
    bench_yardstick_free(&y);
    rt_free(times);
    return status;
}

static rt_status time_step(rt_trainer *trainer, bench_times *times)
{
    rt_step_result last;
    const double start = rt_seconds();
    const rt_status status = rt_trainer_step(trainer, &last);
    bench_add(times, rt_seconds() - start);
    return status;
}

/* The bytes are of a step that is not timed. */
static rt_status measure_bytes(result *r)
{
    rt_step_result last;
    rt_trainer *trainer = r->one.trainer;
    rt_status status = rt_trainer_observe(trainer, false, true);
    if (!status.code)
        status = rt_trainer_step(trainer, &last);
    r->bytes = rt_trainer_profiled_bytes(trainer);
    return status.code ? status : rt_trainer_observe(trainer, false, false);
}

static rt_status warm_up(result *r)
{
    rt_step_result last;
    rt_status status = rt_ok();
    for (int i = 0; i < WARM_UP_STEPS && !status.code; i++) {
        status = rt_trainer_step(r->one.trainer, &last);
        if (!status.code)
            status = rt_trainer_step(r->several.trainer, &last);
    }
    return status;
}

/* In turns. */
static rt_status measure_steps(const bench_options *o, result *r)
{
    bench_rounds rounds = {.fewest = FEWEST_ROUNDS};
    rt_status status = rt_ok();
    rt_workers_watch(rt_trainer_workers(r->one.trainer),
                     (rt_run_watch){begin_run, end_run, &r->trace});
    while (!status.code && bench_next(&rounds, o, long_enough)) {
        status = time_step(r->one.trainer, &r->alone);
        if (!status.code)
            status = time_step(r->several.trainer, &r->together);
    }
    rt_workers_watch(rt_trainer_workers(r->one.trainer), (rt_run_watch){0});
    r->trace.steps = r->alone.count;
    for (int i = 0; i < r->alone.count; i++)
        r->trace.seconds += r->alone.at[i];
    if (!status.code && r->trace.lost)
        status = rt_error(RT_CONFIG, "a step has runs of more than %d sizes", KINDS);
    return status;
}

static rt_status measure(const bench_options *o, result *r)
{
    rt_status status = warm_up(r);
    if (!status.code)
        status = measure_steps(o, r);
    if (!status.code)
        status = measure_bytes(r);
    if (!status.code)
        status = measure_barrier(r);
    if (!status.code)
        status = measure_copy(o, 1, &r->copy_alone);
    return status.code ? status : measure_copy(o, r->threads, &r->copy_together);
}

/* ---- what comes of it ---- */

static void print_measured(const result *r, bench_times *ratios)
{
    const trace *t = &r->trace;
    const double between = t->seconds - t->in_shards - seconds_of(&t->outer);
    const double within = t->in_shards - seconds_of(&t->inner), alone = bench_median(&r->alone);
    for (int i = 0; i < r->alone.count; i++)
        bench_add(ratios, r->together.at[i] / r->alone.at[i]);
    printf("step: %.3f ms on 1 thread, %.3f on %d: %.3f of it (%.3f to %.3f, the middle half of "
           "%d), kernels %s\n",
           1e3 * alone, 1e3 * bench_median(&r->together), r->threads, bench_median(ratios),
           bench_quartile(ratios, 1), bench_quartile(ratios, 3), ratios->count,
           rt_engine_kernels());
    printf("serial: %.3f %% of the step on 1 thread outside of shards, %.3f %% within them\n",
           100 * between / t->seconds, 100 * within / t->seconds);
    printf("runs: %.0f a step over its %.0f shards, %.0f within them; a barrier of 2 threads takes "
           "%.2f microseconds\n",
           count_of(&t->outer) / t->steps, t->shards / t->steps, count_of(&t->inner) / t->steps,
           1e6 * r->barrier);
    printf("bytes: %.1f MB a step that ops read and write, %.1f GB/s on 1 thread; a copy moves "
           "%.1f GB/s on 1 thread, %.1f on %d\n",
           1e-6 * r->bytes, 1e-9 * r->bytes / alone, 1e-9 * r->copy_alone, 1e-9 * r->copy_together,
           r->threads);
    const prediction p = predict(t, r->threads, r->barrier);
    printf("model: %.3f ms on %d threads, %.3f of what was measured\n", 1e3 * p.step, r->threads,
           p.step / bench_median(&r->together));
    printf("computed, if pieces of a run are alike, threads as fast as here, and memory keeps "
           "up:\n");
}

static void print_row(const bench_options *o, const result *r, int threads)
{
    const prediction p = predict(&r->trace, threads, r->barrier);
    const double speedup = predict(&r->trace, 1, r->barrier).step / p.step;
    BENCH_ROW(o, threads == 1, BENCH_NUMBER("threads", 7, 0, threads),
              BENCH_NUMBER("ms", 11, 3, 1e3 * p.step), BENCH_NUMBER("speed-up", 9, 2, speedup),
              BENCH_NUMBER("efficiency", 10, 2, speedup / threads),
              BENCH_NUMBER("serial %", 9, 2, 100 * p.serial / p.step),
              BENCH_NUMBER("barriers %", 10, 2, 100 * p.barriers / p.step),
              BENCH_NUMBER("GB/s", 9, 1, 1e-9 * r->bytes / p.step));
}

/* ---- the command ---- */

static rt_status open_trainers(const bench_options *o, int argc, char **argv, result *r)
{
    bench_options one = *o, several = *o;
    one.threads = 1;
    several.threads = r->threads = o->threads ? o->threads : 2;
    if (r->threads < 2)
        return rt_error(RT_CONFIG, "scale compares 1 thread with several; got --threads %d",
                        r->threads);
    const rt_status status = bench_training_new(&r->one, &one, argc, argv);
    return status.code ? status : bench_training_new(&r->several, &several, argc, argv);
}

rt_status bench_scale(const bench_options *o, int argc, char **argv)
{
    if (argc < 1)
        return rt_error(RT_CONFIG, "scale needs a CONFIG.ini");
    if (o->cpu)
        return rt_error(RT_CONFIG, "--cpu measures one thread; scale compares it with several");
    result *r = rt_alloc(1, sizeof *r);
    bench_times *ratios = rt_alloc(1, sizeof *ratios);
    rt_status status =
        r && ratios ? open_trainers(o, argc, argv, r) : rt_out_of_memory("a benchmark");
    if (!status.code)
        status = measure(o, r);
    if (!status.code && !o->csv)
        print_measured(r, ratios);
    for (int threads = 1; !status.code && threads <= MOST_THREADS; threads *= 2)
        print_row(o, r, threads);
    if (r) {
        bench_training_free(&r->several);
        bench_training_free(&r->one);
    }
    rt_free(ratios);
    rt_free(r);
    return status;
}
