#ifndef ROTOR_DATA_TOKENIZERS_BYTE_MAP_H
#define ROTOR_DATA_TOKENIZERS_BYTE_MAP_H

/* Numbers for strings of bytes, from 0 in the order in which they came first.
 *
 * Strings have no zero byte, or all have the same size. A string is found in a time proportional
 * to its own size whatever the others are: strings that are made to collide do not slow it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts zeroed. */
typedef struct rt_byte_map {
    int32_t count;
    int32_t capacity;
    struct rt_byte_map_fork *forks; /* (count - 1): where strings part */
    size_t *starts;                 /* (count + 1): in bytes */
    char *bytes;                    /* the strings, a zero behind each */
    size_t room;                    /* in bytes */
} rt_byte_map;

void rt_byte_map_free(rt_byte_map *map);

/* The number of a string, which is new if it is what count was; -1 when the heap is exhausted
 * or there are INT32_MAX / 2 strings. */
int32_t rt_byte_map_add(rt_byte_map *map, const void *bytes, size_t size);

/* A string that was added, zero-terminated, until the next one is added. */
const char *rt_byte_map_at(const rt_byte_map *map, int32_t number, size_t *size);

#endif
