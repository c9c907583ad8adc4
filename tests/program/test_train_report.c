/* report.html of runs and sweeps. */

#include "train_program.h"

#include "text/csv.h"
#include "train/folder/results.h"

#include <math.h>

#define WITHOUT_REPORT "ROTOR_NO_REPORT=1 $TRAIN "

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

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS)

TEST(a_run_ends_with_a_page_of_its_own)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    const char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    expect_text(page, "Relative drift of θ during training: ");
    expect_text(page, "<g><title>evaluation, step ");
    ck_assert_int_eq(count_of(page, "<input type=\"radio\""), 3);
    expect_text(page, "<label for=\"by-tokens\">tokens</label>");
    expect_text(page, "<label for=\"by-seconds\">seconds</label>");
    expect_no_text(page, "onmousemove");
    ck_assert_int_eq(count_of(page, "<svg"), 12);
    ck_assert_int_eq(count_of(page, "<figcaption>"), 10); /* three figures of the loss are one */
    expect_exit(w, 0, "cd runs/tiny/figures && rm loss.svg && gnuplot loss.gp && test -s loss.svg");
}

/* The labels of the evaluation contradict those of the training. */
TEST(the_surest_mistakes_have_their_texts)
{
    expect_exit(w, 0,
                "awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 200; i++) print "
                "substr(\"abcdabcdabcd\", 1 + i %% 4, 1 + i %% 7) (i %% 2 ? \"x\" : \"\") "
                "\"\\t\" (i %% 2 ? \"with\" : \"none\") }' >m.tsv; "
                "printf 'text\\tlabel\\nabx <b>\\tnone\\ncdab\\tnone\\n' >e.tsv");
    expect_exit(
        w, 0,
        "printf '[data]\\ntask = classify\\nlevel = char\\nlength = 16\\nfile = m.tsv\\n"
        "eval_file = e.tsv\\n[model]\\nlayers = 1\\ndim = 16\\nheads = 2\\n[optimizer]\\n"
        "lr = 0.01\\n[train]\\nsteps = 200\\nbatch_size = 16\\n' >m.ini; $TRAIN m.ini --quiet");
    const char *page = read_file("runs/m/report.html");
    expect_whole_page(page);
    expect_text(page, "<h2>Mistakes</h2>");
    expect_text(page, "<td>2</td><td class=\"text\">abx &lt;b&gt;</td><td>none</td><td>with</td>");
    expect_text(page, "<p>The 1 wrong predictions");
}

TEST(figures_that_do_not_apply_are_left_out)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet theta.learn=no model.attention=linear_elu");
    const char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    ck_assert_int_eq(count_of(page, "<svg"), 6);
    expect_no_text(page, "relative drift");
}

TEST(names_cannot_break_the_page)
{
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet train.steps=2 optimizer.schedule_steps=0 "
                "'run.name=<b>&\"x'");
    const char *page = read_file("runs/<b>&\"x/report.html");
    expect_whole_page(page);
    expect_no_text(page, "<b>");
    expect_text(page, "<h1>&lt;b&gt;&amp;&quot;x</h1>");
}

TEST(without_gnuplot_the_run_succeeds_and_says_what_is_missing)
{
    expect_told(0, "gnuplot is missing",
                "mkdir -p empty; PATH=$PWD/empty $TRAIN "
                "tiny.ini --quiet");
    expect_text(w->err, "train --report runs/tiny tries again");
    const char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    ck_assert_int_eq(count_of(page, "<svg"), 0);
    NEEDS_PROGRAM("gnuplot");
    expect_output("report: runs/tiny/report.html\n", "$TRAIN --report runs/tiny");
    page = read_file("runs/tiny/report.html");
    ck_assert_int_eq(count_of(page, "<svg"), 12);
}

TEST(a_page_that_cannot_be_written_is_a_warning)
{
    expect_exit(w, 0,
                WITHOUT_REPORT "tiny.ini --quiet train.steps=20 && mkdir runs/tiny/report.html");
    expect_told(0, "report.html: Is a directory", "$TRAIN tiny.ini --quiet --resume");
    expect_text(w->out, "\nrun: runs/tiny\n");
}

TEST(a_report_of_no_run_is_refused)
{
    expect_told(2, "nowhere is not the folder of a run", "$TRAIN --report nowhere");
    expect_told(2, "--report takes folders of runs, and no configuration",
                "$TRAIN tiny.ini --report runs");
}

/* A run that was stopped before it had a row to write. */
TEST(a_run_without_rows_has_a_page_without_their_figures)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet train.steps=20");
    expect_exit(w, 0, "cd runs/tiny && head -n 1 metrics.csv >first && mv first metrics.csv");
    expect_exit(w, 0, "$TRAIN --report runs/tiny");
    const char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    expect_no_text(page, "Learning rate");
    expect_text(page, "Relative drift of θ during training: ");
}

TEST(a_sweep_has_a_page_with_links_to_its_runs)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet theta.learn=no sweep.position.kind=rope,none "
                "sweep.run.seed=1,2");
    const char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    ck_assert_int_eq(count_of(page, "<svg"), 5);
    expect_text(page, "<figcaption>Evaluation loss by position.kind: the mean over the seeds");
    expect_text(page, "(runs: 2)</title>");
    expect_no_text(page, "onmousemove");
    expect_no_text(page, "_plot_1</title>");
    expect_text(page, "<a href=\"kind=none_seed=2/report.html\">");
    expect_text(page, "<td class=\"setting\">none</td><td>2</td>");
    expect_exit(w, 0, "test -s runs/tiny/kind=none_seed=2/report.html");
    expect_exit(w, 0,
                "rm runs/tiny/report.html && $TRAIN --report runs/tiny/ && "
                "test -s runs/tiny/report.html");
}

/* ---- numbers, computed once more from the files below them ---- */

/* The results on theta in result.csv follow from the final values in theta_final.csv. */
TEST(results_on_theta_are_those_of_its_values)
{
    rt_csv csv;
    rt_results results;
    double drift = 0, phase = 0, from_start = 0, sum = 0;
    double product = 0, squares = 0, geometric_squares = 0;
    int count = 0;
    expect_exit(
        w, 0,
        "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet theta.scope=head position.scaling=linear "
        "position.scale=2");
    ck_assert(rt_csv_open(&csv, "runs/tiny", "theta_final.csv"));
    for (; rt_csv_row(&csv); count++) {
        const double theta = rt_csv_number(&csv, "theta");
        const double geometric = pow(10000, -count % 4 / 4.0);
        const double start = geometric / 2;
        ck_assert_double_eq_tol(rt_csv_number(&csv, "geometric"), geometric, 1e-8 * geometric);
        ck_assert_double_eq_tol(rt_csv_number(&csv, "theta_initial"), start, 1e-6 * start);
        drift = fmax(drift, fabs(theta - geometric) / geometric);
        from_start = fmax(from_start, fabs(theta - start) / start);
        phase = fmax(phase, fabs(theta - geometric) * 11);
        sum += fabs(theta - geometric) / geometric;
        product += log(theta) * log(geometric);
        squares += log(theta) * log(theta);
        geometric_squares += log(geometric) * log(geometric);
    }
    rt_csv_close(&csv);
    ck_assert_int_eq(count, 2 * 2 * 4);
    ck_assert(rt_results_read(&results, "runs/tiny"));
    const struct {
        const char *name;
        double expected;
    } rows[] = {{"theta_max_drift", drift},
                {"theta_max_phase", phase},
                {"theta_max_drift_from_start", from_start},
                {"theta_mean_drift", sum / count},
                {"theta_cosine", product / sqrt(squares * geometric_squares)}};
    for (int i = 0; i < 5; i++) {
        const double got = rt_results_get(&results, "%s", rows[i].name);
        ck_assert_msg(fabs(got - rows[i].expected) < 1e-6 * rows[i].expected, "%s: %g, not %g",
                      rows[i].name, got, rows[i].expected);
    }
    ck_assert(fabs(drift - phase) > 0.01 && fabs(drift - from_start) > 0.01);
    rt_results_free(&results);
}

/* Column `column` of row `row` of a table without names. */
static double number_in(const char *path, int row, int column)
{
    double number = NAN;
    const char *text = read_file(path), *at = text;
    for (; row > 0 && at; row--)
        at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    for (; column > 0 && at; column--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    if (at)
        sscanf(at, "%lf", &number);
    return number;
}

/* Rows for the steps 0, 20, 40, 60; a column for each of the two layers. */
TEST(the_figure_of_the_drift_shows_the_largest_relative_one)
{
    double drift[4][2] = {{0}};
    rt_csv csv;
    expect_exit(w, 0, "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet theta.lr_scale=3");
    ck_assert(rt_csv_open(&csv, "runs/tiny", "theta.csv"));
    while (rt_csv_row(&csv)) {
        const double theta = rt_csv_number(&csv, "theta");
        const double start = rt_csv_number(&csv, "theta_initial");
        double *largest =
            &drift[atoi(rt_csv_cell(&csv, "step")) / 20][atoi(rt_csv_cell(&csv, "layer"))];
        *largest = fmax(*largest, fabs(theta - start) / start);
    }
    rt_csv_close(&csv);
    shell(w, "$TRAIN --report runs/tiny");
    for (int row = 0; row < 4; row++) {
        ck_assert_double_eq(number_in("runs/tiny/figures/drift.csv", row, 0), 20 * row);
        for (int layer = 0; layer < 2; layer++)
            ck_assert_double_eq_tol(number_in("runs/tiny/figures/drift.csv", row, 1 + layer),
                                    drift[row][layer], 1e-5);
    }
    ck_assert_double_gt(drift[3][0], 0.01);
}

/* The last number of a column of timing.csv. */
static double last_of(const char *folder, const char *column)
{
    double number = 0;
    rt_csv csv;
    ck_assert(rt_csv_open(&csv, folder, "timing.csv"));
    while (rt_csv_row(&csv))
        number = rt_csv_number(&csv, column);
    rt_csv_close(&csv);
    return number;
}

/* The clock of timing.csv starts again at --resume. */
TEST(the_time_of_a_resumed_run_goes_on)
{
    enum { ROWS_OF_TIMING = 6, SECONDS = 9 };
    double seconds[ROWS_OF_TIMING];
    expect_exit(w, 0,
                "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet train.steps=40 "
                "optimizer.schedule_steps=60 train.eval_batches=200");
    const double first = last_of("runs/tiny", "seconds");
    expect_exit(w, 0,
                "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet --resume train.steps=60 "
                "optimizer.schedule_steps=60 train.eval_batches=200");
    const double second = last_of("runs/tiny", "seconds");
    shell(w, "$TRAIN --report runs/tiny");
    for (int row = 0; row < ROWS_OF_TIMING; row++)
        seconds[row] = number_in("runs/tiny/figures/timing.csv", row, SECONDS);
    for (int row = 1; row < ROWS_OF_TIMING; row++)
        ck_assert_double_ge(seconds[row], seconds[row - 1]);
    ck_assert_double_eq_tol(seconds[ROWS_OF_TIMING - 1], first + second, 1e-6);
}

/* Most of a sequence is padding: the rate is that of timing.csv, which counts tokens. */
TEST(the_rate_of_a_page_counts_no_padding)
{
    expect_exit(
        w, 0,
        "awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 40; i++) print \"ab\\t\" i %% 2 "
        "}' >rows.tsv");
    expect_exit(w, 0,
                "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet theta.learn=no data.task=classify "
                "data.vocab=32 data.file=rows.tsv data.length=60 data.level=byte");
    shell(w, "$TRAIN --report runs/tiny");
    const char *page = read_file("runs/tiny/report.html"), *end = strstr(page, " tokens a second");
    ck_assert_ptr_nonnull(end);
    while (end[-1] != ' ')
        end--;
    ck_assert_double_eq_tol(atof(end) / last_of("runs/tiny", "tokens_per_s"), 1, 0.01);
}

/* Rows of two layers with four pairs each in sequences of twelve tokens. */
TEST(the_figure_of_wavelengths_shows_the_initial_and_the_learned_ones)
{
    const double reach = 11, turn = 2 * acos(-1), pairs = 4;
    rt_csv csv;
    expect_exit(w, 0, "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet theta.lr_scale=3");
    shell(w, "$TRAIN --report runs/tiny");
    ck_assert(rt_csv_open(&csv, "runs/tiny", "theta_final.csv"));
    for (int row = 0; row < 2 * pairs; row++) {
        const int line = row + (row >= pairs ? 2 : 0); /* empty lines separate layers */
        ck_assert(rt_csv_row(&csv));
        ck_assert_double_eq_tol(number_in("runs/tiny/figures/wavelengths.csv", line, 0) *
                                    rt_csv_number(&csv, "theta_initial") * reach / turn,
                                1, 1e-5);
        ck_assert_double_eq_tol(number_in("runs/tiny/figures/wavelengths.csv", line, 1) *
                                    rt_csv_number(&csv, "theta") * reach / turn,
                                1, 1e-5);
        ck_assert_double_eq_tol(number_in("runs/tiny/figures/wavelengths.csv", line, 2),
                                rt_csv_number(&csv, "use") * pairs, 1e-5);
    }
    rt_csv_close(&csv);
}

/* Columns: step, mean and deviation of the loss, and of the accuracy, over three seeds. */
TEST(the_curves_of_a_sweep_are_means_and_deviations_of_its_runs)
{
    double loss[3], accuracy[3];
    rt_csv csv;
    expect_exit(w, 0,
                "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet train.steps=40 theta.learn=no "
                "sweep.run.seed=1,2,3");
    shell(w, "$TRAIN --report runs/tiny");
    for (int i = 0; i < 3; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "runs/tiny/seed=%d", i + 1);
        ck_assert(rt_csv_open(&csv, folder, "metrics.csv"));
        while (rt_csv_row(&csv))
            if (!strcmp(rt_csv_cell(&csv, "step"), "40")) {
                loss[i] = rt_csv_number(&csv, "eval_loss");
                accuracy[i] = rt_csv_number(&csv, "eval_accuracy");
            }
        rt_csv_close(&csv);
    }
    for (int i = 0; i < 2; i++) {
        const double *x = i ? accuracy : loss, mean = (x[0] + x[1] + x[2]) / 3;
        /* of three: sum of the squared differences of all pairs, over 3 * 2 */
        const double variance =
            (pow(x[0] - x[1], 2) + pow(x[1] - x[2], 2) + pow(x[2] - x[0], 2)) / 6;
        ck_assert_double_eq(number_in("runs/tiny/figures/curves.csv", 1, 0), 40);
        ck_assert_double_eq_tol(number_in("runs/tiny/figures/curves.csv", 1, 1 + 2 * i), mean,
                                1e-5);
        ck_assert_double_eq_tol(number_in("runs/tiny/figures/curves.csv", 1, 2 + 2 * i),
                                sqrt(variance), 1e-5);
        ck_assert_double_gt(variance, 0);
    }
}

TEST(overwriting_removes_the_report)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    expect_exit(w, 0, WITHOUT_REPORT "tiny.ini --quiet --overwrite");
    expect_exit(w, 1, "test -e runs/tiny/report.html -o -e runs/tiny/figures");
}
