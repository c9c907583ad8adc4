/* The pages of runs and sweeps, with well-behaved and misbehaving gnuplot. */

#include "markup.h"
#include "train_program.h"

#include "train/report/sections.h"

#define WITHOUT_REPORT "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet "

static void expect_figures(const char *path, int count)
{
    const char *page = read_file(path);
    ck_assert_int_eq(count_in(page, "//svg:svg"), count);
    const int choices = count_in(page, "//input"); /* figures that share one place */
    ck_assert_int_eq(count_in(page, "//figcaption"), choices ? count - choices + 1 : count);
}

/* Writes a stand-in for gnuplot, found first in $PATH=$PWD/bin:$PATH. */
static void pretend(const char *script)
{
    mkdir("bin", 0777);
    write_file("bin/gnuplot", script);
    ck_assert_int_eq(chmod("bin/gnuplot", 0755), 0);
}

/* Returns the text of a page that loads nothing and runs nothing. */
static const char *whole_page_text(const char *path)
{
    const char *page = read_file(path);
    expect_no_text(page, "<script", "onmousemove", "_plot_1</title>", "src=\"http", "href=\"http");
    return page_text(path);
}

/* Returns the word of the verdict on a page: "", "moved" or "bad". */
static const char *verdict_on(const char *path)
{
    const char *class = value_in(read_file(path), "//div[starts-with(@class, 'verdict')]/@class");
    ck_assert_str_ne(class, "");
    return class + strlen("verdict") + (class[strlen("verdict")] == ' ');
}

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS)

#define AGAIN   "{ $TRAIN --report runs/tiny || test $? = 1; }"
#define MISSING TINY "train.target_accuracy=1 train.steps=3 theta.learn=no"

/* Commands, the number of figures (if gnuplot is needed), the verdict (NULL: any), a text that the
 * page of the run lacks and texts that it has. */
static const struct {
    int code, figures;
    const char *command, *verdict, *absent, *present, *also;
} pages[] = {
    {0, 0, TINY "theta.tolerance=0.35", "", "the run has not ended",
     "over 11 positions: near (tolerance 0.35)", "\nnear, moved\n"},
    {0, 0, TINY "theta.learn=no", "", "theta: max ", "eval: loss ", ""},
    /* theta that has moved is no failure */
    {0, 0, TINY "theta.tolerance=1e-9", "moved", "the run has not ended", "eval: loss ", ""},
    {0, 0, TINY "optimizer.lr=10 optimizer.warmup_steps=60", "bad", "the run has not ended",
     "eval: loss ", ""},
    {7, 0, MISSING, "bad", "the loss is not finite", "is below train.target_accuracy = 1\n", ""},
    /* a run that reached its target can have a best evaluation below it */
    {0, 0,
     MISSING "; test $? = 7 && sed -i 's/^exit_code,7/exit_code,0/' runs/tiny/result.csv && " AGAIN,
     NULL, "is below train", "eval: loss ", ""},
    {0, 0, TINY "train.steps=2 && rm runs/tiny/result.csv && " AGAIN, "bad", "eval: loss ",
     "the run has not ended", ""},
    {5, 0,
     WITHOUT_REPORT
     "optimizer.lr=1e30 optimizer.clip_norm=0; code=$?; $TRAIN --report runs/tiny; exit $code",
     "bad", "eval: loss ", "the loss is not finite", ""},
    {0, 12,
     TINY "train.steps=2 model.layers=5 model.dim=18 model.heads=9 data.length=70 theta.scope=head",
     NULL, "the run has not ended", "layers 0 to 3 of 5; heads 0 to 7 of 9; tokens 0 to 63 of 70\n",
     ""},
    {0, 12, TINY "train.steps=1 model.layers=1 model.heads=1 theta.scope=model", NULL,
     "the run has not ended", "\ntiny\n", ""},
    {0, 6, TINY "theta.learn=no model.attention=linear_elu", "", "Relative change of", "\ntiny\n",
     ""},
    /* stopped before it had a row to write */
    {0, 6,
     TINY "train.steps=20 && cd runs/tiny && head -n 1 metrics.csv >first && mv first metrics.csv "
          "&& $TRAIN --report .",
     NULL, "Learning rate", "Relative change of θ during training: ", ""},
};

TEST_ROWS(a_page_has_the_verdict_and_figures_of_its_run, 0, ROWS(pages))
{
    static const char path[] = "runs/tiny/report.html";
    if (pages[_i].figures)
        NEEDS_PROGRAM("gnuplot");
    expect_exit(w, pages[_i].code, "%s", pages[_i].command);
    const char *text = whole_page_text(path);
    expect_text(text, pages[_i].present, pages[_i].also);
    expect_no_text(text, pages[_i].absent);
    if (pages[_i].verdict)
        ck_assert_str_eq(verdict_on(path), pages[_i].verdict);
    if (pages[_i].figures)
        expect_figures(path, pages[_i].figures);
}

TEST(a_run_ends_with_its_report)
{
    run(TINY);
    const char *page = read_file("runs/tiny/report.html"), *line = line_of(w->out, "eval: ");
    const char *text = whole_page_text("runs/tiny/report.html");
    expect_text(text, line_of(w->out, "theta: "),
                lasting("%.*s", (int)(strstr(line, " (") - line), line));
    NEEDS_PROGRAM("gnuplot");
    expect_text(text, "Relative change of θ during training: ", "\nevaluation, step ", "\ntokens\n",
                "\nseconds\n");
    expect_text(page, "prefers-color-scheme: dark");
    expect_figures("runs/tiny/report.html", 12);
    ck_assert_int_eq(count_in(page, "//input"), 3); /* the loss by steps, tokens or seconds */
    /* a wide figure scrolls on a narrow screen, and any other fits it */
    ck_assert_int_gt(count_in(page, "//svg:svg/@style"), 0);
    ck_assert_int_eq(count_in(page, "//svg:svg[@style][@aria-label='Learning rate']"), 0);
    ck_assert_int_eq(count_in(page, "//svg:svg[@aria-label]"), 12);
    run("cd runs/tiny/figures && rm loss.svg && gnuplot loss.gp && test -s loss.svg");
}

/* The labels of the evaluation contradict those of the training. */
TEST(mistakes_are_listed_with_their_texts)
{
    run("awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 200; i++) print "
        "substr(\"abcdabcdabcd\", 1 + i %% 4, 1 + i %% 7) (i %% 2 ? \"x\" : \"\") \"\\t\" (i %% 2 "
        "? \"with\" : \"none\") }' >m.tsv; printf 'text\\tlabel\\nabx <b>\\tnone\\ncdab\\tnone\\n' "
        ">e.tsv");
    run("printf '[data]\\ntask = classify\\nlevel = char\\nlength = 16\\nfile = m.tsv\\neval_file "
        "= e.tsv\\n[model]\\nlayers = 1\\ndim = 16\\nheads = 2\\n[optimizer]\\nlr = "
        "0.01\\n[train]\\nsteps = 200\\nbatch_size = 16\\n' >m.ini; $TRAIN m.ini --quiet");
    expect_text(whole_page_text("runs/m/report.html"), "\nMistakes\n",
                "\n| 2 | abx <b> | none | with | ", "\nThe 1 wrong predictions");
    /* the tokens of a sentence are in one line of JSON */
    run("for i in 1 2 3 4 5 6 7 8; do echo '{\"text\": [\"ab\", \"cd\"], \"label\": [\"X\", "
        "\"X\"]}'; done >t.jsonl; echo '{\"text\": [\"x\"], \"label\": [\"O\"]}' >>t.jsonl; echo "
        "'\n{\"text\": [\"ab\", \"cd\"], \"label\": [\"O\", \"O\"]}' >e.jsonl; $TRAIN m.ini "
        "--quiet --overwrite data.task=tag data.file=t.jsonl data.eval_file=e.jsonl");
    expect_text(page_text("runs/m/report.html"), "\n| 2 | <b>ab</b> cd | O | X | ",
                "\n| 2 | ab <b>cd</b> | O | X | ");
}

TEST(names_are_escaped_and_an_unwritable_report_is_a_warning)
{
    run(WITHOUT_REPORT "train.steps=20 && mkdir runs/tiny/report.html");
    expect_stderr(0, "report.html: Is a directory", TINY "--resume");
    expect_text(w->out, "\nrun: runs/tiny\n");
    expect_stderr(2, "--report takes folders of runs, and no configuration",
                  "$TRAIN tiny.ini --report runs");
    /* names cannot break the page */
    run("yes 'a line' | head -c 4000 >'a<i>&.txt'; $TRAIN tiny.ini --quiet train.steps=2 "
        "data.task=text data.vocab=32 'data.file=a<i>&.txt' 'run.name=<b>&\"x'");
    static const char path[] = "runs/<b>&\"x/report.html";
    expect_no_text(read_file(path), "<b>&\"x", "<i>"); /* samples have <b> */
    expect_text(whole_page_text(path), "\n<b>&\"x\n", "a<i>&.txt");
}

/* Evaluations at 20, 40 and 60, of which the best is marked; a table that a run might have left. */
TEST(the_axis_of_the_loss_is_logarithmic_for_a_wide_positive_range)
{
    NEEDS_PROGRAM("gnuplot");
    static const char *const losses[] = {"1.5", "0.09", "0"};
    run(TINY);
    for (int i = 0; i < ROWS(losses); i++) {
        write_file("runs/tiny/metrics.csv",
                   lasting("step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm\n10,1,3,,0,1,1\n"
                           "20,1,2,2.5,0,1,1\n40,1,1.5,%s,0,1,1\n60,1,1.25,2,0,1,1\n",
                           losses[i]));
        run("$TRAIN --report runs/tiny");
        if (i == 0) {
            expect_text(page_text("runs/tiny/report.html"),
                        "the lowest evaluation loss, 1.5, at step 40\n");
            expect_in_file("runs/tiny/figures/loss.gp",
                           "\nset arrow from 40, graph 0 to 40, graph 1 nohead ");
        }
        expect_exit(w, i == 1 ? 0 : 1, "grep -q 'logscale%s' runs/tiny/figures/loss.gp",
                    i == 0 ? "\\|yrange" : "");
        if (i != 1)
            continue;
        expect_in_file("runs/tiny/figures/loss.gp", "\nset logscale y\n",
                       "\nset ytics (0.1, 0.3, 1, 3)\n");
        expect_in_file("runs/tiny/figures/loss_by_tokens.gp", "\nset logscale y\n");
        expect_exit(w, 1, "grep -q logscale runs/tiny/figures/gradient.gp");
    }
}

TEST(tolerances_and_usage_are_drawn_if_their_keys_are_set)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY "train.steps=20 theta.tolerances=yes");
    run("test -s runs/tiny/figures/tolerances.svg -a -s runs/tiny/figures/usage.svg");
    run(TINY "train.steps=20 theta.learn=no --overwrite");
    ck_assert(!exists("runs/tiny/figures/tolerances.svg"));
    ck_assert(!exists("runs/tiny/figures/usage.svg"));
}

/* A series has two blocks: the means of both values, and each of the four runs. */
TEST(a_sweep_has_a_circle_for_each_run)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY "train.steps=20 sweep.optimizer.lr=1e-2,1e-5 sweep.run.seed=1,2");
    expect_output("2\n4\n", "awk -v RS='\n\n\n' '{ print NF }' runs/tiny/figures/key_1.csv");
    ck_assert_int_eq(count_in(read_file("runs/tiny/figures/key_1.svg"),
                              "//svg:use[@xlink:href='#gpPt5'][@transform]"),
                     4);
}

TEST(every_script_draws_its_figure_again)
{
    static const struct {
        const char *file, *title;
        int count;
    } drawn[] = {{"decay", "initial", 6}, {"decay", "learned", 6},      {"theta", "initial", 1},
                 {"theta", "layer 7", 1}, {"change", "tolerance", 1},   {"change", "layer 7", 1},
                 {"usage", "layer 7", 1}, {"wavelengths", "layer 7", 1}};
    NEEDS_PROGRAM("gnuplot");
    run(TINY
        "train.steps=40 model.layers=8 theta.scope=head theta.init=perturbed theta.tolerance=9");
    expect_figures("runs/tiny/report.html", 12);
    run("cd runs/tiny/figures && rm *.svg && for i in *.gp; do gnuplot -d $i && test -s "
        "${i%%.gp}.svg || exit 1; done");
    for (int i = 0; i < ROWS(drawn); i++) {
        const char *path = lasting("runs/tiny/figures/%s.svg", drawn[i].file);
        const int count =
            count_in(read_file(path), lasting("//svg:title[. = '%s']", drawn[i].title));
        ck_assert_msg(count == drawn[i].count, "%s: %s: %d times", path, drawn[i].title, count);
    }
    run("sed '/^<?xml/d' runs/tiny/figures/*.svg >all.svg");
    ck_assert_int_eq(count_in(read_file("all.svg"), "/*/svg:svg"), 12);
}

TEST(a_gnuplot_that_fails_is_a_warning)
{
    pretend("#!/bin/sh\nkill -9 $$\n");
    expect_stderr(0, "figures are missing: gnuplot failed on loss.gp, loss_by_tokens.gp, ",
                  "PATH=$PWD/bin:$PATH; " TINY);
    ck_assert_int_eq(count_of(w->err, "\n"), 1);
    expect_figures("runs/tiny/report.html", 0);
    pretend("#!/bin/sh\necho chatter; echo noise >&2; cat; exit 1\n");
    run("PATH=$PWD/bin:$PATH; echo input | " TINY "--overwrite");
    expect_no_text(w->out, "chatter", "input");
    expect_no_text(w->err, "noise");
}

TEST(failed_figures_are_left_out_and_no_older_figure_is_shown)
{
    run(TINY "train.steps=40");
    expect_in_file("runs/tiny/report.html", "after 40 steps");
    expect_stderr(0, "gnuplot is missing",
                  "mkdir empty; PATH=$PWD/empty $TRAIN tiny.ini --quiet --resume train.steps=60");
    expect_text(w->err, "train --report runs/tiny tries again");
    expect_in_file("runs/tiny/report.html", "after 60 steps");
    expect_figures("runs/tiny/report.html", 0);
    /* a script that fails costs its own figure alone */
    NEEDS_PROGRAM("gnuplot");
    expect_output("report: runs/tiny/report.html\n", "$TRAIN --report runs/tiny");
    expect_figures("runs/tiny/report.html", 12);
    pretend("#!/bin/sh\ncase \"$*\" in *change*) printf '<svg half' >change.svg; exit 1;; esac\n"
            "PATH=${PATH#*:}\nexec gnuplot \"$@\"\n");
    expect_stderr(0, "gnuplot failed on change.gp in runs/tiny/figures",
                  "PATH=$PWD/bin:$PATH; " TINY "--overwrite");
    expect_figures("runs/tiny/report.html", 11);
}

TEST(overwriting_removes_the_report)
{
    NEEDS_PROGRAM("gnuplot");
    write_file(".gnuplot", "exit error 'not here'\n");
    expect_message(0, "", "HOME=$PWD; export HOME; " TINY);
    expect_figures("runs/tiny/report.html", 12);
    run(WITHOUT_REPORT "--overwrite");
    ck_assert(!exists("runs/tiny/report.html") && !exists("runs/tiny/figures"));
}

TEST(tables_that_cannot_be_read_are_a_warning)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY);
    expect_stderr(1, "train: ./metrics.csv: not a regular file\n",
                  "cd runs/tiny && rm metrics.csv && mkdir metrics.csv && rm theta.csv && echo "
                  "nonsense >theta_final.csv && $TRAIN --report .");
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
            const rt_figure_range range = {least, least * factor, true};
            rt_writer script = {0};
            rt_figures_scale(&script, 'y', range);
            ck_assert_int_eq(script.bytes != NULL, factor > 30);
            if (script.bytes)
                ck_assert_msg(count_labels(script.bytes, range) >= 3, "%g to %g: %s", range.least,
                              range.most, script.bytes);
            rt_writer_free(&script);
        }
}

TEST(a_sweep_has_a_page_with_links_to_its_runs)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY "theta.learn=no sweep.position.kind=rope,none sweep.run.seed=1,2");
    expect_text(whole_page_text("runs/tiny/report.html"),
                "\nEvaluation loss by position.kind: the mean over the seeds", "(runs: 2)\n",
                "\n| none | 2 | ");
    expect_figures("runs/tiny/report.html", 5);
    expect_in_file("runs/tiny/report.html", "href=\"kind=none_seed=2/report.html\"");
    /* the report of a sweep draws those of its runs as well */
    run("rm runs/tiny/report.html runs/tiny/*/report.html && $TRAIN --report runs/tiny/");
    ck_assert_int_eq(count_of(w->out, "report: "), 5);
    expect_figures("runs/tiny/kind=none_seed=2/report.html", 7);
}

TEST(the_report_of_a_sweep_shows_the_spread_and_failed_runs)
{
    NEEDS_PROGRAM("gnuplot");
    expect_exit(
        w, 5,
        TINY
        "train.steps=20 optimizer.clip_norm=0 sweep.optimizer.lr=1e-2,1e30 sweep.run.seed=1,2");
    const char *page = read_file("runs/tiny/report.html");
    expect_text(text_of(page), "2 of 4 runs finished", "theta: near in ", " | 0 of 2 | ", " ± ",
                "lr=1e-2_seed=1");
    expect_text(page, "href=\"lr=1e-2_seed=1/report.html\"");
    expect_no_text(page, "href=\"lr=1e30");
    expect_figures("runs/tiny/report.html", 5);
    run("grep -q filledcurves runs/tiny/figures/loss.gp");
}

/* tiny.ini has dim = 16, where 64 is the default, and so has each run; lr = 1e-2 has only one. */
TEST(the_report_of_a_sweep_shows_the_common_keys_and_the_lowest_loss)
{
    run(TINY "train.steps=20 theta.learn=no sweep.optimizer.lr=1e-2,1e-5");
    const char *page = page_text("runs/tiny/report.html");
    const char *common = strstr(page, "\nConfiguration of all\n");
    ck_assert_ptr_nonnull(common);
    expect_text(common, "\n| model.dim | 16", "\n| train.eval_every | 20");
    expect_no_text(common, "| optimizer.lr |", "| run.name |", "| model.dropout |");
    expect_text(page, "\nlowest loss: lr=1e-2, ", "\nNo row is in bold: without two common seeds ");
    expect_no_text(page, "| steps to 99 %"); /* no run reached it */
    expect_no_text(read_file("runs/tiny/report.html"), "class=\"best\"");
}

/* Each mean has its tooltip, also in a second series. */
TEST(a_single_run_has_no_deviation_and_a_single_seed_no_interval)
{
    NEEDS_PROGRAM("gnuplot");
    run(TINY "train.steps=20 theta.learn=no sweep.optimizer.lr=1e-2,1e-3 sweep.model.layers=1,2 "
             "train.eval_lengths=6,12");
    const char *pairs = line_of(w->out, "paired differences of the loss, without an interval: ");
    expect_text(pairs, "that needs two seeds");
    expect_text(w->out, " (2 pairs of 1 seed, not independent)\n");
    expect_no_text(w->out, "% interval", "detectable", ", [");
    expect_output("2\n", "grep -c ',2,[-0-9.e]*,,,$' runs/tiny/paired.csv");
    const char *page = page_text("runs/tiny/report.html");
    expect_no_text(page, "±", "deviation", "interval of", "| detectable");
    ck_assert_int_eq(count_of(page, "\nlayers=1: "), 2);
    ck_assert_int_eq(count_of(page, "\nlayers=2: "), 2);
    const char *lengths = text_of(read_file("runs/tiny/figures/length_loss.svg"));
    ck_assert_int_eq(count_of(lengths, "\n6\n"), 1);
    ck_assert_int_eq(count_of(lengths, "\n12\n"), 1);
    /* the theta of one run differ by layer */
    run(TINY "train.steps=20 run.name=s sweep.theta.lr_scale=1,2 --quiet");
    page = page_text("runs/s/report.html");
    expect_text(page, ": the mean over layers and heads, with one ");
    expect_no_text(page, "±");
}

/* The frame is the last path in the colour of the axes. */
TEST(loss_and_accuracy_have_one_frame_and_words_are_folded_below_them)
{
    NEEDS_PROGRAM("gnuplot");
    static const char frame[] = "(//svg:path[@stroke = 'rgb( 68,  68,  68)'])[last()]/@d";
    run(TINY "optimizer.lr=1e-5");
    const char *words = strstr(page_text("runs/tiny/report.html"), "\nwhat the words mean\n");
    ck_assert_ptr_nonnull(words);
    expect_text(words, "\ndrift\nln(learned/initial)", "\nrelative change\n");
    const char *of_loss = value_in(read_file("runs/tiny/figures/loss.svg"), frame);
    ck_assert_uint_gt(strlen(of_loss), 10);
    ck_assert_str_eq(value_in(read_file("runs/tiny/figures/accuracy.svg"), frame), of_loss);
}

/* Labels such as 1.2k collide if there are many. */
TEST(an_axis_of_tokens_has_few_labels)
{
    static const char *const figures[] = {"runs/tiny/figures/loss_by_tokens.svg",
                                          "runs/tiny/seed=1/figures/loss_by_tokens.svg"};
    NEEDS_PROGRAM("gnuplot");
    run(TINY "sweep.run.seed=1,2"); /* 5,760 tokens each */
    for (int i = 0; i < 2; i++) {
        const int labels = count_of(text_of(read_file(figures[i])), "k\n");
        ck_assert_msg(labels >= 2 && labels <= 4, "%d labels besides 0 in %s", labels, figures[i]);
    }
}

TEST_ROWS(the_report_of_a_sweep_shows_compute_if_numbers_of_steps_differ, 0, 2)
{
    run(TINY "sweep.run.seed=1,2 sweep.model.layers=1,2 %s",
        _i ? "sweep.train.steps=30,60 optimizer.schedule_steps=0" : "");
    const char *page = page_text("runs/tiny/report.html");
    expect_text(page, "\nPaired differences\n");
    ck_assert_int_eq(strstr(page, " | compute") != NULL, _i);
}

/* A branch that freezes theta has that of its trunk, and theta0 of another scope is that too. */
TEST_ROWS(a_theta_that_a_trunk_has_moved_is_learned, 0, 4)
{
    const bool moved = _i < 2;
    run(WITHOUT_REPORT "train.steps=30 run.name=trunk train.freeze=%s", moved ? "head" : "theta");
    run("$TRAIN tiny.ini --quiet run.name=b train.trunk=runs/trunk train.freeze=theta "
        "theta.scope=%s && $TRAIN --checkpoint runs/b --export out --quiet",
        _i % 2 ? "head" : "layer");
    const char *text = whole_page_text("runs/b/report.html");
    ck_assert_int_eq(count_of(text, "(θ was not trained)"), moved ? 0 : 4);
    ck_assert_int_eq(count_of(text, "Theta, which was not trained"), !moved);
    ck_assert_int_eq(count_of(read_file("out/README.md"), "given and not trained"), !moved);
}

TEST(results_on_theta_are_those_of_its_values)
{
    run(WITHOUT_REPORT "theta.scope=head position.scaling=linear position.scale=2");
    run("awk -F, 'function size(x) { return x < 0 ? -x : x } function max(a, b) { return a > b ? a "
        ": b } function check(name, x) { if (!(size(result[name] - x) <= 1e-6 * x)) { print name; "
        "bad = 1 } } FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } NR == FNR { "
        "result[$1] = $2; next } { t = $at[\"theta\"]; g = exp(-log(10000) * (n++ %% 4) / 4); if "
        "(size($at[\"geometric\"] - g) > 1e-8 * g || size($at[\"theta_initial\"] - g / 2) > 1e-6 * "
        "g / 2) bad = 1; drift = max(drift, size(t - g) / g); start = max(start, size(2 * t / g - "
        "1)); phase = max(phase, size(t - g) * 11); sum += size(t - g) / g; p += log(t) * log(g); "
        "a += log(t) ^ 2; b += log(g) ^ 2 } END { check(\"theta_max_change\", drift); "
        "check(\"theta_max_phase\", phase); check(\"theta_max_change_from_start\", start); "
        "check(\"theta_mean_change\", sum / n); check(\"theta_cosine\", p / sqrt(a * b)); exit bad "
        "|| n != 16 || size(drift - phase) < .01 || size(drift - start) < .01 }' "
        "runs/tiny/result.csv runs/tiny/theta_final.csv");
}
