#include "bench/commands.h"
#include "bench/measure.h"
#include "bench/op.h"
#include "core/memory.h"
#include "optim/rules.h"

/* The update of the parameters: reads value, gradient and two moments, writes all but the
 * gradient. */

enum { WARM_UP = 3, FEWEST = 15, STREAMS = 4, MOVED = 7 };

static const double long_enough = 2; /* seconds */

static rt_status measure(const bench_options *o, real *memory, size_t size, bench_yardstick *y)
{
    static bench_times times, copies;
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    const rt_update u = {
        .settings = &settings, .lr = 1e-3, .decay = 0.01, .gradient_scale = 1, .step = 1};
    real *const states[RT_MOST_STATES] = {memory + size, memory + 2 * size};
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
    while (bench_next(&rounds, o, long_enough)) {
        const double copy = bench_copy(y, size), start = bench_now(o);
        rt_update_rule_of(&settings)->stretch(&u, memory, states, memory + 3 * size, size);
        if (!bench_counts(&rounds))
            continue;
        bench_add(&times, bench_now(o) - start);
        bench_add(&copies, copy);
    }
    bench_print(o, true, "adamw", "update", &times, (double)MOVED * (double)size * sizeof(real),
                &copies, size);
    return rt_ok();
}

rt_status bench_adamw(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"size", NULL};
    int size = 1 << 22;
    bench_yardstick y = {0};
    real *memory = NULL;
    rt_status status = bench_sizes(argc, argv, names, &size);
    if (!status.code)
        status = bench_one_thread(o);
    if (!status.code)
        status = bench_yardstick_new(&y, o, 1, 2 * (size_t)size);
    if (!status.code) {
        memory = rt_alloc(STREAMS * (size_t)size, sizeof *memory);
        status = memory ? rt_ok() : rt_out_of_memory("a benchmark");
    }
    /* Gradients that are not 0, so that no number becomes denormal. */
    for (size_t i = 3 * (size_t)size; !status.code && i < STREAMS * (size_t)size; i++)
        memory[i] = (real)(1e-3 * (double)(i % 100) + 1e-3);
    if (!status.code)
        status = measure(o, memory, (size_t)size, &y);
    rt_free(memory);
    bench_yardstick_free(&y);
    return status;
}
