/* The tables of docs/configuration.md are written from the table of keys:
 *     ROTOR_WRITE_DOCS=1 build/tests/test_training -s docs */

#include "training/key_reference.h"
#include "training/scratch.h"

static const char path[] = TEST_SOURCES "/../docs/configuration.md";

/* The introduction of the page is written by hand; its table begins here. */
static const char table[] = "| key | default |";

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
