/* Vocabularies: the meaning of ids, and the file vocab.txt. */

#include "data/tokenizers/vocabulary.h"

#include "data/samples.h"
#include "data/tokenizers/tokens.h"
#include "tokenizer_fixtures.h"

#define TOKENS   "[PAD]\n[CLS]\n[MASK]\n[SEP]\n"
#define WITH_UNK TOKENS "[UNK]\n"

static rt_vocabulary *of_bytes(void)
{
    rt_vocabulary *v;
    expect_ok(rt_vocabulary_of_bytes(&v));
    return owned(v, release_vocabulary);
}

static rt_status read_file(rt_vocabulary **v, rt_level level, const char *bytes, size_t size)
{
    const rt_vocabulary_kind kind = {.level = level};
    return rt_vocabulary_read(v, kind, "v", (const unsigned char *)bytes, size);
}

static rt_vocabulary *from(rt_level level, const char *text)
{
    return vocabulary_of((rt_vocabulary_kind){.level = level}, text);
}

TEST(special_tokens_have_the_ids_of_the_toy_tasks)
{
    rt_vocabulary *all[] = {of_bytes(), characters_of("a", 1)};
    for (int i = 0; i < 2; i++) {
        const rt_special_ids s = all[i]->special;
        ck_assert(s.pad == RT_ID_PAD && s.cls == RT_ID_CLS);
        ck_assert(s.mask == RT_ID_MASK && s.sep == RT_ID_SEP);
        ck_assert_int_eq(s.unknown, i == 1 ? 4 : RT_NO_ID);
    }
    rt_vocabulary_free(NULL);
    /* byte b has the id 4 plus b */
    rt_vocabulary *v = of_bytes();
    ck_assert_int_eq(v->count, 260);
    for (int b = 0; b < 256; b++) {
        ck_assert_int_eq(v->ids[b], 4 + b);
        size_t size;
        const char *token = rt_vocabulary_decode(v, 4 + b, &size);
        ck_assert_uint_eq(size, 1);
        ck_assert_int_eq((unsigned char)token[0], b);
    }
}

TEST(ordinary_tokens_are_the_ids_that_are_no_special_token)
{
    rt_vocabulary *all[] = {of_bytes(), characters_of("cab", 3)};
    static const int counts[] = {256, 3}, first[] = {4, 5};
    for (int i = 0; i < 2; i++) {
        int count = 0;
        for (int64_t number = -3; number < all[i]->count + 3; number++) {
            const int32_t id = number == -3                  ? INT32_MIN
                               : number == all[i]->count + 2 ? INT32_MAX
                                                             : (int32_t)number;
            const bool ordinary = rt_vocabulary_is_ordinary(all[i], id);
            size_t size = 1;
            const char *text = rt_vocabulary_decode(all[i], id, &size);
            ck_assert_msg(!text == !ordinary && (text || !size), "id %d", (int)id);
            if (ordinary)
                ck_assert_int_eq(all[i]->ordinary[count++], id);
        }
        ck_assert_int_eq(count, counts[i]);
        ck_assert_int_eq(all[i]->ordinary_count, counts[i]);
        ck_assert_int_eq(all[i]->ordinary[0], first[i]);
    }
}

/* Ordinary tokens keep their logits, and so does an end of text if allowed; rows beyond do not. */
TEST(logits_of_ids_that_are_no_text_are_masked)
{
    rt_vocabulary *v = characters_of("ab", 2); /* five special tokens before them */
    v->ends = (rt_end_ids){1, {3}};
    for (int ends = 0; ends < 2; ends++) {
        real logits[] = {0, 1, 2, 3, 4, 5, 6, 7};
        rt_vocabulary_mask_logits(v, ends, logits);
        for (int id = 0; id < 8; id++)
            ck_assert(id >= 5 || (ends && id == 3) ? logits[id] == (real)id
                                                   : logits[id] == (real)-INFINITY);
    }
}

TEST(bytes_that_are_not_utf8_are_named_with_their_offset)
{
    static const char *const rows[][2] = {{"\xff", "byte 0xff at byte 0 is not UTF-8"},
                                          {"[SEP]ab\xc3", "byte 0xc3 at byte 7 is not UTF-8"},
                                          {"\xc3\xa9\xa9", "byte 0xa9 at byte 2 is not UTF-8"}};
    static const char *const words[] = {"char", "wordpiece", "bpe"};
    const rt_vocabulary *levels[] = {
        characters_of("a", 1), from(RT_LEVEL_WORDPIECE, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"),
        read_vocabulary((rt_vocabulary_kind){.level = RT_LEVEL_BPE},
                        TEST_SOURCES "/fixtures/bpe/digits/tokenizer.json")};
    int32_t ids[20];
    int count;
    rt_unknown unknown;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 6; k++)
            is_status(rt_vocabulary_encode(levels[i], rows[k / 2][0], strlen(rows[k / 2][0]), k % 2,
                                           ids, &count, &unknown),
                      RT_ARGUMENT, rows[k / 2][1]);
        is_status(rt_level_error(rt_vocabulary_kind_of(levels[i]).level, "name", 0xff, 1), RT_DATA,
                  lasting("name: data.level = %s needs UTF-8; byte 0xff at offset 1 is not",
                          words[i]));
    }
}

TEST(vocabularies_are_equal_if_every_id_has_the_same_meaning)
{
    rt_vocabulary *v[] = {of_bytes(), characters_of("ab", 2), characters_of("abc", 3),
                          from(RT_LEVEL_CHAR, WITH_UNK "b\na\n"), NULL};
    enum { COUNT = sizeof v / sizeof *v };
    rt_vocabulary *same = from(RT_LEVEL_CHAR, WITH_UNK "a\nb\n");
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++)
            ck_assert(rt_vocabularies_equal(v[i], v[j]) == (i == j));
        ck_assert(rt_vocabularies_equal(v[i], same) == (i == 1));
    }
}

TEST(a_line_is_an_id)
{
    rt_vocabulary *v = characters_of("b\n\\a \r\xc3\xa9\xe2\x80\xa8\0", 12);
    is_written(v, WITH_UNK "\\0\n\\n\n\\r\n \n\\\\\na\nb\n\xc3\xa9\n\xe2\x80\xa8\n");
    /* the order is that of the file */
    v = from(RT_LEVEL_CHAR, WITH_UNK "z\n\\n\na");
    ck_assert_int_eq(v->count, 8);
    ck_assert(v->ids['z'] == 5 && v->ids['\n'] == 6 && v->ids['a'] == 7 && v->ids['b'] == 4);
}

TEST(the_lines_of_bytes_are_their_numbers)
{
    char expected[4096];
    int size = snprintf(expected, sizeof expected, TOKENS);
    for (int b = 0; b < 256; b++)
        size += snprintf(expected + size, sizeof expected - (size_t)size, "0x%02x\n", b);
    is_written(of_bytes(), expected);
    ck_assert(rt_vocabularies_equal(of_bytes(), from(RT_LEVEL_BYTE, expected)));
}

/* Every character that there is but the 2048 surrogates, in pieces of 65000. */
TEST(a_written_vocabulary_is_read_back)
{
    static char text[4 * RT_CHARACTERS_LIMIT + RT_UTF8_SIZE];
    int32_t character = 0;
    while (character < 0x110000) {
        size_t bytes = 0;
        for (int n = 0; n < RT_CHARACTERS_LIMIT && character < 0x110000; character++)
            if (character < 0xd800 || character >= 0xe000) {
                bytes += rt_utf8_write(character, text + bytes);
                n++;
            }
        rt_vocabulary *v, *again;
        char *file;
        expect_ok(rt_vocabulary_of_text(&v, "text", (const unsigned char *)text, bytes));
        expect_ok(rt_vocabulary_write(v, &file));
        expect_ok(read_file(&again, RT_LEVEL_CHAR, file, strlen(file)));
        ck_assert(rt_vocabularies_equal(v, again));
        for (int32_t id = 5; id < again->count; id++) {
            size_t size;
            int32_t c = -1;
            const char *token = rt_vocabulary_decode(again, id, &size);
            ck_assert_ptr_nonnull(token);
            ck_assert_uint_eq(rt_utf8_read((const unsigned char *)token, size, &c), size);
            ck_assert_int_eq(again->ids[c], id);
        }
        rt_free(file); /* at once: all of them are large */
        rt_vocabulary_free(v);
        rt_vocabulary_free(again);
    }
}

#define BERT "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
#define ESM  "<cls>\n<pad>\n<eos>\n<unk>\n"

static const struct {
    rt_level level;
    size_t size; /* 0: up to the first NUL */
    const char *text, *message;
} wrong[] = {
    {RT_LEVEL_CHAR, 0, "", "v: ends before line 1, which must be [PAD]"},
    {RT_LEVEL_CHAR, 0, "\n", "v:1: the line is empty"},
    {RT_LEVEL_CHAR, 0, TOKENS, "v: ends before line 5, which must be [UNK]"},
    {RT_LEVEL_CHAR, 0, TOKENS "a\nb\n", "v:5: must be [UNK]"},
    {RT_LEVEL_CHAR, 0, WITH_UNK, "v: has no token beside the special ones"},
    {RT_LEVEL_CHAR, 0, "[CLS]\n[PAD]\n", "v:1: must be [PAD]"},
    {RT_LEVEL_CHAR, 0, "\xef\xbb\xbf" WITH_UNK "a\n",
     "v:1: begins with a byte order mark, which is no part of a token"},
    {RT_LEVEL_CHAR, 0, "[PAD]\r\n[CLS]\r\n",
     "v:1: ends with a return; lines end with a newline alone, and the character is written \\r"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "a\n\n", "v:7: the line is empty"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "a\nb\na\n", "v:8: 'a' is in line 6 already"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "\\n\nb\n\\n\n", "v:8: U+000A is in line 6 already"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "\xc3\xa9\n\xc3\xa9",
     "v:7: '\xc3\xa9' (U+00E9) is in line 6 already"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "a\nab\n",
     "v:7: holds 2 characters; at level char a line holds one"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "a\xff\n", "v:6: byte 0xff is not UTF-8"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "\\t\n", "v:6: holds 2 characters; at level char a line holds one"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "\\\n", "v:6: a backslash is written \\\\"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "a\n\xc3\n", "v:7: byte 0xc3 is not UTF-8"},
    {RT_LEVEL_CHAR, 0, WITH_UNK "\xed\xa0\x80\n", "v:6: byte 0xed is not UTF-8"},
    {RT_LEVEL_CHAR, sizeof WITH_UNK + 5, WITH_UNK "a\n\0\nb\n",
     "v:7: holds a NUL; the character is written \\0"},
    {RT_LEVEL_BYTE, 0, TOKENS "0x1\n", "v:5: must be a byte, from 0x00 to 0xff"},
    {RT_LEVEL_BYTE, 0, TOKENS "0x0A\n", "v:5: must be a byte, from 0x00 to 0xff"},
    {RT_LEVEL_BYTE, 0, TOKENS "0x00\n0x02\n", "v:6: must be 0x01"},
    {RT_LEVEL_BYTE, 0, TOKENS "0x00\n0x01\n", "v: ends before the byte 0x02"},
    {RT_LEVEL_BYTE, 0, TOKENS "0x00\n0x00\n", "v:6: byte 0x00 is in line 5 already"},
    {RT_LEVEL_WORDPIECE, 0, "", "v: is empty"},
    {RT_LEVEL_WORDPIECE, 0, "\n", "v:1: the line is empty"},
    {RT_LEVEL_WORDPIECE, 0, BERT, "v: has no token beside the special ones"},
    {RT_LEVEL_WORDPIECE, 0, BERT "a\n\n", "v:7: the line is empty"},
    {RT_LEVEL_WORDPIECE, 0, BERT "a\nb\na\n", "v:8: 'a' is in line 6 already"},
    {RT_LEVEL_WORDPIECE, 0, BERT "ab\n##ab\nc\n##ab\n", "v:9: '##ab' is in line 7 already"},
    {RT_LEVEL_WORDPIECE, 0, BERT "[SEP]\n", "v:6: '[SEP]' is in line 4 already"},
    {RT_LEVEL_WORDPIECE, 0, "\xef\xbb\xbf" BERT "a\n",
     "v:1: begins with a byte order mark, which is no part of a token"},
    {RT_LEVEL_WORDPIECE, 0, "[PAD]\r\n[UNK]\r\n",
     "v:1: ends with a return; lines end with a newline alone"},
    {RT_LEVEL_WORDPIECE, 0, BERT "a\nb\xff\n", "v:7: byte 0xff is not UTF-8"},
    {RT_LEVEL_WORDPIECE, 0, "[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n", "v: has no line [PAD]"},
    {RT_LEVEL_WORDPIECE, 0, "[PAD]\n[CLS]\n[SEP]\n[MASK]\na\nb\n", "v: has no line [UNK]"},
    {RT_LEVEL_WORDPIECE, 0, "[PAD]\n[UNK]\n[SEP]\n[MASK]\na\nb\n", "v: has no line [CLS]"},
    {RT_LEVEL_WORDPIECE, 0, "[PAD]\n[UNK]\n[CLS]\n[MASK]\na\nb\n", "v: has no line [SEP]"},
    {RT_LEVEL_WORDPIECE, 0, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK] \na\n", "v: has no line [MASK]"},
    {RT_LEVEL_WORDPIECE, sizeof BERT + 3, BERT "a\0b\n", "v:6: holds a NUL, which is not text"},
    {RT_LEVEL_RESIDUE, 0, ESM "L\n", "v: has no line <mask>"},
    {RT_LEVEL_RESIDUE, 0, "<cls>\n<pad>\n<eos>\n<mask>\nL\n", "v: has no line <unk>"},
    {RT_LEVEL_RESIDUE, 0, "[CLS]\n[PAD]\n[SEP]\n[UNK]\n[MASK]\nL\n", "v: has no line <pad>"},
    {RT_LEVEL_RESIDUE, 0, ESM "<mask>\n", "v: has no token beside the special ones"},
    {RT_LEVEL_RESIDUE, 0, ESM "<mask>\nL\nL\n", "v:7: 'L' is in line 6 already"},
    {RT_LEVEL_RESIDUE, 0, ESM "<mask>\nL A\n", "v:6: has a blank; a token of ESM has none"},
    {RT_LEVEL_RESIDUE, 0, ESM "<mask>\nL\r\n",
     "v:6: ends with a return; lines end with a newline alone"},
    {RT_LEVEL_RESIDUE, 0, ESM "<mask>\n\nL\n", "v:6: the line is empty"},
    {RT_LEVEL_RESIDUE, 0, ESM "<mask>\n\xff\n", "v:6: byte 0xff is not UTF-8"},
};

TEST_ROWS(a_malformed_vocabulary_is_refused_with_its_line, 0, ROWS(wrong))
{
    rt_vocabulary *v;
    const size_t size = wrong[_i].size ? wrong[_i].size : strlen(wrong[_i].text);
    is_status(read_file(&v, wrong[_i].level, wrong[_i].text, size), RT_DATA, wrong[_i].message);
    ck_assert_ptr_null(v);
}

TEST(a_text_or_a_file_can_have_65000_characters)
{
    static char text[sizeof WITH_UNK + 5 * (RT_CHARACTERS_LIMIT + 1) + RT_UTF8_SIZE];
    size_t size = 0;
    rt_vocabulary *v;
    for (int i = 0; i <= RT_CHARACTERS_LIMIT; i++)
        size += rt_utf8_write(0x10000 + i, text + size);
    ck_assert_int_eq(characters_of(text, size - 4)->count, RT_CHARACTERS_LIMIT + 5);
    is_status(rt_vocabulary_of_text(&v, "text", (const unsigned char *)text, size), RT_DATA,
              "text: a text can have up to 65000 different characters; it has 65001");
    size = (size_t)snprintf(text, sizeof text, WITH_UNK);
    for (int i = 0; i <= RT_CHARACTERS_LIMIT; i++) {
        size += rt_utf8_write(0x10000 + i, text + size);
        text[size++] = '\n';
    }
    expect_ok(read_file(&v, RT_LEVEL_CHAR, text, size - 5));
    ck_assert_int_eq(v->count, RT_CHARACTERS_LIMIT + 5);
    rt_vocabulary_free(v);
    is_status(read_file(&v, RT_LEVEL_CHAR, text, size), RT_DATA,
              "v:65006: a vocabulary can have up to 65000 tokens");
    ck_assert_ptr_null(v);
}
