#ifndef ROTOR_DATA_TOKENIZERS_MERGES_H
#define ROTOR_DATA_TOKENIZERS_MERGES_H

/* Which two pieces of a byte-pair encoding are joined, into which, and in which order. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_merge {
    int32_t left, right; /* pieces */
    int32_t joined;      /* the piece that they make */
    int32_t rank;        /* of two merges that of lower rank comes first */
} rt_merge;

/* Starts zeroed. */
typedef struct rt_merges {
    rt_merge *list; /* sorted by left and right; filled by its owner before it is completed */
    size_t count;
    rt_merge *slots; /* the same by their hash, left = -1 in those that are empty; NULL: a file has
                        merges whose hashes collide, and the list is searched */
    uint32_t mask;   /* the number of slots, a power of two, less 1 */
} rt_merges;

/* Sorts the list and makes the slots. Of a pair that comes twice the higher rank holds, as in
 * tokenizers. False when the heap is exhausted. */
bool rt_merges_complete(rt_merges *merges);
void rt_merges_free(rt_merges *merges);

/* The merge of two pieces, or NULL; the time has a bound whatever the merges are. */
const rt_merge *rt_merges_find(const rt_merges *merges, int32_t left, int32_t right);

#endif
