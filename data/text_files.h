#ifndef ROTOR_DATA_TEXT_FILES_H
#define ROTOR_DATA_TEXT_FILES_H

/* Files of text that follow each other as one text: read a part at a time or, if they are small, in
 * memory whole. */

#include "core/path.h"
#include "core/status.h"
#include "data/tokenizers/level.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct rt_text_file {
    char *path;
    size_t start, size; /* in the text; bytes */
    struct stat facts;
} rt_text_file;

typedef struct rt_text_files {
    const char *key; /* that names the files; not copied */
    rt_text_file *list;
    size_t count, room;
    size_t bytes;
    unsigned char *memory; /* all of it, or NULL */
} rt_text_files;

/* Adds a file, of which nothing is read yet, to a text that starts zeroed but for its key. RT_DATA
 * names one that is missing, empty or no regular file. */
rt_status rt_text_files_add(rt_text_files *text, const char *path) RT_MUST_CHECK;
void rt_text_files_close(rt_text_files *text);

/* Bytes `at` ... at + size - 1. RT_DATA for a file that was written to or replaced since. */
rt_status rt_text_files_read(const rt_text_files *text, size_t at, size_t size,
                             unsigned char *to) RT_MUST_CHECK;

/* Reads all of it into memory. RT_DATA names a file that does not suit the level. */
rt_status rt_text_files_load(rt_text_files *text, rt_level level) RT_MUST_CHECK;

/* The file of a byte, of which there must be one. */
const rt_text_file *rt_text_files_at(const rt_text_files *text, size_t at);

#endif
