#define _XOPEN_SOURCE 700 /* realpath */

#include "train/config/own_place.h"

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

/* False for a path that does not end with a name. */
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

bool rt_own_place(const char *file, char dir[RT_PATH_SIZE], char name[RT_PATH_SIZE])
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
