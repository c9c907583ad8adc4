/* Of a tokenizer.json: the merges. */

#include "data/bpe_file.h"

#include "core/memory.h"
#include "data/units.h"

#include <stdlib.h>
#include <string.h>

/* A merge with its left piece, until the lists of the left pieces are made. */
typedef struct pair {
    int32_t left;
    rt_merge merge;
} pair;

static int by_pieces(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    if (p->left != q->left)
        return p->left < q->left ? -1 : 1;
    if (p->merge.right != q->merge.right)
        return p->merge.right < q->merge.right ? -1 : 1;
    return (p->merge.rank > q->merge.rank) - (p->merge.rank < q->merge.rank);
}

/* The two pieces of a merge, as lists of two or as texts with a space between. */
typedef struct sides {
    const char *left, *right;
    size_t left_size, right_size;
} sides;

static bool find_sides(const json_t *merge, sides *s)
{
    const char *text = json_string_value(merge);
    const char *space = text ? strchr(text, ' ') : NULL;
    if (text && (!space || strchr(space + 1, ' ')))
        return false;
    s->left = text ? text : json_string_value(json_array_get(merge, 0));
    s->right = text ? space + 1 : json_string_value(json_array_get(merge, 1));
    if (!s->left || !s->right || (!text && json_array_size(merge) != 2))
        return false;
    s->left_size = text ? (size_t)(space - text) : strlen(s->left);
    s->right_size = strlen(s->right);
    return true;
}

/* Room for the pieces of a merge. */
typedef struct room {
    char *text;
    size_t size;
} room;

static rt_status find_id(const rt_bpe_reading *r, size_t number, const char *piece, int32_t *id)
{
    char word[RT_WORD_NAME_SIZE];
    const json_t *found = json_object_get(r->vocab, piece);
    *id = found ? (int32_t)json_integer_value(found) : 0;
    return found ? rt_ok()
                 : rt_error(RT_DATA, "%s: model.merges[%zu]: %s is not in model.vocab", r->name,
                            number, rt_word_name(piece, strlen(piece), word));
}

static rt_status read_merge(const rt_bpe_reading *r, size_t number, const sides *s, room *to,
                            pair *p)
{
    const size_t size = s->left_size + s->right_size + 1;
    if (size > to->size) {
        rt_free(to->text);
        to->size = 2 * size;
        to->text = rt_alloc_unset(to->size, 1);
    }
    if (!to->text)
        return rt_out_of_memory("a vocabulary");
    p->merge.rank = (int32_t)number;
    memcpy(to->text, s->left, s->left_size);
    to->text[s->left_size] = '\0';
    rt_status status = find_id(r, number, to->text, &p->left);
    memcpy(to->text + s->left_size, s->right, s->right_size + 1);
    if (!status.code)
        status = find_id(r, number, to->text + s->left_size, &p->merge.right);
    return status.code ? status : find_id(r, number, to->text, &p->merge.joined);
}

/* The heading of a merges.txt may stand in the list, and has no rank. */
static bool is_heading(const json_t *merge)
{
    const char *text = json_string_value(merge);
    return text && !strncmp(text, "#version", 8);
}

static rt_status read_pairs(const rt_bpe_reading *r, const json_t *merges, pair *pairs,
                            size_t *count)
{
    room to = {NULL, 0};
    const json_t *merge;
    size_t i, headings = 0;
    rt_status status = rt_ok();
    json_array_foreach(merges, i, merge)
    {
        sides s;
        if (is_heading(merge)) {
            headings++;
            continue;
        }
        if (!find_sides(merge, &s))
            status = rt_error(RT_DATA,
                              "%s: model.merges[%zu] must be two pieces, as a list or with a "
                              "space between",
                              r->name, i);
        else
            status = read_merge(r, i, &s, &to, &pairs[i - headings]);
        if (status.code)
            break;
    }
    *count = json_array_size(merges) - headings;
    rt_free(to.text);
    return status;
}

/* The lists of the left pieces, one after the other. Of a pair that comes twice tokenizers has the
 * later rank. */
static void lay_out(rt_bpe *bpe, int32_t count, const pair *pairs, size_t pair_count)
{
    uint32_t used = 0;
    size_t at = 0;
    for (int32_t left = 0; left < count; left++) {
        bpe->first[left] = used;
        for (; at < pair_count && pairs[at].left == left; at++) {
            const rt_merge merge = pairs[at].merge;
            if (used > bpe->first[left] && bpe->merges[used - 1].right == merge.right)
                used--;
            bpe->merges[used++] = merge;
        }
    }
    bpe->first[count] = used;
}

rt_status rt_bpe_read_merges(rt_bpe_reading *r)
{
    const json_t *merges = json_object_get(json_object_get(r->json, "model"), "merges");
    rt_bpe *bpe = r->v->bpe;
    if (!json_is_array(merges))
        return rt_error(RT_DATA, "%s: model.merges must be a list", r->name);
    size_t count = json_array_size(merges);
    pair *pairs = rt_alloc(count, sizeof *pairs);
    bpe->merges = rt_alloc(count, sizeof *bpe->merges);
    rt_status status = pairs && bpe->merges ? read_pairs(r, merges, pairs, &count)
                                            : rt_out_of_memory("a vocabulary");
    if (!status.code) {
        if (count)
            qsort(pairs, count, sizeof *pairs, by_pieces);
        lay_out(bpe, r->v->count, pairs, count);
    }
    rt_free(pairs);
    return status;
}
