#include "text/durable_file.h"

#include "core/memory.h"
#include "text/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rt_status cannot(const char *verb, const char *path)
{
    return rt_error(RT_IO, "cannot %s %s: %s", verb, path, strerror(errno));
}

static bool is_same_file(const struct stat *facts, const char *path)
{
    struct stat other;
    return !stat(path, &other) && other.st_dev == facts->st_dev && other.st_ino == facts->st_ino;
}

rt_status rt_output_check(const char *path, bool overwrite, const char *const *inputs)
{
    struct stat facts;
    if (stat(path, &facts))
        return rt_ok(); /* opening it tells what is wrong */
    if (S_ISDIR(facts.st_mode))
        return rt_error(RT_CONFIG, "%.900s: a folder is there; name a file", path);
    if (!S_ISREG(facts.st_mode))
        return rt_ok();
    for (; inputs && *inputs; inputs++)
        if (is_same_file(&facts, *inputs))
            return rt_error(RT_CONFIG, "%.900s is read; name another file to write", path);
    return overwrite ? rt_ok()
                     : rt_error(RT_CONFIG,
                                "%.900s: the file exists; give --overwrite to replace it", path);
}

/* Opens a pipe or a device. */
static rt_status open_directly(rt_durable_file *file, const char *path)
{
    snprintf(file->path, sizeof file->path, "%s", path);
    snprintf(file->temporary, sizeof file->temporary, "%s", path);
    file->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    file->made = file->direct = file->descriptor >= 0;
    return file->made ? rt_ok() : cannot("open", path);
}

rt_status rt_durable_open(rt_durable_file *file, const char *path)
{
    struct stat facts;
    file->descriptor = -1;
    file->made = file->direct = false;
    if (strlen(path) < RT_PATH_SIZE && !stat(path, &facts) && !S_ISREG(facts.st_mode) &&
        !S_ISDIR(facts.st_mode))
        return open_directly(file, path);
    const int length =
        snprintf(file->temporary, sizeof file->temporary, "%s" RT_TEMPORARY_SUFFIX, path);
    if (length < 0 || length >= RT_PATH_SIZE)
        return rt_error(RT_IO, "cannot write %s: the path has more than %d bytes", path,
                        RT_PATH_SIZE - 1);
    snprintf(file->path, sizeof file->path, "%s", path);
    unlink(file->temporary);
    file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    file->made = file->descriptor >= 0;
    return file->made ? rt_ok() : cannot("create", file->temporary);
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

/* A new name is on the disk once its folder is. Some file systems cannot
 * synchronise a folder and say EINVAL: there is nothing to wait for then. */
rt_status rt_durable_names(const char *path)
{
    char folder[RT_PATH_SIZE];
    int length = (int)(rt_path_name(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length, length ? path : "");
    int descriptor = open(length ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return cannot("open the folder of", path);
    rt_status status = rt_ok();
    if (!synchronise(descriptor) && errno != EINVAL)
        status = cannot("synchronise the folder of", path);
    close(descriptor);
    return status;
}

rt_status rt_durable_settle(rt_durable_file *file, rt_status status)
{
    if (file->descriptor < 0)
        return status;
    if (!status.code && !file->direct && !synchronise(file->descriptor))
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
    if (!file->direct)
        unlink(file->temporary);
}

rt_status rt_durable_close(rt_durable_file *file, rt_status status)
{
    if (!file->made)
        return status;
    status = rt_durable_settle(file, status);
    if (file->direct) {
        file->made = false;
        return status;
    }
    if (!status.code && rename(file->temporary, file->path))
        status = cannot("rename a temporary file to", file->path);
    if (status.code) {
        rt_durable_discard(file);
        return status;
    }
    file->made = false;
    return rt_durable_names(file->path);
}

rt_status rt_durable_text(const char *folder, const char *name, const char *text)
{
    rt_durable_file file;
    char path[RT_PATH_SIZE];
    rt_status status = rt_path_join(path, folder, name);
    if (status.code)
        return status;
    status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_durable_write(&file, text, strlen(text));
    return rt_durable_close(&file, status);
}

rt_status rt_durable_given(const char *folder, const char *name, char *text)
{
    const rt_status status = text ? rt_durable_text(folder, name, text) : rt_out_of_memory(name);
    rt_free(text);
    return status;
}
