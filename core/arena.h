#ifndef ROTOR_CORE_ARENA_H
#define ROTOR_CORE_ARENA_H

/* An arena: memory that is handed out piece by piece and taken back all at once.
 * It is a list of chunks that every round fills from the first on: a round that asks for what
 * an earlier one asked for gets the same memory, and does not call the heap.
 * Under AddressSanitizer what has been taken back is poisoned.
 *
 * A dry arena has reserved memory (core/memory.h), counted chunk by chunk as that of any other.
 */

#include <stdbool.h>
#include <stddef.h>

typedef struct rt_arena_chunk rt_arena_chunk;

typedef struct rt_arena {
    rt_arena_chunk *first;
    rt_arena_chunk *current; /* from here on there is room */
    size_t peak;             /* bytes handed out in the fullest round */
    size_t used;             /* bytes handed out in this round */
    bool dry;                /* set before the first byte is asked for */
} rt_arena;

/* Returns memory aligned to 64 bytes, not zeroed; NULL if the heap is exhausted. */
void *rt_arena_take(rt_arena *arena, size_t bytes);

/* Takes memory as rt_arena_take that can be used even if the arena is dry: then the arena counts
 * the bytes, and `present`, which is not dry, has them. */
void *rt_arena_take_present(rt_arena *arena, rt_arena *present, size_t bytes);

/* Takes all memory back. */
void rt_arena_clear(rt_arena *arena);

/* Position to which an arena can be reset until it is cleared. */
typedef struct rt_arena_mark {
    rt_arena_chunk *chunk; /* NULL: nothing has been handed out */
    size_t in_chunk, used;
} rt_arena_mark;

rt_arena_mark rt_arena_here(const rt_arena *arena);

/* Takes back all memory since the mark except `kept`, which must be part of it and is moved.
 * Returns its new place. */
void *rt_arena_keep(rt_arena *arena, rt_arena_mark mark, const void *kept, size_t bytes);

/* Return the bytes that were handed out in any round, each counted once, and the bytes of all
 * chunks. Pages outside the former were never touched; the latter is the address space. */
size_t rt_arena_touched(const rt_arena *arena);
size_t rt_arena_space(const rt_arena *arena);

/* Takes all memory back, and gives its pages back to the system until they are used again. */
void rt_arena_rest(rt_arena *arena);

/* Frees all memory. */
void rt_arena_free(rt_arena *arena);

#endif
