#include "train/sweep/zero_rates.h"

#include "train/folder/results.h"
#include "train/run/progress.h"

#include <stdio.h>

/* The steps that a run has results of; 0 without any. */
static int steps_taken(const char *folder)
{
    rt_results results;
    int steps = 0;
    if (rt_results_read(&results, folder)) {
        if (!rt_results_whole(&results, RT_RESULT_STEPS, &steps))
            steps = 0;
        rt_results_free(&results);
    }
    return steps;
}

void rt_zero_rates_add(rt_zero_rates *z, int run, const rt_config *config, const char *folder,
                       const rt_arguments *arguments)
{
    rt_config own = *config, before;
    int steps = 0;
    bool warned = !arguments->quiet;
    if (!arguments->overwrite && !rt_config_load_folder(&before, folder).code) {
        steps = steps_taken(folder);
        warned |= rt_config_extends(&before, steps, &own);
        rt_config_continue(&own, &before);
    }
    const int from = warned ? rt_zero_rate_from(&own, steps) : 0;
    if (!from)
        return;
    if (!z->count++) {
        z->run = run;
        z->from = from;
        z->config = own;
    }
}

void rt_zero_rates_warn(const rt_zero_rates *z, const rt_sweep *sweep, rt_progress *progress)
{
    char name[RT_RUN_NAME_SIZE], where[RT_RUN_NAME_SIZE + 64];
    if (!z->count)
        return;
    rt_sweep_name(sweep, z->run, name);
    snprintf(where, sizeof where, "in %d of %d runs (%s is the first) ", z->count,
             rt_sweep_count(sweep), name);
    rt_zero_rate_warn(progress, &z->config, z->from, where);
}
