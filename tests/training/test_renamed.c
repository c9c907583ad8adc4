/* Names that keys and values had before: refused with the new one, or read as it. */

#include "config_loading.h"
#include "scratch.h"

#include "train/config/private.h"

/* "section.name" taken apart at its point; returns the name. */
static const char *split(const char *key, char section[RT_KEY_NAME_SIZE])
{
    const char *point = strchr(key, '.');
    ck_assert_ptr_nonnull(point);
    snprintf(section, RT_KEY_NAME_SIZE, "%.*s", (int)(point - key), key);
    return point + 1;
}

/* Writes the message for a row, which a file and the command line share. */
static void write_message(const rt_renamed *r, char message[RT_MESSAGE_SIZE])
{
    snprintf(message, RT_MESSAGE_SIZE, "%s = %s is now called %s\n", r->key, r->value, r->now);
}

static void expect_to_be_read(const rt_renamed *r)
{
    char section[RT_KEY_NAME_SIZE];
    const char *name = split(r->key, section);
    rt_config config;
    load_sound(&config, lasting("[%s]\n%s = %s\n", section, name, r->value), NULL);
    const rt_key *key = rt_key_at(rt_key_find(r->key));
    char written[RT_VALUE_SIZE];
    ck_assert_str_eq(rt_key_value_write(key, &config, written), r->now);
}

static void expect_refusals(const rt_renamed *r)
{
    char section[RT_KEY_NAME_SIZE], message[RT_MESSAGE_SIZE];
    const char *name = split(r->key, section);
    write_message(r, message);
    const char *text = lasting("[%s]\n%s = %s\n", section, name, r->value);
    const char *expected = lasting("theta.ini:2: %s", message);
    expect_errors(text, NULL, expected);
    const char *setting = lasting("%s=%s", r->key, r->value);
    expected = lasting("command line: %s", message);
    expect_errors("", OVERRIDES(setting), expected);
}

/* The new name is a value that the key takes. */
static void expect_new_name(const rt_renamed *r)
{
    rt_config config = {0};
    rt_writer problem = {0};
    const int key = rt_key_find(r->key);
    ck_assert_msg(key >= 0, "there is no %s", r->key);
    ck_assert_msg(rt_key_read(rt_key_at(key), r->now, &config, &problem), "%s: %s",
                  lasting("%s = %s", r->key, r->now), problem.bytes);
    rt_writer_free(&problem);
}

TEST(each_old_name_is_refused_with_the_new_one_or_read_as_it)
{
    const rt_renamed *r;
    int rows = 0;
    for (; (r = rt_renamed_at(rows)); rows++) {
        if (r->is_read)
            expect_to_be_read(r);
        else
            expect_refusals(r);
        expect_new_name(r);
    }
    ck_assert_int_gt(rows, 0);
}

TEST(each_old_name_is_in_the_table_of_the_manual)
{
    size_t size;
    const rt_renamed *r;
    char *page = owned(file_bytes(TEST_SOURCES "/../docs/using.md", &size), free);
    page[size] = '\0';
    for (int i = 0; (r = rt_renamed_at(i)); i++) {
        const char *line =
            lasting("\n| `%s` | `%s` |", lasting("%s = %s", r->key, r->value), r->now);
        ck_assert_msg(strstr(page, line) != NULL, "docs/using.md has no line%s", line);
    }
}

TEST(a_name_that_never_changed_has_no_other)
{
    ck_assert_ptr_null(rt_renamed_find("theta.check", "no"));
    ck_assert_ptr_null(rt_renamed_find("theta.learn", "yes"));
}
