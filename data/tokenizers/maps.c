#include "data/tokenizers/maps.h"

#include "core/memory.h"

#include <string.h>
#include <xxhash.h>

enum { FIRST_CAPACITY = 64, MOST = INT32_MAX / 2 };

static uint64_t seed(void)
{
    static const char place = 0;
    return (uint64_t)(uintptr_t)&place;
}

/* ---- strings ---- */

typedef struct rt_byte_slot {
    uint32_t hash;
    int32_t next_number; /* number + 1; 0: empty slot */
} byte_slot;

void rt_byte_map_free(rt_byte_map *map)
{
    rt_free(map->slots);
    rt_free(map->starts);
    rt_free(map->bytes);
    *map = (rt_byte_map){0};
}

const char *rt_byte_map_at(const rt_byte_map *map, int32_t number, size_t *size)
{
    *size = map->starts[number + 1] - map->starts[number] - 1;
    return map->bytes + map->starts[number];
}

/* Returns the slot of a string, or the empty slot for it. */
static byte_slot *find_slot(const rt_byte_map *map, uint32_t hash, const void *bytes, size_t size)
{
    const size_t mask = map->slot_count - 1;
    size_t at = hash & mask, found;
    for (; map->slots[at].next_number; at = (at + 1) & mask) {
        if (map->slots[at].hash != hash)
            continue;
        const char *string = rt_byte_map_at(map, map->slots[at].next_number - 1, &found);
        if (found == size && !memcmp(string, bytes, size))
            break;
    }
    return map->slots + at;
}

static bool grow_slots(rt_byte_map *map)
{
    const size_t count = map->slot_count ? 2 * map->slot_count : FIRST_CAPACITY;
    byte_slot *larger = rt_alloc(count, sizeof *larger);
    if (!larger)
        return false;
    for (size_t i = 0; i < map->slot_count; i++) {
        size_t at = map->slots[i].hash & (count - 1);
        while (map->slots[i].next_number && larger[at].next_number)
            at = (at + 1) & (count - 1);
        if (map->slots[i].next_number)
            larger[at] = map->slots[i];
    }
    rt_free(map->slots);
    map->slots = larger;
    map->slot_count = count;
    return true;
}

static bool append(rt_byte_map *map, const void *bytes, size_t size)
{
    const size_t number = (size_t)map->count;
    if (!rt_grow(&map->starts, &map->capacity, number + 2, sizeof *map->starts))
        return false;
    if (!number)
        map->starts[0] = 0;
    const size_t start = map->starts[number];
    if (!rt_grow(&map->bytes, &map->byte_capacity, start + size + 1, 1))
        return false;
    memcpy(map->bytes + start, bytes, size);
    map->bytes[start + size] = '\0';
    map->starts[number + 1] = start + size + 1;
    map->count++;
    return true;
}

int32_t rt_byte_map_find(const rt_byte_map *map, const void *bytes, size_t size)
{
    if (!map->count)
        return -1;
    const uint32_t hash = (uint32_t)XXH3_64bits_withSeed(bytes, size, seed());
    return find_slot(map, hash, bytes, size)->next_number - 1;
}

int32_t rt_byte_map_add(rt_byte_map *map, const void *bytes, size_t size)
{
    const uint32_t hash = (uint32_t)XXH3_64bits_withSeed(bytes, size, seed());
    if (map->count == MOST || (2 * (size_t)map->count >= map->slot_count && !grow_slots(map)))
        return -1;
    byte_slot *slot = find_slot(map, hash, bytes, size);
    if (!slot->next_number) {
        if (!append(map, bytes, size))
            return -1;
        *slot = (byte_slot){hash, map->count};
    }
    return slot->next_number - 1;
}

/* ---- pairs ---- */

#define NO_KEY UINT64_MAX

void rt_pairs_free(rt_pairs *pairs)
{
    rt_free(pairs->keys);
    rt_free(pairs->slots);
    *pairs = (rt_pairs){0};
}

static uint64_t key_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Returns the slot of a key, or the empty slot for it. The hash is the finalizer of SplitMix64
 * (Steele et al. 2014). */
static size_t find_key(const rt_pairs *pairs, uint64_t key)
{
    const size_t mask = pairs->capacity - 1;
    uint64_t hash = key ^ seed();
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    size_t at = (size_t)(hash ^ hash >> 31) & mask;
    while (pairs->keys[at] != key && pairs->keys[at] != NO_KEY)
        at = (at + 1) & mask;
    return at;
}

static bool grow_pairs(rt_pairs *pairs)
{
    rt_pairs larger = {.capacity = pairs->capacity ? 2 * pairs->capacity : FIRST_CAPACITY,
                       .count = pairs->count};
    larger.keys = rt_alloc_unset(larger.capacity, sizeof *larger.keys);
    larger.slots = rt_alloc_unset(larger.capacity, sizeof *larger.slots);
    if (!larger.keys || !larger.slots) {
        rt_pairs_free(&larger);
        return false;
    }
    for (size_t i = 0; i < larger.capacity; i++) {
        larger.keys[i] = NO_KEY;
        larger.slots[i].left = -1;
    }
    for (size_t i = 0; i < pairs->capacity; i++)
        if (pairs->keys[i] != NO_KEY) {
            const size_t at = find_key(&larger, pairs->keys[i]);
            larger.keys[at] = pairs->keys[i];
            larger.slots[at] = pairs->slots[i];
        }
    rt_pairs_free(pairs);
    *pairs = larger;
    return true;
}

rt_pair *rt_pairs_at(rt_pairs *pairs, int32_t left, int32_t right)
{
    if (3 * pairs->count >= pairs->capacity && !grow_pairs(pairs)) /* most searches find nothing */
        return NULL;
    const uint64_t key = key_of(left, right);
    const size_t at = find_key(pairs, key);
    if (pairs->keys[at] == NO_KEY) {
        pairs->keys[at] = key;
        pairs->slots[at] = (rt_pair){.left = left, .right = right};
        pairs->count++;
    }
    return pairs->slots + at;
}

const rt_pair *rt_pairs_find(const rt_pairs *pairs, int32_t left, int32_t right)
{
    if (!pairs->count)
        return NULL;
    const size_t at = find_key(pairs, key_of(left, right));
    return pairs->keys[at] == NO_KEY ? NULL : pairs->slots + at;
}

/* ---- the queue ---- */

static int order_of(const rt_queue *q, int32_t a, int32_t b)
{
    return q->order && a != b ? q->order(q->context, a, b) : (a > b) - (a < b);
}

static bool is_before(const rt_queue *q, rt_waiting a, rt_waiting b)
{
    if (a.first != b.first)
        return a.first < b.first;
    const int left = order_of(q, a.left, b.left);
    return left ? left < 0 : order_of(q, a.right, b.right) < 0;
}

void rt_queue_push(rt_queue *q, rt_waiting new)
{
    q->failed |= !rt_grow(&q->list, &q->capacity, q->count + 1, sizeof *q->list);
    if (q->failed)
        return;
    rt_waiting *list = q->list;
    size_t at = q->count++;
    for (; at && is_before(q, new, list[(at - 1) / 2]); at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    list[at] = new;
}

rt_waiting rt_queue_pop(rt_queue *q)
{
    const rt_waiting top = q->list[0], last = q->list[--q->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < q->count) {
        if (child + 1 < q->count && is_before(q, q->list[child + 1], q->list[child]))
            child++;
        if (!is_before(q, q->list[child], last))
            break;
        q->list[at] = q->list[child];
        at = child;
    }
    q->list[at] = last;
    return top;
}
