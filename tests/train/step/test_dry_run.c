/* Dry runs against runs: they count the memory of a trainer and its graphs to the byte. */

#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "ops/engine.h"
#include "train/step/memory.h"
#include "train/step/private.h"

#include <sys/resource.h>

static const char tiny[] = "[model]\nlayers = 2\ndim = 16\nheads = 2\n"
                           "[data]\nlength = 12\nvocab = 10\n"
                           "[optimizer]\nlr = 0.01\n"
                           "[run]\nthreads = 1\n"
                           "[train]\nbatch_size = 7\nshards = 2\neval_batches = 3\n";

static rt_config c;
static rt_data *data;
static rt_memory_need run;

static void close_data(void)
{
    rt_data_close(data);
    data = NULL;
}

static void open_data(const char *const *overrides)
{
    close_data();
    load_sound(&c, tiny, overrides);
    expect_ok(rt_data_open(&data, &c.data, (rt_data_of_model){.vocabulary = NULL}));
}

static void run_dry(const char *const *overrides)
{
    open_data(overrides);
    expect_ok(rt_memory_estimate(&run, &c, data, NULL, RT_USE_TRAIN));
}

SUITE(.teardown = close_data)

/* Tasks of which every sequence has as many labels: only so are all shards as large. */
#define CAUSAL "model.causal=yes", "data.task=period", "data.objective=lm"
#define ROW(...)                                                                                   \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
static const char *const rows[][10] = {
    {NULL},
    ROW("theta.learn=yes"),
    ROW("theta.learn=yes", "theta.scope=head", "theta.form=raw", "position.pairing=half"),
    ROW("model.norm=pre", "model.dropout=0.1", "model.attention_dropout=0.1"),
    ROW("model.ffn=swiglu", "model.norm_kind=rms", "model.kv_heads=1"),
    ROW("model.kind=decoder", CAUSAL),
    ROW("model.kind=decoder", CAUSAL, "model.window=3", "position.every=2", "model.layers=3"),
    ROW("model.kind=decoder", CAUSAL, "model.layers=3", "model.window=3",
        "model.layer_types=full,sliding,full", "position.layers=yes,no,yes"),
    ROW("model.norm=pre", "model.residual=parallel", "model.bias=qkv", "model.head_dim=10",
        "model.qk_norm=yes", "theta.learn=yes"),
    ROW("model.layers=3", "model.window=3", "model.layer_types=full,sliding,sliding",
        "position.local_base=50"),
    ROW("model.token_dropout=yes", "model.bias=output"),
    ROW("data.task=order", "data.vocab=12", "model.classifier=norm", "model.norm_bias=no"),
    ROW("model.norm=pre", "model.norm_bias=no", "model.first_norm=no", "model.embedding_norm=no"),
    ROW("model.attention=linear_elu"),
    ROW("model.attention=linear_softmax", CAUSAL),
    ROW("model.attention=linear_cosine", "theta.learn=yes"),
    ROW("position.kind=sinusoidal"),
    ROW("position.kind=learned", "position.max_len=40", "train.eval_lengths=40,20"),
    ROW("position.kind=alibi"),
    ROW("position.kind=t5"),
    ROW("position.kind=shaw"),
    ROW("position.kind=none"),
    ROW("position.xpos=64", CAUSAL),
    ROW("position.rotate_value=yes", "model.embedding_dim=8", "model.tie_embeddings=no"),
    ROW("data.task=order", "data.vocab=12"),
    ROW("train.freeze=embeddings,layers.0", "theta.learn=yes"),
    ROW("train.eval_lengths=300,40", "data.length=300", "train.batch_size=4"),
    ROW("position.scaling=dynamic", "position.scale=2", "train.eval_lengths=40"),
    ROW("train.batch_size=32", "train.shards=16"),
    ROW("train.recompute=layers", "model.layers=4", "model.dropout=0.1"),
    ROW("train.recompute=layers", "model.kind=decoder", "theta.learn=yes", CAUSAL),
};

static rt_trainer *new_trainer(void)
{
    rt_trainer *t;
    expect_ok(rt_trainer_new(&t, &c, data, NULL));
    return t;
}

static void evaluate(rt_trainer *t)
{
    const rt_lengths *lengths = &t->config->train.eval_lengths;
    rt_evaluation result;
    for (int i = -1; i < lengths->count; i++)
        expect_ok(rt_trainer_evaluate(t, i < 0 ? t->config->data.length : lengths->at[i],
                                      t->config->train.eval_batches, &result, NULL));
}

static void expect_same(const char *what, rt_graph_need dry, const rt_trainer *t)
{
    const rt_graph_need need = rt_graph_needs(t->graphs[0]);
    ck_assert_msg(dry.touched == need.touched && dry.space == need.space,
                  "row %s: %zu bytes of %zu in a dry run, %zu of %zu in a run", what, dry.touched,
                  dry.space, need.touched, need.space);
}

static void compare_graphs(int row)
{
    const char *what = rows[row][0] ? rows[row][0] : "as it is";
    rt_step_result result;
    run_dry(rows[row]);
    rt_trainer *t = new_trainer(), *other = new_trainer();
    expect_ok(rt_trainer_step(t, &result));
    expect_ok(rt_trainer_step(t, &result));
    expect_same(what, run.step, t);
    evaluate(t);
    expect_same(what, run.training, t);
    evaluate(other);
    expect_same(what, run.evaluation, other);
    rt_trainer_free(t);
    rt_trainer_free(other);
}

TEST_ROWS(a_dry_run_counts_the_memory_of_the_graphs, 0, ROWS(rows))
{
    compare_graphs(_i);
}

#ifndef RT_DOUBLE

static bool in_bf16(void)
{
    return !rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_BF16).code;
}

/* Tests may share a process. */
static void compute_in_float(void)
{
    expect_ok(rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT));
}

static const test_options rounding_options = {.setup = compute_in_float,
                                              .clean = compute_in_float,
                                              .teardown = close_data,
                                              .may_leak = true};

/* Each layer and head has a weight for all pairs of tokens of a sequence. */
TEST_WITH(rounding_options, the_weights_of_attention_are_in_the_estimate_of_distances, 0, 2)
{
    static const char *const shape[] =
        ROW("model.kind=decoder", CAUSAL, "data.length=2048", "train.batch_size=1",
            "train.shards=1", "model.layers=3", "model.dim=64", "model.heads=8", "theta.learn=no");
    rt_memory_need need;
    open_data(shape);
    c.model.attention = _i ? RT_ATTENTION_LINEAR_ELU : RT_ATTENTION_SOFTMAX;
    expect_ok(rt_memory_estimate(&need, &c, data, NULL, RT_USE_DISTANCES));
    const double more = need.resident[RT_PHASE_DISTANCES] - need.resident[RT_PHASE_EVAL];
    const double weights = 3.0 * 8 * 2048 * 2048 * sizeof(real);
    ck_assert_double_ge(more, _i ? 0 : 0.95 * weights);
    ck_assert_double_le(more, _i ? 0 : 1.05 * weights);
}

#define BF16 "oneDNN and a processor with bf16"

TEST_WITH(rounding_options, a_dry_run_counts_rounded_copies, 0, IN_FLOAT)
{
    NEEDS(in_bf16(), BF16);
    for (int row = 0; row < ROWS(rows); row++)
        compare_graphs(row);
}

/* Bytes of a step of 135 million parameters and long sequences, parameters and moments among them.
 */
static double step_of_135m(rt_math math, rt_recompute recompute)
{
    static const char *const shape[] =
        ROW("model.kind=decoder", CAUSAL, "data.length=1024", "data.vocab=49152",
            "train.batch_size=4", "model.layers=30", "model.dim=576", "model.heads=9",
            "model.kv_heads=3", "model.ffn_dim=1536", "model.tie_embeddings=yes", "theta.learn=no");
    rt_memory_need need;
    open_data(shape);
    c.run.math = math;
    c.train.recompute = recompute;
    expect_ok(rt_memory_estimate(&need, &c, data, NULL, RT_USE_TRAIN));
    return need.resident[RT_PHASE_STEP];
}

TEST_WITH(rounding_options, a_large_step_takes_less_memory_in_bf16, RT_RECOMPUTE_NONE,
          IN_FLOAT ? RT_RECOMPUTE_LAYERS + 1 : 0)
{
    const rt_recompute recompute = (rt_recompute)_i;
    const double in_float = step_of_135m(RT_MATH_FLOAT, recompute);
    NEEDS(in_bf16(), BF16);
    ck_assert_double_lt(step_of_135m(RT_MATH_BF16, recompute), in_float);
}

#endif

TEST(recomputation_takes_less_memory)
{
    run_dry(OVERRIDES("model.layers=8", "train.recompute=none"));
    const size_t kept = run.step.touched;
    run_dry(OVERRIDES("model.layers=8", "train.recompute=layers"));
    ck_assert_uint_lt(2 * run.step.touched, kept);
}

static rt_status status_of(const char *const *overrides)
{
    open_data(overrides);
    const size_t live = rt_memory_live();
    rt_status status = rt_memory_estimate(&run, &c, data, NULL, RT_USE_TRAIN);
    ck_assert_uint_eq(rt_memory_live(), live);
    return status;
}

/* Values and two moments of the block of parameters; a block of gradients for each shard at work
 * and each sum that waits; ids, labels, types, where and wanted of a token are four bytes each,
 * and its mask one. */
TEST_ROWS(a_dry_run_counts_the_memory_of_a_trainer, 0, ROWS(rows))
{
    expect_ok(status_of(rows[_i]));
    rt_trainer *t = new_trainer();
    const size_t bytes = t->state.model->parameters.block_size * sizeof(real);
    const size_t shard = (size_t)((c.train.batch_size + t->shards - 1) / t->shards);
    ck_assert_uint_eq(run.reserved.bytes[RT_FOR_VALUES], bytes);
    ck_assert_uint_eq(run.reserved.bytes[RT_FOR_STATES], 2 * bytes);
    ck_assert_int_eq(run.blocks, t->blocks);
    ck_assert_uint_eq(run.reserved.bytes[RT_FOR_GRADIENTS], (size_t)t->blocks * bytes);
    ck_assert_uint_eq(run.reserved.bytes[RT_FOR_BATCHES],
                      (size_t)t->shards * shard * (size_t)c.data.length * 21);
    ck_assert_uint_eq(run.reserved.bytes[RT_FOR_ROUNDED] + run.reserved.bytes[RT_FOR_RECEIVED], 0);
    ck_assert_int_eq(run.parameters, t->state.model->parameters.count);
    ck_assert_int_eq(run.graphs, 1);
    rt_trainer_free(t);
}

/* The logits of 4095 labels for a million tokens; the same of half of the tokens fit an int. */
TEST(a_tensor_of_more_elements_than_an_int_is_refused)
{
    is_status_with(status_of(OVERRIDES("data.vocab=1000000", "data.length=4096", CAUSAL)), RT_SHAPE,
                   "(12285, 1000000)");
    expect_ok(status_of(
        OVERRIDES("data.vocab=1000000", "data.length=2048", "train.batch_size=2", CAUSAL)));
    is_status(status_of(OVERRIDES("data.length=1000000", "train.batch_size=10000")), RT_SHAPE,
              "5000 sequences of 1000000 tokens are more than 2147483647 tokens");
}

TEST(a_dry_run_refuses_every_configuration_that_a_trainer_refuses)
{
    is_status(status_of(OVERRIDES("train.freeze=embeddings,layers.0,layers.1,head")), RT_CONFIG,
              "train.freeze = embeddings,layers.0,layers.1,head leaves nothing to train");
}

/* AddressSanitizer does not run with a limit of address space. */
#ifndef __SANITIZE_ADDRESS__
TEST(a_dry_run_of_gigabytes_reserves_no_address_space)
{
    struct rlimit limit, before;
    open_data(OVERRIDES("model.dim=4096", "model.layers=20", "data.length=2048"));
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    rt_memory_limits used;
    rt_memory_limits_read(&used, "");
    limit.rlim_cur = (rlim_t)used.addresses_used + (64 << 20);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    const rt_status status = rt_memory_estimate(&run, &c, data, NULL, RT_USE_TRAIN);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    expect_ok(status);
    ck_assert_uint_gt(run.reserved.bytes[RT_FOR_STATES], (size_t)30e9);
    ck_assert_uint_gt(run.step.touched, (size_t)1e9);
}
#endif

TEST(every_refusal_of_the_heap_ends_a_dry_run_without_a_leak)
{
    /* The number of threads is set: without memory rt_processors returns one. */
    open_data(OVERRIDES("theta.learn=yes", "run.threads=2"));
    const size_t live = rt_memory_live(), before = rt_memory_requests();
    expect_ok(rt_memory_estimate(&run, &c, data, NULL, RT_USE_TRAIN));
    const size_t requests = rt_memory_requests() - before;
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, requests)
    {
        code = rt_memory_estimate(&run, &c, data, NULL, RT_USE_TRAIN).code;
        ck_assert_uint_eq(rt_memory_live(), live);
    }
    ck_assert_int_eq(code, RT_OK);
}

/* Nearly all of many shards have at most the estimated labels, and the largest not far fewer. */
TEST(the_estimate_of_labels_is_a_little_above_that_of_shards)
{
    enum { SHARDS = 200, SHARD = 8 };
    rt_labelled_batch b;
    int most, above = 0, largest = 0;
    open_data(OVERRIDES("data.task=period", "data.objective=mlm", "train.batch_size=1600",
                        "data.length=64"));
    expect_ok(rt_most_labels(&most, &c, data, SHARD, 64));
    expect_ok(rt_labelled_batch_new(&b, SHARD, 64, 0, NULL));
    for (uint32_t i = 0; i < SHARDS; i++) {
        rt_draw_training(&b, data, 7, 3, i * SHARD);
        above += b.labels > most;
        largest = b.labels > largest ? b.labels : largest;
    }
    ck_assert_int_le(above, SHARDS / 50);
    ck_assert_int_ge(largest, most * 8 / 10);
    rt_labelled_batch_free(&b);
}

/* The lowest limit of the groups on the path counts. A number of version 1 near 2^63 means no
 * limit, and a line of another controller names no group of memory. */
TEST_ROWS(the_lowest_limit_of_the_control_groups_is_read, 0, 3)
{
    static const struct {
        const char *groups, *folder, *file, *limit_of_a, *limit_of_b; /* of /a and of /a/b */
        double lowest;
    } files[] = {
        {"0::/a/b\n", "sys/fs/cgroup", "memory.max", "3000\n", "max\n", 3000},
        {"4:cpu:/x\n5:cpu,memory:/a/b\n", "sys/fs/cgroup/memory", "memory.limit_in_bytes",
         "9223372036854771712\n", "2000\n", 2000},
        {"4:cpu:/a/b\n", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "1\n", "1\n", INFINITY},
    };
    rt_memory_limits limits;
    make_scratch();
    ck_assert(
        !system(lasting("mkdir -p %s/proc/self %s/%s/a/b", scratch, scratch, files[_i].folder)));
    put_text("proc/self/cgroup", files[_i].groups);
    put_text(lasting("%s/a/%s", files[_i].folder, files[_i].file), files[_i].limit_of_a);
    put_text(lasting("%s/a/b/%s", files[_i].folder, files[_i].file), files[_i].limit_of_b);
    rt_memory_limits_read(&limits, scratch);
    ck_assert(limits.group == files[_i].lowest);
    ck_assert_int_eq(!*limits.group_file, isinf(limits.group));
    ck_assert_int_eq(system(lasting("rm -r %s", scratch)), 0);
}
