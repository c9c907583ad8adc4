/* Numbers and lists as text. */

#include "suite.h"
#include "util/number.h"

#include <float.h>
#include <locale.h>

TEST(a_number_is_a_whole_text_in_decimal)
{
    static const struct {
        const char *text;
        bool decimal, fits;
        double value;
    } rows[] = {
        {"1", true, true, 1},           {"-0.5", true, true, -0.5},    {"+.5e1", true, true, 5},
        {"1.", true, true, 1},          {"2E-3", true, true, 2e-3},    {"0e9999", true, true, 0},
        {"1e999", true, false, 0},      {"1e-999", true, false, 0},    {"-1e999", true, false, 0},
        {"5e-324", true, true, 5e-324}, {"", false, false, 0},         {" 1", false, false, 0},
        {"1 ", false, false, 0},        {"0x1", false, false, 0},      {"nan", false, false, 0},
        {"inf", false, false, 0},       {"INFINITY", false, false, 0}, {"1e", false, false, 0},
        {".", false, false, 0},         {"--1", false, false, 0},      {"0,5", false, false, 0},
        {"1\n", false, false, 0},
    };
    for (int i = 0; i < ROWS(rows); i++) {
        double value = 7;
        const bool fits = rt_number_parse(rows[i].text, &value);
        ck_assert_msg(fits == rows[i].fits && (!fits || value == rows[i].value), "'%s': %d, %g",
                      rows[i].text, fits, value);
        ck_assert_msg(rt_number_is_decimal(rows[i].text) == rows[i].decimal, "'%s'", rows[i].text);
    }
}

TEST(an_integer_has_digits_and_64_bits)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } rows[] = {{"0", true, 0},
                {"-12", true, -12},
                {"+7", true, 7},
                {"007", true, 7},
                {"9223372036854775807", true, INT64_MAX},
                {"9223372036854775808", false, 0},
                {"-9223372036854775808", true, INT64_MIN},
                {"-9223372036854775809", false, 0},
                {"", false, 0},
                {"-", false, 0},
                {"+-1", false, 0},
                {" 1", false, 0},
                {"1 ", false, 0},
                {"1.0", false, 0},
                {"0x1", false, 0}};
    for (int i = 0; i < ROWS(rows); i++) {
        int64_t value = 0;
        const bool fits = rt_integer_parse(rows[i].text, &value);
        ck_assert_msg(fits == rows[i].fits && (!fits || value == rows[i].value), "'%s'",
                      rows[i].text);
    }
}

TEST(the_lowest_byte_of_a_number_comes_first)
{
    unsigned char bytes[8] = {0};
    rt_put_little_endian(bytes, 0x0102030405060708, 8);
    ck_assert_uint_eq(bytes[0], 8);
    ck_assert_uint_eq(bytes[7], 1);
    ck_assert_uint_eq(rt_little_endian(bytes, 8), 0x0102030405060708);
    ck_assert_uint_eq(rt_little_endian(bytes + 1, 2), 0x0607);
    rt_put_little_endian(bytes, 0xabcd, 1);
    ck_assert_uint_eq(rt_little_endian(bytes, 2), 0x07cd);
}

TEST(a_number_is_shown_with_its_decimals_or_four_digits)
{
    ck_assert_str_eq(RT_SHOWN(4, 0.12344), "0.1234");
    ck_assert_str_eq(RT_SHOWN(4, 123456.5), "123456.5000");
    ck_assert_str_eq(RT_SHOWN(0, 9999999.4), "9999999");
    ck_assert_str_eq(RT_SHOWN(2, 1e7), "1e+07");
    ck_assert_str_eq(RT_SHOWN(2, -NAN), "nan");
    ck_assert_str_eq(RT_SHOWN(2, INFINITY), "inf");
}

TEST(no_number_is_longer_than_its_buffer)
{
    static const double numbers[] = {-9999999.4, -9999999.9999999, -1.7976931348623157e308,
                                     4.9e-324};
    char number[RT_NUMBER_SIZE];
    for (int decimals = 0; decimals <= 9; decimals++)
        for (int i = 0; i < 4; i++)
            ck_assert_uint_lt(strlen(rt_number_show(number, decimals, numbers[i])),
                              RT_NUMBER_SIZE - 1);
}

/* Makes a locale with a comma for a point, since few machines have one, and enters it. */
static bool enter_comma_locale(void)
{
    char folder[] = "/tmp/rotor-locale-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    const char *command =
        lasting("localedef --no-archive -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    setenv("LOCPATH", folder, 1);
    const bool entered = !system(command) && setlocale(LC_ALL, "de_DE.UTF-8");
    unsetenv("LOCPATH");
    command = lasting("rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
    return entered && !strcmp(localeconv()->decimal_point, ",");
}

TEST(numbers_do_not_depend_on_the_locale)
{
    char text[RT_NUMBER_SIZE];
    double value;
    NEEDS(enter_comma_locale(), "localedef and the sources of de_DE");
    const bool read = rt_number_parse("0.5", &value);
    const bool read_comma = rt_number_parse("0,5", &value);
    rt_number_write(text, 0.25);
    ck_assert_ptr_nonnull(setlocale(LC_ALL, "C"));
    ck_assert(read && !read_comma);
    ck_assert_double_eq(value, 0.5);
    ck_assert_str_eq(text, "0.25");
}

TEST(written_numbers_read_back_exactly)
{
    static const double numbers[] = {0.1,   1e-3,          1.0 / 3, 2.0 / 3, 1e300, 5e-324, 1e22,
                                     0.999, 123456789.125, 1e-8,    DBL_MAX, -0.15, 0};
    char text[RT_NUMBER_SIZE];
    double value = -1;
    for (int i = 0; i < ROWS(numbers); i++) {
        ck_assert(rt_number_parse(rt_number_write(text, numbers[i]), &value));
        ck_assert_msg(value == numbers[i], "%s is not %.17g", text, numbers[i]);
    }
}

TEST(spaces_around_an_item_do_not_belong_to_it)
{
    static const char *const items[] = {"a", "", "b c", ""};
    rt_list_item item;
    const char *rest = " a ,  , b c,";
    for (int i = 0; i < ROWS(items); i++) {
        ck_assert_ptr_nonnull(rest);
        rest = rt_list_parse(rest, &item);
        ck_assert(rt_list_item_is(item, items[i]));
        ck_assert(!rt_list_item_is(item, "a c"));
    }
    ck_assert_ptr_null(rest);
}

TEST(an_item_that_does_not_fit_is_cut)
{
    for (int fits = 0; fits < 2; fits++) {
        char text[4];
        rt_list_item item;
        ck_assert_int_eq(rt_list_parse(fits ? "abc,d" : "abcd", &item) != NULL, fits);
        ck_assert_int_eq(rt_list_item_copy(item, text, sizeof text), fits);
        ck_assert_str_eq(text, "abc");
    }
}

TEST(a_list_matches_only_whole_items)
{
    ck_assert(rt_list_has("cpu,memory", "memory") && rt_list_has("memory", "memory"));
    ck_assert(!rt_list_has("cpu,memory", "mem") && !rt_list_has("memory2,cpu", "memory"));
    ck_assert(rt_list_has("", ""));
}
