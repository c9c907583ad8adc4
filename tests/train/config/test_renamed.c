/* Names that keys and values had before: refused with the new one, or read as it. */

#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/config/private.h"

/* Returns the text of a file with the old name. */
static const char *text_with(const rt_renamed *r)
{
    const char *point = strchr(r->key, '.');
    ck_assert_ptr_nonnull(point);
    return lasting("[%.*s]\n%s = %s\n", (int)(point - r->key), r->key, point + 1, r->value);
}

TEST(each_old_name_is_refused_with_the_new_one_or_read_as_it)
{
    for (const rt_renamed *r = rt_renamed_values; r->key; r++) {
        rt_config config = {0};
        char written[RT_VALUE_SIZE];
        rt_writer problem = {0};
        const rt_key *key = rt_key_at(rt_key_find(r->key));
        ck_assert_msg(key != NULL, "there is no %s", r->key);
        ck_assert_msg(rt_key_read(key, r->now, &config, &problem), "%s = %s: %s", r->key, r->now,
                      problem.bytes);
        rt_writer_free(&problem);
        if (r->is_read) {
            load_sound(&config, text_with(r), NULL);
            ck_assert_str_eq(rt_key_value_write(key, &config, written), r->now);
            continue;
        }
        const char *message = lasting("%s = %s is now called %s\n", r->key, r->value, r->now);
        expect_errors(text_with(r), NULL, lasting("theta.ini:2: %s", message));
        expect_errors("", OVERRIDES(lasting("%s=%s", r->key, r->value)),
                      lasting("command line: %s", message));
    }
}

TEST(each_old_name_is_in_the_table_of_the_manual)
{
    size_t size;
    const char *page = (const char *)file_bytes(TEST_SOURCES "/../docs/using.md", &size);
    for (const rt_renamed *r = rt_renamed_values; r->key; r++) {
        const char *line = lasting("\n| `%s = %s` | `%s` |", r->key, r->value, r->now);
        ck_assert_msg(strstr(page, line) != NULL, "docs/using.md has no line%s", line);
    }
}
