/* `train --report RUN RUN ...`: a page that compares runs. */

#include "train_program.h"

#define SHORT "$TRAIN tiny.ini --quiet train.steps=20 "

static void make_runs(void)
{
    expect_exit(w, 0,
                "export ROTOR_NO_REPORT=1; " SHORT "run.name=a1 && " SHORT
                "run.name=a2 run.seed=2 && " SHORT
                "run.name=b run.dir=elsewhere model.dim=24 theta.learn=no");
}

static char *read_page(const char *path)
{
    char *page = read_file(path);
    ck_assert_msg(strstr(page, "</html>") != NULL, "%s is not whole", path);
    return page;
}

START_TEST(what_sets_runs_apart_is_told_with_their_results)
{
    make_runs();
    expect_exit(w, 0, "mkdir tmp && TMPDIR=$PWD/tmp $TRAIN --report runs/a1 runs/a2 elsewhere/b");
    ck_assert_str_eq(w->out, "report: report.html\n");
    expect_exit(w, 0, "rmdir tmp"); /* nothing stays behind */
    char *page = read_page("report.html");
    expect_text(page, "<h1>3 runs compared</h1>");
    expect_text(page, "<p>3 of 3 runs finished</p>");
    expect_text(page, "<tr><th>dim</th><th>learn</th><th>runs</th><th>loss</th>");
    expect_text(page, "<td>16</td><td>yes</td><td>2</td><td>");
    expect_text(page, "<td>24</td><td>no</td><td>1</td><td>");
    expect_text(page, "dim=24, learn=no");
    ck_assert_int_eq(count_of(page, "</svg>"), 3); /* loss, accuracy, theta */
    expect_no_text(page, "href=\"a1");
    rt_free(page);
}
END_TEST

START_TEST(a_sweep_stands_for_its_runs)
{
    make_runs();
    expect_exit(w, 0, SHORT "run.name=s sweep.run.seed=1,2 theta.learn=no");
    expect_exit(w, 0, "$TRAIN --report runs/s runs/a1 --output all.html");
    ck_assert_str_eq(w->out, "report: all.html\n");
    char *page = read_page("all.html");
    expect_text(page, "<h1>3 runs compared</h1>");
    expect_text(page, "<td>no</td><td>2</td>");
    rt_free(page);
}
END_TEST

/* Of one name in two folders, and one that has not ended. */
START_TEST(runs_of_one_name_and_without_results_are_compared)
{
    make_runs();
    expect_exit(w, 0, SHORT "run.name=b run.dir=third && rm third/b/result.csv");
    expect_exit(w, 0, "$TRAIN --report elsewhere/b third/b");
    char *page = read_page("report.html");
    expect_text(page, "<p>1 of 2 runs finished</p>");
    rt_free(page);
}
END_TEST

START_TEST(a_report_is_replaced_and_nothing_else)
{
    make_runs();
    expect_exit(w, 0, "$TRAIN --report runs/a1 elsewhere/b");
    expect_exit(w, 0, "$TRAIN --report runs/a1 runs/a2 elsewhere/b");
    write_file("mine.html", "<html><head><title>mine</title>\n");
    expect_exit(w, 2, "$TRAIN --report runs/a1 elsewhere/b --output mine.html");
    expect_text(w->err, "mine.html is no report of rotor: it is not replaced");
    char *page = read_file("mine.html");
    ck_assert_str_eq(page, "<html><head><title>mine</title>\n");
    rt_free(page);
}
END_TEST

/* Names that the folder of the comparison has a use of its own for. */
START_TEST(a_run_may_have_any_name)
{
    make_runs();
    expect_exit(w, 0, "mv runs/a1 runs/figures && mv runs/a2 runs/runs.csv");
    expect_exit(w, 0, "$TRAIN --report runs/figures elsewhere/b");
    expect_exit(w, 0,
                "mkdir more && mv runs/runs.csv more && $TRAIN --report more/runs.csv "
                "elsewhere/b");
    char *page = read_page("report.html");
    ck_assert_int_eq(count_of(page, "</svg>"), 3);
    rt_free(page);
}
END_TEST

START_TEST(a_pipe_is_no_place_for_a_report)
{
    make_runs();
    expect_exit(w, 2, "mkfifo pipe; $TRAIN --report runs/a1 elsewhere/b --output pipe");
    expect_exit(w, 0, "test -p pipe");
}
END_TEST

START_TEST(what_cannot_be_compared_is_refused)
{
    static const struct {
        int code;
        const char *arguments, *message;
    } rows[] = {
        {2, "--report runs/a1 runs/none", "runs/none is not the folder of a run: "},
        {2, "--report runs/a1 tiny.ini", "tiny.ini is not the folder of a run: "},
        {2, "--report runs/a1 --output x.html", "--output goes with --report and several runs"},
        {2, "tiny.ini --output x.html", "--output goes with --report and several runs"},
        {1, "--report runs/a1 elsewhere/b --output none/x.html", "none"},
    };
    make_runs();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_exit(w, rows[i].code, "$TRAIN %s", rows[i].arguments);
        expect_text(w->err, rows[i].message);
    }
    ck_assert(!exists("report.html") && !exists("x.html"));
}
END_TEST

START_TEST(a_run_is_watched_until_it_ends)
{
    make_runs();
    expect_exit(
        w, 0,
        "$TRAIN tiny.ini --quiet train.steps=1000000 run.name=long & trainer=$!; " WAIT_FOR_ROW(
            "20", "runs/long/metrics.csv") "$TRAIN --watch runs/long >watched & watcher=$!; "
                                           "until grep -q 'http-equiv=.refresh' "
                                           "runs/long/report.html 2>.grep; do "
                                           "kill -0 $watcher || exit 99; sleep 0.01; done; kill -0 "
                                           "$watcher || exit 98; "
                                           "kill -INT $trainer || exit 97; wait $watcher");
    expect_exit(w, 0, "grep -c report: watched");
    ck_assert_int_ge(atoi(w->out), 2);
    expect_exit(w, 0, "$TRAIN --watch runs/a1");
    char *page = read_page("runs/a1/report.html");
    expect_no_text(page, "http-equiv");
    rt_free(page);
    expect_exit(w, 2, "$TRAIN --watch runs/none");
    expect_exit(w, 0, SHORT "run.name=s sweep.run.seed=1,2");
    expect_exit(w, 2, "$TRAIN --watch runs/s");
    expect_text(w->err, "--watch takes the folder of a run, not of a sweep");
    expect_exit(w, 2, "$TRAIN --watch runs/a1 runs/a2");
    expect_text(w->err, "--watch takes one run");
    expect_exit(w, 2, "$TRAIN --watch runs/a1 --report runs/a2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train: compare");
    TCase *tests = program_case(suite);
    tcase_add_test(tests, what_sets_runs_apart_is_told_with_their_results);
    tcase_add_test(tests, a_sweep_stands_for_its_runs);
    tcase_add_test(tests, runs_of_one_name_and_without_results_are_compared);
    tcase_add_test(tests, a_report_is_replaced_and_nothing_else);
    tcase_add_test(tests, a_run_may_have_any_name);
    tcase_add_test(tests, a_pipe_is_no_place_for_a_report);
    tcase_add_test(tests, what_cannot_be_compared_is_refused);
    tcase_add_test(tests, a_run_is_watched_until_it_ends);
    return run_suite(suite);
}
