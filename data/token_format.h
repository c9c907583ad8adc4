#ifndef ROTOR_DATA_TOKEN_FORMAT_H
#define ROTOR_DATA_TOKEN_FORMAT_H

/* Formats of files of token ids: where the ids are, and how they are written. */

#include "core/status.h"
#include "data/encode_text.h"
#include "text/durable_file.h"

#include <stdint.h>
#include <sys/types.h>

/* ---- formats ---- */

/* Place of the ids in files of tokens that other programs write, a row for each format.
 *
 *     FILE.bin        nanoGPT: uint16, little endian, nothing else; llm.c: the same behind a header
 *                     of 256 int32 that begins with 20240520, 1 and the number of ids; with
 *                     20240801, 7 the ids are uint32
 *     FILE.npy        NumPy, one dimension of uint16, uint32, int32 or int64
 *     FILE:/DATASET   HDF5 (token_dataset.h) */

/* Place of the ids: `count` integers of `width` bytes. Untrusted. */
typedef struct rt_token_place {
    uint64_t count;
    uint64_t width;       /* 2, 4 or 8 */
    uint64_t is_unsigned; /* those of 2 bytes are */
    uint64_t in_place;    /* one after the other in the file itself; else 0: to be decoded */
    uint64_t swapped;     /* in the other byte order than that of the processor */
    uint64_t offset;      /* of the first in the file */
} rt_token_place;

/* An open file of so many bytes; errors begin with `name` and end with the key that names it. */
typedef struct rt_token_bytes {
    const char *name;
    const char *key;
    int file;
    off_t size;
} rt_token_bytes;

typedef struct rt_token_format {
    const char *ending; /* of the names of files */
    /* RT_DATA for a file that is none. */
    rt_status (*find)(const rt_token_bytes *bytes, rt_token_place *place);
} rt_token_format;

/* The format of a file by its name; NULL for HDF5. */
const rt_token_format *rt_token_format_of(const char *path);

/* Writes the header of a FILE.npy in this machine's byte order, whose size does not depend on the
 * shape: `rows` numbers, or with `columns` above 0 a matrix. The type is one of NumPy's, "f4". */
enum { RT_NPY_HEADER = 128 };
void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns);

/* Writes the header of so many ids of 2 bytes (uint16) or 4 (int32). */
void rt_npy_header_of_ids(unsigned char header[RT_NPY_HEADER], size_t width, size_t count);

/* ---- writing ---- */

/* A file of token ids that is written from its beginning to its end and has its name once it is
 * whole (text/durable_file.h): a FILE.npy, or a FILE.bin of nanoGPT. */

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

/* Closes the writer, as rt_durable_close. */
rt_status rt_token_writer_close(rt_token_writer *w, rt_status status) RT_MUST_CHECK;

/* Writes the tokens of data.file to the file `ids`, a .npy file if its name says so. The writer is
 * still to be closed, if it was opened. RT_CONFIG for a mixture, for a task without tokens of
 * files, and for more ids than `path` can hold; errors of rt_data_open. */
rt_status rt_sequence_write(const rt_data_options *o, rt_token_writer *w, const char *path,
                            const char *ids) RT_MUST_CHECK;

#endif
