#define _GNU_SOURCE /* sched_getaffinity */
#include "train/world/processors.h"

#include "core/memory.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>
#include <xxhash.h>

enum { FIRST_SIZE = 1024, LARGEST_SIZE = 1 << 20 }; /* processors */

/* The set, which the caller frees; NULL if it cannot be had. The kernel refuses a set that has
 * less room than its own, and does not say how much that is. */
static cpu_set_t *usable(size_t *bytes)
{
    cpu_set_t *set = NULL;
    bool too_small = true;
    for (size_t size = FIRST_SIZE; too_small && size <= LARGEST_SIZE; size *= 2) {
        *bytes = CPU_ALLOC_SIZE(size);
        set = rt_alloc(*bytes, 1);
        if (!set || !sched_getaffinity(0, *bytes, set))
            return set;
        too_small = errno == EINVAL;
        rt_free(set);
    }
    return NULL;
}

int rt_processors(void)
{
    size_t bytes;
    cpu_set_t *set = usable(&bytes);
    const long count = set ? CPU_COUNT_S(bytes, set) : sysconf(_SC_NPROCESSORS_ONLN);
    rt_free(set);
    return count > 1 ? (int)count : 1;
}

uint64_t rt_processors_digest(void)
{
    size_t bytes;
    cpu_set_t *set = usable(&bytes);
    const uint64_t digest = set ? XXH3_64bits(set, bytes) : 0;
    rt_free(set);
    return digest;
}
