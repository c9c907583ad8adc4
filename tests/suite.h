#ifndef ROTOR_TESTS_SUITE_H
#define ROTOR_TESTS_SUITE_H

/* What every test program shares: the main of a Check suite, a fixture that fails a
 * test which leaves memory behind (a forked child's leak goes unreported otherwise),
 * and how a test says that it was skipped.
 */

#include "core/memory.h"
#include "core/row_kernels.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t live_before;

static void note_live_blocks(void)
{
    live_before = rt_memory_live();
}

static void fail_on_leak(void)
{
    rt_memory_fail_at(0);
    ck_assert_msg(rt_memory_live() == live_before, "%zu blocks were not freed",
                  rt_memory_live() - live_before);
}

/* A case whose tests are checked for leaks. */
static inline TCase *leak_checked_case(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, note_live_blocks, fail_on_leak);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return tests;
}

/* A test that cannot be done here says so on a line that scripts/test repeats at its end.
 * Check calls a test by its name and "_fn". */
static inline void say_skipped(const char *function, const char *need)
{
    printf("SKIP %.*s: needs %s\n", (int)(strlen(function) - strlen("_fn")), function, need);
}

/* Ends a test unless it has what it needs. */
#define NEEDS(is_there, need)                                                                      \
    do {                                                                                           \
        if (!(is_there)) {                                                                         \
            say_skipped(__func__, need);                                                           \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define NEEDS_PROGRAM(name) NEEDS(!system("command -v " name " >/dev/null"), name)

/* With the row kernels that ROTOR_ROW_KERNELS names, as the programs under test. */
static inline int run_suite(Suite *suite)
{
    const rt_status status = rt_row_set_use_named(getenv("ROTOR_ROW_KERNELS"));
    if (status.code) {
        fprintf(stderr, "ROTOR_ROW_KERNELS: %s\n", status.message);
        return EXIT_FAILURE;
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
