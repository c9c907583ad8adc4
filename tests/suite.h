#ifndef ROTOR_TESTS_SUITE_H
#define ROTOR_TESTS_SUITE_H

/* Tests register themselves. Each file tests/FOLDER/test_NAME.c is the suite NAME of the executable
 * of its layer, which tests/suite.c runs:
 *
 *     TEST(a_shape_has_a_size)
 *     {
 *         ck_assert_uint_eq(rt_shape_size(RT_SHAPE_OF(2, 3)), 6);
 *     }
 *
 * A test may be repeated for the rows of a table; _i is the number of the row:
 *
 *     TEST_ROWS(bad_shapes_are_refused, 0, ROWS(bad))
 *
 * A test that takes long is of the nightly set, NIGHTLY_TEST and NIGHTLY_ROWS; of a large grid the
 * fast set may have a sample, SAMPLED_ROWS.
 */

#include "core/memory.h"
#include "core/row_kernels.h"
#include "core/status.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options that the tests of a file share. Functions may be NULL. */
typedef struct test_options {
    void (*setup)(void);    /* called before each test */
    void (*prepare)(void);  /* called after setup */
    void (*clean)(void);    /* called after each test */
    void (*teardown)(void); /* called after clean */
    bool once;              /* setup and teardown surround all tests of the file together */
    bool may_leak;          /* memory that a test leaves allocated is no failure */
    double timeout;         /* seconds for one test; 0: 120 */
} test_options;

/* Adds rows begin to end - 1 of a test to the suite of its file. Without rows there is no test.
 * Every stride-th row is of the fast set, the others are of the nightly set; of stride 0 all are.
 */
void test_register(const test_options *options, const TTest *test, int begin, int end, int stride);

/* Runs the suites that the arguments name; returns the exit code. */
int suite_main(int argc, char **argv);

/* Sets the options of the tests of a file: SUITE(.setup = enter, .teardown = leave). */
#define SUITE(...) __attribute__((unused)) static const test_options suite_options = {__VA_ARGS__};

__attribute__((unused)) static const test_options suite_options;

#define TEST_REGISTERED(options, name, begin, end, stride)                                         \
    static void name##_fn(int _i);                                                                 \
    __attribute__((constructor)) static void name##_register(void)                                 \
    {                                                                                              \
        static const TTest test = {#name, name##_fn, __FILE__, __LINE__};                          \
        test_register(&(options), &test, begin, end, stride);                                      \
    }                                                                                              \
    static void name##_fn(int _i __attribute__((unused)))

#define TEST_WITH(options, name, begin, end) TEST_REGISTERED(options, name, begin, end, 1)
#define TEST_ROWS(name, begin, end)          TEST_WITH(suite_options, name, begin, end)
#define TEST(name)                           TEST_ROWS(name, 0, 1)
#define SAMPLED_ROWS(name, begin, end, stride)                                                     \
    TEST_REGISTERED(suite_options, name, begin, end, stride)
#define NIGHTLY_ROWS(name, begin, end) SAMPLED_ROWS(name, begin, end, 0)
#define NIGHTLY_TEST(name)             NIGHTLY_ROWS(name, 0, 1)

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* Numbers of rows for tests that only some builds have. */
#ifdef RT_DOUBLE
enum { IN_FLOAT = 0 };
#else
enum { IN_FLOAT = 1 };
#endif
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { UNSANITIZED = 0 };
#else
enum { UNSANITIZED = 1 };
#endif

/* Expects a call to have succeeded. */
#define expect_ok(...)                                                                             \
    do {                                                                                           \
        const rt_status outcome = (__VA_ARGS__);                                                   \
        ck_assert_msg(!outcome.code, "code %d: %s", outcome.code, outcome.message);                \
    } while (0)

/* Expects this code and this message. */
static inline void is_status(rt_status status, rt_code code, const char *message)
{
    ck_assert_str_eq(status.message, message);
    ck_assert_int_eq(status.code, code);
}

/* Expects this code, and this part of the message. */
static inline void is_status_with(rt_status status, rt_code code, const char *part)
{
    ck_assert_msg(status.code == code, "code %d, expected %d: '%s'", status.code, code,
                  status.message);
    ck_assert_msg(strstr(status.message, part) != NULL, "no '%s' in '%s'", part, status.message);
}

/* Repeats a block with the first, the second, ... request of the heap refused until it has set the
 * code to another than RT_MEMORY. There must be at least `least` refusals. A refusal stays set to
 * the end of the block. */
#define FOR_EACH_REFUSAL(code, least)                                                              \
    for (size_t nth_refusal = 0; refuse_next(&nth_refusal, code, least);)

static inline bool refuse_next(size_t *number, rt_code code, size_t least)
{
    const bool more = !*number || code == RT_MEMORY;
    rt_memory_fail_at(0);
    ck_assert_uint_lt(*number, 10000);
    ck_assert_msg(more || *number > least, "%zu refusals of the heap, at least %zu expected",
                  *number - 1, least);
    rt_memory_fail_at(more ? ++*number : 0);
    return more;
}

/* Expects a call to end well after each of its requests of the heap has been refused, of which
 * there are at least `least`. The call is evaluated each time, with its arguments. */
#define expect_ok_after_refusals(least, ...)                                                       \
    do {                                                                                           \
        rt_status status_of_call = {.code = RT_MEMORY};                                            \
        FOR_EACH_REFUSAL(status_of_call.code, least)                                               \
        {                                                                                          \
            status_of_call = (__VA_ARGS__);                                                        \
        }                                                                                          \
        expect_ok(status_of_call);                                                                 \
    } while (0)

/* Has an object released after the test, in any case, and returns it. */
void *owned(void *object, void (*release)(void *object));

/* Defines a function for owned() that calls another one: RELEASER(close_image, rt_image_close). */
#define RELEASER(name, release)                                                                    \
    static inline void name(void *object)                                                          \
    {                                                                                              \
        release(object);                                                                           \
    }

/* Returns a text that lasts, as a member of options; NULL if it is empty. The format is that of
 * printf. */
__attribute__((format(printf, 1, 2))) const char *lasting(const char *format, ...);

/* Prints that a test was skipped; scripts/test repeats the line at its end. `function` is the
 * __func__ of the test. */
static inline void say_skipped(const char *function, const char *need)
{
    printf("SKIP %.*s: needs %s\n", (int)(strlen(function) - strlen("_fn")), function, need);
}

/* Ends a test unless the condition holds. */
#define NEEDS(is_there, need)                                                                      \
    do {                                                                                           \
        if (!(is_there)) {                                                                         \
            say_skipped(__func__, need);                                                           \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define NEEDS_PROGRAM(name) NEEDS(!system("command -v " name " >/dev/null"), name)

#endif
