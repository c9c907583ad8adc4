#ifndef ROTOR_DATA_TOKEN_FORMATS_H
#define ROTOR_DATA_TOKEN_FORMATS_H

/* Formats of token ids: lists in memory, and files. A file has one of these formats:
 *
 *     FILE.bin          nanoGPT: uint16, little endian, without a header; llm.c: the same after a
 *                       header of 256 int32 that begins with 20240520, 1, number of ids; with
 *                       20240801, 7 the ids are uint32
 *     FILE.npy          NumPy, one dimension of uint16, uint32, int32 or int64
 *     FILE.h5:/DATASET  HDF5 */

#include "core/status.h"
#include "util/durable_file.h"
#include "util/writer.h"

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

/* Checksums (XXH3-64) of the ids in a file, one for each RT_SUMMED bytes. */
enum { RT_SUMMED = 1 << 16 };
typedef struct rt_token_sums {
    uint64_t *list;
    size_t count;
} rt_token_sums;

/* Limit of the tokens of a file, so that one random number can address several files. */
#define RT_TOKENS_LIMIT (((size_t)1 << 48) - 1)

/* A file, or a data set in it. */
typedef struct rt_token_input {
    const struct rt_token_format *format;
    const char *key;     /* key that names the file, end of messages */
    const char *path;    /* borrowed */
    const char *dataset; /* "" except for HDF5; borrowed */
    rt_token_sums sums;  /* of a file that can be made again; else none */
    /* Set by rt_token_input_open. */
    char name[800]; /* file:dataset, prefix of messages */
    int file;       /* the file or the decoded ids; -1: none */
    off_t size;     /* size when it was opened */
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

/* Writer of a file of token ids, which gets its name when it is complete (util/durable_file.h). */
typedef struct rt_token_writer {
    const struct rt_token_format *format;
    const char *path;     /* borrowed */
    rt_durable_file file; /* of the ids */
    size_t count, width;
} rt_token_writer;

/* A format, as a row. */
typedef struct rt_token_format {
    const char *endings[2]; /* of file names */
    bool sets;              /* a file holds data sets, as in ids.h5:/train */
    size_t most_width;      /* bytes of the largest ids that are written */
    /* Finds the ids of an open file without reading them. RT_DATA if the file is invalid. */
    rt_status (*find)(rt_token_input *in, rt_token_place *place);
    /* Replaces the file by a temporary one with decoded ids; NULL: ids are always in place. */
    rt_status (*decode)(rt_token_input *in, rt_token_place *place);
    /* Writes the header of `count` ids into RT_NPY_HEADER bytes; NULL: there is none. */
    void (*header)(unsigned char *header, size_t width, size_t count);
    /* Writes a file with the ids of a writer's file; NULL: that file is in the format. */
    bool (*copy)(const char *path, const rt_token_writer *ids);
} rt_token_format;

extern const rt_token_format rt_bin_format, rt_npy_format, rt_hdf5_format;

/* Returns the format of a file by its name, NULL if it has none. */
const rt_token_format *rt_token_format_of(const char *path);

/* Returns RT_DATA with the name of the file, the fault, and the key. */
#define rt_token_refuse(in, ...)                                                                   \
    rt_error(RT_DATA, "%s: %s (%s)", (in)->name, RT_PRINTED(RT_MESSAGE_SIZE, __VA_ARGS__),         \
             (in)->key)

/* Opens a file and finds or decodes its ids. RT_DATA names the
 * file, the key and the fault. RT_IO if there can be no child process or temporary file. The caller
 * closes in->file, also after an error. */
rt_status rt_token_input_open(rt_token_input *in, rt_token_place *place) RT_MUST_CHECK;

/* Opens a file for ids below `vocab`. RT_CONFIG if the format cannot hold them. The caller calls
 * rt_token_writer_close, also after an error. */
rt_status rt_token_writer_open(rt_token_writer *w, const char *path, const rt_token_format *format,
                               int vocab) RT_MUST_CHECK;

/* Appends ids of rt_id_width(vocab); `writer` is an rt_token_writer. */
rt_status rt_token_writer_take(void *writer, rt_id_list *ids) RT_MUST_CHECK;

/* Completes or discards the file, as rt_durable_close. */
rt_status rt_token_writer_close(rt_token_writer *w, rt_status status) RT_MUST_CHECK;

#endif
