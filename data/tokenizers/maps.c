#include "data/tokenizers/maps.h"

#include "core/memory.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_CAPACITY = 64, MOST = INT32_MAX / 2 };

typedef struct rt_slot {
    uint32_t hash;
    int32_t next_number; /* number + 1; 0: empty slot */
} hash_slot;

static uint32_t hash_of(const void *bytes, size_t size)
{
    static const char place = 0;
    return (uint32_t)XXH3_64bits_withSeed(bytes, size, (uint64_t)(uintptr_t)&place);
}

/* Makes room for one more number than `count`. */
static bool grow_slots(rt_slots *s, int32_t count)
{
    if (count == MOST)
        return false;
    if (3 * (size_t)count < s->count)
        return true;
    const size_t capacity = s->count ? 2 * s->count : FIRST_CAPACITY;
    hash_slot *larger = rt_alloc(capacity, sizeof *larger);
    if (!larger)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        size_t at = s->list[i].hash & (capacity - 1);
        while (s->list[i].next_number && larger[at].next_number)
            at = (at + 1) & (capacity - 1);
        if (s->list[i].next_number)
            larger[at] = s->list[i];
    }
    rt_free(s->list);
    s->list = larger;
    s->count = capacity;
    return true;
}

void rt_byte_map_free(rt_byte_map *map)
{
    rt_free(map->slots.list);
    rt_free(map->starts);
    rt_free(map->bytes);
    *map = (rt_byte_map){0};
}

/* Returns the slot of a string, or the empty slot for it. */
static hash_slot *find_string(const rt_byte_map *map, uint32_t hash, const void *bytes, size_t size)
{
    const size_t mask = map->slots.count - 1;
    size_t at = hash & mask, found;
    for (; map->slots.list[at].next_number; at = (at + 1) & mask) {
        if (map->slots.list[at].hash != hash)
            continue;
        const char *string = rt_byte_map_at(map, map->slots.list[at].next_number - 1, &found);
        if (found == size && !memcmp(string, bytes, size))
            break;
    }
    return map->slots.list + at;
}

int32_t rt_byte_map_find(const rt_byte_map *map, const void *bytes, size_t size)
{
    return map->count ? find_string(map, hash_of(bytes, size), bytes, size)->next_number - 1 : -1;
}

int32_t rt_byte_map_add(rt_byte_map *map, const void *bytes, size_t size)
{
    const uint32_t hash = hash_of(bytes, size);
    if (!grow_slots(&map->slots, map->count))
        return -1;
    hash_slot *slot = find_string(map, hash, bytes, size);
    if (slot->next_number)
        return slot->next_number - 1;
    const size_t number = (size_t)map->count;
    if (!rt_grow(&map->starts, &map->capacity, number + 2, sizeof *map->starts))
        return -1;
    if (!number)
        map->starts[0] = 0;
    const size_t start = map->starts[number];
    if (!rt_grow(&map->bytes, &map->byte_capacity, start + size + 1, 1))
        return -1;
    memcpy(map->bytes + start, bytes, size);
    map->bytes[start + size] = '\0';
    map->starts[number + 1] = start + size + 1;
    *slot = (hash_slot){.hash = hash, .next_number = ++map->count};
    return map->count - 1;
}

void rt_pairs_free(rt_pairs *pairs)
{
    rt_free(pairs->slots.list);
    rt_free(pairs->list);
    *pairs = (rt_pairs){0};
}

/* Returns the slot of a pair, or the empty slot for it. */
static hash_slot *find_pair(const rt_pairs *pairs, uint32_t hash, int32_t left, int32_t right)
{
    const size_t mask = pairs->slots.count - 1;
    size_t at = hash & mask;
    for (; pairs->slots.list[at].next_number; at = (at + 1) & mask) {
        if (pairs->slots.list[at].hash != hash)
            continue;
        const rt_pair *pair = pairs->list + pairs->slots.list[at].next_number - 1;
        if (pair->left == left && pair->right == right)
            break;
    }
    return pairs->slots.list + at;
}

rt_pair *rt_pairs_at(rt_pairs *pairs, int32_t left, int32_t right)
{
    const uint32_t hash = hash_of((const int32_t[]){left, right}, 2 * sizeof left);
    if (!grow_slots(&pairs->slots, pairs->count))
        return NULL;
    hash_slot *slot = find_pair(pairs, hash, left, right);
    if (!slot->next_number) {
        const size_t count = (size_t)pairs->count + 1;
        if (!rt_grow(&pairs->list, &pairs->capacity, count, sizeof *pairs->list))
            return NULL;
        pairs->list[pairs->count] = (rt_pair){.left = left, .right = right};
        slot->hash = hash;
        slot->next_number = ++pairs->count;
    }
    return pairs->list + slot->next_number - 1;
}

const rt_pair *rt_pairs_find(const rt_pairs *pairs, int32_t left, int32_t right)
{
    const uint32_t hash = hash_of((const int32_t[]){left, right}, 2 * sizeof left);
    const hash_slot *slot = pairs->count ? find_pair(pairs, hash, left, right) : NULL;
    return slot && slot->next_number ? pairs->list + slot->next_number - 1 : NULL;
}

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
