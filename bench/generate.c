#include "bench/bench.h"

#include "core/memory.h"
#include "core/row_kernels.h"
#include "models/session.h"
#include "ops/engine.h"
#include "train/step/workers.h"

#include <string.h>

/* A decoder with random weights reads prompts and continues all of them together with the most
 * likely tokens. A step reads every weight once, so the yardstick is a loop in which as many
 * threads read all weights: the memory bandwidth, if they exceed the caches. */

enum { BLOCKS = 64, MOST_TEXTS = 64 };
enum { LAYERS, DIM, HEADS, KV_HEADS, FFN, VOCAB, PROMPT, TOKENS, TEXTS };

typedef struct generation {
    rt_transformer *model;
    rt_session *sessions[MOST_TEXTS];
    int32_t *ids; /* (prompt) */
    real *logits; /* (texts, V) */
    int prompt, tokens, texts;
    rt_workers *workers;
    uint16_t *rounded;     /* weights in bf16 with --math bf16; or NULL */
    uint64_t mark[BLOCKS]; /* checksums of the weights, so that the compiler keeps the reads */
} generation;

/* Returns the size in bytes of the weights that products read for one token. */
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

static void read_block(void *context, int job, int worker)
{
    generation *w = context;
    const size_t words = bytes_read(w) / sizeof(uint64_t) / BLOCKS;
    const void *weights = w->rounded ? (void *)w->rounded : (void *)w->model->parameters.values;
    (void)worker;
    w->mark[job] += mark_of((const char *)weights + (size_t)job * words * sizeof(uint64_t), words);
}

static void measure(generation *w)
{
    static bench_times reading, prompts, steps; /* of reading the weights; per text; per step */
    bench_rounds rounds = {.warm_up = 1, .fewest = 5, .seconds = 10};
    const int vocab = w->model->options.vocab;
    const rt_tensor logits = rt_tensor_of(w->logits, NULL, RT_SHAPE_OF(w->texts, vocab));
    int32_t ids[MOST_TEXTS];
    while (bench_next(&rounds)) {
        const double start = bench_now();
        rt_workers_run(w->workers, 0, read_block, w, BLOCKS);
        const double read = bench_now();
        for (int i = 0; i < w->texts; i++) {
            bench_need(rt_session_keep(w->sessions[i], 0));
            bench_need(rt_session_feed(w->sessions[i], w->ids, w->prompt, 1,
                                       w->logits + (size_t)i * (size_t)vocab));
        }
        const double prompted = bench_now();
        for (int n = 0; n < w->tokens; n++) {
            for (int i = 0; i < w->texts; i++)
                ids[i] = rt_largest(&logits, (size_t)i);
            bench_need(rt_session_feed_each(w->sessions, w->texts, ids, w->logits));
        }
        bench_add(&reading, &rounds, read - start);
        bench_add(&prompts, &rounds, (prompted - read) / w->texts);
        bench_add(&steps, &rounds, (bench_now() - prompted) / w->tokens);
    }
    const double bytes = (double)bytes_read(w);
    BENCH_ROW(true, BENCH_TEXT("kernels", 0, rt_engine_kernels()),
              BENCH_NUMBER("threads", 7, 0, rt_workers_count(w->workers)),
              BENCH_NUMBER("texts", 5, 0, w->texts), BENCH_NUMBER("runs", 4, 0, reading.count),
              BENCH_NUMBER("MB", 6, 0, 1e-6 * bytes),
              BENCH_NUMBER("GB/s", 6, 1, 1e-9 * bytes / bench_median(&reading)),
              BENCH_NUMBER("prompt tokens/s", 15, 1, w->prompt / bench_median(&prompts)),
              BENCH_TIMES("ms/token", 9, 3, 1e3 / w->texts, &steps),
              BENCH_NUMBER("tokens/s", 9, 1, w->texts / bench_median(&steps)),
              BENCH_NUMBER("step/reading", 12, 2, bench_ratio(&steps, &reading)));
}

/* Architectures by their names in transformers; sizes are set later. */
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

void bench_generate(void)
{
    const char *name = bench.arguments[0]; /* NULL: not given */
    const int *n = bench.sizes;
    int family = 0;
    generation w = {.prompt = n[PROMPT], .tokens = n[TOKENS], .texts = n[TEXTS]};
    while (name && family < FAMILIES && strcmp(families[family].name, name) != 0)
        family++;
    if (family == FAMILIES)
        bench_need(rt_error(RT_CONFIG, "generate knows llama, qwen2 and gpt_neox; got '%s'", name));
    if (w.texts > MOST_TEXTS)
        bench_need(rt_error(RT_CONFIG, "prompt and tokens must be at least 1, texts from 1 to %d",
                            MOST_TEXTS));
    rt_transformer_options options = families[family].options;
    options.vocab = n[VOCAB];
    options.layers = n[LAYERS];
    options.dim = n[DIM];
    options.heads = n[HEADS];
    options.kv_heads = n[KV_HEADS];
    options.ffn_dim = n[FFN];
    bench_need(rt_workers_new(&w.workers, bench.threads ? bench.threads : 1));
    bench_need(rt_transformer_new(&w.model, &options, 1, NULL));
    for (int i = 0; i < w.texts; i++) {
        bench_need(rt_session_new(&w.sessions[i], w.model, 0));
        rt_session_set_threads(w.sessions[i], rt_workers_threads(w.workers, 0));
    }
    w.ids = bench_alloc((size_t)w.prompt, sizeof *w.ids);
    w.logits = bench_alloc((size_t)w.texts * (size_t)options.vocab, sizeof *w.logits);
    for (int t = 0; t < w.prompt; t++)
        w.ids[t] = (int32_t)((1009LL * t + 17) % options.vocab);
    if (bench.math == RT_MATH_BF16) { /* rounds the weights, as a run does before generation */
        const rt_parameters *p = &w.model->parameters;
        w.rounded = bench_alloc(p->block_size, sizeof *w.rounded);
        rt_engine_round(w.rounded, p->values, p->block_size);
        rt_engine_hold(p->values, w.rounded, p->block_size);
    }
    measure(&w);
    for (int i = 0; i < w.texts; i++)
        rt_session_free(w.sessions[i]);
    rt_transformer_free(w.model);
    rt_workers_free(w.workers);
    rt_engine_hold(NULL, NULL, 0);
    rt_free(w.rounded);
    rt_free(w.ids);
    rt_free(w.logits);
}
