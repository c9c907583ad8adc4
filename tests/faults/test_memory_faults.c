/* Reading other runs' checkpoints and sweeps while the heap is exhausted. (Steps, evaluations,
 * saves and loads are in the tests of the trainer and of checkpoints.) */

#include "io/checkpoint/trained.h"
#include "suite.h"

#include "train/config/config.h"
#include "train/config/sweep.h"

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* Starts the first of two models, which are alike until that succeeds. */
static rt_status try_start(void *models)
{
    trained *t = models;
    rt_checkpoint_taken start;
    ck_assert(same_numbers(&t[0], &t[1]));
    return start_from_file(model_of(t), &start);
}

TEST(a_refused_start_from_another_run_changes_nothing)
{
    save_example();
    trained t[] = {new_trained(4, 2), new_trained(4, 2)}, saved = new_trained(4, 1);
    expect_faults(try_start, t, 4);
    ck_assert(!memcmp(t->parameters.values, saved.parameters.values,
                      saved.parameters.block_size * sizeof(real)));
}

static rt_status try_theta(void *unused)
{
    (void)unused;
    rt_checkpoint_theta theta;
    const rt_status status = rt_checkpoint_read_theta(opened_file(), &theta);
    ck_assert(status.code || (theta.values && theta.layers));
    rt_checkpoint_theta_free(&theta);
    return status;
}

/* All layers share theta. */
TEST(theta_of_a_checkpoint_is_read_or_the_heap_is_an_error)
{
    rt_parameters p = {0};
    rt_parameters_add(&p, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(3), "theta");
    expect_ok(rt_parameters_allocate(&p, 1, NULL));
    rt_transformer_options options = rt_model_defaults(RT_KIND_ROFORMER);
    options.theta.scope = RT_THETA_MODEL;
    options.vocab = 32;
    const rt_data_options data = rt_data_options_of(&options, NULL, 0, RT_BEGIN_AUTO);
    save_model(&(rt_checkpoint_model){.parameters = &p, .options = &options, .data = &data},
               &(rt_checkpoint_info){.step = 1});
    rt_parameters_free(&p);
    expect_faults(try_theta, NULL, 2);
}

static rt_status find_ancestor(void *context, const rt_config *config, rt_init_model *found)
{
    (void)config;
    *found = (rt_init_model){.config = context, .name = "/model"};
    return rt_ok();
}

static rt_status load_with(const rt_config_source *source, rt_config *config)
{
    char *errors;
    const rt_status status = rt_config_load(config, source, &errors);
    rt_free(errors);
    return status;
}

/* Row 0: an ancestor that fits; row 1: one that does not, for which errors are listed. */
TEST_ROWS(an_ancestor_is_compared_or_the_heap_is_an_error, 0, 2)
{
    static const char *const texts[] = {"[train]\ninit_from = /model\n",
                                        "[model]\ndim = 32\n[train]\ninit_from = /model\n"};
    rt_config ancestor, config;
    expect_ok(load_with(&(rt_config_source){.path = "model.ini", .text = ""}, &ancestor));
    const rt_config_source source = {.path = "theta.ini",
                                     .text = texts[_i],
                                     .find_ancestor = find_ancestor,
                                     .finder = &ancestor};
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 1)
    {
        code = load_with(&source, &config).code;
    }
    ck_assert_int_eq(code, _i ? RT_CONFIG : RT_OK);
}

static const char grid[] = "[sweep]\nposition.kind = rope, none\nrun.seed = 1,2,3\n"
                           "[variant near]\ndata.task = copy\n"
                           "[variant far]\ndata.task = shift\ndata.distance = 5\n";

static rt_status load_sweep(void *unused)
{
    (void)unused;
    rt_sweep sweep = {0};
    rt_config config;
    const rt_config_source source = {.path = "theta.ini", .text = grid, .sweep = &sweep};
    rt_status status = load_with(&source, &config);
    char *settings = status.code ? NULL : rt_sweep_overrides(&sweep, 0), *printed = NULL;
    if (!status.code && !settings)
        status = rt_out_of_memory("settings");
    const rt_config_source one = {.path = "theta.ini", .text = grid, .settings = settings};
    if (!status.code)
        status = load_with(&one, &config);
    if (!status.code && !(printed = rt_sweep_ini(&sweep, &config, false)))
        status = rt_out_of_memory("a sweep");
    rt_free(settings);
    rt_free(printed);
    return status;
}

TEST(a_sweep_is_loaded_or_the_heap_is_an_error)
{
    expect_faults(load_sweep, NULL, 8); /* texts that are shared are one request */
}
