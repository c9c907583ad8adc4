#define _XOPEN_SOURCE 700 /* realpath */

#include "train/config/private.h"

#include "core/memory.h"
#include "text/files.h"
#include "text/number.h"
#include "text/process.h"
#include "text/writer.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)

/* ---- the INI file ---- */

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
static void set_problem(rt_ini *ini, const char *what, const char *written)
{
    char quoted[RT_QUOTE_SIZE];
    snprintf(ini->problem, sizeof ini->problem, "%s%s%s", what, written ? " " : "",
             written ? rt_quote(quoted, written) : "");
}

/* Reads a line without its newline; an invalid line is empty. Returns false at the file's end. */
static bool read_line(rt_ini *ini)
{
    const size_t left = (size_t)(ini->end - ini->at);
    const char *newline = memchr(ini->at, '\n', left);
    const size_t length = newline ? (size_t)(newline - ini->at) : left;
    *ini->bytes_of_line = '\0';
    if (!left)
        return false;
    ini->line++;
    ini->read += length + (newline != NULL);
    if (ini->read > RT_INI_LARGEST_FILE)
        set_problem(ini, "the file is larger than 16 MiB", NULL);
    else if (memchr(ini->at, '\0', length))
        set_problem(ini, "the line holds a NUL byte", NULL);
    else if (length > RT_INI_LONGEST_LINE)
        set_problem(ini, "the line is longer than " STRING(RT_INI_LONGEST_LINE) " bytes", NULL);
    else
        snprintf(ini->bytes_of_line, sizeof ini->bytes_of_line, "%.*s", (int)length, ini->at);
    ini->at += length + (newline != NULL);
    return true;
}

static void read_header(rt_ini *ini, char *header)
{
    char *close = strchr(header, ']');
    ini->kind = RT_INI_SECTION;
    ini->name = NULL;
    if (!close) {
        set_problem(ini, "a section needs a ']' at its end; got", header);
        return;
    }
    const char *rest = trim(close + 1, close + strlen(close));
    if (*rest)
        set_problem(ini, "nothing can follow a section's ']'; got", rest);
    ini->name = trim(header + 1, close);
}

bool rt_ini_next(rt_ini *ini)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    *ini->problem = '\0';
    ini->kind = RT_INI_OTHER;
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
        read_header(ini, line);
    } else if (!separator || separator == line) {
        set_problem(ini, "a line must be 'key = value'; got", line);
    } else {
        ini->kind = RT_INI_PAIR;
        ini->value = trim(separator + 1, separator + strlen(separator));
        ini->name = trim(line, separator);
    }
    return true;
}

/* ---- folders ---- */

/* Describes a folder that was given as the configuration. */
static void describe_folder(rt_writer *w, const char *path)
{
    if (rt_folder_has(path, "runs.csv"))
        rt_writer_add(w, "is a sweep: --report %s draws its report; the folders in it are runs",
                      path);
    else if (rt_folder_has(path, "config.ini"))
        rt_writer_add(w,
                      "is a run: --checkpoint %s uses its model; its configuration is "
                      "%s/config.ini",
                      path, path);
    else if (rt_folder_has(path, "config.json"))
        rt_writer_add(w,
                      "is a folder of Hugging Face: --checkpoint %s uses its model; "
                      "train.init_from=%s beside a CONFIG.ini trains it further",
                      path, path);
    else
        rt_writer_add(w, "is a folder; a CONFIG.ini is expected");
}

/* ---- files that are not configurations ---- */

enum { LOOKED_AT = 1 << 16 }; /* bytes checked at the start of a file */

/* Returns whether the text has a known section, or not more wrong lines than pairs. */
static bool is_ini(const char *text, size_t size)
{
    static const char variant[] = "variant ";
    rt_ini ini = {.at = text, .end = text + size};
    long pairs = 0, problems = 0;
    bool section = false;
    while (rt_ini_next(&ini)) {
        problems += *ini.problem != '\0';
        pairs += ini.kind == RT_INI_PAIR;
        section |= ini.kind == RT_INI_SECTION && ini.name &&
                   (rt_section_exists(ini.name) || !strcmp(ini.name, "sweep") ||
                    !strncmp(ini.name, variant, strlen(variant)));
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

/* Describes a file that is not an INI file. `bytes`, the start of the file, end with a zero. Writes
 * nothing for an INI file. */
static void describe_file(rt_writer *w, const char *path, const char *bytes, size_t size)
{
    static const char checkpoint[] = "\x89rotor", hdf5[] = "\x89HDF";
    const bool labelled = is_labelled(bytes);
    if (!strncmp(bytes, checkpoint, strlen(checkpoint)))
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
                      labelled ? "a table of labelled texts" : "text",
                      labelled ? "classify" : "text", path, rt_program_name());
}

char *rt_config_read_file(rt_config_errors *errors, const char *path, bool untrusted, size_t *size)
{
    enum { MOST = RT_INI_LARGEST_FILE + 1 };
    struct stat found = {.st_mode = 0};
    rt_writer other = {0};
    (void)!stat(path, &found);
    char *bytes = rt_alloc_unset(MOST + 1, 1);
    FILE *file = untrusted ? rt_open_regular(path) : fopen(path, "rb");
    *size = file && bytes ? fread(bytes, 1, MOST, file) : 0;
    const bool good = file && !ferror(file);
    if (bytes)
        bytes[*size] = '\0';
    if (S_ISDIR(found.st_mode))
        describe_folder(&other, path);
    else if (!good)
        rt_config_add_error(errors, RT_FROM_DEFAULT, "cannot read the configuration: %s",
                            strerror(errno));
    else if (bytes && S_ISREG(found.st_mode))
        describe_file(&other, path, bytes, *size < LOOKED_AT ? *size : LOOKED_AT);
    if (file)
        fclose(file);
    errors->lines.failed |= !bytes || other.failed;
    if (other.length) {
        rt_config_add_error(errors, RT_FROM_DEFAULT, "%s", other.bytes);
        rt_free(bytes);
        bytes = NULL;
    }
    rt_writer_free(&other);
    return bytes;
}

/* ---- the folder of a run ---- */

bool rt_run_folder_of(const char *file, char dir[RT_PATH_SIZE], char name[RT_PATH_SIZE])
{
    char folder[RT_PATH_SIZE], whole[PATH_MAX];
    const char *last = rt_path_split(file, folder);
    if (!last || strcmp(last, "config.ini") != 0 || !rt_folder_has(folder, "checkpoints/."))
        return false;
    last = rt_path_split(folder, dir);
    if (!last || !*last || !strcmp(last, ".") || !strcmp(last, ".."))
        last = realpath(folder, whole) ? rt_path_split(whole, dir) : NULL;
    return last && *last && snprintf(name, RT_PATH_SIZE, "%s", last) < RT_PATH_SIZE;
}

/* ---- paths ---- */

/* Adds folder/path with every leading ./ and ../ resolved; `folder` has no symbolic links. */
static void add_path(rt_writer *list, const char *folder, const char *path)
{
    size_t length = strlen(folder);
    for (;;) {
        while (length && folder[length - 1] == '/')
            length--;
        if (!strncmp(path, "./", 2)) {
            path += 2;
        } else if (!strncmp(path, "../", 3)) {
            path += 3;
            while (length && folder[length - 1] != '/')
                length--;
        } else {
            break;
        }
        path += strspn(path, "/");
    }
    rt_writer_add(list, "%.*s/%s", (int)length, folder, path);
}

/* Makes the path of a key, or the paths of a list, absolute: relative to the folder of the file, or
 * on the command line to the working directory. */
static void find_paths(rt_config *config, rt_config_errors *errors, const char *name, bool list)
{
    const int i = rt_key_find(name), origin = config->origin[i];
    const rt_key *key = rt_key_at(i);
    const char *names = *(const char *const *)((const char *)config + key->offset);
    const char *file = origin == RT_FROM_COMMAND_LINE || !config->file ? "" : config->file;
    char folder[PATH_MAX], path[RT_FILE_LIST_SIZE], place[RT_PATH_SIZE];
    rt_writer paths = {0}, problem = {0};
    if (!names || errors->bad[i])
        return;
    const bool known = rt_path_split(file, place) && realpath(place, folder);
    const int reason = errno;
    while (names && !problem.length) {
        rt_list_item item = {.start = names, .length = strlen(names)};
        names = list ? rt_list_parse(names, &item) : NULL;
        rt_list_item_copy(item, path, sizeof path);
        if (!*path || *path == '/')
            rt_writer_add(&paths, "%s", path);
        else if (!known)
            rt_writer_add(&problem, "needs the folder of the configuration: %s", strerror(reason));
        else if (list && strchr(folder, ','))
            rt_writer_add(&problem,
                          "is in a folder with a comma in its name, which separates files");
        else
            add_path(&paths, folder, path);
        rt_writer_add(&paths, "%s", names ? "," : "");
    }
    if (paths.bytes && !problem.length)
        rt_key_value_read(key, paths.bytes, config, &problem);
    errors->bad[i] = problem.length > 0;
    if (problem.length)
        rt_config_add_error(errors, origin, "%s %s", name, problem.bytes);
    errors->lines.failed = errors->lines.failed || paths.failed || problem.failed;
    rt_writer_free(&paths);
    rt_writer_free(&problem);
}

void rt_config_find_files(rt_config *config, int task, rt_config_errors *errors)
{
    enum { LISTS = 2 };
    static const char *const names[] = {"data.file",      "data.eval_file",  "data.vocab_file",
                                        "data.cache",     "train.init_from", "train.trunk",
                                        "theta.init_from"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        find_paths(config, errors, names[i], i < LISTS && rt_tasks[task].files != RT_ONE_FILE);
}
