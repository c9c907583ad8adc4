/* docs/configuration.md is written from the table of keys:
 *     ROTOR_WRITE_DOCS=1 build/tests/test_training -s docs */

#include "training/scratch.h"

#include "train/config/config.h"

static const char path[] = TEST_SOURCES "/../docs/configuration.md";

static const char introduction[] =
    "# Configuration\n"
    "\n"
    "An INI file with sections, or `section.key=value` on the command line, which beats the file.\n"
    "Keys are case-sensitive; an unknown key, a duplicate or a value out of range is an error with "
    "its\n"
    "line, and all errors are listed. Numbers are decimal. A comment begins with `;` (or `#` at "
    "the\n"
    "start of a line). `train --check FILE` validates; `train --print-config FILE` prints the "
    "configuration\n"
    "with every key and its meaning, as an INI file that reads back, and on stderr the origin of "
    "each value that is not\n"
    "the default.\n"
    "\n"
    "A key that is set, is not at its default and has no effect in any run that the file describes "
    "is an\n"
    "error: the last column says what it needs. Variants of a sweep may inherit keys that count in "
    "others.\n"
    "\n"
    "A zero that stands for what follows from other keys (`model.kv_heads`, "
    "`position.original_len`,\n"
    "`train.shards`) is replaced by that when a file is read: `config.ini` of a run and its "
    "checkpoints hold\n"
    "what was trained. With `--eval`, `--predict` and `--export` the keys of `[data]` but for its "
    "tokens, of\n"
    "`[train]` and `[run]`, and the checks of `[theta]` can be set for the use; what the model is "
    "made of\n"
    "cannot, and stays as it was trained whatever `data.length` is.\n"
    "\n";

TEST(the_page_on_configuration_is_the_table_of_keys)
{
    char *reference = rt_config_reference();
    ck_assert_ptr_nonnull(reference);
    if (getenv("ROTOR_WRITE_DOCS")) {
        FILE *to = fopen(path, "w");
        ck_assert_ptr_nonnull(to);
        fprintf(to, "%s%s", introduction, reference);
        ck_assert_int_eq(fclose(to), 0);
    }
    size_t size;
    char *page = owned(file_bytes(path, &size), free);
    page[size] = '\0';
    ck_assert_msg(!strncmp(page, introduction, strlen(introduction)) &&
                      !strcmp(page + strlen(introduction), reference),
                  "docs/configuration.md is out of date: ROTOR_WRITE_DOCS=1 "
                  "build/tests/test_training -s docs");
    rt_free(reference);
}
