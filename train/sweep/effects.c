#include "train/sweep/effects.h"

#include "train/config/keys.h"

/* Where the run has the value of a key from. */
static rt_sweep_effect *place_of(rt_sweep_effects *e, const rt_sweep *s, int run, int key)
{
    const rt_variant *variant = rt_sweep_variant(s, run);
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].key == key)
            return &e->of_axes[i];
    for (int v = 0; v < s->variant_count; v++)
        for (int i = 0; s->variants[v] == variant && i < variant->count; i++)
            if (variant->keys[i] == key)
                return &e->of_variants[v][i];
    return &e->of_file[key];
}

void rt_sweep_effects_add(rt_sweep_effects *effects, const rt_sweep *sweep, int run,
                          const rt_config *config)
{
    for (int i = 0; rt_key_at(i); i++) {
        if (config->origin[i] == RT_FROM_DEFAULT)
            continue;
        rt_sweep_effect *at = place_of(effects, sweep, run, i);
        at->idle |= config->idle[i];
        at->counts |= rt_key_counts(i, config);
        at->origin = config->origin[i];
    }
}

/* "file:line", "command line" or, of a variant, the file alone. */
static void report_place(rt_writer *w, const char *file, int origin)
{
    if (origin == RT_FROM_COMMAND_LINE)
        rt_writer_add(w, "command line");
    else if (origin > 0)
        rt_writer_add(w, "%s:%d", file, origin);
    else
        rt_writer_add(w, "%s", file);
}

static int report(FILE *to, const rt_sweep_effect *at, const char *file, int origin,
                  const char *where, int key)
{
    char name[RT_KEY_NAME_SIZE];
    rt_writer w = {0};
    if (!at->idle || at->counts)
        return 0;
    report_place(&w, file, origin);
    rt_writer_add(&w, ": %s%s has no effect in any run%s: it needs ", where,
                  rt_key_full_name(rt_key_at(key), name), *where ? "" : " of the sweep");
    rt_key_report_needs(&w, key);
    fprintf(to, "%s\n", w.bytes ? w.bytes : "");
    rt_writer_free(&w);
    return 1;
}

int rt_sweep_effects_report(FILE *to, const rt_sweep_effects *effects, const rt_sweep *sweep,
                            const char *file)
{
    char where[RT_KEY_NAME_SIZE + 16];
    int count = 0;
    for (int i = 0; rt_key_at(i); i++)
        count += report(to, &effects->of_file[i], file, effects->of_file[i].origin, "", i);
    for (int i = 0; i < sweep->axis_count; i++)
        count += report(to, &effects->of_axes[i], file, sweep->axes[i].origin, "[sweep] ",
                        sweep->axes[i].key);
    for (int v = 0; v < sweep->variant_count; v++) {
        const rt_variant *variant = sweep->variants[v];
        snprintf(where, sizeof where, "[variant %s] ", variant->name);
        for (int i = 0; i < variant->count; i++)
            count += report(to, &effects->of_variants[v][i], file, RT_FROM_DEFAULT, where,
                            variant->keys[i]);
    }
    return count;
}
