#ifndef ROTOR_DATA_TOKEN_WRITER_H
#define ROTOR_DATA_TOKEN_WRITER_H

/* A file of token ids that is written from its beginning to its end and has its name once it is
 * whole (text/durable_file.h): a FILE.npy, or a FILE.bin of nanoGPT. */

#include "data/id_list.h"
#include "text/durable_file.h"

typedef struct rt_token_writer {
    rt_durable_file file;
    bool header;
    size_t count;
    size_t width;
} rt_token_writer;

/* Ids of `width` bytes (rt_id_width); a .npy file has a header. rt_token_writer_close is still to
 * be called. */
rt_status rt_token_writer_open(rt_token_writer *w, const char *path, bool header,
                               size_t width) RT_MUST_CHECK;

/* Writes ids of that width: takes an rt_token_writer as its context. */
rt_status rt_token_writer_take(void *writer, rt_id_list *ids) RT_MUST_CHECK;

/* As rt_durable_close. */
rt_status rt_token_writer_close(rt_token_writer *w, rt_status status) RT_MUST_CHECK;

#endif
