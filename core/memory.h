#ifndef ROTOR_CORE_MEMORY_H
#define ROTOR_CORE_MEMORY_H

/* All heap memory of the library is allocated here. Counting it lets a test say that
 * nothing leaked, and refusing the n-th request lets it try every failure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns zeroed memory for `count` elements of `size` bytes, aligned to 64 bytes. NULL if the heap
 * is exhausted or count * size overflows. Never NULL for 0 bytes. */
void *rt_alloc(size_t count, size_t size) __attribute__((warn_unused_result));

/* Allocates as rt_alloc, without zeroing. Pages of a large block that are never written cost
 * nothing (on Linux), whether or not the block is zeroed. */
void *rt_alloc_unset(size_t count, size_t size) __attribute__((warn_unused_result));

/* Returns an array with room for at least `needed` elements of `size` bytes: the given one, or a
 * larger copy, whose number of elements goes to *capacity. An array that is NULL has the capacity
 * 0. NULL if the heap is exhausted; the given array is then as it was. */
void *rt_grow(void *array, size_t *capacity, size_t needed, size_t size)
    __attribute__((warn_unused_result));

/* Returns a copy of a string that the caller frees; NULL as above. */
char *rt_copy_text(const char *text) __attribute__((warn_unused_result));

void rt_free(void *memory);

/* Returns the shared copy of bytes or of a text, which is aligned for every type and kept until the
 * process ends. Equal bytes have one copy. Texts and lists of options are such copies: options are
 * assigned as plain structs, and nobody frees their parts. NULL if the heap is exhausted. Several
 * threads may call the functions. */
const void *rt_intern(const void *bytes, size_t size);
const char *rt_intern_text(const char *text);

/* Gives the pages of unused memory back to the system, as far as possible. The contents are
 * arbitrary afterwards. */
void rt_memory_rest(void *memory, size_t bytes);

/* ---- reserved memory: what a dry run has in place of the memory of a run ----
 *
 * Reserved memory is counted, but not allocated: its addresses are RT_RESERVED and those behind it,
 * 2^55 on a machine of 64 bits, where nothing is. Pointers into it can be computed, passed on and
 * freed, but a read or a write of it ends the program. So numbers are written by ops, by
 * rt_memory_copy, or after a look at rt_memory_is_present. */
#define RT_RESERVED ((void *)(UINTPTR_MAX / 512 + 1))

/* Purposes of large memory. */
typedef enum rt_purpose {
    RT_FOR_VALUES,    /* of parameters */
    RT_FOR_GRADIENTS, /* of parameters */
    RT_FOR_TABLES,    /* of positions */
    RT_FOR_ROUNDED,   /* parameters in bf16 */
    RT_FOR_STATES,    /* of the optimizer */
    RT_FOR_UPDATES,   /* scratch memory of the optimizer */
    RT_FOR_RECEIVED,  /* gradients of other processes */
    RT_FOR_BATCHES,
    RT_PURPOSES
} rt_purpose;

/* Bytes that have been reserved. */
typedef struct rt_account {
    size_t bytes[RT_PURPOSES];
} rt_account;

/* Allocates as rt_alloc if there is no account (NULL). Otherwise adds the bytes to the account and
 * returns reserved memory. Returns NULL if the heap is exhausted or a size overflows. */
void *rt_account_alloc(rt_account *account, rt_purpose purpose, size_t count, size_t size)
    __attribute__((warn_unused_result));

/* Returns whether memory can be read and written: it is neither reserved nor NULL. */
bool rt_memory_is_present(const void *memory);

/* Copies as memmove, unless the source or the target is reserved. */
void rt_memory_copy(void *to, const void *from, size_t bytes);

/* Marks memory as out of bounds for AddressSanitizer, and as valid again. */
void rt_poison(const void *memory, size_t bytes);
void rt_unpoison(const void *memory, size_t bytes);

/* Return the number of blocks that are allocated and not yet freed, and the number of requests
 * since the start. */
size_t rt_memory_live(void);
size_t rt_memory_requests(void);

/* Makes the n-th request from now on fail, once; 0 makes none fail. For tests. */
void rt_memory_fail_at(size_t n);

#endif
