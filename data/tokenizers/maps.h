#ifndef ROTOR_DATA_TOKENIZERS_MAPS_H
#define ROTOR_DATA_TOKENIZERS_MAPS_H

/* Hash tables of strings and of pairs of pieces, and a priority queue of pairs.
 *
 * The seed of the hash is an address, which is random in every process, so that colliding keys
 * cannot be prepared. Results do not depend on it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slots of a hash table. */
typedef struct rt_slots {
    struct rt_slot *list;
    size_t count; /* a power of two */
} rt_slots;

/* Map from byte strings to numbers 0, 1, ... in the order of insertion. It starts zeroed. */
typedef struct rt_byte_map {
    int32_t count;
    rt_slots slots;
    size_t *starts;       /* (count + 1): offset of each string in `bytes` */
    size_t capacity;      /* of starts */
    char *bytes;          /* zero-terminated strings */
    size_t byte_capacity; /* size of `bytes` */
} rt_byte_map;

void rt_byte_map_free(rt_byte_map *map);

/* Returns the number of a string, which is added if it is new (the number is then the previous
 * count). -1 if memory is exhausted or there are INT32_MAX / 2 strings. */
int32_t rt_byte_map_add(rt_byte_map *map, const void *bytes, size_t size);

/* Returns the number of a string, -1 if it is missing. */
int32_t rt_byte_map_find(const rt_byte_map *map, const void *bytes, size_t size);

/* Returns a string, zero-terminated. It is valid until the next one is added. */
static inline const char *rt_byte_map_at(const rt_byte_map *map, int32_t number, size_t *size)
{
    *size = map->starts[number + 1] - map->starts[number] - 1;
    return map->bytes + map->starts[number];
}

/* Pair of neighbouring pieces: a merge of a tokenizer, or a pair counted in training. */
typedef struct rt_pair {
    int32_t left, right; /* ids */
    union {
        int64_t rank;  /* merges of lower rank come first */
        int64_t count; /* training: occurrences in the texts */
    };
    union {
        int32_t joined; /* piece that the merge gives */
        int32_t places; /* training: list of words with the pair; 0: none */
    };
    int32_t step; /* training: last merge that made the pair more frequent */
} rt_pair;

/* Map from pairs of ids to rt_pair. It starts zeroed. */
typedef struct rt_pairs {
    int32_t count;
    rt_slots slots;
    rt_pair *list; /* in the order of insertion */
    size_t capacity;
} rt_pairs;

void rt_pairs_free(rt_pairs *pairs);

/* Returns the pair of two pieces, which is added with zeros if it is new; valid until the next
 * call. NULL if memory is exhausted or there are INT32_MAX / 2 pairs. */
rt_pair *rt_pairs_at(rt_pairs *pairs, int32_t left, int32_t right);

/* Returns the pair of two pieces, or NULL. */
const rt_pair *rt_pairs_find(const rt_pairs *pairs, int32_t left, int32_t right);

/* Entry of the queue. */
typedef struct rt_waiting {
    int64_t first;       /* sorted by `first`, */
    int32_t left, right; /* then by `left`, then by `right`, ascending */
    int32_t value;
} rt_waiting;

/* Priority queue (binary heap). It starts zeroed except `order` and `context`. */
typedef struct rt_queue {
    int (*order)(const void *context, int32_t a, int32_t b); /* NULL: numeric */
    const void *context;
    rt_waiting *list;
    size_t count, capacity;
    bool failed; /* memory is exhausted */
} rt_queue;

void rt_queue_push(rt_queue *queue, rt_waiting new);

/* Removes and returns the first entry of a queue that is not empty. */
rt_waiting rt_queue_pop(rt_queue *queue);

#endif
