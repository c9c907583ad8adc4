#include "train/run/kernels.h"

#include "core/row_kernels.h"
#include "ops/engine.h"
#include "train/config/config.h"
#include "train/world/world.h"
#include "util/process.h"
#include "util/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char portable_core[] = "Haswell";

rt_status rt_kernels_of_environment(void)
{
    const rt_status status = rt_row_set_use_named(getenv("ROTOR_ROW_KERNELS"));
    return status.code ? rt_error(status.code, "ROTOR_ROW_KERNELS: %s", status.message) : status;
}

rt_status rt_kernels_begin(const rt_config *config, const rt_arguments *arguments)
{
    const char *before = getenv("OPENBLAS_CORETYPE");
    if (config->run.kernels != RT_KERNELS_PORTABLE)
        return rt_ok();
    if (!rt_row_set_works(RT_ROWS_AVX2))
        return rt_error(
            RT_CONFIG,
            "run.kernels = portable needs a processor with AVX2 and FMA; set run.kernels = native");
    if (!strcmp(rt_openblas_kernels(), portable_core))
        return rt_row_set_use(RT_ROWS_AVX2);
    if (before && !strcmp(before, portable_core))
        return rt_error(
            RT_CONFIG,
            "run.kernels = portable: this OpenBLAS has no kernels %s, it computes with %s",
            portable_core, rt_openblas_kernels());
    if (before && rt_world_launched_rank() == 0)
        fprintf(stderr, "%s: run.kernels = portable replaces OPENBLAS_CORETYPE=%s with %s\n",
                rt_program_name(), RT_QUOTED(before), portable_core);
    if (!setenv("OPENBLAS_CORETYPE", portable_core, 1))
        execv("/proc/self/exe", arguments->argv);
    return rt_error(RT_IO, "run.kernels = portable: the program cannot be started again: %s",
                    strerror(errno));
}

rt_status rt_kernels_use(const rt_config *config, const rt_arguments *arguments)
{
    RT_TRY(rt_kernels_begin(config, arguments));
    rt_status status = rt_engine_use(config->run.engine, config->run.math);
    return status.code
               ? rt_error(status.code, "%s: run.engine, run.math: %s", config->file, status.message)
               : status;
}

/* Kernels of OpenBLAS, with the speed of float products of 1024 x 1024 x 1024 (`bench peak`)
 * relative to the kernels for AVX2. */
typedef struct core {
    const char *name;
    const char *set;
    double speed;
} core;

enum { BEST_OF_AVX512, BEST_OF_AVX2 };
static const core cores[] = {
    [BEST_OF_AVX512] = {"SkylakeX", "AVX-512", 1.7},
    [BEST_OF_AVX2] = {"Haswell", "AVX2", 1},
    {"Cooperlake", "AVX-512", 1.7},
    {"Sapphirerapids", "AVX-512", 1.7},
    {"Zen", "AVX2", 1},
    {"Excavator", "AVX2", 1},
    {"Sandybridge", "AVX", 0.6},
    {"Bulldozer", "AVX", 0.6},
    {"Piledriver", "AVX", 0.6},
    {"Steamroller", "AVX", 0.6},
    {"Prescott", "SSE", 0.12},
};

bool rt_kernels_are_slower(const rt_config *config, char text[RT_SLOWER_SIZE])
{
    core here = {rt_openblas_kernels(), "SSE", 0.3};
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (!strcmp(cores[i].name, here.name))
            here = cores[i];
    const core best = rt_row_set_works(RT_ROWS_AVX512) ? cores[BEST_OF_AVX512]
                      : rt_row_set_works(RT_ROWS_AVX2) ? cores[BEST_OF_AVX2]
                                                       : here;
    const bool requested = config->run.kernels == RT_KERNELS_PORTABLE;
    if (requested || config->run.engine != RT_ENGINE_OPENBLAS || here.speed >= best.speed)
        return false;
    const char *variable = getenv("OPENBLAS_CORETYPE");
    snprintf(text, RT_SLOWER_SIZE,
             "OpenBLAS computes with its kernels for %s (%s%s%s): those for the %s of this "
             "processor are about %.2g times as fast; set OPENBLAS_CORETYPE=%s",
             here.set, here.name, variable ? ", as OPENBLAS_CORETYPE is " : "",
             variable ? RT_QUOTED(variable) : "", best.set, best.speed / here.speed, best.name);
    return true;
}
