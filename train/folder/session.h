#ifndef ROTOR_TRAIN_FOLDER_SESSION_H
#define ROTOR_TRAIN_FOLDER_SESSION_H

/* Origin of the numbers of a run. A session is one training by one call of the program; a run that
 * was stopped has several. The first row that a session adds to timing.csv describes it, in columns
 * that are empty in its other rows: only that file may differ between equal runs. */

#include "data/data.h"

#define RT_SESSION_COLUMNS "begun,host,program,command,data"

/* Lists the data files: path, size and XXH128 of each, as `xxhsum -H2` prints it. A file that
 * cannot be read is marked; a file above 2 GiB has no XXH128. The caller frees the text (rt_free);
 * NULL if the heap is exhausted. */
char *rt_session_data(const rt_data_options *data);

/* Returns the cells of a session that begins now: time (UTC), host name, version and `revision` (""
 * if unknown) of the program with its kernels, command line, and `data`, the list of
 * rt_session_data. The caller frees the text; NULL if the heap is exhausted. */
char *rt_session_cells(const char *data, const char *revision, int argc, char *const *argv);

/* Part of a list of files. */
typedef struct rt_session_part {
    const char *text;
    int length;
} rt_session_part;

/* Compares the first `files` files of two lists by size and XXH128, whatever their paths. If one
 * differs, returns true and narrows both parts to the first such file, if both lists have it. */
bool rt_session_data_differs(rt_session_part *before, rt_session_part *now, int files);

#endif
