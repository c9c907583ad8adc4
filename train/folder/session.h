#ifndef ROTOR_TRAIN_FOLDER_SESSION_H
#define ROTOR_TRAIN_FOLDER_SESSION_H

/* Origin of the numbers of a run. A session is one training by one call of the program; a run that
 * was stopped has several. The first row that a session adds to timing.csv describes it, in columns
 * that are empty in its other rows: only that file may differ between equal runs. */

#include "train/config/config.h"
#include "util/writer.h"

#define RT_SESSION_COLUMNS "begun,host,program,command,data"

/* Lists the data files: path, size and XXH128 of each, as `xxhsum -H2` prints it. A file that
 * cannot be read is marked; a file above 2 GiB has no XXH128. The caller frees the text (rt_free);
 * NULL if the heap is exhausted. */
char *rt_session_data(const rt_data_options *data);

/* The same list, followed by the models and the theta that a training starts from. Of a folder
 * they are the size and XXH128 of all its files; of the folder of a run, which may go on, of the
 * first rows of its timing.csv, which no other run has. */
char *rt_session_inputs(const rt_config *config);

/* Finds a data file whose size or XXH128 in a list of rt_session_data is not that in the timing.csv
 * of a run. Adds "it was FILE (...), it is FILE (...)" for the first. With `evaluated`, looks only
 * at the files that are evaluated: those of data.eval_file, or of data.file if there are none. */
void rt_session_compare(rt_writer *w, const rt_data_options *data, const char *list,
                        const char *folder, bool evaluated);

/* Returns the first step whose evaluation can be compared with that of the last: the sessions in
 * the timing.csv of a run from there on have evaluated the same files. */
int rt_session_evaluates_from(const rt_data_options *data, const char *folder);

/* Returns the data file, or the model or theta that a training starts from, that the runs in two
 * folders have read with another size or XXH128 in any session of their timing.csv; NULL if none is
 * known. A trunk is not compared: a sweep trains those again that it lacks, and a branch warns of
 * changed data. */
const char *rt_session_changed_input(const rt_config *config, const char *folder,
                                     const char *other_folder);

/* Replaces paths in the configuration of the run in `folder` by those of `now`, if both name files
 * with the same size and XXH128: the project was moved. A file that is gone is known from the
 * timing.csv of the run; likewise one of `now`, if that is of a run, in `now_folder`, not NULL. */
void rt_session_take_moved(rt_config *before, const char *folder, const rt_config *now,
                           const char *now_folder);

/* Finds data files that have gone: looks for the same ends of their paths, and the same content by
 * timing.csv, below the folders that contain the folder of the run. Adds a line for each. */
void rt_session_find_moved(rt_config *config, const char *folder, rt_writer *lines);

/* Returns the cells of a session that begins now: time (UTC), host name, version and `revision` (""
 * if unknown) of the program with its kernels, command line, and `data`, the list of
 * rt_session_data. The caller frees the text; NULL if the heap is exhausted. */
char *rt_session_cells(const char *data, const char *revision, int argc, char *const *argv);

#endif
