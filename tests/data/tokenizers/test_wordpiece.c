/* Vocabularies of the levels wordpiece and residue: their file, and ids of texts. */

#include "data/tokenizers/vocabulary.h"

#include "data/samples.h"
#include "data/tokenizers/pieces.h"
#include "data/tokenizers/tokens.h"
#include "tokenizer_fixtures.h"
#include "util/utf8.h"

#define SPECIAL "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

static rt_status read_pieces(rt_vocabulary **v, bool lowercase, const char *text, size_t size)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = lowercase};
    return rt_vocabulary_read(v, kind, "v", (const unsigned char *)text, size);
}

static rt_vocabulary *pieces(bool lowercase, const char *text)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = lowercase};
    return vocabulary_of(kind, text);
}

static void is_encoded(const rt_vocabulary *v, const char *text, const char *expected)
{
    has_ids(AS_TEXT, v, text, expected);
}

/* wordpiece/ of tests/fixtures or of the folder that ROTOR_HUGGINGFACE names has vocab-KIND.txt and
 * KIND.jsonl for the kinds cased and uncased, and texts.jsonl. */
static const char *fixture(const char *name, int kind)
{
    const char *given = getenv("ROTOR_HUGGINGFACE");
    char file[40];
    snprintf(file, sizeof file, name, kind ? "uncased" : "cased");
    return lasting("%s/wordpiece/%s", given ? given : TEST_SOURCES "/fixtures", file);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(texts_have_the_ids_of_BertTokenizer, 0, 2)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = _i};
    rt_vocabulary *v = read_vocabulary(kind, fixture("vocab-%s.txt", _i));
    ck_assert_int_gt(check_texts(v, fixture("texts.jsonl", _i), fixture("%s.jsonl", _i), true), 0);
}

TEST_ROWS(the_file_of_Hugging_Face_is_written_as_it_was_read, 0, 2)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = _i};
    const char *path = fixture("vocab-%s.txt", _i);
    rt_vocabulary *v = read_vocabulary(kind, path);
    unsigned char *file;
    size_t size;
    expect_ok(rt_file_read("a fixture", path, &file, &size)); /* a zero is behind it */
    ck_assert_uint_eq(strlen((char *)file), size);
    is_written(v, (char *)file);
    rt_free(file);
}

/*                            5  6     7       8     9    10   11   12 */
#define PLAYING SPECIAL "un\n##aff\n##able\n##ing\nplay\n##s\nplays\n,\n"

TEST(a_word_that_cannot_be_cut_is_unknown_as_a_whole)
{
    rt_unknown unknown;
    rt_vocabulary *v = pieces(false, PLAYING);
    unknown = has_ids(AS_TEXT, v, "play unaffablex Play", "9 1 1");
    ck_assert(unknown.count == 2 && unknown.at == 5);
    ck_assert_str_eq(unknown.name, "'unaffablex'");
    unknown = has_ids(AS_TEXT, v, "play \xe2\x82\xac", "9 1");
    ck_assert_str_eq(unknown.name, "'\xe2\x82\xac' (U+20AC)");
    /* a word of more than 100 characters is unknown */
    char text[102] = "", expected[200] = "5";
    v = pieces(false, SPECIAL "a\n##aa\n##a\n");
    memset(text, 'a', 100);
    for (int i = 0; i < 49; i++)
        strcat(expected, " 6");
    is_encoded(v, text, strcat(expected, " 7"));
    text[100] = 'a';
    is_encoded(v, text, "1");
}

TEST(a_long_word_is_named_by_its_start)
{
    char name[RT_WORD_NAME_SIZE], word[3 * RT_WORD_NAME_SIZE + 1] = "";
    for (int i = 0; i < RT_WORD_NAME_SIZE; i++)
        strcat(word, "\xe2\x82\xac");
    rt_word_name(word, strlen(word), name);
    const size_t size = strlen(name);
    ck_assert_uint_lt(size, RT_WORD_NAME_SIZE);
    ck_assert_uint_ge(size, RT_WORD_NAME_SIZE - 4);
    ck_assert_str_eq(name + size - 4, "...'");
    ck_assert_uint_eq((size - 5) % 3, 0); /* whole characters */
    ck_assert_str_eq(rt_word_name("a\xcc\x81\x1b[", 5, name), "'a<U+0301><U+001B>['");
}

TEST(lower_case_is_a_part_of_the_vocabulary)
{
    rt_vocabulary *cased = pieces(false, SPECIAL "ete\n"), *lower = pieces(true, SPECIAL "ete\n");
    is_encoded(cased, "ete ETE \xc3\xa9t\xc3\xa9", "5 1 1");
    is_encoded(lower, "ete ETE \xc3\xa9t\xc3\xa9", "5 5 5");
    ck_assert(!rt_vocabularies_equal(cased, lower));
}

TEST(special_tokens_in_a_text_are_text_or_tokens)
{
    rt_unknown unknown;
    rt_vocabulary *v = pieces(true, SPECIAL "[\n]\nmask\nx\n##y\n");
    static const char text[] = "x[MASK]y [mask] [[CLS]x";
    is_encoded(v, text, "8 5 7 6 1 5 7 6 5 5 1 6 8");
    unknown = has_ids(AS_TOKENS, v, text, "8 4 1 5 7 6 5 2 8");
    ck_assert(unknown.count == 1 && unknown.at == 7);
    ck_assert_str_eq(unknown.name, "'y'");
    has_ids(AS_TOKENS, v, "[SEP]", "3");
    has_ids(AS_TOKENS, v, "[SEP", "5 1");
    has_ids(AS_TOKENS, characters_of("ab[", 3), "a[MASK]b[SEP][", "6 2 7 3 5");
}

TEST(pieces_become_text_with_spaces_between_words)
{
    static const int32_t ids[] = {2, 5, 6, 7, 9, 8, 12, 1, 9, 3, -1, 99}, letters[] = {6, 5, 0, 7};
    rt_vocabulary *v = pieces(false, PLAYING);
    are_spelled(v, ids, 12, "[CLS] unaffable playing , [UNK] play [SEP]", 42);
    are_spelled(v, ids, 0, "", 0);
    are_spelled(characters_of("ab\0", 3), letters, 4, "a\0[PAD]b", 8);
}

TEST(a_piece_is_decoded_as_its_line)
{
    rt_vocabulary *v = pieces(false, PLAYING);
    size_t size;
    ck_assert_str_eq(rt_vocabulary_decode(v, 7, &size), "##able");
    ck_assert_uint_eq(size, 6);
    for (int32_t id = -1; id < 15; id++)
        ck_assert_int_eq(rt_vocabulary_decode(v, id, &size) != NULL, id >= 5 && id <= 12);
}

TEST(special_tokens_may_have_any_ids)
{
    rt_vocabulary *v = pieces(false, "a\n[MASK]\n##b\n[UNK]\n[PAD]\nc\n[CLS]\n[SEP]\nd\n");
    static const int32_t expected[] = {0, 2, 5, 8};
    ck_assert(v->special.mask == 1 && v->special.unknown == 3 && v->special.pad == 4);
    ck_assert(v->special.cls == 6 && v->special.sep == 7);
    ck_assert_int_eq(v->count, 9);
    ck_assert_int_eq(v->ordinary_count, 4);
    for (int rank = 0; rank < 4; rank++)
        ck_assert_int_eq(v->ordinary[rank], expected[rank]);
    for (int32_t id = -1, rank = 0; id <= 9; id++)
        if (rt_vocabulary_is_ordinary(v, id))
            ck_assert_int_eq(id, expected[rank++]);
    is_encoded(v, "ab c x", "0 2 5 3");
}

TEST(the_last_newline_may_be_missing)
{
    const char *cut = lasting("%.*s", (int)strlen(PLAYING) - 1, PLAYING);
    rt_vocabulary *with = pieces(false, PLAYING), *without = pieces(false, cut);
    ck_assert(rt_vocabularies_equal(with, without));
    is_encoded(without, ",", "12");
    is_written(with, PLAYING);
    is_written(without, cut);
    /* vocabularies with other pieces differ */
    rt_vocabulary *a = pieces(false, SPECIAL "ab\nc\n"), *b = pieces(false, SPECIAL "a\nbc\n");
    rt_vocabulary *c = pieces(false, SPECIAL "c\nab\n");
    ck_assert(rt_vocabularies_equal(a, a));
    ck_assert(!rt_vocabularies_equal(a, b) && !rt_vocabularies_equal(a, c));
}

/* A vocabulary of that many lines, w5, w6, ... */
static char *many_lines(int count)
{
    char *text = owned(rt_alloc((size_t)count + 10, 9), rt_free), *at = text;
    at += sprintf(at, "%s", SPECIAL);
    for (int i = 5; i < count; i++)
        at += sprintf(at, "w%d\n", i);
    return text;
}

TEST(there_are_up_to_a_million_lines)
{
    rt_vocabulary *v;
    char *text = many_lines(RT_PIECES_LIMIT + 1);
    is_data_error(read_pieces(&v, false, text, strlen(text)), "v",
                  ":1000001: a vocabulary can have up to 1000000 lines");
    strrchr(text, 'w')[-1] = '\0'; /* without the last line, and without a newline */
    ck_assert(!read_pieces(&v, false, text, strlen(text)).code);
    ck_assert_int_eq(v->count, RT_PIECES_LIMIT);
    is_encoded(v, "w999999 w5 w77777 w1000000", "999999 5 77777 1");
    rt_vocabulary_free(v);
}

static rt_data_options text_options(const char *vocabulary, const char *text, int length)
{
    rt_data_options o = options_with("text", "level=wordpiece objective=lm eval_fraction=0");
    o.length = length;
    o.file = write_text("a", text);
    o.vocab_file = write_text("b", vocabulary);
    return o;
}

/* Expects these ids in the one window of a text, whose labels are the next ids. */
static void has_window(const rt_data *data, const int32_t *ids, int length)
{
    const rt_batch batch = evaluation_of(data, 1, length);
    for (int t = 0; t < length; t++) {
        ck_assert_int_eq(batch.ids[t], ids[t]);
        ck_assert_int_eq(batch.labels[t], t + 1 < length ? ids[t + 1] : RT_NO_LABEL);
    }
}

TEST(a_text_is_windows_of_pieces)
{
    static const int32_t expected[] = {2, 5, 6, 7, 12, 1, 9, 8}, mask[] = {2, 5, 6, 7, 8, 5};
    rt_data_options o = text_options(PLAYING, "unaffable, [playing", 8);
    rt_data *data = source(&o);
    ck_assert_int_eq(data->vocab, 13);
    has_window(data, expected, 8);
    const rt_unknown unknown = data->unknown[RT_PART_TRAINING];
    ck_assert(unknown.count == 1 && unknown.at == 11);
    ck_assert_str_eq(unknown.name, "'['");
    /* a mask in running text hides nothing */
    o = text_options(SPECIAL "a\n[\nMASK\n]\n", "a [MASK] a", 6);
    has_window(source(&o), mask, 6);
}

TEST(special_tokens_of_the_file_are_those_of_the_sequences)
{
    rt_data_options o = text_options("x\n##y\n[SEP]\n[MASK]\n[PAD]\n[CLS]\n[UNK]\n",
                                     "xy xyy xyyy xy x xyy xyyyyy x", 12);
    o.objective = RT_OBJECTIVE_MLM;
    const rt_batch batch = training_of(source(&o), 50, 12);
    int masks = 0, others = 0;
    for (int i = 0; i < 50 * 12; i++) {
        const int32_t id = batch.ids[i], label = batch.labels[i];
        ck_assert_int_eq(id == 5, i % 12 == 0);
        ck_assert(id == 5 || id == 3 || id == 0 || id == 1);
        ck_assert(label == RT_NO_LABEL || label == 0 || label == 1);
        masks += id == 3;
        others += label != RT_NO_LABEL && id != 3 && id != label;
    }
    ck_assert(masks > 20 && others > 0);
}

TEST(more_than_65536_ids_are_kept_whole)
{
    for (int count = 65536; count <= 65537; count++) {
        char *vocabulary = many_lines(count);
        const int32_t ids[] = {2, 5, count - 1, 65535};
        const rt_data_options o = text_options(vocabulary, lasting("w5 w%d w65535", count - 1), 4);
        has_window(source(&o), ids, 4);
    }
}

/* Far more ids than English has for so many bytes. */
TEST(a_text_of_single_characters_is_kept_whole)
{
    enum { SIZE = 5000 };
    char text[SIZE];
    int32_t ids[SIZE] = {2};
    for (int i = 0; i < SIZE - 1; i++) {
        text[i] = ",.;"[i * 7 % 3];
        ids[i + 1] = 5 + i * 7 % 3;
    }
    text[SIZE - 1] = '\0';
    const rt_data_options o = text_options(SPECIAL ",\n.\n;\n", text, SIZE);
    has_window(source(&o), ids, SIZE);
}

TEST(a_text_needs_a_vocabulary_that_fits)
{
    rt_data_options o = text_options(PLAYING, "play \xff", 3);
    rt_vocabulary *cased = pieces(false, PLAYING), *lower = pieces(true, PLAYING);
    is_refused(&o, NULL, RT_DATA, "data.level = wordpiece needs UTF-8; byte 0xff at offset 5");
    o = text_options(PLAYING, " \n ", 32);
    is_refused(&o, NULL, RT_DATA, "word pieces for training");
    o = text_options(PLAYING, "play play play", 3);
    is_refused(&o, lower, RT_CONFIG, ", cased, is not the vocabulary that the model was");
    o.lowercase = true;
    is_refused(&o, cased, RT_CONFIG, "data.lowercase = yes, but the vocabulary of the model is");
    o.vocab_file = NULL;
    is_refused(&o, NULL, RT_CONFIG, "data.vocab_file must name a vocab.txt for data.level = wor");
    for (int i = 0; i < 2; i++) {
        ck_assert(source_as(&o, (rt_data_of_model){.vocabulary = lower})->vocabulary == lower);
        o.lowercase = false; /* what is given knows better */
    }
    o.level = RT_LEVEL_CHAR;
    is_refused(
        &o, lower, RT_CONFIG,
        "data.level cuts a text into characters, but the vocabulary of the model has word pieces");
    o.lowercase = true;
    is_refused(&o, NULL, RT_CONFIG, "data.lowercase is for data.level = wordpiece");
}

#define ESM "<cls>\n<pad>\n<eos>\n<unk>\nL\nA\nG\n-\n<null_1>\n<mask>"

static rt_vocabulary *residues(const char *text)
{
    return vocabulary_of((rt_vocabulary_kind){.level = RT_LEVEL_RESIDUE}, text);
}

/* vocab.txt, texts.jsonl and ids.jsonl are of EsmTokenizer; ROTOR_RESIDUE names other ones. */
TEST(texts_have_the_ids_of_EsmTokenizer)
{
    const char *given = getenv("ROTOR_RESIDUE");
    const char *from = given ? given : TEST_SOURCES "/fixtures/residue";
    rt_vocabulary *v = read_vocabulary((rt_vocabulary_kind){.level = RT_LEVEL_RESIDUE},
                                       lasting("%s/vocab.txt", from));
    ck_assert_int_ge(check_texts(v, lasting("%s/texts.jsonl", from), lasting("%s/ids.jsonl", from),
                                 false),
                     100);
    const rt_text_frame frame = rt_vocabulary_frame(v);
    ck_assert(frame.first == 0 && frame.last == 2);
}

static void residues_have(specials_read as, const char *text, const char *expected,
                          size_t unknown_count)
{
    ck_assert_uint_eq(has_ids(as, residues(ESM), text, expected).count, unknown_count);
}

TEST(residues_without_a_token_are_one_unknown_up_to_the_next_token_or_space)
{
    residues_have(AS_TEXT, "LAG-", "4 5 6 7", 0);
    residues_have(AS_TEXT, " L\nA\tG ", "4 5 6", 0);
    residues_have(AS_TEXT, "xyzLx yA", "3 4 3 3 5", 3);
    residues_have(AS_TEXT, "<null_1><null", "8 3", 1);
    residues_have(AS_TEXT, "", "", 0);
    residues_have(AS_TEXT, "L<mask>A[MASK]", "4 3 5 3 5 3", 3);
    residues_have(AS_TOKENS, "L<mask>A<eos><unk>", "4 9 5 2 3", 0);
    has_masks(residues(ESM), false, "L<mask>A[MASK]", "0 4 9 5 9", 2);
}

TEST(tokens_are_spelled_without_blanks)
{
    rt_vocabulary *v = residues(ESM);
    static const int32_t ids[] = {0, 4, 5, 9, 7, 2};
    are_spelled(v, ids, 6, "<cls>LA<mask>-<eos>", 19);
    ck_assert_int_eq(rt_vocabulary_bytes(v, 4), 1);
    ck_assert_int_eq(rt_vocabulary_bytes(v, 2), -1);
    is_written(v, ESM);
}

/* Each line is a protein: <cls> before it and <eos> behind it. */
TEST(a_running_text_has_an_end_behind_each_line)
{
    static const int32_t wanted[] = {0, 4, 5, 2, 6, 6, 2};
    rt_data_options o = text_options(ESM "\n", "LA\nGG\n", 7);
    o.level = RT_LEVEL_RESIDUE;
    o.documents = "line";
    o.cross = true;
    has_window(source(&o), wanted, 7);
}

TEST_ROWS(every_allocation_may_fail, 0, 2)
{
    rt_data_options o = text_options(PLAYING, "play,,,,,,,,,,,,,,,,,, plays", 3);
    o.lowercase = _i;
    open_with_refusals(&o, 1);
}
