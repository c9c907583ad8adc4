#ifndef ROTOR_TRAIN_FOLDER_SESSION_H
#define ROTOR_TRAIN_FOLDER_SESSION_H

/* Where the numbers of a run come from: one call of the program that trains is a session, and a
 * run that was stopped has several. It is told in the first row that a session adds to timing.csv,
 * in columns that are empty below: that file alone may differ between runs of the same bytes. */

#include "data/data.h"

#define RT_SESSION_COLUMNS "begun,host,program,command,data"

/* The cells of the session that begins now: the time (UTC), the name of the machine, version and
 * `revision` ("" if unknown) of the program with its kernels, the command line, and of every file
 * of data its path, its size and XXH128, as `xxhsum -H2` prints it. The caller frees them
 * (rt_free); NULL when the heap is exhausted. A file that cannot be read is said to be one, and one
 * above 2 GiB is not read for it. */
char *rt_session_cells(const rt_data_options *data, const char *revision, int argc,
                       char *const *argv);

/* The last of these cells alone: the files of data, with size and XXH128. */
char *rt_session_data(const rt_data_options *data);

#endif
