#include "train/run/compare_hosts.h"

#include "core/memory.h"
#include "core/row_kernels.h"
#include "ops/engine.h"
#include "text/writer.h"
#include "train/folder/session.h"
#include "train/run/state.h"

#include <stdio.h>

/* Hands the text over, which may be NULL for want of memory. */
static rt_status compare_text(rt_world *world, rt_code code, const char *what, char *text)
{
    rt_status status = rt_world_agree(world, text ? rt_ok() : rt_out_of_memory("a comparison"));
    if (!status.code)
        status = rt_world_compare(world, code, what, text, NULL);
    rt_free(text);
    return status;
}

static rt_status compare_programs(rt_world *world, const char *revision)
{
    char program[256];
    snprintf(program, sizeof program, "%s (%s) %s", ROTOR_VERSION, RT_PRECISION, revision);
    return rt_world_compare(world, RT_CONFIG, "the program is", program, NULL);
}

static rt_status compare_processors(rt_world *world)
{
    rt_status status =
        rt_world_compare(world, RT_CONFIG, "the kernels of matrix products are",
                         rt_engine_kernels(),
                         "run.kernels = portable gives all processors with AVX2 the same");
    return status.code
               ? status
               : rt_world_compare(world, RT_CONFIG, "the row kernels are", rt_row_kernels(),
                                  "run.kernels = portable gives all processors with AVX2 the same");
}

/* The settings of every run; "" of a single one. */
static char *write_sweep(const rt_sweep *sweep)
{
    rt_writer text = {0};
    rt_writer_add(&text, "%s", "");
    for (int run = 0; rt_sweep_requested(sweep) && run < rt_sweep_count(sweep); run++) {
        char *settings = rt_sweep_overrides(sweep, run);
        text.failed |= !settings;
        rt_writer_add(&text, "%s\n", settings ? settings : "");
        rt_free(settings);
    }
    return rt_writer_take(&text);
}

rt_status rt_compare_hosts(const rt_config *config, const rt_sweep *sweep,
                           const rt_arguments *arguments)
{
    rt_world *world = arguments->world;
    rt_status status = compare_programs(world, arguments->revision);
    if (!status.code)
        status = compare_text(world, RT_CONFIG, "the configuration is", rt_config_ini(config));
    if (!status.code)
        status = compare_text(world, RT_CONFIG, "the sweep is", write_sweep(sweep));
    if (!status.code)
        status = rt_world_agree(world, rt_run_use_engine(config, arguments));
    if (!status.code)
        status = compare_processors(world);
    if (!status.code)
        status = compare_text(world, RT_DATA, "the data is", rt_session_data(&config->data));
    return status;
}
