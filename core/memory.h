#ifndef ROTOR_CORE_MEMORY_H
#define ROTOR_CORE_MEMORY_H

/* All heap memory of the library is allocated here. Counting it lets a test say that
 * nothing leaked, and refusing the n-th request lets it try every failure.
 */

#include <stddef.h>

/* Zeroed memory for `count` elements of `size` bytes, aligned to 64 bytes; NULL
 * when the heap is exhausted or count * size overflows. Never NULL for 0 bytes. */
void *rt_alloc(size_t count, size_t size) __attribute__((warn_unused_result));

/* The same, not zeroed. Of a large block, zeroed or not, pages that are never written cost
 * nothing (on Linux). */
void *rt_alloc_unset(size_t count, size_t size) __attribute__((warn_unused_result));

/* A copy of a string that the caller frees; NULL as above. */
char *rt_copy_text(const char *text) __attribute__((warn_unused_result));

void rt_free(void *memory);

/* Returns the shared copy of bytes or of a text, which is aligned for every type and kept until the
 * process ends. Equal bytes have one copy. Texts and lists of options are such copies: options are
 * assigned as plain structs, and nobody frees their parts. NULL if the heap is exhausted. Several
 * threads may call the functions. */
const void *rt_intern(const void *bytes, size_t size);
const char *rt_intern_text(const char *text);

/* Gives the pages of memory that nobody uses for a while back to the system, as far as it can: what
 * stood there is lost, and what stands there then is arbitrary. */
void rt_memory_rest(void *memory, size_t bytes);

/* ---- a dry run: memory that is counted, not allocated ---- */

typedef struct rt_tally {
    size_t bytes;
} rt_tally;

/* The pointer that a dry run has instead of memory: not NULL, and never to be read or written. */
#define RT_NOWHERE ((void *)64)

/* rt_alloc if there is no tally. With one, nothing is allocated: the bytes are added to it, and the
 * memory is RT_NOWHERE, which rt_free leaves alone. NULL when count * size overflows. */
void *rt_alloc_or_count(rt_tally *tally, size_t count, size_t size)
    __attribute__((warn_unused_result));

/* Blocks that were allocated and not yet freed; requests made since the start. */
size_t rt_memory_live(void);
size_t rt_memory_requests(void);

/* Makes the n-th request from now on fail, once; 0 makes none fail. For tests. */
void rt_memory_fail_at(size_t n);

#endif
