#include "data/token_writer.h"

#include "data/token_format.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

rt_status rt_token_writer_open(rt_token_writer *w, const char *path, bool header, size_t width)
{
    unsigned char bytes[RT_NPY_HEADER];
    *w = (rt_token_writer){.header = header, .width = width};
    rt_status status = rt_durable_open(&w->file, path);
    rt_npy_header_of_ids(bytes, width, 0);
    return status.code || !header ? status : rt_durable_write(&w->file, bytes, sizeof bytes);
}

rt_status rt_token_writer_take(void *writer, rt_id_list *ids)
{
    rt_token_writer *w = writer;
    w->count += ids->count;
    return rt_durable_write(&w->file, ids->ids, ids->count * w->width);
}

/* The number of ids is known at the end; the header has as many bytes as before. */
static rt_status write_header(const rt_token_writer *w)
{
    unsigned char bytes[RT_NPY_HEADER];
    rt_npy_header_of_ids(bytes, w->width, w->count);
    const ssize_t written = pwrite(w->file.descriptor, bytes, sizeof bytes, 0);
    return written == (ssize_t)sizeof bytes
               ? rt_ok()
               : rt_error(RT_IO, "cannot write %s: %s", w->file.temporary, strerror(errno));
}

rt_status rt_token_writer_close(rt_token_writer *w, rt_status status)
{
    if (!status.code && w->header)
        status = write_header(w);
    return rt_durable_close(&w->file, status);
}
