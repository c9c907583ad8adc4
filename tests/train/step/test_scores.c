/* Scores of classes, against numbers computed by hand and by scikit-learn's definitions. */

#include "suite.h"

#include "train/step/measurements.h"

enum { CLASSES = 5 };

/* Rows are true classes. Class 3 occurs and is never predicted, class 4 does neither. */
static const int64_t confusion[CLASSES * CLASSES] = {
    6, 1, 1, 0, 0, /* 8 */
    2, 3, 0, 0, 0, /* 5 */
    0, 0, 5, 0, 0, /* 5 */
    1, 0, 1, 0, 0, /* 2 */
    0, 0, 0, 0, 0,
};

TEST(the_scores_of_a_class_follow_from_its_row_and_column)
{
    rt_class_score s[CLASSES];
    rt_scores_find(s, confusion, CLASSES);
    const double expected[CLASSES][3] = {
        {6 / 9.0, 6 / 8.0, 12 / 17.0},
        {3 / 4.0, 3 / 5.0, 6 / 9.0},
        {5 / 7.0, 1, 10 / 12.0},
        {0, 0, 0},
        {0, 0, 0},
    };
    static const int counts[CLASSES] = {8, 5, 5, 2, 0}, predicted[CLASSES] = {9, 4, 7, 0, 0};
    for (int c = 0; c < CLASSES; c++) {
        ck_assert_double_eq_tol(s[c].precision, expected[c][0], 1e-15);
        ck_assert_double_eq_tol(s[c].recall, expected[c][1], 1e-15);
        ck_assert_double_eq_tol(s[c].f1, expected[c][2], 1e-15);
        ck_assert_int_eq(s[c].count, counts[c]);
        ck_assert_int_eq(s[c].predicted, predicted[c]);
    }
}

/* e^1000 is no double, so the largest logit has to be found wherever it is. */
TEST_ROWS(the_loss_of_logits_that_are_far_apart_is_finite, 0, CLASSES)
{
    real logits[CLASSES] = {0};
    logits[_i] = 1000;
    for (int wanted = 0; wanted < CLASSES; wanted++)
        ck_assert_double_eq(rt_logits_loss(logits, CLASSES, wanted), wanted == _i ? 0 : 1000);
}

/* (0.7058823529 + 0.6666666667 + 0.8333333333 + 0) / 4 */
TEST(macro_f1_is_the_mean_over_classes_that_occur_or_are_predicted)
{
    rt_class_score s[CLASSES];
    rt_macro_score m = rt_scores_find(s, confusion, CLASSES);
    ck_assert_double_eq_tol(m.f1, 0.55147058823529, 1e-13);
    ck_assert_int_eq(m.classes, 4);
    /* the second class is predicted without occurring */
    const int64_t predicted[9] = {3, 1, 0, 0, 0, 0, 0, 0, 0};
    m = rt_scores_find(s, predicted, 3);
    ck_assert_double_eq_tol(m.f1, (6 / 7.0 + 0) / 2, 1e-15);
    ck_assert_int_eq(m.classes, 2);
    const int64_t nothing[4] = {0};
    m = rt_scores_find(s, nothing, 2);
    ck_assert_double_eq(m.f1, 0);
    ck_assert_int_eq(m.classes, 0);
}

TEST(the_classes_with_the_lowest_scores_are_chosen)
{
    rt_class_score s[CLASSES] = {{.f1 = 0.5, .count = 1},
                                 {.f1 = 0.2, .count = 1},
                                 {.f1 = 0.0},
                                 {.f1 = 0.5, .predicted = 1},
                                 {.f1 = 0.1, .count = 3}};
    static const int expected[CLASSES][CLASSES] = {
        {4}, {4, 1}, {4, 1, 0}, {0, 1, 3, 4}, {0, 1, 3, 4}};
    for (int most = 1; most <= CLASSES; most++) {
        int chosen[CLASSES] = {-1, -1, -1, -1, -1};
        const int count = rt_scores_lowest(chosen, s, CLASSES, most);
        ck_assert_int_eq(count, most < 4 ? most : 4);
        for (int i = 0; i < count; i++)
            ck_assert_int_eq(chosen[i], expected[most - 1][i]);
        for (int i = count; i < CLASSES; i++)
            ck_assert_int_eq(chosen[i], -1);
    }
}
