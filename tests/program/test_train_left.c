/* Changes that a resumed run finds: other data, tables without their rows. */

#include "train_program.h"

#define TEXT TINY "data.task=text data.vocab=32 data.file=a.txt run.log_every=5 "

static void write_text(void)
{
    run("yes 'some lines of text' | head -c 2000 >a.txt; : >b.txt");
}

#define OLDER "a.txt (2000 bytes, XXH128 "
#define NEWER "a.txt (2001 bytes, XXH128 "

SUITE(PROGRAM_OPTIONS)

TEST(changed_data_is_a_warning_with_both_digests)
{
    write_text();
    run(TEXT "train.steps=20");
    expect_no_stderr("warning: the data", TEXT "train.steps=40 --resume");
    expect_stderr(0, "warning: the data has changed since the run was stopped: it was ",
                  "printf x >>a.txt; " TEXT "--resume");
    expect_text(w->err, OLDER, ", it is ", NEWER,
                "); the continuation will not be bitwise identical, and its evaluations are not "
                "compared with earlier ones\n");
    /* from now on that is its data, also for the evaluation of a run that is finished */
    expect_no_stderr("warning: the data", TEXT "--resume");
    run("tr s S <a.txt >b.txt; mv b.txt a.txt; " TEXT "--resume");
    ck_assert_int_eq(count_of(w->err, NEWER), 2);
    /* the checkpoint contains its own vocabulary */
    run(TEXT "data.level=char train.steps=2 --overwrite && cp runs/tiny/vocab.txt v.txt && " TEXT
             "data.level=char data.vocab_file=v.txt train.steps=20 --overwrite");
    expect_no_stderr("warning: the data",
                     "echo x >>v.txt; " TEXT "data.level=char data.vocab_file=v.txt --resume");
}

/* Other texts are evaluated from step 20 on, whose losses are higher than those before. */
TEST(evaluations_of_other_texts_are_not_compared)
{
    write_text();
    run("head -c 600 a.txt >e.txt; " TEXT "data.eval_file=e.txt train.steps=20 train.eval_every=5 "
        "train.patience=2");
    const double before = result_of("tiny", "eval_loss");
    run("printf x >>a.txt; " TEXT "data.eval_file=e.txt --resume train.steps=25");
    expect_text(w->err, "will not be bitwise identical\n");
    run("tr 'a-m' 'n-z' <a.txt | head -c 600 >e.txt");
    expect_stderr(0, "; its results are of the former", "$TRAIN runs/tiny/config.ini --eval");
    run(TEXT "data.eval_file=e.txt --resume train.steps=40 optimizer.lr=1e-5");
    const double after = result_of("tiny", "eval_loss"), step = result_of("tiny", "model_step");
    ck_assert_double_gt(after, before);
    ck_assert(isnan(step) || step > 25);
    expect_no_stderr("warning: the data", "$TRAIN runs/tiny/config.ini --eval");
    NEEDS_PROGRAM("gnuplot");
    run("$TRAIN --report runs/tiny");
    expect_exit(w, 1, "grep -q 'the best evaluation: loss' runs/tiny/report.html");
}

TEST(an_evaluation_of_texts_that_may_have_been_trained_on_is_a_warning)
{
    write_text();
    run(TEXT "train.steps=20");
    expect_no_stderr("warning:", "$TRAIN runs/tiny/config.ini --eval");
    run("head -c 1500 a.txt >b.txt; mv b.txt a.txt");
    expect_stderr(0, "; what it was trained on may be evaluated",
                  "$TRAIN runs/tiny/config.ini --eval");
    expect_no_stderr("warning:", "head -c 600 a.txt >e.txt; $TRAIN runs/tiny/config.ini --eval "
                                 "data.eval_file=e.txt");
}

/* Steps are logged every 10, and evaluated every 20. */
static const struct {
    const char *change, *resume;
    int count; /* of warnings */
    const char *says, *also;
} rows[] = {
    {":", "", 0, "", ""},
    {":", "run.log_every=7", 0, "", ""},
    {":", "run.log_every=3 train.eval_every=30", 0, "", ""},
    {"rm runs/tiny/metrics.csv", "", 1,
     "runs/tiny/metrics.csv has no rows: those up to step 40 are lost, and the table begins after "
     "them\n",
     ""},
    {"rm runs/tiny/theta.csv runs/tiny/timing.csv", "", 2, "runs/tiny/timing.csv has no rows",
     "runs/tiny/theta.csv has no rows"},
    {": >runs/tiny/metrics.csv", "", 1, "runs/tiny/metrics.csv has no rows", ""},
    {"sed -i '4,$d' runs/tiny/metrics.csv", "", 1,
     "runs/tiny/metrics.csv ends at step 20: its rows up to step 40 are lost\n", ""},
    {"sed -i '/^40,/d' runs/tiny/theta.csv", "", 1,
     "runs/tiny/theta.csv ends at step 20: its rows up to step 40 are lost\n", ""},
    {"truncate -s -3 runs/tiny/metrics.csv", "run.log_every=7", 1,
     "runs/tiny/metrics.csv ends at step 30: its rows up to step 40 are lost\n", ""},
};

TEST_ROWS(a_table_with_missing_rows_is_a_warning, 0, ROWS(rows))
{
    run(TINY "train.steps=40");
    run("%s; $TRAIN tiny.ini --quiet --resume %s", rows[_i].change, rows[_i].resume);
    expect_text(w->err, rows[_i].says, rows[_i].also);
    ck_assert_int_eq(count_of(w->err, "warning: runs/tiny/"), rows[_i].count);
    expect_no_stderr("warning:", TINY "--resume %s", rows[_i].resume);
}

TEST(a_run_that_was_killed_has_lost_no_rows)
{
    expect_exit(w, 137,
                TINY "train.steps=100000 optimizer.schedule_steps=100000 & " WAIT_FOR_ROW(
                    "50", "runs/tiny/metrics.csv") "kill -9 $!; wait $!");
    expect_exit(
        w, 75,
        TINY "train.steps=100000 optimizer.schedule_steps=100000 --resume & p=$!; until grep -q "
             "'resuming from' .err; do kill -0 $p || exit 99; sleep 0.01; done; kill $p; wait $p");
    expect_no_text(w->err, "warning:");
}

/* The report names the data that the run has read. */
TEST(a_report_shows_no_samples_of_a_text_that_the_run_has_not_read)
{
    NEEDS_PROGRAM("gnuplot");
    write_text();
    run(TEXT "train.steps=20");
    run("$TRAIN --report runs/tiny");
    expect_in_file("runs/tiny/report.html", "<h2>Samples</h2>");
    expect_stderr(0,
                  "no attention maps and no samples: the data has changed since the run: it was ",
                  "tr s S <a.txt >b.txt; mv b.txt a.txt; $TRAIN --report runs/tiny");
    expect_no_text(read_file("runs/tiny/report.html"), "<h2>Samples</h2>");
}

/* Results of the older text are neither reused nor recorded beside those of the newer one. */
TEST(an_ended_run_is_evaluated_anew_on_changed_data)
{
    static const char reset[] = "theta: reset to init: ";
    write_text();
    run(TEXT "train.steps=20");
    const char *older = line_of(w->out, reset);
    run("tr a-m n-z <a.txt >b.txt; mv b.txt a.txt; " TEXT "train.steps=20 --eval");
    const char *newer = line_of(w->out, reset);
    ck_assert_str_ne(newer, older);
    for (int i = 0; i < 2; i++) {
        run(TEXT "train.steps=20 --resume");
        ck_assert_str_eq(line_of(w->out, reset), newer);
        ck_assert_int_eq(strstr(w->err, "; the results are those of the changed data\n") != NULL,
                         !i);
    }
    /* the rows of the run stay, and the new session follows them */
    expect_stdout("5\n10\n15\n20\n20\n", "sed '1d; s/,.*//' runs/tiny/timing.csv");
}
