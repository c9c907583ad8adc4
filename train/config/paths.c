#define _XOPEN_SOURCE 700 /* realpath */

#include "train/config/private.h"

#include "text/list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool holds_checkpoints(const char *folder)
{
    char path[RT_PATH_SIZE];
    struct stat found;
    return !rt_path_join(path, folder, "checkpoints").code && !stat(path, &found) &&
           S_ISDIR(found.st_mode);
}

/* Splits a path into folder and name. Returns false if it does not end with a name. */
static bool split(const char *folder, char dir[RT_PATH_SIZE], char name[RT_PATH_SIZE])
{
    const char *last = rt_path_name(folder);
    const int length = last > folder + 1 ? (int)(last - folder) - 1 : (int)(last - folder);
    if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
        return false;
    return snprintf(dir, RT_PATH_SIZE, "%.*s", length ? length : 1, length ? folder : ".") <
               RT_PATH_SIZE &&
           snprintf(name, RT_PATH_SIZE, "%s", last) < RT_PATH_SIZE;
}

bool rt_run_folder_of(const char *file, char dir[RT_PATH_SIZE], char name[RT_PATH_SIZE])
{
    char folder[RT_PATH_SIZE], whole[PATH_MAX];
    const char *last = rt_path_name(file);
    const int length = (int)(last - file);
    if (strcmp(last, "config.ini") ||
        snprintf(folder, sizeof folder, "%.*s", length > 1 ? length - 1 : 1, length ? file : ".") >=
            (int)sizeof folder ||
        !holds_checkpoints(folder))
        return false;
    return split(folder, dir, name) || (realpath(folder, whole) && split(whole, dir, name));
}

/* Finds the folder of a file, with symbolic links resolved. */
static bool find_folder(const char *file, char folder[PATH_MAX])
{
    char path[RT_PATH_SIZE];
    snprintf(path, sizeof path, "%s", file);
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    return realpath(slash ? path : ".", folder) != NULL;
}

/* Adds folder/path, with every leading ./ and ../ resolved: the folder has no symbolic
 * link, so ".." is its parent. */
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

/* Copies the first name of a list; returns the rest or NULL. Without `list`, all is one name. */
static const char *take_name(const char *names, bool list, char name[RT_FILE_LIST_SIZE])
{
    rt_list_item item = {.start = names, .length = strlen(names)};
    const char *rest = list ? rt_list_take(names, &item) : NULL;
    rt_list_item_copy(item, name, RT_FILE_LIST_SIZE);
    return rest;
}

static bool is_relative(const char *name)
{
    return *name && *name != '/';
}

static bool any_relative(const char *names, bool list)
{
    char name[RT_FILE_LIST_SIZE];
    bool found = false;
    while (names && !found) {
        names = take_name(names, list, name);
        found = is_relative(name);
    }
    return found;
}

static void add_paths(rt_writer *paths, const char *folder, const char *names, bool list)
{
    char name[RT_FILE_LIST_SIZE];
    while (names) {
        names = take_name(names, list, name);
        if (is_relative(name))
            add_path(paths, folder, name);
        else
            rt_writer_add(paths, "%s", name);
        rt_writer_add(paths, "%s", names ? "," : "");
    }
}

/* Makes the paths of a key absolute: relative to the folder of the file, or for the command line to
 * the working directory. */
static void find_paths(rt_config *config, rt_config_errors *errors, int i, const char *value,
                       bool list)
{
    int origin = config->origin[i];
    const char *from = origin == RT_FROM_COMMAND_LINE ? "" : config->file ? config->file : "";
    char folder[PATH_MAX] = "";
    char name[RT_KEY_NAME_SIZE];
    rt_writer paths = {0};
    rt_writer problem = {0};
    if (!value || errors->bad[i])
        return;
    if (any_relative(value, list) && !find_folder(from, folder))
        rt_writer_add(&problem, "needs the folder of the configuration: %s", strerror(errno));
    else if (list && strchr(folder, ','))
        rt_writer_add(&problem, "is in a folder with a comma in its name, which separates files");
    else
        add_paths(&paths, folder, value, list);
    if (paths.bytes)
        rt_key_read(rt_key_at(i), paths.bytes, config, &problem);
    errors->bad[i] = problem.length > 0;
    if (problem.length)
        rt_config_complain(errors, origin, "%s %s", rt_key_full_name(rt_key_at(i), name),
                           problem.bytes);
    errors->lines.failed = errors->lines.failed || paths.failed || problem.failed;
    rt_writer_free(&paths);
    rt_writer_free(&problem);
}

void rt_config_find_files(rt_config *config, rt_config_errors *errors)
{
    const bool list = rt_data_task_files(config->data.task) != RT_ONE_FILE;
    find_paths(config, errors, rt_key_find("data", "file"), config->data.file, list);
    find_paths(config, errors, rt_key_find("data", "eval_file"), config->data.eval_file, list);
    find_paths(config, errors, rt_key_find("data", "vocab_file"), config->data.vocab_file, false);
    find_paths(config, errors, rt_key_find("data", "cache"), config->data.cache, false);
    find_paths(config, errors, rt_key_find("train", "init_from"), config->train.init_from, false);
    find_paths(config, errors, rt_key_find("train", "trunk"), config->train.trunk, false);
    find_paths(config, errors, rt_key_find("theta", "init_from"), config->theta.init_from, false);
}
