/* Lists with commas between their items, the lines of a stream, and characters that come in pieces.
 * The expected replacements of what is no character are those of the Unicode Standard, chapter 3
 * (tables 3-7 to 3-11). */

#include "core/memory.h"
#include "suite.h"
#include "util/files.h"
#include "util/number.h"
#include "util/utf8.h"

TEST(spaces_around_an_item_do_not_belong_to_it)
{
    static const char *const items[] = {"a", "", "b c", ""};
    rt_list_item item;
    const char *rest = " a ,  , b c,";
    for (int i = 0; i < ROWS(items); i++) {
        ck_assert_ptr_nonnull(rest);
        rest = rt_list_parse(rest, &item);
        ck_assert(rt_list_item_is(item, items[i]));
        ck_assert(!rt_list_item_is(item, "a c"));
    }
    ck_assert_ptr_null(rest);
}

TEST(an_item_that_does_not_fit_is_cut)
{
    for (int fits = 0; fits < 2; fits++) {
        char text[4];
        rt_list_item item;
        ck_assert_int_eq(rt_list_parse(fits ? "abc,d" : "abcd", &item) != NULL, fits);
        ck_assert_int_eq(rt_list_item_copy(item, text, sizeof text), fits);
        ck_assert_str_eq(text, "abc");
    }
}

TEST(a_list_has_its_items_and_no_parts_of_them)
{
    ck_assert(rt_list_has("cpu,memory", "memory") && rt_list_has("memory", "memory"));
    ck_assert(!rt_list_has("cpu,memory", "mem") && !rt_list_has("memory2,cpu", "memory"));
    ck_assert(rt_list_has("", ""));
}

typedef struct wanted {
    const char *bytes;
    size_t size, start;
} wanted;

static void expect_lines(const char *bytes, size_t size, const wanted *lines)
{
    rt_lines l = {.from = fmemopen((char *)bytes, size, "r")};
    long count = 0;
    ck_assert_ptr_nonnull(l.from);
    for (; rt_lines_next(&l); count++) {
        ck_assert_msg(lines[count].bytes != NULL, "line %ld is one too many", l.number);
        ck_assert_int_eq(l.number, count + 1);
        ck_assert_uint_eq(l.size, lines[count].size);
        ck_assert_uint_eq(l.start, lines[count].start);
        ck_assert(!memcmp(l.bytes, lines[count].bytes, l.size + 1));
    }
    ck_assert_msg(!l.status.code, "%s", l.status.message);
    ck_assert_ptr_null(lines[count].bytes);
    fclose(l.from);
    rt_lines_free(&l);
}

#define LINES(bytes, ...)                                                                          \
    expect_lines(bytes, sizeof(bytes) - 1, (const wanted[]){__VA_ARGS__, {NULL, 0, 0}})

/* A mark before the first line is passed over; a line may hold a zero. */
TEST(lines_end_in_a_newline_a_return_before_it_or_the_stream)
{
    LINES("ab\ncd\n", {"ab", 2, 0}, {"cd", 2, 3});
    LINES("ab\r\n\r\ncd", {"ab", 2, 0}, {"", 0, 4}, {"cd", 2, 6});
    LINES("\n\na\rb\r\r\n", {"", 0, 0}, {"", 0, 1}, {"a\rb\r", 4, 2});
    LINES("a\r", {"a\r", 2, 0});
    LINES("\xef\xbb\xbfxy\n\xef\xbb\xbfz\n", {"xy", 2, 3}, {"\xef\xbb\xbfz", 4, 6});
    LINES("\xef\xbb\xbf\n", {"", 0, 3});
    LINES("a\0b\nc\n", {"a\0b", 3, 0}, {"c", 1, 4});
}

TEST(a_line_that_is_too_long_is_refused_by_its_number)
{
    FILE *from = tmpfile();
    ck_assert(from && fputs("ab\n", from) >= 0);
    for (int i = 0; i < RT_LINE_LIMIT; i++)
        putc('x', from);
    putc('\n', from);
    for (int i = 0; i <= RT_LINE_LIMIT; i++)
        putc('x', from);
    rewind(from);
    rt_lines l = {.from = from};
    ck_assert(rt_lines_next(&l) && rt_lines_next(&l));
    ck_assert_uint_eq(l.size, RT_LINE_LIMIT);
    ck_assert(!rt_lines_next(&l));
    ck_assert_int_eq(l.status.code, RT_ARGUMENT);
    ck_assert_str_eq(l.status.message, "has more than 1048576 bytes");
    ck_assert_int_eq(l.number, 3);
    ck_assert(!rt_lines_next(&l));
    fclose(from);
    rt_lines_free(&l);
}

TEST(what_cannot_be_read_is_no_end)
{
    char text[] = "ab\n";
    for (int i = 0; i < 2; i++) {
        rt_lines l = {.from = i ? fmemopen(text, sizeof text - 1, "r") : fopen("/", "r")};
        ck_assert_ptr_nonnull(l.from);
        rt_memory_fail_at((size_t)i);
        ck_assert(!rt_lines_next(&l));
        rt_memory_fail_at(0);
        ck_assert_int_eq(l.status.code, i ? RT_MEMORY : RT_IO);
        if (!i)
            ck_assert_str_eq(l.status.message, "cannot be read: Is a directory");
        fclose(l.from);
        rt_lines_free(&l);
    }
}

#define R "\xef\xbf\xbd"

static const struct {
    const char *bytes, *text;
} pieces[] = {
    {"", ""},
    {"plain\n\t\x01\x7f", "plain\n\t\x01\x7f"},
    {"a\xc3\xa9z", "a\xc3\xa9z"},
    {"\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
    {"\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
     "\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
    {"\x80", R},
    {"\xff\xfe", R R},
    {"\xc3", R},
    {"\xc3z", R "z"},
    {"\xe2\x82z\xe2\x82", R "z" R},
    {"\xe2\x82\xc3\xa9", R "\xc3\xa9"},
    {"\xf0\x9f\x98\xf0\x9f\x98\x80", R "\xf0\x9f\x98\x80"},
    /* table 3-8: longer than they must be */
    {"\xc0\xaf\xe0\x80\xbf\xf0\x81\202A", R R R R R R R R "A"},
    /* table 3-9: surrogates */
    {"\xed\xa0\x80\xed\xbf\xbf\xed\257A", R R R R R R R R "A"},
    /* table 3-10: other bytes */
    {"\xf4\x91\x92\x93\377A\x80\277B", R R R R R "A" R R "B"},
    /* table 3-11: beginnings of characters */
    {"\xe1\x80\xe2\xf0\x91\x92\xf1\277A", R R R R "A"},
};
/* Returns the output after that many bytes have been put, `piece` at a time. */
static char *written(const char *bytes, size_t size, size_t piece, bool end)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    rt_utf8_stream s = {.to = to};
    for (size_t i = 0; i < size; i += piece)
        rt_utf8_stream_put(&s, bytes + i, size - i < piece ? size - i : piece);
    if (end)
        rt_utf8_stream_end(&s);
    fclose(to);
    return text;
}

TEST(characters_are_whole_whatever_the_pieces)
{
    for (int i = 0; i < ROWS(pieces); i++)
        for (size_t piece = 1; piece < 6; piece++) {
            char *text = written(pieces[i].bytes, strlen(pieces[i].bytes), piece, true);
            ck_assert_msg(!strcmp(text, pieces[i].text), "row %d in pieces of %zu: got '%s'", i,
                          piece, text);
            free(text);
        }
    /* a beginning waits for its end */
    static const char *const at_each[] = {"", "a", "a", "a", "a\xe2\x82\xac", "a\xe2\x82\xac"};
    for (size_t n = 0; n < 6; n++) {
        char *text = written("a\xe2\x82\xac\xc3", n, 1, false);
        ck_assert_str_eq(text, at_each[n]);
        free(text);
    }
}
