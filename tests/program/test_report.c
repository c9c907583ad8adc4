/* The pages of runs and sweeps, with well-behaved and misbehaving gnuplot. */

#include "train_program.h"

#include "text/csv.h"
#include "train/folder/results.h"
#include "train/report/private.h"

#include <math.h>

#define RUN            "$TRAIN tiny.ini --quiet "
#define WITHOUT_REPORT "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet "

static void expect_page(const char *path, const char *part)
{
    const char *page = read_file(path);
    expect_text(page, part);
}

static void expect_figures(const char *path, int count)
{
    const char *page = read_file(path);
    ck_assert_int_eq(count_of(page, "<svg"), count);
    ck_assert_int_eq(count_of(page, "</svg>"), count);
    const int choices = count_of(page, "<input type=\"radio\""); /* in one place */
    ck_assert_int_eq(count_of(page, "<figcaption>"), choices ? count - choices + 1 : count);
}

/* A program of that name that comes before the real one in $PATH=$PWD/bin:$PATH. */
static void pretend(const char *script)
{
    mkdir("bin", 0777);
    write_file("bin/gnuplot", script);
    ck_assert_int_eq(chmod("bin/gnuplot", 0755), 0);
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

/* ---- what it says ---- */

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS)

/* The page of a run: its number of figures, if any need gnuplot, what it says and what it does not
 * say. */
static const struct {
    int code;
    const char *command;
    int figures;
    const char *present[2], *absent;
} pages[] = {
    {0,
     RUN "theta.tolerance=0.35",
     0,
     {"theta.tolerance = 0.35, a convention: ", "gives two tokens 11 positions apart"},
     "the run has not ended"},
    {0, RUN "theta.learn=no", 0, {"<div class=\"verdict\">"}, "theta.tolerance = "},
    /* theta that has moved is no failure */
    {0, RUN "theta.tolerance=1e-9", 0, {"<div class=\"verdict moved\">"}, "verdict bad"},
    {0,
     RUN "optimizer.lr=10 optimizer.warmup_steps=60",
     0,
     {"<div class=\"verdict bad\">"},
     "verdict moved"},
    {7,
     RUN "train.target_accuracy=1 train.steps=3 theta.learn=no",
     0,
     {"is below train.target_accuracy = 1<", "<div class=\"verdict bad\">"},
     "the loss is not finite"},
    /* a run that reached its target can have a best evaluation below it */
    {0,
     RUN "train.target_accuracy=1 train.steps=3 theta.learn=no; test $? = 7 && "
         "sed -i 's/^exit_code,7/exit_code,0/' runs/tiny/result.csv && "
         "{ $TRAIN --report runs/tiny || test $? = 1; }",
     0,
     {"eval: loss "},
     "is below"},
    {0,
     RUN "train.steps=2 && rm runs/tiny/result.csv && "
         "{ $TRAIN --report runs/tiny || test $? = 1; }",
     0,
     {"the run has not ended", "<div class=\"verdict bad\">"},
     "eval: loss "},
    {5,
     WITHOUT_REPORT "optimizer.lr=1e30 optimizer.clip_norm=0; code=$?; $TRAIN --report runs/tiny; "
                    "exit $code",
     0,
     {"the loss is not finite"},
     "eval: loss "},
    {0,
     RUN "train.steps=2 model.layers=5 model.dim=18 model.heads=9 data.length=70 theta.scope=head",
     12,
     {"layers 0 to 3 of 5; heads 0 to 7 of 9; tokens 0 to 63 of 70<"},
     "<script"},
    {0,
     RUN "train.steps=1 model.layers=1 model.heads=1 theta.scope=model",
     12,
     {"<h1>tiny</h1>"},
     "<script"},
    {0, RUN "theta.learn=no model.attention=linear_elu", 6, {"<h1>tiny</h1>"}, "relative drift"},
    /* stopped before it had a row to write */
    {0,
     RUN "train.steps=20 && cd runs/tiny && head -n 1 metrics.csv >first && "
         "mv first metrics.csv && $TRAIN --report .",
     6,
     {"Relative drift of θ during training: "},
     "Learning rate"},
};

TEST_ROWS(a_page_says_what_has_happened, 0, ROWS(pages))
{
    if (pages[_i].figures)
        NEEDS_PROGRAM("gnuplot");
    expect_exit(w, pages[_i].code, "%s", pages[_i].command);
    const char *page = read_file("runs/tiny/report.html");
    expect_whole_page(page);
    for (int i = 0; i < 2 && pages[_i].present[i]; i++)
        expect_text(page, pages[_i].present[i]);
    expect_no_text(page, pages[_i].absent);
    if (pages[_i].figures)
        expect_figures("runs/tiny/report.html", pages[_i].figures);
}

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
    ck_assert_int_eq(count_of(page, "<svg role=\"img\" aria-label=\""), 12);
    expect_no_text(page, "aria-label=\"Learning rate\" style="); /* it fits a telephone's screen */
    expect_text(page, " style=\"min-width:812px\"");             /* which six panels do not */
    expect_text(page, "@media (prefers-color-scheme: dark)");
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
    expect_exit(w, 0, WITHOUT_REPORT "train.steps=20 && mkdir runs/tiny/report.html");
    expect_told(0, "report.html: Is a directory", "$TRAIN tiny.ini --quiet --resume");
    expect_text(w->out, "\nrun: runs/tiny\n");
}

TEST(a_report_of_no_run_is_refused)
{
    expect_told(2, "nowhere is not the folder of a run", "$TRAIN --report nowhere");
    expect_told(2, "--report takes folders of runs, and no configuration",
                "$TRAIN tiny.ini --report runs");
}

TEST(the_page_repeats_the_verdicts_that_were_printed)
{
    expect_exit(w, 0, RUN);
    const char *page = read_file("runs/tiny/report.html");
    expect_text(page, line_of(w->out, "theta: "));
    const char *line = line_of(w->out, "eval: ");
    expect_text(page, lasting("%.*s", (int)(strstr(line, " (") - line), line));
    expect_text(page, "<div class=\"verdict\">");
}

/* Evaluations at 20, 40 and 60, of which the best is marked; a table that a run might have left. */
TEST(the_axis_of_the_loss_suits_what_is_drawn)
{
    NEEDS_PROGRAM("gnuplot");
    static const char *const table = "step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm\n"
                                     "10,1,3,,0,1,1\n20,1,2,2.5,0,1,1\n40,1,1.5,%s,0,1,1\n"
                                     "60,1,1.25,2,0,1,1\n";
    char text[256];
    expect_exit(w, 0, RUN);
    snprintf(text, sizeof text, table, "1.5");
    write_file("runs/tiny/metrics.csv", text);
    expect_exit(w, 0, "$TRAIN --report runs/tiny");
    expect_page("runs/tiny/report.html", "the lowest evaluation loss, 1.5, at step 40<");
    expect_page("runs/tiny/figures/loss.gp", "\nset arrow from 40, graph 0 to 40, graph 1 nohead ");
    expect_exit(w, 1, "grep -q 'logscale\\|yrange' runs/tiny/figures/loss.gp");
    snprintf(text, sizeof text, table, "0.09");
    write_file("runs/tiny/metrics.csv", text);
    expect_exit(w, 0, "$TRAIN --report runs/tiny");
    expect_page("runs/tiny/figures/loss.gp", "\nset logscale y\n");
    expect_page("runs/tiny/figures/loss.gp", "\nset ytics (0.1, 0.3, 1, 3)\n");
    expect_page("runs/tiny/figures/loss_by_tokens.gp", "\nset logscale y\n");
    expect_exit(w, 1, "grep -q logscale runs/tiny/figures/gradient.gp");
    snprintf(text, sizeof text, table, "0");
    write_file("runs/tiny/metrics.csv", text);
    expect_exit(w, 0, "$TRAIN --report runs/tiny");
    expect_exit(w, 1, "grep -q logscale runs/tiny/figures/loss.gp");
}

/* 2^(bits of a token) is e^(nats of a token). */
TEST_ROWS(a_language_model_has_a_perplexity, 0, 2)
{
    static const char *const keys[] = {"data.level=byte", "data.level=char"};
    static const char *const tokens[] = {"byte", "character"};
    double loss, perplexity, bits;
    char token[16];
    expect_exit(w, 0,
                "seq 500 >text.txt; " RUN
                "theta.learn=no data.task=text data.vocab=32 data.file=text.txt %s",
                keys[_i]);
    ck_assert_int_eq(sscanf(line_of(w->out, "eval: "), "eval: loss %lf", &loss), 1);
    const char *page = read_file("runs/tiny/report.html");
    const char *at = strstr(page, "<p>perplexity ");
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(sscanf(at, "<p>perplexity %lf, %lf bits per %15[a-z]", &perplexity, &bits,
                            token),
                     3);
    ck_assert_str_eq(token, tokens[_i]);
    ck_assert_double_eq_tol(log(perplexity), loss, 1e-3);
    ck_assert_double_eq_tol(bits * 0.6931471805599453, loss, 1e-3);
}

TEST(keys_that_were_set_stand_out_and_are_escaped)
{
    write_file("a<i>&.txt",
               "Sing, goddess, the anger of Peleus' son Achilleus and its devastation, "
               "which put pains thousandfold upon the Achaians. ");
    expect_exit(w, 0,
                "for i in 1 2 3 4; do cat a*.txt a*.txt a*.txt > b && mv b a*.txt; done; " RUN
                "train.steps=2 data.task=text data.vocab=32 'data.file=a<i>&.txt'");
    const char *page = read_file("runs/tiny/report.html");
    expect_text(page, "a&lt;i&gt;&amp;.txt");
    expect_no_text(page, "<i>");
    expect_text(page, "<tr class=\"set\"><th>steps</th><td><span>2</span>"
                      "<small>default 1000</small></td></tr>");
    expect_text(page, "<tr><th>beta1</th><td><span>0.9</span></td></tr>");
}

/* ---- figures ---- */

TEST(the_tolerances_and_the_usage_of_pairs_are_drawn_where_they_were_asked_for)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, RUN "train.steps=20 theta.tolerances=yes");
    expect_exit(w, 0, "test -s runs/tiny/figures/tolerances.svg -a -s runs/tiny/figures/usage.svg");
    expect_exit(w, 0, RUN "train.steps=20 theta.learn=no --overwrite");
    ck_assert(!exists("runs/tiny/figures/tolerances.svg"));
    ck_assert(!exists("runs/tiny/figures/usage.svg"));
    expect_exit(w, 0, RUN "train.steps=20 theta.learn=no theta.cutoffs=yes --overwrite");
    expect_exit(w, 0, "test -s runs/tiny/figures/usage.svg");
}

/* Two blocks of a series: the means of both values, and each of the four runs. */
TEST(a_figure_of_a_setting_has_a_circle_for_each_run)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, RUN "train.steps=20 sweep.optimizer.lr=1e-2,1e-5 sweep.run.seed=1,2");
    expect_output("2\n4\n", "awk -v RS='\n\n\n' '{ print NF }' runs/tiny/figures/key_1.csv");
    expect_output("4\n", "grep -c \"gpPt5' transform\" runs/tiny/figures/key_1.svg");
}

/* A plot of many has its title in the key. */
TEST(every_script_draws_its_figure_again)
{
    static const struct {
        const char *file, *part;
        int count;
    } drawn[] = {
        {"decay", "<title>initial</title>", 6},       {"decay", "<title>learned</title>", 6},
        {"theta", "<title>initial</title>", 1},       {"theta", "<title>layer 7</title>", 1},
        {"drift", "<title>tolerance</title>", 1},     {"drift", "<title>layer 7</title>", 1},
        {"wavelengths", "<title>layer 7</title>", 1}, {"usage", "<title>layer 7</title>", 1}};
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0,
                RUN "train.steps=40 model.layers=8 theta.scope=head theta.init=perturbed "
                    "theta.tolerance=9");
    expect_figures("runs/tiny/report.html", 12);
    expect_exit(w, 0,
                "cd runs/tiny/figures && rm *.svg && for i in *.gp; do "
                "gnuplot -d $i && test -s ${i%%.gp}.svg || exit 1; done");
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        char path[64];
        snprintf(path, sizeof path, "runs/tiny/figures/%s.svg", drawn[i].file);
        const char *svg = read_file(path);
        ck_assert_msg(count_of(svg, drawn[i].part) == drawn[i].count, "%s: %s", path,
                      drawn[i].part);
    }
    NEEDS_PROGRAM("xmllint");
    expect_exit(w, 0, "xmllint --noout runs/tiny/figures/*.svg");
}

TEST(a_gnuplot_that_is_killed_is_a_warning)
{
    pretend("#!/bin/sh\nkill -9 $$\n");
    expect_told(0, "figures are missing: gnuplot failed on loss.gp, loss_by_tokens.gp, ",
                "PATH=$PWD/bin:$PATH; " RUN);
    ck_assert_int_eq(count_of(w->err, "\n"), 1);
    expect_figures("runs/tiny/report.html", 0);
}

TEST(what_gnuplot_says_is_not_for_the_reader_of_a_training)
{
    pretend("#!/bin/sh\necho chatter; echo noise >&2; cat; exit 1\n");
    expect_exit(w, 0, "PATH=$PWD/bin:$PATH; echo input | " RUN);
    ck_assert_ptr_null(strstr(w->out, "chatter"));
    ck_assert_ptr_null(strstr(w->out, "input"));
    ck_assert_ptr_null(strstr(w->err, "noise"));
}

TEST(a_script_that_fails_costs_its_own_figure_alone)
{
    NEEDS_PROGRAM("gnuplot");
    pretend("#!/bin/sh\ncase \"$*\" in *drift*) printf '<svg half' >drift.svg; exit 1;; esac\n"
            "PATH=${PATH#*:}\nexec gnuplot \"$@\"\n");
    expect_told(0, "gnuplot failed on drift.gp in runs/tiny/figures", "PATH=$PWD/bin:$PATH; " RUN);
    expect_figures("runs/tiny/report.html", 11);
}

TEST(figures_of_an_earlier_report_are_not_shown_as_new)
{
    expect_exit(w, 0, RUN "train.steps=40");
    expect_page("runs/tiny/report.html", "after 40 steps");
    expect_told(0, "gnuplot is missing",
                "mkdir empty; PATH=$PWD/empty $TRAIN tiny.ini "
                "--quiet --resume train.steps=60");
    expect_page("runs/tiny/report.html", "after 60 steps");
    expect_figures("runs/tiny/report.html", 0);
}

TEST(overwriting_removes_the_report)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    expect_exit(w, 0, WITHOUT_REPORT "--overwrite");
    expect_exit(w, 1, "test -e runs/tiny/report.html -o -e runs/tiny/figures");
}

TEST(what_the_user_has_set_for_gnuplot_does_not_matter)
{
    NEEDS_PROGRAM("gnuplot");
    write_file(".gnuplot", "exit error 'not here'\n");
    expect_message(0, "", "HOME=$PWD; export HOME; " RUN);
    expect_figures("runs/tiny/report.html", 12);
}

TEST(tables_that_cannot_be_read_are_a_warning)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, RUN);
    expect_told(1, "train: ./metrics.csv: not a regular file\n",
                "cd runs/tiny && rm metrics.csv && mkdir metrics.csv && rm theta.csv && "
                "echo nonsense >theta_final.csv && $TRAIN --report .");
    expect_figures("runs/tiny/report.html", 2);
}

TEST(low_panels_have_at_most_five_tics)
{
    for (double range = 1e-5; range < 1e5; range *= 1.37) {
        const double tics = range / rt_figures_tics(range);
        ck_assert_msg(tics > 1.9 && tics < 5.001, "%g tics in %g", tics, range);
    }
    ck_assert(rt_figures_tics(0) > 0);
}

/* Counts the labels of a logarithmic axis: those of powers of ten, or those in a list. */
static int count_labels(const char *script, rt_figure_range range)
{
    const char *list = strstr(script, "set ytics (");
    int count = 1;
    if (!list)
        return (int)(floor(log10(range.most) + 1e-9) - ceil(log10(range.least) - 1e-9)) + 1;
    for (list = strchr(list, '('); *list != ')'; list++)
        count += *list == ',';
    return count;
}

TEST(a_logarithmic_axis_has_at_least_three_labels)
{
    for (double least = 1e-6; least < 1e3; least *= 1.7)
        for (double factor = 1.1; factor < 1e7; factor *= 1.9) {
            const rt_figure_range range = {least, least * factor};
            rt_writer script = {0};
            rt_figures_scale(&script, 'y', range);
            ck_assert_int_eq(script.bytes != NULL, factor > 30);
            if (script.bytes)
                ck_assert_msg(count_labels(script.bytes, range) >= 3, "%g to %g: %s", range.least,
                              range.most, script.bytes);
            rt_writer_free(&script);
        }
}

/* ---- sweeps ---- */

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

TEST(a_sweep_tells_the_spread_and_what_failed)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 5,
                RUN "train.steps=20 optimizer.clip_norm=0 sweep.optimizer.lr=1e-2,1e30 "
                    "sweep.run.seed=1,2");
    const char *page = read_file("runs/tiny/report.html");
    expect_text(page, "2 of 4 runs finished");
    expect_text(page, "theta: near in ");
    expect_text(page, "<td>0 of 2</td>");
    expect_text(page, " ± ");
    expect_text(page, "<a href=\"lr=1e-2_seed=1/report.html\">lr=1e-2_seed=1</a>");
    expect_no_text(page, "<a href=\"lr=1e30");
    expect_figures("runs/tiny/report.html", 5);
    expect_exit(w, 0, "grep -q filledcurves runs/tiny/figures/loss.gp");
}

/* tiny.ini has dim = 16, where 64 is the default, and so has each run; lr = 1e-2 has only one. */
TEST(a_sweep_tells_what_is_common_to_all_and_which_is_the_best)
{
    expect_exit(w, 0, RUN "train.steps=20 theta.learn=no sweep.optimizer.lr=1e-2,1e-5");
    const char *page = read_file("runs/tiny/report.html");
    const char *common = strstr(page, "<h2>Configuration of all</h2>");
    ck_assert_ptr_nonnull(common);
    ck_assert_ptr_nonnull(strstr(common, "<th>model.dim</th><td><span>16</span>"));
    ck_assert_ptr_nonnull(strstr(common, "<th>train.eval_every</th><td><span>20</span>"));
    ck_assert_ptr_null(strstr(common, "<th>optimizer.lr</th>"));
    ck_assert_ptr_null(strstr(common, "<th>run.name</th>"));
    ck_assert_ptr_null(strstr(common, "<th>model.heads</th><td><span>4</span>"));
    expect_text(page, "<p>lowest loss: lr=1e-2, ");
    expect_text(page, ", without an interval: that needs two common seeds</p>");
    expect_no_text(page, "class=\"best\"");
    expect_text(page, "; no row is in bold, for the row with the lowest loss is not told apart");
    expect_no_text(page, "<th>steps to 99 %</th>"); /* which no run reached */
    expect_exit(w, 0, RUN "train.steps=20 run.name=seeds sweep.run.seed=1,2");
    page = read_file("runs/seeds/report.html");
    expect_no_text(page, "class=\"best\"");
    expect_no_text(page, "in bold");
}

/* Labels such as 1.2k collide if there are many. */
static void expect_few_labels(const char *svg)
{
    const char *text = read_file(svg);
    int labels = 0;
    for (const char *at = text; (at = strstr(at, "k</tspan>")) != NULL; at++)
        labels++;
    ck_assert_msg(labels >= 2 && labels <= 4, "%d labels besides 0 in %s", labels, svg);
}

TEST(an_axis_of_tokens_has_few_labels)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, RUN "sweep.run.seed=1,2"); /* 5,760 tokens each */
    expect_few_labels("runs/tiny/figures/loss_by_tokens.svg");
    expect_few_labels("runs/tiny/seed=1/figures/loss_by_tokens.svg");
}

/* A sweep over numbers of steps tells the worth of a difference in steps. */
TEST_ROWS(a_sweep_tells_of_compute_if_it_has_other_numbers_of_steps, 0, 2)
{
    expect_exit(w, 0, RUN "sweep.run.seed=1,2 sweep.model.layers=1,2 %s",
                _i ? "sweep.train.steps=30,60 optimizer.schedule_steps=0" : "");
    const char *page = read_file("runs/tiny/report.html");
    expect_text(page, "<h2>Paired differences</h2>");
    if (_i)
        expect_text(page, "<th scope=\"col\">compute</th>");
    else
        expect_no_text(page, "compute</th>");
}

TEST(the_report_of_a_sweep_draws_those_of_its_runs_as_well)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(w, 0, WITHOUT_REPORT "train.steps=5 sweep.run.seed=1,2");
    expect_exit(w, 1, "test -e runs/tiny/report.html -o -e runs/tiny/seed=1/report.html");
    expect_exit(w, 0, "$TRAIN --report runs/tiny/");
    ck_assert_int_eq(count_of(w->out, "report: "), 3);
    expect_figures("runs/tiny/seed=2/report.html", 12);
    expect_page("runs/tiny/report.html", "<a href=\"seed=2/report.html\">");
}

/* ---- numbers, computed once more ---- */

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
