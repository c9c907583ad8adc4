/* result.csv: any number of results, and untrusted files. */

#include "util/scratch.h"

#include "train/folder/results.h"

static rt_results results;

static void free_results(void)
{
    rt_results_free(&results);
    remove_scratch();
}

SUITE(.setup = make_scratch, .teardown = free_results)

TEST(hundreds_of_results_are_read_back)
{
    enum { MANY = 300 };
    for (int i = 0; i < MANY; i++)
        rt_results_put(&results, 0.5 * i, RT_RESULT_OF(RT_RESULT_LOSS, i + 1));
    expect_ok(rt_results_write(&results, scratch));
    rt_results_free(&results);
    ck_assert(rt_results_read(&results, scratch));
    ck_assert_int_eq(results.count, MANY);
    for (int i = 0; i < MANY; i++)
        ck_assert_double_eq(rt_results_get(&results, lasting("eval_loss_at_%d", i + 1)), 0.5 * i);
}

TEST(the_file_of_results_ends_with_an_end_mark)
{
    rt_results_put(&results, 2.5, RT_RESULT_LOSS);
    rt_results_put(&results, -(double)NAN, RT_RESULT_COSINE);
    rt_results_put(&results, -(double)INFINITY, RT_RESULT_CHANGE);
    rt_results_put(&results, 1e300, RT_RESULT_PHASE);
    expect_ok(rt_results_write(&results, scratch));
    expect_content("result.csv", "name,value\neval_loss,2.5\ntheta_cosine,\n"
                                 "theta_max_change,-inf\ntheta_max_phase,1e+300\nend,0\n");
    rt_results_free(&results);
    ck_assert(rt_results_read(&results, scratch));
    ck_assert_double_eq(rt_results_get(&results, RT_RESULT_CHANGE), -(double)INFINITY);
    ck_assert_double_eq(rt_results_get(&results, RT_RESULT_PHASE), 1e300);
    ck_assert(isnan(rt_results_get(&results, RT_RESULT_COSINE)));
}

TEST(only_whole_numbers_are_read_as_integers)
{
    int value = 42;
    put_text("result.csv",
             "name,value\nsteps,7\nexit_code,x\na,2.5\nb,1e30\nc,nan\nd,inf\ne,-3\nf,2147483647\n"
             "g,2147483648\nend,0\n");
    ck_assert(rt_results_read(&results, scratch));
    static const char *const none[] = {
        RT_RESULT_EXIT_CODE, RT_RESULT_NEAR, "a", "b", "c", "d", "g"};
    for (int i = 0; i < ROWS(none); i++)
        ck_assert_msg(!rt_results_whole(&results, none[i], &value), "%s is %d", none[i], value);
    ck_assert_int_eq(value, 42);
    ck_assert(rt_results_whole(&results, RT_RESULT_STEPS, &value));
    ck_assert_int_eq(value, 7);
    ck_assert(rt_results_whole(&results, "e", &value));
    ck_assert_int_eq(value, -3);
    ck_assert(rt_results_whole(&results, "f", &value));
    ck_assert_int_eq(value, 2147483647);
}

TEST(an_incomplete_file_has_no_results)
{
    static const char *const texts[] = {"", "name,value\nsteps,7\n", "name,value\nsteps,7\nend,0",
                                        "name,value\nsteps,7\nend,",
                                        "name;value\nsteps,7\nend,0\n"};
    for (int i = 0; i < ROWS(texts); i++) {
        put_text("result.csv", texts[i]);
        ck_assert_msg(!rt_results_read(&results, scratch), "%s was read", texts[i]);
        ck_assert_int_eq(results.count, 0);
    }
}

TEST(invalid_names_of_results_are_ignored)
{
    put_text("result.csv",
             "name,value\n<b>,1\n\"a,b\",1\na b,1\n,1\n\x1b[31m,1\n"
             "a_name_that_is_much_longer_than_those_of_any_result,1\n\xce\xb8,1\nok_1.0,2\n"
             "end,0\n");
    ck_assert(rt_results_read(&results, scratch));
    ck_assert_int_eq(results.count, 1);
    ck_assert_double_eq(rt_results_get(&results, "ok_1.0"), 2);
}

TEST(a_lost_result_is_an_error_when_results_are_written)
{
    rt_memory_fail_at(1);
    rt_results_put(&results, 1, RT_RESULT_LOSS);
    rt_memory_fail_at(0);
    rt_results_put(&results, 1, RT_RESULT_STEPS);
    ck_assert_int_eq(rt_results_write(&results, scratch).code, RT_MEMORY);
    ck_assert(!exists(in_scratch("result.csv")));
    rt_results_free(&results);
    rt_results_put(&results, 1, "a_name_that_is_much_longer_than_those_of_any_result");
    ck_assert_int_eq(rt_results_write(&results, scratch).code, RT_MEMORY);
}

TEST(results_that_do_not_fit_into_memory_are_not_read)
{
    rt_results_put(&results, 1, RT_RESULT_LOSS);
    expect_ok(rt_results_write(&results, scratch));
    rt_results_free(&results);
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 4)
    {
        const bool whole = rt_results_read(&results, scratch);
        code = whole ? RT_OK : RT_MEMORY;
        ck_assert_int_eq(results.count, whole);
    }
}
