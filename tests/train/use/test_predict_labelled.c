/* --predict for texts and tokens: a token that is cut off, and a heap without memory. Its answers
 * are held to the library's in tests/io/test_io_model.c, the rows of lines in
 * tests/data/test_example_text.c. */

#include "new_thread.h"
#include "train/step/training.h"
#include "util/scratch.h"

#include "train/use/predict.h"

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
    char whole[PRINTED], printed[PRINTED];
} request;

static rt_status ask_again(void *context)
{
    request *r = context;
    rt_predicted told;
    return ask(r->t, "ab c", NULL, r->printed, &told);
}

static void expect_answer(void *context, size_t failing, bool refused)
{
    request *r = context;
    if (!failing)
        strcpy(r->whole, r->printed);
    ck_assert_str_eq(r->printed, refused ? "" : r->whole);
}

TEST_ROWS(a_product_without_memory_is_an_error_and_no_answer, 0, IN_FLOAT ? 2 : 0)
{
    request r = {.t = _i ? new_asking("tag", tokens) : new_asking("classify", texts)};
    expect_refused_products(__func__, ask_again, &r, expect_answer);
}

#endif
