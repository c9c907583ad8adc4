#include "core/memory.h"

#include "core/real.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

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

/* From this size on, a block is zeroed or released by returning its pages to the system. */
enum { ALIGNMENT = 64, LARGE_BLOCK = 1 << 20 };

const char rt_precision_guard = 0;

static struct {
    atomic_size_t live;
    atomic_size_t requests;
    atomic_size_t fail_at; /* counts down; the request that reaches 0 fails */
} counter;

bool rt_memory_is_present(const void *memory)
{
    return memory && (uintptr_t)memory / (uintptr_t)RT_RESERVED != 1;
}

void *rt_alloc_unset(size_t count, size_t size)
{
    void *memory = NULL;
    size_t left = atomic_load(&counter.fail_at);
    while (left > 0 && !atomic_compare_exchange_weak(&counter.fail_at, &left, left - 1)) {
    }
    atomic_fetch_add(&counter.requests, 1);
    if (left == 1 || (size && count > (SIZE_MAX - ALIGNMENT) / size))
        return NULL;
    size_t bytes = count * size;
    if (posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1))
        return NULL;
    atomic_fetch_add(&counter.live, 1);
    return memory;
}

typedef struct shared_copy {
    struct shared_copy *next;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
} shared_copy;

static struct {
    pthread_mutex_t lock;
    shared_copy *first;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

const void *rt_intern(const void *bytes, size_t size)
{
    pthread_mutex_lock(&shared.lock);
    shared_copy *copy = shared.first;
    while (copy && (copy->size != size || memcmp(copy->bytes, bytes, size) != 0))
        copy = copy->next;
    if (!copy && (copy = rt_alloc_unset(sizeof *copy + size, 1))) {
        atomic_fetch_sub(&counter.live, 1); /* never freed, so not counted */
        copy->next = shared.first;
        copy->size = size;
        memcpy(copy->bytes, bytes, size);
        shared.first = copy;
    }
    pthread_mutex_unlock(&shared.lock);
    return copy ? copy->bytes : NULL;
}

const char *rt_intern_text(const char *text)
{
    return rt_intern(text, strlen(text) + 1);
}

/* Whole pages within a block. */
typedef struct pages {
    char *first;
    size_t bytes;
} pages;

/* Advises the system about the whole pages of a block (madvise(2)). Returns these pages; none where
 * the system does not support it. */
static pages advise(char *memory, size_t bytes, int advice)
{
#ifdef __linux__
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t before = (page - (uintptr_t)memory % page) % page;
    const pages whole = {memory + before, (bytes - before) / page * page};
    if (!madvise(whole.first, whole.bytes, advice))
        return whole;
#else
    (void)bytes, (void)advice;
#endif
    return (pages){memory, 0};
}

#ifndef __linux__
enum { MADV_DONTNEED, MADV_HUGEPAGE };
#endif

/* Returns the whole pages of a block to the kernel, which replaces them by zeroed ones on the next
 * access (holds for private memory, such as that of malloc). */
static pages drop_pages(char *memory, size_t bytes)
{
    return advise(memory, bytes, MADV_DONTNEED);
}

/* Zeroes the block by dropping its pages if it is large: they only cost time when they are
 * written. */
void *rt_alloc(size_t count, size_t size)
{
    char *memory = rt_alloc_unset(count, size);
    const size_t bytes = count * size;
    if (!memory)
        return NULL;
    const pages whole = bytes >= LARGE_BLOCK ? drop_pages(memory, bytes) : (pages){memory, 0};
    char *behind = whole.first + whole.bytes;
    memset(memory, 0, (size_t)(whole.first - memory));
    memset(behind, 0, (size_t)(memory + bytes - behind));
    return memory;
}

bool rt_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    void *old, *copy;
    memcpy(&old, array, sizeof old);
    if (old && needed <= *capacity)
        return true;
    const size_t larger = needed + needed / 2 + 64;
    copy = larger > needed ? rt_alloc_unset(larger, size) : NULL;
    if (!copy)
        return false;
    if (old)
        memcpy(copy, old, *capacity * size);
    rt_free(old);
    memcpy(array, &copy, sizeof copy);
    *capacity = larger;
    return true;
}

char *rt_copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = rt_alloc(bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void rt_free(void *memory)
{
    if (!rt_memory_is_present(memory))
        return;
    atomic_fetch_sub(&counter.live, 1);
    free(memory);
}

void rt_free_owned(void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    rt_free(memory);
}

void rt_memory_return_pages(void *memory, size_t bytes)
{
    if (rt_memory_is_present(memory) && bytes >= LARGE_BLOCK)
        drop_pages(memory, bytes);
}

void *rt_account_alloc(rt_account *account, rt_purpose purpose, size_t count, size_t size)
{
    if (!account) {
        void *memory = rt_alloc(count, size);
        if (memory && count * size >= LARGE_BLOCK)
            advise(memory, count * size, MADV_HUGEPAGE);
        return memory;
    }
    size_t *bytes = &account->bytes[purpose];
    if (size && count > (SIZE_MAX - *bytes) / size)
        return NULL;
    *bytes += count * size;
    return RT_RESERVED;
}

void rt_memory_copy(void *to, const void *from, size_t bytes)
{
    if (bytes && rt_memory_is_present(to) && rt_memory_is_present(from))
        memmove(to, from, bytes);
}

void rt_poison(const void *memory, size_t bytes)
{
#ifdef ADDRESS_SANITIZER
    if (rt_memory_is_present(memory))
        __asan_poison_memory_region(memory, bytes);
#else
    (void)memory, (void)bytes;
#endif
}

void rt_unpoison(const void *memory, size_t bytes)
{
#ifdef ADDRESS_SANITIZER
    if (rt_memory_is_present(memory))
        __asan_unpoison_memory_region(memory, bytes);
#else
    (void)memory, (void)bytes;
#endif
}

size_t rt_memory_live(void)
{
    return atomic_load(&counter.live);
}

size_t rt_memory_requests(void)
{
    return atomic_load(&counter.requests);
}

void rt_memory_fail_at(size_t n)
{
    atomic_store(&counter.fail_at, n);
}
