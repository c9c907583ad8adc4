#include "data/tokenizers/characters.h"

#include "core/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

typedef struct range {
    int32_t first, last;
} range;

/* Tables of differences between tokenizers 0.23.3 and utf8proc 2.8.0, found with every code point
 * c: BertNormalizer and BertPreTokenizer were given a, c, b, and NFD was given c beside a mark of
 * every combining class. Ranges with only letters between them are merged. */

/* Punctuation, marks and format characters that tokenizers treats as letters. */
static const range later_letters[] = {
    {0x61d, 0x61d},     {0x7fd, 0x7fd},     {0x890, 0x8e2},     {0x9fd, 0x9fe},
    {0xa76, 0xa76},     {0xafa, 0xaff},     {0xb55, 0xb55},     {0xc04, 0xc3c},
    {0xc77, 0xc77},     {0xc84, 0xc84},     {0xd00, 0xd00},     {0xd3b, 0xd3c},
    {0xd81, 0xd81},     {0xeba, 0xeba},     {0xece, 0xece},     {0x180f, 0x1886},
    {0x1abf, 0x1ace},   {0x1b7d, 0x1b7e},   {0x1df6, 0x1dfb},   {0x2e43, 0x2e5d},
    {0xa82c, 0xa82c},   {0xa8c5, 0xa8c5},   {0xa8ff, 0xa8ff},   {0xa9bd, 0xa9bd},
    {0x10d24, 0x10f89}, {0x11070, 0x11074}, {0x110c2, 0x110cd}, {0x111cf, 0x111cf},
    {0x1123e, 0x11241}, {0x1133b, 0x1133b}, {0x11438, 0x1145e}, {0x11660, 0x1166c},
    {0x116b9, 0x116b9}, {0x1182f, 0x11fff}, {0x12ff1, 0x13455}, {0x16e97, 0x16f4f},
    {0x16fe2, 0x16fe4}, {0x1cf00, 0x1cf46}, {0x1e000, 0x1e4ef}, {0x1e944, 0x1e95f},
};

/* Characters of combining class 0 in tokenizers. */
static const range later_marks[] = {
    {0x7fd, 0x7fd},     {0x898, 0x8d3},     {0x9fe, 0x9fe},     {0xc3c, 0xc3c},
    {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},   {0x1abf, 0x1ace},
    {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},   {0x10d24, 0x10f85}, {0x11070, 0x11070},
    {0x1133b, 0x1133b}, {0x1145e, 0x1145e}, {0x11839, 0x11a99}, {0x11d42, 0x11f42},
    {0x16ff0, 0x16ff1}, {0x1e08f, 0x1e4ef},
};

/* Characters without a compatibility decomposition in tokenizers. NFKC was compared for every code
 * point between a, a dot below and an acute accent. */
static const range later_compatible[] = {
    {0x32ff, 0x32ff},   {0xa7f2, 0xa7f4},   {0xab69, 0xab69},   {0x10781, 0x107ba},
    {0x11938, 0x11938}, {0x1e030, 0x1e06d}, {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9},
};

/* Ideographs. The fifth range begins at U+2B820 in Unicode, but later in tokenizers. */
static const range ideographs[] = {
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
    {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
};

/* Letters with a lower case since after Unicode 15, and the distance to it. Only here the tables of
 * tokenizers are newer. */
static const struct {
    range from;
    int32_t step;
} later_cases[] = {
    {{0x1c89, 0x1c89}, 1},      {{0xa7cb, 0xa7cb}, 0x264 - 0xa7cb},
    {{0xa7cc, 0xa7cc}, 1},      {{0xa7ce, 0xa7ce}, 1},
    {{0xa7d2, 0xa7d2}, 1},      {{0xa7d4, 0xa7d4}, 1},
    {{0xa7da, 0xa7da}, 1},      {{0xa7dc, 0xa7dc}, 0x19b - 0xa7dc},
    {{0x10d50, 0x10d65}, 0x20}, {{0x16ea0, 0x16eb8}, 0x1b},
};

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* Returns whether c is in one of the ascending ranges. */
static bool is_among(int32_t c, const range *ranges, int count)
{
    int low = 0, high = count;
    while (low < high) { /* first range that does not end before c */
        const int middle = (low + high) / 2;
        if (c > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && c >= ranges[low].first;
}

static rt_character ascii(int32_t c)
{
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        return RT_CHARACTER_LETTER;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        return RT_CHARACTER_SPACE;
    if (c < ' ' || c == 0x7f)
        return RT_CHARACTER_NONE;
    return c >= '0' && c <= '9' ? RT_CHARACTER_LETTER : RT_CHARACTER_ALONE;
}

static rt_character of_category(utf8proc_category_t category)
{
    if (category == UTF8PROC_CATEGORY_MN)
        return RT_CHARACTER_MARK;
    if (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO)
        return RT_CHARACTER_ALONE;
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP)
        return RT_CHARACTER_SPACE;
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
                   category == UTF8PROC_CATEGORY_CO
               ? RT_CHARACTER_NONE
               : RT_CHARACTER_LETTER;
}

rt_character rt_character_of(int32_t c)
{
    if (c < 0x80)
        return ascii(c);
    if (c == 0xfffd)
        return RT_CHARACTER_NONE;
    if (c == 0x166d || c == 0x111c9) /* So and Mn since Unicode 12 and 11 */
        return RT_CHARACTER_ALONE;
    if (c == 0x1734) /* Mc since Unicode 14 */
        return RT_CHARACTER_MARK;
    const rt_character is = of_category(utf8proc_category(c));
    if (is == RT_CHARACTER_LETTER)
        return c >= 0x3400 && is_among(c, ideographs, COUNT(ideographs)) ? RT_CHARACTER_ALONE
                                                                         : RT_CHARACTER_LETTER;
    return is_among(c, later_letters, COUNT(later_letters)) ? RT_CHARACTER_LETTER : is;
}

enum { COMPATIBLE_SIZE = 18 }; /* longest compatibility decomposition (NFKD) */

static int decompose(int32_t c, int32_t *parts, int size, utf8proc_option_t compatible)
{
    int boundary = UTF8PROC_BOUNDCLASS_START;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(c, parts, size, UTF8PROC_DECOMPOSE | compatible, &boundary);
    assert(count > 0 && count <= size);
    return (int)count;
}

int rt_character_decompose(int32_t c, int32_t parts[RT_DECOMPOSITION_SIZE])
{
    parts[0] = c;
    return c < 0xc0 || c == 0x11938 /* has a decomposition since Unicode 13 */
               ? 1
               : decompose(c, parts, RT_DECOMPOSITION_SIZE, 0);
}

int rt_character_combining(int32_t c)
{
    if (c < 0x300)
        return 0;
    const int combining = utf8proc_get_property(c)->combining_class;
    return combining && is_among(c, later_marks, COUNT(later_marks)) ? 0 : combining;
}

int32_t rt_character_lower(int32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    for (int i = 0; c >= later_cases[0].from.first && i < COUNT(later_cases); i++)
        if (c >= later_cases[i].from.first && c <= later_cases[i].from.last)
            return c + later_cases[i].step;
    return utf8proc_tolower(c);
}

/* Code points that tokenizers 0.23.3 (Unicode 16 and 17) knows and utf8proc 2.8.0 (Unicode 15) does
 * not, found by giving each to its regular expressions and its pre-tokenizer Digits. */

static const range regex_letters[] = {
    {0x1c89, 0x1c8a},   {0xa7cb, 0xa7cd},   {0xa7da, 0xa7dc},   {0x105c0, 0x105f3},
    {0x10d4a, 0x10d65}, {0x10d6f, 0x10d85}, {0x10ec2, 0x10ec4}, {0x11380, 0x11389},
    {0x1138b, 0x1138b}, {0x1138e, 0x1138e}, {0x11390, 0x113b5}, {0x113b7, 0x113b7},
    {0x113d1, 0x113d1}, {0x113d3, 0x113d3}, {0x11bc0, 0x11be0}, {0x13460, 0x143fa},
    {0x16100, 0x1611d}, {0x16d40, 0x16d6c}, {0x18cff, 0x18cff}, {0x1e5d0, 0x1e5ed},
    {0x1e5f0, 0x1e5f0}, {0x2ebf0, 0x2ee5d},
};

static const range regex_numbers[] = {
    {0x10d40, 0x10d49}, {0x116d0, 0x116e3}, {0x11bf0, 0x11bf9}, {0x16130, 0x16139},
    {0x16d70, 0x16d79}, {0x1ccf0, 0x1ccf9}, {0x1e5f1, 0x1e5fa},
};

/* Numbers for Digits only. */
static const range more_digits[] = {{0x11de0, 0x11de9}, {0x16ff4, 0x16ff6}};

rt_class rt_class_beyond_ascii(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
        return RT_CLASS_LETTER;
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO)
        return RT_CLASS_NUMBER;
    if ((category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) || c == 0x85)
        return RT_CLASS_BLANK;
    if (category != UTF8PROC_CATEGORY_CN)
        return RT_CLASS_OTHER;
    return is_among(c, regex_letters, COUNT(regex_letters))   ? RT_CLASS_LETTER
           : is_among(c, regex_numbers, COUNT(regex_numbers)) ? RT_CLASS_NUMBER
                                                              : RT_CLASS_OTHER;
}

bool rt_is_blank(int32_t c)
{
    return rt_class_of(c) == RT_CLASS_BLANK;
}

bool rt_is_digit(int32_t c)
{
    return rt_class_of(c) == RT_CLASS_NUMBER ||
           (c >= 0x10000 && is_among(c, more_digits, COUNT(more_digits)));
}

/* Below U+0300 characters are composed and do not join a preceding one. */
enum { FIRST_JOINING = 0x300, FIRST_JOINING_LEAD = 0xcc };

/* NFKC leaves ASCII only unchanged: U+00A0 becomes a space. */
enum { FIRST_COMPATIBLE_LEAD = 0xc2 };

enum { CLASSES = 256 };

typedef struct forming {
    int32_t *list; /* part of the text that no other character joins */
    int32_t *sorted;
    size_t count, capacity, sorted_capacity;
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

/* Sorts each run of marks by combining class in linear time (counting sort), since a text may have
 * only marks. */
static void order(forming *f)
{
    for (size_t at = 0, end; at < f->count; at = end + 1) {
        bool ordered = true;
        for (end = at; end < f->count && rt_character_combining(f->list[end]); end++)
            ordered &= end == at || rt_character_combining(f->list[end - 1]) <=
                                        rt_character_combining(f->list[end]);
        if (ordered)
            continue;
        size_t starts[CLASSES + 1] = {0};
        for (size_t i = at; i < end; i++)
            starts[rt_character_combining(f->list[i]) + 1]++;
        for (int class = 0; class < CLASSES; class ++)
            starts[class + 1] += starts[class];
        for (size_t i = at; i < end; i++)
            f->sorted[starts[rt_character_combining(f->list[i])]++] = f->list[i];
        memcpy(f->list + at, f->sorted, (end - at) * sizeof *f->list);
    }
}

/* Returns the composition of two characters, or 0. */
static int32_t pair(int32_t first, int32_t second)
{
    int32_t both[] = {first, second};
    if (second < FIRST_JOINING || second == 0x11930) /* composes since Unicode 13 */
        return 0;
    return utf8proc_normalize_utf32(both, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) == 1 ? both[0] : 0;
}

/* Composes a part. A mark joins the last character of class 0, unless a mark of the same or a
 * higher class is between them. */
static void compose(forming *f)
{
    size_t count = 0, base = 0;
    int last = -1; /* class of the last character after the base */
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

rt_status rt_normal_form(rt_form form, unsigned char **text_new, size_t *size,
                         const unsigned char *text, size_t bytes)
{
    const size_t growth = rt_normal_form_growth(form);
    forming f = {0};
    bool failed = bytes > SIZE_MAX / growth - 1;
    f.to = failed ? NULL : rt_alloc_unset(growth * bytes + 1, 1);
    failed |= !f.to;
    for (size_t at = 0, step; at < bytes && !failed; at += step) {
        int32_t c = 0;
        step = (size_t)utf8proc_iterate(text + at, (utf8proc_ssize_t)(bytes - at), &c);
        if (c < FIRST_JOINING)
            finish(&f);
        failed = !rt_grow(&f.list, &f.capacity, f.count + COMPATIBLE_SIZE, sizeof *f.list) ||
                 !rt_grow(&f.sorted, &f.sorted_capacity, f.capacity, sizeof *f.sorted);
        if (failed)
            break;
        int32_t *parts = f.list + f.count;
        int count = 1;
        parts[0] = c;
        if (form != RT_FORM_NFKC)
            count = rt_character_decompose(c, parts);
        else if (c >= 0xa0 && !is_among(c, later_compatible, COUNT(later_compatible)))
            count = decompose(c, parts, COMPATIBLE_SIZE, UTF8PROC_COMPAT);
        f.count += (size_t)count;
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
