#ifndef ROTOR_DATA_TOKENS_H
#define ROTOR_DATA_TOKENS_H

/* The store of tokens: runs of consecutive ids, in memory or in files that are read in place.
 * Readers see all runs as one long run. Several threads may read them. */

#include "data/token_formats.h"

/* It starts zeroed. */
typedef struct rt_tokens {
    struct rt_token_run **list;
    size_t runs, capacity;
    size_t count; /* of the tokens of all runs */
} rt_tokens;

/* Adds ids in memory, which then belong to the store. On RT_MEMORY they are freed. */
rt_status rt_tokens_add_ids(rt_tokens *tokens, rt_id_list ids) RT_MUST_CHECK;

/* Adds the token ids of a file: its format, key, path and data set.
 *
 * Ids are read in place, a window at a time. The file is never mapped, so truncation during a read
 * is an error, not a signal. HDF5 opens the file in a child process; a second one decodes chunked
 * data to an unnamed temporary file. In files up to 256 MiB every id is checked against 0 ...
 * vocab-1 at once, in larger ones when it is read. The next read fails if a file was truncated,
 * rewritten or replaced.
 *
 * A file with checksums can be made again, and its name may disappear. Ids are compared with them
 * at once, in files above 1 GiB at the first read; a damaged file is removed. They are freed in any
 * case.
 *
 * RT_DATA names the file, the data set, the key and the fault: also a file on which HDF5 crashes or
 * exceeds its time, a layout that refers to other files or external code, chunks above 32 MiB, and
 * data that was never written. RT_IO if there can be no child process or temporary file. Call it
 * before starting threads (util/process.h). On an error the store is unchanged. */
rt_status rt_tokens_add_file(rt_tokens *tokens, rt_token_input file, int vocab) RT_MUST_CHECK;
void rt_tokens_close(rt_tokens *tokens);

/* Reads tokens first ... first + count - 1. Returns false if they cannot be read or are invalid
 * ids. */
bool rt_tokens_read(const rt_tokens *tokens, size_t first, size_t count, int32_t *ids);

/* Returns RT_DATA with the first failed read. */
rt_status rt_tokens_status(const rt_tokens *tokens) RT_MUST_CHECK;

/* Returns the first, or the last, position of an id among tokens first ... end - 1; SIZE_MAX if
 * there is none. Tokens that cannot be read count as other ids. */
size_t rt_tokens_find(const rt_tokens *tokens, size_t first, size_t end, int32_t id, bool last);

#endif
