#define _GNU_SOURCE /* fopencookie */

#include "data/gzip.h"

#include "core/memory.h"
#include "util/files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

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

/* A compressed file that is read. */
typedef struct rt_inflation {
    FILE *from;
    z_stream z;
    bool in_member; /* of which there may be several */
    bool ended;
    unsigned char input[1 << 16];
} rt_inflation;

/* Reads compressed bytes if there are none left. Sets `ended` at the end of the file. */
static rt_status refill(rt_unpacked *u)
{
    rt_inflation *p = u->packed;
    if (p->z.avail_in)
        return rt_ok();
    const size_t n = fread(p->input, 1, sizeof p->input, p->from);
    if (ferror(p->from))
        return rt_error(RT_DATA, "%.600s: cannot be read: %s", u->path, strerror(errno));
    p->z.next_in = p->input;
    p->z.avail_in = (uInt)n;
    p->ended = !n;
    return n || !p->in_member ? rt_ok()
                              : rt_error(RT_DATA,
                                         "%.600s: is damaged at offset %lu of the unpacked bytes: "
                                         "unexpected end of file",
                                         u->path, p->z.total_out);
}

/* Unpacks into the room that p->z has, or up to the end of a member. */
static rt_status unpack(rt_unpacked *u)
{
    rt_inflation *p = u->packed;
    RT_TRY(refill(u));
    if (p->ended)
        return rt_ok();
    for (; !p->in_member && p->z.total_in && p->z.avail_in && !*p->z.next_in; p->z.avail_in--)
        p->z.next_in++;
    if (!p->z.avail_in)
        return rt_ok();
    p->in_member = true;
    const int code = inflate(&p->z, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
        const uLong out = p->z.total_out, in = p->z.total_in;
        p->in_member = false;
        inflateReset(&p->z);
        p->z.total_out = out;
        p->z.total_in = in;
        return rt_ok();
    }
    if (code == Z_MEM_ERROR)
        return rt_out_of_memory("a compressed file");
    return code == Z_OK || code == Z_BUF_ERROR
               ? rt_ok()
               : rt_error(RT_DATA, "%.600s: is damaged at offset %lu of the unpacked bytes: %.200s",
                          u->path, p->z.total_out, p->z.msg ? p->z.msg : "no data of gzip");
}

static ssize_t read_packed(void *cookie, char *to, size_t size)
{
    rt_unpacked *u = cookie;
    rt_inflation *p = u->packed;
    const uInt most = size < INT_MAX ? (uInt)size : INT_MAX;
    p->z.next_out = (unsigned char *)to;
    p->z.avail_out = most;
    while (p->z.avail_out == most && !p->ended && !u->status.code)
        u->status = unpack(u);
    if (!u->status.code)
        return (ssize_t)(most - p->z.avail_out);
    errno = EIO;
    return -1;
}

static int close_packed(void *cookie)
{
    rt_inflation *p = ((rt_unpacked *)cookie)->packed;
    inflateEnd(&p->z);
    fclose(p->from);
    rt_free(p);
    return 0;
}

rt_status rt_unpacked_open(rt_unpacked *u, const char *key, const char *path)
{
    static const cookie_io_functions_t functions = {.read = read_packed, .close = close_packed};
    FILE *file = rt_open_regular(path);
    *u = (rt_unpacked){.path = path, .file = file};
    if (!file)
        return rt_error(RT_DATA, "%.800s: %s (%s)", path, strerror(errno), key);
    u->descriptor = fileno(file);
    if (!rt_name_is_packed(path))
        return rt_ok();
    rt_inflation *p = u->packed = rt_alloc(1, sizeof *p);
    const bool there = p && inflateInit2(&p->z, 15 + 16) == Z_OK; /* gzip alone */
    u->file = there ? fopencookie(u, "rb", functions) : NULL;
    if (u->file) {
        p->from = file;
        return rt_ok();
    }
    if (there)
        inflateEnd(&p->z);
    rt_free(p);
    fclose(file);
    return rt_out_of_memory("a compressed file");
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
