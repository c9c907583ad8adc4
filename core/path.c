#include "core/path.h"

#include <stdio.h>
#include <string.h>

rt_status rt_path_join(char path[RT_PATH_SIZE], const char *folder, const char *name)
{
    const int length = snprintf(path, RT_PATH_SIZE, "%s/%s", folder, name);
    if (length >= 0 && length < RT_PATH_SIZE)
        return rt_ok();
    path[0] = '\0';
    return rt_error(RT_CONFIG, "the path of %s has more than %d bytes: %s", name, RT_PATH_SIZE - 1,
                    folder);
}

const char *rt_path_in(char path[RT_PATH_SIZE], const char *folder, const char *name)
{
    const rt_status status = rt_path_join(path, folder, name);
    return status.code ? "" : path;
}

const char *rt_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *rt_path_split(const char *path, char folder[RT_PATH_SIZE])
{
    const char *name = rt_path_name(path);
    const int length = name > path + 1 ? (int)(name - path) - 1 : (int)(name - path);
    snprintf(folder, RT_PATH_SIZE, "%.*s", length ? length : 1, length ? path : ".");
    return length < RT_PATH_SIZE ? name : NULL;
}

bool rt_path_ends_in(const char *path, const char *ending)
{
    const size_t length = strlen(path), size = strlen(ending);
    return length > size && !strcmp(path + length - size, ending);
}
