#define _GNU_SOURCE /* fopencookie */

#include "data/gzip.h"

#include "util/files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char gz[] = ".gz";

bool rt_name_is_packed(const char *path)
{
    const size_t size = strlen(path), more = strlen(gz);
    return size > more && !strcmp(path + size - more, gz);
}

bool rt_name_ends(const char *path, const char *ending)
{
    const size_t size = strlen(path) - (rt_name_is_packed(path) ? strlen(gz) : 0);
    const size_t more = strlen(ending);
    return size >= more && !memcmp(path + size - more, ending, more);
}

rt_status rt_gzip_read(gzFile file, const char *path, unsigned char *to, size_t wanted, size_t *got)
{
    int code = Z_OK;
    *got = gzfread(to, 1, wanted, file);
    if (*got == wanted)
        return rt_ok();
    const char *message = gzerror(file, &code); /* "PATH: WHY" or "<fd:3>: WHY" */
    const char *behind = *message == '<' ? strchr(message, '>') : NULL;
    const size_t size = behind ? (size_t)(behind + 1 - message) : strlen(path);
    if (code == Z_ERRNO)
        return rt_error(RT_DATA, "%.600s: cannot be read at offset %ld: %s", path, gztell(file),
                        strerror(errno));
    if (code != Z_OK && code != Z_STREAM_END)
        return rt_error(RT_DATA, "%.600s: is damaged at offset %ld: %.200s", path, gztell(file),
                        strlen(message) > size + 2 ? message + size + 2 : message);
    return rt_ok();
}

static ssize_t read_packed(void *cookie, char *to, size_t size)
{
    rt_unpacked *u = cookie;
    size_t got;
    u->status = rt_gzip_read(u->packed, u->path, (unsigned char *)to, size, &got);
    if (!u->status.code)
        return (ssize_t)got;
    errno = EIO;
    return -1;
}

static int close_packed(void *cookie)
{
    return gzclose_r(((rt_unpacked *)cookie)->packed);
}

rt_status rt_unpacked_open(rt_unpacked *u, const char *key, const char *path)
{
    off_t size;
    *u = (rt_unpacked){.path = path};
    RT_TRY(rt_file_measure(key, path, &size));
    FILE *file = rt_open_regular(path);
    if (!file)
        return rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), key);
    u->descriptor = fileno(file);
    if (!rt_name_is_packed(path)) {
        u->file = file;
        return rt_ok();
    }
    u->descriptor = dup(u->descriptor);
    fclose(file);
    u->packed = u->descriptor < 0 ? NULL : gzdopen(u->descriptor, "rb");
    if (!u->packed && u->descriptor >= 0)
        close(u->descriptor);
    u->file = u->packed ? fopencookie(u, "rb",
                                      (cookie_io_functions_t){read_packed, .close = close_packed})
                        : NULL;
    if (u->packed && !u->file)
        gzclose_r(u->packed);
    return u->file ? rt_ok() : rt_out_of_memory("a compressed file");
}

rt_status rt_unpacked_status(const rt_unpacked *u)
{
    if (!u->status.code && ferror(u->file))
        return rt_error(RT_DATA, "%.800s: cannot be read: %s", u->path, strerror(errno));
    return u->status;
}

void rt_unpacked_close(rt_unpacked *u)
{
    if (u->file)
        fclose(u->file);
    u->file = NULL;
}
