#define _GNU_SOURCE /* renameat2 */

#include "text/durable_folder.h"

#include "text/durable_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)RT_PATH_SIZE >= PATH_MAX, "a path has room for what realpath finds");

static rt_status cannot(const char *verb, const char *path)
{
    return rt_error(RT_IO, "cannot %s %s: %s", verb, path, strerror(errno));
}

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

bool rt_folder_holds_only(const char *path, const char *const *names)
{
    bool only = true;
    const struct dirent *entry;
    DIR *stream = opendir(path);
    while (stream && only && (entry = readdir(stream)))
        only = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
               !strcmp(entry->d_name, RT_STAGING) || is_one_of(names, entry->d_name);
    if (stream)
        closedir(stream);
    return stream && only;
}

/* ---- staging folders ---- */

/* Removes the files that a staging folder can have, finished or not, and the folder. If that fails,
 * `what` is in the way. */
static bool remove_staging(const char *path, const char *const *names, char what[RT_PATH_SIZE])
{
    static const char *const endings[] = {"", RT_TEMPORARY_SUFFIX};
    if (access(path, F_OK) && errno == ENOENT)
        return true;
    for (; *names; names++)
        for (int i = 0; i < 2; i++) {
            const int length = snprintf(what, RT_PATH_SIZE, "%s/%s%s", path, *names, endings[i]);
            if (length < RT_PATH_SIZE && unlink(what) && errno != ENOENT)
                return false;
        }
    snprintf(what, RT_PATH_SIZE, "%s", path);
    return !rmdir(path);
}

/* The staging folder's name beside the folder; false if it has none. */
static bool name_beside(const rt_durable_folder *f, char beside[RT_PATH_SIZE])
{
    const char *name = rt_path_name(f->path);
    const int length =
        snprintf(beside, RT_PATH_SIZE, "%.*s.%s" RT_STAGING, (int)(name - f->path), f->path, name);
    return *name && length < RT_PATH_SIZE;
}

/* What a killed program left. */
static rt_status remove_left(const rt_durable_folder *f)
{
    char beside[RT_PATH_SIZE], what[RT_PATH_SIZE];
    if (!remove_staging(f->staging, f->names, what) ||
        (name_beside(f, beside) && !remove_staging(beside, f->names, what)))
        return cannot("remove", what);
    return rt_ok();
}

/* ---- beginning ---- */

/* A folder has no place among files that are replaced. */
static rt_status check_names(const rt_durable_folder *f)
{
    char path[RT_PATH_SIZE];
    struct stat facts;
    for (const char *const *name = f->names; *name; name++) {
        rt_status status = rt_path_join(path, f->path, *name);
        if (status.code)
            return status;
        if (!lstat(path, &facts) && S_ISDIR(facts.st_mode)) {
            errno = EISDIR;
            return cannot("replace", path);
        }
    }
    return rt_ok();
}

/* A folder that may be seen by some alone stays one. */
static rt_status make_staging(rt_durable_folder *f)
{
    struct stat older, newer;
    if (mkdir(f->staging, 0777))
        return cannot("make the folder", f->staging);
    if (stat(f->path, &older) || stat(f->staging, &newer) ||
        (older.st_mode != newer.st_mode && chmod(f->staging, older.st_mode & 07777)))
        return cannot("set the permissions of", f->staging);
    return rt_ok();
}

rt_status rt_durable_folder_open(rt_durable_folder *f, const char *path, const char *const *names)
{
    *f = (rt_durable_folder){.names = names, .made = !mkdir(path, 0777)};
    if (!f->made && errno != EEXIST)
        return cannot("make the folder", path);
    if (!realpath(path, f->path))
        return cannot("find", path);
    f->open = true;
    rt_status status = rt_path_join(f->staging, f->path, RT_STAGING);
    if (!status.code)
        status = remove_left(f);
    if (!status.code)
        status = check_names(f);
    return status.code ? status : make_staging(f);
}

/* ---- the end ---- */

/* Leaves nothing that was made. */
static rt_status discard(const rt_durable_folder *f, rt_status status)
{
    char what[RT_PATH_SIZE];
    if (remove_staging(f->staging, f->names, what) && f->made)
        rmdir(f->path);
    return status;
}

/* Whoever works in a folder would find himself in the older one. */
static bool is_working_folder(const char *path)
{
    struct stat here, there;
    return stat(".", &here) || stat(path, &there) ||
           (here.st_dev == there.st_dev && here.st_ino == there.st_ino);
}

/* Exchanges the folder with the new one, which cannot be in it meanwhile. False if it stays as it
 * is. */
static bool exchange(rt_durable_folder *f, const char *beside)
{
    if (!rt_folder_holds_only(f->path, f->names) || is_working_folder(f->path) ||
        rename(f->staging, beside))
        return false;
    if (!renameat2(AT_FDCWD, beside, AT_FDCWD, f->path, RENAME_EXCHANGE))
        return true;
    if (rename(beside, f->staging))
        snprintf(f->staging, sizeof f->staging, "%s", beside);
    return false;
}

/* Moves the file of that name, or its absence. */
static rt_status move(const rt_durable_folder *f, const char *name)
{
    char from[RT_PATH_SIZE], to[RT_PATH_SIZE];
    rt_status status = rt_path_join(from, f->staging, name);
    if (!status.code)
        status = rt_path_join(to, f->path, name);
    if (status.code || !rename(from, to))
        return status;
    if (errno != ENOENT)
        return cannot("move", from);
    return unlink(to) && errno != ENOENT ? cannot("remove", to) : rt_ok();
}

/* Without the last of the names nobody takes the folder for a whole one. */
static rt_status move_all(const rt_durable_folder *f)
{
    char last[RT_PATH_SIZE];
    const char *const *end = f->names;
    while (end[1])
        end++;
    rt_status status = rt_path_join(last, f->path, *end);
    if (!status.code && unlink(last) && errno != ENOENT)
        status = cannot("remove", last);
    if (status.code)
        return discard(f, status);
    for (const char *const *name = f->names; *name && !status.code; name++)
        status = move(f, *name);
    if (!status.code)
        status = rt_durable_names(last);
    if (!status.code && rmdir(f->staging))
        status = cannot("remove", f->staging);
    return status;
}

rt_status rt_durable_folder_close(rt_durable_folder *f, rt_status status)
{
    char beside[RT_PATH_SIZE], what[RT_PATH_SIZE];
    if (!f->open)
        return status;
    f->open = false;
    if (status.code)
        return discard(f, status);
    if (!name_beside(f, beside) || !exchange(f, beside))
        return move_all(f);
    status = rt_durable_names(f->path);
    if (!status.code) /* what stays of the older files is removed by the next program */
        remove_staging(beside, f->names, what);
    return status;
}
