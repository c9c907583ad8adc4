#ifndef ROTOR_TRAIN_FOLDER_SESSION_H
#define ROTOR_TRAIN_FOLDER_SESSION_H

/* Where the numbers of a run come from: one call of the program that trains is a session, and a
 * run that was stopped has several. It is told in the first row that a session adds to timing.csv,
 * in columns that are empty below: that file alone may differ between runs of the same bytes. */

#include "data/data.h"

#define RT_SESSION_COLUMNS "begun,host,program,command,data"

/* The files of data: of each its path, its size and XXH128, as `xxhsum -H2` prints it. A file that
 * cannot be read is said to be one, and one above 2 GiB is not read for it. The caller frees the
 * text (rt_free); NULL when the heap is exhausted. */
char *rt_session_data(const rt_data_options *data);

/* The cells of the session that begins now: the time (UTC), the name of the machine, version and
 * `revision` ("" if unknown) of the program with its kernels, the command line, and the files of
 * data, as above. As above for the caller. */
char *rt_session_cells(const char *data, const char *revision, int argc, char *const *argv);

/* Finds the first of the first `files` files of two such texts that is another one by its size and
 * XXH128, whatever its path, and narrows the texts to it; the whole texts stay if they have not as
 * many. False if there is none. */
typedef struct rt_session_part {
    const char *text;
    int length;
} rt_session_part;
bool rt_session_data_differs(rt_session_part *before, rt_session_part *now, int files);

#endif
