/* The optimiser of librotor-io, against the trainer's steps and against the formulas. */

#include "io/models.h"
#include "models/new_model.h"
#include "train/step/training.h"

#include "optim/options.h"

RELEASER(free_optimizer, rt_optimizer_free)

/* Returns an optimizer that is freed after the test. */
static rt_optimizer *new_optimizer(rt_parameters *p, const rt_optimizer_settings *s)
{
    rt_optimizer *o;
    expect_ok(rt_optimizer_new(&o, p, s));
    return owned(o, free_optimizer);
}

static const char tiny[] = "[model]\nlayers = 2\ndim = 16\nheads = 2\nembedding_dim = 200\n"
                           "[theta]\nlearn = yes\nlr_scale = 3\n"
                           "[data]\nlength = 12\nvocab = 200\n"
                           "[optimizer]\nlr = 0.01\nschedule = constant\nclip_norm = 0.5\n"
                           "weight_decay = 0.1\n"
                           "[train]\nbatch_size = 8\n";

/* Returns a model that is the same as the trainer's before its first step. */
static rt_transformer *new_twin(const training *t)
{
    return new_model(&t->state->model->options, t->config.run.seed);
}

static const char *const *const kinds[] = {
    OVERRIDES("optimizer.kind=adamw"),
    OVERRIDES("optimizer.kind=sgd", "optimizer.momentum=0.9"),
    OVERRIDES("optimizer.clip_norm=0", "run.threads=2", "train.shards=4"),
    OVERRIDES("train.freeze=embeddings"),
    OVERRIDES("optimizer.kind=adam"),
    OVERRIDES("optimizer.kind=lion", "run.threads=2", "train.shards=4"),
    OVERRIDES("optimizer.kind=muon", "run.threads=2", "train.shards=4"),
    OVERRIDES("optimizer.kind=muon", "optimizer.matrix_lr=0.02", "train.freeze=layers.0"),
};

/* Given the trainer's gradients, three steps come to the same bits; of a parameter of more than a
 * span (200 x 200), too. */
TEST_ROWS(the_steps_are_those_of_the_trainer, 0, ROWS(kinds))
{
    training *t = new_training(tiny, kinds[_i]);
    const rt_optimizer_settings s = t->config.optimizer.settings;
    const rt_parameters *theirs = &t->state->model->parameters;
    rt_parameters *p = &new_twin(t)->parameters;
    rt_optimizer *o = new_optimizer(p, &s);
    const size_t bytes = p->block_size * sizeof(real);
    for (int i = 0; i < p->count; i++)
        p->list[i]->tensor.wants_grad = theirs->list[i]->tensor.wants_grad;
    ck_assert(!memcmp(p->values, theirs->values, bytes));
    for (int step = 0; step < 3; step++) {
        rt_step_result result;
        double norm;
        expect_ok(rt_trainer_step(t->trainer, &result));
        memcpy(p->grads, theirs->grads, bytes);
        const rt_rates rates = rt_learning_rates(&t->config.optimizer, step + 1);
        ck_assert(rates.lr == result.lr);
        expect_ok(rt_optimizer_step_by(o, rates, &norm));
        ck_assert_msg(norm == result.grad_norm, "norm %.17g, expected %.17g", norm,
                      result.grad_norm);
        for (size_t i = 0; i < p->block_size; i++)
            ck_assert_msg(p->values[i] == theirs->values[i],
                          "step %d, number %zu: %.17g, expected %.17g", step + 1, i,
                          (double)p->values[i], (double)theirs->values[i]);
    }
}

TEST_ROWS(the_defaults_are_those_of_a_configuration, 0, RT_OPTIMIZER_MUON + 1)
{
    char kind[64];
    rt_config c;
    snprintf(kind, sizeof kind, "optimizer.kind=%s", rt_optimizer_rule_word(_i));
    load_sound(&c, "", OVERRIDES(kind));
    const rt_optimizer_settings s = rt_optimizer_defaults((rt_optimizer_rule)_i),
                                t = c.optimizer.settings;
    ck_assert_int_eq(s.rule, t.rule);
    ck_assert(s.beta1 == t.beta1 && s.beta2 == t.beta2 && s.eps == t.eps);
    ck_assert(s.momentum == t.momentum && !s.nesterov && s.muon_momentum == t.muon_momentum);
    ck_assert(s.weight_decay == t.weight_decay && s.clip_norm == t.clip_norm);
    ck_assert(s.theta_lr_scale == t.theta_lr_scale);
}

static void free_parameters(void *object)
{
    rt_parameters_free(object);
    free(object);
}

/* Returns a weight, a bias and a theta of one number each, which are freed after the test. */
static rt_parameters *new_three(void)
{
    rt_parameters *p = owned(calloc(1, sizeof *p), free_parameters);
    ck_assert_ptr_nonnull(p);
    rt_parameters_add(p, RT_ROLE_WEIGHT, RT_INIT_ONE, RT_SHAPE_OF(1), "weight");
    rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ONE, RT_SHAPE_OF(1), "bias");
    rt_parameters_add(p, RT_ROLE_THETA, RT_INIT_ONE, RT_SHAPE_OF(1), "theta");
    expect_ok(rt_parameters_allocate(p, 1, NULL));
    return p;
}

static void set_gradients(rt_parameters *p, double a, double b, double c)
{
    p->list[0]->tensor.grad[0] = (real)a;
    p->list[1]->tensor.grad[0] = (real)b;
    p->list[2]->tensor.grad[0] = (real)c;
}

static double value_of(const rt_parameters *p, int i)
{
    return (double)p->list[i]->tensor.data[0];
}

TEST(a_parameter_that_wants_no_gradient_keeps_its_value_and_adds_nothing_to_the_norm)
{
    rt_parameters *p = new_three();
    double norm;
    const rt_optimizer_settings s = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    p->list[0]->tensor.wants_grad = false;
    rt_optimizer *o = new_optimizer(p, &s);
    set_gradients(p, NAN, 3, 4);
    expect_ok(rt_optimizer_step(o, 0.1, &norm));
    ck_assert(fabs(norm - 5) < 1e-12);
    ck_assert(value_of(p, 0) == 1 && value_of(p, 1) < 1 && value_of(p, 2) < 1);
}

/* A refused step does not count: the next one is the first. */
TEST(a_refused_step_changes_nothing)
{
    rt_parameters *p = new_three(), *other = new_three();
    const rt_optimizer_settings s = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    rt_optimizer *o = new_optimizer(p, &s), *unharmed = new_optimizer(other, &s);
    set_gradients(p, 1, INFINITY, 1);
    is_status_with(rt_optimizer_step(o, 0.1, NULL), RT_NONFINITE, "bias");
    set_gradients(p, 1, 1, 1);
    set_gradients(other, 1, 1, 1);
    ck_assert_int_eq(rt_optimizer_step(o, -1, NULL).code, RT_ARGUMENT);
    ck_assert_int_eq(rt_optimizer_step(o, NAN, NULL).code, RT_ARGUMENT);
    for (int i = 0; i < 3; i++)
        ck_assert(value_of(p, i) == 1);
    expect_ok(rt_optimizer_step(o, 0.1, NULL));
    expect_ok(rt_optimizer_step(unharmed, 0.1, NULL));
    for (int i = 0; i < 3; i++)
        ck_assert(value_of(p, i) == value_of(other, i));
}

#define SETTINGS(...)                                                                              \
    {                                                                                              \
        .beta1 = 0.9, .beta2 = 0.9, .eps = 1e-8, __VA_ARGS__                                       \
    }

static const struct {
    rt_optimizer_settings settings;
    const char *message;
} refused[] = {
    {{.rule = RT_OPTIMIZER_ADAMW, .beta1 = 1, .beta2 = 0.9, .eps = 1},
     "beta1 must be at least 0 and below 1; got 1"},
    {{.rule = RT_OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = -0.1, .eps = 1},
     "beta2 must be at least 0 and below 1; got -0.1"},
    {{.rule = RT_OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.9}, "eps must be above 0; got 0"},
    {{.rule = RT_OPTIMIZER_SGD, .momentum = 1}, "momentum must be at least 0 and below 1; got 1"},
    {SETTINGS(.weight_decay = -1), "weight_decay must be at least 0; got -1"},
    {SETTINGS(.clip_norm = NAN), "clip_norm must be at least 0; got nan"},
    {SETTINGS(.theta_lr_scale = INFINITY), "theta_lr_scale must be at least 0; got inf"},
};

TEST_ROWS(a_setting_out_of_its_range_is_refused, 0, ROWS(refused))
{
    rt_optimizer *o;
    is_status(rt_optimizer_new(&o, new_three(), &refused[_i].settings), RT_ARGUMENT,
              refused[_i].message);
    ck_assert_ptr_null(o);
}

TEST(an_exhausted_heap_leaves_no_optimizer)
{
    rt_parameters *p = new_three();
    rt_optimizer *o = NULL;
    const rt_optimizer_settings s = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 3)
    {
        code = rt_optimizer_new(&o, p, &s).code;
        ck_assert(code == RT_OK || !o);
        ck_assert_uint_le(nth_refusal, 4);
    }
    ck_assert_int_eq(code, RT_OK);
    rt_optimizer_free(o);
    rt_optimizer_free(NULL);
}
