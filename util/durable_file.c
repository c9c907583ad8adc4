#define _GNU_SOURCE /* renameat2 */

#include "util/durable_file.h"

#include "core/memory.h"
#include "util/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rt_status cannot(const char *verb, const char *path)
{
    return rt_error(RT_IO, "cannot %s %s: %s", verb, path, strerror(errno));
}

rt_status rt_output_check(const char *path, bool overwrite)
{
    struct stat facts;
    if (stat(path, &facts))
        return rt_ok(); /* opening the file reports the error */
    if (S_ISDIR(facts.st_mode))
        return rt_error(RT_CONFIG, "%.900s: a folder is there; name a file", path);
    if (!S_ISREG(facts.st_mode) || overwrite)
        return rt_ok();
    return rt_error(RT_CONFIG, "%.900s: the file exists; give --overwrite to replace it", path);
}

rt_status rt_durable_open(rt_durable_file *file, const char *path)
{
    struct stat facts;
    if (strlen(path) >= RT_PATH_SIZE || stat(path, &facts) || S_ISREG(facts.st_mode) ||
        S_ISDIR(facts.st_mode))
        return rt_durable_replace(file, path);
    *file = (rt_durable_file){.descriptor = open(path, O_WRONLY | O_CLOEXEC)};
    file->made = file->direct = file->descriptor >= 0;
    strcpy(file->path, path);
    strcpy(file->temporary, path);
    return file->made ? rt_ok() : cannot("open", path);
}

rt_status rt_durable_replace(rt_durable_file *file, const char *path)
{
    *file = (rt_durable_file){.descriptor = -1};
    const int length =
        snprintf(file->temporary, sizeof file->temporary, "%s" RT_TEMPORARY_SUFFIX, path);
    if (length < 0 || length >= RT_PATH_SIZE)
        return rt_error(RT_IO, "cannot write %s: the path has more than %d bytes", path,
                        RT_PATH_SIZE - 1);
    snprintf(file->path, sizeof file->path, "%s", path);
    unlink(file->temporary);
    file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    struct stat facts;
    file->made = file->descriptor >= 0;
    if (!file->made || fstat(file->descriptor, &facts)) {
        const rt_status status = cannot("create", file->temporary);
        rt_durable_discard(file);
        return status;
    }
    file->device = facts.st_dev;
    file->inode = facts.st_ino;
    return rt_ok();
}

/* Returns whether the temporary file is the one that was opened, not that of another process. */
static bool is_own(const rt_durable_file *file)
{
    struct stat now;
    return !file->inode || (!lstat(file->temporary, &now) && now.st_dev == file->device &&
                            now.st_ino == file->inode);
}

rt_status rt_durable_write(rt_durable_file *file, const void *bytes, size_t size)
{
    return rt_write_all(file->descriptor, bytes, size) ? rt_ok() : cannot("write", file->temporary);
}

static bool synchronise(int descriptor)
{
    int result;
    do
        result = fsync(descriptor);
    while (result && errno == EINTR);
    return result == 0;
}

/* Synchronizes the folder of a path, so that its names are on the disk. Ignores EINVAL, which some
 * file systems return because they cannot synchronize a folder. */
static rt_status synchronise_names(const char *path)
{
    char folder[RT_PATH_SIZE];
    rt_path_split(path, folder);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return cannot("open the folder of", path);
    rt_status status = rt_ok();
    if (!synchronise(descriptor) && errno != EINVAL)
        status = cannot("synchronise the folder of", path);
    close(descriptor);
    return status;
}

rt_status rt_durable_sync(rt_durable_file *file, rt_status status)
{
    if (file->descriptor < 0)
        return status;
    const bool lasts = !file->direct && !file->passing;
    if (!status.code && lasts && !synchronise(file->descriptor))
        status = cannot("synchronise", file->temporary);
    if (close(file->descriptor) && errno != EINTR && !status.code)
        status = cannot("close", file->temporary);
    file->descriptor = -1;
    return status;
}

void rt_durable_discard(rt_durable_file *file)
{
    if (!file->made)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
    file->made = false;
    if (!file->direct && is_own(file))
        unlink(file->temporary);
}

rt_status rt_durable_close(rt_durable_file *file, rt_status status)
{
    if (!file->made)
        return status;
    status = rt_durable_sync(file, status);
    if (file->direct) {
        file->made = false;
        return status;
    }
    errno = ENOENT; /* unless the file cannot be looked at, another one has its name, or none */
    const bool own = status.code || file->passing || is_own(file);
    if (!own && errno != ENOENT)
        status = cannot("find", file->temporary);
    else if (!own)
        status = rt_error(RT_IO, "cannot write %s: another process writes it, too", file->path);
    if (!status.code && rename(file->temporary, file->path))
        status = cannot("rename a temporary file to", file->path);
    if (status.code) {
        rt_durable_discard(file);
        return status;
    }
    file->made = false;
    return file->passing ? status : synchronise_names(file->path);
}

static rt_status write_and_free(const char *folder, const char *name, char *text, bool passing)
{
    rt_durable_file file;
    char path[RT_PATH_SIZE];
    RT_OWNED char *owned = text;
    RT_TRY(rt_path_join(path, folder, name));
    RT_TRY(rt_allocated(owned, name));
    RT_TRY(rt_durable_replace(&file, path));
    file.passing = passing;
    return rt_durable_close(&file, rt_durable_write(&file, owned, strlen(owned)));
}

rt_status rt_durable_write_and_free(const char *folder, const char *name, char *text)
{
    return write_and_free(folder, name, text, false);
}

rt_status rt_passing_write_and_free(const char *folder, const char *name, char *text)
{
    return write_and_free(folder, name, text, true);
}

_Static_assert((int)RT_PATH_SIZE >= PATH_MAX, "a path has room for what realpath finds");

bool rt_folder_holds_only(const char *path, const char *const *names)
{
    bool only = true;
    const struct dirent *entry;
    DIR *stream = opendir(path);
    while (stream && only && (entry = readdir(stream))) {
        only = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
               !strcmp(entry->d_name, RT_STAGING);
        for (const char *const *name = names; *name && !only; name++)
            only = !strcmp(entry->d_name, *name);
    }
    if (stream)
        closedir(stream);
    return stream && only;
}

/* Removes the files of a staging folder, finished or not, and the folder. On an error, `what` is
 * the path that cannot be removed. */
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

/* Writes the name of the staging folder beside the folder. Returns false if there is none. */
static bool name_beside(const rt_durable_folder *f, char beside[RT_PATH_SIZE])
{
    const char *name = rt_path_name(f->path);
    const int length =
        snprintf(beside, RT_PATH_SIZE, "%.*s.%s" RT_STAGING, (int)(name - f->path), f->path, name);
    return *name && length < RT_PATH_SIZE;
}

rt_status rt_durable_folder_open(rt_durable_folder *f, const char *path, const char *const *names)
{
    char beside[RT_PATH_SIZE], what[RT_PATH_SIZE];
    struct stat older, newer;
    *f = (rt_durable_folder){.names = names, .made = !mkdir(path, 0777)};
    if (!f->made && errno != EEXIST)
        return cannot("make the folder", path);
    if (!realpath(path, f->path))
        return cannot("find", path);
    f->open = true;
    RT_TRY(rt_path_join(f->staging, f->path, RT_STAGING));
    /* staging folders that a killed program left */
    if (!remove_staging(f->staging, f->names, what) ||
        (name_beside(f, beside) && !remove_staging(beside, f->names, what)))
        return cannot("remove", what);
    for (const char *const *name = names; *name; name++) {
        RT_TRY(rt_path_join(what, f->path, *name));
        if (!lstat(what, &older) && S_ISDIR(older.st_mode)) {
            errno = EISDIR;
            return cannot("replace", what);
        }
    }
    if (mkdir(f->staging, 0777))
        return cannot("make the folder", f->staging);
    /* the permissions of the folder may be restricted */
    if (stat(f->path, &older) || stat(f->staging, &newer) ||
        (older.st_mode != newer.st_mode && chmod(f->staging, older.st_mode & 07777)))
        return cannot("set the permissions of", f->staging);
    return rt_ok();
}

/* Removes everything that was created. */
static rt_status discard(const rt_durable_folder *f, rt_status status)
{
    char what[RT_PATH_SIZE];
    if (remove_staging(f->staging, f->names, what) && f->made)
        rmdir(f->path);
    return status;
}

/* Exchanges the folder with the staging folder, which is moved beside it first. Returns false if
 * the folder is unchanged, as is the working directory of this program, which would then be in the
 * old folder. */
static bool exchange(rt_durable_folder *f, const char *beside)
{
    struct stat here, there;
    if (!rt_folder_holds_only(f->path, f->names) || stat(".", &here) || stat(f->path, &there) ||
        (here.st_dev == there.st_dev && here.st_ino == there.st_ino) || rename(f->staging, beside))
        return false;
    if (!renameat2(AT_FDCWD, beside, AT_FDCWD, f->path, RENAME_EXCHANGE))
        return true;
    if (rename(beside, f->staging))
        snprintf(f->staging, sizeof f->staging, "%s", beside);
    return false;
}

/* Renames the staged files into the folder, and removes an old file that has no staged successor.
 * The last name is removed first, so that an incomplete folder is not recognized. Paths in the
 * folder fit (rt_durable_folder_open); a path in the staging folder that does not has no file. */
static rt_status move_all(const rt_durable_folder *f)
{
    const char *const *end = f->names;
    while (end[1])
        end++;
    const char *last = RT_PATH_IN(f->path, *end);
    if (unlink(last) && errno != ENOENT)
        return discard(f, cannot("remove", last));
    for (const char *const *name = f->names; *name; name++) {
        const char *from = RT_PATH_IN(f->staging, *name), *to = RT_PATH_IN(f->path, *name);
        if (!rename(from, to))
            continue;
        if (errno != ENOENT)
            return cannot("move", from);
        if (unlink(to) && errno != ENOENT)
            return cannot("remove", to);
    }
    RT_TRY(synchronise_names(last));
    if (rmdir(f->staging))
        return cannot("remove", f->staging);
    return rt_ok();
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
    status = synchronise_names(f->path);
    if (!status.code) /* the next writer removes old files that remain */
        remove_staging(beside, f->names, what);
    return status;
}
