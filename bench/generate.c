#include "bench/bench.h"

#include "core/memory.h"
#include "core/row_kernels.h"
#include "models/session.h"
#include "ops/engine.h"
#include "train/step/workers.h"

#include <string.h>

/* A decoder that reads prompts and goes on with all of them together, always with the most likely
 * token. A step needs every weight once, so the yardstick is a loop in which as many threads read
 * them all: what the memory gives, if they do not fit the caches. Random weights. */

enum { FEWEST = 5, WARM_UP = 1, PARTS = 64 };

static const double long_enough = 10;

enum { LAYERS, DIM, HEADS, KV_HEADS, FFN, VOCAB, PROMPT, TOKENS, TEXTS, SIZES, MOST_TEXTS = 64 };

typedef struct generation {
    rt_transformer *model;
    rt_session *sessions[MOST_TEXTS];
    int32_t *ids; /* (prompt) */
    real *logits; /* (texts, V) */
    int prompt, tokens, texts;
    rt_workers *workers;
    uint16_t *rounded;    /* the weights with --math bf16; or NULL */
    uint64_t mark[PARTS]; /* of the weights, so that reading them is not left out */
} generation;

/* Returns the bytes of the weights that products read for one token. */
static size_t bytes_read(const generation *w)
{
    return w->model->parameters.block_size * (w->rounded ? sizeof *w->rounded : sizeof(real));
}

static RT_ROW_FUNCTION(uint64_t, mark_of, (const char *restrict bytes, size_t words),
                       (bytes, words))
{
    uint64_t mark = 0, number;
    for (size_t i = 0; i < words; i++) {
        memcpy(&number, bytes + i * sizeof number, sizeof number);
        mark ^= number;
    }
    return mark;
}

static void read_part(void *context, int part, int worker)
{
    generation *w = context;
    const size_t words = bytes_read(w) / sizeof(uint64_t) / PARTS;
    const void *weights = w->rounded ? (void *)w->rounded : (void *)w->model->parameters.values;
    (void)worker;
    w->mark[part] +=
        mark_of((const char *)weights + (size_t)part * words * sizeof(uint64_t), words);
}

static double read_weights(const bench_options *o, generation *w)
{
    const double start = bench_now(o);
    rt_workers_run(w->workers, read_part, w, PARTS);
    return bench_now(o) - start;
}

static int32_t most_likely(const generation *w, int text)
{
    const rt_tensor logits =
        rt_tensor_of(w->logits, NULL, RT_SHAPE_OF(w->texts, w->model->options.vocab));
    return rt_largest(&logits, (size_t)text);
}

/* Reads the prompt of every text, and returns the seconds for each text. */
static rt_status read_prompts(const bench_options *o, generation *w, double *seconds)
{
    rt_status status = rt_ok();
    const double start = bench_now(o);
    for (int i = 0; i < w->texts && !status.code; i++) {
        real *logits = w->logits + (size_t)i * (size_t)w->model->options.vocab;
        status = rt_session_keep(w->sessions[i], 0);
        if (!status.code)
            status = rt_session_feed(w->sessions[i], w->ids, w->prompt, 1, logits);
    }
    *seconds = (bench_now(o) - start) / w->texts;
    return status;
}

/* Seconds a step. */
static rt_status continue_texts(const bench_options *o, generation *w, double *seconds)
{
    int32_t ids[MOST_TEXTS];
    rt_status status = rt_ok();
    const double start = bench_now(o);
    for (int n = 0; n < w->tokens && !status.code; n++) {
        for (int i = 0; i < w->texts; i++)
            ids[i] = most_likely(w, i);
        status = rt_session_feed_each(w->sessions, w->texts, ids, w->logits);
    }
    *seconds = (bench_now(o) - start) / w->tokens;
    return status;
}

static void print(const bench_options *o, const generation *w, const bench_times times[3])
{
    const double prompt = bench_median(&times[1]), step = bench_median(&times[2]);
    const double bytes = (double)bytes_read(w);
    BENCH_ROW(o, true, BENCH_TEXT("kernels", 0, rt_engine_kernels()),
              BENCH_NUMBER("threads", 7, 0, rt_workers_count(w->workers)),
              BENCH_NUMBER("texts", 5, 0, w->texts), BENCH_NUMBER("runs", 4, 0, times[0].count),
              BENCH_NUMBER("MB", 6, 0, 1e-6 * bytes),
              BENCH_NUMBER("GB/s", 6, 1, 1e-9 * bytes / bench_median(&times[0])),
              BENCH_NUMBER("prompt tokens/s", 15, 1, w->prompt / prompt),
              BENCH_NUMBER("ms/token", 9, 3, 1e3 * step / w->texts),
              BENCH_NUMBER("low", 9, 3, 1e3 * bench_quartile(&times[2], 1) / w->texts),
              BENCH_NUMBER("high", 9, 3, 1e3 * bench_quartile(&times[2], 3) / w->texts),
              BENCH_NUMBER("tokens/s", 9, 1, w->texts / step),
              BENCH_NUMBER("step/reading", 12, 2, bench_ratio(&times[2], &times[0])));
}

static rt_status measure(const bench_options *o, generation *w)
{
    static bench_times times[3];
    bench_rounds rounds = {.warm_up = WARM_UP, .fewest = FEWEST};
    rt_status status = rt_ok();
    while (!status.code && bench_next(&rounds, o, long_enough)) {
        double seconds[3] = {read_weights(o, w), 0, 0};
        status = read_prompts(o, w, &seconds[1]);
        if (!status.code)
            status = continue_texts(o, w, &seconds[2]);
        for (int i = 0; i < 3 && bench_counts(&rounds); i++)
            bench_add(&times[i], seconds[i]);
    }
    if (!status.code)
        print(o, w, times);
    return status;
}

/* Rounds the weights, as a run does before it writes. */
static rt_status round_weights(generation *w)
{
    const rt_parameters *p = &w->model->parameters;
    w->rounded = rt_alloc(p->block_size, sizeof *w->rounded);
    if (!w->rounded)
        return rt_out_of_memory("a benchmark");
    rt_engine_round(w->rounded, p->values, p->block_size);
    rt_engine_hold(p->values, w->rounded, p->block_size);
    return rt_ok();
}

/* The architectures, by their names in transformers; sizes are set after. */
#define OF_DECODERS .kind = RT_KIND_DECODER, .norm = RT_NORM_PRE, .norm_eps = 1e-5, .causal = true

static const struct {
    const char *name;
    rt_transformer_options options;
} families[] = {
    {"llama",
     {OF_DECODERS, .norm_kind = RT_NORM_RMS, .ffn = RT_FFN_SWIGLU, .bias = RT_BIAS_NONE,
      .tie_embeddings = true,
      .position = {.pairing = RT_HALF, .fraction = 1, .frequencies = {.base = 10000}}}},
    {"qwen2",
     {OF_DECODERS, .norm_kind = RT_NORM_RMS, .ffn = RT_FFN_SWIGLU, .bias = RT_BIAS_QKV,
      .tie_embeddings = true,
      .position = {.pairing = RT_HALF, .fraction = 1, .frequencies = {.base = 1000000}}}},
    {"gpt_neox",
     {OF_DECODERS, .norm_kind = RT_NORM_LAYER, .residual = RT_RESIDUAL_PARALLEL,
      .activation = RT_GELU,
      .position = {.pairing = RT_HALF, .fraction = 0.25, .frequencies = {.base = 10000}}}},
};
enum { FAMILIES = sizeof families / sizeof *families };

/* Finds the family whose name precedes the sizes; without a name, the first. */
static rt_status find_family(int *argc, char ***argv, rt_transformer_options *options)
{
    *options = families[0].options;
    if (!*argc || strchr(**argv, '='))
        return rt_ok();
    for (int i = 0; i < FAMILIES; i++)
        if (!strcmp(families[i].name, **argv)) {
            *options = families[i].options;
            --*argc;
            ++*argv;
            return rt_ok();
        }
    return rt_error(RT_CONFIG, "generate knows llama, qwen2 and gpt_neox; got '%s'", **argv);
}

static rt_status generation_new(generation *w, rt_transformer_options options, const int n[SIZES])
{
    options.vocab = n[VOCAB];
    options.layers = n[LAYERS];
    options.dim = n[DIM];
    options.heads = n[HEADS];
    options.kv_heads = n[KV_HEADS];
    options.ffn_dim = n[FFN];
    if (n[PROMPT] < 1 || n[TOKENS] < 1 || n[TEXTS] < 1 || n[TEXTS] > MOST_TEXTS)
        return rt_error(RT_CONFIG, "prompt and tokens must be at least 1, texts from 1 to %d",
                        MOST_TEXTS);
    w->prompt = n[PROMPT];
    w->tokens = n[TOKENS];
    w->texts = n[TEXTS];
    rt_status status = rt_transformer_new(&w->model, &options, 1, NULL);
    for (int i = 0; i < w->texts && !status.code; i++) {
        status = rt_session_new(&w->sessions[i], w->model, 0);
        if (!status.code)
            rt_session_set_crew(w->sessions[i], rt_workers_crew(w->workers, 0));
    }
    if (status.code)
        return status;
    w->ids = rt_alloc((size_t)w->prompt, sizeof *w->ids);
    w->logits = rt_alloc((size_t)w->texts * (size_t)n[VOCAB], sizeof *w->logits);
    if (!w->ids || !w->logits)
        return rt_out_of_memory("a benchmark");
    for (int t = 0; t < w->prompt; t++)
        w->ids[t] = (int32_t)((1009LL * t + 17) % n[VOCAB]);
    return rt_ok();
}

rt_status bench_generate(const bench_options *o, int argc, char **argv)
{
    static const char *const names[] = {"layers", "dim",    "heads",  "kv_heads", "ffn",
                                        "vocab",  "prompt", "tokens", "texts",    NULL};
    int n[SIZES] = {6, 288, 6, 6, 768, 32000, 256, 64, 1};
    generation w = {.model = NULL};
    rt_transformer_options options;
    rt_status status = find_family(&argc, &argv, &options);
    if (!status.code)
        status = bench_sizes(argc, argv, names, n);
    if (!status.code)
        status = rt_workers_new(&w.workers, o->threads ? o->threads : 1);
    if (!status.code)
        status = generation_new(&w, options, n);
    if (!status.code && o->math == RT_MATH_BF16)
        status = round_weights(&w);
    if (!status.code)
        status = measure(o, &w);
    for (int i = 0; i < MOST_TEXTS; i++)
        rt_session_free(w.sessions[i]);
    rt_transformer_free(w.model);
    rt_workers_free(w.workers);
    rt_engine_hold(NULL, NULL, 0);
    rt_free(w.rounded);
    rt_free(w.ids);
    rt_free(w.logits);
    return status;
}
