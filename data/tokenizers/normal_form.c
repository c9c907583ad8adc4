#include "data/tokenizers/normal_form.h"

#include "core/memory.h"
#include "data/tokenizers/characters.h"

#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

/* Below U+0300 no character joins what stands before it, and all are composed. */
enum { FIRST_JOINING = 0x300, FIRST_JOINING_LEAD = 0xcc };

/* In NFKC only ASCII stays as it is: U+00A0 becomes a space. */
enum { FIRST_COMPATIBLE_LEAD = 0xc2 };

/* Runs of marks up to this length are sorted by insertion. */
enum { SHORT_RUN = 16, CLASSES = 256 };

typedef struct forming {
    rt_form form;
    int32_t *list; /* characters of a part of the text that nothing outside of it joins */
    int32_t *sorted;
    size_t count, room;
    unsigned char *to;
    size_t size;
} forming;

size_t rt_normal_form_growth(rt_form form)
{
    return form == RT_FORM_NFKC ? 11 : form == RT_FORM_NFC ? 3 : 1;
}

bool rt_normal_form_is_plain(rt_form form, const unsigned char *text, size_t bytes)
{
    const unsigned char first = form == RT_FORM_NFKC ? FIRST_COMPATIBLE_LEAD : FIRST_JOINING_LEAD;
    for (size_t i = 0; i < bytes && form != RT_FORM_NONE; i++)
        if (text[i] >= first)
            return false;
    return true;
}

static bool make_room(forming *f)
{
    if (f->count + RT_COMPATIBLE_SIZE <= f->room)
        return true;
    const size_t room = 2 * f->room + 256;
    int32_t *larger = rt_alloc_unset(room, sizeof *larger);
    if (larger && f->count)
        memcpy(larger, f->list, f->count * sizeof *larger);
    rt_free(f->list);
    rt_free(f->sorted);
    f->list = larger;
    f->sorted = rt_alloc_unset(room, sizeof *f->sorted);
    f->room = room;
    return f->list && f->sorted;
}

/* ---- the order of marks ---- */

static void insert_in_order(int32_t *run, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const int32_t c = run[i];
        const int class = rt_character_combining(c);
        size_t to = i;
        for (; to && rt_character_combining(run[to - 1]) > class; to--)
            run[to] = run[to - 1];
        run[to] = c;
    }
}

/* By counting: a text may be nothing but marks. */
static void count_in_order(int32_t *run, size_t count, int32_t *sorted)
{
    size_t starts[CLASSES + 1] = {0};
    for (size_t i = 0; i < count; i++)
        starts[rt_character_combining(run[i]) + 1]++;
    for (int class = 0; class < CLASSES; class ++)
        starts[class + 1] += starts[class];
    for (size_t i = 0; i < count; i++)
        sorted[starts[rt_character_combining(run[i])]++] = run[i];
    memcpy(run, sorted, count * sizeof *run);
}

static void order(forming *f)
{
    for (size_t at = 0, end; at < f->count; at = end + 1) {
        end = at;
        while (end < f->count && rt_character_combining(f->list[end]))
            end++;
        if (end - at <= SHORT_RUN)
            insert_in_order(f->list + at, end - at);
        else
            count_in_order(f->list + at, end - at, f->sorted);
    }
}

/* ---- composition ---- */

/* The character that two make, or 0. */
static int32_t pair(int32_t first, int32_t second)
{
    int32_t both[] = {first, second};
    if (second < FIRST_JOINING || second == 0x11930) /* which has joined since Unicode 13 */
        return 0;
    return utf8proc_normalize_utf32(both, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) == 1 ? both[0] : 0;
}

/* A mark joins the last character of class 0 unless one of its own class, or a higher one, stands
 * between. */
static void compose(forming *f)
{
    size_t count = 0, base = 0;
    int last = -1; /* the class of what was put behind the base */
    for (size_t i = 0; i < f->count; i++) {
        const int32_t c = f->list[i];
        const int class = rt_character_combining(c);
        const bool has_base = count && !rt_character_combining(f->list[base]);
        const int32_t both = has_base && last < class ? pair(f->list[base], c) : 0;
        if (both) {
            f->list[base] = both;
            continue;
        }
        last = class ? class : -1;
        if (!class)
            base = count;
        f->list[count++] = c;
    }
    f->count = count;
}

static void finish(forming *f)
{
    order(f);
    compose(f);
    for (size_t i = 0; i < f->count; i++)
        f->size += (size_t)utf8proc_encode_char(f->list[i], f->to + f->size);
    f->count = 0;
}

/* Appends the parts of a character. */
static int decompose(const forming *f, int32_t c)
{
    return f->form == RT_FORM_NFKC ? rt_character_decompose_compatible(c, f->list + f->count)
                                   : rt_character_decompose(c, f->list + f->count);
}

rt_status rt_normal_form(rt_form form, unsigned char **text_new, size_t *size,
                         const unsigned char *text, size_t bytes)
{
    const size_t growth = rt_normal_form_growth(form);
    forming f = {.form = form};
    bool failed = bytes > SIZE_MAX / growth - 1;
    f.to = failed ? NULL : rt_alloc_unset(growth * bytes + 1, 1);
    failed |= !f.to;
    for (size_t at = 0, step; at < bytes && !failed; at += step) {
        int32_t c = 0;
        step = (size_t)utf8proc_iterate(text + at, (utf8proc_ssize_t)(bytes - at), &c);
        if (c < FIRST_JOINING)
            finish(&f);
        failed = !make_room(&f);
        if (!failed)
            f.count += (size_t)decompose(&f, c);
    }
    if (!failed)
        finish(&f);
    rt_free(f.list);
    rt_free(f.sorted);
    if (failed)
        rt_free(f.to);
    *text_new = failed ? NULL : f.to;
    *size = f.size;
    return failed ? rt_out_of_memory("a text in a normal form") : rt_ok();
}
