/* Loads a configuration of any bytes or refuses it; a loaded one loads again from its own text. */

#include "fuzz.h"

#include "train/config/sweep.h"

static void load_again(const rt_config *config)
{
    rt_config again;
    char *errors, *ini = rt_config_ini(config), *second;
    const rt_config_source source = {.path = "again.ini", .text = ini};
    must(ini && !rt_config_load(&again, &source, &errors).code);
    second = rt_config_ini(&again);
    must(second && !strcmp(ini, second));
    rt_free(ini);
    rt_free(second);
}

FUZZ(config)
{
    char *text = rt_alloc(size + 1, 1), *errors;
    rt_config config;
    rt_sweep sweep = {0};
    const rt_config_source source = {.path = "fuzz.ini", .text = text, .sweep = &sweep};
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    rt_status status = rt_config_load(&config, &source, &errors);
    must((status.code == RT_CONFIG) == (errors != NULL));
    if (!status.code && rt_sweep_requested(&sweep))
        for (int run = 0; run < rt_sweep_count(&sweep) && run < 3; run++) {
            char name[RT_RUN_NAME_SIZE], *settings = rt_sweep_overrides(&sweep, run);
            rt_sweep_name(&sweep, run, name);
            rt_free(settings);
        }
    else if (!status.code)
        load_again(&config);
    rt_free(errors);
    rt_free(text);
    return 0;
}
