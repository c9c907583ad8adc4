/* Sweeps as a user runs them. */

#include "train_program.h"

#define SWEEP                                                                                      \
    "$TRAIN tiny.ini theta.learn=no train.steps=20 sweep.position.kind=rope,none "                 \
    "sweep.run.seed=1,2 "

START_TEST(a_sweep_prints_one_table_and_writes_it)
{
    char line[LINE_SIZE];
    expect_exit(w, 0, SWEEP "sweep.jobs=2");
    line_of(w->out, "kind  runs  loss", line);
    expect_text(line_of(w->out, "rope  2     ", line), " ± ");
    line_of(w->out, "none  2     ", line);
    line_of(w->out, "sweep: runs/tiny", line);
    expect_text(w->err, "[4/4] ");
    char *sweep = read_file("runs/tiny/sweep.csv"), *runs = read_file("runs/tiny/runs.csv");
    ck_assert(!strncmp(sweep, "position.kind,runs,good,steps_mean,", 35));
    ck_assert_int_eq(count_of(sweep, "\n"), 3);
    ck_assert_int_eq(count_of(runs, "\n"), 5);
    expect_text(runs, "\nkind=none_seed=2,none,2,0,20,");
    rt_free(sweep);
    rt_free(runs);
    expect_exit(w, 0, "test -s runs/tiny/kind=rope_seed=1/output.log");
}
END_TEST

/* A run of a sweep is the run that its settings make alone. */
START_TEST(a_sweep_over_theta_ends_with_a_verdict_that_can_be_its_exit_code)
{
    char line[LINE_SIZE];
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet train.steps=20 sweep.theta.learn=no,yes "
                "sweep.run.seed=1,2 theta.tolerance=1");
    line_of(w->out, "theta: near in 2 of the 2 runs that learn it, max relative drift 0.", line);
    expect_exit(w, 7,
                "$TRAIN tiny.ini --quiet train.steps=20 sweep.theta.learn=no,yes "
                "theta.tolerance=0 theta.check=yes run.name=strict");
    line_of(w->out, "theta: near in 0 of the 1 runs that learn it", line);
}
END_TEST

START_TEST(a_run_of_a_sweep_has_the_bits_of_a_run_alone)
{
    expect_exit(w, 0, SWEEP "sweep.jobs=2 --quiet");
    expect_exit(w, 0,
                "$TRAIN tiny.ini theta.learn=no train.steps=20 position.kind=none run.seed=2 "
                "run.name=alone --quiet");
    expect_exit(w, 0, "cmp runs/tiny/kind=none_seed=2/metrics.csv runs/alone/metrics.csv");
}
END_TEST

START_TEST(what_is_finished_is_not_done_again)
{
    expect_exit(w, 0, SWEEP "--quiet");
    char *first = read_file("runs/tiny/sweep.csv");
    expect_exit(w, 0, "rm -r runs/tiny/kind=none_seed=1 && touch runs/tiny/before");
    expect_exit(w, 0, SWEEP);
    expect_text(w->err, "some are finished already");
    expect_text(w->err, "[4/4] kind=none_seed=1: done");
    expect_no_text(w->err, "[3/4]");
    expect_exit(w, 0, "test ! runs/tiny/kind=rope_seed=1/result.csv -nt runs/tiny/before");
    char *again = read_file("runs/tiny/sweep.csv");
    ck_assert_str_eq(first, again);
    rt_free(first);
    rt_free(again);
}
END_TEST

START_TEST(an_interrupted_sweep_goes_on)
{
    expect_exit(w, 75,
                "$TRAIN tiny.ini --quiet theta.learn=no train.steps=100000 train.eval_every=100000 "
                "train.checkpoint_every=100000 run.log_every=10 sweep.run.seed=1,2,3 & "
                "PID=$!; until grep -q '^20,' runs/tiny/seed=1/metrics.csv 2>.grep; do "
                "kill -0 $PID || exit 99; sleep 0.01; done; kill -TERM $PID; wait $PID");
    expect_exit(w, 0, "ls runs/tiny/seed=1/checkpoints/*.h5");
    expect_exit(w, 1, "test -e runs/tiny/seed=3");
}
END_TEST

START_TEST(a_run_that_diverges_is_a_row_that_says_so)
{
    expect_exit(w, 5,
                "$TRAIN tiny.ini theta.learn=no train.steps=30 sweep.optimizer.lr=1e-3,1e30 "
                "optimizer.clip_norm=0 optimizer.kind=sgd optimizer.momentum=0");
    expect_text(w->err, "the loss is not finite");
    char line[LINE_SIZE];
    line_of(w->out, "1e30  0 of 1  -", line);
    char *runs = read_file("runs/tiny/runs.csv");
    expect_text(runs, "\nlr=1e30,1e30,5,");
    rt_free(runs);
}
END_TEST

START_TEST(another_configuration_does_not_take_over_results)
{
    expect_exit(w, 0, SWEEP "--quiet");
    expect_exit(w, 2, SWEEP "model.dim=8 --quiet");
    expect_text(w->err, "model.dim: the run has '16', now it is '8'");
    expect_exit(w, 0, SWEEP "model.dim=8 --quiet --overwrite");
}
END_TEST

START_TEST(every_run_is_checked_before_the_first_begins)
{
    expect_exit(w, 2,
                "$TRAIN tiny.ini theta.learn=no sweep.position.kind=rope,t5 "
                "sweep.model.attention=softmax,linear_elu");
    expect_text(w->err, "kind=t5_attention=linear_elu:\n");
    expect_text(w->err, "position.kind = t5 changes the scores");
    expect_exit(w, 1, "test -e runs");
    expect_exit(w, 0, "$TRAIN --check tiny.ini sweep.run.seed=1,2,3");
    ck_assert_str_eq(w->out, "tiny.ini: the configurations of 3 runs are good\n");
}
END_TEST

int main(void)
{
    with_reports = true;
    Suite *suite = suite_create("train sweep");
    TCase *tests = program_case(suite);
    tcase_add_test(tests, a_sweep_prints_one_table_and_writes_it);
    tcase_add_test(tests, a_sweep_over_theta_ends_with_a_verdict_that_can_be_its_exit_code);
    tcase_add_test(tests, a_run_of_a_sweep_has_the_bits_of_a_run_alone);
    tcase_add_test(tests, what_is_finished_is_not_done_again);
    tcase_add_test(tests, an_interrupted_sweep_goes_on);
    tcase_add_test(tests, a_run_that_diverges_is_a_row_that_says_so);
    tcase_add_test(tests, another_configuration_does_not_take_over_results);
    tcase_add_test(tests, every_run_is_checked_before_the_first_begins);
    return run_suite(suite);
}
