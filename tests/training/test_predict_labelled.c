/* --predict for texts and tokens: a token that is cut off, and a heap without memory. Its answers
 * are held to the library's in tests/io/test_io_model.c, the rows of lines in
 * tests/data/test_example_text.c. */

#include "scratch.h"
#include "training.h"

#include "ops/engine.h"
#include "train/run/predict.h"

#include <pthread.h>

enum { PRINTED = 1000 };

/* Returns a model of three labels and of bytes. */
static training *new_asking(const char *task, const char *file)
{
    put_text("a.tsv", file);
    return new_choosy_training(
        lasting("[model]\nlayers = 1\ndim = 16\nheads = 2\n[data]\ntask = %s\nlevel = byte\n"
                "length = 12\neval_fraction = 0\nfile = %s\n",
                task, in_scratch("a.tsv")));
}

static const char tokens[] = "a\tnone\nb\tsome\nc\ttwo words\n";

static rt_status ask(const training *t, const char *text, const char *lines, char printed[PRINTED],
                     rt_predicted *told)
{
    memset(printed, 0, PRINTED);
    FILE *to = fmemopen(printed, PRINTED, "w"), *from = lines ? tmpfile() : NULL;
    ck_assert(to && (!lines || (from && fputs(lines, from) >= 0)));
    if (from)
        rewind(from);
    const rt_predict_options o = {.text = text, .from = from};
    rt_status status = rt_predict(to, t->state->model, t->data, &t->config, &o, told);
    fclose(to);
    if (from)
        fclose(from);
    return status;
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_token_that_is_cut_off_has_no_line)
{
    char printed[PRINTED];
    rt_predicted told;
    expect_ok(ask(new_asking("tag", tokens), "abcd efghij k l", NULL, printed, &told));
    ck_assert_int_eq(told.texts, 1);
    ck_assert_int_eq(told.cut, 1);
    expect_in(printed, "abcd\t");
    expect_in(printed, "\nefghij\t");
    ck_assert_ptr_null(strstr(printed, "\nk\t"));
}

TEST(a_full_heap_is_an_error)
{
    char printed[PRINTED];
    rt_predicted told;
    training *t = new_asking("tag", tokens);
    expect_ok_after_refusals(8, ask(t, NULL, "ab c\nd\n", printed, &told));
}

#ifndef RT_DOUBLE

static const char texts[] = "text\tlabel\na\tnone\nb\tsome\nc\ttwo words\n";

typedef struct request {
    const training *t;
    size_t failing; /* which request of the heap, 0: none */
    char printed[PRINTED];
    rt_status status;
} request;

static void *ask_in_thread(void *data)
{
    request *r = data;
    rt_predicted told;
    rt_memory_fail_at(r->failing);
    r->status = ask(r->t, "ab c", NULL, r->printed, &told);
    rt_memory_fail_at(0);
    return NULL;
}

/* A new thread has no memory for the products of oneDNN yet. */
static request asked_by_a_new_thread(const training *t, size_t failing)
{
    pthread_t thread;
    request r = {.t = t, .failing = failing};
    ck_assert(!pthread_create(&thread, NULL, ask_in_thread, &r));
    ck_assert(!pthread_join(thread, NULL));
    return r;
}

TEST_ROWS(a_product_without_memory_is_an_error_and_no_answer, 0, IN_FLOAT ? 2 : 0)
{
    training *t = _i ? new_asking("tag", tokens) : new_asking("classify", texts);
    int products = 0;
    const rt_status there = rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_FLOAT);
    if (there.code)
        say_skipped(__func__, there.message);
    const request whole = asked_by_a_new_thread(t, 0);
    request r = {.status = {.code = RT_MEMORY}};
    expect_ok(whole.status);
    for (size_t n = 1; r.status.code && n < 10000; n++) {
        r = asked_by_a_new_thread(t, n);
        ck_assert_str_eq(r.printed, r.status.code ? "" : whole.printed);
        ck_assert(!r.status.code || r.status.code == RT_MEMORY);
        products += strstr(r.status.message, "a matrix product") != NULL;
    }
    ck_assert_int_eq(r.status.code, RT_OK);
    ck_assert(there.code || products > 0);
    ck_assert(!rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT).code);
}

#endif
