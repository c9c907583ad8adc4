#ifndef ROTOR_DATA_TOKEN_FORMAT_H
#define ROTOR_DATA_TOKEN_FORMAT_H

/* Formats of token ids: in memory, in files of other programs, and in those that rotor writes. */

#include "core/status.h"
#include "text/durable_file.h"

#include <stdint.h>
#include <sys/types.h>

/* ---- in memory ---- */

/* Ids in memory, in as few bits as the vocabulary needs: 16 or 32. */
typedef struct rt_id_list {
    void *ids;
    size_t width; /* bytes of an id, see rt_id_width */
    size_t count, room;
    bool failed; /* the heap is exhausted */
} rt_id_list;

size_t rt_id_width(int vocab);

/* Makes room for so many ids in all; see `failed`. */
void rt_id_list_reserve(rt_id_list *list, size_t room);

/* Adds an id to the rt_id_list: an rt_id_taker. */
void rt_id_list_add(void *list, int32_t id);
void rt_id_list_free(rt_id_list *list);

/* ---- where the ids of a file are ---- */

/* Files of tokens that other programs write:
 *
 *     FILE.bin        nanoGPT: uint16, little endian, nothing else; llm.c: the same behind a header
 *                     of 256 int32 that begins with 20240520, 1 and the number of ids; with
 *                     20240801, 7 the ids are uint32
 *     FILE.npy        NumPy, one dimension of uint16, uint32, int32 or int64
 *     FILE:/DATASET   HDF5 */

/* The most tokens of a file, so that a random number can choose among those of several. */
#define RT_TOKENS_LIMIT (((size_t)1 << 48) - 1)

/* A file that is opened, or the data set `dataset` in it. */
typedef struct rt_token_input {
    char name[800];      /* file:dataset, which messages begin with */
    const char *key;     /* that names the file, which messages end with */
    const char *path;    /* as long as the file is opened */
    const char *dataset; /* "" but for HDF5; as long as the file is opened */
    int file;            /* of the user, or the decoded ids; -1: none */
    off_t size;          /* when it was opened */
} rt_token_input;

/* Place of the ids: `count` integers of `width` bytes. Untrusted. */
typedef struct rt_token_place {
    uint64_t count;
    uint64_t width;       /* 2, 4 or 8 */
    uint64_t is_unsigned; /* those of 2 bytes are */
    uint64_t in_place;    /* one after the other in the file itself; else 0: to be decoded */
    uint64_t swapped;     /* in the other byte order than that of the processor */
    uint64_t offset;      /* of the first in the file */
} rt_token_place;

/* RT_DATA with the name of the file, what is wrong with it, and its key. */
rt_status rt_token_refuse(const rt_token_input *in, const char *format, ...) RT_PRINTF(2, 3);

/* Finds the ids in a FILE.bin or, with another name, in a FILE.npy. RT_DATA for a file that is
 * none. */
rt_status rt_token_file_find(const rt_token_input *in, rt_token_place *place) RT_MUST_CHECK;

/* Both work on a data set of HDF5, which crashes on some forged files: they are for a child process
 * (text/process.h). The first looks at what HDF5 says of the data set, and reads no id: an
 * rt_token_place, or RT_DATA. The second writes all ids to the descriptor in->file, in the byte
 * order of the processor, one after the other, and has no answer. */
rt_status rt_token_dataset_find(void *input, unsigned char **place_new, size_t *size) RT_MUST_CHECK;
rt_status rt_token_dataset_decode(void *input, unsigned char **nothing, size_t *size) RT_MUST_CHECK;

/* ---- writing ---- */

/* Writes the header of a FILE.npy in this machine's byte order, whose size does not depend on the
 * shape: `rows` numbers, or with `columns` above 0 a matrix. The type is one of NumPy's, "f4". */
enum { RT_NPY_HEADER = 128 };
void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns);

/* Writes the header of so many ids of 2 bytes (uint16) or 4 (int32). */
void rt_npy_header_of_ids(unsigned char header[RT_NPY_HEADER], size_t width, size_t count);

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

/* Writes the ids of a file that a writer has written, and that has no name yet, as the data set
 * /train of an HDF5 file. */
bool rt_token_dataset_write(const char *path, const rt_token_writer *ids) RT_MUST_CHECK;

#endif
