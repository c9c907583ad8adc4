#include "bench/measure.h"

#include "core/memory.h"
#include "models/linear_form.h"

#include <stdio.h>

/* Doubles the length: what grows linearly keeps its cost per token. Forward and backward of one
 * layer's attention, one thread. */

enum { RUNS = 7, LONGEST_SOFTMAX = 4096 };

static const char *const forms[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};

typedef struct problem {
    rt_attention_kind kind;
    bool causal;
    rt_tensor q, k, v;
    real *upstream;
} problem;

static rt_tensor *attend(rt_graph *g, problem *p)
{
    if (p->kind == RT_ATTENTION_SOFTMAX)
        return rt_attention(g, &p->q, &p->k, &p->v, &(rt_attention_options){.causal = p->causal});
    return rt_linear_form(g, &p->q, &p->k, &p->v,
                          &(rt_linear_form_options){.kind = p->kind, .causal = p->causal});
}

static rt_status measure(problem *p, rt_graph *g, int T)
{
    static bench_times times;
    rt_status status = rt_ok();
    times.count = 0;
    for (int i = -1; i < RUNS && !status.code; i++) {
        bench_watch w = {.op = NULL};
        rt_graph_clear(g);
        rt_graph_observe(g, bench_watch_observer(&w));
        rt_tensor *y = attend(g, p);
        status = y ? rt_graph_backward_from(g, y, p->upstream) : rt_graph_status(g);
        if (i >= 0)
            bench_add(&times, w.seconds[0] + w.seconds[1]);
    }
    if (!status.code)
        printf("%-15s %-6s %6d  %9.2f  %9.3f  %9.2f\n", forms[p->kind], p->causal ? "yes" : "no", T,
               1e3 * bench_median(&times), 1e6 * bench_median(&times) / T,
               (double)rt_graph_peak(g) / 1024 / T);
    return status;
}

static rt_status measure_length(int kind, bool causal, int T, int H, int D)
{
    const rt_shape shape = RT_SHAPE_OF(1, T, H, D);
    const size_t size = rt_shape_size(shape);
    real *memory = rt_alloc(7 * size, sizeof *memory);
    rt_graph *g = rt_graph_new();
    problem p = {.kind = (rt_attention_kind)kind, .causal = causal};
    rt_status status = memory && g ? rt_ok() : rt_out_of_memory("a benchmark");
    for (size_t i = 0; !status.code && i < 7 * size; i++)
        memory[i] = (real)(rt_random_uniform((rt_random){.seed = 1}, i) - 0.5);
    if (!status.code) {
        p.q = rt_tensor_of(memory, memory + size, shape);
        p.k = rt_tensor_of(memory + 2 * size, memory + 3 * size, shape);
        p.v = rt_tensor_of(memory + 4 * size, memory + 5 * size, shape);
        p.upstream = memory + 6 * size;
        status = measure(&p, g, T);
    }
    rt_graph_free(g);
    rt_free(memory);
    return status;
}

rt_status bench_linear_attention(int argc, char **argv)
{
    static const char *const names[] = {"H", "D", "from", "to", NULL};
    int sizes[] = {4, 64, 512, 16384};
    rt_status status = bench_sizes(argc, argv, names, sizes);
    if (!status.code)
        printf("%-15s %-6s %6s  %9s  %9s  %9s\n", "attention", "causal", "T", "ms", "us/token",
               "kB/token");
    for (int kind = 0; kind < 4; kind++)
        for (int causal = 0; causal < 2; causal++)
            for (int T = sizes[2]; T <= sizes[3] && !status.code; T *= 2)
                if (kind != RT_ATTENTION_SOFTMAX || T <= LONGEST_SOFTMAX)
                    status = measure_length(kind, causal, T, sizes[0], sizes[1]);
    return status;
}
