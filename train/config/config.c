#define _XOPEN_SOURCE 700 /* realpath */

#include "train/config/config.h"

#include "core/memory.h"
#include "train/config/private.h"
#include "train/config/sweep.h"
#include "util/files.h"
#include "util/process.h"
#include "util/writer.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)

/* Longest line and largest file, in bytes. */
#define LONGEST_LINE 8190
enum { LARGEST_FILE = 1 << 24 };

/* A reader of an INI file. Starts with `at` and `end` set and all else zero. White space around a
 * line, a key and a value is ignored, as is a byte order mark. A comment starts with ; or # at the
 * start of a line, or with ; after white space. */
typedef struct ini_reader {
    const char *at, *end; /* unread bytes; more than LARGEST_FILE bytes are an error */
    size_t read;
    int line;                           /* number of the current line, from 1 */
    enum { OTHER, SECTION, PAIR } kind; /* kind of the line; OTHER if it is empty or invalid */
    const char *name; /* name of the section or key, until the next line; NULL if broken */
    const char *value;
    char problem[160]; /* error in the line; "" */
    char bytes_of_line[LONGEST_LINE + 1];
} ini_reader;

/* Removes the blanks at both ends of a text; `end` is its end. */
static char *trim(char *text, char *end)
{
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* Describes an error in the line; quotes `written` unless it is NULL. */
static void set_problem(ini_reader *ini, const char *what, const char *written)
{
    snprintf(ini->problem, sizeof ini->problem, "%s%s%s", what, written ? " " : "",
             written ? RT_QUOTED(written) : "");
}

/* Reads a line without its newline; an invalid line is empty. Returns false at the file's end. */
static bool read_line(ini_reader *ini)
{
    const size_t left = (size_t)(ini->end - ini->at);
    const char *newline = memchr(ini->at, '\n', left);
    const size_t length = newline ? (size_t)(newline - ini->at) : left;
    *ini->bytes_of_line = '\0';
    if (!left)
        return false;
    ini->line++;
    ini->read += length + (newline != NULL);
    if (ini->read > LARGEST_FILE)
        set_problem(ini, "the file is larger than 16 MiB", NULL);
    else if (memchr(ini->at, '\0', length))
        set_problem(ini, "the line holds a NUL byte", NULL);
    else if (length > LONGEST_LINE)
        set_problem(ini, "the line is longer than " STRING(LONGEST_LINE) " bytes", NULL);
    else
        snprintf(ini->bytes_of_line, sizeof ini->bytes_of_line, "%.*s", (int)length, ini->at);
    ini->at += length + (newline != NULL);
    return true;
}

/* Reads the next line. Returns false at the end. */
static bool next_line(ini_reader *ini)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    *ini->problem = '\0';
    ini->kind = OTHER;
    if (!read_line(ini))
        return false;
    char *line = ini->bytes_of_line;
    if (ini->line == 1 && !strncmp(line, byte_order_mark, 3))
        line += 3;
    char *end = line; /* or start of a comment */
    while (*end && !(*end == ';' && (end == line || isspace((unsigned char)end[-1]))))
        end++;
    line = trim(line, end);
    char *separator = strpbrk(line, "=:");
    if (!*line || *line == '#')
        return true;
    if (*line == '[') {
        char *close = strchr(line, ']');
        ini->kind = SECTION;
        ini->name = NULL;
        if (!close) {
            set_problem(ini, "a section needs a ']' at its end; got", line);
            return true;
        }
        const char *rest = trim(close + 1, close + strlen(close));
        if (*rest)
            set_problem(ini, "nothing can follow a section's ']'; got", rest);
        ini->name = trim(line + 1, close);
    } else if (!separator || separator == line) {
        set_problem(ini, "a line must be 'key = value'; got", line);
    } else {
        ini->kind = PAIR;
        ini->value = trim(separator + 1, separator + strlen(separator));
        ini->name = trim(line, separator);
    }
    return true;
}

enum { LOOKED_AT = 1 << 16 }; /* bytes checked at the start of a file */

typedef enum section_kind { NO_SECTION, UNKNOWN_SECTION, KEYS, SWEEP, VARIANT } section_kind;

static const char variant[] = "variant "; /* before the name of a variant */

/* Returns the kind of a section; `name` is NULL for a broken header. */
static section_kind section_kind_of(const char *name)
{
    return !name                                      ? UNKNOWN_SECTION
           : rt_section_exists(name)                  ? KEYS
           : !strcmp(name, "sweep")                   ? SWEEP
           : !strncmp(name, variant, strlen(variant)) ? VARIANT
                                                      : UNKNOWN_SECTION;
}

/* Returns whether the text has a known section, or not more wrong lines than pairs. */
static bool is_ini(const char *text, size_t size)
{
    ini_reader ini = {.at = text, .end = text + size};
    long pairs = 0, problems = 0;
    bool section = false;
    while (next_line(&ini)) {
        problems += *ini.problem != '\0';
        pairs += ini.kind == PAIR;
        section |= ini.kind == SECTION && section_kind_of(ini.name) != UNKNOWN_SECTION;
    }
    return section || problems <= pairs;
}

/* Returns whether the heading of a table has a column `label`. */
static bool is_labelled(const char *text)
{
    static const char label[] = "label", between[] = "\t,\r\n";
    const char *end = text + strcspn(text, "\r\n");
    for (const char *at = text; (at = strstr(at, label)) && at < end; at++)
        if (at > text && strchr(between, at[-1]) && strchr(between, at[strlen(label)]))
            return true;
    return false;
}

/* Describes a path that was given as the configuration and is not an INI file: a folder or, with
 * `bytes`, a file of which these are the first bytes, ending with a zero. Writes nothing for an INI
 * file. */
static void describe_other(rt_writer *w, const char *path, const char *bytes, size_t size)
{
    static const char checkpoint[] = "\x89rotor", hdf5[] = "\x89HDF";
    if (!bytes && rt_folder_has(path, "runs.csv"))
        rt_writer_add(w, "is a sweep: --report %s draws its report; the folders in it are runs",
                      path);
    else if (!bytes && rt_folder_has(path, "config.ini"))
        rt_writer_add(w,
                      "is a run: --checkpoint %s uses its model; its configuration is "
                      "%s/config.ini",
                      path, path);
    else if (!bytes && rt_folder_has(path, "config.json"))
        rt_writer_add(w,
                      "is a folder of Hugging Face: --checkpoint %s uses its model; "
                      "train.init_from=%s beside a CONFIG.ini trains it further",
                      path, path);
    else if (!bytes)
        rt_writer_add(w, "is a folder; a CONFIG.ini is expected");
    else if (!strncmp(bytes, checkpoint, strlen(checkpoint)))
        rt_writer_add(w, "is a checkpoint: --checkpoint %s uses its model", path);
    else if (!strncmp(bytes, hdf5, strlen(hdf5)))
        rt_writer_add(w,
                      "is an HDF5 file; to train on the token ids of a data set in it, set "
                      "data.task = tokens and data.file = %s:/DATASET in a CONFIG.ini",
                      path);
    else if (memchr(bytes, '\0', size))
        rt_writer_add(w, "is a binary file; a CONFIG.ini is expected, and --checkpoint names "
                         "weights");
    else if (bytes[strspn(bytes, " \t\r\n")] == '{')
        rt_writer_add(w, "is JSON; a CONFIG.ini is expected. --checkpoint takes the folder of a "
                         "config.json, data.vocab_file a tokenizer.json");
    else if (!is_ini(bytes, size))
        rt_writer_add(w,
                      "is %s, not a configuration. To train on it, write a file such as "
                      "mine.ini:\n\n[data]\ntask = %s\nfile = %s\n\nand type: %s mine.ini",
                      is_labelled(bytes) ? "a table of labelled texts" : "text",
                      is_labelled(bytes) ? "classify" : "text", path, rt_program_name());
}

/* Reads at most LARGEST_FILE + 1 bytes of a file into a block that the caller frees. A file that
 * cannot be read gives an error and is treated as empty. Returns NULL, with an error that says what
 * to type instead, for a run, a checkpoint or a text; also if the heap is exhausted. Pipes and
 * devices count as INI files, but cannot be read if the file is untrusted. */
static char *read_file(rt_config_errors *errors, const char *path, bool untrusted, size_t *size)
{
    enum { MOST = LARGEST_FILE + 1 };
    struct stat found = {.st_mode = 0};
    RT_CLOSED_BY(rt_writer_free) rt_writer other = {0};
    (void)!stat(path, &found);
    char *bytes = rt_alloc_unset(MOST + 1, 1);
    FILE *file = untrusted ? rt_open_regular(path) : fopen(path, "rb");
    *size = file && bytes ? fread(bytes, 1, MOST, file) : 0;
    const bool good = file && !ferror(file);
    if (bytes)
        bytes[*size] = '\0';
    if (S_ISDIR(found.st_mode))
        describe_other(&other, path, NULL, 0);
    else if (!good)
        rt_config_add_error(errors, RT_FROM_DEFAULT, "cannot read the configuration: %s",
                            strerror(errno));
    else if (bytes && S_ISREG(found.st_mode))
        describe_other(&other, path, bytes, *size < LOOKED_AT ? *size : LOOKED_AT);
    if (file)
        fclose(file);
    errors->lines.failed |= !bytes || other.failed;
    if (other.length) {
        rt_config_add_error(errors, RT_FROM_DEFAULT, "%s", other.bytes);
        rt_free(bytes);
        bytes = NULL;
    }
    return bytes;
}

enum { SECTION_SIZE = 32 };

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
    bool has_sweep;    /* a [sweep] or [variant] was found */
    bool placed;       /* run.dir and run.name are those of the folder of the run */
    section_kind kind; /* kind of the section of the current line */
    char section[SECTION_SIZE];
    int first_line[RT_MAX_KEYS];
    bool overridden[RT_MAX_KEYS];
} loading;

/* Enters a section; `name` is NULL for a broken header. */
static void enter_section(loading *l, int line, const char *name)
{
    l->kind = section_kind_of(name);
    l->has_sweep |= l->kind == SWEEP || l->kind == VARIANT;
    if (l->kind == KEYS)
        snprintf(l->section, sizeof l->section, "%s", name);
    else if (l->kind == VARIANT && l->source->sweep)
        rt_sweep_add_variant(l->source->sweep, line, name + strlen(variant), &l->errors);
    else if (l->kind == UNKNOWN_SECTION && name)
        rt_config_unknown_section(&l->errors, line, name);
}

/* Sets a key, or adds a line of a sweep or variant. Keys of an unknown section are ignored. */
static void read_pair(loading *l, int line, const char *written, const char *value)
{
    rt_sweep *sweep = l->source->sweep;
    if (l->kind == NO_SECTION)
        rt_config_add_error(&l->errors, line, "key %s stands before the first [section]",
                            RT_QUOTED(written));
    else if (l->kind == SWEEP && sweep)
        rt_sweep_set(sweep, line, written, value, &l->errors);
    else if (l->kind == VARIANT && sweep)
        rt_sweep_add_setting(sweep, line, written, value, &l->errors);
    if (l->kind != KEYS)
        return;
    const int i = rt_key_find(RT_PRINTED(RT_KEY_NAME_SIZE, "%s.%s", l->section, written));
    if (i < 0)
        rt_config_unknown_key(&l->errors, line, l->section, written);
    else if (l->first_line[i])
        rt_config_add_error(&l->errors, line, "duplicate key '%s' in [%s]; line %d has it", written,
                            l->section, l->first_line[i]);
    else
        rt_config_set_key(&l->written, i, value, l->first_line[i] = line, &l->errors);
}

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
    const char *equals = strchr(text, '=');
    if (!equals) {
        rt_config_add_error(&l->errors, RT_FROM_COMMAND_LINE,
                            "an override must be section.key=value, without blanks; got %s",
                            RT_QUOTED(text));
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
        rt_config_unknown_override(&l->errors, RT_FROM_COMMAND_LINE, "", name);
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

/* Sets run.dir and run.name to the folder of a run's own configuration, a config.ini beside a
 * folder `checkpoints`, also if the folder of the run has been moved. The values in the file are no
 * substitute for a path that these keys do not accept: they may name another run. They stay if the
 * caller has found the folder. */
static void take_run_folder(loading *l)
{
    static const char *const names[] = {"run.dir", "run.name"};
    char folder[RT_PATH_SIZE], dir[RT_PATH_SIZE], whole[PATH_MAX];
    RT_CLOSED_BY(rt_writer_free) rt_writer problem = {0};
    const char *last = l->source->text ? NULL : rt_path_split(l->source->path, folder);
    if (!last || strcmp(last, "config.ini") != 0 || !rt_folder_has(folder, "checkpoints/."))
        return;
    last = rt_path_split(folder, dir);
    if (!last || !*last || !strcmp(last, ".") || !strcmp(last, ".."))
        last = realpath(folder, whole) ? rt_path_split(whole, dir) : NULL;
    if (!last || !*last)
        return;
    const char *values[] = {dir, last};
    l->placed = true;
    for (int k = 0; k < 2; k++) {
        const int i = rt_key_find(names[k]);
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
                                names[k], RT_QUOTED(values[k]));
    }
    l->errors.lines.failed |= problem.failed;
}

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
    RT_OWNED char *bytes =
        source->text ? NULL : read_file(&l->errors, source->path, l->untrusted, &size);
    if (!source->text && !bytes)
        return false;
    l->written.file = rt_intern_text(source->path);
    l->errors.lines.failed |= !l->written.file;
    ini_reader ini = {.at = bytes ? bytes : source->text};
    ini.end = ini.at + size;
    while (next_line(&ini)) {
        if (*ini.problem)
            rt_config_add_error(&l->errors, ini.line, "%s", ini.problem);
        if (ini.kind == SECTION)
            enter_section(l, ini.line, ini.name);
        else if (ini.kind == PAIR)
            read_pair(l, ini.line, ini.name, ini.value);
    }
    for (int i = 0; i < source->override_count; i++)
        read_override(l, source->overrides[i]);
    take_run_folder(l);
    l->trained |= l->placed;
    /* the settings of one run of a sweep, which were checked before */
    const char *lines = source->settings;
    while (lines && *lines) {
        char line[RT_KEY_NAME_SIZE + RT_VALUE_SIZE];
        const size_t length = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, lines);
        char *equals = strchr(line, '=');
        *equals = '\0';
        rt_config_set_key(&l->written, rt_key_find(line), equals + 1, RT_FROM_SWEEP, &l->errors);
        lines += length + (lines[length] == '\n');
    }
    name_after_file(l, source->path);
    rt_config_find_files(&l->written, l->written.data.task, &l->errors);
    const bool other_task = l->late.origin[rt_key_find("data.task")] != RT_FROM_DEFAULT;
    rt_config_find_files(&l->late, (other_task ? &l->late : &l->written)->data.task, &l->errors);
    return true;
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

/* Reads the configuration, inherits values from the model of train.init_from, resolves the
 * configuration and checks its keys together. */
static rt_status load(loading *l, rt_config *config, char **errors)
{
    const rt_config_source *source = l->source;
    rt_init_model ancestor = {.config = NULL};
    rt_status status = rt_ok();
    const bool good = read_source(l);
    const bool valid = good && !l->errors.count && !l->errors.lines.failed;
    if (source->begin)
        status = source->begin(source->beginner, valid ? &l->written : NULL);
    const bool sweeps =
        source->sweep && (rt_sweep_requested(source->sweep) || source->sweep->trunk_origin);
    *config = l->written;
    if (!good || status.code)
        return report(&l->errors, errors, status);
    if (!sweeps && source->find_ancestor && l->written.train.init_from)
        status = source->find_ancestor(source->finder, &l->written, &ancestor);
    if (status.code == RT_CHECKPOINT && !rt_config_is_open(&l->written))
        status = rt_ok(); /* reported when the file is opened */
    /* Without the ancestor's values, the keys are not checked together. Errors of keys take
     * precedence over the ancestor's. */
    const bool inherited =
        !status.code && (!ancestor.config || rt_config_inherit(&l->written, &ancestor, &l->errors));
    rt_config_resolve(config, &l->written, l->trained || sweeps, sweeps);
    if (l->used)
        rt_config_resolve_use(config, &l->written, &l->late, &l->errors);
    /* a key without effect in one run of a sweep may have an effect in another */
    const bool one = !l->source->settings && !l->has_sweep;
    if (sweeps)
        status = rt_sweep_resolve(source->sweep, config, &l->errors);
    else if (inherited)
        rt_config_check(config, one ? &l->written : NULL, l->of_model, l->trained, &l->errors);
    return report(&l->errors, errors, status);
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
