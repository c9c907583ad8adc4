/* The WordPiece vocabulary of a text. */

#include "data/tokenizers/train.h"

#include "data/samples.h"
#include "tokenizer_fixtures.h"

static rt_status count_words(rt_word_counts *counts, const char *text)
{
    return rt_word_counts_add(counts, NULL, "text", (const unsigned char *)text, strlen(text),
                              NULL);
}

/* The vocabulary of texts, up to NULL, which is freed after the test. */
static const char *built(bool lowercase, int size, const char *const *texts)
{
    rt_word_counts counts = {.wordpiece = true, .lowercase = lowercase};
    char *vocabulary;
    int lines, seen = 0;
    for (; *texts; texts++)
        expect_ok(count_words(&counts, *texts));
    expect_ok(rt_tokenizer_train(&counts, size, false, NULL, &vocabulary, &lines));
    for (const char *at = vocabulary; (at = strchr(at, '\n')); at++)
        seen++;
    ck_assert_int_eq(seen, lines);
    ck_assert_int_le(lines, size);
    rt_word_counts_free(&counts);
    return owned(vocabulary, rt_free);
}

#define BUILT(lowercase, size, ...) built(lowercase, size, (const char *const[]){__VA_ARGS__, NULL})

static void is_built(const char *text, int size, const char *expected)
{
    ck_assert_str_eq(BUILT(false, size, text), expected);
}

#define SPECIAL "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

static const struct {
    const char *text;
    int size;
    const char *lines; /* behind the special tokens */
} builds[] = {
    /* characters come first */
    {"b\xc3\xa9z, a\xc3\xa9", 12, ",\na\nb\nz\n\xc3\xa9\n##z\n##\xc3\xa9\n"},
    /* ties go by the bytes of the left piece, then of the right */
    {"ba bc ac", 100, "a\nb\nc\n##a\n##c\nac\nba\nbc\n"},
    {"xac ybc", 14, "a\nb\nc\nx\ny\n##a\n##b\n##c\n##ac\n"}, /* ## is before x */
    /* a ##a ##a ##a has ##a ##a twice: the first two are joined; then ##aa ##a, before a ##aa */
    {"aaaa", 100, "a\n##a\n##aa\n##aaa\naaaa\n"},
    /* a word that no text can hold adds nothing, not even its characters */
    {NULL, 100, "a\nb\n##b\nab\n"},
};

TEST_ROWS(a_vocabulary_is_built_of_a_text, 0, ROWS(builds))
{
    const char *text = builds[_i].text;
    is_built(text ? text : lasting("%0101d ab", 0), builds[_i].size,
             lasting(SPECIAL "%s", builds[_i].lines));
}

TEST(the_order_of_words_and_texts_changes_nothing)
{
    const char *one = BUILT(false, 40, "the cat sat on the mat, the rat ate the cat's hat");
    const char *two = BUILT(false, 40, "hat s ' cat the ate rat the", " , mat the on sat cat the");
    ck_assert_str_eq(one, two);
}

/* Words are counted in portions of whole lines, from 2 MiB on. */
TEST(words_of_all_portions_count)
{
    enum { LINES = (1 << 21) / 3 + 1 };
    char *text = owned(rt_alloc(3 * LINES + 7, 1), rt_free);
    for (int i = 0; i < LINES; i++)
        memcpy(text + (size_t)i * 3, "ab\n", 3);
    memcpy(text + (size_t)LINES * 3, "cd\ncd\n", 7);
    is_built(text, 100, SPECIAL "a\nb\nc\nd\n##b\n##d\nab\ncd\n");
}

TEST(lower_case_is_that_of_the_vocabulary)
{
    const char *cased = BUILT(false, 40, "\xc3\x89t\xc3\xa9 ETE ete");
    const char *lower = BUILT(true, 40, "\xc3\x89t\xc3\xa9 ETE ete");
    ck_assert_str_eq(lower, SPECIAL "e\nt\n##e\n##t\n##te\nete\n");
    ck_assert_str_ne(cased, lower);
}

enum { PIECE_SIZE = 40 };

/* Adds a line that is not there. Returns the number of lines added. */
static int add_line(char *lines, const char *piece)
{
    char line[2 * PIECE_SIZE + 7];
    snprintf(line, sizeof line, "\n%s\n", piece);
    if (strstr(lines, line))
        return 0;
    strcat(lines, line + 1);
    return 1;
}

/* Joins the most frequent pair of pieces, which stand between blanks, in words of a line each.
 * Every pair is counted anew for every join: slow, and plain. Returns the number of lines added, -1
 * if there is no pair. */
static int plain_join(char *words, char *lines)
{
    char left[PIECE_SIZE] = "", right[PIECE_SIZE] = "", a[PIECE_SIZE], b[PIECE_SIZE];
    char pair[2 * PIECE_SIZE + 4], joined[2 * PIECE_SIZE + 4];
    int most = 0;
    for (const char *at = words; (at = strchr(at, ' ')) != NULL; at++) {
        int count = 0;
        if (sscanf(at, "%*1[ ]%39[^ \n]%*1[ ]%39[^ \n]", a, b) != 2)
            continue;
        snprintf(pair, sizeof pair, " %s %s ", a, b);
        for (const char *found = words; (found = strstr(found, pair)) != NULL; found++)
            count++;
        const int order = strcmp(a, left);
        if (count > most || (count == most && (order < 0 || (!order && strcmp(b, right) < 0)))) {
            most = count;
            strcpy(left, a);
            strcpy(right, b);
        }
    }
    if (!most)
        return -1;
    snprintf(pair, sizeof pair, " %s %s ", left, right);
    const int size = snprintf(joined, sizeof joined, " %s%s ", left, right + 2);
    for (char *at = words; (at = strstr(at, pair)) != NULL; at += size - 1) {
        memmove(at + size, at + strlen(pair), strlen(at + strlen(pair)) + 1);
        memcpy(at, joined, (size_t)size);
    }
    joined[size - 1] = '\0';
    return add_line(lines, joined + 1);
}

TEST(the_vocabulary_is_that_of_plain_counting)
{
    uint32_t state = 12345;
    for (int trial = 0; trial < 60; trial++) {
        char text[600] = "", words[4000] = "", lines[4000] = SPECIAL, piece[8];
        size_t at = 0, end = 0;
        const uint32_t letters = 1 + (uint32_t)trial % 5;
        int count = 5, added = 0;
        for (int w = 0; w < 30; w++) {
            const uint32_t length = 1 + (state = state * 1664525 + 1013904223) / 65536 % 12;
            for (uint32_t n = 0; n < length; n++) {
                text[at] = (char)('a' + (state = state * 1664525 + 1013904223) / 65536 % letters);
                end += (size_t)sprintf(words + end, n ? " ##%c" : " %c", text[at++]);
            }
            text[at++] = ' ';
            end += (size_t)sprintf(words + end, " \n");
        }
        text[at - 1] = '\0';
        for (int inside = 0; inside < 2; inside++)
            for (int c = 'a'; c <= 'z'; c++) {
                snprintf(piece, sizeof piece, " ##%c ", c);
                if (inside ? strstr(words, piece) != NULL : strchr(text, c) != NULL) {
                    piece[4] = '\0';
                    count += add_line(lines, piece + (inside ? 1 : 3));
                }
            }
        while (count < 20 + trial && (added = plain_join(words, lines)) >= 0)
            count += added;
        is_built(text, 20 + trial, lines);
    }
}

TEST(texts_without_words_and_too_few_lines_are_refused)
{
    rt_word_counts counts = {.wordpiece = true};
    char *vocabulary;
    int lines;
    is_status(count_words(&counts, "ab\xff"), RT_DATA,
              "text: a vocabulary needs UTF-8; byte 0xff at offset 2 is not");
    expect_ok(count_words(&counts, " \n"));
    is_status(rt_tokenizer_train(&counts, 100, false, NULL, &vocabulary, &lines), RT_DATA,
              "the texts have no word of up to 100 characters to build a vocabulary from");
    expect_ok(count_words(&counts, "abc ab"));
    is_status(
        rt_tokenizer_train(&counts, 9, false, NULL, &vocabulary, &lines), RT_CONFIG,
        "a vocabulary of these texts needs at least 10 lines, for the special tokens and every "
        "character; got 9");
    ck_assert_ptr_null(vocabulary);
    expect_ok(rt_tokenizer_train(&counts, 10, false, NULL, &vocabulary, &lines));
    ck_assert_int_eq(lines, 10);
    rt_free(vocabulary);
    rt_word_counts_free(&counts);
}

TEST(every_allocation_may_fail)
{
    rt_code code = RT_MEMORY;
    const size_t live = rt_memory_live();
    FOR_EACH_REFUSAL(code, 1)
    {
        rt_word_counts counts = {.wordpiece = true};
        char *vocabulary = NULL;
        int lines;
        code = count_words(&counts, "the cat sat on the mat, and other words of some length that "
                                    "fill more than the first capacity of what is counted")
                   .code;
        if (!code)
            code = rt_tokenizer_train(&counts, 200, false, NULL, &vocabulary, &lines).code;
        ck_assert_int_eq(code == RT_OK, vocabulary != NULL);
        rt_free(vocabulary);
        rt_word_counts_free(&counts);
        ck_assert_uint_eq(rt_memory_live(), live);
    }
    ck_assert_int_eq(code, RT_OK);
}

TEST(strings_may_have_zero_bytes)
{
    static const char zeros[40];
    rt_byte_map map = {0};
    for (int round = 0; round < 2; round++) {
        for (int32_t i = 0; i < 3000; i++) {
            const int32_t key[2] = {i % 50 * 256, i / 50 * 65536};
            ck_assert_int_eq(rt_byte_map_add(&map, key, sizeof key), i);
        }
        for (int32_t size = 1; size <= 40; size++) /* 8 of them are the first key */
            ck_assert_int_eq(rt_byte_map_add(&map, zeros, (size_t)size),
                             size == 8 ? 0 : 2999 + size - (size > 8));
    }
    size_t size;
    ck_assert_mem_eq(rt_byte_map_at(&map, 0, &size), zeros, 8);
    ck_assert_uint_eq(size, 8);
    rt_byte_map_free(&map);
}
