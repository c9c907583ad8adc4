#ifndef ROTOR_DATA_FILE_LIST_H
#define ROTOR_DATA_FILE_LIST_H

/* The files in data.file or data.eval_file: "a.txt, b.bin" or, as a mixture with weights, "a.txt*3,
 * b.bin*1" with optional spaces around '*'. A name that ends in .bin or .npy, or has a data set
 * (ids.h5:/train), is a file of token ids; others are texts. */

#include "core/status.h"
#include "data/data.h"

typedef struct rt_data_file {
    char path[RT_PATH_SIZE];    /* may be truncated */
    size_t size;                /* of the whole path */
    char dataset[RT_PATH_SIZE]; /* data set of an HDF5 file; else "" */
    bool ids;
    bool weighted;
    double weight; /* default 1 */
} rt_data_file;

/* Parses the first file of a checked list. Returns the remaining list, NULL after the last file.
 * With `any_set` any name may have a data set, otherwise only .h5 and .hdf5. */
const char *rt_data_file_take(const char *list, bool any_set, rt_data_file *file);

/* Returns whether a file of a list has a weight. */
bool rt_data_files_weighted(const char *list, bool any_set);

/* Checks the list of a key, as rt_data_rules. */
void rt_data_files_check(const char *key, const char *list, bool only_ids, rt_rule_sink to);

#endif
