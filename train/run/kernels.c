#include "train/run/kernels.h"

#include "core/row_kernels.h"
#include "ops/engine.h"
#include "train/config/config.h"
#include "train/world/world.h"
#include "util/process.h"
#include "util/writer.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
    {"SapphireRapids", "AVX-512", 1.7},
    {"Zen", "AVX2", 1},
    {"Excavator", "AVX2", 1},
    {"Sandybridge", "AVX", 0.6},
    {"Bulldozer", "AVX", 0.6},
    {"Piledriver", "AVX", 0.6},
    {"Steamroller", "AVX", 0.6},
    {"Prescott", "SSE", 0.12},
};

/* Returns the kernels of OpenBLAS of this name. */
static core core_named(const char *name)
{
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (!strcasecmp(cores[i].name, name))
            return cores[i];
    return (core){name, "SSE", 0.3};
}

/* Returns the fastest kernels that OpenBLAS has for the instructions of a processor, or `other` if
 * it has none. */
static core fastest_core(rt_row_set set, core other)
{
    return set == RT_ROWS_AVX512 ? cores[BEST_OF_AVX512]
           : set == RT_ROWS_AVX2 ? cores[BEST_OF_AVX2]
                                 : other;
}

/* Processors on which a training step takes less time with oneDNN than with OpenBLAS from a width
 * of the model on. `bench engine` measures a row. */
static const struct {
    const char *name;
    int width;
} faster_with_onednn[] = {
    {"AuthenticAMD 25 17", 32}, /* EPYC, Zen 4: oneDNN 2.6 and OpenBLAS 0.3.21, 3.7 and 0.3.29 */
    {"GenuineIntel 6 207", 16}, /* Xeon: the same versions */
};

const char *rt_kernels_processor(char text[RT_PROCESSOR_SIZE])
{
    *text = '\0';
#if defined(__x86_64__)
    unsigned highest, signature, other, vendor[3];
    if (__get_cpuid(0, &highest, &vendor[0], &vendor[2], &vendor[1]) &&
        __get_cpuid(1, &signature, &other, &other, &other)) {
        const unsigned family = signature >> 8 & 15, model = signature >> 4 & 15;
        const unsigned more_family = signature >> 20 & 255, more_model = signature >> 16 & 15;
        snprintf(text, RT_PROCESSOR_SIZE, "%.12s %u %u", (const char *)vendor,
                 family == 15 ? family + more_family : family,
                 family == 15 || family == 6 ? more_model << 4 | model : model);
    }
#endif
    return text;
}

bool rt_onednn_is_faster(const char *processor, rt_row_set set, const char *openblas, int width)
{
    const core chosen = core_named(openblas);
    if (chosen.speed < fastest_core(set, chosen).speed)
        return true;
    for (size_t i = 0; i < sizeof faster_with_onednn / sizeof *faster_with_onednn; i++)
        if (!strcmp(faster_with_onednn[i].name, processor))
            return width >= faster_with_onednn[i].width;
    return false;
}

rt_engine rt_kernels_engine(const rt_config *config, const char *before)
{
    const rt_run_options *o = &config->run;
    if (o->engine == RT_LIBRARY_ONEDNN ||
        (o->engine == RT_LIBRARY_AUTO && o->math != RT_MATH_FLOAT))
        return RT_ENGINE_ONEDNN;
    char processor[RT_PROCESSOR_SIZE];
    const bool free = o->engine == RT_LIBRARY_AUTO && o->kernels == RT_KERNELS_NATIVE &&
                      rt_engine_works(RT_ENGINE_ONEDNN, RT_MATH_FLOAT);
    const char *requested = getenv("OPENBLAS_CORETYPE");
    const bool faster =
        *before ? !strncmp(before, "oneDNN", strlen("oneDNN"))
                : (!requested || !*requested) &&
                      rt_onednn_is_faster(rt_kernels_processor(processor), rt_row_set_widest(),
                                          rt_openblas_kernels(), config->model.dim);
    return free && faster ? RT_ENGINE_ONEDNN : RT_ENGINE_OPENBLAS;
}

rt_status rt_kernels_use(const rt_config *config, const rt_arguments *arguments, const char *before)
{
    RT_TRY(rt_kernels_begin(config, arguments));
    rt_status status = rt_engine_use(rt_kernels_engine(config, before), config->run.math);
    return status.code
               ? rt_error(status.code, "%s: run.engine, run.math: %s", config->file, status.message)
               : status;
}

bool rt_kernels_are_slower(const rt_config *config, char text[RT_SLOWER_SIZE])
{
    const core here = core_named(rt_openblas_kernels());
    const core best = fastest_core(rt_row_set_widest(), here);
    const bool requested = config->run.kernels == RT_KERNELS_PORTABLE;
    if (requested || rt_engine_in_use() != RT_ENGINE_OPENBLAS || here.speed >= best.speed)
        return false;
    const char *variable = getenv("OPENBLAS_CORETYPE");
    snprintf(text, RT_SLOWER_SIZE,
             "OpenBLAS computes with its kernels for %s (%s%s%s): those for the %s of this "
             "processor are about %.2g times as fast; set OPENBLAS_CORETYPE=%s",
             here.set, here.name, variable ? ", as OPENBLAS_CORETYPE is " : "",
             variable ? RT_QUOTED(variable) : "", best.set, best.speed / here.speed, best.name);
    return true;
}
