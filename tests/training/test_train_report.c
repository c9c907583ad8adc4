/* report.html of runs and sweeps. */

#include "train_program.h"

#define WITHOUT_REPORT "ROTOR_NO_REPORT=1 $TRAIN "

static bool has_gnuplot(void)
{
    return system("command -v gnuplot >/dev/null") == 0;
}

/* Every element that is opened is closed, and nothing comes from elsewhere. */
static void expect_whole_page(const char *page)
{
    static const char *const elements[] = {"html", "head",    "body", "figure", "table",
                                           "div",  "details", "pre",  "svg"};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        char opening[16], with_attributes[16], closing[16];
        snprintf(opening, sizeof opening, "<%s>", elements[i]);
        snprintf(with_attributes, sizeof with_attributes, "<%s ", elements[i]);
        snprintf(closing, sizeof closing, "</%s>", elements[i]);
        ck_assert_msg(count_of(page, opening) + count_of(page, with_attributes) ==
                          count_of(page, closing),
                      "<%s> is not closed as often as opened", elements[i]);
    }
    expect_no_text(page, "<script");
    expect_no_text(page, "src=\"http");
    expect_no_text(page, "href=\"http");
}

START_TEST(a_run_ends_with_a_page_of_its_own)
{
    if (!has_gnuplot())
        return;
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    expect_text(page, "largest relative drift ");
    ck_assert_int_eq(count_of(page, "<svg"), 8);
    ck_assert_int_eq(count_of(page, "<figcaption>"), 8);
    rt_free(page);
    expect_exit(w, 0, "cd runs/tiny/figures && rm loss.svg && gnuplot loss.gp && test -s loss.svg");
}
END_TEST

START_TEST(figures_that_do_not_apply_are_left_out)
{
    if (!has_gnuplot())
        return;
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet theta.learn=no model.attention=linear_elu");
    char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    ck_assert_int_eq(count_of(page, "<svg"), 4);
    expect_no_text(page, "relative drift");
    rt_free(page);
}
END_TEST

START_TEST(names_cannot_break_the_page)
{
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet train.steps=2 optimizer.schedule_steps=0 "
                          "'run.name=<b>&\"x'");
    char *page = read_file("runs/<b>&\"x/report.html");
    expect_whole_page(page);
    expect_no_text(page, "<b>");
    expect_text(page, "<h1>&lt;b&gt;&amp;&quot;x</h1>");
    rt_free(page);
}
END_TEST

START_TEST(without_gnuplot_the_run_succeeds_and_says_what_is_missing)
{
    expect_exit(w, 0,
                "mkdir -p empty; PATH=$PWD/empty $TRAIN "
                "tiny.ini --quiet");
    expect_text(w->err, "gnuplot is missing");
    expect_text(w->err, "train --report runs/tiny tries again");
    char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    ck_assert_int_eq(count_of(page, "<svg"), 0);
    rt_free(page);
    if (!has_gnuplot())
        return;
    expect_exit(w, 0, "$TRAIN --report runs/tiny");
    ck_assert_str_eq(w->out, "report: runs/tiny/report.html\n");
    page = read_file("runs/tiny/report.html");
    ck_assert_int_eq(count_of(page, "<svg"), 8);
    rt_free(page);
}
END_TEST

START_TEST(a_page_that_cannot_be_written_is_a_warning)
{
    expect_exit(w, 0, WITHOUT_REPORT "tiny.ini --quiet train.steps=20 && mkdir runs/tiny/report.html");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet --resume");
    expect_text(w->err, "report.html: Is a directory");
    expect_text(w->out, "\nrun: runs/tiny\n");
}
END_TEST

START_TEST(a_report_of_no_run_is_refused)
{
    expect_exit(w, 2, "$TRAIN --report nowhere");
    expect_text(w->err, "nowhere is not the folder of a run");
    expect_exit(w, 2, "$TRAIN --report runs tiny.ini");
    expect_text(w->err, "--report takes a run's folder and no configuration");
}
END_TEST

START_TEST(a_sweep_has_a_page_with_links_to_its_runs)
{
    if (!has_gnuplot())
        return;
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet theta.learn=no sweep.position.kind=rope,none "
                          "sweep.run.seed=1,2");
    char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    ck_assert_int_eq(count_of(page, "<svg"), 2);
    expect_text(page, "<a href=\"kind=none_seed=2/report.html\">");
    expect_text(page, "<tr><td>none</td><td>2</td>");
    rt_free(page);
    expect_exit(w, 0, "test -s runs/tiny/kind=none_seed=2/report.html");
    expect_exit(w, 0,
                "rm runs/tiny/report.html && $TRAIN --report runs/tiny/ && "
                "test -s runs/tiny/report.html");
}
END_TEST

START_TEST(overwriting_removes_the_report)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    expect_exit(w, 0, WITHOUT_REPORT "tiny.ini --quiet --overwrite");
    expect_exit(w, 1, "test -e runs/tiny/report.html -o -e runs/tiny/figures");
}
END_TEST

int main(void)
{
    with_reports = true;
    Suite *suite = suite_create("train report");
    TCase *tests = program_case(suite);
    tcase_add_test(tests, a_run_ends_with_a_page_of_its_own);
    tcase_add_test(tests, figures_that_do_not_apply_are_left_out);
    tcase_add_test(tests, names_cannot_break_the_page);
    tcase_add_test(tests, without_gnuplot_the_run_succeeds_and_says_what_is_missing);
    tcase_add_test(tests, a_page_that_cannot_be_written_is_a_warning);
    tcase_add_test(tests, a_report_of_no_run_is_refused);
    tcase_add_test(tests, a_sweep_has_a_page_with_links_to_its_runs);
    tcase_add_test(tests, overwriting_removes_the_report);
    return run_suite(suite);
}
