#ifndef ROTOR_CORE_ARENA_H
#define ROTOR_CORE_ARENA_H

/* An arena: memory that is allocated piece by piece and released all at once, in rounds. Every
 * round fills the same list of chunks, so that equal rounds get the same memory without the heap.
 * Under AddressSanitizer, released memory is poisoned. A dry arena has reserved memory
 * (core/memory.h). */

#include <stdbool.h>
#include <stddef.h>

typedef struct rt_arena_chunk rt_arena_chunk;

typedef struct rt_arena {
    rt_arena_chunk *first;
    rt_arena_chunk *current; /* the chunk being filled */
    size_t peak;             /* bytes allocated in the largest round */
    size_t used;             /* bytes allocated in this round */
    size_t touched;          /* bytes used in any round, each counted once: bounds the pages */
    size_t space;            /* bytes of all chunks: address space */
    bool dry;                /* set before the first allocation */
} rt_arena;

/* Returns memory aligned to 64 bytes, not zeroed; NULL if the heap is exhausted. */
void *rt_arena_take(rt_arena *arena, size_t bytes);

/* Releases all memory. */
void rt_arena_clear(rt_arena *arena);

/* Position to which an arena can be reset until it is cleared. */
typedef struct rt_arena_mark {
    rt_arena_chunk *chunk; /* NULL: nothing was allocated */
    size_t in_chunk, used;
} rt_arena_mark;

rt_arena_mark rt_arena_here(const rt_arena *arena);

/* Releases all memory since the mark except `kept`, which was allocated since and is moved. Returns
 * its new address; NULL if `kept` is NULL. */
void *rt_arena_keep(rt_arena *arena, rt_arena_mark mark, const void *kept, size_t bytes);

/* Releases all memory and returns the pages of large chunks to the system until the next use. */
void rt_arena_return_pages(rt_arena *arena);

/* Frees all chunks. */
void rt_arena_free(rt_arena *arena);

#endif
