#include "text/files.h"

#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path in a message, truncated to leave room for the message. */
#define PATH "%.800s"

/* Returns whether a file is given by an option, such as --vocab, and not by a key. */
static bool is_option(const char *key)
{
    return *key == '-';
}

static rt_status file_error(const char *key, const char *path, int number)
{
    return rt_error(RT_DATA, PATH ": %s (%s)", path, strerror(number), key);
}

rt_status rt_file_measure(const char *key, const char *path, off_t *size)
{
    struct stat facts;
    *size = 0;
    if (stat(path, &facts))
        return file_error(key, path, errno);
    if (S_ISDIR(facts.st_mode))
        return file_error(key, path, EISDIR);
    if (!S_ISREG(facts.st_mode))
        return rt_error(RT_DATA, PATH ": %s %s a regular file", path, key,
                        is_option(key) ? "needs" : "must be");
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
        return file_error(key, path, errno);
    *size = facts.st_size;
    return rt_ok();
}

rt_status rt_file_read(const char *key, const char *path, unsigned char **bytes_new, size_t *count)
{
    off_t there;
    *bytes_new = NULL;
    *count = 0;
    rt_status status = rt_file_measure(key, path, &there);
    if (status.code)
        return status;
    const size_t size = (size_t)there;
    if (!size)
        return rt_error(RT_DATA, PATH ": %s %s text; the file is empty", path, key,
                        is_option(key) ? "needs" : "must hold");
    if (size > RT_FILES_LIMIT)
        return rt_error(RT_DATA, PATH ": %s %s up to %zu bytes; the file has %zu", path, key,
                        is_option(key) ? "takes files of" : "can be read", RT_FILES_LIMIT, size);
    unsigned char *bytes = rt_alloc(size + 1, 1); /* one more, to detect a file that has grown */
    if (!bytes)
        return rt_out_of_memory(key);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : rt_read_at(file, bytes, size + 1, 0);
    if (got < 0)
        status = file_error(key, path, errno);
    else if ((size_t)got != size)
        status = rt_error(RT_DATA, PATH ": %s changed while it was read: %zd bytes of %zu", path,
                          key, got, size);
    if (file >= 0)
        close(file);
    if (status.code) {
        rt_free(bytes);
        return status;
    }
    *bytes_new = bytes;
    *count = size;
    return status;
}

ssize_t rt_read_at(int file, void *to, size_t size, off_t at)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(file, (char *)to + done, size - done, at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

bool rt_write_all(int file, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        const ssize_t written = write(file, from, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = ENOSPC;
        if (written <= 0)
            return false;
        from += written;
        size -= (size_t)written;
    }
    return true;
}

bool rt_folder_has(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    return !rt_path_join(path, folder, name).code && !access(path, F_OK);
}

static rt_status folder_error(const char *path)
{
    return rt_error(RT_IO, "%s: %s", path, strerror(errno));
}

rt_status rt_folders_make(const char *folder)
{
    char path[RT_PATH_SIZE];
    struct stat found;
    if (!*folder || snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) {
        errno = *folder ? ENAMETOOLONG : ENOENT;
        return folder_error(folder);
    }
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(path, 0777) && errno != EEXIST)
            return folder_error(path);
    }
    if (mkdir(path, 0777) && errno != EEXIST)
        return folder_error(path);
    if (stat(path, &found))
        return folder_error(path);
    errno = ENOTDIR;
    return S_ISDIR(found.st_mode) ? rt_ok() : folder_error(path);
}
