#include "data/idx.h"

#include "core/memory.h"
#include "text/files.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

enum { UNSIGNED_BYTE = 8, CHUNK = 1 << 20 };

/* Reads up to `wanted` bytes at the offset *at, which it moves on. */
static rt_status read_bytes(gzFile file, const char *path, unsigned char *to, size_t wanted,
                            size_t *at, size_t *got)
{
    int code = Z_OK;
    for (*got = 0; *got < wanted;) {
        const size_t left = wanted - *got;
        const int count = gzread(file, to + *got, (unsigned)(left < CHUNK ? left : CHUNK));
        if (count <= 0)
            break;
        *got += (size_t)count;
        *at += (size_t)count;
    }
    if (*got == wanted)
        return rt_ok();
    const char *message = gzerror(file, &code); /* "PATH: WHY" */
    const size_t before = strlen(path) + strlen(": ");
    if (code == Z_ERRNO)
        return rt_error(RT_DATA, "%.600s: cannot be read at offset %zu: %s", path, *at,
                        strerror(errno));
    if (code != Z_OK && code != Z_STREAM_END)
        return rt_error(RT_DATA, "%.600s: is damaged at offset %zu: %.200s", path, *at,
                        strncmp(message, path, strlen(path)) ? message : message + before);
    return rt_ok();
}

static rt_status read_header(rt_idx *x, gzFile file, const char *path, size_t *at)
{
    unsigned char bytes[4 * (1 + RT_IDX_AXES)];
    size_t got;
    rt_status status = read_bytes(file, path, bytes, 4, at, &got);
    if (status.code)
        return status;
    if (got < 4 || bytes[0] || bytes[1] || bytes[2] != UNSIGNED_BYTE || !bytes[3] ||
        bytes[3] > RT_IDX_AXES)
        return got < 4 ? rt_error(RT_DATA,
                                  "%.600s: ends at offset %zu, within the header of an "
                                  "IDX file",
                                  path, *at)
                       : rt_error(RT_DATA,
                                  "%.600s: is no IDX file of bytes with 1 to %d axes: it begins "
                                  "with %02x %02x %02x %02x at offset 0",
                                  path, RT_IDX_AXES, bytes[0], bytes[1], bytes[2], bytes[3]);
    x->ndim = bytes[3];
    status = read_bytes(file, path, bytes, 4 * (size_t)x->ndim, at, &got);
    if (!status.code && got < 4 * (size_t)x->ndim)
        return rt_error(RT_DATA, "%.600s: ends at offset %zu, within the header of an IDX file",
                        path, *at);
    x->size = 1;
    for (int i = 0; i < x->ndim && !status.code; i++) {
        const unsigned char *b = bytes + 4 * i;
        const size_t axis = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
        if (!axis || x->size > RT_FILES_LIMIT / axis)
            return rt_error(RT_DATA, "%.600s: axis %d at offset %d is %zu: %s", path, i + 1,
                            4 + 4 * i, axis, axis ? "the file is too large" : "there is nothing");
        x->axis[i] = axis;
        x->size *= axis;
    }
    return status;
}

/* Reads the bytes behind the header. Memory grows with what is read, since the header may lie. */
static rt_status read_rest(rt_idx *x, gzFile file, const char *path, size_t *at)
{
    size_t count = 0, capacity = 0, got = 1;
    rt_status status = rt_ok();
    while (got && count <= x->size && !status.code) {
        const size_t wanted = x->size + 1 - count < CHUNK ? x->size + 1 - count : CHUNK;
        if (!rt_grow(&x->bytes, &capacity, count + wanted, 1))
            return rt_out_of_memory("a file of images");
        status = read_bytes(file, path, x->bytes + count, wanted, at, &got);
        count += got;
    }
    if (status.code || count == x->size)
        return status;
    return count < x->size
               ? rt_error(RT_DATA, "%.600s: ends at offset %zu; its header says %zu bytes more",
                          path, *at, x->size - count)
               : rt_error(RT_DATA, "%.600s: goes on at offset %zu, where its header says it ends",
                          path, *at - 1);
}

rt_status rt_idx_read(rt_idx *x, const char *key, const char *path)
{
    off_t size;
    *x = (rt_idx){.ndim = 0};
    rt_status status = rt_file_measure(key, path, &size);
    if (status.code)
        return status;
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file)
        return errno ? rt_error(RT_DATA, "%.600s: %s", path, strerror(errno))
                     : rt_out_of_memory("a compressed file");
    size_t at = 0;
    status = read_header(x, file, path, &at);
    if (!status.code)
        status = read_rest(x, file, path, &at);
    gzclose_r(file);
    if (status.code)
        rt_idx_free(x);
    return status;
}

void rt_idx_free(rt_idx *x)
{
    rt_free(x->bytes);
    *x = (rt_idx){.ndim = 0};
}
