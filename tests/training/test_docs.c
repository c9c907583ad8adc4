/* The tables of docs/configuration.md are written from the table of keys:
 *     ROTOR_WRITE_DOCS=1 build/tests/test_training -s docs */

#include "suite.h"
#include "train/config/config.h"

#include <stdio.h>
#include <string.h>

static const char path[] = TEST_SOURCES "/../docs/configuration.md";

static char *read_page(void)
{
    enum { MOST = 1 << 16 };
    char *page = rt_alloc(MOST, 1);
    FILE *from = fopen(path, "r");
    ck_assert_msg(from && page, "%s cannot be read", path);
    page[fread(page, 1, MOST - 1, from)] = '\0';
    fclose(from);
    return page;
}

/* Behind an introduction, which is written by hand. */
TEST(the_page_on_configuration_is_the_table_of_keys)
{
    char *reference = rt_config_reference(), *page = read_page();
    ck_assert_ptr_nonnull(reference);
    const char *heading = strstr(page, "\n\n| ");
    ck_assert_msg(!strncmp(page, "# Configuration\n", 16) && heading, "%s has no tables", path);
    if (getenv("ROTOR_WRITE_DOCS")) {
        FILE *to = fopen(path, "w");
        ck_assert_ptr_nonnull(to);
        fprintf(to, "%.*s%s", (int)(heading + 2 - page), page, reference);
        ck_assert_int_eq(fclose(to), 0);
        rt_free(page);
        page = read_page();
        heading = strstr(page, "\n\n| ");
    }
    ck_assert_msg(!strcmp(heading + 2, reference),
                  "docs/configuration.md is out of date: ROTOR_WRITE_DOCS=1 "
                  "build/tests/test_training -s docs");
    rt_free(page);
    rt_free(reference);
}
