/* Runs the suites of an executable: EXECUTABLE [-l] [-n | -a] [-s SUITE] ... [-t WORD] ...
 *
 *     -l        lists the suites, their tests and the numbers of their rows
 *     -n        runs the nightly set; without -n, the fast one
 *     -a        runs both sets
 *     -s SUITE  runs this suite; without -s, all of them
 *     -t WORD   runs the tests whose name contains this word
 *
 * A test that leaves memory allocated fails, since a leak in a forked child goes unreported
 * otherwise. Exit code 1 if a test failed, 2 if no test was selected.
 */

#include "suite.h"

#include <stdarg.h>

#include <unistd.h>

enum { MOST_WORDS = 64, SUITE_NAME_SIZE = 64, DEFAULT_TIMEOUT = 120 };

typedef struct registered_test {
    const test_options *options;
    const TTest *test;
    int begin, end, stride;
    bool added;                  /* is in the runner */
    char suite[SUITE_NAME_SIZE]; /* name of its suite; Check keeps the pointer */
} registered_test;

typedef struct selection {
    const char *suites[MOST_WORDS], *parts[MOST_WORDS];
    int suite_count, part_count;
    bool fast, nightly; /* the sets */
} selection;

static registered_test *registered;
static size_t registered_count;

/* Writes the name of the suite of a file: "path" for tests/core/test_path.c. */
static void suite_of_file(const char *file, char name[SUITE_NAME_SIZE])
{
    const char *base = strrchr(file, '/');
    base = base ? base + 1 : file;
    base += strncmp(base, "test_", 5) ? 0 : 5;
    snprintf(name, SUITE_NAME_SIZE, "%.*s", (int)strcspn(base, "."), base);
}

void test_register(const test_options *options, const TTest *test, int begin, int end, int stride)
{
    if (registered_count % 64 == 0)
        registered = realloc(registered, (registered_count + 64) * sizeof *registered);
    if (!registered)
        abort();
    registered_test *r = &registered[registered_count++];
    *r = (registered_test){
        .options = options, .test = test, .begin = begin, .end = end, .stride = stride};
    suite_of_file(test->file, r->suite);
}

typedef struct owned_object {
    void *object;
    void (*release)(void *object);
} owned_object;

static owned_object *all_owned;
static size_t owned_count;

void *owned(void *object, void (*release)(void *object))
{
    if (owned_count % 64 == 0)
        all_owned = realloc(all_owned, (owned_count + 64) * sizeof *all_owned);
    if (!all_owned)
        abort();
    all_owned[owned_count++] = (owned_object){object, release};
    return object;
}

static size_t blocks_before;

static void note_live_blocks(void)
{
    blocks_before = rt_memory_live();
}

static void fail_on_leak(void)
{
    while (owned_count) {
        const owned_object last = all_owned[--owned_count];
        last.release(last.object);
    }
    free(all_owned);
    all_owned = NULL;
    rt_memory_fail_at(0);
    ck_assert_msg(rt_memory_live() == blocks_before, "%zu blocks were not freed",
                  rt_memory_live() - blocks_before);
}

static bool is_selected(const selection *s, const registered_test *test)
{
    bool suite = !s->suite_count, part = !s->part_count;
    for (int i = 0; i < s->suite_count; i++)
        suite |= !strcmp(test->suite, s->suites[i]);
    for (int i = 0; i < s->part_count; i++)
        part |= strstr(test->test->name, s->parts[i]) != NULL;
    return suite && part && test->begin < test->end &&
           ((s->fast && test->stride) || (s->nightly && test->stride != 1));
}

/* Adds the rows of a test that are in the selected sets. */
static void add_rows(TCase *tests, const selection *s, const registered_test *test)
{
    for (int i = test->begin; i < test->end; i++) {
        const bool fast = test->stride && (i - test->begin) % test->stride == 0;
        if (fast ? s->fast : s->nightly)
            _tcase_add_test(tests, test->test, 0, 0, i, i + 1);
    }
}

static void add_fixtures(TCase *tests, const test_options *options)
{
    if (!options->may_leak)
        tcase_add_checked_fixture(tests, note_live_blocks, fail_on_leak);
    if (options->once)
        tcase_add_unchecked_fixture(tests, options->setup, options->teardown);
    else
        tcase_add_checked_fixture(tests, options->setup, options->teardown);
    tcase_add_checked_fixture(tests, options->prepare, options->clean);
    tcase_set_timeout(tests, options->timeout > 0 ? options->timeout : DEFAULT_TIMEOUT);
}

/* Adds the selected tests that share the file and the options of the first of them. */
static void add_tests_like(SRunner *runner, const selection *s, size_t first)
{
    const registered_test *like = &registered[first];
    Suite *suite = suite_create(like->suite);
    TCase *tests = tcase_create("tests");
    add_fixtures(tests, like->options);
    suite_add_tcase(suite, tests);
    for (size_t i = first; i < registered_count; i++) {
        registered_test *test = &registered[i];
        if (test->options == like->options && !strcmp(test->test->file, like->test->file) &&
            is_selected(s, test)) {
            add_rows(tests, s, test);
            test->added = true;
        }
    }
    srunner_add_suite(runner, suite);
}

static int list(void)
{
    for (size_t i = 0; i < registered_count; i++)
        printf("%s %s %d\n", registered[i].suite, registered[i].test->name,
               registered[i].end - registered[i].begin);
    return EXIT_SUCCESS;
}

static int run(const selection *s)
{
    bool any = false;
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < registered_count; i++)
        if (!registered[i].added && is_selected(s, &registered[i])) {
            add_tests_like(runner, s, i);
            any = true;
        }
    if (any)
        srunner_run_all(runner, CK_NORMAL);
    else
        fprintf(stderr, "no test has these names\n");
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return !any ? 2 : failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

const char *lasting(const char *format, ...)
{
    char text[1 << 14];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ck_assert_int_lt(length, sizeof text);
    return length ? rt_intern_text(text) : NULL;
}

int suite_main(int argc, char **argv)
{
    selection s = {.fast = true};
    int option;
    while ((option = getopt(argc, argv, "lnas:t:")) != -1) {
        if (option == 'l')
            return list();
        if (option == 'n' || option == 'a') {
            s.nightly = true;
            s.fast = option == 'a';
            continue;
        }
        if (option == 's' && s.suite_count < MOST_WORDS)
            s.suites[s.suite_count++] = optarg;
        else if (option == 't' && s.part_count < MOST_WORDS)
            s.parts[s.part_count++] = optarg;
        else
            return 2;
    }
    if (optind < argc)
        return 2;
    /* The row kernels are those that ROTOR_ROW_KERNELS names, as in the program. */
    const rt_status status = rt_row_set_use_named(getenv("ROTOR_ROW_KERNELS"));
    if (status.code)
        fprintf(stderr, "ROTOR_ROW_KERNELS: %s\n", status.message);
    return status.code ? 2 : run(&s);
}

/* The main of the program, in the executable of its suites (tests/program/program.h). */
__attribute__((weak)) int train_main(int argc, char **argv);

/* A suite may have its own main, which calls suite_main. */
__attribute__((weak)) int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    /* The program that a test has called starts itself anew, for other kernels of OpenBLAS. */
    const char *name = slash ? slash + 1 : argv[0];
    if (train_main && (!strcmp(name, "train") || !strcmp(name, "train-f64")))
        return train_main(argc, argv);
    return suite_main(argc, argv);
}
