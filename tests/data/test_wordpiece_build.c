/* The WordPiece vocabulary of a text. */

#include "data/tokenizers/train.h"

#include "data/tokenizers/vocabulary.h"
#include "samples.h"
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
    rt_status status = rt_ok();
    for (; *texts && !status.code; texts++)
        status = count_words(&counts, *texts);
    if (!status.code)
        status = rt_tokenizer_train(&counts, size, false, NULL, &vocabulary, &lines);
    ck_assert_msg(!status.code, "%s", status.message);
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

/* ---- what it holds ---- */

TEST(special_tokens_and_characters_come_first)
{
    is_built("b\xc3\xa9z, a\xc3\xa9", 12, SPECIAL ",\na\nb\nz\n\xc3\xa9\n##z\n##\xc3\xa9\n");
}

/* hug 10, pug 5, pun 12, bun 4, hugs 5: an example that can be followed by hand. u g 20, then un
 * 16, h ug 15, then p un 12, hug s 5, p ug 5, b un 4. */
TEST(the_most_frequent_pair_is_joined_first)
{
    char text[400] = "";
    static const struct {
        const char *word;
        int count;
    } words[] = {{"hug ", 10}, {"pug ", 5}, {"pun ", 12}, {"bun ", 4}, {"hugs ", 5}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int n = 0; n < words[i].count; n++)
            strcat(text, words[i].word);
    is_built(text, 100,
             SPECIAL "b\ng\nh\nn\np\ns\nu\n##g\n##n\n##s\n##u\n"
                     "##ug\n##un\nhug\npun\nhugs\npug\nbun\n");
    is_built(text, 18, SPECIAL "b\ng\nh\nn\np\ns\nu\n##g\n##n\n##s\n##u\n##ug\n##un\n");
}

TEST(ties_go_by_the_bytes_of_the_left_piece_then_of_the_right)
{
    is_built("ba bc ac", 100, SPECIAL "a\nb\nc\n##a\n##c\nac\nba\nbc\n");
    is_built("xac ybc", 14, SPECIAL "a\nb\nc\nx\ny\n##a\n##b\n##c\n##ac\n"); /* ## is before x */
}

/* a ##a ##a ##a has ##a ##a twice: the first two are joined; then ##aa ##a, being before a ##aa. */
TEST(a_pair_in_a_row_is_joined_from_the_left)
{
    is_built("aaaa", 100, SPECIAL "a\n##a\n##aa\n##aaa\naaaa\n");
}

/* ---- what it does not depend on ---- */

TEST(the_order_of_words_and_texts_changes_nothing)
{
    const char *one = BUILT(false, 40, "the cat sat on the mat, the rat ate the cat's hat");
    const char *two = BUILT(false, 40, "hat s ' cat the ate rat the", " , mat the on sat cat the");
    ck_assert_str_eq(one, two);
}

TEST(lower_case_is_that_of_the_vocabulary)
{
    const char *cased = BUILT(false, 40, "\xc3\x89t\xc3\xa9 ETE ete");
    const char *lower = BUILT(true, 40, "\xc3\x89t\xc3\xa9 ETE ete");
    ck_assert_str_eq(lower, SPECIAL "e\nt\n##e\n##t\n##te\nete\n");
    ck_assert_str_ne(cased, lower);
}

/* A word that no text can hold adds nothing, not even its characters. */
TEST(words_that_are_too_long_are_passed_over)
{
    char text[110];
    memset(text, 'x', 101);
    strcpy(text + 101, " ab");
    is_built(text, 100, SPECIAL "a\nb\n##b\nab\n");
}

/* ---- that it works ---- */

TEST(a_text_is_known_to_its_vocabulary)
{
    static const char text[] = "Ein \xe4\xbb\x8a T\xc3\xa4xt, ein text; EIN Text! 12 123 1234";
    static const char *const spelled[] = {
        "Ein \xe4\xbb\x8a T\xc3\xa4xt , ein text ; EIN Text ! 12 123 1234",
        "ein \xe4\xbb\x8a taxt , ein text ; ein text ! 12 123 1234"};
    for (int lowercase = 0; lowercase < 2; lowercase++)
        for (int size = 45; size < 80; size += 5) {
            const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = lowercase};
            const rt_vocabulary *v = vocabulary_of(kind, BUILT(lowercase, size, text));
            int count;
            rt_unknown unknown;
            int32_t *ids =
                encode_with(rt_vocabulary_encode, v, text, strlen(text), &count, &unknown);
            ck_assert(v->special.pad == 0 && v->special.unknown == 1 && v->special.cls == 2);
            ck_assert(v->special.sep == 3 && v->special.mask == 4);
            ck_assert_uint_eq(unknown.count, 0);
            are_spelled(v, ids, count, spelled[lowercase], strlen(spelled[lowercase]));
            rt_free(ids);
        }
}

/* ---- against the definition ---- */

enum { MOST_PIECES = 200, PIECE_SIZE = 40, MOST_WORDS = 40 };

/* Every pair is counted anew for every join: slow, and plain. Words have single bytes. */
typedef struct plain {
    char pieces[MOST_PIECES][PIECE_SIZE];
    int count;
    char words[MOST_WORDS][PIECE_SIZE][PIECE_SIZE]; /* as pieces */
    int lengths[MOST_WORDS];
    int word_count;
} plain;

static void plain_add(plain *p, const char *piece)
{
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->pieces[i], piece))
            return;
    strcpy(p->pieces[p->count++], piece);
}

static void plain_start(plain *p, const char *text)
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    memset(p, 0, sizeof *p);
    for (int i = 0; i < 5; i++)
        plain_add(p, special[i]);
    for (const char *at = text; *at; at++)
        if (*at == ' ')
            p->word_count++;
        else if (p->lengths[p->word_count]++)
            sprintf(p->words[p->word_count][p->lengths[p->word_count] - 1], "##%c", *at);
        else
            sprintf(p->words[p->word_count][0], "%c", *at);
    p->word_count++;
    for (int inside = 0; inside < 2; inside++)
        for (int c = 'a'; c <= 'z'; c++)
            for (int w = 0; w < p->word_count; w++)
                for (int i = inside; i < p->lengths[w]; i++) {
                    const char *symbol = p->words[w][i];
                    char piece[4];
                    sprintf(piece, inside ? "##%c" : "%c", c);
                    if (symbol[strlen(symbol) - 1] == c)
                        plain_add(p, piece);
                }
}

static int plain_count(const plain *p, const char *left, const char *right)
{
    int count = 0;
    for (int w = 0; w < p->word_count; w++)
        for (int i = 0; i + 1 < p->lengths[w]; i++)
            count += !strcmp(p->words[w][i], left) && !strcmp(p->words[w][i + 1], right);
    return count;
}

static bool plain_join(plain *p)
{
    char left[PIECE_SIZE] = "", right[PIECE_SIZE] = "", joined[2 * PIECE_SIZE];
    int most = 0;
    for (int w = 0; w < p->word_count; w++)
        for (int i = 0; i + 1 < p->lengths[w]; i++) {
            const char *a = p->words[w][i], *b = p->words[w][i + 1];
            const int count = plain_count(p, a, b), order = strcmp(a, left);
            if (count > most ||
                (count == most && (order < 0 || (!order && strcmp(b, right) < 0)))) {
                most = count;
                strcpy(left, a);
                strcpy(right, b);
            }
        }
    snprintf(joined, sizeof joined, "%s%s", left, right + 2 * !!most);
    for (int w = 0; w < p->word_count && most; w++)
        for (int i = 0; i + 1 < p->lengths[w]; i++)
            if (!strcmp(p->words[w][i], left) && !strcmp(p->words[w][i + 1], right)) {
                strcpy(p->words[w][i], joined);
                for (int j = i + 1; j + 1 < p->lengths[w]; j++)
                    strcpy(p->words[w][j], p->words[w][j + 1]);
                p->lengths[w]--;
            }
    if (most)
        plain_add(p, joined);
    return most > 0;
}

TEST(the_vocabulary_is_the_one_that_plain_counting_gives)
{
    uint32_t state = 12345;
    static plain p;
    for (int trial = 0; trial < 60; trial++) {
        char text[MOST_WORDS * 14] = "", expected[MOST_PIECES * PIECE_SIZE] = "";
        size_t at = 0;
        const uint32_t letters = 1 + (uint32_t)trial % 5;
        const int size = 20 + trial;
        for (int w = 0; w < 30; w++) {
            for (uint32_t n = 1 + (state = state * 1664525 + 1013904223) / 65536 % 12; n; n--)
                text[at++] = (char)('a' + (state = state * 1664525 + 1013904223) / 65536 % letters);
            text[at++] = ' ';
        }
        text[at - 1] = '\0';
        plain_start(&p, text);
        while (p.count < size && plain_join(&p))
            ;
        for (int i = 0; i < p.count; i++)
            strcat(strcat(expected, p.pieces[i]), "\n");
        is_built(text, size, expected);
    }
}

/* ---- what it refuses ---- */

TEST(a_size_below_the_characters_is_refused)
{
    rt_word_counts counts = {.wordpiece = true};
    char *vocabulary;
    int lines;
    ck_assert(!count_words(&counts, "abc ab").code);
    rt_status status = rt_tokenizer_train(&counts, 9, false, NULL, &vocabulary, &lines);
    ck_assert_int_eq(status.code, RT_CONFIG);
    ck_assert_str_eq(status.message, "a vocabulary of these texts needs at least 10 lines, for the "
                                     "special tokens and every character; got 9");
    ck_assert_ptr_null(vocabulary);
    ck_assert(!rt_tokenizer_train(&counts, 10, false, NULL, &vocabulary, &lines).code);
    ck_assert_int_eq(lines, 10);
    rt_free(vocabulary);
    rt_word_counts_free(&counts);
}

TEST(texts_must_be_utf8_and_have_words)
{
    rt_word_counts counts = {.wordpiece = true};
    char *vocabulary;
    int lines;
    is_data_error(count_words(&counts, "ab\xff"), "text",
                  ": a vocabulary needs UTF-8; byte 0xff at offset 2 is not");
    ck_assert(!count_words(&counts, " \n").code);
    rt_status status = rt_tokenizer_train(&counts, 100, false, NULL, &vocabulary, &lines);
    ck_assert_int_eq(status.code, RT_DATA);
    ck_assert_str_eq(status.message,
                     "the texts have no word of up to 100 characters to build a vocabulary from");
    rt_word_counts_free(&counts);
}

TEST(every_allocation_may_fail)
{
    rt_code code = RT_MEMORY;
    for (size_t n = 1; code != RT_OK; n++) {
        rt_word_counts counts = {.wordpiece = true};
        char *vocabulary = NULL;
        int lines;
        const size_t live = rt_memory_live();
        rt_memory_fail_at(n);
        code = count_words(&counts, "the cat sat on the mat, and other words of some length that "
                                    "fill more than the first capacity of what is counted")
                   .code;
        if (!code)
            code = rt_tokenizer_train(&counts, 200, false, NULL, &vocabulary, &lines).code;
        rt_memory_fail_at(0);
        ck_assert(code == RT_OK || code == RT_MEMORY);
        ck_assert_int_eq(code == RT_OK, vocabulary != NULL);
        rt_free(vocabulary);
        rt_word_counts_free(&counts);
        ck_assert_uint_eq(rt_memory_live(), live);
    }
}

/* ---- numbers for strings ---- */

TEST(strings_are_numbered_in_the_order_in_which_they_come)
{
    static const char *const strings[] = {"b", "a", "ab", "abc", "", "\xff", "abd", "aba", "b1"};
    enum { COUNT = sizeof strings / sizeof *strings };
    rt_byte_map map = {0};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < COUNT; i++) {
            size_t size;
            ck_assert_int_eq(rt_byte_map_add(&map, strings[i], strlen(strings[i])), i);
            ck_assert_str_eq(rt_byte_map_at(&map, i, &size), strings[i]);
            ck_assert_uint_eq(size, strlen(strings[i]));
        }
    ck_assert_int_eq(map.count, COUNT);
    rt_byte_map_free(&map);
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
    rt_byte_map_free(&map);
}
