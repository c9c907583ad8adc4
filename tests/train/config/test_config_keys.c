#include "train/config/config_loading.h"

#include "util/number.h"

static void expect_reading(const rt_key *key, const char *value, bool is_sound)
{
    rt_config config = {0}, before = {0};
    rt_writer problem = {0};
    const bool accepted = rt_key_read(key, value, &config, &problem);
    ck_assert_msg(accepted == is_sound, "%s.%s = '%s' is %s: %s", key->section, key->name, value,
                  accepted ? "accepted" : "refused", accepted ? "" : problem.bytes);
    ck_assert(is_sound || strstr(problem.bytes, "must be "));
    ck_assert(is_sound || !memcmp(&config, &before, sizeof config));
    if (is_sound && (key->type == RT_KEY_CHOICE || key->type == RT_KEY_YES_NO))
        ck_assert_str_eq(rt_key_value_write(key, &config, (char[RT_VALUE_SIZE]){""}), value);
    rt_writer_free(&problem);
}

static void test_bounds(const rt_key *key)
{
    char text[RT_NUMBER_SIZE];
    const rt_range *range = &key->range;
    bool whole = key->type == RT_KEY_INTEGER;
    double outside = whole ? range->low - 1 : nextafter(range->low, -HUGE_VAL);
    if (outside != 0 && fabs(outside) < 1e-300)
        outside = -1e-300;
    expect_reading(key, rt_number_write(text, outside), false);
    expect_reading(key, rt_number_write(text, range->low), !range->above);
    if (isinf(range->high))
        return;
    outside = whole ? range->high + 1 : nextafter(range->high, HUGE_VAL);
    expect_reading(key, rt_number_write(text, outside), false);
    expect_reading(key, rt_number_write(text, range->high), !range->below);
}

TEST(every_key_checks_its_values)
{
    static const char *const wrong[] = {"wombat", "nan", "inf", "0x1", "1e999", "1e",
                                        ".",      "0,5", "--1", "1 2", "\xff"};
    const rt_key *key;
    for (int i = 0; (key = rt_key_at(i)); i++) {
        ck_assert(*key->help);
        expect_reading(key, key->initial, true);
        for (int j = 0; j < ROWS(wrong) && key->type != RT_KEY_TEXT; j++)
            expect_reading(key, wrong[j], false);
        if (key->type == RT_KEY_TEXT)
            expect_reading(key, "a\nb", false);
        if (key->type == RT_KEY_INTEGER || key->type == RT_KEY_NUMBER)
            test_bounds(key);
        for (int j = 0; key->word && key->word(j); j++)
            expect_reading(key, key->word(j), true);
    }
}

TEST(keys_are_distinct_and_sections_contiguous)
{
    char name[RT_KEY_NAME_SIZE];
    for (int i = 0; rt_key_at(i); i++) {
        ck_assert_int_eq(rt_key_find(rt_key_full_name(rt_key_at(i), name)), i);
        for (int j = 0; j < i; j++)
            ck_assert_msg(!rt_key_starts_section(i) ||
                              strcmp(rt_key_at(i)->section, rt_key_at(j)->section) != 0,
                          "[%s] comes twice", rt_key_at(i)->section);
    }
}
