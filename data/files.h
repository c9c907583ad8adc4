#ifndef ROTOR_DATA_FILES_H
#define ROTOR_DATA_FILES_H

/* The files of data.file and data.eval_file. Text and tokens take lists: "a.txt, b.bin" or, as a
 * mixture with weights, "a.txt*3, b.bin*1" with optional spaces around '*'. Other tasks take one
 * path. */

#include "data/data.h"
#include "util/number.h"

struct rt_token_format;

typedef struct rt_data_file {
    int part;            /* RT_PART_TRAINING: of data.file; RT_PART_EVALUATION: of data.eval_file */
    const char *key;     /* "data.file" or "data.eval_file" */
    rt_list_item item;   /* the file in the value of its key, which begins with its path */
    const char *path;    /* interned, as is the data set */
    const char *dataset; /* data set of an HDF5 file; else "" */
    const struct rt_token_format *ids; /* NULL: the file has no token ids */
    bool weighted;
    double weight; /* default 1 */
} rt_data_file;

/* All files, those of data.file first. */
typedef struct rt_data_files {
    const rt_data_options *options; /* borrowed */
    rt_data_file *list;
    size_t count, capacity;
    bool failed;  /* memory is exhausted */
    bool mixture; /* a file of data.file has a weight */
} rt_data_files;

/* Parses data.file and data.eval_file, without checking them. The caller frees the list. */
rt_data_files rt_data_files_of(const rt_data_options *o);
void rt_data_files_free(rt_data_files *files);

/* Removes the files of a part. */
void rt_data_files_skip(rt_data_files *files, int part);

/* Returns whether a file of a text is one of JSON lines, or a plain one. */
bool rt_data_has_files(const rt_data_options *o, bool json_lines);

/* Returns whether data.documents names a separator. */
bool rt_documents_are_named(const rt_data_options *o);

/* Returns whether a text has documents: by data.documents, or as JSON lines. */
bool rt_documents_are_cut(const rt_data_options *o);

/* Returns data.field or data.label_field, or its default. */
const char *rt_data_field(const rt_data_options *o, bool label);

/* Rules of a kind of data for a file, as rt_data_rules. Returns whether the file breaks none. */
typedef bool rt_file_check(const rt_data_options *o, const rt_data_file *file, rt_rule_sink to);

/* Checks the files of each key up to the first one that breaks a rule of the kind or of all.
 * Returns false if memory is exhausted. */
bool rt_data_files_check(const rt_data_options *o, rt_file_check *check, rt_rule_sink to);

/* Writes the path of the labels of a file of images. Returns false if its name has no
 * "images-idx3" or "images-idx4", also with a dot, or is too long. */
bool rt_image_labels_path(char path[RT_PATH_SIZE], const char *images);

/* Returns the path of the n-th file that is read, for images also those of their labels; NULL past
 * the last. Two data sets of one HDF5 file count once. The files must have passed their check. */
const char *rt_data_files_path(const rt_data_files *files, int n);

#endif
