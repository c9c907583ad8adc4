#ifndef ROTOR_DATA_TOKENIZERS_MAPS_H
#define ROTOR_DATA_TOKENIZERS_MAPS_H

/* Hash tables of tokenizers, of strings and of pairs of pieces, and the queue of pairs.
 *
 * The seed of the hash is an address, which the system draws anew for every process: nobody can
 * prepare keys that collide. Results do not depend on it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers for strings of bytes, from 0 in the order in which they came first. Starts zeroed. */
typedef struct rt_byte_map {
    int32_t count;
    struct rt_byte_slot *slots;
    size_t slot_count; /* a power of two */
    size_t *starts;    /* (count + 1): in bytes */
    size_t capacity;   /* of starts */
    char *bytes;       /* the strings, a zero behind each */
    size_t room;       /* in bytes */
} rt_byte_map;

void rt_byte_map_free(rt_byte_map *map);

/* The number of a string, which is new if it is what count was; -1 when the heap is exhausted
 * or there are INT32_MAX / 2 strings. */
int32_t rt_byte_map_add(rt_byte_map *map, const void *bytes, size_t size);

/* The number of a string, -1 if it is not there. */
int32_t rt_byte_map_find(const rt_byte_map *map, const void *bytes, size_t size);

/* A string that was added, zero-terminated, until the next one is added. */
const char *rt_byte_map_at(const rt_byte_map *map, int32_t number, size_t *size);

/* A pair of neighbouring pieces: a merge of a tokenizer, or a pair that is counted in training. */
typedef struct rt_pair {
    int32_t left, right; /* ids; left = -1 in a slot that is empty */
    union {
        int64_t rank;  /* of two merges that of lower rank comes first */
        int64_t count; /* in training: occurrences in the texts */
    };
    union {
        int32_t joined; /* the piece that a merge makes */
        int32_t places; /* in training: list of words that have the pair; 0: none */
    };
    int32_t step; /* in training: the last merge that made the pair more frequent */
} rt_pair;

/* Starts zeroed. */
typedef struct rt_pairs {
    uint64_t *keys; /* of the slots: by themselves, as most searches end at a key */
    rt_pair *slots;
    size_t capacity; /* a power of two */
    size_t count;
} rt_pairs;

void rt_pairs_free(rt_pairs *pairs);

/* The pair of two pieces, zero otherwise if it is new, until the next one is asked for; NULL when
 * the heap is exhausted. */
rt_pair *rt_pairs_at(rt_pairs *pairs, int32_t left, int32_t right);

/* The pair of two pieces, or NULL. */
const rt_pair *rt_pairs_find(const rt_pairs *pairs, int32_t left, int32_t right);

/* What waits to be merged. */
typedef struct rt_waiting {
    int64_t first;       /* the least one comes first, */
    int32_t left, right; /* of equal ones that of the least `left`, and then of the least `right` */
    int32_t value;
} rt_waiting;

/* A queue by these numbers (a binary heap). Starts zeroed, but for `order` and `context`. */
typedef struct rt_queue {
    int (*order)(const void *context, int32_t a, int32_t b); /* NULL: of numbers */
    const void *context;
    rt_waiting *list;
    size_t count, capacity;
    bool failed; /* the heap of the process is exhausted */
} rt_queue;

void rt_queue_push(rt_queue *queue, rt_waiting new);

/* Takes the first one; there must be one. */
rt_waiting rt_queue_pop(rt_queue *queue);

#endif
