#include "data/tokenizers/bpe.h"

#include "core/memory.h"

#include <stdlib.h>

/* The most slots that are looked at for one pair. */
enum { MOST_STEPS = 32 };

void rt_merges_free(rt_merges *merges)
{
    rt_free(merges->list);
    rt_free(merges->slots);
    *merges = (rt_merges){.count = 0};
}

static int compare(const rt_merge *m, int32_t left, int32_t right)
{
    if (m->left != left)
        return m->left < left ? -1 : 1;
    return (m->right > right) - (m->right < right);
}

static int by_pieces(const void *a, const void *b)
{
    const rt_merge *p = a, *q = b;
    const int order = compare(p, q->left, q->right);
    return order ? order : (p->rank > q->rank) - (p->rank < q->rank);
}

static void sort(rt_merges *merges)
{
    size_t used = 0;
    if (merges->count)
        qsort(merges->list, merges->count, sizeof *merges->list, by_pieces);
    for (size_t i = 0; i < merges->count; i++) {
        const rt_merge m = merges->list[i];
        if (used && !compare(&merges->list[used - 1], m.left, m.right))
            used--;
        merges->list[used++] = m;
    }
    merges->count = used;
}

/* Multiplication mixes bits upwards, the shift brings them down (Vigna's splitmix64, in part). */
static uint32_t hash(int32_t left, int32_t right)
{
    uint64_t x = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(x ^ x >> 31);
}

/* Puts a merge into the first slot that is free; false if too many are taken. */
static bool put(rt_merges *merges, rt_merge m)
{
    uint32_t at = hash(m.left, m.right) & merges->mask;
    for (int step = 0; step < MOST_STEPS; step++, at = (at + 1) & merges->mask)
        if (merges->slots[at].left < 0) {
            merges->slots[at] = m;
            return true;
        }
    return false;
}

bool rt_merges_complete(rt_merges *merges)
{
    size_t slots = 16;
    bool fits = true;
    sort(merges);
    while (slots < 3 * merges->count)
        slots *= 2;
    merges->mask = (uint32_t)slots - 1;
    merges->slots = rt_alloc_unset(slots, sizeof *merges->slots);
    if (!merges->slots)
        return false;
    for (size_t i = 0; i < slots; i++)
        merges->slots[i].left = -1;
    for (size_t i = 0; i < merges->count && fits; i++)
        fits = put(merges, merges->list[i]);
    if (!fits) {
        rt_free(merges->slots);
        merges->slots = NULL;
    }
    return true;
}

static const rt_merge *search(const rt_merges *merges, int32_t left, int32_t right)
{
    size_t low = 0, high = merges->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare(&merges->list[middle], left, right);
        if (!order)
            return &merges->list[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const rt_merge *rt_merges_find(const rt_merges *merges, int32_t left, int32_t right)
{
    if (!merges->slots)
        return search(merges, left, right);
    uint32_t at = hash(left, right) & merges->mask;
    for (int step = 0; step < MOST_STEPS; step++, at = (at + 1) & merges->mask) {
        const rt_merge *m = &merges->slots[at];
        if (m->left == left && m->right == right)
            return m;
        if (m->left < 0)
            break;
    }
    return NULL;
}
