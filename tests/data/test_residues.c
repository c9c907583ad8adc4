/* Vocabularies of level residue: their file, and what texts become with them. */

#include "data/objective.h"
#include "json_lines.h"
#include "samples.h"
#include "text/files.h"

#define SPECIAL "<cls>\n<pad>\n<eos>\n<unk>\n"
#define ESM     SPECIAL "L\nA\nG\n-\n<null_1>\n<mask>"

static rt_status read_residues(rt_vocabulary **v, const char *text, size_t size)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_RESIDUE};
    return rt_vocabulary_read(v, kind, "v", (const unsigned char *)text, size);
}

static rt_vocabulary *residues(const char *text)
{
    rt_vocabulary *v;
    rt_status status = read_residues(&v, text, strlen(text));
    ck_assert_msg(!status.code, "%s", status.message);
    return v;
}

/* ---- as Hugging Face ---- */

/* vocab.txt, texts.jsonl with a JSON string a line, ids.jsonl with {"ids": [...]}, those of
 * EsmTokenizer without the tokens around a text. ROTOR_RESIDUE names a folder with others. */
static unsigned char *read_fixture(const char *name, size_t *size)
{
    const char *given = getenv("ROTOR_RESIDUE");
    char path[RT_PATH_SIZE];
    unsigned char *bytes;
    snprintf(path, sizeof path, "%s/%s", given ? given : TEST_SOURCES "/fixtures/residue", name);
    rt_status status = rt_file_read("a fixture", path, &bytes, size);
    ck_assert_msg(!status.code, "%s", status.message);
    return bytes;
}

static void compare(const rt_vocabulary *v, const char *text, size_t size, const int32_t *wanted,
                    int wanted_count, int line)
{
    rt_unknown unknown;
    int count;
    int32_t *ids = rt_alloc(size + 1, sizeof *ids);
    rt_status status = rt_vocabulary_encode_special(v, text, size, ids, &count, &unknown);
    ck_assert_msg(!status.code, "text %d: %s", line, status.message);
    ck_assert_msg(count == wanted_count, "text %d: %d ids, %d expected", line, count, wanted_count);
    for (int i = 0; i < count; i++)
        ck_assert_msg(ids[i] == wanted[i], "text %d: id %d is %d, %d expected", line, i, ids[i],
                      wanted[i]);
    rt_free(ids);
}

SUITE(.setup = make_folder, .teardown = remove_folder)

TEST(texts_have_the_ids_of_EsmTokenizer)
{
    size_t text_size, expected_size, file_size;
    char *file = (char *)read_fixture("vocab.txt", &file_size), key[20];
    unsigned char *texts = read_fixture("texts.jsonl", &text_size),
                  *expected = read_fixture("ids.jsonl", &expected_size);
    reading at = {(const char *)texts, (const char *)texts + text_size},
            ids = {(const char *)expected, (const char *)expected + expected_size};
    char *text = rt_alloc(text_size + 1, 1);
    int32_t *wanted = rt_alloc(expected_size, sizeof *wanted);
    int line = 0;
    rt_vocabulary *v;
    rt_status status = read_residues(&v, file, file_size);
    ck_assert_msg(!status.code, "%s", status.message);
    for (; takes(&ids, '{'); line++) {
        const size_t size = take_string(&at, text);
        take_string(&ids, key);
        ck_assert(!strcmp(key, "ids") && takes(&ids, ':'));
        compare(v, text, size, wanted, take_ids(&ids, wanted), line + 1);
        ck_assert(takes(&ids, '}'));
    }
    ck_assert_int_ge(line, 100);
    ck_assert(!takes(&at, '"'));
    const rt_text_frame frame = rt_vocabulary_frame(v);
    ck_assert(frame.first == 0 && frame.last == 2);
    rt_vocabulary_free(v);
    rt_free(wanted);
    rt_free(text);
    rt_free(texts);
    rt_free(expected);
    rt_free(file);
}

/* ---- texts ---- */

typedef rt_status encoder(const rt_vocabulary *, const char *, size_t, int32_t *, int *,
                          rt_unknown *);

static void is_encoded(encoder *encode, const char *text, const char *expected,
                       size_t unknown_count)
{
    rt_vocabulary *v = residues(ESM);
    char all[400] = "";
    int32_t ids[100];
    int count;
    rt_unknown unknown;
    ck_assert(strlen(text) <= 100);
    rt_status status = encode(v, text, strlen(text), ids, &count, &unknown);
    ck_assert_msg(!status.code, "%s", status.message);
    for (int i = 0; i < count; i++)
        sprintf(all + strlen(all), i ? " %d" : "%d", ids[i]);
    ck_assert_str_eq(all, expected);
    ck_assert_uint_eq(unknown.count, unknown_count);
    rt_vocabulary_free(v);
}

TEST(what_no_token_covers_is_unknown_once_up_to_the_next_token_or_blank)
{
    is_encoded(rt_vocabulary_encode, "LAG-", "4 5 6 7", 0);
    is_encoded(rt_vocabulary_encode, " L\nA\tG ", "4 5 6", 0);
    is_encoded(rt_vocabulary_encode, "xyzLx yA", "3 4 3 3 5", 3);
    is_encoded(rt_vocabulary_encode, "<null_1><null", "8 3", 1);
    is_encoded(rt_vocabulary_encode, "", "", 0);
}

TEST(special_tokens_are_text_unless_they_are_wanted)
{
    is_encoded(rt_vocabulary_encode, "L<mask>A[MASK]", "4 3 5 3 5 3", 3);
    is_encoded(rt_vocabulary_encode_special, "L<mask>A<eos><unk>", "4 9 5 2 3", 0);
}

TEST(a_mask_is_written_in_two_ways)
{
    static const int32_t wanted[] = {0, 4, 9, 5, 9};
    rt_vocabulary *v = residues(ESM);
    int32_t *ids;
    int count, masks;
    rt_unknown unknown;
    ck_assert(
        !rt_masked_text_encode(v, true, false, "L<mask>A[MASK]", &ids, &count, &masks, &unknown)
             .code);
    ck_assert(count == 5 && masks == 2 && !memcmp(ids, wanted, sizeof wanted));
    rt_free(ids);
    rt_vocabulary_free(v);
}

TEST(tokens_are_spelled_without_blanks)
{
    rt_vocabulary *v = residues(ESM);
    static const int32_t ids[] = {0, 4, 5, 9, 7, 2};
    char *text;
    size_t bytes;
    ck_assert(!rt_vocabulary_decode_all(v, ids, 6, &text, &bytes).code);
    ck_assert_str_eq(text, "<cls>LA<mask>-<eos>");
    ck_assert_int_eq(rt_vocabulary_bytes(v, 4), 1);
    ck_assert_int_eq(rt_vocabulary_bytes(v, 2), -1);
    rt_free(text);
    ck_assert(!rt_vocabulary_write(v, &text).code);
    ck_assert_str_eq(text, ESM);
    rt_free(text);
    rt_vocabulary_free(v);
}

/* Each line is a protein: <cls> before it and <eos> behind it. */
TEST(a_running_text_has_an_end_behind_each_line)
{
    static const int32_t wanted[] = {0, 4, 5, 2, 6, 6, 2};
    rt_data_options o = options_for("text");
    char path[RT_PATH_SIZE];
    o.level = RT_LEVEL_RESIDUE;
    o.objective = RT_OBJECTIVE_LM;
    o.eval_fraction = 0;
    o.length = 7;
    o.documents = lasting("line");
    o.cross = true;
    set_file(&o, write_file(path_in_folder("a", path), "LA\nGG\n", 6));
    o.vocab_file = lasting("%s", write_file(path_in_folder("b", path), ESM "\n", strlen(ESM) + 1));
    rt_data *data = source(&o);
    rt_batch batch = batch_of(1, 7);
    rt_data_evaluation(data, 0, &batch);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(batch.ids[i], wanted[i]);
}

/* ---- the file ---- */

static const struct {
    const char *text, *message;
} refused[] = {
    {SPECIAL "L\n", "v: has no line <mask>"},
    {"<cls>\n<pad>\n<eos>\n<mask>\nL\n", "v: has no line <unk>"},
    {"[CLS]\n[PAD]\n[SEP]\n[UNK]\n[MASK]\nL\n", "v: has no line <pad>"},
    {SPECIAL "<mask>\n", "v: has no token beside the special ones"},
    {SPECIAL "<mask>\nL\nL\n", "v:7: 'L' is in line 6 already"},
    {SPECIAL "<mask>\nL A\n", "v:6: has a blank; a token of ESM has none"},
    {SPECIAL "<mask>\nL\r\n", "v:6: ends with a return"},
    {SPECIAL "<mask>\n\nL\n", "v:6: the line is empty"},
    {SPECIAL "<mask>\n\xff\n", "v:6: byte 0xff is not UTF-8"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

TEST_ROWS(what_is_no_vocabulary_is_refused_with_its_line, 0, REFUSED)
{
    rt_vocabulary *v;
    rt_status status = read_residues(&v, refused[_i].text, strlen(refused[_i].text));
    ck_assert_int_eq((int)status.code, RT_DATA);
    ck_assert_msg(strstr(status.message, refused[_i].message) != NULL, "'%s' expected, got '%s'",
                  refused[_i].message, status.message);
    ck_assert_ptr_null(v);
}
