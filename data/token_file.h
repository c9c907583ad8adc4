#ifndef ROTOR_DATA_TOKEN_FILE_H
#define ROTOR_DATA_TOKEN_FILE_H

/* Runs of tokens: the ids of a text or of a file, one after the other, in memory or in a file that
 * is read in place, which is a file of token ids or a text in the cache (token_cache.h). What
 * draws windows sees one long run of all of them.
 *
 * A run is only read once it is open, by several threads if need be. */

#include "core/status.h"
#include "data/file_list.h"
#include "data/token_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts zeroed. */
typedef struct rt_token_runs {
    struct rt_token_run **list;
    size_t count, room;
    size_t tokens; /* of all of them */
} rt_token_runs;

/* Adds ids in memory, which belong to the runs then. RT_MEMORY: they are freed. */
rt_status rt_token_runs_add_ids(rt_token_runs *runs, rt_id_list ids) RT_MUST_CHECK;

/* Checksums (XXH3-64) of the ids in a file, one for each RT_SUMMED bytes of them. */
enum { RT_SUMMED = 1 << 16 };
typedef struct rt_token_sums {
    uint64_t *list;
    size_t count;
} rt_token_sums;

/* Adds the token ids of a file (token_format.h), or of a data set of an HDF5 file.
 *
 * They are read where they are, a window at a time, and never mapped: a file that is cut while it
 * is read is an error of the read. HDF5 sees a file only while it is opened, in a child process;
 * what lies in chunks is decoded then, into a temporary file without a name. Every id of a file of
 * up to 256 MiB is looked at, to see that it is in 0 ... vocab-1; those of a larger one are looked
 * at when they are read. A file that is cut, written again or replaced is an error of the next
 * read.
 *
 * `sums`, or NULL: rotor wrote the file, whose name may go while it is read. Its ids are compared
 * with the checksums when it is opened, or those of a file above 1 GiB when they are read first;
 * then a file whose ids differ is removed. The list is freed in any case.
 *
 * RT_DATA names the file, the data set, the `key` that names them, which is not copied, and what is
 * wrong: also a file that HDF5 crashes on or does not get done with, a layout that leads to other
 * files or to code outside of HDF5, chunks too large for a cache of 32 MiB, and places that were
 * never written. RT_IO if there can be no child process or no temporary file. To be called before
 * threads are started (see text/process.h). On an error the runs are as they were. */
rt_status rt_token_runs_add_file(rt_token_runs *runs, const char *key, const rt_data_file *file,
                                 int vocab, rt_token_sums *sums) RT_MUST_CHECK;
void rt_token_runs_close(rt_token_runs *runs);

/* Reads tokens first ... first + count - 1 of the one long run; false if they cannot be read, or
 * are no longer ids. */
bool rt_token_runs_read(const rt_token_runs *runs, size_t first, size_t count, int32_t *ids);

/* Returns the first failure of a read. */
rt_status rt_token_runs_status(const rt_token_runs *runs) RT_MUST_CHECK;

/* The first place of an id among tokens first ... end - 1, `end` if there is none; the last one,
 * SIZE_MAX if there is none. What cannot be read holds none. */
size_t rt_token_runs_find(const rt_token_runs *runs, size_t first, size_t end, int32_t id);
size_t rt_token_runs_find_last(const rt_token_runs *runs, size_t first, size_t end, int32_t id);

#endif
