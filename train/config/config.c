#include "train/config/config.h"

#include "core/memory.h"
#include "text/quote.h"
#include "text/text_file.h"
#include "train/config/private.h"
#include "train/config/sweep.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SECTION_SIZE = 32 };

typedef struct loading {
    rt_written_config written;
    const rt_config_source *source;
    rt_config_errors errors;
    rt_sweep *sweep; /* NULL: [sweep] and variants are skipped */
    bool in_section; /* a header has been seen */
    bool known;      /* the section exists */
    bool in_sweep;
    bool in_variant;
    bool has_sweep; /* a [sweep] or [variant] was seen */
    bool placed;    /* run.dir and run.name were taken from the folder of the run */
    char section[SECTION_SIZE];
    int first_line[RT_MAX_KEYS];
    bool overridden[RT_MAX_KEYS];
    char *of_use[RT_MAX_KEYS]; /* overrides that apply after the model is resolved */
} loading;

/* Returns whether a trained model is used. */
static bool is_used(const loading *l)
{
    const rt_config_purpose purpose = l->source->purpose;
    return purpose == RT_CONFIG_TO_USE || purpose == RT_CONFIG_OF_CHECKPOINT ||
           purpose == RT_CONFIG_OF_IMPORTED;
}

/* Returns whether data.file may be missing. */
static bool lacks_data(const loading *l)
{
    const rt_config_purpose purpose = l->source->purpose;
    return purpose == RT_CONFIG_OF_MODEL || purpose == RT_CONFIG_OF_CHECKPOINT ||
           purpose == RT_CONFIG_OF_IMPORTED;
}

/* Returns whether something was trained with the configuration. */
static bool was_trained(const loading *l)
{
    return l->source->purpose == RT_CONFIG_OF_RUN || lacks_data(l) || l->placed;
}

static void set_key(loading *l, int origin, int i, const char *value)
{
    const rt_key *key = rt_key_at(i);
    char name[RT_KEY_NAME_SIZE];
    rt_writer problem = {0};
    /* The command line can clear a text or a list of the file. */
    const bool complete = *value || (origin == RT_FROM_COMMAND_LINE && !*key->initial);
    rt_key_full_name(key, name);
    if (complete && rt_key_read(key, value, &l->written.keys, &problem)) {
        l->written.keys.origin[i] = origin;
        return;
    }
    rt_config_complain(&l->errors, origin, "%s %s", name,
                       !complete       ? "has no value"
                       : problem.bytes ? problem.bytes
                                       : "");
    l->errors.bad[i] = true;
    l->errors.lines.failed = l->errors.lines.failed || problem.failed;
    rt_writer_free(&problem);
}

/* ---- the file ---- */

static void on_problem(void *user, int line, const char *message)
{
    loading *l = user;
    rt_config_complain(&l->errors, line, "%s", message);
}

static void on_section(void *user, int line, const char *name)
{
    static const char variant[] = "variant ";
    loading *l = user;
    l->in_section = true;
    l->known = name && rt_section_exists(name);
    l->in_sweep = name && !strcmp(name, "sweep");
    l->in_variant = name && !strncmp(name, variant, strlen(variant));
    l->has_sweep |= l->in_sweep || l->in_variant;
    if (l->in_variant && l->sweep)
        rt_sweep_add_variant(l->sweep, line, name + strlen(variant), &l->errors);
    if (l->in_sweep || l->in_variant)
        return;
    if (l->known)
        snprintf(l->section, sizeof l->section, "%s", name);
    else if (name)
        rt_config_unknown_section(&l->errors, line, name);
}

/* The keys of an unknown section are not judged. */
static void on_pair(void *user, int line, const char *written, const char *value)
{
    loading *l = user;
    char quoted[RT_QUOTE_SIZE];
    if (!l->in_section)
        rt_config_complain(&l->errors, line, "key %s stands before the first [section]",
                           rt_quote(quoted, written));
    if (l->in_sweep && l->sweep)
        rt_sweep_set(l->sweep, line, written, value, &l->errors);
    if (l->in_variant && l->sweep)
        rt_sweep_add_setting(l->sweep, line, written, value, &l->errors);
    if (!l->known)
        return;
    int i = rt_key_find(l->section, written);
    if (i < 0)
        rt_config_unknown_key(&l->errors, line, l->section, written);
    else if (l->first_line[i])
        rt_config_complain(&l->errors, line, "duplicate key '%s' in [%s]; line %d has it", written,
                           l->section, l->first_line[i]);
    else
        set_key(l, l->first_line[i] = line, i, value);
}

static void read_file(loading *l, const rt_config_source *source)
{
    static const rt_ini_events events = {on_section, on_pair, on_problem};
    if (source->text) {
        rt_ini_parse(NULL, source->text, &events, l);
        return;
    }
    const bool regular = source->purpose == RT_CONFIG_OF_RUN;
    FILE *file = regular ? rt_open_regular(source->path) : fopen(source->path, "rb");
    if (file)
        rt_ini_parse(file, NULL, &events, l);
    if (!file || ferror(file))
        rt_config_complain(&l->errors, RT_FROM_DEFAULT, "cannot read the configuration: %s",
                           strerror(errno));
    if (file)
        fclose(file);
}

/* ---- the command line ---- */

/* Copies the text without blanks at both ends, truncated to the size. */
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

/* Sets the key, or defers the override until the trained model is resolved. */
static void override(loading *l, int i, const char *value)
{
    l->overridden[i] = true;
    if (!is_used(l) || !(rt_key_at_use(i) || l->source->purpose == RT_CONFIG_OF_CHECKPOINT)) {
        set_key(l, RT_FROM_COMMAND_LINE, i, value);
        return;
    }
    l->of_use[i] = rt_copy_text(value);
    l->errors.lines.failed |= !l->of_use[i];
}

static void read_override(loading *l, const char *text)
{
    char name[RT_VALUE_SIZE];
    char value[2 * RT_VALUE_SIZE];
    char quoted[RT_QUOTE_SIZE];
    const char *equals = strchr(text, '=');
    if (!equals) {
        rt_config_complain(&l->errors, RT_FROM_COMMAND_LINE,
                           "an override must be section.key=value; got %s", rt_quote(quoted, text));
        return;
    }
    copy_trimmed(name, sizeof name, text, (size_t)(equals - text));
    copy_trimmed(value, sizeof value, equals + 1, strlen(equals + 1));
    static const char sweep[] = "sweep.";
    if (!strncmp(name, sweep, strlen(sweep))) {
        l->has_sweep = true;
        if (l->sweep)
            rt_sweep_set(l->sweep, RT_FROM_COMMAND_LINE, name + strlen(sweep), value, &l->errors);
        return;
    }
    int i = rt_key_find_full(name);
    if (i < 0)
        rt_config_unknown_override(&l->errors, name);
    else if (l->overridden[i])
        rt_config_complain(&l->errors, RT_FROM_COMMAND_LINE, "%s is given twice", name);
    else
        override(l, i, value);
}

/* Applies the settings of one run of a sweep, which were validated before. */
static void read_settings(loading *l, const char *lines)
{
    char line[RT_KEY_NAME_SIZE + RT_VALUE_SIZE];
    while (lines && *lines) {
        const size_t length = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, lines);
        char *equals = strchr(line, '=');
        *equals = '\0';
        set_key(l, RT_FROM_SWEEP, rt_key_find_full(line), equals + 1);
        lines += length + (lines[length] == '\n');
    }
}

/* ---- name and folder of the run ---- */

/* Sets run.name from the path: "theta" for "experiments/theta.ini", "words" for "models/words/",
 * "model" for a path without a name, such as ".". */
static void name_after_file(loading *l, const char *path)
{
    int i = rt_key_find("run", "name");
    char stem[RT_PATH_SIZE];
    if (l->placed || l->written.keys.origin[i] != RT_FROM_DEFAULT || l->errors.bad[i])
        return;
    snprintf(stem, sizeof stem, "%s", path);
    for (size_t end = strlen(stem); end && stem[end - 1] == '/'; end--)
        stem[end - 1] = '\0';
    char *name = strrchr(stem, '/');
    name = name ? name + 1 : stem;
    char *dot = strcmp(name, "..") != 0 ? strrchr(name, '.') : name;
    if (dot)
        *dot = '\0';
    set_key(l, RT_FROM_DEFAULT, i, *name ? name : "model");
}

/* Returns whether the key would accept the value. */
static bool would_take(loading *l, const char *name, const char *value)
{
    rt_config scratch = l->written.keys;
    rt_writer problem = {0};
    const bool good = *value && *value != '-' &&
                      rt_key_read(rt_key_at(rt_key_find("run", name)), value, &scratch, &problem);
    l->errors.lines.failed |= problem.failed;
    rt_writer_free(&problem);
    return good;
}

static void place(loading *l, const char *name, const char *value)
{
    const int i = rt_key_find("run", name);
    if (!l->overridden[i])
        set_key(l, l->first_line[i], i, value);
}

/* Sets run.dir and run.name to the folder that the configuration of a run is in, unless these keys
 * do not accept its path. */
static void settle_place(loading *l, const rt_config_source *source)
{
    char dir[RT_PATH_SIZE], name[RT_PATH_SIZE];
    if (source->text || !rt_run_folder_of(source->path, dir, name) || !would_take(l, "dir", dir) ||
        !would_take(l, "name", name))
        return;
    place(l, "dir", dir);
    place(l, "name", name);
    l->placed = true;
}

static rt_status give_up_or_report(rt_config_errors *errors, char **list)
{
    int more = errors->count - RT_MOST_CONFIG_ERRORS;
    if (more > 0)
        rt_writer_add(&errors->lines, "%s: %d more errors\n", errors->file, more);
    if (!errors->count && !errors->lines.failed)
        return rt_ok();
    *list = rt_writer_take(&errors->lines);
    if (!*list)
        return rt_out_of_memory("the errors of the configuration");
    return rt_error(RT_CONFIG, "%.*s", (int)strcspn(*list, "\n"), *list);
}

/* ---- a use of a trained model ---- */

/* Complains if an override of a key of the model differs from the value of the trained model. */
static void expect_same(loading *l, const rt_config *config, int i, const char *value)
{
    rt_written_config other = {*config, .trained = true};
    rt_config resolved;
    char name[RT_KEY_NAME_SIZE], own[RT_VALUE_SIZE];
    rt_writer problem = {0};
    rt_key_full_name(rt_key_at(i), name);
    const bool good = rt_key_read(rt_key_at(i), value, &other.keys, &problem);
    rt_config_resolve(&resolved, &other);
    if (!good)
        rt_config_complain(&l->errors, RT_FROM_COMMAND_LINE, "%s %s", name,
                           problem.bytes ? problem.bytes : "");
    else if (!rt_key_equal(rt_key_at(i), config, &resolved))
        rt_config_complain(&l->errors, RT_FROM_COMMAND_LINE,
                           "%s = %.60s cannot be changed here: the trained model has %.60s", name,
                           value, rt_key_write(rt_key_at(i), config, own));
    l->errors.lines.failed |= problem.failed;
    rt_writer_free(&problem);
}

static void copy_key(rt_config *to, const rt_config *from, int i)
{
    rt_key_copy(rt_key_at(i), to, from);
    to->origin[i] = from->origin[i];
}

/* Resolves the configuration, then applies the deferred overrides. */
static void resolve(loading *l, rt_config *config)
{
    l->written.trained = was_trained(l) || l->has_sweep;
    rt_config_resolve(config, &l->written);
    for (int i = 0; rt_key_at(i); i++) {
        if (!l->of_use[i])
            continue;
        if (rt_key_at_use(i)) {
            set_key(l, RT_FROM_COMMAND_LINE, i, l->of_use[i]);
            copy_key(config, &l->written.keys, i);
        } else {
            expect_same(l, config, i, l->of_use[i]);
        }
    }
    if (is_used(l)) {
        rt_config_resolve_use(config, &l->written);
        rt_config_find_files(config, &l->errors);
    }
}

/* ---- loading ---- */

/* Inherits values from the model of train.init_from. Returns false if the configuration cannot be
 * checked further: *status or the errors say why. */
static bool inherit(loading *l, rt_status *status)
{
    const rt_config_source *source = l->source;
    rt_config *keys = &l->written.keys;
    rt_ancestor ancestor = {.config = NULL};
    if (!source->find_ancestor || !keys->train.init_from)
        return true;
    *status = source->find_ancestor(source->finder, keys, &ancestor);
    if (status->code == RT_CHECKPOINT && !rt_config_is_open(keys))
        *status = rt_ok(); /* reported when the file is opened */
    if (status->code || !ancestor.config)
        return !status->code;
    return rt_config_inherit(keys, &ancestor, &l->errors);
}

static bool sweeps(const rt_config_source *source)
{
    return source->sweep && (rt_sweep_requested(source->sweep) || source->sweep->trunk_origin);
}

static void read_all(loading *l)
{
    const rt_config_source *source = l->source;
    rt_config *keys = &l->written.keys;
    if (strlen(source->path) >= RT_PATH_SIZE)
        rt_config_complain(&l->errors, RT_FROM_DEFAULT, "the path must have at most %d bytes",
                           RT_PATH_SIZE - 1);
    keys->file = rt_intern_text(source->path);
    l->errors.lines.failed |= !keys->file;
    read_file(l, source);
    for (int i = 0; i < source->override_count; i++)
        read_override(l, source->overrides[i]);
    settle_place(l, source);
    read_settings(l, source->settings);
    name_after_file(l, source->path);
    rt_config_find_files(keys, &l->errors);
}

/* Complains of keys without effect. For a trained run only the command line is checked; for a sweep
 * nothing, since a key without effect in one run may have one in another. */
static void check_effects(loading *l, const rt_config *config)
{
    const rt_config_source *source = l->source;
    const bool trained = was_trained(l);
    if (l->errors.count || source->settings || l->has_sweep)
        return;
    for (int i = 0; rt_key_at(i); i++) {
        rt_writer w = {0};
        const int origin = l->written.keys.origin[i];
        if (!config->idle[i] || (trained && origin != RT_FROM_COMMAND_LINE))
            continue;
        rt_key_report_idle(&w, i, config, &l->written.keys);
        l->errors.lines.failed |= w.failed;
        rt_config_complain(&l->errors, origin, "%s", w.bytes ? w.bytes : "");
        rt_writer_free(&w);
    }
}

/* Restores written zeros: each run of a sweep resolves its own. */
static void keep_zeros(loading *l, rt_config *config)
{
    for (int i = 0; rt_key_at(i); i++)
        if (rt_key_follows(i) && l->written.keys.origin[i] != RT_FROM_DEFAULT)
            copy_key(config, &l->written.keys, i);
}

/* Resolves the configuration and checks its keys together. */
static rt_status judge(loading *l, rt_config *config)
{
    const rt_config_source *source = l->source;
    rt_status status = rt_ok();
    const bool whole =
        !sweeps(source) && source->purpose != RT_CONFIG_KEYS_ALONE && inherit(l, &status);
    resolve(l, config);
    if (sweeps(source)) {
        keep_zeros(l, config);
        status = rt_sweep_settle(source->sweep, config);
        rt_sweep_check(source->sweep, config, &l->errors);
    } else if (whole) {
        rt_config_check(config, lacks_data(l), was_trained(l), &l->errors);
        check_effects(l, config);
    }
    return status;
}

rt_status rt_config_load(rt_config *config, const rt_config_source *source, char **errors)
{
    loading l = {.source = source, .errors = {.file = source->path}, .sweep = source->sweep};
    rt_status judged = rt_ok();
    *errors = NULL;
    rt_written_defaults(&l.written);
    *config = l.written.keys;
    if (source->text || !rt_config_mistaken(&l.errors, source->path)) {
        read_all(&l);
        judged = judge(&l, config);
    }
    for (int i = 0; i < RT_MAX_KEYS; i++)
        rt_free(l.of_use[i]);
    const rt_status status = give_up_or_report(&l.errors, errors);
    return status.code ? status : judged;
}

rt_status rt_config_load_folder(rt_config *config, const char *folder)
{
    char path[RT_PATH_SIZE], *errors = NULL;
    const rt_config_source source = {.path = path, .purpose = RT_CONFIG_OF_RUN};
    rt_status status = rt_path_join(path, folder, "config.ini");
    if (!status.code)
        status = rt_config_load(config, &source, &errors);
    rt_free(errors);
    return status;
}
