/* Runs of a sweep before they are trained: configurations, and keys without effect in any run. */

#include "train/sweep/private.h"

#include "core/memory.h"
#include "train/config/keys.h"
#include "train/folder/run_folder.h"
#include "train/run/run.h"
#include "train/world/world.h"

#include <stdio.h>
#include <string.h>

/* ---- loading ---- */

rt_status rt_sweep_load_settings(rt_config *config, const rt_arguments *arguments,
                                 const char *settings, const char *name, char **errors)
{
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count,
                                     .find_ancestor = rt_ancestry_find,
                                     .finder = arguments->ancestry,
                                     .settings = settings};
    rt_run_folder folder;
    rt_status status = rt_config_load(config, &source, errors);
    if (!status.code)
        status = rt_run_folder_name(&folder, config->run.dir, config->run.name);
    if (status.code)
        return status;
    config->run.dir = rt_intern_text(folder.path);
    config->run.name = rt_intern_text(name);
    return config->run.dir && config->run.name ? rt_ok() : rt_out_of_memory("a configuration");
}

int rt_sweep_threads(const rt_sweep *sweep, const rt_config *config)
{
    const int all = config->run.threads ? config->run.threads : rt_processors();
    const int each = all / (sweep->jobs ? sweep->jobs : 1);
    return each > 1 ? each : 1;
}

rt_status rt_sweep_load(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                        rt_config *config, char **errors)
{
    char name[RT_RUN_NAME_SIZE], *settings = rt_sweep_overrides(sweep, run);
    rt_sweep_name(sweep, run, name);
    const rt_status status = settings
                                 ? rt_sweep_load_settings(config, arguments, settings, name, errors)
                                 : rt_out_of_memory("a configuration");
    rt_free(settings);
    if (!status.code)
        config->run.threads = rt_sweep_threads(sweep, config);
    return status;
}

/* Checks a branch whose trunk is not trained yet. */
static rt_status check_branch(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                              const rt_config *branch)
{
    rt_config trunk;
    const rt_status status =
        rt_sweep_load(sweep, arguments, rt_sweep_trunk_of(sweep, run), &trunk, NULL);
    return status.code ? status : rt_branch_check(&trunk, branch, sweep->trunk_steps);
}

rt_status rt_sweep_check_run(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                             const rt_config *config)
{
    const bool follows = sweep->trunk_steps && run < rt_sweep_count(sweep);
    rt_config own = *config;
    rt_arguments silent = *arguments;
    silent.command = RT_COMMAND_CHECK;
    silent.resume = false;
    rt_status status = follows ? check_branch(sweep, arguments, run, config) : rt_ok();
    if (follows)
        own.train.trunk = NULL;
    return status.code ? status : rt_run_check(&own, &silent, NULL);
}

/* ---- keys without effect ---- */

/* Effect of a key that is set in one place: the file, an axis or a variant. */
typedef struct sweep_effect {
    bool idle;   /* it has no effect in some run, where it differs from its default */
    bool counts; /* it has an effect in some run */
    int origin;
} sweep_effect;

typedef struct sweep_effects {
    sweep_effect of_file[RT_MAX_KEYS]; /* of the file and the command line */
    sweep_effect of_axes[RT_MOST_AXES];
    sweep_effect of_variants[RT_MOST_VARIANTS][RT_MOST_SETTINGS];
} sweep_effects;

/* Returns the entry of the place that sets the key in a run. */
static sweep_effect *effect_of(sweep_effects *e, const rt_sweep *s, int run, int key)
{
    const rt_variant *variant = rt_sweep_variant(s, run);
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].key == key)
            return &e->of_axes[i];
    for (int v = 0; v < s->variant_count; v++)
        for (int i = 0; &s->variants[v] == variant && i < variant->count; i++)
            if (variant->keys[i] == key)
                return &e->of_variants[v][i];
    return &e->of_file[key];
}

static void add_effects(sweep_effects *effects, const rt_sweep *sweep, int run,
                        const rt_config *config)
{
    for (int i = 0; rt_key_at(i); i++) {
        if (config->origin[i] == RT_FROM_DEFAULT)
            continue;
        sweep_effect *at = effect_of(effects, sweep, run, i);
        at->idle |= config->idle[i];
        at->counts |= rt_key_has_effect(i, config);
        at->origin = config->origin[i];
    }
}

/* Reports a key without effect, with its place: "file:line", "command line" or, for a variant, the
 * file. Returns 1 if it has reported the key, else 0. */
static int report_effect(FILE *to, const sweep_effect *at, const char *file, int origin,
                         const char *where, int key)
{
    rt_writer w = {0};
    if (!at->idle || at->counts)
        return 0;
    if (origin == RT_FROM_COMMAND_LINE)
        fprintf(to, "command line");
    else
        fprintf(to, origin > 0 ? "%s:%d" : "%s", file, origin);
    rt_key_report_needs(&w, key);
    fprintf(to, ": %s%s has no effect in any run%s: it needs %s\n", where, rt_key_name(key),
            *where ? "" : " of the sweep", w.bytes ? w.bytes : "");
    rt_writer_free(&w);
    return 1;
}

static int report_effects(FILE *to, const sweep_effects *effects, const rt_sweep *sweep,
                          const char *file)
{
    char where[RT_KEY_NAME_SIZE + 16];
    int count = 0;
    for (int i = 0; rt_key_at(i); i++)
        count += report_effect(to, &effects->of_file[i], file, effects->of_file[i].origin, "", i);
    for (int i = 0; i < sweep->axis_count; i++)
        count += report_effect(to, &effects->of_axes[i], file, sweep->axes[i].origin, "[sweep] ",
                               sweep->axes[i].key);
    for (int v = 0; v < sweep->variant_count; v++) {
        const rt_variant *variant = &sweep->variants[v];
        snprintf(where, sizeof where, "[variant %s] ", variant->name);
        for (int i = 0; i < variant->count; i++)
            count += report_effect(to, &effects->of_variants[v][i], file, RT_FROM_DEFAULT, where,
                                   variant->keys[i]);
    }
    return count;
}

rt_exit rt_sweep_validate(const rt_sweep *sweep, const rt_arguments *arguments)
{
    rt_config config;
    rt_exit code = RT_EXIT_DONE;
    sweep_effects effects = {0};
    bool loaded = true;
    for (int run = 0; run < rt_sweep_count(sweep); run++) {
        char *errors = NULL, name[RT_RUN_NAME_SIZE];
        rt_status status = rt_sweep_load(sweep, arguments, run, &config, &errors);
        loaded &= !status.code;
        if (!status.code)
            add_effects(&effects, sweep, run, &config);
        if (!status.code && arguments->command == RT_COMMAND_CHECK)
            status = rt_sweep_check_run(sweep, arguments, run, &config);
        rt_sweep_name(sweep, run, name);
        if (status.code && !code)
            code = rt_exit_of(status.code);
        if (status.code)
            fprintf(stderr, "%s:\n%s%s", name, errors ? errors : status.message,
                    errors ? "" : "\n");
        rt_free(errors);
    }
    if (loaded && report_effects(stderr, &effects, sweep, arguments->config))
        code = RT_EXIT_CONFIG;
    return code;
}
