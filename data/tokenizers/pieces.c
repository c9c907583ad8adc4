#include "data/tokenizers/pieces.h"

#include <stdlib.h>
#include <string.h>

const char rt_piece_inside[] = "##";

static int by_text(const void *a, const void *b)
{
    const rt_piece *p = a, *q = b;
    const int order = strcmp(p->text, q->text);
    return order ? order : (p->id > q->id) - (p->id < q->id);
}

/* Returns the first piece of a range whose byte at `offset` is at least `byte`. All pieces of the
 * range are equal before it. */
static int32_t first_from(const rt_pieces *p, rt_piece_range in, size_t offset, int byte)
{
    for (int32_t count = in.high - in.low; count > 0;) {
        const int32_t half = count / 2;
        if ((unsigned char)p->sorted[in.low + half].text[offset] < byte) {
            in.low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return in.low;
}

/* Returns the pieces of a range that have this byte at `offset`. */
static rt_piece_range narrow(const rt_pieces *p, rt_piece_range in, size_t offset, int byte)
{
    in.low = first_from(p, in, offset, byte);
    in.high = first_from(p, in, offset, byte + 1);
    return in;
}

const rt_piece *rt_pieces_sort(rt_pieces *p)
{
    const rt_piece_range all = {0, p->count};
    rt_piece_range inside = all;
    if (p->count)
        qsort(p->sorted, (size_t)p->count, sizeof *p->sorted, by_text);
    for (int32_t i = 1; i < p->count; i++)
        if (!strcmp(p->sorted[i - 1].text, p->sorted[i].text))
            return p->sorted + i;
    for (size_t i = 0; i < RT_PIECE_INSIDE_SIZE; i++)
        inside = narrow(p, inside, i, rt_piece_inside[i]);
    for (int byte = 1; byte < 256; byte++) {
        p->first[false][byte] = narrow(p, all, 0, byte);
        p->first[true][byte] = narrow(p, inside, RT_PIECE_INSIDE_SIZE, byte);
    }
    return NULL;
}

size_t rt_pieces_longest(const rt_pieces *p, bool inside, const unsigned char *text, size_t bytes,
                         int32_t *id)
{
    const size_t skip = inside ? RT_PIECE_INSIDE_SIZE : 0;
    rt_piece_range in = p->first[inside][*text];
    size_t found = 0;
    for (size_t size = 1; in.low < in.high; size++) {
        if (!p->sorted[in.low].text[skip + size]) { /* the shortest is first */
            found = size;
            *id = p->sorted[in.low].id;
        }
        if (size == bytes || !text[size])
            break;
        in = narrow(p, in, skip + size, text[size]);
    }
    return found;
}

int rt_pieces_cut(const rt_pieces *pieces, const rt_word *word, int32_t ids[RT_WORD_CHARACTERS])
{
    const unsigned char *text = (const unsigned char *)word->bytes;
    int count = 0;
    if (word->too_long)
        return 0;
    for (size_t at = 0, size; at < word->size; at += size) {
        size = rt_pieces_longest(pieces, at > 0, text + at, word->size - at, &ids[count]);
        if (!size)
            return 0;
        count++;
    }
    return count;
}
