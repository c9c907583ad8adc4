#include "train/config/config.h"

#include "core/memory.h"
#include "text/writer.h"
#include "train/config/private.h"
#include "train/config/sweep.h"

#include <stdio.h>
#include <string.h>

enum { SECTION_SIZE = 32 };

/* Kind of section of the current line. */
typedef enum place { BEFORE_SECTIONS, IN_UNKNOWN, IN_KEYS, IN_SWEEP, IN_VARIANT } place;

typedef struct loading {
    const rt_config_source *source;
    bool trained;      /* something was trained with the configuration */
    bool used;         /* a trained model is used */
    bool of_model;     /* it is the configuration of the model: data.file may be missing */
    bool fixed;        /* overrides cannot change the model */
    bool untrusted;    /* only regular files are opened */
    rt_config written; /* values as written, including zeros */
    rt_config late;    /* overrides that apply after the trained model is resolved */
    rt_config_errors errors;
    bool has_sweep; /* a [sweep] or [variant] was found */
    bool placed;    /* run.dir and run.name are those of the folder of the run */
    place place;
    char section[SECTION_SIZE];
    int first_line[RT_MAX_KEYS];
    bool overridden[RT_MAX_KEYS];
} loading;

/* ---- the file ---- */

/* Enters a section; `name` is NULL for a broken header. */
static void enter_section(loading *l, int line, const char *name)
{
    static const char variant[] = "variant ";
    l->place = !name                                      ? IN_UNKNOWN
               : rt_section_exists(name)                  ? IN_KEYS
               : !strcmp(name, "sweep")                   ? IN_SWEEP
               : !strncmp(name, variant, strlen(variant)) ? IN_VARIANT
                                                          : IN_UNKNOWN;
    l->has_sweep |= l->place == IN_SWEEP || l->place == IN_VARIANT;
    if (l->place == IN_KEYS)
        snprintf(l->section, sizeof l->section, "%s", name);
    else if (l->place == IN_VARIANT && l->source->sweep)
        rt_sweep_add_variant(l->source->sweep, line, name + strlen(variant), &l->errors);
    else if (l->place == IN_UNKNOWN && name)
        rt_config_unknown_section(&l->errors, line, name);
}

/* Sets a key, or adds a line of a sweep or variant. Keys of an unknown section are ignored. */
static void read_pair(loading *l, int line, const char *written, const char *value)
{
    rt_sweep *sweep = l->source->sweep;
    char name[RT_KEY_NAME_SIZE], quoted[RT_QUOTE_SIZE];
    if (l->place == BEFORE_SECTIONS)
        rt_config_add_error(&l->errors, line, "key %s stands before the first [section]",
                            rt_quote(quoted, written));
    else if (l->place == IN_SWEEP && sweep)
        rt_sweep_set(sweep, line, written, value, &l->errors);
    else if (l->place == IN_VARIANT && sweep)
        rt_sweep_add_setting(sweep, line, written, value, &l->errors);
    if (l->place != IN_KEYS)
        return;
    snprintf(name, sizeof name, "%s.%s", l->section, written);
    const int i = rt_key_find(name);
    if (i < 0)
        rt_config_unknown_key(&l->errors, line, l->section, written);
    else if (l->first_line[i])
        rt_config_add_error(&l->errors, line, "duplicate key '%s' in [%s]; line %d has it", written,
                            l->section, l->first_line[i]);
    else
        rt_config_set_key(&l->written, i, value, l->first_line[i] = line, &l->errors);
}

/* ---- the command line ---- */

/* Copies the text without leading and trailing blanks, truncated to `size`. */
static void copy_trimmed(char *copy, size_t size, const char *text, size_t length)
{
    while (length && *text == ' ') {
        text++;
        length--;
    }
    while (length && text[length - 1] == ' ')
        length--;
    snprintf(copy, size, "%.*s", (int)length, text);
}

static void read_override(loading *l, const char *text)
{
    char name[RT_VALUE_SIZE];
    char value[2 * RT_VALUE_SIZE];
    char quoted[RT_QUOTE_SIZE];
    const char *equals = strchr(text, '=');
    if (!equals) {
        rt_config_add_error(&l->errors, RT_FROM_COMMAND_LINE,
                            "an override must be section.key=value; got %s",
                            rt_quote(quoted, text));
        return;
    }
    copy_trimmed(name, sizeof name, text, (size_t)(equals - text));
    copy_trimmed(value, sizeof value, equals + 1, strlen(equals + 1));
    static const char sweep[] = "sweep.";
    if (!strncmp(name, sweep, strlen(sweep))) {
        l->has_sweep = true;
        if (l->source->sweep)
            rt_sweep_set(l->source->sweep, RT_FROM_COMMAND_LINE, name + strlen(sweep), value,
                         &l->errors);
        return;
    }
    const int i = rt_key_find(name);
    if (i < 0) {
        rt_config_unknown_override(&l->errors, name);
    } else if (l->overridden[i]) {
        rt_config_add_error(&l->errors, RT_FROM_COMMAND_LINE, "%s is given twice", name);
    } else {
        /* a value that may differ from the trained model is applied after the model is resolved */
        const bool late = l->used && (rt_key_at_use(i) || l->fixed);
        l->overridden[i] = true;
        rt_config_set_key(late ? &l->late : &l->written, i, value, RT_FROM_COMMAND_LINE,
                          &l->errors);
    }
}

/* Applies the settings of one run of a sweep, which were checked before. */
static void read_settings(loading *l, const char *lines)
{
    char line[RT_KEY_NAME_SIZE + RT_VALUE_SIZE];
    while (lines && *lines) {
        const size_t length = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, lines);
        char *equals = strchr(line, '=');
        *equals = '\0';
        rt_config_set_key(&l->written, rt_key_find(line), equals + 1, RT_FROM_SWEEP, &l->errors);
        lines += length + (lines[length] == '\n');
    }
}

/* ---- name and folder of the run ---- */

/* Sets run.name from the path: "theta" for "experiments/theta.ini", "words" for "models/words/",
 * "model" for a path without a name, such as ".". */
static void name_after_file(loading *l, const char *path)
{
    const int i = rt_key_find("run.name");
    char stem[RT_PATH_SIZE];
    if (l->placed || l->written.origin[i] != RT_FROM_DEFAULT || l->errors.bad[i])
        return;
    snprintf(stem, sizeof stem, "%s", path);
    for (size_t end = strlen(stem); end && stem[end - 1] == '/'; end--)
        stem[end - 1] = '\0';
    char *name = strrchr(stem, '/');
    name = name ? name + 1 : stem;
    char *dot = strcmp(name, "..") != 0 ? strrchr(name, '.') : name;
    if (dot)
        *dot = '\0';
    rt_config_set_key(&l->written, i, *name ? name : "model", RT_FROM_DEFAULT, &l->errors);
}

/* Sets run.dir and run.name to the folder of a run's own configuration. The values in the file are
 * no substitute for a path that these keys do not accept: they may name another run. They stay if
 * the caller has found the folder. */
static void take_run_folder(loading *l)
{
    static const char *const names[] = {"run.dir", "run.name"};
    char values[2][RT_PATH_SIZE];
    rt_writer problem = {0};
    if (l->source->text || !rt_run_folder_of(l->source->path, values[0], values[1]))
        return;
    l->placed = true;
    for (int k = 0; k < 2; k++) {
        const int i = rt_key_find(names[k]);
        char quoted[RT_QUOTE_SIZE];
        if (l->overridden[i])
            continue;
        if (*values[k] && *values[k] != '-' &&
            rt_key_read(rt_key_at(i), values[k], &l->written, &problem))
            l->written.origin[i] = l->first_line[i];
        else if (l->untrusted)
            l->placed = false;
        else
            rt_config_add_error(&l->errors, l->first_line[i],
                                "%s cannot be %s, where this run is: rename the folder, or start "
                                "in it",
                                names[k], rt_quote(quoted, values[k]));
    }
    l->errors.lines.failed |= problem.failed;
    rt_writer_free(&problem);
}

/* ---- loading ---- */

/* Reads the values as written. Returns false, with an error, if there is no configuration file. */
static bool read_source(loading *l)
{
    const rt_config_source *source = l->source;
    size_t size = source->text ? strlen(source->text) : 0;
    l->errors.file = source->path;
    rt_config_initial(&l->written);
    if (strlen(source->path) >= RT_PATH_SIZE)
        rt_config_add_error(&l->errors, RT_FROM_DEFAULT, "the path must have at most %d bytes",
                            RT_PATH_SIZE - 1);
    char *bytes =
        source->text ? NULL : rt_config_read_file(&l->errors, source->path, l->untrusted, &size);
    if (!source->text && !bytes)
        return false;
    l->written.file = rt_intern_text(source->path);
    l->errors.lines.failed |= !l->written.file;
    rt_ini ini = {.at = bytes ? bytes : source->text};
    ini.end = ini.at + size;
    while (rt_ini_next(&ini)) {
        if (*ini.problem)
            rt_config_add_error(&l->errors, ini.line, "%s", ini.problem);
        if (ini.kind == RT_INI_SECTION)
            enter_section(l, ini.line, ini.name);
        else if (ini.kind == RT_INI_PAIR)
            read_pair(l, ini.line, ini.name, ini.value);
    }
    rt_free(bytes);
    for (int i = 0; i < source->override_count; i++)
        read_override(l, source->overrides[i]);
    take_run_folder(l);
    l->trained |= l->placed;
    read_settings(l, source->settings);
    name_after_file(l, source->path);
    rt_config_find_files(&l->written, l->written.data.task, &l->errors);
    const bool other_task = l->late.origin[rt_key_find("data.task")] != RT_FROM_DEFAULT;
    rt_config_find_files(&l->late, (other_task ? &l->late : &l->written)->data.task, &l->errors);
    return true;
}

/* Inherits values from the model of train.init_from. Returns false if the configuration cannot be
 * checked further: *status or the errors give the reason. */
static bool inherit(loading *l, rt_status *status)
{
    const rt_config_source *source = l->source;
    rt_init_model ancestor = {.config = NULL};
    if (!source->find_ancestor || !l->written.train.init_from)
        return true;
    *status = source->find_ancestor(source->finder, &l->written, &ancestor);
    if (status->code == RT_CHECKPOINT && !rt_config_is_open(&l->written))
        *status = rt_ok(); /* reported when the file is opened */
    if (status->code || !ancestor.config)
        return !status->code;
    return rt_config_inherit(&l->written, &ancestor, &l->errors);
}

/* Resolves the configuration and checks its keys together. */
static rt_status resolve(loading *l, rt_config *config)
{
    rt_sweep *sweep = l->source->sweep;
    const bool sweeps = sweep && (rt_sweep_requested(sweep) || sweep->trunk_origin);
    rt_status status = rt_ok();
    const bool whole = !sweeps && inherit(l, &status);
    rt_config_resolve(config, &l->written, l->trained || sweeps, sweeps);
    if (l->used)
        rt_config_resolve_use(config, &l->written, &l->late, &l->errors);
    /* a key without effect in one run of a sweep may have an effect in another */
    const bool one = !l->source->settings && !l->has_sweep;
    if (sweeps)
        status = rt_sweep_resolve(sweep, config, &l->errors);
    else if (whole)
        rt_config_check(config, one ? &l->written : NULL, l->of_model, l->trained, &l->errors);
    return status;
}

/* Returns the first error, or `otherwise` if there is none. *list, unless NULL, gets all errors. */
static rt_status report(rt_config_errors *errors, char **list, rt_status otherwise)
{
    const int more = errors->count - RT_MOST_CONFIG_ERRORS;
    char *lines = NULL;
    if (more > 0)
        rt_writer_add(&errors->lines, "%s: %d more errors\n", errors->file, more);
    if (errors->count || errors->lines.failed) {
        lines = rt_writer_take(&errors->lines);
        otherwise = lines ? rt_error(RT_CONFIG, "%.*s", (int)strcspn(lines, "\n"), lines)
                          : rt_out_of_memory("the errors of the configuration");
    }
    if (list)
        *list = lines;
    else
        rt_free(lines);
    return otherwise;
}

static rt_status load(loading *l, rt_config *config, char **errors)
{
    const bool good = read_source(l);
    *config = l->written;
    return report(&l->errors, errors, good ? resolve(l, config) : rt_ok());
}

rt_status rt_config_load(rt_config *config, const rt_config_source *source, char **errors)
{
    loading l = {.source = source, .used = source->to_use};
    return load(&l, config, errors);
}

rt_status rt_config_load_run(rt_config *config, const char *path, const char *text, char **errors)
{
    const rt_config_source source = {.path = path, .text = text};
    loading l = {.source = &source, .trained = true, .untrusted = true};
    return load(&l, config, errors);
}

rt_status rt_config_load_folder(rt_config *config, const char *folder)
{
    char path[RT_PATH_SIZE];
    const rt_status status = rt_path_join(path, folder, "config.ini");
    return status.code ? status : rt_config_load_run(config, path, NULL, NULL);
}

rt_status rt_config_load_model(rt_config *config, const rt_config_source *source, bool imported,
                               char **errors)
{
    loading l = {
        .source = source, .trained = true, .used = true, .of_model = true, .fixed = !imported};
    return load(&l, config, errors);
}

rt_status rt_config_read(rt_config *config, const rt_config_source *source)
{
    loading l = {.source = source};
    read_source(&l);
    *config = l.written;
    return report(&l.errors, NULL, rt_ok());
}
