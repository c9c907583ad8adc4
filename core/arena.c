#include "core/arena.h"

#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>

enum { ALIGNMENT = 64, SMALLEST_CHUNK = 1 << 18 };

/* The bytes follow the header, which fills one alignment unit. In a dry arena they are reserved. */
struct rt_arena_chunk {
    rt_arena_chunk *next;
    char *bytes;
    size_t size;
    size_t used;
    size_t touched; /* maximum of `used` */
};

static bool fits(const rt_arena_chunk *chunk, size_t bytes)
{
    return chunk->size - chunk->used >= bytes;
}

/* Poisons the unused bytes of a chunk. */
static void poison_rest(const rt_arena_chunk *chunk)
{
    rt_poison(chunk->bytes + chunk->used, chunk->size - chunk->used);
}

void *rt_arena_take(rt_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    const size_t wanted = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    while (arena->current && !fits(arena->current, wanted) && arena->current->next)
        arena->current = arena->current->next;
    rt_arena_chunk *chunk = arena->current;
    if (!chunk || !fits(chunk, wanted)) { /* the pages of a new chunk cost nothing before use */
        const size_t grown = chunk ? 2 * chunk->size : SMALLEST_CHUNK;
        const size_t size = grown > wanted ? grown : wanted;
        rt_arena_chunk **link = chunk ? &chunk->next : &arena->first;
        chunk = rt_alloc_unset(arena->dry ? ALIGNMENT : size + ALIGNMENT, 1);
        if (!chunk)
            return NULL;
        *chunk = (rt_arena_chunk){.size = size,
                                  .bytes = arena->dry ? RT_RESERVED : (char *)chunk + ALIGNMENT};
        poison_rest(chunk);
        *link = chunk;
        arena->current = chunk;
        arena->space += size + ALIGNMENT;
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += wanted;
    arena->used += wanted;
    if (chunk->used > chunk->touched) {
        arena->touched += chunk->used - chunk->touched;
        chunk->touched = chunk->used;
    }
    rt_unpoison(memory, bytes);
    return memory;
}

rt_arena_mark rt_arena_here(const rt_arena *arena)
{
    return (rt_arena_mark){arena->current, arena->current ? arena->current->used : 0, arena->used};
}

/* Keeps the bytes at or before their old address, so the heap is not needed. */
void *rt_arena_keep(rt_arena *arena, rt_arena_mark mark, const void *kept, size_t bytes)
{
    rt_arena_chunk *const first = mark.chunk ? mark.chunk : arena->first;
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    for (rt_arena_chunk *chunk = first; chunk; chunk = chunk->next)
        chunk->used = chunk == mark.chunk ? mark.in_chunk : 0;
    arena->current = first;
    arena->used = mark.used;
    void *memory = kept ? rt_arena_take(arena, bytes) : NULL;
    rt_memory_copy(memory, kept, bytes);
    for (rt_arena_chunk *chunk = first; chunk; chunk = chunk->next)
        poison_rest(chunk);
    return memory;
}

void rt_arena_clear(rt_arena *arena)
{
    rt_arena_keep(arena, (rt_arena_mark){NULL, 0, 0}, NULL, 0);
}

void rt_arena_return_pages(rt_arena *arena)
{
    rt_arena_clear(arena);
    for (rt_arena_chunk *chunk = arena->first; chunk; chunk = chunk->next)
        rt_memory_return_pages(chunk->bytes, chunk->size);
}

void rt_arena_free(rt_arena *arena)
{
    rt_arena_chunk *chunk = arena->first;
    while (chunk) {
        rt_arena_chunk *next = chunk->next;
        rt_unpoison(chunk->bytes, chunk->size);
        rt_free(chunk);
        chunk = next;
    }
    *arena = (rt_arena){0};
}
