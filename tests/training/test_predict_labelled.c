/* Output of --predict for texts and tokens, compared with the logits of the model for rows that are
 * laid out here by hand. */

#include "asking.h"

#include "ops/engine.h"

#include <math.h>
#include <pthread.h>

enum { LENGTH = 12, CLASSES = 3, PRINTED = 1000, A = RT_FIRST_SYMBOL + 'a' };

/* Returns a model of three labels and of bytes. */
static asking *new_asking(const char *task, const char *file)
{
    put_text("a.tsv", file);
    return asking_of(
        lasting("[model]\nlayers = 1\ndim = 16\nheads = 2\n[data]\ntask = %s\nlevel = byte\n"
                "length = 12\neval_fraction = 0\nfile = %s\n",
                task, in_scratch("a.tsv")));
}

static const char texts[] = "text\tlabel\na\tnone\nb\tsome\nc\ttwo words\n";
static const char pairs[] = "text\ttext_b\tlabel\na\tb\tnone\nb\tc\tsome\nc\td\ttwo words\n";
static const char tokens[] = "a\tnone\nb\tsome\nc\ttwo words\n";
static const char *const labels[CLASSES] = {"none", "some", "two words"};

/* Adds "label<TAB>probability" of one place of a row that is laid out by hand. */
static void add_answer(const asking *a, const int32_t *ids, const int32_t *types, int count,
                       int place, char *to)
{
    const real *x = logits_of(a->model, ids, types, count) + (place < 0 ? 0 : place * CLASSES);
    int best = 0;
    double sum = 0;
    for (int c = 0; c < CLASSES; c++) {
        best = x[c] > x[best] ? c : best;
        sum += exp((double)x[c]);
    }
    sprintf(to + strlen(to), "%s\t%.4f\n", labels[best], exp((double)x[best]) / sum);
}

static rt_status ask(const asking *a, const char *text, const char *lines, char printed[PRINTED],
                     rt_predicted *told)
{
    memset(printed, 0, PRINTED);
    FILE *to = fmemopen(printed, PRINTED, "w"), *from = lines ? tmpfile() : NULL;
    ck_assert(to && (!lines || (from && fputs(lines, from) >= 0)));
    if (from)
        rewind(from);
    const rt_predict_options o = {.text = text, .from = from};
    rt_status status = rt_predict(to, a->model, a->data, &a->config, &o, told);
    fclose(to);
    if (from)
        fclose(from);
    return status;
}

/* Returns what is printed of a text, or of lines, for texts and cut ones of these numbers. */
static const char *answer(const asking *a, const char *text, const char *lines, int count, int cut)
{
    char printed[PRINTED];
    rt_predicted told;
    expect_ok(ask(a, text, lines, printed, &told));
    ck_assert_int_eq(told.texts, count);
    ck_assert_int_eq(told.cut, cut);
    return *printed ? lasting("%s", printed) : "";
}

/* ---- texts ---- */

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* The texts are different enough for different answers. */
TEST(a_text_has_the_label_of_the_largest_logit_and_its_probability)
{
    static const char *const asked[] = {"ab", "c", "zzyx", "hello"};
    asking *a = new_asking("classify", texts);
    bool different = false;
    char first[100] = "";
    for (int i = 0; i < 4; i++) {
        int32_t ids[LENGTH] = {RT_ID_CLS};
        const int count = (int)strlen(asked[i]);
        char expected[100] = "";
        for (int k = 0; k < count; k++)
            ids[1 + k] = A + asked[i][k] - 'a';
        ids[1 + count] = RT_ID_SEP;
        add_answer(a, ids, NULL, count + 2, -1, expected);
        ck_assert_str_eq(answer(a, asked[i], NULL, 1, 0), expected);
        different |= *first && strcmp(first, expected) != 0;
        strcpy(first, expected);
    }
    ck_assert(different);
}

TEST(a_pair_is_read_with_its_types)
{
    asking *a = new_asking("classify", pairs);
    const int32_t ids[] = {RT_ID_CLS, A, A + 1, RT_ID_SEP, A + 2, RT_ID_SEP};
    const int32_t types[] = {0, 0, 0, 0, 1, 1};
    char expected[100] = "", other[100] = "";
    add_answer(a, ids, types, 6, -1, expected);
    add_answer(a, ids, NULL, 6, -1, other);
    ck_assert_str_ne(expected, other);
    ck_assert_str_eq(answer(a, "ab\tc", NULL, 1, 0), expected);
}

TEST(a_long_text_is_cut_and_counted)
{
    asking *a = new_asking("classify", texts);
    ck_assert_str_eq(answer(a, "abcdefghijklm", NULL, 1, 1), answer(a, "abcdefghij", NULL, 1, 0));
}

/* ---- tokens ---- */

TEST(every_token_has_the_label_at_its_first_piece)
{
    asking *a = new_asking("tag", tokens);
    const int32_t ids[] = {RT_ID_CLS, A, A + 1, A + 2, A + 3, A + 4, A + 5, RT_ID_SEP};
    static const int places[] = {1, 3, 4};
    static const char *const words[] = {"ab", "c", "def"};
    char expected[300] = "";
    for (int i = 0; i < 3; i++) {
        sprintf(expected + strlen(expected), "%s\t", words[i]);
        add_answer(a, ids, NULL, 8, places[i], expected);
    }
    strcat(expected, "\n");
    ck_assert_str_eq(answer(a, " ab  c\tdef ", NULL, 1, 0), expected);
}

TEST(a_token_that_is_cut_off_has_no_line)
{
    asking *a = new_asking("tag", tokens);
    const char *printed = answer(a, "abcd efghij k l", NULL, 1, 1);
    expect_in(printed, "abcd\t");
    expect_in(printed, "\nefghij\t");
    ck_assert_ptr_null(strstr(printed, "\nk\t"));
}

/* ---- lines ---- */

TEST_ROWS(every_line_is_answered_as_if_it_were_alone, 0, 2)
{
    static const char *const asked[] = {"abcdefghijklmnop", "a", "hello", "xyz"};
    asking *a = new_asking(_i ? "tag" : "classify", _i ? tokens : texts);
    char expected[PRINTED] = "", lines[100] = "";
    for (int i = 0; i < 4; i++) {
        strcat(expected, answer(a, asked[i], NULL, 1, !i));
        sprintf(lines + strlen(lines), "%s%s", asked[i], i == 1 ? "\r\n" : i == 3 ? "" : "\n");
    }
    ck_assert_str_eq(answer(a, NULL, lines, 4, 1), expected);
    ck_assert_str_eq(answer(a, NULL, "", 0, 0), "");
}

TEST(a_bad_line_is_named_and_the_answers_before_it_stand)
{
    static const char *const lines[][2] = {
        {"ab\n\ncd\n", "line 2: the text is empty"},
        {"ab\nc\xff\n", "line 2: byte 0xff at byte 1 is not UTF-8"},
    };
    asking *a = new_asking("classify", texts);
    const char *one = answer(a, "ab", NULL, 1, 0);
    for (int i = 0; i < 2; i++) {
        char printed[PRINTED];
        rt_predicted told;
        assert_status(ask(a, NULL, lines[i][0], printed, &told), RT_ARGUMENT, lines[i][1]);
        ck_assert_str_eq(printed, one);
    }
}

/* ---- a full heap ---- */

static rt_status ask_two_lines(void *a)
{
    char printed[PRINTED];
    rt_predicted told;
    return ask(a, NULL, "ab c\nd\n", printed, &told);
}

TEST(a_full_heap_is_an_error)
{
    expect_faults(ask_two_lines, new_asking("tag", tokens), 8);
}

#ifndef RT_DOUBLE

typedef struct request {
    const asking *a;
    size_t failing; /* which request of the heap, 0: none */
    char printed[PRINTED];
    rt_status status;
} request;

static void *ask_in_thread(void *data)
{
    request *r = data;
    rt_predicted told;
    rt_memory_fail_at(r->failing);
    r->status = ask(r->a, "ab c", NULL, r->printed, &told);
    rt_memory_fail_at(0);
    return NULL;
}

/* A new thread has no memory for the products of oneDNN yet. */
static request asked_by_a_new_thread(const asking *a, size_t failing)
{
    pthread_t thread;
    request r = {.a = a, .failing = failing};
    ck_assert(!pthread_create(&thread, NULL, ask_in_thread, &r));
    ck_assert(!pthread_join(thread, NULL));
    return r;
}

TEST_ROWS(a_product_without_memory_is_an_error_and_no_answer, 0, IN_FLOAT ? 2 : 0)
{
    asking *a = _i ? new_asking("tag", tokens) : new_asking("classify", texts);
    int products = 0;
    const rt_status there = rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_FLOAT);
    if (there.code)
        say_skipped(__func__, there.message);
    const request whole = asked_by_a_new_thread(a, 0);
    request r = {.status = {.code = RT_MEMORY}};
    expect_ok(whole.status);
    for (size_t n = 1; r.status.code && n < 10000; n++) {
        r = asked_by_a_new_thread(a, n);
        ck_assert_str_eq(r.printed, r.status.code ? "" : whole.printed);
        ck_assert(!r.status.code || r.status.code == RT_MEMORY);
        products += strstr(r.status.message, "a matrix product") != NULL;
    }
    ck_assert_int_eq(r.status.code, RT_OK);
    ck_assert(there.code || products > 0);
    ck_assert(!rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT).code);
}

#endif
