/* Sweeps as a user runs them. */

#include "markup.h"
#include "train_program.h"

#define SWEEP                                                                                      \
    "$TRAIN tiny.ini theta.learn=no train.steps=20 sweep.position.kind=rope,none "                 \
    "sweep.run.seed=1,2 "

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS)

/* A run of a sweep is the run that its settings make alone. */
TEST(a_sweep_prints_one_table_and_writes_it)
{
    run(SWEEP "sweep.jobs=2");
    line_of(w->out, "kind  runs  loss");
    expect_text(line_of(w->out, "rope  2     "), " ± ");
    line_of(w->out, "none  2     ");
    line_of(w->out, "sweep: runs/tiny");
    expect_text(w->err, "[4/4] ");
    const char *sweep = read_file("runs/tiny/sweep.csv"), *runs = read_file("runs/tiny/runs.csv");
    ck_assert(!strncmp(sweep, "position.kind,runs,good,steps_mean,", 35));
    ck_assert_int_eq(count_of(sweep, "\n"), 3);
    ck_assert_int_eq(count_of(runs, "\n"), 5);
    expect_text(runs, "\nkind=none_seed=2,none,2,0,20,");
    run("test -s runs/tiny/kind=rope_seed=1/output.log && $TRAIN tiny.ini theta.learn=no "
        "train.steps=20 position.kind=none run.seed=2 run.name=alone --quiet && cmp "
        "runs/tiny/kind=none_seed=2/metrics.csv runs/alone/metrics.csv");
}

TEST(a_sweep_over_theta_ends_with_a_verdict_that_can_be_its_exit_code)
{
    run(TINY "train.steps=20 sweep.theta.learn=no,yes sweep.run.seed=1,2 theta.tolerance=1");
    line_of(w->out, "theta: near in 2 of the 2 runs that learn it, max relative drift 0.");
    expect_exit(w, 7,
                TINY "train.steps=20 sweep.theta.learn=no,yes theta.tolerance=0 "
                     "theta.check=unmoved run.name=strict");
    line_of(w->out, "theta: near in 0 of the 1 runs that learn it");
    /* a run that failed is taken as one */
    static const char sweep[] = "$TRAIN tiny.ini train.steps=20 optimizer.clip_norm=0 "
                                "run.name=failed sweep.optimizer.lr=1e-2,1e30";
    expect_stderr(5, "the loss is not finite", "%s", sweep);
    line_of(w->out, "1e30  0 of 1  -");
    expect_in_file("runs/failed/runs.csv", "\nlr=1e30,1e30,5,");
    expect_stderr(5, "[2/2] lr=1e30: reused as it was (exit code 5, see runs/failed/lr=1e30/", "%s",
                  sweep);
    expect_no_text(w->err, "nan");
}

/* Differences of another key are computed at each length separately. */
TEST(losses_at_different_lengths_are_neither_ranked_nor_paired)
{
    run("$TRAIN tiny.ini theta.learn=no train.steps=4 --quiet sweep.data.length=8,12 "
        "sweep.position.kind=rope,none sweep.run.seed=1,2");
    line_of(w->out, "losses of different lengths are not comparable");
    expect_no_text(w->out, "lowest loss");
    expect_no_text(w->out, "paired differences");
    const char *paired = read_file("runs/tiny/paired.csv");
    expect_text(paired, "\ndata.length,12,8,0,", "\nposition.kind,none,rope,4,");
}

TEST(a_sweep_reuses_its_finished_runs)
{
    run(SWEEP "--quiet");
    const char *first = read_file("runs/tiny/sweep.csv");
    run("rm -r runs/tiny/kind=none_seed=1 && touch runs/tiny/before");
    expect_stderr(0, "some are finished already", SWEEP);
    expect_text(w->err, "[4/4] kind=none_seed=1: done", "[3/4] kind=none_seed=2: reused as it was");
    expect_no_text(w->err, "has grown");
    ck_assert(!exists("runs/tiny/growth.csv"));
    run("test ! runs/tiny/kind=rope_seed=1/result.csv -nt runs/tiny/before");
    ck_assert_str_eq(first, read_file("runs/tiny/sweep.csv"));
    /* another configuration does not take over results */
    expect_stderr(2, "model.dim: the run has '16', now it is '8'", SWEEP "model.dim=8 --quiet");
    run(SWEEP "model.dim=8 --quiet --overwrite");
}

/* After Ctrl-C the report of the finished part exists and must not prevent the rest. */
NIGHTLY_TEST(an_interrupted_sweep_ends_as_an_uninterrupted_one)
{
#define LONG_SWEEP                                                                                 \
    "$TRAIN ../tiny.ini --quiet theta.learn=no train.steps=800 optimizer.schedule_steps=800 "      \
    "sweep.run.seed=1,2,3"
    run("mkdir straight stopped; cd straight; " LONG_SWEEP);
    expect_exit(w, 75,
                "cd stopped; " LONG_SWEEP
                " & " WAIT_FOR_ROW("20", "runs/tiny/seed=2/metrics.csv") "kill -INT $!; wait $!");
    run("test -s stopped/runs/tiny/report.html");
    expect_exit(w, 1, "test -e stopped/runs/tiny/seed=3");
    run("cd stopped; " LONG_SWEEP);
    run("for i in runs.csv sweep.csv seed=1/metrics.csv seed=2/metrics.csv seed=3/result.csv; do "
        "cmp straight/runs/tiny/$i stopped/runs/tiny/$i || exit 1; done; for i in straight "
        "stopped; do sed " WITHOUT_TIMES
        " $i/runs/tiny/report.html >$i/page || exit 1; done; cmp straight/page stopped/page");
}

#define SEEDS                                                                                      \
    "ROTOR_NO_REPORT=1 $TRAIN tiny.ini theta.learn=no train.eval_batches=1 sweep.run.seed="
#define ENDLESS_SWEEP                                                                              \
    "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet train.steps=10000000 "                              \
    "train.checkpoint_every=10000000 train.eval_every=10000000 sweep.run.seed=1,2 sweep.jobs=2 "
#define WAIT_FOR_BOTH                                                                              \
    "for i in 1 2; do " WAIT_FOR_ROW("20", "runs/tiny/seed=$i/metrics.csv") "done; "

/* After kill -9 of the sweep its runs stop with a checkpoint. The same command waits and continues.
 */
TEST(the_runs_of_a_sweep_that_is_killed_stop)
{
    run(ENDLESS_SWEEP
        "& PID=$!; " WAIT_FOR_BOTH
        "RUNS=$(cat /proc/$PID/task/$PID/children); kill -KILL $PID; wait $PID; "
        "ROTOR_NO_REPORT=1 $TRAIN tiny.ini --quiet train.steps=60 "
        "train.checkpoint_every=10000000 train.eval_every=10000000 sweep.run.seed=1,2 "
        "sweep.jobs=2; code=$?; kill $RUNS; exit $code");
    run("grep -c 'resuming from' runs/tiny/seed=1/output.log");
    run("grep -c 'resuming from' runs/tiny/seed=2/output.log");
}

/* The message names the process to stop: that of the sweep, or of a run that is trained alone. */
TEST(a_second_sweep_is_refused_and_names_the_first)
{
    int first = 0;
    expect_exit(w, 2,
                ENDLESS_SWEEP
                "& PID=$!; " WAIT_FOR_BOTH ENDLESS_SWEEP
                "; second=$?; kill -TERM $PID; wait $PID; echo first $PID $?; exit $second");
    expect_text(w->out, "first ");
    ck_assert_int_eq(sscanf(strstr(w->out, "first "), "first %d 75", &first), 1);
    expect_text(w->err, lasting("train: runs/tiny: process %d is training here", first));
    expect_exit(w, 2,
                TINY
                "train.steps=10000000 run.dir=runs/other run.name=seed=2 & PID=$!; " WAIT_FOR_ROW(
                    "20", "runs/other/seed=2/metrics.csv") ENDLESS_SWEEP
                "run.name=other; second=$?; kill -TERM $PID; wait $PID; echo $PID; exit $second");
    expect_text(w->err,
                lasting("train: runs/other/seed=2: process %d is training here", atoi(w->out)));
    ck_assert(!exists("runs/other/seed=1"));
}

TEST(rates_of_zero_are_warned_about_once_before_the_first_run)
{
    static const char warning[] = "warning: ";
    expect_no_stderr(warning, SEEDS "1,2 train.steps=60 --quiet");
    expect_stderr(
        0,
        "train: warning: in 2 of 3 runs (seed=1 is the first) the learning rate is 0 from "
        "step 61 to the end at 80, since optimizer.schedule_steps = 60: give "
        "optimizer.schedule_steps=80 or optimizer.min_lr_ratio above 0\n",
        SEEDS "1,2,3 train.steps=80 --quiet");
    ck_assert_int_eq(count_of(w->err, warning), 1);
    run(SEEDS "1,2 train.steps=90");
    const char *said = strstr(w->err, "in 2 of 2 runs (seed=1 is the first) the learning rate is 0 "
                                      "from step 81 to the end at 90, ");
    ck_assert_msg(said && said < strstr(w->err, "[1/2]"), "%s", w->err);
    expect_no_stderr(warning, SEEDS "1,2 train.steps=100 optimizer.schedule_steps=100");
    /* rates of zero in new runs are warned about unless quiet */
    static const char new_runs[] =
        "ROTOR_NO_REPORT=1 $TRAIN tiny.ini theta.learn=no optimizer.schedule_steps=10 "
        "train.eval_batches=1 sweep.train.steps=10,20 --overwrite";
    expect_stderr(
        0,
        "warning: in 1 of 2 runs (steps=20 is the first) the learning rate is 0 from step "
        "11 to the end at 20, ",
        "%s", new_runs);
    expect_no_stderr("warning", "%s --quiet", new_runs);
}

/* Old runs get more steps at rate 0, the new one its own schedule; swept keys are no surprise. */
TEST(runs_with_different_schedules_are_a_warning)
{
#define UNLIKE "warning: the runs differ in keys that the sweep does not set: "
#define GIVEN  TINY "theta.learn=no optimizer.schedule_steps=0 run.name=given "
    expect_no_stdout(UNLIKE, GIVEN "train.steps=10 sweep.run.seed=1,2");
    expect_stdout(UNLIKE "optimizer.schedule_steps; their results may not be comparable\n",
                  GIVEN "train.steps=20 sweep.run.seed=1,3,2");
    expect_in_file("runs/given/report.html", UNLIKE "optimizer.schedule_steps; ");
    expect_no_stdout(
        UNLIKE,
        TINY "theta.learn=no optimizer.schedule_steps=0 run.name=lengths sweep.train.steps=10,20");
    write_file("two.ini", "[variant short]\ntrain.steps = 10\n[variant long]\ntrain.steps = 20\n");
    expect_no_stdout(UNLIKE, "cat tiny.ini two.ini >steps.ini && $TRAIN steps.ini --quiet "
                             "theta.learn=no optimizer.schedule_steps=0");
}

TEST(a_sweep_grows_by_values_and_seeds)
{
#define GROWING "$TRAIN tiny.ini theta.learn=no train.steps=20 run.name=grown "
    run(GROWING "sweep.run.seed=1,2 sweep.position.kind=rope && test -s runs/grown/report.html");
    expect_stderr(0, "some are finished already",
                  GROWING "sweep.run.seed=1,2,3 sweep.position.kind=rope");
    expect_text(w->err, "[1/3] seed=1_kind=rope: reused as it was, loss ",
                "[2/3] seed=2_kind=rope: reused as it was, loss ", "[3/3] seed=3_kind=rope: done",
                "train: the sweep has grown: 1 of 3 runs are new\n");
    expect_output("run,run_is\nseed=1_kind=rope,before\nseed=2_kind=rope,before\n"
                  "seed=3_kind=rope,new\n",
                  "cat runs/grown/growth.csv");
    expect_stderr(0, "some are finished already",
                  GROWING "sweep.run.seed=1,2,3 sweep.position.kind=none,rope");
    expect_no_text(w->err, "kind=rope: done");
    expect_text(line_of(w->out, "none  3  "), " ± ");
    expect_text(line_of(w->out, "rope  3  "), " ± ");
    const char *page = page_text("runs/grown/report.html");
    expect_text(page, "6 of 6 runs finished");
    ck_assert_int_eq(count_of(page, " | new\n"), 3);
    ck_assert_int_eq(count_of(page, " | before\n"), 3);
    expect_stderr(0, "all are finished already",
                  GROWING "sweep.run.seed=1,2,3 sweep.position.kind=none,rope");
    expect_no_text(w->err, "has grown");
    expect_output("3\n", "grep -c new runs/grown/growth.csv");
}

TEST(a_sweep_has_grown_only_if_it_has_more_runs_than_before)
{
    static const char sweep[] = "$TRAIN tiny.ini theta.learn=no train.steps=20 sweep.run.seed=";
    run("%s1,2", sweep);
    expect_no_stderr("has grown", "%s3,4", sweep);
    run("%s3", sweep);
    expect_no_stderr("has grown", "%s1,2,3,4", sweep);
    expect_stderr(0, "the sweep has grown: 2 of 5 runs are new\n",
                  "rm -r runs/tiny/seed=1 && %s1,2,3,4,5", sweep);
    expect_output("run,run_is\nseed=1,new\nseed=2,before\nseed=3,before\n"
                  "seed=4,before\nseed=5,new\n",
                  "cat runs/tiny/growth.csv");
    run("%s1,2,3,4,5 --overwrite --quiet", sweep);
    ck_assert(!exists("runs/tiny/growth.csv"));
}

TEST(runs_and_sweeps_do_not_share_a_folder)
{
    static const char *const options[] = {"", "--resume", "--overwrite"};
    run(TINY "train.steps=2 sweep.run.seed=1,2");
    for (int i = 0; i < ROWS(options); i++)
        expect_stderr(2, "runs/tiny holds a sweep: choose another run.name",
                      TINY "train.steps=2 %s", options[i]);
    run("test -s runs/tiny/report.html && test ! -e runs/tiny/config.ini");
    run(TINY "train.steps=2 run.name=alone");
    expect_stderr(2, "runs/alone holds a single run",
                  TINY "train.steps=2 run.name=alone sweep.run.seed=1,2");
    /* the configuration of a run is a path although it has an equals sign */
    expect_stdout("checkpoint: runs/tiny/seed=2/checkpoints/step-00000002.h5, step 2\n",
                  "$TRAIN runs/tiny/seed=2/config.ini run.dir=runs/tiny --eval");
    expect_stdout("\nseed = 7\n", "mkdir run.seed=7; $TRAIN tiny.ini --print-config run.seed=7");
    expect_exit(w, 2, "$TRAIN runs/tiny/seed=3/config.ini");
    expect_stderr(
        4,
        "runs/tiny is the folder of a sweep: add the name of one of its 2 runs: 'seed=1', "
        "'seed=2'\n",
        "$TRAIN --checkpoint runs/tiny --eval");
}

/* Four threads for two runs at a time, three for two, one for two. Each run has its own length. */
TEST(runs_at_a_time_share_the_threads)
{
    static const int threads[][2] = {{4, 2}, {3, 1}, {1, 1}};
    for (int i = 0; i < ROWS(threads); i++)
        run(TINY "train.steps=2 sweep.jobs=2 sweep.run.seed=1,2 --overwrite --threads %d && grep "
                 "-x 'threads = %d' runs/tiny/seed=1/config.ini",
            threads[i][0], threads[i][1]);
    run(TINY "theta.learn=no train.steps=1 optimizer.schedule_steps=1 run.name=two "
             "position.scaling=dynamic position.scale=2 sweep.data.length=12,16");
    expect_output(
        "original_len = 12\noriginal_len = 16\n",
        "cat runs/two/length=12/config.ini runs/two/length=16/config.ini | grep original_len");
}

TEST(every_run_is_checked_before_the_first_begins)
{
    expect_stderr(2, "kind=t5_attention=linear_elu:\n",
                  "$TRAIN tiny.ini theta.learn=no sweep.position.kind=rope,t5 "
                  "sweep.model.attention=softmax,linear_elu");
    expect_text(w->err, "position.kind = t5 changes attention scores");
    expect_exit(w, 1, "test -e runs");
    expect_output("tiny.ini: the configurations of 3 runs are valid\n",
                  "$TRAIN --check tiny.ini sweep.run.seed=1,2,3");
}

TEST(a_key_is_accepted_if_it_has_an_effect_in_one_run_of_a_sweep)
{
    static const char *const idle[][2] = {
        {"position.scale=4", "command line: position.scale has no effect in any run of the sweep: "
                             "it needs position.scaling other than none\n"},
        {"sweep.position.beta_fast=8,9", "command line: [sweep] position.beta_fast has no effect "
                                         "in any run: it needs position.scaling = yarn\n"},
        {"train.min_delta=0.5", "command line: train.min_delta has no effect in any run of the "
                                "sweep: it needs train.patience above 0\n"}};
    static const char base[] = "tiny.ini --quiet --check theta.learn=no ";
    for (int i = 0; i < ROWS(idle); i++)
        expect_message(2, idle[i][1], "$TRAIN %s sweep.run.seed=1,2 %s", base, idle[i][0]);
    run("$TRAIN %s sweep.position.scaling=none,linear position.scale=4", base);
    run("$TRAIN %s sweep.position.scaling=none,yarn position.scale=2 sweep.position.beta_fast=8,9",
        base);
    run("cp tiny.ini v.ini; printf '[position]\\nscale = 4\\n[variant a]\\nposition.scaling = "
        "linear\\n[variant b]\\nposition.base = 500\\n' >>v.ini");
    run("$TRAIN v.ini --quiet --check && $TRAIN v.ini --print-config");
    run("sed -i 's/position.scaling = linear/theta.init_sigma = 0.1/' v.ini");
    expect_message(2,
                   "v.ini:20: position.scale has no effect in any run of the sweep: it needs "
                   "position.scaling other than none\n"
                   "v.ini: [variant a] theta.init_sigma has no effect in any run: it needs "
                   "theta.init = perturbed\n",
                   "$TRAIN v.ini --quiet");
    ck_assert(!exists("runs"));
}

/* learn=no has one run of each seed, whatever the rate of theta. */
TEST(runs_that_a_key_cannot_change_are_one)
{
    run("$TRAIN tiny.ini train.steps=4 sweep.theta.learn=no,yes sweep.theta.lr_scale=1,100 "
        "sweep.run.seed=1,2 --quiet");
    expect_text(w->out, "\nno     -         2     ", "\nyes    1         2     ",
                "theta.lr_scale = 100 against 1: ", " (2 pairs)\n",
                "2 runs have the effective settings and the seed of another "
                "(learn=no_lr_scale=100_seed=1, ...): counted once\n");
    expect_text(read_file("runs/tiny/sweep.csv"), "\nno,,2,2,");
    expect_text(read_file("runs/tiny/paired.csv"), "\ntheta.learn,yes,no,4,",
                "\ntheta.lr_scale,100,1,2,");
    run("printf '[variant a]\n[variant b]\noptimizer.beta1 = 0.9\n[variant c]\noptimizer.beta1 = "
        "0.8\n' | cat tiny.ini - >v.ini; $TRAIN v.ini train.steps=4 --quiet");
    expect_text(w->out, "\na        1     ", "\nc        1     ", "another (b): counted once\n");
    expect_text(read_file("runs/v/paired.csv"), "\nvariant,b,a,0,", "\nvariant,c,a,1,");
}

TEST(a_sweep_does_not_compare_runs_from_before_and_after_a_change_of_its_data)
{
#define ON_TEXT                                                                                    \
    "tiny.ini theta.learn=no data.task=text data.vocab=32 data.file=a.txt train.steps=4 "
    static const char sweep[] = "$TRAIN " ON_TEXT "sweep.run.seed=1,2 sweep.optimizer.lr=0.01,";
    run("yes 'some lines of text' | head -c 2000 >a.txt");
    run("%s0.02 --quiet", sweep);
    line_of(w->out, "lowest loss: ");
    expect_no_stderr("warning", "%s0.02", sweep);
    expect_stderr(0, "warning: the data has changed since seed=1_lr=0.01: it was ",
                  "tr a-m n-z <a.txt >b.txt; mv b.txt a.txt; %s0.02,0.03 --quiet", sweep);
    expect_text(w->out, "losses of different contents of ", "/a.txt are not comparable\n");
    expect_no_text(w->out, "lowest loss");
    expect_text(read_file("runs/tiny/paired.csv"), "\noptimizer.lr,0.02,0.01,2,",
                "\noptimizer.lr,0.03,0.01,0,");
    run("%s0.02,0.03 --quiet --overwrite", sweep);
    line_of(w->out, "lowest loss: ");
    ck_assert_str_eq(w->err, "");
}
