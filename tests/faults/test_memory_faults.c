/* Reading other runs' checkpoints and sweeps while the heap is exhausted. (Steps, evaluations,
 * saves and loads are in the tests of the trainer and of checkpoints.) */

#include "suite.h"
#include "training/trained.h"

#include "train/config/config.h"
#include "train/config/sweep.h"

/* ---- checkpoints ---- */

static void save_example(void)
{
    trained t = new_trained(4, 1);
    const rt_checkpoint_info info = {.step = 7,
                                     .config = "[run]\n",
                                     .evaluations.best_loss = 1,
                                     .vocabulary = &some_vocabulary};
    assert_status(rt_checkpoint_save(in_scratch("a.h5"), model_of(&t), &info), RT_OK, "");
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_start_from_another_run_changes_nothing)
{
    save_example();
    trained t = new_trained(4, 2), before = new_trained(4, 2), saved = new_trained(4, 1);
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 4)
    {
        rt_checkpoint_info info = {0};
        rt_checkpoint_start start;
        ck_assert(same_numbers(&t, &before));
        code =
            rt_checkpoint_start_from(opened(in_scratch("a.h5")), model_of(&t), true, &start, &info)
                .code;
        rt_checkpoint_info_free(&info);
    }
    ck_assert_int_eq(code, RT_OK);
    ck_assert(!memcmp(t.parameters.values, saved.parameters.values,
                      t.parameters.block_size * sizeof(real)));
}

TEST(an_info_is_whole_or_empty)
{
    save_example();
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 9)
    {
        rt_checkpoint_info info;
        code = rt_checkpoint_read_info(opened(in_scratch("a.h5")), &info).code;
        ck_assert_int_eq(code == RT_OK, info.config != NULL);
        ck_assert_int_eq(code == RT_OK, info.vocabulary != NULL);
        rt_checkpoint_info_free(&info);
    }
    ck_assert_int_eq(code, RT_OK);
}

/* A theta that all layers share. */
static void save_theta(void)
{
    rt_parameters p = {0};
    rt_parameters_add(&p, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(3), "theta");
    assert_status(rt_parameters_allocate(&p, 1, NULL), RT_OK, "");
    rt_transformer_options options = rt_model_options_of_kind(RT_KIND_ROFORMER);
    options.theta.scope = RT_THETA_MODEL;
    options.vocab = 32;
    const rt_data_options data = rt_data_options_of(&options, NULL, 0, RT_BEGIN_AUTO);
    const rt_checkpoint_model model = {.parameters = &p, .options = &options, .data = &data};
    const rt_checkpoint_info info = {.step = 1};
    assert_status(rt_checkpoint_save(in_scratch("a.h5"), &model, &info), RT_OK, "");
    rt_parameters_free(&p);
}

TEST(theta_alone_is_read_or_not)
{
    save_theta();
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 2)
    {
        rt_checkpoint_theta theta;
        code = rt_checkpoint_read_theta(opened(in_scratch("a.h5")), &theta).code;
        ck_assert(code != RT_OK || (theta.values && theta.layers));
        rt_checkpoint_theta_free(&theta);
    }
    ck_assert_int_eq(code, RT_OK);
}

/* ---- a model to inherit from ---- */

static rt_status find_ancestor(void *context, const rt_config *config, rt_init_model *found)
{
    (void)config;
    *found = (rt_init_model){.config = context, .name = "/model"};
    return rt_ok();
}

/* One that fits, or one that does not, which is a list of its own. */
static rt_status load_with_ancestor(const rt_config *ancestor, const char *text)
{
    rt_config config;
    char *errors;
    const rt_config_source source = {.path = "theta.ini",
                                     .text = text,
                                     .find_ancestor = find_ancestor,
                                     .finder = (void *)ancestor};
    rt_status status = rt_config_load(&config, &source, &errors);
    rt_free(errors);
    return status;
}

TEST_ROWS(an_ancestor_is_told_apart_or_not, 0, 2)
{
    static const char *const texts[] = {"[train]\ninit_from = /model\n",
                                        "[model]\ndim = 32\n[train]\ninit_from = /model\n"};
    const rt_code ends[] = {RT_OK, RT_CONFIG};
    rt_config ancestor;
    char *errors;
    const rt_config_source empty = {.path = "model.ini", .text = ""};
    ck_assert_int_eq(rt_config_load(&ancestor, &empty, &errors).code, RT_OK);
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 1)
    {
        code = load_with_ancestor(&ancestor, texts[_i]).code;
    }
    ck_assert_int_eq(code, ends[_i]);
}

/* ---- sweeps ---- */

static const char grid[] = "[sweep]\nposition.kind = rope, none\nrun.seed = 1,2,3\n"
                           "[variant near]\ndata.task = copy\n"
                           "[variant far]\ndata.task = shift\ndata.distance = 5\n";

static rt_code load_sweep(void)
{
    rt_sweep sweep = {0};
    rt_config config;
    char *errors;
    const rt_config_source source = {.path = "theta.ini", .text = grid, .sweep = &sweep};
    rt_status status = rt_config_load(&config, &source, &errors);
    if (!status.code) {
        char *settings = rt_sweep_overrides(&sweep, 0);
        const rt_config_source one = {.path = "theta.ini", .text = grid, .settings = settings};
        if (!settings)
            status = rt_out_of_memory("settings");
        else
            status = rt_config_load(&config, &one, &errors);
        rt_free(settings);
        char *printed = status.code ? NULL : rt_sweep_ini(&sweep, &config, false);
        if (!status.code && !printed)
            status = rt_out_of_memory("a sweep");
        rt_free(printed);
    }
    ck_assert_msg(!errors, "%s", errors);
    return status.code;
}

TEST(a_sweep_is_loaded_or_not)
{
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 8) /* texts that are shared are one request */
    {
        code = load_sweep();
    }
    ck_assert_int_eq(code, RT_OK);
}
