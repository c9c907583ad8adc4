#ifndef ROTOR_TRAIN_FOLDER_SESSION_H
#define ROTOR_TRAIN_FOLDER_SESSION_H

/* The origin of the numbers of a run. One call of the program that trains is a session; a run that
 * was stopped has several. A session is described in the first row that it adds to timing.csv, in
 * columns that are empty in its other rows: only that file may differ between equal runs. */

#include "data/data.h"

#define RT_SESSION_COLUMNS "begun,host,program,command,data"

/* Lists the files of data: path, size and XXH128 of each, as `xxhsum -H2` prints it. A file that
 * cannot be read is marked as such; one above 2 GiB has no XXH128. The caller frees the text
 * (rt_free); NULL when the heap is exhausted. */
char *rt_session_data(const rt_data_options *data);

/* Returns the cells of the session that begins now: the time (UTC), the host name, the version and
 * `revision` ("" if unknown) of the program with its kernels, the command line, and the list of
 * rt_session_data. The caller frees the text; NULL when the heap is exhausted. */
char *rt_session_cells(const char *data, const char *revision, int argc, char *const *argv);

/* Part of a list of files. */
typedef struct rt_session_part {
    const char *text;
    int length;
} rt_session_part;

/* Compares the first `files` files of two lists by size and XXH128, whatever their paths. Returns
 * true if one differs, and narrows both parts to the first such file; a list with fewer files stays
 * whole. */
bool rt_session_data_differs(rt_session_part *before, rt_session_part *now, int files);

#endif
