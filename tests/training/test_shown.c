/* Pieces of byte-level BPE, which may be parts of characters, as people see them. */

#include "suite.h"
#include "training/scratch.h"

#include "core/memory.h"
#include "data/vocabulary.h"
#include "train/report/unit_label.h"
#include "train/text/shown.h"

/* ---- a stream ---- */

typedef struct shown_case {
    const char *parts[4]; /* one after the other */
    const char *before;   /* the end of the stream */
    const char *expected;
} shown_case;

#define NONE "\xef\xbf\xbd"

static const shown_case shown_cases[] = {
    {{"abc"}, "abc", "abc"},
    {{"\xe4", "\xb8\x96"}, "\xe4\xb8\x96", "\xe4\xb8\x96"},
    {{"a\xe4\xb8"}, "a", "a" NONE},
    {{"\xf0\x9f", "\x98", "\x80", "!"}, "\xf0\x9f\x98\x80!", "\xf0\x9f\x98\x80!"},
    {{"\xe4\xb8", "a"}, NONE "a", NONE "a"},
    {{"\xe4\xb8", "\xe4\xb8\x96"}, NONE "\xe4\xb8\x96", NONE "\xe4\xb8\x96"},
    {{"\x80\xff"}, NONE NONE, NONE NONE},
    {{"\xc0\xaf"}, NONE NONE, NONE NONE},                             /* too long */
    {{"\xe0\x80\x80"}, NONE NONE NONE, NONE NONE NONE},               /* likewise */
    {{"\xed\xa0\x80"}, NONE NONE NONE, NONE NONE NONE},               /* half a pair of UTF-16 */
    {{"\xf4\x90\x80\x80"}, NONE NONE NONE NONE, NONE NONE NONE NONE}, /* above U+10FFFF */
    {{"\xf0\x90\x80"}, "", NONE},
    {{"\xc3\xa9\xc3"}, "\xc3\xa9", "\xc3\xa9" NONE},
};
enum { SHOWN_CASES = sizeof shown_cases / sizeof *shown_cases };

START_TEST(characters_are_written_when_they_are_whole)
{
    const shown_case *c = &shown_cases[_i];
    char *text;
    size_t size;
    rt_shown shown = {.count = 0};
    FILE *to = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(to);
    for (int i = 0; i < 4 && c->parts[i]; i++)
        rt_shown_add(&shown, to, c->parts[i], strlen(c->parts[i]));
    fflush(to);
    ck_assert_str_eq(text, c->before);
    rt_shown_end(&shown, to);
    fclose(to);
    ck_assert_str_eq(text, c->expected);
    free(text);
}
END_TEST

/* ---- labels ---- */

static const char file[] =
    "{\"added_tokens\": [{\"id\": 5, \"content\": \"<s>\", \"special\": true}],"
    " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},"
    " \"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"merges\": [],"
    " \"vocab\": {\"\xc4\xa0the\": 0, \"\xc3\xa2\xc2\xb8\": 1, \"\xc4\x8a\xc4\x89\": 2, "
    "\"\xc3\x83\xc2\xa9x\xc3\x83\": 3, "
    "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\": 4}}}";

static const char *const labels[] = {
    "␣the", "\\xe2\\xb8", "↵⇥", "éx\\xc3", "abcdefghijklmnopqrstuvwxyzab…", "<s>"};

START_TEST(a_label_shows_blanks_and_bytes_of_a_piece)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    const rt_data_options o = {.level = RT_LEVEL_BPE, .objective = RT_OBJECTIVE_LM, .length = 8};
    char label[RT_UNIT_LABEL_SIZE];
    rt_vocabulary *v;
    rt_data *data;
    assert_status(rt_vocabulary_read(&v, kind, "v", (const unsigned char *)file, strlen(file)),
                  RT_OK, "");
    assert_status(rt_data_open_without(&data, &o, (rt_data_meaning){.vocabulary = v}), RT_OK, "");
    for (int32_t id = 0; id < 6; id++)
        ck_assert_str_eq(rt_unit_label(label, data, id), labels[id]);
    rt_data_close(data);
    rt_vocabulary_free(v);
}
END_TEST

/* Two pieces that are one character. */
START_TEST(pieces_side_by_side_are_text)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    const rt_data_options o = {.level = RT_LEVEL_BPE, .objective = RT_OBJECTIVE_LM, .length = 8};
    const int32_t ids[] = {0, 3, 5};
    rt_writer page = {0};
    rt_vocabulary *v;
    rt_data *data;
    assert_status(rt_vocabulary_read(&v, kind, "v", (const unsigned char *)file, strlen(file)),
                  RT_OK, "");
    assert_status(rt_data_open_without(&data, &o, (rt_data_meaning){.vocabulary = v}), RT_OK, "");
    rt_unit_text(&page, data, ids, 3);
    ck_assert_str_eq(page.bytes, " theéx·");
    rt_writer_free(&page);
    rt_data_close(data);
    rt_vocabulary_free(v);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shown");
    TCase *tests = leak_checked_case(suite, "shown");
    tcase_add_loop_test(tests, characters_are_written_when_they_are_whole, 0, SHOWN_CASES);
    tcase_add_test(tests, a_label_shows_blanks_and_bytes_of_a_piece);
    tcase_add_test(tests, pieces_side_by_side_are_text);
    return run_suite(suite);
}
