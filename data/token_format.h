#ifndef ROTOR_DATA_TOKEN_FORMAT_H
#define ROTOR_DATA_TOKEN_FORMAT_H

/* Formats of token ids: in memory, in files of other programs, and in files that rotor writes. */

#include "core/status.h"
#include "util/durable_file.h"

#include <stdint.h>
#include <sys/types.h>

/* Ids in memory, of 16 bits or, if the vocabulary needs them, 32. */
typedef struct rt_id_list {
    void *ids;
    size_t width; /* bytes per id, see rt_id_width */
    size_t count, capacity;
    bool failed; /* memory is exhausted */
} rt_id_list;

size_t rt_id_width(int vocab);

/* Grows the list to hold `capacity` ids; sets `failed` if memory is exhausted. */
void rt_id_list_reserve(rt_id_list *list, size_t capacity);

/* Appends an id to an rt_id_list (an rt_id_taker). */
void rt_id_list_add(void *list, int32_t id);
void rt_id_list_free(rt_id_list *list);

/* Files of other programs:
 *
 *     FILE.bin        nanoGPT: uint16, little endian, without a header; llm.c: the same after a
 *                     header of 256 int32 that begins with 20240520, 1, number of ids; with
 *                     20240801, 7 the ids are uint32
 *     FILE.npy        NumPy, one dimension of uint16, uint32, int32 or int64
 *     FILE:/DATASET   HDF5 */

/* Limit of the tokens of a file, so that one random number can address several files. */
#define RT_TOKENS_LIMIT (((size_t)1 << 48) - 1)

/* An open file, or a data set in it. */
typedef struct rt_token_input {
    char name[800];      /* file:dataset, prefix of messages */
    const char *key;     /* key that names the file, end of messages */
    const char *path;    /* borrowed while the file is opened */
    const char *dataset; /* "" except for HDF5; borrowed while the file is opened */
    int file;            /* the file or the decoded ids; -1: none */
    off_t size;          /* size when it was opened */
} rt_token_input;

/* Place of the ids: `count` integers of `width` bytes. Untrusted. */
typedef struct rt_token_place {
    uint64_t count;
    uint64_t width;       /* 2, 4 or 8 */
    uint64_t is_unsigned; /* always 1 for 2 bytes */
    uint64_t in_place;    /* 1: contiguous in the file; 0: to be decoded */
    uint64_t swapped;     /* opposite byte order of the processor */
    uint64_t offset;      /* offset of the first id in the file */
} rt_token_place;

/* Returns RT_DATA with the name of the file, the fault, and the key. */
rt_status rt_token_refuse(const rt_token_input *in, const char *format, ...) RT_PRINTF(2, 3);

/* Finds the ids of a data set without reading them, as an rt_token_place; writes all ids to the
 * descriptor in->file in native byte order. Both run in a child process (util/process.h), since
 * HDF5 crashes on some forged files. RT_DATA if the data set is invalid. */
rt_status rt_token_dataset_find(void *input, unsigned char **place_new, size_t *size) RT_MUST_CHECK;
rt_status rt_token_dataset_decode(void *input, unsigned char **nothing, size_t *size) RT_MUST_CHECK;

/* Writes a .npy header in native byte order, whose size does not depend on the shape: a vector of
 * `rows` numbers or, with columns > 0, a matrix. The type is NumPy's, such as "f4". */
enum { RT_NPY_HEADER = 128 };
void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns);

/* Writes the .npy header of `count` ids of 2 bytes (uint16) or 4 (int32). */
void rt_npy_header_of_ids(unsigned char header[RT_NPY_HEADER], size_t width, size_t count);

/* Writer of a file of token ids, a FILE.npy or a FILE.bin of nanoGPT. The file gets its name when
 * it is complete (util/durable_file.h). */
typedef struct rt_token_writer {
    rt_durable_file file;
    bool header;
    size_t count;
    size_t width;
} rt_token_writer;

/* Opens a file for ids of `width` bytes (rt_id_width), with a header for .npy. The caller calls
 * rt_token_writer_close, also after an error. */
rt_status rt_token_writer_open(rt_token_writer *w, const char *path, bool header,
                               size_t width) RT_MUST_CHECK;

/* Appends ids of that width; `writer` is an rt_token_writer. */
rt_status rt_token_writer_take(void *writer, rt_id_list *ids) RT_MUST_CHECK;

/* Completes or discards the file, as rt_durable_close. */
rt_status rt_token_writer_close(rt_token_writer *w, rt_status status) RT_MUST_CHECK;

/* Copies the unnamed file of a writer to the data set /train of an HDF5 file. */
bool rt_token_dataset_write(const char *path, const rt_token_writer *ids) RT_MUST_CHECK;

#endif
