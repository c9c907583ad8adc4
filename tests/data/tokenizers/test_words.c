/* Words as the tokenizer of BERT cuts them. */

#include "data/tokenizers/words.h"

#include "data/tokenizers/characters.h"
#include "suite.h"

/* The words of a text with a bar behind each. */
static const char *words_of(const char *text, size_t bytes, bool lowercase, char *all)
{
    rt_words w = {.text = (const unsigned char *)text, .bytes = bytes, .lowercase = lowercase};
    rt_word word;
    *all = '\0';
    while (rt_words_next(&w, &word)) {
        ck_assert_uint_eq(strlen(word.bytes), word.size);
        strcat(strcat(all, word.bytes), word.too_long ? "!|" : "|");
    }
    ck_assert_uint_eq(w.at, bytes);
    return all;
}

#define KEPT(text) text "|", text "|"

/* Expected words are by BertNormalizer and BertPreTokenizer of tokenizers 0.23.3. */
static const struct example {
    const char *text, *cased, *uncased;
} examples[] = {
    {"", "", ""},
    {" \t\r\n ", "", ""},
    {"Hello  World", "Hello|World|", "hello|world|"},
    {"it's 3.5%", "it|'|s|3|.|5|%|", "it|'|s|3|.|5|%|"},
    {"a$b+c<d=e>f^g`h|i~j_k", "a|$|b|+|c|<|d|=|e|>|f|^|g|`|h|||i|~|j|_|k|",
     "a|$|b|+|c|<|d|=|e|>|f|^|g|`|h|||i|~|j|_|k|"},
    {"a\x01\x0b\177b", KEPT("ab")},
    {"a\xe2\x80\215b\xef\xbf\xbd\xef\xbb\277c", KEPT("abc")},         /* U+200D, U+FFFD, U+FEFF */
    {"a\xee\x80\x80z", KEPT("az")},                                   /* U+E000, private use */
    {"a\xc2\xa0z\xe3\x80\x80y\xe2\x80\xa8x", "a|z|y|x|", "a|z|y|x|"}, /* U+00A0, 3000, 2028 */
    {"\xc3\x89t\xc3\xa9", "\xc3\x89t\xc3\xa9|", "ete|"},              /* Été */
    {"E\xcc\x81", "E\xcc\x81|", "e|"},                                /* E and U+0301 */
    {"\xc4\xb0", "\xc4\xb0|", "i|"},                                  /* U+0130 */
    {"\xce\xa3\xce\x91\xce\xa3", "\xce\xa3\xce\x91\xce\xa3|", "\xcf\x83\xce\xb1\xcf\x83|"},
    {"\xe2\x84\xa6\xe2\x84\xaa", "\xe2\x84\xa6\xe2\x84\xaa|", "\xcf\x89k|"}, /* ohm, kelvin */
    {"a\xe2\x89\xa0z", "a\xe2\x89\xa0z|", "a|=|z|"}, /* U+2260 is = and U+0338 */
    {"a\xe4\xbb\x8a\xe5\xa4\xa9z", "a|\xe4\xbb\x8a|\xe5\xa4\xa9|z|",
     "a|\xe4\xbb\x8a|\xe5\xa4\xa9|z|"},
    {"a\xf0\xab\xa0\xa0z", KEPT("a\xf0\xab\xa0\xa0z")}, /* U+2B820: none, by their slip */
    {"a\xf0\xab\xa4\xa0z", "a|\xf0\xab\xa4\xa0|z|", "a|\xf0\xab\xa4\xa0|z|"},   /* U+2B920 */
    {"\xea\xb0\x81", "\xea\xb0\x81|", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8|"}, /* a syllable */
    {"a\xcd\xb8z", KEPT("a\xcd\xb8z")},                             /* U+0378, not assigned */
    {"a\xd8\x9dz", KEPT("a\xd8\x9dz")},                             /* U+061D, Unicode 14 */
    {"a\xe1\x99\xadz", "a|\xe1\x99\xad|z|", "a|\xe1\x99\xad|z|"},   /* U+166D */
    {"a\xe1\x9c\xb4z", "a\xe1\x9c\xb4z|", "az|"},                   /* U+1734 */
    {"a\xe0\xa3\x94z", KEPT("a\xe0\xa3\x94z")},                     /* U+08D4, Mn of Unicode 9 */
    {"\xf0\x91\xa4\xb8", KEPT("\xf0\x91\xa4\xb8")},                 /* U+11938 */
    {"\xea\x9f\x8b", "\xea\x9f\x8b|", "\xc9\xa4|"},                 /* U+A7CB, Unicode 16 */
    {"\xf0\x90\xb5\x90", "\xf0\x90\xb5\x90|", "\xf0\x90\xb5\xb0|"}, /* U+10D50 */
};

TEST_ROWS(words_are_those_of_bert, 0, ROWS(examples))
{
    const struct example *e = &examples[_i];
    char all[400];
    ck_assert_str_eq(words_of(e->text, strlen(e->text), false, all), e->cased);
    ck_assert_str_eq(words_of(e->text, strlen(e->text), true, all), e->uncased);
    ck_assert_str_eq(words_of("a\0b", 3, false, all), "ab|"); /* a NUL is dropped */
}

/* Combining classes: U+302E 224, U+1D165 216, U+1B44 9; U+034F, which is dropped, 0; U+8D4 230. */
TEST(combining_characters_are_sorted_as_in_NFD)
{
    static const char *const orders[][2] = {
        {"a\xe3\x80\xae\xf0\x9d\x85\xa5\xe1\xad\x84", "a\xe1\xad\x84\xf0\x9d\x85\xa5\xe3\x80\xae|"},
        {"a\xe3\x80\xae\xcd\x8f\xf0\x9d\x85\xa5\xe1\xad\x84",
         "a\xe3\x80\xae\xe1\xad\x84\xf0\x9d\x85\xa5|"},
        {"a\xe3\x80\xae\xcc\x81\xf0\x9d\x85\xa5", "a\xf0\x9d\x85\xa5\xe3\x80\xae|"},
        {"a\xe3\x80\xaf\xe3\x80\xae", "a\xe3\x80\xaf\xe3\x80\xae|"}, /* alike */
        {"a\xe0\xa3\x94\xe3\x80\xae", "a\xe3\x80\xae\xe0\xa3\x94|"},
        {"a\xe0\xa2\x98\xe3\x80\xae\xe1\xad\x84", /* U+898, of class 0 there */
         "a\xe0\xa2\x98\xe1\xad\x84\xe3\x80\xae|"},
    };
    char all[80];
    for (int i = 0; i < ROWS(orders); i++)
        ck_assert_str_eq(words_of(orders[i][0], strlen(orders[i][0]), true, all), orders[i][1]);
}

TEST(a_word_of_more_than_100_characters_is_too_long)
{
    char text[3 * RT_WORD_CHARACTERS + 3] = "", all[4 * RT_WORD_CHARACTERS];
    for (int i = 0; i < RT_WORD_CHARACTERS; i++)
        strcat(text, i % 2 ? "\xc3\x9f" : "x");
    const size_t size = strlen(text);
    rt_words w = {.text = (const unsigned char *)text, .bytes = size};
    rt_word word;
    ck_assert(rt_words_next(&w, &word) && !word.too_long && word.size == size);
    ck_assert(!rt_words_next(&w, &word));
    strcat(text, "y z");
    w = (rt_words){.text = (const unsigned char *)text, .bytes = size + 3};
    ck_assert(rt_words_next(&w, &word) && word.too_long && word.at == 0);
    ck_assert(rt_words_next(&w, &word) && !word.too_long && word.at == size + 2);
    strcat(text, " "); /* accents that go are not counted */
    memcpy(text + size, "\xcc\x81", 3);
    words_of(text, strlen(text), true, all);
    ck_assert_ptr_null(strchr(all, '!'));
    words_of(text, strlen(text), false, all);
    ck_assert_ptr_nonnull(strchr(all, '!'));
}

TEST(a_word_has_the_offset_of_its_first_byte)
{
    static const char text[] = " \xe2\x80\x8d\xcc\201ab, c";
    static const size_t at[] = {6, 8, 10};
    rt_words w = {.text = (const unsigned char *)text, .bytes = strlen(text), .lowercase = true};
    rt_word word;
    for (int i = 0; i < 3; i++) {
        ck_assert(rt_words_next(&w, &word));
        ck_assert_uint_eq(word.at, at[i]);
    }
    ck_assert(!rt_words_next(&w, &word));
}

/* Therefore a text has at most as many ids as bytes. words.c assumes that a punctuation mark that
 * begins a decomposition is followed by marks only. */
TEST(a_decomposition_is_no_longer_than_its_bytes_and_has_punctuation_alone)
{
    for (int32_t c = 0; c < 0x110000; c++) {
        int32_t parts[RT_DECOMPOSITION_SIZE];
        const int bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        int kept = 0;
        if (c >= 0xd800 && c < 0xe000)
            continue;
        const int count = rt_character_decompose(c, parts);
        const bool first = rt_character_of(parts[0]) == RT_CHARACTER_ALONE;
        for (int i = 0; i < count; i++) {
            const rt_character kind = rt_character_of(parts[i]);
            kept += kind != RT_CHARACTER_MARK;
            if (c >= 0x80 && i &&
                (kind == RT_CHARACTER_ALONE || (first && kind != RT_CHARACTER_MARK)))
                ck_abort_msg("U+%04X has part %d U+%04X", (unsigned)c, i, (unsigned)parts[i]);
        }
        if (kept > bytes)
            ck_abort_msg("U+%04X has %d bytes and %d parts", (unsigned)c, bytes, kept);
    }
}
