#ifndef ROTOR_DATA_FILE_LIST_H
#define ROTOR_DATA_FILE_LIST_H

/* The files that a configuration names, and digests of their bytes. */

#include "core/status.h"
#include "data/data.h"

#include <stddef.h>
#include <stdint.h>

/* ---- lists of files ---- */

/* The files that data.file or data.eval_file names: "a.txt, b.bin" or, with weights, which make a
 * mixture, "a.txt*3, b.bin*1"; spaces around the '*' do not count. A name that ends in .bin or
 * .npy, or has a data set behind it (ids.h5:/train), is one of token ids; any other is a text. */

typedef struct rt_data_file {
    char path[RT_PATH_SIZE];
    char dataset[RT_PATH_SIZE]; /* of an HDF5 file; else "" */
    bool ids;
    bool weighted;
    double weight; /* 1 without one */
} rt_data_file;

/* Takes the first file of a list that was checked; returns the list behind it, NULL if it was the
 * last. With `any_set` every name with a data set is an HDF5 file, else those that end in .h5 or
 * .hdf5. */
const char *rt_data_file_take(const char *list, bool any_set, rt_data_file *file);

/* Returns whether any file of a list has a weight. */
bool rt_data_files_weighted(const char *list, bool any_set);

/* Checks the list of a key, as rt_data_rules. */
void rt_data_files_check(const char *key, const char *list, bool only_ids, rt_rule_sink to);

/* ---- digests ---- */

/* XXH128 as hexadecimal digits, zero-terminated. */

enum { RT_DIGEST_SIZE = 33 };

void rt_digest_bytes(char digest[RT_DIGEST_SIZE], const void *bytes, size_t size);
void rt_digest_text(char digest[RT_DIGEST_SIZE], const char *text);

/* Returns a checksum of 64 bits (XXH3). */
uint64_t rt_checksum(const void *bytes, size_t size);

/* A digest of bytes that come one after the other. NULL when the heap is exhausted. */
typedef struct rt_digest rt_digest;
rt_digest *rt_digest_new(void);
void rt_digest_add(rt_digest *d, const void *bytes, size_t size);

/* Writes the digest of all bytes since the last end, and begins again. */
void rt_digest_end(rt_digest *d, char digest[RT_DIGEST_SIZE]);
void rt_digest_free(rt_digest *d);

/* Computes the digest of a file of `size` bytes. RT_DATA, with the key that names the file, if it
 * has another size. */
rt_status rt_digest_file(char digest[RT_DIGEST_SIZE], const char *key, const char *path,
                         size_t size) RT_MUST_CHECK;

#endif
