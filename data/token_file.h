#ifndef ROTOR_DATA_TOKEN_FILE_H
#define ROTOR_DATA_TOKEN_FILE_H

/* Runs of tokens: consecutive ids in memory, or in a file that is read in place (a file of token
 * ids, or a cached text, token_cache.h). Readers see all runs as one long run.
 *
 * An open run is read-only, so several threads may read it. */

#include "core/status.h"
#include "data/file_list.h"
#include "data/token_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* List of runs. It starts zeroed. */
typedef struct rt_token_runs {
    struct rt_token_run **list;
    size_t count, capacity;
    size_t tokens; /* sum over all runs */
} rt_token_runs;

/* Adds ids in memory, which then belong to the runs. On RT_MEMORY they are freed. */
rt_status rt_token_runs_add_ids(rt_token_runs *runs, rt_id_list ids) RT_MUST_CHECK;

/* Checksums (XXH3-64) of the ids in a file, one for each RT_SUMMED bytes. */
enum { RT_SUMMED = 1 << 16 };
typedef struct rt_token_sums {
    uint64_t *list;
    size_t count;
} rt_token_sums;

/* Adds the token ids of a file (token_format.h) or of a data set of an HDF5 file.
 *
 * Ids are read in place, a window at a time. The file is never mapped, so truncation during a read
 * is an error, not a signal. HDF5 opens the file in a child process; a second one decodes chunked
 * data to an unnamed temporary file. In files up to 256 MiB every id is checked against 0 ...
 * vocab-1 at once, in larger ones when it is read. The next read fails if a file was truncated,
 * rewritten or replaced.
 *
 * `sums` is NULL, or the checksums of a file that rotor wrote and whose name may disappear. Ids are
 * compared with them at once, in files above 1 GiB at the first read; a damaged file is removed.
 * The list is freed in any case.
 *
 * RT_DATA names the file, the data set, the `key` (borrowed) and the fault: also a file on which
 * HDF5 crashes or exceeds its time, a layout that refers to other files or external code, chunks
 * above 32 MiB, and data that was never written. RT_IO if there can be no child process or
 * temporary file. Call it before starting threads (text/process.h). On an error the runs are
 * unchanged. */
rt_status rt_token_runs_add_file(rt_token_runs *runs, const char *key, const rt_data_file *file,
                                 int vocab, rt_token_sums *sums) RT_MUST_CHECK;
void rt_token_runs_close(rt_token_runs *runs);

/* Reads tokens first ... first + count - 1 of the long run. Returns false if they cannot be read or
 * are invalid ids. */
bool rt_token_runs_read(const rt_token_runs *runs, size_t first, size_t count, int32_t *ids);

/* Returns the first failure of a read. */
rt_status rt_token_runs_status(const rt_token_runs *runs) RT_MUST_CHECK;

/* Returns the first position of an id among tokens first ... end - 1 (`end` if there is none), and
 * the last one (SIZE_MAX if there is none). Tokens that cannot be read count as other ids. */
size_t rt_token_runs_find(const rt_token_runs *runs, size_t first, size_t end, int32_t id);
size_t rt_token_runs_find_last(const rt_token_runs *runs, size_t first, size_t end, int32_t id);

#endif
