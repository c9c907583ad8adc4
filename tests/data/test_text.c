/* The units of a text and their ids, at both levels. */

#include "data/alphabet.h"
#include "data/units.h"
#include "samples.h"

/* Of one to four bytes, as the smallest and the largest code points of each size. */
static const char mixed[] = "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80"
                            "\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
static const int32_t mixed_units[] = {'a',    0x7f,   0x80,   0x7ff,   0x800,
                                      0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
enum { MIXED = sizeof mixed_units / sizeof *mixed_units };

static rt_data *open_text(rt_level level, const void *text, size_t bytes, int length)
{
    rt_data_options o = options_for("text");
    o.length = length;
    o.level = level;
    o.eval_fraction = 0;
    set_file(&o, write_file(in_folder("a"), text, bytes));
    return opened(&o);
}

static rt_alphabet *alphabet_of(rt_level level, const void *text, size_t bytes)
{
    rt_alphabet *alphabet;
    rt_status status = rt_alphabet_new(&alphabet, level, text, bytes);
    ck_assert_msg(status.code == RT_OK, "%s", status.message);
    return alphabet;
}

static void same_alphabet(const rt_alphabet *a, const rt_alphabet *b)
{
    ck_assert(a->count == b->count && a->size == b->size && a->level == b->level);
    ck_assert_mem_eq(a->units, b->units, (size_t)a->count * sizeof *a->units);
    ck_assert_mem_eq(a->ids, b->ids, (size_t)rt_unit_limit(a->level) * sizeof *a->ids);
    ck_assert_mem_eq(a->bytes, b->bytes, a->size);
}

START_TEST(the_alphabet_is_the_bytes_that_occur_in_ascending_order)
{
    static const uint8_t text[] = {'b', 0xff, 'a', 0, 'b', 0xff, 'c', 'a'};
    static const uint8_t expected[] = {0, 'a', 'b', 'c', 0xff};
    rt_data *data = open_text(RT_LEVEL_BYTE, text, sizeof text, 2);
    size_t size;
    const unsigned char *bytes = rt_data_alphabet(data, &size);
    ck_assert_int_eq(rt_data_vocab(data), 9);
    ck_assert_uint_eq(size, 5);
    ck_assert_mem_eq(bytes, expected, sizeof expected);
    rt_data_close(data);
}
END_TEST

START_TEST(the_alphabet_is_the_code_points_that_occur_in_ascending_order)
{
    static const char text[] = "z\xe2\x82\xac\xc3\xa9z\xf0\x9f\x98\x80\xc3\xa9y";
    static const char expected[] = "yz\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    rt_data *data = open_text(RT_LEVEL_CHAR, text, sizeof text - 1, 2);
    size_t size;
    const unsigned char *bytes = rt_data_alphabet(data, &size);
    ck_assert_int_eq(rt_data_vocab(data), 9);
    ck_assert_uint_eq(size, sizeof expected - 1);
    ck_assert_mem_eq(bytes, expected, sizeof expected - 1);
    rt_data_close(data);
}
END_TEST

START_TEST(an_alphabet_made_of_its_bytes_is_the_same)
{
    for (int level = RT_LEVEL_BYTE; level <= RT_LEVEL_CHAR; level++) {
        rt_alphabet *alphabet = alphabet_of(level, mixed, sizeof mixed - 1);
        rt_alphabet *again = alphabet_of(level, alphabet->bytes, alphabet->size);
        same_alphabet(alphabet, again);
        rt_alphabet_free(alphabet);
        rt_alphabet_free(again);
    }
}
END_TEST

START_TEST(a_text_of_all_bytes_has_260_tokens)
{
    uint8_t text[512];
    for (int i = 0; i < 512; i++)
        text[i] = (uint8_t)(i / 2);
    rt_alphabet *alphabet = alphabet_of(RT_LEVEL_BYTE, text, sizeof text);
    ck_assert_int_eq(alphabet->count, 256);
    ck_assert_int_eq(alphabet->ids[255], 259);
    rt_alphabet_free(alphabet);
    alphabet = alphabet_of(RT_LEVEL_BYTE, text, 0);
    ck_assert_int_eq(alphabet->count, 0);
    rt_alphabet_free(alphabet);
    rt_alphabet_free(NULL);
}
END_TEST

/* Code points of every size stand where they stood, with their rank as the id. */
START_TEST(a_character_of_any_size_is_one_unit)
{
    rt_data *data = open_text(RT_LEVEL_CHAR, mixed, sizeof mixed - 1, MIXED + 1);
    ck_assert_int_eq(rt_data_vocab(data), RT_FIRST_SYMBOL + MIXED);
    rt_batch batch = new_batch(1, MIXED + 1);
    rt_data_evaluation(data, 0, &batch);
    for (int i = 0; i < MIXED; i++)
        ck_assert_int_eq(original(&batch, 1 + i), RT_FIRST_SYMBOL + i);
    free_batch(batch);
    rt_data_close(data);
    rt_alphabet *alphabet = alphabet_of(RT_LEVEL_CHAR, mixed, sizeof mixed - 1);
    ck_assert_mem_eq(alphabet->units, mixed_units, sizeof mixed_units);
    rt_alphabet_free(alphabet);
}
END_TEST

/* Every code point but the 2048 surrogates, which are none in UTF-8. */
START_TEST(every_code_point_is_read_as_it_was_written)
{
    char bytes[RT_UNIT_SIZE];
    for (int32_t unit = 0; unit < 0x110000; unit++) {
        int32_t read = -1;
        size_t size = rt_unit_write(RT_LEVEL_CHAR, unit, bytes);
        size_t expected = unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit < 0x10000 ? 3 : 4;
        size_t taken = rt_unit_read(RT_LEVEL_CHAR, (unsigned char *)bytes, size, &read);
        bool surrogate = unit >= 0xd800 && unit < 0xe000;
        if (size != expected || taken != (surrogate ? 0 : size) || (!surrogate && read != unit))
            ck_abort_msg("U+%04X: wrote %zu bytes, read U+%04X of %zu", (unsigned)unit, size,
                         (unsigned)read, taken);
    }
}
END_TEST

static void check_round_trip(const rt_data *data, const char *text)
{
    int32_t *ids;
    int count;
    char unit[RT_UNIT_SIZE], back[64] = "";
    rt_status status = rt_data_encode(data, text, &ids, &count);
    ck_assert_msg(status.code == RT_OK, "%s", status.message);
    for (int i = 0; i < count; i++) {
        size_t size;
        status = rt_data_decode(data, ids[i], unit, &size);
        ck_assert_msg(status.code == RT_OK, "%s", status.message);
        ck_assert_uint_eq(size, strlen(unit));
        strcat(back, unit);
    }
    ck_assert_str_eq(back, text);
    rt_free(ids);
}

START_TEST(decoding_gives_back_what_was_encoded)
{
    for (int level = RT_LEVEL_BYTE; level <= RT_LEVEL_CHAR; level++) {
        rt_data *data = open_text(level, mixed, sizeof mixed - 1, 2);
        check_round_trip(data, mixed);
        check_round_trip(data, "");
        rt_data_close(data);
    }
}
END_TEST

START_TEST(a_byte_0_is_a_unit)
{
    for (int level = RT_LEVEL_BYTE; level <= RT_LEVEL_CHAR; level++) {
        rt_data *data = open_text(level, "\0a", 2, 2);
        char unit[RT_UNIT_SIZE] = "x";
        size_t size;
        rt_status status = rt_data_decode(data, RT_FIRST_SYMBOL, unit, &size);
        ck_assert_int_eq(status.code, RT_OK);
        ck_assert_uint_eq(size, 1);
        ck_assert_int_eq(unit[0], 0);
        rt_data_close(data);
    }
}
END_TEST

START_TEST(what_is_no_id_of_a_unit_cannot_be_decoded)
{
    static const int32_t wrong[] = {RT_ID_PAD, RT_ID_SEP, RT_FIRST_SYMBOL + 3,
                                    -1,        INT32_MIN, INT32_MAX};
    rt_data *data = open_text(RT_LEVEL_CHAR, "abc", 3, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char unit[RT_UNIT_SIZE] = "x", message[64];
        size_t size = 1;
        rt_status status = rt_data_decode(data, wrong[i], unit, &size);
        snprintf(message, sizeof message, "%d is not the id of a unit", wrong[i]);
        ck_assert_int_eq(status.code, RT_ARGUMENT);
        ck_assert_str_eq(status.message, message);
        ck_assert(size == 0 && unit[0] == 0);
    }
    rt_data_close(data);
}
END_TEST

static void not_encoded(const rt_data *data, const char *text, const char *message)
{
    int count = 1;
    int32_t *ids = (int32_t *)&count;
    rt_status status = rt_data_encode(data, text, &ids, &count);
    ck_assert_int_eq(status.code, RT_ARGUMENT);
    ck_assert_str_eq(status.message, message);
    ck_assert(ids == NULL && count == 0);
}

START_TEST(encoding_names_a_byte_outside_the_alphabet)
{
    rt_data *data = open_text(RT_LEVEL_BYTE, "abc", 3, 2);
    not_encoded(data, "abzc", "'z' at byte 2 does not occur in the training text");
    not_encoded(data, "\n", "byte 0x0a at byte 0 does not occur in the training text");
    not_encoded(data, "a\xc3\xa9", "byte 0xc3 at byte 1 does not occur in the training text");
    rt_data_close(data);
}
END_TEST

/* A combining accent would join the quotation mark before it; a tab would be none. */
START_TEST(encoding_names_a_character_outside_the_alphabet)
{
    rt_data *data = open_text(RT_LEVEL_CHAR, "ab\xc3\xa9", 4, 2);
    not_encoded(data, "\xc3\xa9z", "'z' at byte 2 does not occur in the training text");
    not_encoded(data, "a b", "' ' at byte 1 does not occur in the training text");
    not_encoded(data, "a\xe2\x82\xac",
                "'\xe2\x82\xac' (U+20AC) at byte 1 does not occur in the training text");
    not_encoded(data, "a\xcc\x81", "U+0301 at byte 1 does not occur in the training text");
    not_encoded(data, "\t", "U+0009 at byte 0 does not occur in the training text");
    rt_data_close(data);
}
END_TEST

START_TEST(encoding_names_a_byte_that_is_not_utf8)
{
    rt_data *data = open_text(RT_LEVEL_CHAR, "ab\xc3\xa9", 4, 2);
    not_encoded(data, "\xff", "byte 0xff at byte 0 is not UTF-8");
    not_encoded(data, "ab\xc3", "byte 0xc3 at byte 2 is not UTF-8");
    not_encoded(data, "\xc3\xa9\xa9", "byte 0xa9 at byte 2 is not UTF-8");
    rt_data_close(data);
}
END_TEST

/* 65000 different characters of four bytes each, and one more. */
START_TEST(a_text_can_have_65000_different_characters)
{
    enum { LIMIT = 65000 };
    static char text[4 * (LIMIT + 1) + RT_UNIT_SIZE];
    size_t size = 0;
    for (int i = 0; i <= LIMIT; i++)
        size += rt_unit_write(RT_LEVEL_CHAR, 0x10000 + i, text + size);
    rt_data *data = open_text(RT_LEVEL_CHAR, text, size - 4, LIMIT + 1);
    rt_batch batch = new_batch(1, LIMIT + 1);
    rt_data_evaluation(data, 0, &batch);
    ck_assert_int_eq(rt_data_vocab(data), RT_FIRST_SYMBOL + LIMIT);
    ck_assert_int_eq(original(&batch, LIMIT), RT_FIRST_SYMBOL + LIMIT - 1);
    free_batch(batch);
    rt_data_close(data);

    rt_data_options o = options_for("text");
    const char *path = write_file(in_folder("a"), text, size);
    o.level = RT_LEVEL_CHAR;
    set_file(&o, path);
    is_data_error(rt_data_open(&data, &o), path,
                  ": data.file can have up to 65000 different characters; it has 65001");
    ck_assert_ptr_null(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tests = leak_checked_case(suite, "text");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, the_alphabet_is_the_bytes_that_occur_in_ascending_order);
    tcase_add_test(tests, the_alphabet_is_the_code_points_that_occur_in_ascending_order);
    tcase_add_test(tests, an_alphabet_made_of_its_bytes_is_the_same);
    tcase_add_test(tests, a_text_of_all_bytes_has_260_tokens);
    tcase_add_test(tests, a_character_of_any_size_is_one_unit);
    tcase_add_test(tests, every_code_point_is_read_as_it_was_written);
    tcase_add_test(tests, decoding_gives_back_what_was_encoded);
    tcase_add_test(tests, a_byte_0_is_a_unit);
    tcase_add_test(tests, what_is_no_id_of_a_unit_cannot_be_decoded);
    tcase_add_test(tests, encoding_names_a_byte_outside_the_alphabet);
    tcase_add_test(tests, encoding_names_a_character_outside_the_alphabet);
    tcase_add_test(tests, encoding_names_a_byte_that_is_not_utf8);
    tcase_add_test(tests, a_text_can_have_65000_different_characters);
    return run_suite(suite);
}
