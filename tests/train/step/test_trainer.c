/* One optimiser step and evaluation, in double. */

#include "models/new_model.h"
#include "train/step/measurements.h"
#include "train/step/training.h"
#include "util/scratch.h"

static const char tiny[] = "[model]\nlayers = 2\ndim = 16\nheads = 2\n"
                           "[theta]\nlearn = yes\n"
                           "[data]\nlength = 12\nvocab = 10\n"
                           "[optimizer]\nlr = 0.01\n"
                           "[train]\nbatch_size = 16\neval_batches = 3\n";

/* The usual training but for one or two settings. */
#define NEW(...) new_training(tiny, OVERRIDES(__VA_ARGS__))

static const rt_parameters *parameters(const training *t)
{
    return &t->state->model->parameters;
}

/* Returns a copy of the values of the parameters. */
static const real *values_of(const training *t)
{
    const rt_parameters *p = parameters(t);
    real *values = owned(malloc(p->block_size * sizeof *values), free);
    return memcpy(values, p->values, p->block_size * sizeof *values);
}

static bool have_same_values(const training *t, const real *values)
{
    return !memcmp(parameters(t)->values, values, parameters(t)->block_size * sizeof *values);
}

TEST(trained_parts_have_the_same_gradients_as_without_frozen_parts)
{
    static const char frozen[] = "embeddings,layers.0";
    training *all = NEW("train.shards=2");
    training *some = NEW("train.shards=2", lasting("train.freeze=%s", frozen));
    take_steps(all, 1);
    take_steps(some, 1);
    int trained = 0;
    for (int i = 0; i < parameters(all)->count; i++) {
        const rt_parameter *p = parameters(all)->list[i], *q = parameters(some)->list[i];
        if (rt_freezes(frozen, p))
            continue;
        for (size_t k = 0; k < rt_size(&p->tensor); k++)
            ck_assert_double_eq_tol((double)p->tensor.grad[k], (double)q->tensor.grad[k], 1e-12);
        trained++;
    }
    ck_assert_int_gt(trained, 0);
}

/* 512 tokens and one sequence at least, 16 shards at most. */
TEST(the_number_of_shards_follows_from_the_sizes)
{
    static const struct {
        int batch_size, length, asked, shards;
    } rows[] = {
        {32, 32, 0, 2},     /* 1024 tokens */
        {32, 31, 0, 1},     /* 992: two shards would have 496 */
        {16, 32, 0, 1},     /* 512 */
        {64, 64, 0, 8},     /* 4096 */
        {8, 512, 0, 8},     /* a sequence each */
        {7, 512, 0, 4},     /* 4 shards, the smallest of one sequence */
        {3, 4096, 0, 2},    /* more tokens, but no more sequences */
        {1, 4096, 0, 1},    /* a sequence is never cut */
        {9, 128, 0, 2},     /* the smaller half has 4 sequences, 512 tokens */
        {1024, 512, 0, 16}, /* never more than 16 */
        {16, 12, 8, 8},     /* as asked */
        {64, 512, 1, 1},    {64, 32, 64, 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rt_config c;
        load_sound(&c,
                   lasting("[data]\nlength = %d\n[train]\nbatch_size = %d\nshards = %d\n",
                           rows[i].length, rows[i].batch_size, rows[i].asked),
                   NULL);
        ck_assert_msg(c.train.shards == rows[i].shards,
                      "%d sequences of %d tokens, %d asked: %d shards instead of %d",
                      rows[i].batch_size, rows[i].length, rows[i].asked, c.train.shards,
                      rows[i].shards);
    }
}

/* The same sequences are summed in another order; 16 and 11 sequences, which 4 does not divide. */
TEST_ROWS(gradients_do_not_depend_on_the_number_of_shards, 0, 6)
{
    static const char *const sizes[] = {"train.batch_size=16", "train.batch_size=11"};
    static const char *const cuts[] = {"train.shards=2", "train.shards=4", "train.shards=8"};
    training *whole = NEW("train.shards=1", sizes[_i / 3]);
    training *cut = NEW(cuts[_i % 3], sizes[_i / 3]);
    const rt_step_result a = take_steps(whole, 1), b = take_steps(cut, 1);
    const rt_parameters *p = parameters(whole), *q = parameters(cut);
    ck_assert_int_eq(b.tokens, (_i / 3 ? 11 : 16) * 12);
    ck_assert_double_eq_tol(a.loss, b.loss, 1e-14 * a.loss);
    ck_assert_double_eq_tol(a.grad_norm, b.grad_norm, 1e-13 * a.grad_norm);
    ck_assert_double_eq(a.accuracy, b.accuracy);
    ck_assert_int_eq(a.tokens, b.tokens);
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor); k++)
            ck_assert_msg(fabs(p->list[i]->tensor.grad[k] - q->list[i]->tensor.grad[k]) <=
                              1e-14 * a.grad_norm,
                          "%s at %zu: %.17g and %.17g", p->list[i]->name, k,
                          p->list[i]->tensor.grad[k], q->list[i]->tensor.grad[k]);
}

/* Nor does an evaluation between the steps. */
TEST_ROWS(threads_never_change_a_bit, 0, 3)
{
    static const int counts[] = {2, 3, 16};
    const char *drop = "model.dropout=0.2", *shards = "train.shards=8";
    training *one = NEW("run.threads=1", drop, shards);
    training *more = NEW(lasting("run.threads=%d", counts[_i]), drop, shards);
    ck_assert_int_eq(rt_workers_count(rt_trainer_workers(more->trainer)), counts[_i]);
    for (int i = 0; i < 3; i++) {
        const rt_step_result x = take_steps(one, 2), y = take_steps(more, 2);
        ck_assert(x.loss == y.loss && x.grad_norm == y.grad_norm && x.accuracy == y.accuracy);
        const rt_evaluation b = evaluate(more);
        if (i < 2)
            continue;
        const rt_evaluation a = evaluate(one);
        ck_assert(a.loss == b.loss && a.accuracy == b.accuracy && a.labels == b.labels);
    }
    const size_t bytes = parameters(one)->block_size * sizeof(real);
    ck_assert(have_same_values(one, parameters(more)->values));
    for (int i = 0; i < 2; i++)
        ck_assert(!memcmp(one->state->states[i], more->state->states[i], bytes));
}

/* The first moment of plain gradient descent is the gradient that was used. */
TEST(a_gradient_above_the_norm_is_clipped)
{
    const char *kind = "optimizer.kind=sgd", *decay = "optimizer.weight_decay=0";
    training *unclipped = NEW(kind, decay, "optimizer.clip_norm=0");
    training *clipped = NEW(kind, decay, "optimizer.clip_norm=1e-3");
    const double norm = take_steps(unclipped, 1).grad_norm;
    ck_assert_double_eq(take_steps(clipped, 1).grad_norm, norm); /* that before clipping */
    double squares = 0;
    for (size_t k = 0; k < parameters(clipped)->block_size; k++)
        squares += clipped->state->states[0][k] * clipped->state->states[0][k];
    ck_assert_double_gt(norm, 1e-2);
    ck_assert_double_eq_tol(sqrt(squares), 1e-3, 1e-8); /* the factor has 1e-6 under its norm */
}

/* The first step of AdamW is at most the learning rate. Words of 1100 x 16 are updated in two jobs,
 * the second of them shorter. */
TEST(a_parameter_of_several_jobs_is_updated_once)
{
    enum { WORDS = 1100 * 16 };
    training *t = NEW("optimizer.weight_decay=0", "data.vocab=1100");
    const rt_parameters *p = parameters(t);
    const real *before = values_of(t);
    int moved = 0;
    const double lr = take_steps(t, 1).lr;
    ck_assert_uint_eq(rt_size(&p->list[0]->tensor), WORDS);
    for (size_t k = 0; k < p->block_size; k++) {
        const double change = fabs(p->values[k] - before[k]);
        ck_assert_msg(change <= lr * (1 + 1e-9), "element %zu moved by %g", k, change / lr);
        moved += k >= p->list[0]->offset + WORDS - 16 && k < p->list[0]->offset + WORDS &&
                 change > 0.9 * lr;
    }
    ck_assert_int_gt(moved, 8);
}

/* The first number of the words, those of [PAD], has a gradient of 0; the first parameter with any
 * that is not finite is theirs all the same. */
TEST(a_non_finite_step_changes_nothing_and_names_its_first_gradient)
{
    training *t = NEW("train.shards=2", "model.tie_embeddings=no");
    rt_step_result result;
    take_steps(t, 2);
    rt_parameter *word = rt_parameters_find(parameters(t), "embeddings.tokens.weight");
    word->tensor.data[5 * 16] = NAN;
    const real *before = values_of(t);
    rt_status status = rt_trainer_step(t->trainer, &result);
    ck_assert_int_eq(status.code, RT_NONFINITE);
    ck_assert_msg(!strncmp(status.message, "step 3: the loss is ", 20), "%s", status.message);
    expect_in(status.message, ", and the gradient of embeddings.tokens.weight is not finite");
    ck_assert_double_eq(word->tensor.grad[0], 0);
    ck_assert(have_same_values(t, before));
    ck_assert_int_eq(t->state->step, 2);
    ck_assert_int_eq(t->state->sequences, 32);
}

/* Labels of the next batch that the model predicts, with the logits of all positions. */
static double count_predicted(const training *t, long *labels)
{
    enum { B = 16, V = 10 };
    rt_labelled_batch b;
    int predicted = 0;
    expect_ok(rt_labelled_batch_new(&b, B, t->config.data.length, 0, NULL));
    rt_draw_training(&b, t->data, t->config.run.seed, (uint32_t)t->state->step, 0);
    for (int n = 0; n < b.labels; n++) {
        const int row = b.where[n] / b.batch.length, at = b.where[n] % b.batch.length;
        const real *logits =
            logits_of(t->state->model, b.batch.ids + row * b.batch.length, NULL, b.batch.length) +
            at * V;
        int best = 0;
        for (int v = 1; v < V; v++)
            best = logits[v] > logits[best] ? v : best;
        predicted += b.wanted[n] == best;
    }
    *labels = b.labels;
    rt_labelled_batch_free(&b);
    return predicted;
}

TEST(the_accuracy_of_a_step_is_the_share_of_its_labels)
{
    training *t = NEW("train.shards=4");
    long labels;
    take_steps(t, 40);
    const double predicted = count_predicted(t, &labels);
    ck_assert_int_eq(labels, 16 * 5);
    ck_assert_double_gt(predicted, 8);
    ck_assert_double_lt(predicted, 80);
    const rt_step_result result = take_steps(t, 1);
    ck_assert_double_eq(result.accuracy, predicted / 80);
    ck_assert_int_eq(result.tokens, 16 * 12);
}

TEST(the_norms_are_those_of_all_parameters_and_of_theta)
{
    training *t = NEW("train.shards=4");
    const rt_step_result r = take_steps(t, 1);
    const rt_parameters *p = parameters(t);
    double all = 0, theta = 0;
    int thetas = 0;
    for (int i = 0; i < p->count; i++) {
        const bool is_theta = strstr(p->list[i]->name, "theta") != NULL;
        thetas += is_theta;
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor); k++) {
            const double square = p->list[i]->tensor.grad[k] * p->list[i]->tensor.grad[k];
            all += square;
            theta += is_theta ? square : 0;
        }
    }
    ck_assert_int_eq(thetas, 2); /* of two layers */
    ck_assert_double_gt(theta, 0);
    ck_assert_double_eq_tol(r.grad_norm, sqrt(all), 1e-12 * sqrt(all));
    ck_assert_double_eq_tol(r.theta_grad_norm, sqrt(theta), 1e-12 * sqrt(theta));
    t = NEW("theta.learn=no");
    ck_assert_double_eq(take_steps(t, 1).theta_grad_norm, 0);
}

TEST(a_second_override_of_theta_replaces_the_first)
{
    training *t = NEW("run.threads=1");
    double *start = rt_transformer_theta_start(t->state->model), factors[16];
    const int count = (int)rt_shape_size(rt_transformer_rotation_shape(&t->state->model->options));
    rt_evaluation e, own = evaluate(t);
    ck_assert_int_le(count, 16);
    for (int i = 0; i < count; i++)
        factors[i] = 0;
    rt_trainer_change_theta(t->trainer, &(rt_theta_change){factors, .factors = true});
    ck_assert_double_ne(evaluate(t).loss, own.loss);
    expect_ok(rt_theta_evaluate(t->trainer, t->config.data.length, t->config.train.eval_batches,
                                start, NULL, &e));
    ck_assert_double_eq(e.loss, own.loss);
    ck_assert_double_eq(evaluate(t).loss, own.loss);
}

/* Returns the calls of ops in the printed profile. */
static long profiled_calls(const rt_trainer *trainer)
{
    char line[200];
    long calls = 0;
    FILE *to = tmpfile();
    rt_trainer_print_profile(to, trainer);
    rewind(to);
    for (long here; fgets(line, sizeof line, to);)
        calls += sscanf(line, "%*s %*s %ld %*f %*f%%", &here) == 1 ? here : 0;
    fclose(to);
    return calls;
}

TEST(a_profile_can_begin_again)
{
    training *t = NEW("run.threads=1");
    ck_assert_int_eq(profiled_calls(t->trainer), 0);
    expect_ok(rt_trainer_observe(t->trainer, false, true));
    take_steps(t, 2);
    const long calls = profiled_calls(t->trainer);
    ck_assert_int_gt(calls, 0);
    expect_ok(rt_trainer_observe(t->trainer, false, true));
    take_steps(t, 1);
    ck_assert_int_eq(2 * profiled_calls(t->trainer), calls);
}

TEST(steps_allocate_nothing_after_the_first_two)
{
    /* one thread: of several, which takes its first shard when is a matter of luck */
    training *t = NEW("train.shards=4", "run.threads=1", "model.dropout=0.1");
    take_steps(t, 2);
    const size_t requests = rt_memory_requests(), live = rt_memory_live();
    take_steps(t, 10);
    ck_assert_uint_eq(rt_memory_requests(), requests);
    ck_assert_uint_eq(rt_memory_live(), live);
}

/* Makes a trainer, and takes a step and an evaluation. */
static rt_status live_once(const rt_config *c, const rt_data *data)
{
    rt_step_result result;
    rt_evaluation evaluation;
    int64_t tally[RT_DISTANCE_BINS][2];
    rt_trainer *trainer;
    rt_status status = rt_trainer_new(&trainer, c, data, NULL);
    if (!status.code)
        status = rt_trainer_step(trainer, &result);
    if (!status.code)
        status = rt_trainer_evaluate(trainer, c->data.length, c->train.eval_batches, &evaluation,
                                     tally[0]);
    rt_trainer_free(trainer);
    return status;
}

/* Some may be refused without harm: a graph that cannot keep its memory in one piece grows
 * anew, and with two threads it is luck how many requests there are. */
TEST_ROWS(every_refusal_of_the_heap_is_a_status, 0, 2)
{
    static const char *const threads[] = {"run.threads=1", "run.threads=2"};
    rt_config c;
    rt_data *data;
    load_sound(&c, tiny,
               OVERRIDES("train.shards=2", "model.layers=1", "model.causal=yes",
                         "data.task=induction", "data.length=20", threads[_i]));
    expect_ok(rt_data_open(&data, &c.data, (rt_data_of_model){.vocabulary = NULL}));
    const size_t live = rt_memory_live(), before = rt_memory_requests();
    expect_ok(live_once(&c, data));
    const size_t requests = rt_memory_requests() - before;
    size_t refused = 0;
    for (size_t n = 1; n <= requests; n++) {
        rt_memory_fail_at(n);
        const rt_status status = live_once(&c, data);
        rt_memory_fail_at(0);
        refused += status.code == RT_MEMORY;
        ck_assert_msg(!status.code || status.code == RT_MEMORY, "request %zu of %zu: code %d, '%s'",
                      n, requests, status.code, status.message);
        ck_assert_msg(rt_memory_live() == live, "request %zu: a leak", n);
    }
    ck_assert_uint_gt(refused, requests * 8 / 10);
    rt_data_close(data);
}

/* Expected counts of an evaluation, from each sequence alone. */
typedef struct counted {
    long exact;
    int64_t bins[RT_DISTANCE_BINS][2];
    double loss, attended[4];
    long labels;
} counted;

static counted count_alone(const training *t, int length, int sequences)
{
    const rt_transformer_options *o = &t->config.model;
    rt_transformer *model = t->state->model;
    counted all = {0};
    rt_labelled_batch one;
    int32_t predicted[64], distances[64];
    real each[4 * 64 * 64], *maps[] = {each, each + 2 * length * length};
    expect_ok(rt_labelled_batch_new(&one, 1, length, 0, NULL));
    if (o->position.randomized)
        expect_ok(rt_labelled_batch_randomize(&one, o->position.randomized, NULL));
    one.predicted = predicted;
    one.batch.distances = distances;
    for (uint32_t r = 0; r < (uint32_t)sequences; r++) {
        rt_batch_result result;
        rt_graph *g = new_graph();
        rt_draw_evaluation(&one, t->data, r);
        ck_assert_ptr_nonnull(rt_batch_loss(model, g, &one, 1, &result));
        rt_transformer_input in = rt_batch_input(g, &one);
        in.attentions = maps;
        ck_assert_ptr_nonnull(rt_transformer_encode(model, g, &in));
        all.loss += result.loss;
        all.exact += (int)result.correct == one.labels;
        all.labels += one.labels;
        for (int i = 0; i < one.labels; i++) {
            const int at = one.where[i], back = distances[at], T = one.batch.length;
            int bin = 0;
            while (rt_distance_first(bin + 1) <= back)
                bin++;
            all.bins[bin][0]++;
            all.bins[bin][1] += predicted[i] == one.wanted[i];
            for (int n = 0; n < 4; n++)
                all.attended[n] += (double)maps[n / 2][(n % 2) * T * T + at * T + at - back];
        }
    }
    rt_labelled_batch_free(&one);
    return all;
}

TEST_ROWS(an_evaluation_counts_the_answers_of_its_single_sequences, 0, 3)
{
    static const char *const settings[] = {"position.randomized=50", "position.randomized=0",
                                           "position.randomized=13"};
    training *t =
        _i < 2 ? NEW("data.task=induction", "data.length=20", "model.causal=yes", settings[_i])
               : NEW("model.causal=yes", "data.length=4..12", "data.vocab=6", settings[_i]);
    const int length = t->config.data.length, sequences = 48;
    int64_t tally[RT_DISTANCE_BINS][2];
    rt_attention_distances d;
    rt_evaluation e;
    take_steps(t, 40);
    const counted all = count_alone(t, length, sequences);
    memset(tally, 0x55, sizeof tally);
    expect_ok(rt_trainer_evaluate(t->trainer, length, 3, &e, _i < 2 ? tally[0] : NULL));
    ck_assert_int_eq(e.sequences, sequences);
    ck_assert_int_eq(e.labels, all.labels);
    ck_assert_double_eq_tol(e.loss, all.loss / (double)all.labels, 1e-12 * e.loss);
    ck_assert_int_eq(e.exact, _i < 2 ? 0 : all.exact);
    ck_assert(_i < 2 || (all.exact > 0 && all.exact < sequences));
    if (_i == 2)
        return;
    ck_assert(!memcmp(tally, all.bins, sizeof tally));
    expect_ok(rt_trainer_attention_distances(t->trainer, length, &d));
    for (int n = 0; n < 4; n++)
        ck_assert_double_eq_tol(d.answers[n], all.attended[n] / (double)all.labels, 1e-12);
    rt_attention_distances_free(&d);
}

TEST(bins_of_distances_follow_each_other)
{
    int bin = 1;
    for (int distance = 1; distance <= 1000000; distance++) {
        if (distance == rt_distance_first(bin + 1))
            bin++;
        ck_assert_int_eq(rt_distance_bin(distance), bin);
        ck_assert_int_lt(bin, RT_DISTANCE_BINS);
    }
    ck_assert_int_eq(rt_distance_first(7), 7);
    ck_assert_int_eq(rt_distance_first(8), 8);
    ck_assert_int_eq(rt_distance_first(9), 10);
    ck_assert_int_eq(rt_distance_first(12), 16);
    ck_assert_int_eq(rt_distance_first(13), 20);
}

/* The gradient of a step, put together from its shards: each draws its dropout by its number. */
TEST(a_shard_draws_its_dropout_by_its_number)
{
    enum { SHARDS = 4, ROWS = 4, LABELS = 16 * 5 };
    training *t = NEW("model.dropout=0.5", "train.shards=4");
    rt_transformer *model = t->state->model;
    const rt_parameters *p = &model->parameters;
    real *sum = owned(calloc(p->block_size, sizeof *sum), free);
    rt_labelled_batch shard;
    double squares = 0;
    ck_assert_ptr_nonnull(sum);
    expect_ok(rt_labelled_batch_new(&shard, ROWS, t->config.data.length, 0, NULL));
    for (uint32_t i = 0; i < SHARDS; i++) {
        rt_batch_result result;
        rt_graph *g = new_graph();
        rt_draw_training(&shard, t->data, t->config.run.seed, 0, i * ROWS);
        ck_assert_int_eq(shard.labels, LABELS / SHARDS);
        rt_parameters_zero_grads(&model->parameters);
        rt_graph_set_random(g, t->config.run.seed, 0, i);
        expect_ok(rt_graph_backward(g, rt_batch_loss(model, g, &shard, LABELS, &result)));
        for (size_t k = 0; k < p->block_size; k++)
            sum[k] += p->grads[k];
    }
    rt_labelled_batch_free(&shard);
    for (size_t k = 0; k < p->block_size; k++)
        squares += (double)sum[k] * (double)sum[k];
    const rt_step_result step = take_steps(t, 1);
    ck_assert_double_eq_tol(step.grad_norm, sqrt(squares), 1e-12 * sqrt(squares));
}

#define OF(of_component, of_layer)                                                                 \
    ((rt_parameter){.component = RT_COMPONENT_##of_component, .layer = of_layer})
#define THETA(of_layer)                                                                            \
    ((rt_parameter){.component = of_layer < 0 ? RT_COMPONENT_POSITIONS : RT_COMPONENT_LAYER,       \
                    .layer = of_layer,                                                             \
                    .role = RT_ROLE_THETA})

/* The test frozen_parts_keep_their_bits freezes parts of a small model. */
TEST(parts_are_matched_by_their_whole_names)
{
    const struct {
        const char *parts;
        rt_parameter parameter;
        bool frozen;
    } rows[] = {
        {"embeddings", OF(POSITIONS, -1), false},
        {"head", OF(NORM, -1), false},
        {"layers.1", OF(LAYER, 11), false},
        {"layers.11", OF(LAYER, 1), false},
        {"layers.11", OF(LAYER, 11), true},
        {"theta", THETA(-1), true},
        {"weights", THETA(1), false},
        {"weights", OF(LAYER, 1), true},
        {"head, layers.0 ,theta", OF(LAYER, 0), true},
        {"head, layers.0 ,theta", THETA(-1), true},
        {"head, layers.0 ,theta", OF(LAYER, 1), false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(rt_freezes(rows[i].parts, &rows[i].parameter) == rows[i].frozen,
                      "row %zu: '%s'", i, rows[i].parts);
}

/* The model has theta in layers 0 and 2. */
TEST(a_theta_that_cannot_move_is_not_trained)
{
    static const struct {
        const char *keys[3];
        bool trained, factors; /* theta; factors of heads */
    } rows[] = {
        {{"theta.scope=layer"}, true, true},
        {{"theta.lr_scale=0"}, false, true},
        {{"train.freeze=theta"}, false, true},
        {{"train.freeze=weights"}, true, false},
        {{"train.freeze=layers.0,layers.2"}, false, true},
        {{"train.freeze=layers.0,layers.1"}, true, true},
        {{"train.freeze=layers.0,layers.1,layers.2"}, false, false},
        {{"train.freeze=layers.0,layers.2", "theta.scope=model"}, true, true},
        {{"train.freeze=theta", "theta.scope=model"}, false, true},
        {{"theta.learn=no"}, false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static rt_config config;
        load_sound(&config, "[model]\nlayers = 3\n[position]\nevery = 2\n[theta]\nlearn = yes\n",
                   rows[i].keys);
        ck_assert_msg(rt_config_trains_theta(&config) == rows[i].trained, "%s", rows[i].keys[0]);
        ck_assert_msg(rt_config_freezes(&config, RT_ROLE_FACTOR) == !rows[i].factors, "%s",
                      rows[i].keys[0]);
    }
}

TEST(an_unknown_part_to_freeze_is_refused)
{
#define PARTS                                                                                      \
    "train.freeze must be a comma-separated list of embeddings, layers.0 to layers.1, head, "      \
    "theta, weights (all but theta); got "
    static const char *const good[] = {NULL, "embeddings", "layers.0,layers.1", " head , theta"};
    static const struct {
        const char *parts, *message;
    } bad[] = {
        {"heads", PARTS "'heads'"},
        {"head,", PARTS "''"},
        {",head", PARTS "''"},
        {"layers", PARTS "'layers'"},
        {"layers.", PARTS "'layers.'"},
        {"layers.-1", PARTS "'layers.-1'"},
        {"layers.x", PARTS "'layers.x'"},
        {"layer.x", PARTS "'layer.x'"},
        {"head,layer.1", "train.freeze = layer.1 is now called layers.1"},
        {"head, layers.2", "train.freeze: there is no layers.2; model.layers = 2"},
        {"layers.99999999999999999999", PARTS "'layers.99999999999999999999'"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect_ok(rt_freeze_check(good[i], 2));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        is_status(rt_freeze_check(bad[i].parts, 2), RT_CONFIG, bad[i].message);
}

/* Freezes each part. The steps have decay and moments that would move everything. */
TEST_ROWS(frozen_parts_keep_their_bits, 0, 7)
{
    static const struct {
        const char *parts, *names[2]; /* which hold one of these */
        bool others;                  /* or neither of them */
    } rows[] = {{"embeddings", {"embeddings.", "-"}, false},
                {"layers.0", {"layers.0.", "-"}, false},
                {"head", {"head.", "-"}, false},
                {"theta", {".theta", "-"}, false},
                {"weights", {".theta", "-"}, true},
                {"layers.1,embeddings", {"layers.1.", "embeddings."}, false},
                {"", {"-", "-"}, false}};
    training *t =
        NEW(lasting("train.freeze=%s", rows[_i].parts), "train.shards=2", "run.threads=2");
    const rt_parameters *p = parameters(t);
    const real *before = values_of(t);
    take_steps(t, 3);
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        const bool same = !memcmp(before + parameter->offset, parameter->tensor.data,
                                  rt_size(&parameter->tensor) * sizeof *before);
        const bool named = strstr(parameter->name, rows[_i].names[0]) ||
                           strstr(parameter->name, rows[_i].names[1]);
        ck_assert_msg(same == (named != rows[_i].others), "%s with %s", parameter->name,
                      rows[_i].parts);
    }
}

TEST_ROWS(a_table_of_positions_decays, 0, 3)
{
    static const char *const kinds[] = {"learned", "t5", "shaw"};
    training *t = NEW(lasting("position.kind=%s", kinds[_i]), "theta.learn=no");
    int tables = 0;
    for (int i = 0; i < parameters(t)->count; i++) {
        const rt_parameter *p = parameters(t)->list[i];
        const bool table = strstr(p->name, "positions") || strstr(p->name, "distance");
        ck_assert_msg(!table || p->role == RT_ROLE_WEIGHT, "%s", p->name);
        tables += table;
    }
    ck_assert_int_gt(tables, 0);
}

/* Returns how many labels of evaluation rows are the token that stands `ahead` of them, -1 if there
 * are others. */
static int labels_ahead(const rt_data *data, int length, int ahead)
{
    enum { MANY = 64 };
    int seen = 0;
    rt_labelled_batch rows;
    expect_ok(rt_labelled_batch_new(&rows, MANY, length, 0, NULL));
    rt_draw_evaluation(&rows, data, 0);
    for (int i = 0; i < rows.labels && seen >= 0; i++)
        if (rows.where[i] % rows.batch.length + ahead < rows.batch.length)
            seen = rows.batch.ids[rows.where[i] + ahead] == rows.wanted[i] ? seen + 1 : -1;
    rt_labelled_batch_free(&rows);
    return seen;
}

/* Checks a task whose labels are ids. Its configuration may be refused only because a token would
 * see its label, or could not see enough. Returns whether it was accepted. */
static bool check_copies(const rt_task *task, bool causal, bool wide, bool lm)
{
    enum { LENGTH = 37, AHEAD = 4 };
    const char *objective = !task->objective ? "" : lm ? "objective = lm" : "objective = mlm";
    const char *file = task->token_ids ? "ids.bin" : "text.txt";
    const char *text = lasting("[model]\ncausal = %s\n[data]\ntask = %s\nlength = %s37\n%s\n%s%s\n",
                               causal ? "yes" : "no", task->name, wide ? "20.." : "", objective,
                               task->kind ? "file = " : "", task->kind ? in_scratch(file) : "");
    rt_config c;
    rt_data *data;
    char *errors = load(&c, "theta.ini", text, NULL);
    if (errors) {
        const char *reason = causal ? "needs model.causal = no" : "sees the next one";
        ck_assert_msg(strstr(errors, reason), "%s%s", text, errors);
        rt_free(errors);
        return false;
    }
    expect_ok(rt_data_open(&data, &c.data, (rt_data_of_model){.vocabulary = NULL}));
    for (int ahead = 0; ahead < (causal ? 1 : AHEAD); ahead++)
        ck_assert_msg(labels_ahead(data, LENGTH, ahead) <= 0, "%sit is the token at +%d", text,
                      ahead);
    rt_data_close(data);
    return true;
}

/* Each objective and a range of lengths. No token to predict stands where a model of one layer
 * finds it whatever the sequence is. */
TEST(no_label_is_a_token_that_can_be_copied)
{
    enum { KINDS = 8 };
    uint8_t ids[4000] = {0};
    int sound = 0;
    make_scratch();
    for (size_t i = 0; i < sizeof ids; i += 2)
        ids[i] = (uint8_t)(8 + i * i * i / 7 % 24);
    write_bytes(in_scratch("ids.bin"), ids, sizeof ids);
    write_bytes(in_scratch("text.txt"), ids, sizeof ids);
    for (const rt_task *task = rt_tasks; task->name; task++)
        for (int kind = 0; kind < KINDS && task->target == RT_TARGET_IDS; kind++) {
            const bool causal = kind & 1, lm = kind & 2, wide = kind & 4;
            if ((!lm || task->objective) && (!wide || task->question.each))
                sound += check_copies(task, causal, wide, lm);
        }
    ck_assert_int_eq(sound, 37);
    remove_scratch();
}

/* Returns whether two evaluations have the same ids and labels. */
static bool same_evaluations(const rt_config *a, const rt_config *b)
{
    enum { MANY = 8 };
    const rt_config *const configs[] = {a, b};
    rt_labelled_batch rows[2];
    rt_data *data[2];
    for (int i = 0; i < 2; i++) {
        const int length = configs[i]->data.length;
        expect_ok(rt_data_open(&data[i], &configs[i]->data, (rt_data_of_model){0}));
        expect_ok(rt_labelled_batch_new(&rows[i], MANY, length, 0, NULL));
        rt_draw_evaluation(&rows[i], data[i], 0);
    }
    const rt_batch *one = &rows[0].batch, *other = &rows[1].batch;
    const size_t tokens = (size_t)MANY * (size_t)one->length;
    const bool as_many =
        a->train.batch_size * a->train.eval_batches == b->train.batch_size * b->train.eval_batches;
    const bool same = as_many && one->length == other->length && data[0]->vocab == data[1]->vocab &&
                      !memcmp(one->ids, other->ids, tokens * sizeof *one->ids) &&
                      !memcmp(one->labels, other->labels, tokens * sizeof *one->labels);
    for (int i = 0; i < 2; i++) {
        rt_labelled_batch_free(&rows[i]);
        rt_data_close(data[i]);
    }
    return same;
}

#define OF_TEXT   "task = text\nfile = text.txt\ncache = /tmp\n"
#define OF_TOKENS "task = tokens\nfile = ids.bin\n"
#define OF_IMAGES "task = images\nfile = /x-images-idx3-ubyte\n"
#define OF_LABELS "task = classify\nfile = /a.tsv\n"
#define SEQUENCES "numbers of evaluation sequences (train.batch_size x train.eval_batches)"

/* A configuration, another value of a key, and the noun by which evaluations then differ (NULL:
 * they do not). Files in / do not exist. */
static const struct {
    const char *data, *other, *noun;
} asked[] = {
    {"", "data.task=reverse", "tasks"},
    {"", "data.length=30", "lengths"},
    {"[model]\ncausal = yes\n[data]\nlength = 4..8\n", "data.length=4..14", "lengths"},
    {"[model]\ncausal = yes\n[data]\nlength = 8\n", "data.length=8..8", "lengths"},
    {"", "data.vocab=20", "vocabularies"},
    {"task = order\n", "data.vocab=20", "vocabularies"},
    {"", "data.eval_seed=7", "data"},
    {"task = shift\n", "data.distance=4", "distances"},
    {"task = majority\n", "data.distance=4", "distances"},
    {"task = mqar\nlength = 40\n", "data.pairs=2", "numbers of pairs"},
    {"task = period\n", "data.period=6", "periods"},
    {"task = period\n", "data.mask_probability=0.3", "shares of masked tokens"},
    {"task = period\n[model]\nkind = decoder\n[data]\n", "data.objective=lm", NULL},
    {"task = spin\n", "data.theta=1.2", "rotations"},
    {"task = spin2\nlength = 37\n", "data.theta=1.2", "rotations"},
    {"task = spin2\nlength = 37\n", "data.theta2=0.7", "rotations"},
    {OF_TEXT, "data.file=other.txt", "data"},
    {OF_TEXT "eval_file = text.txt\n", "data.file=other.txt", NULL},
    {OF_TEXT, "data.eval_file=other.txt", "data"},
    {OF_TEXT, "data.eval_fraction=0.3", "data"},
    {OF_TEXT, "data.eval_seed=7", "data"},
    {OF_TEXT "objective = lm\n[model]\ncausal = yes\n[data]\n", "data.eval_last=7",
     "evaluated tokens"},
    {OF_TEXT, "data.begin=none", "windows"},
    {OF_TEXT, "data.documents=line", "documents"},
    {OF_TEXT "documents = line\n", "data.documents=blank", "documents"},
    {OF_TEXT "documents = line\n", "data.cross=no", "documents"},
    {OF_TEXT, "data.cache=/", NULL},
    {"task = text\nfile = /a.jsonl\n", "data.field=b", "data"},
    {"task = text\nfile = /a.jsonl\n", "data.cross=no", "documents"},
    {"task = tag\nfile = /a.jsonl\n", "data.label_field=b", "data"},
    {OF_TOKENS, "data.mask_id=9", "mask tokens"},
    {OF_TOKENS, "data.special_tokens=no", "special tokens"},
    {OF_TOKENS, "data.begin=none", "windows"},
    {OF_TOKENS, "data.vocab=40", "vocabularies"},
    {OF_IMAGES, "data.size=32", "sizes of images"},
    {OF_IMAGES, "data.patch=7", NULL},
    {OF_LABELS, "data.length=64", "lengths"},
    {OF_LABELS, "data.begin=none", NULL},
    {OF_LABELS, "data.end=none", NULL},
    {OF_LABELS, "data.level=char", NULL},
    {OF_LABELS "level = char\nvocab_file = /a\n", "data.vocab_file=/b", NULL},
    {OF_LABELS "level = wordpiece\nvocab_file = /a\n", "data.lowercase=yes", NULL},
    {OF_LABELS, "train.eval_batches=4", SEQUENCES},
    {OF_LABELS, "train.batch_size=4", NULL},
    {OF_TEXT "[train]\neval_batches = 0\n", "train.batch_size=4", NULL},
    {OF_TEXT, "train.eval_batches=0", SEQUENCES},
    {"", "train.eval_batches=4", SEQUENCES},
    {"", "model.dim=8", NULL},
    {"", "run.seed=5", NULL},
    {"", "train.batch_size=4", SEQUENCES},
    {"", "optimizer.lr=1", NULL},
};

/* Rows of files are evaluated in blocks of a batch; windows of a text follow each other. */
TEST(as_many_rows_in_other_batches_are_other_rows)
{
    static const char *const data[] = {OF_LABELS, OF_IMAGES, OF_TEXT};
    rt_config one, other;
    for (int i = 0; i < ROWS(data); i++) {
        load_sound(&one, lasting("[data]\n%s[train]\nbatch_size = 8\neval_batches = 2\n", data[i]),
                   NULL);
        load_sound(&other,
                   lasting("[data]\n%s[train]\nbatch_size = 4\neval_batches = 4\n", data[i]), NULL);
        ck_assert_msg(!rt_config_asks_other(&one, &other) == (i == 2), "%s", data[i]);
    }
}

TEST_ROWS(losses_are_not_comparable_if_a_key_changes_the_evaluation, 0, ROWS(asked))
{
    char folder[1024];
    const char *got;
    rt_config one, other;
    uint8_t bytes[4000];
    make_scratch();
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    ck_assert_int_eq(chdir(scratch), 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i % 2 ? 0 : i % 9 ? 11 + i * i / 3 % 17 : '\n');
    write_bytes("ids.bin", bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i += 37)
        bytes[i] = bytes[i + 1] = '\n';
    write_bytes("text.txt", bytes, sizeof bytes);
    write_bytes("other.txt", bytes + 2000, 2000);
    const char *text = lasting("[data]\n%s", asked[_i].data);
    load_sound(&one, text, NULL);
    load_sound(&other, text, OVERRIDES(asked[_i].other));
    got = rt_config_asks_other(&one, &other);
    ck_assert_msg(!got == !asked[_i].noun && (!got || !strcmp(got, asked[_i].noun)),
                  "%s: expected %s; got %s", asked[_i].other, asked[_i].noun, got);
    ck_assert_ptr_eq(rt_config_asks_other(&other, &one), got);
    if (!strstr(text, "file = /"))
        ck_assert_msg(same_evaluations(&one, &other) == !got, "%s: %s", asked[_i].other, got);
    ck_assert_int_eq(chdir(folder), 0);
    remove_scratch();
}

/* As for batches of different sizes in a task without a file. */
TEST(losses_are_comparable_if_as_many_sequences_are_evaluated)
{
    rt_config one, other;
    load_sound(&one, "[train]\nbatch_size = 8\neval_batches = 16\n", NULL);
    load_sound(&other, "[train]\nbatch_size = 32\neval_batches = 4\n", NULL);
    ck_assert_ptr_null(rt_config_asks_other(&one, &other));
    ck_assert(same_evaluations(&one, &other));
}

TEST(each_key_of_the_data_is_in_the_table_of_evaluations)
{
    for (int i = 0; rt_key_at(i); i++) {
        const char *name = rt_key_name(i);
        bool found = strncmp(name, "data.", 5) != 0;
        for (int row = 0; row < ROWS(asked); row++)
            found |= !strncmp(asked[row].other, name, strlen(name)) &&
                     asked[row].other[strlen(name)] == '=';
        ck_assert_msg(found, "no row for %s", name);
    }
}
