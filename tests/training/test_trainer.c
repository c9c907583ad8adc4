/* The sharded step, the workers, the schedule and the report on theta, in one process. */

#include "suite.h"
#include "train/optimizer.h"
#include "train/theta_report.h"
#include "train/trainer.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static rt_config config_of(const char *const *overrides, int count)
{
    static const char tiny[] = "[model]\nlayers=2\ndim=16\nheads=2\n[theta]\nlearn=yes\n[data]\n"
                               "length=12\nvocab=10\n[train]\nsteps=50\nbatch_size=8\n"
                               "eval_batches=2\n";
    const rt_config_source source = {.path = "tiny.ini",
                                     .text = tiny,
                                     .overrides = overrides,
                                     .override_count = count};
    rt_config config;
    char *errors;
    rt_status status = rt_config_load(&config, &source, &errors);
    ck_assert_msg(!status.code, "%s", status.message);
    return config;
}

#define CONFIG(...)                                                                                \
    config_of((const char *[]){__VA_ARGS__},                                                       \
              (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)))

typedef struct session {
    rt_data *data;
    rt_trainer *trainer;
    rt_training_state *state;
} session;

static rt_status open_session(session *s, const rt_config *config)
{
    *s = (session){0};
    rt_status status = rt_data_open(&s->data, &config->data);
    if (!status.code)
        status = rt_trainer_new(&s->trainer, config, s->data);
    if (!status.code)
        s->state = rt_trainer_state(s->trainer);
    return status;
}

static void close_session(session *s)
{
    rt_trainer_free(s->trainer);
    rt_data_close(s->data);
}

static session started(const rt_config *config)
{
    session s;
    rt_status status = open_session(&s, config);
    ck_assert_msg(!status.code, "%s", status.message);
    return s;
}

static rt_step_result take_steps(session *s, int count)
{
    rt_step_result result = {0};
    for (int i = 0; i < count; i++) {
        rt_status status = rt_trainer_step(s->trainer, &result);
        ck_assert_msg(!status.code, "%s", status.message);
    }
    return result;
}

/* ---- shards ---- */

START_TEST(the_number_of_shards_follows_its_rule)
{
    static const struct {
        const char *batch, *length, *shards;
        int expected;
    } cases[] = {{"train.batch_size=32", "data.length=32", "train.shards=0", 2},
                 {"train.batch_size=32", "data.length=64", "train.shards=0", 4},
                 {"train.batch_size=8", "data.length=256", "train.shards=0", 4},
                 {"train.batch_size=4", "data.length=4096", "train.shards=0", 4},
                 {"train.batch_size=1", "data.length=4096", "train.shards=0", 1},
                 {"train.batch_size=64", "data.length=4096", "train.shards=0", 16},
                 {"train.batch_size=8", "data.length=12", "train.shards=8", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rt_config c = CONFIG(cases[i].batch, cases[i].length, cases[i].shards);
        ck_assert_int_eq(rt_shard_count(&c), cases[i].expected);
    }
}
END_TEST

START_TEST(shards_add_up_to_the_whole_batch)
{
    const rt_config one = CONFIG("train.shards=1"), four = CONFIG("train.shards=4");
    session a = started(&one), b = started(&four);
    const rt_step_result x = take_steps(&a, 1), y = take_steps(&b, 1);
    const rt_parameters *p = &a.state->model->parameters, *q = &b.state->model->parameters;
    ck_assert_double_eq_tol(x.loss, y.loss, 1e-14);
    ck_assert_double_eq(x.accuracy, y.accuracy);
    ck_assert_double_eq_tol(x.grad_norm, y.grad_norm, 1e-13);
    ck_assert_int_eq(x.tokens, 96);
    ck_assert_int_eq(y.tokens, 96);
    for (size_t i = 0; i < p->block_size; i++)
        ck_assert_double_eq_tol(p->grads[i], q->grads[i], 1e-14);
    close_session(&a);
    close_session(&b);
}
END_TEST

START_TEST(threads_change_no_bit_of_training_or_evaluation)
{
    static const char *const threads[] = {"run.threads=1", "run.threads=2", "run.threads=3"};
    rt_evaluation first = {0};
    real *values = NULL;
    for (int t = 0; t < 3; t++) {
        const rt_config c = CONFIG(threads[t], "train.shards=4", "model.dropout=0.1");
        session s = started(&c);
        rt_evaluation e;
        take_steps(&s, 5);
        ck_assert(!rt_trainer_evaluate(s.trainer, &e).code);
        const rt_parameters *p = &s.state->model->parameters;
        const size_t bytes = p->block_size * sizeof(real);
        ck_assert_int_eq(rt_trainer_threads(s.trainer), t + 1);
        if (t == 0) {
            first = e;
            values = memcpy(rt_alloc(bytes, 1), p->values, bytes);
        }
        ck_assert(!memcmp(values, p->values, bytes));
        ck_assert(e.loss == first.loss && e.accuracy == first.accuracy);
        ck_assert_int_eq(e.sequences, 16);
        close_session(&s);
    }
    rt_free(values);
}
END_TEST

/* ---- groups of parameters ---- */

START_TEST(only_weights_decay_and_theta_has_its_own_rate)
{
    const rt_config plain = CONFIG("optimizer.weight_decay=0");
    const rt_config decaying = CONFIG("optimizer.weight_decay=0.5", "theta.lr_scale=0");
    session a = started(&plain), b = started(&decaying);
    const rt_parameters *p = &a.state->model->parameters, *q = &b.state->model->parameters;
    const size_t bytes = q->block_size * sizeof(real);
    real *start = memcpy(rt_alloc(bytes, 1), q->values, bytes);
    take_steps(&a, 1);
    take_steps(&b, 1);
    for (int i = 0; i < p->count; i++) {
        const size_t at = p->list[i]->offset, size = rt_size(&p->list[i]->tensor) * sizeof(real);
        const bool same = !memcmp(p->values + at, q->values + at, size);
        const bool unmoved = !memcmp(start + at, q->values + at, size);
        if (p->list[i]->role == RT_ROLE_WEIGHT)
            ck_assert_msg(!same, "%s did not decay", p->list[i]->name);
        if (p->list[i]->role == RT_ROLE_BIAS)
            ck_assert_msg(same, "%s decayed", p->list[i]->name);
        ck_assert_int_eq(unmoved, p->list[i]->role == RT_ROLE_THETA);
    }
    rt_free(start);
    close_session(&a);
    close_session(&b);
}
END_TEST

/* ---- memory ---- */

START_TEST(a_steady_loop_makes_no_call_to_the_heap)
{
    const rt_config c = CONFIG("train.shards=2", "run.threads=2", "model.dropout=0.1");
    session s = started(&c);
    take_steps(&s, 4);
    const size_t requests = rt_memory_requests();
    take_steps(&s, 5);
    ck_assert_uint_eq(rt_memory_requests(), requests);
    close_session(&s);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    const rt_config c = CONFIG("train.shards=2", "run.threads=2", "model.layers=1");
    for (size_t n = 1;; n++) {
        session s;
        rt_step_result result;
        rt_evaluation e;
        rt_memory_fail_at(n);
        rt_status status = open_session(&s, &c);
        if (!status.code)
            status = rt_trainer_step(s.trainer, &result);
        if (!status.code)
            status = rt_trainer_evaluate(s.trainer, &e);
        rt_memory_fail_at(0);
        close_session(&s);
        if (!status.code && n > 100)
            break;
        ck_assert(!status.code || status.code == RT_MEMORY);
        ck_assert_uint_lt(n, 2000);
    }
}
END_TEST

/* ---- workers ---- */

static void count_job(void *context, int job, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_int *)context + job, 1);
}

START_TEST(every_job_is_done_once)
{
    static const int threads[] = {1, 2, 3, 8}, jobs[] = {0, 1, 2, 500};
    static atomic_int done[500];
    for (int t = 0; t < 4; t++) {
        rt_workers *w;
        ck_assert(!rt_workers_new(&w, threads[t]).code);
        for (int round = 0; round < 100; round++) {
            const int count = jobs[round % 4];
            memset(done, 0, sizeof done);
            rt_workers_run(w, count_job, done, count);
            for (int i = 0; i < 500; i++)
                ck_assert_int_eq(done[i], i < count);
        }
        rt_workers_free(w);
    }
}
END_TEST

/* ---- schedule ---- */

START_TEST(the_learning_rate_follows_its_schedule)
{
    rt_optimizer_options o = {.lr = 1,
                              .warmup_steps = 4,
                              .schedule_steps = 14,
                              .min_lr_ratio = 0.1};
    o.schedule = RT_SCHEDULE_COSINE;
    ck_assert_double_eq(rt_learning_rate(&o, 1), 0.25);
    ck_assert_double_eq(rt_learning_rate(&o, 4), 1);
    ck_assert_double_eq(rt_learning_rate(&o, 5), 1);
    ck_assert_double_eq_tol(rt_learning_rate(&o, 10), 0.55, 1e-12); /* half way */
    ck_assert_double_eq_tol(rt_learning_rate(&o, 15), 0.1, 1e-12);
    ck_assert_double_eq_tol(rt_learning_rate(&o, 1000), 0.1, 1e-12);
    o.schedule = RT_SCHEDULE_LINEAR;
    ck_assert_double_eq_tol(rt_learning_rate(&o, 6), 0.91, 1e-12);
    o.schedule = RT_SCHEDULE_CONSTANT;
    ck_assert_double_eq(rt_learning_rate(&o, 1000), 1);
}
END_TEST

START_TEST(clipping_shortens_to_the_norm_and_never_lengthens)
{
    ck_assert_double_eq_tol(rt_clip_factor(10, 1), 0.1, 1e-7);
    ck_assert_double_eq(rt_clip_factor(0.5, 1), 1);
    ck_assert_double_eq(rt_clip_factor(10, 0), 1);
}
END_TEST

/* ---- theta ---- */

static char *verdict(const rt_config *c, rt_roformer *m)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    ck_assert(!rt_theta_print(to, m, c, 10).code);
    fclose(to);
    return text;
}

static void expect_verdict(const rt_config *c, const char *name, size_t index, real value,
                           const char *expected)
{
    session s = started(c);
    rt_parameters_find(&s.state->model->parameters, name)->tensor.data[index] = value;
    char *text = verdict(c, s.state->model);
    const char *line = strstr(text, "theta: max");
    ck_assert_msg(line && !strcmp(line, expected), "expected %sgot %s", expected, text);
    free(text);
    close_session(&s);
}

/* D = 8: theta is 1, 0.1, 0.01, 0.001, and a grid step is ln 10. */
START_TEST(the_verdict_line_says_where_and_how_far)
{
    const rt_config layer = CONFIG("model.heads=2", "theta.scope=layer");
    expect_verdict(&layer, "roformer.encoder.layer.1.attention.self.theta", 1, log(0.11),
                   "theta: max relative drift 0.1 (layer 1, i 1; 0.041 grid steps), max phase "
                   "drift 0.11 rad over 11 positions: near (tolerance 0.20)\n");
    const rt_config head = CONFIG("theta.scope=head", "theta.form=raw", "theta.tolerance=0.05");
    expect_verdict(&head, "roformer.encoder.layer.0.attention.self.theta", 4 + 2, 0.02,
                   "theta: max relative drift 1 (layer 0, head 1, i 2; 0.3 grid steps), max phase "
                   "drift 0.11 rad over 11 positions: moved (tolerance 0.05)\n");
    const rt_config model = CONFIG("theta.scope=model", "theta.form=raw");
    expect_verdict(&model, "roformer.encoder.theta", 3, -0.001,
                   "theta: max relative drift 2 (layer all, i 3; inf grid steps), max phase drift "
                   "0.022 rad over 11 positions: moved (tolerance 0.20)\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trainer");
    TCase *tests = leak_checked_case(suite, "trainer");
    tcase_add_test(tests, the_number_of_shards_follows_its_rule);
    tcase_add_test(tests, shards_add_up_to_the_whole_batch);
    tcase_add_test(tests, threads_change_no_bit_of_training_or_evaluation);
    tcase_add_test(tests, only_weights_decay_and_theta_has_its_own_rate);
    tcase_add_test(tests, a_steady_loop_makes_no_call_to_the_heap);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, every_job_is_done_once);
    tcase_add_test(tests, the_learning_rate_follows_its_schedule);
    tcase_add_test(tests, clipping_shortens_to_the_norm_and_never_lengthens);
    tcase_add_test(tests, the_verdict_line_says_where_and_how_far);
    return run_suite(suite);
}
