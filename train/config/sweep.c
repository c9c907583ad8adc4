#include "train/config/sweep.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/config/private.h"
#include "util/number.h"
#include "util/writer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

bool rt_sweep_requested(const rt_sweep *s)
{
    return s->axis_count || s->variant_count;
}

/* Returns the value of a key in a variant, which may be NULL; NULL if it is not set there. */
static const char *variant_value(const rt_variant *variant, int key)
{
    for (int i = 0; variant && i < variant->count; i++)
        if (variant->keys[i] == key)
            return variant->values[i];
    return NULL;
}

/* Returns the number of the key; -1, with an error, if a sweep cannot vary it. */
static int find_key(const char *name, int origin, const char *where, rt_config_errors *errors)
{
    const int key = rt_key_find(name);
    if (key < 0)
        rt_config_unknown_override(errors, origin, RT_PRINTED(RT_KEY_NAME_SIZE + 16, "%s: ", where),
                                   name);
    else if (!strcmp(name, "run.name") || !strcmp(name, "run.dir"))
        rt_config_add_error(errors, origin, "%s: %s is chosen by the sweep for each run", where,
                            name);
    else if (!strcmp(name, "run.kernels"))
        rt_config_add_error(errors, origin,
                            "%s: run.kernels is the same for all runs of a sweep: set "
                            "it in [run]",
                            where);
    else
        return key;
    return -1;
}

/* Sets the key in `parsed`. Returns a shared copy of the value; NULL, with an error, if the key
 * does not accept it. */
static const char *accept(int key, int origin, const char *value, rt_config *parsed,
                          rt_config_errors *errors)
{
    const int before = errors->count;
    if (!*value)
        rt_config_add_error(errors, origin, "%s has an empty value", rt_key_name(key));
    else
        rt_config_set_key(parsed, key, value, origin, errors);
    const char *copy = errors->count == before ? rt_intern_text(value) : NULL;
    errors->lines.failed |= errors->count == before && !copy;
    return copy;
}

/* Adds the values of a list such as "a, b,c". One value may be written in several ways. */
static void add_values(rt_axis *axis, const char *values, rt_config_errors *errors)
{
    const char *name = rt_key_name(axis->key);
    rt_config parsed = {.file = NULL}, other = {.file = NULL};
    rt_list_item item;
    while (values) {
        bool twice = false;
        values = rt_list_parse(values, &item);
        const char *value = RT_PRINTED(RT_VALUE_SIZE, "%.*s", (int)item.length, item.start);
        const bool full = axis->count == RT_MOST_AXIS_VALUES;
        const char *copy = full ? NULL : accept(axis->key, axis->origin, value, &parsed, errors);
        for (int i = 0; copy && i < axis->count && !twice; i++) {
            rt_config_set_key(&other, axis->key, axis->values[i], axis->origin, errors);
            twice = rt_key_value_equal(rt_key_at(axis->key), &parsed, &other);
        }
        if (full)
            rt_config_add_error(errors, axis->origin, "sweep.%s has more than %d values", name,
                                RT_MOST_AXIS_VALUES);
        else if (twice)
            rt_config_add_error(errors, axis->origin, "sweep.%s has %s twice", name,
                                RT_QUOTED(value));
        else if (copy)
            axis->values[axis->count++] = copy;
    }
}

/* Sets the origin of a setting. Returns false, with an error, if the setting was given before; but
 * the command line may override the file. */
static bool set_origin(int *origin, int now, const char *name, rt_config_errors *errors)
{
    if (!*origin || (*origin > 0 && now == RT_FROM_COMMAND_LINE)) {
        *origin = now;
        return true;
    }
    if (now == RT_FROM_COMMAND_LINE)
        rt_config_add_error(errors, now, "sweep.%s is given twice", name);
    else
        rt_config_add_error(errors, now, "duplicate key '%s' in [sweep]; line %d has it", name,
                            *origin);
    return false;
}

void rt_sweep_set(rt_sweep *s, int origin, const char *name, const char *values,
                  rt_config_errors *errors)
{
    enum { MOST_JOBS = 1024 };
    rt_config parsed;
    int64_t number;
    if (!strcmp(name, "jobs")) {
        if (!set_origin(&s->jobs_origin, origin, name, errors))
            return;
        if (rt_integer_parse(values, &number) && number >= 1 && number <= MOST_JOBS)
            s->jobs = (int)number;
        else
            rt_config_add_error(errors, origin,
                                "sweep.jobs must be a whole number from 1 to %d; got %s", MOST_JOBS,
                                RT_QUOTED(values));
    } else if (!strcmp(name, "trunk")) {
        if (!set_origin(&s->trunk_origin, origin, name, errors))
            return;
        s->trunk_steps = 0;
        s->trunk = NULL;
        if (!rt_integer_parse(values, &number))
            s->trunk = accept(rt_key_find("train.trunk"), origin, values, &parsed, errors);
        else if (number >= 1 && number <= RT_MOST_STEPS)
            s->trunk_steps = (int)number;
        else
            rt_config_add_error(
                errors, origin,
                "sweep.trunk must be a number of steps from 1 to %d, or a checkpoint",
                RT_MOST_STEPS);
    } else {
        const int key = find_key(name, origin, "[sweep]", errors);
        int i = 0;
        while (i < s->axis_count && s->axes[i].key != key)
            i++;
        if (key >= 0 && i == RT_MOST_AXES) {
            rt_config_add_error(errors, origin, "[sweep] has more than %d keys", RT_MOST_AXES);
        } else if (key >= 0 && set_origin(&s->axes[i].origin, origin, name, errors)) {
            s->axis_count += i == s->axis_count;
            s->axes[i].key = key;
            s->axes[i].count = 0;
            add_values(&s->axes[i], values, errors);
        }
    }
}

/* Files and folders in the folder of a sweep. */
static const char taken_names[] = "checkpoints,figures,config.ini,runs.csv,sweep.csv,paired.csv,"
                                  "growth.csv,result.csv,report.html";

void rt_sweep_add_variant(rt_sweep *s, int origin, const char *name, rt_config_errors *errors)
{
    bool good = *name && *name != '.' && *name != '-' && strlen(name) < RT_KEY_NAME_SIZE;
    for (const char *c = name; *c; c++)
        good = good && (isalnum((unsigned char)*c) || strchr("-_.+", *c));
    if (!good)
        rt_config_add_error(errors, origin,
                            "a variant needs a name of letters, digits and -_.+ ; got %s",
                            RT_QUOTED(name));
    else if (rt_list_has(taken_names, name))
        rt_config_add_error(errors, origin, "a sweep has a file or folder %s: rename the variant",
                            RT_QUOTED(name));
    for (int i = 0; i < s->variant_count; i++)
        if (!strcmp(s->variants[i].name, name))
            rt_config_add_error(errors, origin, "there are two variants %s", RT_QUOTED(name));
    if (s->variant_count == RT_MOST_VARIANTS) {
        rt_config_add_error(errors, origin, "there are more than %d variants", RT_MOST_VARIANTS);
        return;
    }
    rt_variant *variant = &s->variants[s->variant_count++];
    *variant = (rt_variant){.count = 0};
    snprintf(variant->name, sizeof variant->name, "%s", name);
}

void rt_sweep_add_setting(rt_sweep *s, int origin, const char *name, const char *value,
                          rt_config_errors *errors)
{
    rt_variant *v = &s->variants[s->variant_count - 1];
    const char *where = RT_PRINTED(RT_KEY_NAME_SIZE + 16, "[variant %s]", v->name);
    rt_config parsed;
    const int key = find_key(name, origin, where, errors);
    if (key < 0)
        return;
    if (variant_value(v, key))
        rt_config_add_error(errors, origin, "duplicate key '%s' in %s", name, where);
    else if (v->count == RT_MOST_SETTINGS)
        rt_config_add_error(errors, origin, "%s has more than %d lines", where, RT_MOST_SETTINGS);
    else if ((v->values[v->count] = accept(key, origin, value, &parsed, errors)))
        v->keys[v->count++] = key;
}

/* Returns the number of combinations of the values of the axes from `first_axis` on. Stops counting
 * above RT_MOST_SWEEP_RUNS. */
static long combinations(const rt_sweep *s, int first_axis)
{
    long count = 1;
    for (int i = first_axis; i < s->axis_count && count <= RT_MOST_SWEEP_RUNS; i++)
        count *= s->axes[i].count;
    return count;
}

int rt_sweep_count(const rt_sweep *s)
{
    const long count = (s->variant_count ? s->variant_count : 1) * combinations(s, 0);
    return count <= RT_MOST_SWEEP_RUNS ? (int)count : RT_MOST_SWEEP_RUNS + 1;
}

const rt_variant *rt_sweep_variant(const rt_sweep *s, int run)
{
    return s->variant_count ? &s->variants[run / combinations(s, 0)] : NULL;
}

const char *rt_sweep_value(const rt_sweep *s, int run, int axis)
{
    return s->axes[axis].values[run / combinations(s, axis + 1) % s->axes[axis].count];
}

/* Returns the value of a key in a run of the sweep; NULL if the sweep does not set it. */
static const char *value_of(const rt_sweep *s, int run, int key)
{
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].key == key)
            return rt_sweep_value(s, run, i);
    return variant_value(rt_sweep_variant(s, run), key);
}

/* Returns the seed of a run; "" if the sweep does not set it. */
static const char *seed_of(const rt_sweep *s, int run)
{
    const char *seed = value_of(s, run, rt_key_find("run.seed"));
    return seed ? seed : "";
}

/* Returns the index of a seed among the seeds of trunks; seed_count if it is not among them. */
static int number_of_seed(const rt_sweep *s, const char *seed)
{
    int i = 0;
    while (i < s->seed_count && strcmp(s->seeds[i], seed) != 0)
        i++;
    return i;
}

int rt_sweep_trunk_of(const rt_sweep *s, int run)
{
    return rt_sweep_count(s) + number_of_seed(s, seed_of(s, run));
}

static void check_key(const rt_sweep *s, const rt_config *config, int key, const char *where,
                      rt_config_errors *errors)
{
    const char *name = rt_key_name(key);
    if (config->origin[key] == RT_FROM_COMMAND_LINE)
        rt_config_add_error(errors, RT_FROM_COMMAND_LINE, "%s is set by %s, for each run", name,
                            where);
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].key == key && strcmp(where, "[sweep]") != 0)
            rt_config_add_error(errors, s->axes[i].origin, "%s is set by [sweep] and by %s", name,
                                where);
}

static void check_trunk(const rt_sweep *s, const rt_config *config, rt_config_errors *errors)
{
    if (!rt_sweep_requested(s))
        rt_config_add_error(errors, s->trunk_origin,
                            "sweep.trunk has no branches: it needs keys of [sweep] or variants");
    if (config->train.trunk)
        rt_config_add_error(errors, s->trunk_origin,
                            "sweep.trunk and train.trunk contradict each other");
    for (int v = 0; s->trunk_steps && v < s->variant_count; v++)
        if (!strncmp(s->variants[v].name, "trunk", strlen("trunk")))
            rt_config_add_error(
                errors, s->trunk_origin,
                "sweep.trunk: the name of the variant %s is that of a trunk's folder",
                s->variants[v].name);
    if (s->trunk_steps && s->trunk_steps >= s->longest)
        rt_config_add_error(errors, s->trunk_origin,
                            "sweep.trunk = %d: branches need more steps than train.steps = %d",
                            s->trunk_steps, s->longest);
    if (s->trunk_steps && config->train.target_accuracy > 0)
        rt_config_add_error(errors, s->trunk_origin,
                            "sweep.trunk = %d: a trunk takes all its steps, and "
                            "train.target_accuracy may end it before",
                            s->trunk_steps);
}

/* Makes a path absolute that is relative to the working directory. RT_CONFIG if it has a newline,
 * which ends a setting. */
static rt_status make_absolute(char path[RT_PATH_SIZE], const char *relative)
{
    char here[RT_PATH_SIZE];
    const char *home = rt_path_home(relative);
    if (!home)
        return rt_error(RT_CONFIG, "sweep.trunk begins with ~, and HOME is not set");
    if (*home || *relative == '/')
        return rt_path_join(path, home, relative + 1);
    if (!getcwd(here, sizeof here))
        return rt_error(RT_CONFIG, "sweep.trunk needs the working directory: %s", strerror(errno));
    if (strchr(here, '\n'))
        return rt_error(RT_CONFIG, "sweep.trunk: the working directory has a newline in its name");
    return rt_path_join(path, here, relative);
}

rt_status rt_sweep_resolve(rt_sweep *s, const rt_config *config, rt_config_errors *errors)
{
    char path[RT_PATH_SIZE];
    rt_status status;
    for (int i = 0; i < s->axis_count; i++)
        check_key(s, config, s->axes[i].key, "[sweep]", errors);
    for (int v = 0; v < s->variant_count; v++) {
        const char *where = RT_PRINTED(RT_KEY_NAME_SIZE + 16, "[variant %s]", s->variants[v].name);
        for (int i = 0; i < s->variants[v].count; i++)
            check_key(s, config, s->variants[v].keys[i], where, errors);
    }
    if (!errors->count && rt_sweep_count(s) > RT_MOST_SWEEP_RUNS)
        rt_config_add_error(errors, RT_FROM_DEFAULT, "a sweep can have at most %d runs",
                            RT_MOST_SWEEP_RUNS);
    if (errors->count || errors->lines.failed)
        return rt_ok();
    /* seeds of the trunks, and the largest number of steps of a run */
    s->seed_count = s->longest = 0;
    for (int run = 0; run < rt_sweep_count(s); run++) {
        const char *seed = seed_of(s, run), *value = value_of(s, run, rt_key_find("train.steps"));
        int64_t steps;
        if (number_of_seed(s, seed) == s->seed_count)
            s->seeds[s->seed_count++] = seed;
        if (!value || !rt_integer_parse(value, &steps))
            steps = config->train.steps;
        s->longest = steps > s->longest ? (int)steps : s->longest;
    }
    s->horizon = config->optimizer.schedule_steps ? config->optimizer.schedule_steps : s->longest;
    if (s->trunk_origin)
        check_trunk(s, config, errors);
    /* the path of a trunk is read relative to the file */
    if (s->trunk_steps) {
        status = make_absolute(path, config->run.dir);
        return status.code ? status : rt_path_join(s->folder, path, config->run.name);
    }
    if (!s->trunk || s->trunk_origin != RT_FROM_COMMAND_LINE)
        return rt_ok();
    status = make_absolute(path, s->trunk);
    s->trunk = status.code ? NULL : rt_intern_text(path);
    return status.code || s->trunk ? status : rt_out_of_memory("a sweep");
}

static void add_settings(rt_writer *w, const rt_sweep *s, int run)
{
    const rt_variant *variant = rt_sweep_variant(s, run);
    for (int i = 0; variant && i < variant->count; i++)
        rt_writer_add(w, "%s=%s\n", rt_key_name(variant->keys[i]), variant->values[i]);
    for (int i = 0; i < s->axis_count; i++)
        rt_writer_add(w, "%s=%s\n", rt_key_name(s->axes[i].key), rt_sweep_value(s, run, i));
}

/* Returns a digest for runs whose names would be equal or too long. It depends on the settings, not
 * on the number of the run, which changes when the sweep grows. */
static unsigned digest(const rt_sweep *s, int run)
{
    rt_writer w = {0};
    add_settings(&w, s, run);
    RT_OWNED char *settings = rt_writer_take(&w);
    return settings ? (unsigned)XXH3_64bits(settings, strlen(settings)) : 0;
}

const char *rt_sweep_name(const rt_sweep *s, int run, char name[RT_RUN_NAME_SIZE])
{
    if (run >= rt_sweep_count(s)) {
        const char *seed = s->seeds[run - rt_sweep_count(s)];
        snprintf(name, RT_RUN_NAME_SIZE, "trunk%s%s", *seed ? "_seed=" : "", seed);
        return name;
    }
    const rt_variant *variant = rt_sweep_variant(s, run);
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    if (variant)
        rt_writer_add(&w, "%s", variant->name);
    for (int i = 0; i < s->axis_count; i++) {
        const char *key = rt_key_at(s->axes[i].key)->name;
        bool ambiguous = false; /* another section has a key of this name */
        for (int k = 0; k < s->axis_count; k++)
            ambiguous |= k != i && !strcmp(rt_key_at(s->axes[k].key)->name, key);
        rt_writer_add(&w, "%s%s=%s", variant || i ? "_" : "",
                      ambiguous ? rt_key_name(s->axes[i].key) : key, rt_sweep_value(s, run, i));
    }
    bool changed = false;
    for (char *c = w.bytes; c && *c; c++)
        if (*c == '/' || *c == ' ' || *c == ',') {
            *c = '-';
            changed = true;
        }
    if (changed)
        rt_writer_add(&w, "_%08x", digest(s, run));
    if (w.bytes && !w.failed && w.length < RT_RUN_NAME_SIZE)
        snprintf(name, RT_RUN_NAME_SIZE, "%s", w.bytes);
    else
        snprintf(name, RT_RUN_NAME_SIZE, "run-%08x", digest(s, run));
    return name;
}

char *rt_sweep_overrides(const rt_sweep *s, int run)
{
    rt_writer w = {0};
    if (run >= rt_sweep_count(s)) {
        const char *seed = s->seeds[run - rt_sweep_count(s)];
        if (*seed)
            rt_writer_add(&w, "run.seed=%s\n", seed);
        rt_writer_add(&w, "train.steps=%d\noptimizer.schedule_steps=%d\ntrain.patience=0\n",
                      s->trunk_steps, s->horizon);
        return rt_writer_take(&w);
    }
    add_settings(&w, s, run);
    if (s->trunk)
        rt_writer_add(&w, "train.trunk=%s\n", s->trunk);
    if (s->trunk_steps)
        rt_writer_add(&w, "train.trunk=%s/%s/checkpoints/step-%08d.h5\n", s->folder,
                      RT_SWEEP_NAME(s, rt_sweep_trunk_of(s, run)), s->trunk_steps);
    return rt_writer_take(&w);
}

/* Writes "name = values". Makes paths absolute, which depend on `config`. */
static void write_setting(rt_writer *w, const char *name, int key, const char *const *values,
                          int count, const rt_config *config, rt_config_errors *errors)
{
    const bool is_text = rt_key_at(key)->type == RT_KEY_TEXT;
    rt_writer_add(w, "%s = ", name);
    for (int n = 0; n < count; n++) {
        rt_config own = *config;
        rt_config_set_key(&own, key, values[n], RT_FROM_SWEEP, errors);
        if (is_text)
            rt_config_find_files(&own, own.data.task, errors);
        rt_writer_add(w, "%s%s", n ? "," : "",
                      is_text ? RT_KEY_VALUE(rt_key_at(key), &own) : values[n]);
    }
    rt_writer_add(w, "\n");
}

char *rt_sweep_ini(const rt_sweep *s, const rt_config *config, bool explained)
{
    rt_config_errors errors = {.file = config->file};
    rt_writer w = {0};
    rt_config_write(&w, config, rt_sweep_requested(s), explained);
    if (!rt_sweep_requested(s))
        return rt_writer_take(&w);
    if (s->axis_count || s->jobs || s->trunk_origin)
        rt_writer_add(&w, "\n[sweep]\n");
    if (s->trunk_steps)
        rt_writer_add(&w, "trunk = %d\n", s->trunk_steps);
    if (s->trunk)
        write_setting(&w, "trunk", rt_key_find("train.trunk"), &s->trunk, 1, config, &errors);
    if (s->jobs)
        rt_writer_add(&w, "jobs = %d\n", s->jobs);
    for (int i = 0; i < s->axis_count; i++)
        write_setting(&w, rt_key_name(s->axes[i].key), s->axes[i].key, s->axes[i].values,
                      s->axes[i].count, config, &errors);
    for (const rt_variant *v = s->variants; v < s->variants + s->variant_count; v++) {
        rt_config own = *config;
        for (int i = 0; i < v->count; i++)
            rt_config_set_key(&own, v->keys[i], v->values[i], RT_FROM_SWEEP, &errors);
        rt_writer_add(&w, "\n[variant %s]\n", v->name);
        for (int i = 0; i < v->count; i++)
            write_setting(&w, rt_key_name(v->keys[i]), v->keys[i], &v->values[i], 1, &own, &errors);
    }
    w.failed |= errors.lines.failed;
    rt_writer_free(&errors.lines);
    return rt_writer_take(&w);
}
