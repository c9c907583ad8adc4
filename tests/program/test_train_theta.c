/* A learned theta in the output of `train`: resets, replacements and tolerances. */

#include "markup.h"
#include "train_program.h"

/* Reads the numbers of the line with this beginning, in their order. Other text is skipped. */
static int numbers_of(const char *text, const char *beginning, double numbers[8])
{
    int count = 0;
    for (const char *at = line_of(text, beginning) + strlen(beginning); *at && count < 8;) {
        char *end;
        const double x = strtod(at, &end);
        if (end != at)
            numbers[count++] = x;
        at = end == at ? at + 1 : end;
    }
    return count;
}

static void evaluate_with(const char *theta, double numbers[8])
{
    run("$TRAIN tiny.ini --eval --theta %s", theta);
    ck_assert_int_eq(numbers_of(w->out, "eval: loss ", numbers), 4);
    expect_no_text(w->out, "drift");
}

SUITE(PROGRAM_OPTIONS)

/* The second line, of base^(-2i/R), is printed if theta started elsewhere. */
TEST_ROWS(a_run_ends_by_resetting_theta, 0, 2)
{
    static const char *const places[] = {"init", "base"};
    static const char *const words[] = {"start", "base"};
    static const char *const results[][2] = {{"theta_reset_loss", "theta_reset_accuracy"},
                                             {"theta_reset_base_loss",
                                              "theta_reset_base_accuracy"}};
    double own[8] = {0}, reset[8] = {0}, other[8] = {0};
    run("$TRAIN tiny.ini theta.lr_scale=20 %s", _i ? "theta.init=perturbed" : "");
    const char *printed = lasting("%s", w->out);
    ck_assert_int_eq(numbers_of(printed, "eval: loss ", own), 4);
    ck_assert_int_eq(count_of(printed, "theta: reset to "), 1 + _i);
    for (int i = 0; i <= _i && i < 2; i++) {
        const char *beginning = lasting("theta: reset to %s: eval loss ", places[i]);
        ck_assert_int_eq(numbers_of(printed, beginning, reset), 4);
        ck_assert_double_eq(reset[0], own[0]);
        ck_assert_double_eq(reset[2], own[1]);
        if (_i)
            run("echo theta.init=perturbed; cp runs/tiny/config.ini tiny.ini");
        evaluate_with(words[i], other);
        ck_assert_double_eq(reset[1], other[0]);
        ck_assert_double_eq(reset[3], other[1]);
        ck_assert_double_eq_tol(result_of("tiny", results[i][0]), reset[1], 1e-5 * reset[1]);
        ck_assert_double_eq_tol(result_of("tiny", results[i][1]), reset[3], 6e-5);
        const bool needed = reset[1] > reset[0] + 0.01 || reset[3] < reset[2] - 0.01;
        const char *line = line_of(printed, beginning);
        ck_assert_str_eq(strrchr(line, '>') - 1, lasting("-> %.4f: the model %s on it", reset[3],
                                                         needed ? "depends" : "does not depend"));
        if (!i)
            ck_assert_double_eq(result_of("tiny", "theta_needed"), needed);
    }
    evaluate_with("runs/tiny/theta_final.csv", other);
    ck_assert_double_eq(other[0], own[0]);
    evaluate_with("runs/tiny/theta.csv", other); /* its last step */
    ck_assert_double_eq(other[0], own[0]);
}

TEST(the_check_unneeded_decides_the_exit_code)
{
    expect_exit(w, 7, "$TRAIN tiny.ini theta.lr_scale=20 theta.check=unneeded");
    expect_text(w->out, ": the model depends on it\n");
    expect_exit(w, 7, "$TRAIN tiny.ini theta.lr_scale=20 theta.check=unneeded --resume");
    run("$TRAIN tiny.ini theta.lr_scale=20 theta.check=unmoved theta.tolerance=100 --overwrite");
    expect_stderr(2, "theta.check must be one of no, unmoved, unneeded; got 'far'",
                  "$TRAIN tiny.ini theta.check=far");
    double reset[8] = {0};
    run("$TRAIN tiny.ini theta.lr_scale=0 theta.check=unneeded --overwrite");
    numbers_of(w->out, "theta: reset to init: eval loss ", reset);
    ck_assert_double_eq(reset[0], reset[1]);
    expect_text(w->out, ": the model does not depend on it\n");
    ck_assert_double_eq(result_of("tiny", "theta_needed"), 0);
}

TEST(old_values_of_theta_check_are_refused)
{
    run(TINY
        "&& sed -i 's/^;*check = no$/check = near/' runs/tiny/config.ini && cp -r runs before");
    expect_stderr(2, ": theta.check = near is now called unmoved",
                  "$TRAIN runs/tiny/config.ini --resume");
    expect_stderr(2, "theta.check = near is now called unmoved", "$TRAIN --report runs/tiny");
    expect_stderr(2, "theta.check = needed is now called unneeded",
                  "$TRAIN tiny.ini sweep.theta.check=no,needed run.name=other");
    run("grep 'check = near' runs/tiny/config.ini && diff -r runs before");
}

TEST(a_finished_run_that_is_resumed_reads_its_results)
{
    run("$TRAIN tiny.ini theta.tolerances=yes --quiet >first; cp -r runs before");
    run("$TRAIN tiny.ini theta.tolerances=yes --quiet --resume >second");
    expect_same_files("first", "second");
    run("for i in result theta_final; do cmp runs/tiny/$i.csv before/tiny/$i.csv || exit 1; done");
    expect_stdout(" -> 77, accuracy ",
                  "sed -i 's/^theta_reset_loss,.*/theta_reset_loss,77/' runs/tiny/result.csv; sed "
                  "-i '2s/[^,]*$/2.5/' runs/tiny/theta_final.csv; $TRAIN tiny.ini "
                  "theta.tolerances=yes --resume");
    expect_text(w->out, "  2.500\n");
    run("sed -i '/^theta_reset/d; s/^steps,60/steps,50/' runs/tiny/result.csv; $TRAIN tiny.ini "
        "theta.tolerances=yes --resume --quiet >third");
    expect_same_files("first", "third");
    expect_same_files("runs/tiny/result.csv", "before/tiny/result.csv");
}

TEST(the_tolerance_of_each_pair_is_printed_beside_its_drift)
{
    expect_stdout("    use   down     up\n", "$TRAIN tiny.ini theta.tolerances=yes");
    expect_text(w->err,
                "measuring how far each of 8 theta can change: up to 128 evaluations of one batch");
    expect_text(w->out,
                "\ndown, up: how far ln theta can change before the model gets worse, to 3\n");
    run("awk -F, 'NR == 1 { if ($13 != \"tolerance_down\" || $14 != \"tolerance_up\") exit 1; next "
        "} NF != 14 || $13 < 0 || $13 > 3 || $14 < 0 || $14 > 3 { exit 1 } END { exit NR != 9 }' "
        "runs/tiny/theta_final.csv");
    expect_no_stdout("down", "$TRAIN tiny.ini run.name=without");
    expect_exit(w, 1, "grep tolerance runs/without/theta_final.csv");
    /* a profile does not count evaluations at the end */
    double calls[8] = {0}, with_more[8] = {0};
    run(TINY "--profile train.steps=5 --overwrite");
    ck_assert_int_ge(numbers_of(w->out, "linear            forward ", calls), 1);
    run(TINY "--profile train.steps=5 theta.tolerances=yes --overwrite");
    ck_assert_int_ge(numbers_of(w->out, "linear            forward ", with_more), 1);
    ck_assert_double_eq(calls[0], with_more[0]);
}

TEST(a_signal_stops_the_measurement_of_tolerances)
{
    const char *options = "tiny.ini theta.tolerances=yes theta.scope=head model.heads=4 "
                          "train.steps=1 train.batch_size=64";
    expect_exit(w, 75,
                "$TRAIN %s 2>err & until grep -q measuring err; do kill -0 $! || exit 99; sleep "
                "0.01; done; kill -TERM $!; wait $!",
                options);
    ck_assert(!exists("runs/tiny/result.csv"));
    run("grep 'stopped by a signal after step 1; --resume continues it' err");
    expect_stderr(0, "measuring how far", "$TRAIN %s --resume", options);
    ck_assert(exists("runs/tiny/result.csv"));
    expect_no_stderr("measuring how far", "$TRAIN %s --resume", options);
    expect_no_stdout("down", "$TRAIN runs/tiny/config.ini --eval");
    expect_stdout("down", "$TRAIN runs/tiny/config.ini --eval theta.tolerances=yes");
}

/* Heads of 8 features, two layers. */
#define PAIRS(layer, head)                                                                         \
    layer "," head ",0,1\n" layer "," head ",1,0.2\n" layer "," head ",2,0.02\n" layer "," head    \
          ",3,0.003\n"
#define HEADING "layer,head,i,theta\n"
#define SKIPS   "model.layers=3 position.every=2"

static const char *const fixed[] = {
    "theta.learn=no", "theta.learn=yes theta.scope=head",
    "theta.learn=no position.scaling=dynamic position.scale=2 position.original_len=8"};

/* Overrides that change nothing, theta as it is, and pairs switched off as zeros in a file. */
TEST_ROWS(theta_can_be_overridden_in_every_model_with_rope, 0, ROWS(fixed))
{
    const char *const same[] = {_i == 1 ? "runs/tiny/theta_final.csv" : "start", "scale:1",
                                "off:0turns"},
                      *const zero[] = {"scale:0", "off:0", "zero.csv", "off:1000turns"};
    double own[8] = {0}, other[8] = {0}, off[8] = {0};
    write_file("zero.csv", HEADING "all,all,0,0\nall,all,1,0\nall,all,2,-0\nall,all,3,0\n");
    run("sed -i 's/^learn = yes//' tiny.ini; $TRAIN tiny.ini --quiet %s", fixed[_i]);
    ck_assert_int_eq(numbers_of(w->out, "eval: loss ", own), 4);
    run("cp runs/tiny/config.ini tiny.ini");
    for (int i = 0; i < ROWS(same); i++) {
        evaluate_with(same[i], other);
        ck_assert_double_eq(other[0], own[0]);
        expect_text(w->out,
                    " in the place of the model's own: 4 of 4 pairs of a head rotate, |theta| ");
    }
    for (int i = 0; i < ROWS(zero); i++) {
        evaluate_with(zero[i], i ? other : off);
        ck_assert_double_eq(i ? other[0] : off[0], off[0]);
        expect_text(w->out, " in the place of the model's own: 0 of 4 pairs of a head rotate\n");
    }
    ck_assert_double_ne(off[0], own[0]);
}

/* Rows for layers and heads, of any sign; the first pair makes (15 - 1) / 2 pi turns. */
TEST(a_file_can_set_a_fixed_theta_by_layer_and_head)
{
    double one[8] = {0}, other[8] = {0};
    run("sed -i 's/^learn = yes//' tiny.ini; $TRAIN tiny.ini --quiet data.length=15");
    run("cp runs/tiny/config.ini tiny.ini");
    write_file("one.csv", HEADING PAIRS("0", "0") PAIRS("0", "1") PAIRS("1", "all"));
    evaluate_with("one.csv", one);
    expect_text(w->out, "|theta| from 0.003 to 1, from 0.00668 to 2.23 turns over 14 positions\n");
    run("sed 's/^0,1,0,1$/0,1,0,-1/' one.csv >other.csv");
    evaluate_with("other.csv", other);
    ck_assert_double_ne(one[0], other[0]);
    evaluate_with("off:2.2turns", other);
    expect_text(w->out, ": 1 of 4 pairs of a head rotate, |theta| from 1 to 1, from 2.23 to");
    evaluate_with("off:1", one);
    ck_assert_double_eq(one[0], other[0]);
}

TEST(an_invalid_theta_override_is_refused)
{
    run(TINY "train.steps=2 run.name=a; sed -i 's/^learn = yes//' tiny.ini; $TRAIN tiny.ini "
             "--quiet train.steps=2 position.kind=alibi run.name=b; $TRAIN tiny.ini --quiet "
             "train.steps=2 position.fraction=0 run.name=c");
    expect_each_refused(
        "$TRAIN --eval --theta",
        {2, "off:4 runs/a/config.ini", "off:4: the model has pairs 0 to 3"},
        {2, "off:-1 runs/a/config.ini",
         "K must be the number of a pair, or a number of turns as in off:0.5turns; got '-1'"},
        {2, "off:turns runs/a/config.ini", "K must be the number of a pair"},
        {2, "off:1.5 runs/a/config.ini", "K must be the number of a pair"},
        {2, "scale:x runs/a/config.ini", "--theta scale:X: X must be a number; got 'x'"},
        {2, "scale: runs/a/config.ini", "--theta scale:X: X must be a number; got ''"},
        {2, "of:1 runs/a/config.ini", "of:1: there is no table of theta"},
        {2, "off:0 runs/b/config.ini", "--theta off:0: position.kind = alibi has no theta"},
        {2, "base runs/c/config.ini",
         "--theta base: position.fraction = 0 leaves no pair that rotates"});
}

/* test_train_resume.c has such a run that goes on. */
TEST(theta_is_logged_with_the_metrics)
{
    run(TINY "theta.log=yes run.log_every=5 train.steps=43");
    run("tail -n +2 runs/tiny/metrics.csv | cut -d, -f1 >steps; tail -n +10 runs/tiny/theta.csv | "
        "cut -d, -f1 | uniq -c | awk '$1 == 8 { print $2 }' | cmp - steps");
}

TEST_ROWS(a_file_must_give_every_theta_once, 0, 28)
{
    static const struct {
        const char *text, *overrides, *message;
    } rows[] = {
        {HEADING PAIRS("all", "all"), "", NULL},
        {HEADING PAIRS("0", "all") PAIRS("1", "all"), "", NULL},
        {"i,head,step,theta,layer,more\n0,all,10,9,all,\n0,all,20,1,all,x\n1,all,20,.1,all,\n"
         "2,all,20,1e-2,all,\n3,all,20,2,all,\n0,all,10,8,all,\n",
         "", NULL},
        {HEADING PAIRS("all", "0") PAIRS("all", "1"), "theta.scope=head", NULL},
        {HEADING PAIRS("1", "all") PAIRS("0", "0") PAIRS("0", "1"), "theta.scope=head", NULL},
        {HEADING PAIRS("all", "all"), "theta.scope=model", NULL},
        {HEADING "all,all,0,-1\nall,all,1,0\nall,all,2,3\nall,all,3,4\n", "theta.form=raw", NULL},
        {HEADING PAIRS("0", "all") PAIRS("2", "all"), SKIPS, NULL},
        {HEADING PAIRS("all", "all"), SKIPS, NULL},
        {HEADING PAIRS("2", "1") PAIRS("all", "0") PAIRS("0", "1"), SKIPS " theta.scope=head",
         NULL},
        {HEADING PAIRS("0", "all") PAIRS("1", "all"), SKIPS,
         "layer must be of a layer that has positions; got '1'"},
        {HEADING PAIRS("0", "all"), SKIPS, "has no theta for layer 2, head 0, i 0 of this model"},
        {HEADING PAIRS("all", "all") "2,all,1,1\n", SKIPS,
         "has theta of layer 2, head 0, i 1 twice"},
        {HEADING PAIRS("0", "all"), "", "has no theta for layer 1, head 0, i 0 of this model"},
        {HEADING "all,all,0,1\nall,all,1,1\nall,all,2,1\nall,all,3,1", "", NULL},
        {HEADING "all,all,0,1\nall,all,1,1\nall,all,2,1\nall,all,3", "",
         "has no theta for layer 0, head 0, i 3 of this model (a line needs all columns)"},
        {"step," HEADING "1,all,all,0,1\n1,all,all,1,1\n1,all,all,2,1\n1,all,all,3,1", "", NULL},
        {HEADING PAIRS("all", "all") "1,all,2,1\n", "", "has theta of layer 1, head 0, i 2 twice"},
        {HEADING PAIRS("all", "all") "1,all,4,1\n", "",
         "i must be from 0 to 3 in this model; got '4'"},
        {HEADING PAIRS("2", "all"), "",
         "layer must be 'all' or from 0 to 1 in this model; got '2'"},
        {HEADING PAIRS("0", "all"), "theta.scope=model",
         "layer must be 'all', since the model shares theta; got '0'"},
        {HEADING PAIRS("all", "0"), "",
         "head must be 'all', since the model shares theta; got '0'"},
        {HEADING PAIRS("all", "2"), "theta.scope=head",
         "head must be 'all' or from 0 to 1 in this model; got '2'"},
        {HEADING "all,all,0,inf\n", "theta.form=raw", "theta must be a number; got 'inf'"},
        {"step," HEADING "x,all,all,0,1\n", "", "step must be a whole number; got 'x'"},
        {"layer,head,i\n0,0,0\n", "", "has no column 'theta'"},
        {"layer,head,theta\n0,0,0\n", "", "has no column 'i'"},
        {"", "", "there is no table of theta"},
    };
    const char *message = rows[_i].message;
    write_file("theta.csv", rows[_i].text);
    expect_exit(w, message ? 2 : 0, "$TRAIN tiny.ini %s --check theta.init_from=theta.csv",
                rows[_i].overrides);
    if (message)
        expect_text(w->err, message);
    ck_assert(!exists("runs"));
    run("$TRAIN tiny.ini %s --quiet train.steps=2", rows[_i].overrides);
    expect_exit(w, message ? 2 : 0, "$TRAIN tiny.ini %s --eval --theta ./theta.csv",
                rows[_i].overrides);
    if (message)
        expect_text(w->err, message);
}

/* A logarithm can start above 0 alone; an evaluation takes any number. */
TEST(form_log_refuses_a_theta_not_above_0_as_start)
{
    write_file("theta.csv", HEADING PAIRS("1", "all") "0,all,0,-1\n0,all,1,0\n0,all,2,.1\n"
                                                      "0,all,3,.2\n");
    write_file("nan.csv", HEADING "all,all,0,nan\n");
    write_file("huge.csv", HEADING "all,all,0,1e308\n");
    run("mkfifo pipe; $TRAIN tiny.ini --quiet train.steps=2");
    expect_stdout(": 3 to 4 of 4 pairs of a head rotate, |theta| from 0.003 to 1, ",
                  "$TRAIN tiny.ini --eval --theta ./theta.csv");
    expect_each_refused("$TRAIN tiny.ini",
                        {2, "--check theta.init_from=theta.csv",
                         "theta must be a number above 0, since theta.form = log; got '-1'"},
                        {2, "--check theta.init_from=nan.csv",
                         "theta must be a number above 0, since theta.form = log; got 'nan'"},
                        {2, "--eval --theta nan.csv", "theta must be a number; got 'nan'"},
                        {2, "--eval --theta huge.csv",
                         "theta must be in the range of numbers in float; got '1e308'"},
                        {2, "--eval --theta scale:1e400",
                         "X must be a number in the range of a double; got '1e400'"},
                        {2, "run.name=none theta.init_from=none.csv",
                         "none.csv: there is no table of theta"},
                        {2, "--eval --theta pipe", "not a regular file"});
    ck_assert(!exists("runs/none"));
}

TEST(a_run_starts_from_the_theta_of_a_file)
{
    write_file("there.csv",
               HEADING PAIRS("0", "all") "1,all,0,2\n1,all,1,3\n1,all,2,4\n1,all,3,5\n");
    expect_stderr(0, "theta from /",
                  "mkdir ini; sed 's/^learn = yes/&\\ninit_from = ..\\/there.csv\\nlr_scale = "
                  "0\\nform = raw/' tiny.ini >ini/tiny.ini; $TRAIN64 ini/tiny.ini train.steps=20");
    const char *theta = read_file("runs/tiny/theta.csv");
    expect_text(theta, "\n0,0,all,1,0.2,0.2\n", "\n20,0,all,3,0.003,0.003\n", "\n20,1,all,3,5,5\n");
    expect_text(w->out, "theta: reset to base: eval loss ");
    run("rm there.csv; $TRAIN64 ini/tiny.ini train.steps=40 --resume");
    theta = read_file("runs/tiny/theta.csv");
    expect_text(theta, "\n40,1,all,3,5,5\n");
}

/* Such theta in folders are tested in io/test_io_model.c and
 * io/huggingface/test_huggingface_export.c. */
TEST(only_form_raw_accepts_a_start_below_0)
{
    write_file("there.csv", HEADING PAIRS("0", "all") "1,all,0,1\n1,all,1,-.25\n1,all,2,.1\n"
                                                      "1,all,3,0\n");
    run(TINY "run.name=raw theta.form=raw theta.init_from=there.csv theta.lr_scale=0 train.steps=2 "
             "&& $TRAIN runs/raw/config.ini --resume");
    run(TINY "run.name=again theta.form=raw train.steps=2 train.init_from=runs/raw && $TRAIN "
             "runs/again/config.ini --eval");
    expect_stderr(
        4,
        "theta of layer 1, i 1 is -0.25: theta.form = log needs theta above 0, theta.form "
        "= raw takes any",
        "$TRAIN tiny.ini run.name=log theta.form=log train.init_from=runs/raw");
    expect_stderr(4, "theta of layer 1, i 1 is -0.25: theta.form = log needs",
                  "$TRAIN runs/raw/config.ini --export folder && $TRAIN tiny.ini run.name=log "
                  "theta.form=log train.init_from=folder");
    ck_assert(!exists("runs/log"));
}

TEST(layers_without_positions_are_in_no_table)
{
    run("$TRAIN tiny.ini " SKIPS " theta.tolerances=yes train.steps=20");
    const char *table = read_file("runs/tiny/theta.csv"),
               *end = read_file("runs/tiny/theta_final.csv");
    expect_text(table, "\n0,2,all,0,1,1\n");
    expect_text(end, "\n2,all,0,");
    ck_assert_ptr_null(strstr(table, "\n0,1,all,"));
    ck_assert_ptr_null(strstr(end, "\n1,all,"));
    expect_output("r,C,C_layer_0,C_layer_2\n", "$TRAIN --checkpoint runs/tiny --decay | head -n 1");
    run("$TRAIN tiny.ini " SKIPS " train.steps=20 --eval --theta runs/tiny/theta_final.csv");
}

TEST(the_report_shows_the_cost_of_resetting_theta)
{
    static const char *const lines[] = {"theta: reset to init", "theta: reset to base"};
    run("$TRAIN tiny.ini theta.lr_scale=20 theta.init=perturbed theta.tolerances=yes >out; cp -r "
        "runs/tiny kept; $TRAIN --report kept; rm -r runs");
    const char *page = page_text("kept/report.html");
    for (int i = 0; i < 2; i++)
        expect_text(page, lasting("\n%s\n", line_of(read_file("out"), lines[i])));
    ck_assert_int_eq(count_of(page, "\n| 0 | all | ") + count_of(page, "\n| 1 | all | "), 8);
    run("rm -r kept/checkpoints; $TRAIN --report kept; grep 'theta: reset to init' "
        "kept/report.html");
    /* results of an older run lack it */
    run("sed -i '/^theta_reset_/d' kept/result.csv; $TRAIN --report kept; grep 'theta: max "
        "relative drift' kept/report.html");
    expect_exit(w, 1, "grep -iE 'theta: reset|>nan<' kept/report.html");
    /* a sweep counts the runs that need their theta */
    run(TINY "sweep.theta.lr_scale=0,20 sweep.theta.learn=yes,no");
    line_of(w->out, "theta: reset to init: 1 of the 2 models depends on it");
    run("head -1 runs/tiny/runs.csv | grep ',theta_reset_loss,.*,theta_needed'");
}
