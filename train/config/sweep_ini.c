#include "train/config/sweep.h"

#include <string.h>

static bool is_run_name(const rt_key *key)
{
    return !strcmp(key->section, "run") && !strcmp(key->name, "name");
}

/* The name follows from that of the file, which the text may not get. */
static void add_shared(rt_writer *w, const rt_config *config)
{
    char value[RT_VALUE_SIZE];
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const bool written = config->origin[i] != RT_FROM_DEFAULT || is_run_name(key);
        rt_key_write(key, config, value);
        if (rt_key_starts_section(i))
            rt_writer_add(w, "%s[%s]\n", i ? "\n" : "", key->section);
        rt_writer_add(w, "%s%s =%s%s\n", written && *value ? "" : ";", key->name, *value ? " " : "",
                      value);
    }
}

/* A value that is a path begins where the file is, which the text may leave. `settled` has it. */
static void add_value(rt_writer *w, int key, const char *written, const rt_config *settled)
{
    char value[RT_VALUE_SIZE];
    const bool text = rt_key_at(key)->type == RT_KEY_TEXT;
    rt_writer_add(w, "%s", text ? rt_key_write(rt_key_at(key), settled, value) : written);
}

static void set(rt_config *config, int key, const char *value)
{
    rt_writer problem = {0};
    if (rt_key_read(rt_key_at(key), value, config, &problem))
        config->origin[key] = RT_FROM_SWEEP;
    rt_writer_free(&problem);
}

static void find_files(rt_writer *w, rt_config *config)
{
    rt_config_errors errors = {.file = config->file};
    rt_config_find_files(config, &errors);
    w->failed |= errors.lines.failed;
    rt_writer_free(&errors.lines);
}

static void add_axis(rt_writer *w, const rt_axis *axis, const rt_config *config)
{
    char name[RT_KEY_NAME_SIZE];
    rt_writer_add(w, "%s = ", rt_key_full_name(rt_key_at(axis->key), name));
    for (int n = 0; n < axis->count; n++) {
        rt_config own = *config;
        set(&own, axis->key, axis->values[n]);
        find_files(w, &own);
        rt_writer_add(w, "%s", n ? "," : "");
        add_value(w, axis->key, axis->values[n], &own);
    }
    rt_writer_add(w, "\n");
}

static void add_variant(rt_writer *w, const rt_variant *v, const rt_config *config)
{
    char name[RT_KEY_NAME_SIZE];
    rt_config own = *config;
    for (int i = 0; i < v->count; i++)
        set(&own, v->keys[i], v->values[i]);
    find_files(w, &own);
    rt_writer_add(w, "\n[variant %s]\n", v->name);
    for (int i = 0; i < v->count; i++) {
        rt_writer_add(w, "%s = ", rt_key_full_name(rt_key_at(v->keys[i]), name));
        add_value(w, v->keys[i], v->values[i], &own);
        rt_writer_add(w, "\n");
    }
}

static void add_trunk(rt_writer *w, const char *trunk, const rt_config *config)
{
    const int key = rt_key_find("train", "trunk");
    rt_config own = *config;
    set(&own, key, trunk);
    find_files(w, &own);
    rt_writer_add(w, "trunk = ");
    add_value(w, key, trunk, &own);
    rt_writer_add(w, "\n");
}

char *rt_sweep_ini(const rt_sweep *s, const rt_config *config)
{
    rt_writer w = {0};
    add_shared(&w, config);
    if (s->axis_count || s->jobs || s->trunk_origin)
        rt_writer_add(&w, "\n[sweep]\n");
    if (s->trunk_steps)
        rt_writer_add(&w, "trunk = %d\n", s->trunk_steps);
    if (s->trunk)
        add_trunk(&w, s->trunk, config);
    if (s->jobs)
        rt_writer_add(&w, "jobs = %d\n", s->jobs);
    for (int i = 0; i < s->axis_count; i++)
        add_axis(&w, &s->axes[i], config);
    for (int i = 0; i < s->variant_count; i++)
        add_variant(&w, s->variants[i], config);
    return rt_writer_take(&w);
}
