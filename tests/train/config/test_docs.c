/* The tables of docs/configuration.md are written from the table of keys:
 *     ROTOR_WRITE_DOCS=1 build/tests/test_training -s docs */

#include "util/scratch.h"

#include "train/config/keys.h"
#include "util/key_value.h"

static const char path[] = TEST_SOURCES "/../docs/configuration.md";

/* The introduction of the page is written by hand; its table begins here. */
static const char table[] = "| key | default |";

/* Returns the table, which the caller frees. */
static char *key_reference(void)
{
    char values[RT_VALUES_SIZE];
    rt_writer w = {0};
    const rt_key *key;
    rt_writer_add(&w, "| key | default | values | meaning | needs |\n|---|---|---|---|---|\n");
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const char *of_decoder = key->decoder;
        rt_writer_add(&w, "| `%s` | %s%s%s | %s | %s | ", rt_key_name(i), key->initial,
                      of_decoder ? "; decoder: " : "", of_decoder ? of_decoder : "",
                      rt_key_values(key, values), key->help);
        ck_assert_msg(strlen(values) + 1 < sizeof values, "%s: values are cut", rt_key_name(i));
        rt_key_report_needs(&w, i);
        rt_writer_add(&w, "%s|\n", key->needs ? " " : "");
    }
    for (int i = 0; i < RT_SWEEP_SETTINGS; i++) {
        const char *const *row = rt_sweep_settings[i];
        rt_writer_add(&w, "| `%s` | %s | %s | %s | |\n", row[0], row[1], row[2], row[3]);
    }
    return rt_writer_take(&w);
}

TEST(the_page_on_configuration_is_the_table_of_keys)
{
    char *reference = key_reference();
    ck_assert_ptr_nonnull(reference);
    ck_assert(!strncmp(reference, table, strlen(table)));
    size_t size;
    const char *page = (const char *)file_bytes(path, &size);
    const char *begin = strstr(page, table);
    ck_assert_ptr_nonnull(begin);
    if (getenv("ROTOR_WRITE_DOCS")) {
        FILE *to = fopen(path, "w");
        ck_assert_ptr_nonnull(to);
        fprintf(to, "%.*s%s", (int)(begin - page), page, reference);
        ck_assert_int_eq(fclose(to), 0);
    } else {
        ck_assert_msg(!strcmp(begin, reference),
                      "docs/configuration.md is out of date: ROTOR_WRITE_DOCS=1 "
                      "build/tests/test_training -s docs");
    }
    rt_free(reference);
}
