#ifndef ROTOR_DATA_TOKEN_RUN_H
#define ROTOR_DATA_TOKEN_RUN_H

/* Runs of tokens: the ids of a text or of a file, one after the other, wherever they are. What
 * draws windows sees one long run of all of them. A place where ids can be is a row of functions:
 * memory (id_list.h) and files that are read in place (token_file.h), which are token files and
 * texts in the cache (token_cache.h).
 *
 * A run is only read once it is open, by several threads if need be. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_token_place_kind {
    /* The ids first ... first + count - 1; false if they cannot be read, or are no longer ids. */
    bool (*read)(void *ids, size_t first, size_t count, int32_t *to);
    rt_status (*status)(void *ids); /* the first failure of a read; NULL: there can be none */
    void (*close)(void *ids);
} rt_token_place_kind;

typedef struct rt_token_run {
    const rt_token_place_kind *kind;
    void *ids;
    size_t count;
} rt_token_run;

/* Starts zeroed. */
typedef struct rt_token_runs {
    rt_token_run *list;
    size_t count, room;
    size_t tokens; /* of all of them */
} rt_token_runs;

/* The most tokens of a run, so that a random number can choose among those of several. */
#define RT_TOKENS_LIMIT (((size_t)1 << 48) - 1)

/* Adds a run behind the others, whose ids belong to the list then. RT_MEMORY: they are closed. */
rt_status rt_token_runs_add(rt_token_runs *runs, rt_token_run run) RT_MUST_CHECK;
void rt_token_runs_close(rt_token_runs *runs);

/* Tokens first ... first + count - 1 of the one long run. */
bool rt_token_runs_read(const rt_token_runs *runs, size_t first, size_t count, int32_t *ids);
rt_status rt_token_runs_status(const rt_token_runs *runs) RT_MUST_CHECK;

/* The first place of an id among tokens first ... end - 1, `end` if there is none; the last one,
 * SIZE_MAX if there is none. What cannot be read holds none. */
size_t rt_token_runs_find(const rt_token_runs *runs, size_t first, size_t end, int32_t id);
size_t rt_token_runs_find_last(const rt_token_runs *runs, size_t first, size_t end, int32_t id);

#endif
