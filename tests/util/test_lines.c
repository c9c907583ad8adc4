/* The lines of a stream. */

#include "core/memory.h"
#include "suite.h"
#include "util/files.h"

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

/* A byte order mark before the first line is skipped. A line may contain a zero byte. */
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

TEST(a_read_error_is_not_the_end_of_the_file)
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
