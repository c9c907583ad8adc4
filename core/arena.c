#include "core/arena.h"

#include "core/memory.h"

#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

enum { ALIGNMENT = 64, SMALLEST_CHUNK = 1 << 18 };

/* The bytes follow the header, which fills one alignment unit. */
struct rt_arena_chunk {
    rt_arena_chunk *older;
    size_t size;
    size_t used;
};

void rt_poison(const void *memory, size_t bytes)
{
#ifdef ADDRESS_SANITIZER
    __asan_poison_memory_region(memory, bytes);
#else
    (void)memory, (void)bytes;
#endif
}

void rt_unpoison(const void *memory, size_t bytes)
{
#ifdef ADDRESS_SANITIZER
    __asan_unpoison_memory_region(memory, bytes);
#else
    (void)memory, (void)bytes;
#endif
}

static char *chunk_bytes(rt_arena_chunk *chunk)
{
    return (char *)chunk + ALIGNMENT;
}

static rt_arena_chunk *chunk_new(size_t size, rt_arena_chunk *older)
{
    rt_arena_chunk *chunk = rt_alloc(size + ALIGNMENT, 1);
    if (!chunk)
        return NULL;
    chunk->older = older;
    chunk->size = size;
    rt_poison(chunk_bytes(chunk), size);
    return chunk;
}

void *rt_arena_take(rt_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    size_t wanted = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    rt_arena_chunk *chunk = arena->newest;
    if (!chunk || chunk->size - chunk->used < wanted) {
        size_t size = chunk ? 2 * chunk->size : SMALLEST_CHUNK;
        chunk = chunk_new(size > wanted ? size : wanted, arena->newest);
        if (!chunk)
            return NULL;
        arena->newest = chunk;
    }
    char *memory = chunk_bytes(chunk) + chunk->used;
    chunk->used += wanted;
    arena->used += wanted;
    rt_unpoison(memory, bytes);
    return memory;
}

static void free_chunks(rt_arena_chunk *chunk)
{
    while (chunk) {
        rt_arena_chunk *older = chunk->older;
        rt_unpoison(chunk_bytes(chunk), chunk->size);
        rt_free(chunk);
        chunk = older;
    }
}

void rt_arena_clear(rt_arena *arena)
{
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    arena->used = 0;
    if (!arena->newest)
        return;
    if (arena->newest->older) {
        free_chunks(arena->newest);
        arena->newest = chunk_new(arena->peak, NULL); /* if refused, the next round grows anew */
        return;
    }
    arena->newest->used = 0;
    rt_poison(chunk_bytes(arena->newest), arena->newest->size);
}

void rt_arena_free(rt_arena *arena)
{
    free_chunks(arena->newest);
    arena->newest = NULL;
    arena->used = 0;
}
