/* Characters of UTF-8. The expected replacements of invalid bytes are those of the Unicode
 * Standard, chapter 3 (tables 3-7 to 3-11). */

#include "suite.h"
#include "util/utf8.h"

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

TEST(characters_split_between_writes_are_printed_whole)
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
