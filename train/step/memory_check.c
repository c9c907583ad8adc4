#include "train/step/memory_check.h"

#include "ops/engine.h"
#include "train/world/processors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double giga = 1e9;

/* Checks the address space for buffers of OpenBLAS and the stacks of its threads. */
static rt_status check_space(double buffers, double stacks)
{
    const double needed = buffers + stacks;
    rt_memory_limits limits;
    rt_memory_limits_read(&limits, "");
    const double left = fmax(limits.addresses - limits.addresses_used, 0);
    if (needed <= left)
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "the program needs about %.2f GB of address space (buffers of OpenBLAS %.2f); "
                    "the limit (ulimit -v) leaves %.2f GB%s",
                    needed / giga, buffers / giga, left / giga,
                    buffers > (double)RT_OPENBLAS_BUFFER
                        ? "; OPENBLAS_NUM_THREADS=1 in the environment makes it less"
                        : "");
}

rt_status rt_address_space_check(void)
{
    return check_space((double)RT_OPENBLAS_BUFFER, 0);
}

/* Returns the number of threads that OpenBLAS is going to have in this environment. */
static int openblas_threads(char **environment)
{
    static const char *const names[] = {"OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=",
                                        "OMP_NUM_THREADS="};
    const int processors = rt_processors();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char **entry = environment; *entry; entry++) {
            const size_t length = strlen(names[i]);
            const bool is_set = !strncmp(*entry, names[i], length);
            const long threads = is_set ? strtol(*entry + length, NULL, 10) : 0;
            if (threads > 0)
                return threads < processors ? (int)threads : processors;
        }
    return processors;
}

rt_status rt_address_space_check_loading(char **environment)
{
    const double stack = (double)(8 << 20);
    const double threads = openblas_threads(environment);
    return check_space(threads * (double)RT_OPENBLAS_BUFFER, threads * stack);
}

/* ---- what is needed ---- */

/* The phases of a use in which it needs most, beyond what the process has. */
static rt_memory_bytes most_of(const rt_memory_need *need, rt_memory_use use, double freed,
                               rt_memory_phase *phase)
{
    const rt_memory_phase last = use == RT_USE_RESUME ? RT_PHASE_RESUME : RT_PHASE_SAVE;
    rt_memory_bytes most = need->model;
    *phase = RT_PHASES;
    if (use == RT_USE_EVALUATE)
        return (rt_memory_bytes){fmax(most.resident, need->used.resident - freed),
                                 fmax(most.space, need->used.space - freed)};
    for (int i = RT_PHASE_STEP; i <= (int)last && use != RT_USE_MODEL; i++) {
        const rt_memory_bytes *at = &need->at[i];
        if (at->resident - freed > most.resident)
            *phase = (rt_memory_phase)i;
        most = (rt_memory_bytes){fmax(most.resident, at->resident - freed),
                                 fmax(most.space, at->space - freed)};
    }
    return most;
}

/* "parameters and moments 1.6, 6 blocks of gradients 3.2, activations 70.2, to save 0.7", in
 * gigabytes. */
static void tell_parts(char *text, size_t size, const rt_memory_need *need, rt_memory_use use,
                       rt_memory_phase phase)
{
    const rt_dry_run *r = &need->run;
    const bool alone = use == RT_USE_EVALUATE || use == RT_USE_MODEL;
    const double parameters = (double)r->values + (double)(alone ? r->to_use : r->rounded);
    const double gradients = (double)r->gradients + (double)r->received;
    const double graphs = r->places * (double)r->training.touched;
    const double step = need->at[RT_PHASE_STEP].resident;
    if (alone)
        snprintf(text, size, "parameters %.1f, activations %.1f", parameters / giga,
                 use == RT_USE_MODEL ? 0 : r->places * (double)r->evaluation.touched / giga);
    else if (phase == RT_PHASE_RESUME)
        snprintf(text, size, "to read its checkpoint; a step %.1f", step / giga);
    else
        snprintf(text, size,
                 "parameters and moments %.1f, %d block%s of gradients %.1f, activations %.1f%s",
                 (parameters + (double)r->moments) / giga, r->blocks, r->blocks > 1 ? "s" : "",
                 gradients / giga, graphs / giga,
                 phase == RT_PHASE_SAVE ? ", and a checkpoint that is being written" : "");
}

/* ---- what there is ---- */

static rt_status refuse(double needed, const char *parts, const char *what, double limit,
                        int processes)
{
    return rt_error(RT_CONFIG, "the run needs about %.2f GB of memory (%s); %s has %.2f GB%s",
                    needed / giga, parts, what, limit / giga,
                    processes > 1 ? " for each process" : "");
}

static rt_status refuse_space(double needed, double products, const char *what, const char *limit,
                              double left)
{
    return rt_error(RT_CONFIG,
                    "the run needs about %.2f GB of %s (buffers of OpenBLAS %.2f); the limit "
                    "(%s) leaves %.2f GB",
                    needed / giga, what, products / giga, limit, fmax(left, 0) / giga);
}

rt_status rt_memory_compare(const rt_memory_need *need, const rt_memory_limits *limits,
                            rt_memory_use use, double freed, int processes)
{
    char parts[160], group[RT_PATH_SIZE + 32];
    rt_memory_phase phase;
    const rt_memory_bytes most = most_of(need, use, freed, &phase);
    const double resident = limits->resident + most.resident;
    const double addresses = limits->addresses - limits->addresses_used;
    const double data = limits->data - limits->data_used;
    tell_parts(parts, sizeof parts, need, use, phase);
    snprintf(group, sizeof group, "the control group (%s)", limits->group_file);
    if (resident > limits->machine / processes)
        return refuse(resident, parts, "this machine", limits->machine / processes, processes);
    if (resident > limits->group / processes)
        return refuse(resident, parts, group, limits->group / processes, processes);
    if (most.space > addresses)
        return refuse_space(most.space, need->products, "address space", "ulimit -v", addresses);
    if (most.space - need->reserved > data)
        return refuse_space(most.space - need->reserved, need->products, "data", "ulimit -d", data);
    return rt_ok();
}

/* ---- the check ---- */

/* What a dry run refuses is told as what it means for the configuration. */
static rt_status explain(const rt_config *config, rt_status status)
{
    switch (status.code) {
    case RT_ARGUMENT:
    case RT_MEMORY:
        return rt_error(RT_CONFIG, "%s: the model is too large: %s", config->file, status.message);
    case RT_SHAPE:
        return rt_error(RT_CONFIG,
                        "%s: a step is too large: %s; a smaller data.length, vocabulary, or "
                        "train.batch_size / train.shards makes it smaller",
                        config->file, status.message);
    default:
        return status;
    }
}

rt_status rt_memory_check(rt_memory_need *need, const rt_config *config, const rt_data *data,
                          rt_world *world, rt_memory_use use, double freed)
{
    rt_memory_limits limits;
    rt_status status = rt_memory_estimate(need, config, data, world, use);
    if (status.code)
        return explain(config, status);
    rt_memory_limits_read(&limits, "");
    status = rt_memory_compare(need, &limits, use, freed, rt_world_on_host(world));
    return status.code ? rt_error(status.code, "%s: %s", config->file, status.message) : status;
}
