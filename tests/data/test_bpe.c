/* Byte-level BPE: what texts become with it, its file, and what is wrong with one. */

#include "bpe_fixtures.h"
#include "samples.h"

/* ---- as tokenizers ---- */

/* ROTOR_BPE names a folder with others. */
START_TEST(texts_have_the_ids_of_tokenizers)
{
    const char *given = getenv("ROTOR_BPE");
    ck_assert_int_gt(check_bpe_folders(given ? given : TEST_SOURCES "/fixtures/bpe"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bpe");
    TCase *tests = leak_checked_case(suite, "bpe");
    tcase_add_test(tests, texts_have_the_ids_of_tokenizers);
    return run_suite(suite);
}
