#ifndef ROTOR_DATA_TOKENIZERS_BPE_PAIRS_H
#define ROTOR_DATA_TOKENIZERS_BPE_PAIRS_H

/* Pairs of tokens by their two ids, while a byte-level BPE is trained (bpe_train.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_bpe_pair {
    uint64_t key;   /* the left id in the upper half, the right one below; ascending as both are */
    int64_t count;  /* how often the pair stands in the texts */
    int32_t places; /* the words that got it in this step, as a list; 0: none */
} rt_bpe_pair;

/* Starts zeroed. */
typedef struct rt_bpe_pairs {
    rt_bpe_pair *slots; /* by the hash of their key */
    size_t capacity;    /* a power of two */
    size_t count;
} rt_bpe_pairs;

/* The pair of a key, which is new if it was not there, until the next one is asked for; NULL when
 * the heap is exhausted. */
rt_bpe_pair *rt_bpe_pairs_at(rt_bpe_pairs *pairs, uint64_t key);
void rt_bpe_pairs_free(rt_bpe_pairs *pairs);

static inline uint64_t rt_bpe_key(int32_t left, int32_t right)
{
    return (uint64_t)left << 32 | (uint64_t)right;
}

#endif
