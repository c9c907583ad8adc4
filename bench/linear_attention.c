#include "bench/commands.h"
#include "bench/measure.h"
#include "bench/op.h"
#include "bench/table.h"
#include "core/memory.h"
#include "core/random.h"
#include "models/linear_form.h"

/* Doubles the length: what grows linearly keeps its cost per token. One layer's attention with
 * RoPE, on one thread; all ops of a form count, the rotation too. Softmax attention stands beside
 * the linear forms as far as it can be afforded. */

enum { WARM_UP = 1, FEWEST = 5, LONGEST_SOFTMAX = 4096, BLOCKS = 7, MOST_PAIRS = 256 };

static const double long_enough = 0.25; /* seconds, of one length */

static const char *const forms[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct problem {
    rt_attention_kind kind;
    bool causal;
    int T, H, D;
    rt_rotation_table table;
    rt_tensor q, k, v;
    real *memory, *upstream;
} problem;

/* Views, so that the gradients of q, k and v are fresh memory, as in a model. */
static rt_tensor *attend(rt_graph *g, problem *p)
{
    const rt_shape shape = rt_tensor_shape(&p->q);
    const rt_rotation *r = &p->table.rotation;
    rt_tensor *q = rt_reshape(g, &p->q, shape), *k = rt_reshape(g, &p->k, shape);
    rt_tensor *v = rt_reshape(g, &p->v, shape);
    if (p->kind == RT_ATTENTION_SOFTMAX)
        return rt_attention(g, rt_rope(g, q, r), rt_rope(g, k, r), v,
                            &(rt_attention_options){.causal = p->causal});
    return rt_linear_form(g, q, k, v,
                          &(rt_linear_form_options){.kind = p->kind,
                                                    .causal = p->causal,
                                                    .query_rotation = r,
                                                    .key_rotation = r});
}

/* For every token two products of the features with a state, or the scores and the values of the
 * keys that softmax sees. A causal linear form does more than is counted. Backward makes twice as
 * many. */
static double flops_of(const problem *p)
{
    const double seen = p->causal ? (p->T + 1) / 2.0 : p->T;
    const double width = p->kind == RT_ATTENTION_SOFTMAX ? seen : p->D;
    return 3 * 4.0 * p->T * p->H * p->D * width;
}

static void print(const bench_options *o, bool first, const problem *p, const bench_times *pass,
                  const bench_times *both, const bench_times *yardstick, size_t peak)
{
    const double token = 1e6 / p->T;
    BENCH_ROW(o, first, BENCH_TEXT("attention", 14, forms[p->kind]),
              BENCH_TEXT("causal", 6, p->causal ? "yes" : "no"), BENCH_NUMBER("T", 6, 0, p->T),
              BENCH_NUMBER("runs", 4, 0, both->count),
              BENCH_NUMBER("ms", 9, 3, 1e3 * bench_median(both)),
              BENCH_NUMBER("low", 9, 3, 1e3 * bench_quartile(both, 1)),
              BENCH_NUMBER("high", 9, 3, 1e3 * bench_quartile(both, 3)),
              BENCH_NUMBER("forward us/token", 16, 3, token * bench_median(&pass[0])),
              BENCH_NUMBER("backward us/token", 17, 3, token * bench_median(&pass[1])),
              BENCH_NUMBER("GFLOP/s", 7, 1, 1e-9 * flops_of(p) / bench_median(both)),
              BENCH_NUMBER("share %", 7, 0,
                           100 * flops_of(p) / bench_peak_flops() * bench_ratio(yardstick, both)),
              BENCH_NUMBER("kB/token", 8, 2, (double)peak / 1024 / p->T));
}

static rt_status measure(const bench_options *o, bool first, problem *p, rt_graph *g,
                         bench_yardstick *y)
{
    static bench_times pass[2], both, yardstick;
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
    rt_status status = rt_ok();
    pass[0].count = pass[1].count = both.count = yardstick.count = 0;
    while (!status.code && bench_next(&rounds, o, long_enough)) {
        bench_watch w = {.options = o};
        const double product = bench_peak_product(y);
        rt_graph_clear(g);
        rt_graph_observe(g, bench_watch_observer(&w));
        rt_tensor *out = attend(g, p);
        status = out ? rt_graph_backward_from(g, out, p->upstream) : rt_graph_status(g);
        if (!bench_counts(&rounds))
            continue;
        bench_add(&pass[0], w.seconds[0]);
        bench_add(&pass[1], w.seconds[1]);
        bench_add(&both, w.seconds[0] + w.seconds[1]);
        bench_add(&yardstick, product);
    }
    if (!status.code)
        print(o, first, p, pass, &both, &yardstick, rt_graph_peak(g));
    return status;
}

static rt_status problem_new(problem *p)
{
    const rt_shape shape = RT_SHAPE_OF(1, p->T, p->H, p->D);
    const size_t size = rt_shape_size(shape);
    double theta[MOST_PAIRS];
    if (!size || p->D % 2 || p->D / 2 > MOST_PAIRS)
        return rt_error(RT_CONFIG, "D must be even and at most %d, and %s a tensor", 2 * MOST_PAIRS,
                        rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape));
    rt_theta_geometric(theta, p->D / 2, 10000);
    rt_status status = rt_rotation_table_init(&p->table, theta, p->D / 2, RT_INTERLEAVED, 1);
    if (!status.code)
        status = rt_rotation_reserve(&p->table, p->T);
    if (status.code)
        return status;
    p->memory = rt_alloc(BLOCKS * size, sizeof *p->memory);
    if (!p->memory)
        return rt_out_of_memory("a benchmark");
    for (size_t i = 0; i < BLOCKS * size; i++)
        p->memory[i] = (real)(rt_random_uniform((rt_random){.seed = 1}, i) - 0.5);
    p->q = rt_tensor_of(p->memory, p->memory + size, shape);
    p->k = rt_tensor_of(p->memory + 2 * size, p->memory + 3 * size, shape);
    p->v = rt_tensor_of(p->memory + 4 * size, p->memory + 5 * size, shape);
    p->upstream = p->memory + 6 * size;
    return rt_ok();
}

/* A graph of its own for every length: its peak is that of this length. */
static rt_status measure_length(const bench_options *o, bool first, problem p, bench_yardstick *y)
{
    rt_graph *g = rt_graph_new();
    rt_status status = g ? problem_new(&p) : rt_out_of_memory("a benchmark");
    if (!status.code)
        status = measure(o, first, &p, g, y);
    rt_graph_free(g);
    rt_rotation_table_free(&p.table);
    rt_free(p.memory);
    return status;
}

rt_status bench_linear_attention(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"H", "D", "from", "to", NULL};
    int n[] = {4, 64, 512, 16384};
    bench_yardstick y = {0};
    bool first = true;
    rt_status status = bench_sizes(argc, argv, names, n);
    if (!status.code)
        status = bench_one_thread(o);
    if (!status.code)
        status = bench_yardstick_new(&y, o, 1, bench_peak_memory());
    for (int kind = 0; kind < FORMS; kind++)
        for (int causal = 0; causal < 2; causal++)
            for (int T = n[2]; T <= n[3] && !status.code; T *= 2, first = false)
                if (kind != RT_ATTENTION_SOFTMAX || T <= LONGEST_SOFTMAX)
                    status = measure_length(o, first,
                                            (problem){.kind = (rt_attention_kind)kind,
                                                      .causal = causal,
                                                      .T = T,
                                                      .H = n[0],
                                                      .D = n[1]},
                                            &y);
    bench_yardstick_free(&y);
    return status;
}
