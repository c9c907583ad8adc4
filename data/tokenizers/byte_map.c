#include "data/tokenizers/byte_map.h"

#include "core/memory.h"

#include <string.h>

/* A critical-bit tree (Bernstein): an inner node holds the first bit in which the strings below it
 * differ, leaves are strings. So a path is no longer than a string has bits. */
struct rt_byte_map_fork {
    int32_t child[2]; /* a fork, or ~number of a string */
    uint32_t byte;
    uint32_t bit; /* of that byte, as a mask */
};
typedef struct rt_byte_map_fork fork_node;

enum { FIRST_CAPACITY = 64, MOST = INT32_MAX / 2 };

void rt_byte_map_free(rt_byte_map *map)
{
    rt_free(map->forks);
    rt_free(map->starts);
    rt_free(map->bytes);
    *map = (rt_byte_map){0};
}

const char *rt_byte_map_at(const rt_byte_map *map, int32_t number, size_t *size)
{
    *size = map->starts[number + 1] - map->starts[number] - 1;
    return map->bytes + map->starts[number];
}

/* ---- room ---- */

static bool grow(void **block, size_t used, size_t wanted)
{
    void *larger = rt_alloc_unset(wanted, 1);
    if (!larger)
        return false;
    if (used)
        memcpy(larger, *block, used);
    rt_free(*block);
    *block = larger;
    return true;
}

static bool make_room(rt_byte_map *map, size_t size)
{
    const size_t used = map->count ? map->starts[map->count] : 0;
    if (map->count == map->capacity) {
        const size_t count = (size_t)map->count;
        const size_t wanted = count ? 2 * count : FIRST_CAPACITY;
        if (map->count >= MOST ||
            !grow((void **)&map->forks, count * sizeof *map->forks, wanted * sizeof *map->forks) ||
            !grow((void **)&map->starts, (count + !!count) * sizeof *map->starts,
                  (wanted + 1) * sizeof *map->starts))
            return false;
        map->capacity = (int32_t)wanted;
    }
    if (size < map->room - used)
        return true;
    const size_t wanted = 2 * used + size + FIRST_CAPACITY;
    if (!grow((void **)&map->bytes, used, wanted))
        return false;
    map->room = wanted;
    return true;
}

static int32_t append(rt_byte_map *map, const void *bytes, size_t size)
{
    if (!map->count)
        map->starts[0] = 0;
    char *to = map->bytes + map->starts[map->count];
    memcpy(to, bytes, size);
    to[size] = '\0';
    map->starts[map->count + 1] = map->starts[map->count] + size + 1;
    return map->count++;
}

/* ---- the tree ---- */

/* A string has zeros behind it as far as one looks. */
static unsigned byte_at(const unsigned char *bytes, size_t size, size_t at)
{
    return at < size ? bytes[at] : 0;
}

static int32_t descend(const fork_node *fork, const unsigned char *bytes, size_t size)
{
    return fork->child[(byte_at(bytes, size, fork->byte) & fork->bit) != 0];
}

/* The string that is nearest, if it is not this one. */
static int32_t find_nearest(const rt_byte_map *map, const unsigned char *bytes, size_t size)
{
    int32_t node = map->count > 1 ? 0 : ~0;
    while (node >= 0)
        node = descend(&map->forks[node], bytes, size);
    return ~node;
}

/* Finds the first difference of two strings. Returns false if they are equal. */
static bool find_difference(const unsigned char *a, size_t a_size, const unsigned char *b,
                            size_t b_size, fork_node *at)
{
    const size_t most = a_size > b_size ? a_size : b_size;
    size_t i = 0;
    while (i < most && byte_at(a, a_size, i) == byte_at(b, b_size, i))
        i++;
    if (i == most)
        return false;
    const unsigned difference = byte_at(a, a_size, i) ^ byte_at(b, b_size, i);
    at->byte = (uint32_t)i;
    for (at->bit = 0x80; !(difference & at->bit); at->bit >>= 1)
        ;
    return true;
}

static bool comes_before(const fork_node *a, const fork_node *b)
{
    return a->byte < b->byte || (a->byte == b->byte && a->bit > b->bit);
}

/* Puts the newest string below a new fork. The root keeps its place, 0: what was there moves. */
static void insert(rt_byte_map *map, fork_node new_fork, const unsigned char *bytes, size_t size)
{
    const int32_t leaf = ~(map->count - 1), place = map->count - 2;
    const bool side = (byte_at(bytes, size, new_fork.byte) & new_fork.bit) != 0;
    int32_t *link = NULL, node = place ? 0 : ~0;
    while (node >= 0 && comes_before(&map->forks[node], &new_fork)) {
        fork_node *fork = &map->forks[node];
        link = &fork->child[(byte_at(bytes, size, fork->byte) & fork->bit) != 0];
        node = *link;
    }
    new_fork.child[side] = leaf;
    new_fork.child[!side] = node;
    if (link) {
        *link = place;
    } else if (place) { /* above the root */
        map->forks[place] = map->forks[0];
        new_fork.child[!side] = place;
        map->forks[0] = new_fork;
        return;
    }
    map->forks[place] = new_fork;
}

int32_t rt_byte_map_add(rt_byte_map *map, const void *bytes, size_t size)
{
    fork_node fork = {0};
    if (map->count) {
        size_t near_size;
        const int32_t nearest = find_nearest(map, bytes, size);
        const char *near = rt_byte_map_at(map, nearest, &near_size);
        if (!find_difference(bytes, size, (const unsigned char *)near, near_size, &fork))
            return nearest;
    }
    if (size > UINT32_MAX || !make_room(map, size))
        return -1;
    const int32_t number = append(map, bytes, size);
    if (number)
        insert(map, fork, bytes, size);
    return number;
}
