/* The configurations that --init writes. */

#include "config_loading.h"
#include "scratch.h"

#include "train/commands.h"
#include "train/config/sweep.h"

SUITE(.setup = make_scratch, .teardown = remove_scratch)

static const char *const templates[] = {"gpt", "classify", "tag", "mlm", "theta"};

static rt_status write_template(const char *name, const char *path, bool overwrite)
{
    return rt_init_command(
        &(rt_arguments){.init = name, .config = path, .overwrite = overwrite, .quiet = true});
}

/* Loads a configuration, and the configurations of its runs if it is a sweep. */
static void expect_to_load(const char *path, const char *settings)
{
    rt_config config;
    rt_sweep sweep = {0};
    const rt_config_source source = {.path = path,
                                     .settings = settings,
                                     .sweep = settings ? NULL : &sweep};
    const char *errors = load_source(&config, source, NULL);
    ck_assert_msg(!errors, "%s", errors);
    for (int run = 0; rt_sweep_requested(&sweep) && run < rt_sweep_count(&sweep); run++) {
        char *own = rt_sweep_overrides(&sweep, run);
        expect_to_load(path, own);
        rt_free(own);
    }
}

TEST_ROWS(a_template_is_a_configuration_without_errors, 0, ROWS(templates))
{
    const char *path = in_scratch("own.ini");
    expect_ok(write_template(templates[_i], path, false));
    expect_to_load(path, NULL);
}

TEST(a_template_replaces_a_file_with_overwrite_alone)
{
    const char *path = in_scratch("own.ini");
    expect_ok(write_template("gpt", path, false));
    const rt_status again = write_template("mlm", path, false);
    ck_assert_int_eq(again.code, RT_CONFIG);
    expect_in(again.message, "own.ini: the file exists; give --overwrite");
    expect_ok(write_template("mlm", path, true));
    expect_to_load(path, NULL);
}
