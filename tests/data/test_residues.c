/* Vocabularies of level residue: their file, and what texts become with them. */

#include "data/objective.h"
#include "samples.h"
#include "tokenizer_fixtures.h"

#define SPECIAL "<cls>\n<pad>\n<eos>\n<unk>\n"
#define ESM     SPECIAL "L\nA\nG\n-\n<null_1>\n<mask>"

static rt_status read_residues(rt_vocabulary **v, const char *text, size_t size)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_RESIDUE};
    return rt_vocabulary_read(v, kind, "v", (const unsigned char *)text, size);
}

static rt_vocabulary *residues(const char *text)
{
    return vocabulary_of((rt_vocabulary_kind){.level = RT_LEVEL_RESIDUE}, text);
}

/* ---- as Hugging Face ---- */

SUITE(.setup = make_folder, .teardown = remove_folder)

/* vocab.txt, texts.jsonl, and ids.jsonl with the ids of EsmTokenizer without the tokens around a
 * text. ROTOR_RESIDUE names a folder with others. */
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

/* ---- texts ---- */

static void is_encoded(encoder *encode, const char *text, const char *expected,
                       size_t unknown_count)
{
    ck_assert_uint_eq(has_ids(encode, residues(ESM), text, expected).count, unknown_count);
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
