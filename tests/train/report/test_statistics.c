/* Summaries, Student's t and paired differences, beside values of other programs. */

#include "suite.h"

#include "train/report/statistics.h"

SUITE()

/* 2, 4, 4, 4, 5, 5, 7, 9: the mean is 40 / 8 = 5, the squares sum up to 32, of a sample 32 / 7. One
 * value has no deviation, and none has no mean. */
TEST(the_deviation_is_that_of_a_sample)
{
    static const double values[] = {2, 4, NAN, 4, 4, 5, 5, NAN, 7, 9}, few[] = {NAN, 3.5, NAN};
    rt_summary s = rt_summarise(values, 10);
    ck_assert_int_eq(s.count, 8);
    ck_assert_double_eq(s.mean, 5);
    ck_assert_double_eq_tol(s.deviation, 2.13808993529939, 1e-13);
    s = rt_summarise(few, 3);
    ck_assert_int_eq(s.count, 1);
    ck_assert_double_eq(s.mean, 3.5);
    ck_assert(isnan(s.deviation));
    s = rt_summarise(few, 1);
    ck_assert_int_eq(s.count, 0);
    ck_assert(isnan(s.mean) && isnan(s.deviation));
}

static const struct {
    rt_summary summary;
    int decimals, runs;
    const char *text;
} texts[] = {
    {{3, 0.125, 0.0625}, 4, 3, "0.1250 ± 0.0625"},
    {{2, 0.125, 0.0625}, 4, 3, "0.1250 ± 0.0625 (2 of 3)"},
    {{1, 0.125, NAN}, 4, 1, "0.1250"},
    {{1, 0.125, NAN}, 4, 2, "0.1250 (1 of 2)"},
    {{0, NAN, NAN}, 4, 2, "-"},
    {{2, 1234.4, 10.6}, 0, 2, "1234 ± 11"},
    {{2, 1e299, 1e10}, 3, 2, "1e+299 ± 1e+10"},
    {{2, -1.23456e299, INFINITY}, 3, 2, "-1.235e+299 ± inf"},
    {{2, 9999999, 10000000}, 0, 2, "9999999 ± 1e+07"},
    {{2, -(double)NAN, NAN}, 3, 2, "nan ± nan"},
};

TEST_ROWS(a_summary_has_a_bounded_length, 0, ROWS(texts))
{
    rt_writer w = {0};
    rt_summary_report(&w, &texts[_i].summary, texts[_i].decimals, texts[_i].runs);
    ck_assert_str_eq(w.bytes, texts[_i].text);
    rt_writer_free(&w);
}

/* Quantiles of t and of the noncentral t over sqrt(count): of 3, 8, 30 and 100 numbers by SciPy
 * (stats.t, and an integral over stats.chi2), the others by mpmath. Tables have t(0.975, 1)
 * = 12.706 and t(0.975, 9) = 2.262. */
static const rt_student students[] = {{2, 8.984643532093761, 14.82412131935772},
                                      {3, 2.4841377117503303, 3.9234485080857855},
                                      {5, 1.241663998203765, 1.965888823606011},
                                      {8, 0.8360209216297112, 1.3418023751992108},
                                      {10, 0.7153569059706649, 1.1545649888853},
                                      {30, 0.3734061367580999, 0.6124454953270811},
                                      {100, 0.19842169515864175, 0.32734314038322987}};

TEST_ROWS(intervals_are_those_of_students_t, 0, ROWS(students))
{
    const rt_student s = rt_student_of(students[_i].count);
    ck_assert_double_eq_tol(s.interval, students[_i].interval, 1e-8 * students[_i].interval);
    ck_assert_double_eq_tol(s.detectable, students[_i].detectable, 1e-8 * students[_i].detectable);
    ck_assert(isnan(rt_student_of(1).interval) && isnan(rt_student_of(0).detectable));
}

/* Differences 1, 2, 3 have the deviation 1. The factors are those of the number of pairs, also
 * after a call with another number. */
TEST(a_difference_has_the_interval_of_its_pairs)
{
    static const double values[] = {1, 2, 3};
    rt_student t = {.count = 0};
    rt_difference d = rt_difference_of(values, 0, 0, &t);
    ck_assert(d.count == 0 && isnan(d.mean) && isnan(d.low) && !rt_difference_is_apart(&d));
    d = rt_difference_of(values, 1, 1, &t);
    ck_assert(d.mean == 1 && isnan(d.high) && isnan(d.detectable) && !rt_difference_is_apart(&d));
    d = rt_difference_of(values, 3, 1, &t);
    ck_assert(d.mean == 2 && isnan(d.low) && isnan(d.high) && isnan(d.detectable));
    d = rt_difference_of(values, 3, 3, &t);
    ck_assert_double_eq(d.mean, 2);
    ck_assert_double_eq_tol(d.low, 2 - 2.4841377117503303, 1e-9);
    ck_assert_double_eq_tol(d.high, 2 + 2.4841377117503303, 1e-9);
    ck_assert_double_eq_tol(d.detectable, 3.9234485080857855, 1e-9);
    ck_assert(!rt_difference_is_apart(&d));
    ck_assert(rt_difference_is_apart(&(rt_difference){.low = 0.1, .high = 1}));
    ck_assert(rt_difference_is_apart(&(rt_difference){.low = -1, .high = -0.1}));
}
