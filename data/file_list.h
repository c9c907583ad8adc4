#ifndef ROTOR_DATA_FILE_LIST_H
#define ROTOR_DATA_FILE_LIST_H

/* The files that data.file or data.eval_file names: "a.txt, b.bin" or, with weights, which make a
 * mixture, "a.txt*3, b.bin*1"; spaces around the '*' do not count. A name that ends in .bin or
 * .npy, or has a data set behind it (ids.h5:/train), is one of token ids; any other is a text. */

#include "core/status.h"
#include "data/data.h"

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

#endif
