#ifndef ROTOR_CORE_MEMORY_H
#define ROTOR_CORE_MEMORY_H

/* The library allocates its heap memory here, but for streams in memory, JSON and HDF5. Blocks are
 * counted, so that a test can find leaks, and the n-th request can be made to fail, so that a test
 * can try every failure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns zeroed memory for `count` elements of `size` bytes, aligned to 64 bytes. NULL only if the
 * heap is exhausted or count * size overflows, also for 0 bytes. */
void *rt_alloc(size_t count, size_t size) __attribute__((warn_unused_result));

/* Allocates as rt_alloc, without zeroing. Pages of a large block that are never written cost
 * nothing (on Linux), whether or not the block is zeroed. */
void *rt_alloc_unset(size_t count, size_t size) __attribute__((warn_unused_result));

/* Extends an array to at least `needed` elements of `size` bytes. `array` is the address of the
 * pointer to it. An array that is too small is replaced by a larger copy, and *capacity becomes its
 * number of elements. A NULL array has the capacity 0. Returns false, with the array unchanged, if
 * the heap is exhausted. */
bool rt_grow(void *array, size_t *capacity, size_t needed, size_t size)
    __attribute__((warn_unused_result));

/* Returns a copy of a string, which the caller frees; NULL if the heap is exhausted. */
char *rt_copy_text(const char *text) __attribute__((warn_unused_result));

void rt_free(void *memory);

/* Memory that belongs to a block of code, which frees it when it is left, also by RT_TRY:
 *
 *     RT_OWNED double *theta = copy_of(other);
 *     RT_TRY(rt_allocated(theta, "theta"));
 *
 * RT_CLOSED_BY does so for a struct, by the function that closes it. Both need an initial value. */
#define RT_CLOSED_BY(function) __attribute__((cleanup(function)))
#define RT_OWNED               RT_CLOSED_BY(rt_free_owned)

/* Frees the memory of a variable, a pointer at this address. */
void rt_free_owned(void *variable);

/* Returns the shared copy of bytes or of a text, aligned for every type and kept until the process
 * ends. Equal bytes share one copy. Texts and lists of options are such copies: options are
 * assigned as plain structs, and nobody frees their parts. NULL if the heap is exhausted.
 * Thread-safe. */
const void *rt_intern(const void *bytes, size_t size);
const char *rt_intern_text(const char *text);

/* Returns the pages of unused memory to the system, as far as possible. The contents are arbitrary
 * afterwards. */
void rt_memory_return_pages(void *memory, size_t bytes);

/* Reserved memory, which replaces the memory of a run in a dry run. It is counted, but not
 * allocated: its addresses start at RT_RESERVED (2^55 on a 64-bit machine), where nothing is
 * mapped. Pointers into it can be computed, passed on and freed, but a read or a write ends the
 * program. So only ops and rt_memory_copy write numbers, or code that has checked
 * rt_memory_is_present. */
#define RT_RESERVED ((void *)(UINTPTR_MAX / 512 + 1))

/* Purposes of large memory. */
typedef enum rt_purpose {
    RT_FOR_VALUES,    /* of parameters */
    RT_FOR_GRADIENTS, /* of parameters */
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

/* Allocates as rt_alloc if the account is NULL, large blocks in huge pages where the system has
 * them: a loop over all weights then takes a third less time. Otherwise adds the bytes to the
 * account and returns reserved memory. NULL if the heap is exhausted or a size overflows. */
void *rt_account_alloc(rt_account *account, rt_purpose purpose, size_t count, size_t size)
    __attribute__((warn_unused_result));

/* Returns whether memory can be read and written: it is neither reserved nor NULL. */
bool rt_memory_is_present(const void *memory);

/* Copies as memmove, unless the source or the target is reserved. */
void rt_memory_copy(void *to, const void *from, size_t bytes);

/* Marks memory as out of bounds for AddressSanitizer, and as valid again. */
void rt_poison(const void *memory, size_t bytes);
void rt_unpoison(const void *memory, size_t bytes);

/* Returns the number of allocated blocks, and the number of requests since the start. */
size_t rt_memory_live(void);
size_t rt_memory_requests(void);

/* Makes the n-th request from now on fail, once; 0 makes none fail. For tests. */
void rt_memory_fail_at(size_t n);

#endif
