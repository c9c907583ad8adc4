/* Runs of a sweep before they are trained: configurations, and keys without effect in any run. */

#include "train/sweep/runs.h"

#include "core/memory.h"
#include "train/config/keys.h"
#include "train/folder/run_folder.h"
#include "train/run/trained_model.h"
#include "train/world/world.h"

#include <stdio.h>

rt_status rt_sweep_load_settings(rt_config *config, const rt_arguments *arguments,
                                 const char *settings, const char *name, char **errors)
{
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count,
                                     .find_ancestor = rt_init_model_search,
                                     .finder = arguments->ancestry,
                                     .settings = settings};
    rt_run_folder folder;
    RT_TRY(rt_config_load(config, &source, errors));
    RT_TRY(rt_run_folder_name(&folder, config->run.dir, config->run.name));
    config->run.dir = rt_intern_text(folder.path);
    config->run.name = rt_intern_text(name);
    return rt_allocated(config->run.dir && config->run.name, "a configuration");
}

int rt_sweep_threads(const rt_sweep *sweep, const rt_config *config)
{
    const int all = config->run.threads ? config->run.threads : rt_processors(NULL);
    const int each = all / (sweep->jobs ? sweep->jobs : 1);
    return each > 1 ? each : 1;
}

rt_status rt_sweep_load(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                        rt_config *config, char **errors)
{
    RT_OWNED char *settings = rt_sweep_overrides(sweep, run);
    RT_TRY(rt_allocated(settings, "a configuration"));
    RT_TRY(rt_sweep_load_settings(config, arguments, settings, RT_SWEEP_NAME(sweep, run), errors));
    config->run.threads = rt_sweep_threads(sweep, config);
    return rt_ok();
}

/* Checks a branch, whose trunk may not be trained yet, by the configuration of the trunk. */
rt_status rt_sweep_check_run(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                             const rt_config *config)
{
    rt_config own = *config, trunk;
    rt_arguments silent = *arguments;
    silent.command = RT_COMMAND_CHECK;
    silent.resume = false;
    if (sweep->trunk_steps && run < rt_sweep_count(sweep)) {
        RT_TRY(rt_sweep_load(sweep, arguments, rt_sweep_trunk_of(sweep, run), &trunk, NULL));
        RT_TRY(rt_branch_check(&trunk, config, sweep->trunk_steps));
        own.train.trunk = NULL;
    }
    return rt_run_check(&own, &silent, NULL);
}

/* Places that set keys, in this order: the file or the command line, axes, variants. */
enum {
    OF_AXES = RT_MAX_KEYS,
    OF_VARIANTS = OF_AXES + RT_MOST_AXES,
    PLACES = OF_VARIANTS + RT_MOST_VARIANTS * RT_MOST_SETTINGS
};

/* Effect of a key that is set in one place. */
typedef struct sweep_effect {
    bool idle;   /* it has no effect in some run, where it differs from its default */
    bool counts; /* it has an effect in some run */
    int key;
    int origin; /* line of the file, or RT_FROM_COMMAND_LINE */
} sweep_effect;

/* Returns the place that sets the key in a run. */
static int place_of(const rt_sweep *s, int run, int key)
{
    const rt_variant *variant = rt_sweep_variant(s, run);
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].key == key)
            return OF_AXES + i;
    for (int i = 0; variant && i < variant->count; i++)
        if (variant->keys[i] == key)
            return OF_VARIANTS + (int)(variant - s->variants) * RT_MOST_SETTINGS + i;
    return key;
}

static void add_effects(sweep_effect effects[PLACES], const rt_sweep *sweep, int run,
                        const rt_config *config)
{
    for (int i = 0; rt_key_at(i); i++) {
        if (config->origin[i] == RT_FROM_DEFAULT)
            continue;
        const int place = place_of(sweep, run, i);
        sweep_effect *at = &effects[place];
        at->idle |= config->idle[i];
        at->counts |= rt_key_has_effect(i, config);
        at->key = i;
        at->origin = place < OF_AXES       ? config->origin[i]
                     : place < OF_VARIANTS ? sweep->axes[place - OF_AXES].origin
                                           : RT_FROM_DEFAULT;
    }
}

/* Reports the keys without effect, each with its place: "file:line", "command line" or, for a
 * variant, the file. Returns their number. */
static int report_effects(FILE *to, const sweep_effect effects[PLACES], const rt_sweep *sweep,
                          const char *file)
{
    int count = 0;
    for (int place = 0; place < PLACES; place++) {
        const sweep_effect *at = &effects[place];
        const bool of_sweep = place >= OF_AXES, of_variant = place >= OF_VARIANTS;
        rt_writer w = {0};
        if (!at->idle || at->counts)
            continue;
        count++;
        if (at->origin == RT_FROM_COMMAND_LINE)
            fprintf(to, "command line: ");
        else
            fprintf(to, at->origin > 0 ? "%s:%d: " : "%s: ", file, at->origin);
        if (of_variant)
            fprintf(to, "[variant %s] ",
                    sweep->variants[(place - OF_VARIANTS) / RT_MOST_SETTINGS].name);
        else if (of_sweep)
            fprintf(to, "[sweep] ");
        rt_key_report_needs(&w, at->key);
        fprintf(to, "%s has no effect in any run%s: it needs %s\n", rt_key_name(at->key),
                of_sweep ? "" : " of the sweep", w.bytes ? w.bytes : "");
        rt_writer_free(&w);
    }
    return count;
}

rt_exit rt_sweep_validate(const rt_sweep *sweep, const rt_arguments *arguments)
{
    rt_config config;
    rt_exit code = RT_EXIT_DONE;
    sweep_effect effects[PLACES] = {{0}};
    bool loaded = true;
    for (int run = 0; run < rt_sweep_count(sweep); run++) {
        RT_OWNED char *errors = NULL;
        rt_status status = rt_sweep_load(sweep, arguments, run, &config, &errors);
        loaded &= !status.code;
        if (!status.code)
            add_effects(effects, sweep, run, &config);
        if (!status.code && arguments->command == RT_COMMAND_CHECK)
            status = rt_sweep_check_run(sweep, arguments, run, &config);
        if (status.code && !code)
            code = rt_exit_of(status.code);
        if (status.code)
            fprintf(stderr, "%s:\n%s%s", RT_SWEEP_NAME(sweep, run),
                    errors ? errors : status.message, errors ? "" : "\n");
    }
    if (loaded && report_effects(stderr, effects, sweep, arguments->config))
        code = RT_EXIT_CONFIG;
    return code;
}
