/* train.patience and the best evaluation, through the program. */

#include "train_program.h"

/* No evaluation but the first is an improvement by so much, whatever the last digits of a training:
 * with train.eval_every = 20 a patience of N ends a run at step 20 (N + 1). */
#define RUN  "tiny.ini optimizer.schedule_steps=100 train.keep=10 "
#define WAIT RUN "train.min_delta=1000 "

#define STOPPED(step, steps, evaluations)                                                          \
    "stopped early at step " step " of " steps                                                     \
    ": the evaluation loss has not improved by 1000 (train.min_delta) in " evaluations             \
    " (train.patience)\n"

static void expect_lines(const char *text, const char *lines)
{
    const size_t size = strlen(text), end = strlen(lines);
    ck_assert_msg(size >= end && !strcmp(text + size - end, lines),
                  "expected at the end:\n%sgot:\n%s", lines, text);
}

/* The parameters, the moments and what was evaluated. */
static void expect_same_run(const char *one, const char *other, int step)
{
    run("for i in %s %s; do h5dump -a /patience_count -a /patience_loss -a /best_eval_step "
        "runs/$i/checkpoints/step-%08d.h5 | tail -n +2 >$i.txt; done; cmp %s.txt %s.txt",
        one, other, step, one, other);
    expect_same_model(one, other, step);
    expect_same_in(one, other, "metrics.csv theta.csv result.csv");
}

SUITE(PROGRAM_OPTIONS)

TEST(a_run_ends_when_its_patience_has_run_out)
{
    NEEDS_PROGRAM("gnuplot");
    expect_printed("steps: 60, 5760 tokens\n",
                   "$TRAIN " WAIT "train.steps=100 train.patience=2 --quiet");
    expect_lines(w->out, "run: runs/tiny\n" STOPPED("60", "100", "2 evaluations"));
    expect_output("7\nstopped_early,1\n",
                  "grep -c '' runs/tiny/metrics.csv; grep ^stopped_early runs/tiny/result.csv");
    expect_printed("step-00000060.h5\n", "ls runs/tiny/checkpoints");
    expect_no_text(w->out, "step-00000080.h5\n");
    run("$TRAIN --report runs/tiny && grep 'stopped early at step 60 of 100: the' "
        "runs/tiny/report.html");
}

TEST(a_run_whose_patience_lasts_takes_all_its_steps)
{
    expect_unprinted("stopped early",
                     "$TRAIN " RUN "train.patience=1 train.steps=60 train.eval_every=29 --quiet");
    expect_output("stopped_early,0\n", "grep ^stop runs/tiny/result.csv");
    run("$TRAIN tiny.ini --quiet --overwrite");
    expect_exit(w, 1, "grep ^stop runs/tiny/result.csv");
}

TEST(a_run_that_has_stopped_early_says_so_when_it_is_resumed)
{
    run("$TRAIN " WAIT "train.steps=100 train.patience=1; cp -r runs before");
    const char *before = line_of(w->out, "eval: ");
    run("$TRAIN " WAIT "train.steps=100 train.patience=1 --resume");
    ck_assert_str_eq(line_of(w->out, "eval: "), before);
    expect_lines(w->out, "run: runs/tiny\n" STOPPED("40", "100", "1 evaluation"));
    expect_text(w->err, "train: nothing is left to train: " STOPPED("40", "100", "1 evaluation"));
    expect_text(w->err,
                "train: set a larger train.patience or more train.steps to continue the run\n");
    run("diff -r before/tiny runs/tiny");
}

TEST(a_larger_patience_continues_as_if_it_had_been_so_from_the_start)
{
    run("$TRAIN " WAIT "train.steps=100 train.patience=3 run.name=straight --quiet");
    run("$TRAIN " WAIT "train.steps=100 train.patience=1 run.name=parts --quiet");
    expect_lines(w->out, STOPPED("40", "100", "1 evaluation"));
    run("$TRAIN " WAIT
        "train.steps=100 train.patience=2 run.name=parts --quiet --resume --threads 2");
    expect_lines(w->out, STOPPED("60", "100", "2 evaluations"));
    run("$TRAIN " WAIT "train.steps=100 train.patience=3 run.name=parts --quiet --resume");
    expect_lines(w->out, STOPPED("80", "100", "3 evaluations"));
    expect_same_run("straight", "parts", 80);
}

/* At a learning rate of 0 no evaluation after the first is better. The first part ends between two
 * evaluations, and counts although it has no patience. */
TEST(evaluations_are_counted_over_an_interruption)
{
    const char *flat = RUN "optimizer.lr=0 --quiet";
    run("$TRAIN %s run.name=straight train.steps=100 train.patience=2", flat);
    run("$TRAIN %s run.name=parts train.steps=50", flat);
    expect_printed("steps: 60, ",
                   "$TRAIN %s run.name=parts train.steps=100 train.patience=2 --resume", flat);
    expect_same_run("straight", "parts", 60);
}

TEST(with_more_steps_the_run_continues_and_its_patience_anew)
{
    run("$TRAIN " WAIT "train.steps=100 train.patience=1 run.name=parts --quiet");
    expect_told(0,
                "the run had stopped early at step 40; it continues, and train.patience is counted "
                "from 0 again\n",
                "$TRAIN " WAIT "train.steps=200 train.patience=1 run.name=parts --resume");
    expect_lines(w->out, STOPPED("60", "200", "1 evaluation"));
    run("$TRAIN " WAIT "train.steps=200 train.patience=2 run.name=straight --quiet");
    expect_same_in("straight", "parts", "metrics.csv");
    expect_same_model("straight", "parts", 60);
}

TEST(a_target_that_was_not_reached_is_missed)
{
    expect_exit(w, 7,
                "$TRAIN " WAIT "train.steps=100 train.patience=1 train.target_accuracy=1 --quiet");
    expect_lines(w->out, STOPPED("40", "100", "1 evaluation"));
    expect_text(w->err, "is below train.target_accuracy = 1\n");
    expect_printed(
        "steps: 20, ",
        "$TRAIN " WAIT
        "train.steps=100 train.patience=1 --quiet --overwrite train.target_accuracy=0.0001");
    expect_no_text(w->out, "stopped early");
}

TEST(a_patience_that_can_never_end_a_run_is_refused)
{
    expect_told(2,
                "command line: train.patience = 4 can never end this run: with train.eval_every = "
                "20 it runs out at step 100 at the earliest, and train.steps = 100\n",
                "$TRAIN " RUN "train.steps=100 train.patience=4");
    expect_exit(w, 2,
                "$TRAIN " RUN
                "train.steps=100 train.patience=99999999 train.eval_every=99999999 --check");
    ck_assert(!exists("runs"));
    run("$TRAIN " RUN "train.steps=101 train.patience=4 --check");
}

TEST(the_runs_of_a_sweep_stop_early_each_for_itself)
{
    expect_told(0, ": stopped early, loss ",
                "$TRAIN " WAIT "train.steps=100 sweep.train.patience=1,3");
    expect_output("steps,40\nsteps,80\n", "grep -h ^steps runs/tiny/*/result.csv");
    run("$TRAIN " WAIT "train.steps=100 sweep.train.patience=1,3");
    expect_output("steps,40\nsteps,80\n", "grep -h ^steps runs/tiny/*/result.csv");
}

/* ---- the last lines ---- */

/* exp(loss), and what result.csv has. */
TEST(a_language_model_ends_with_its_perplexity)
{
    run("sed '/^vocab/d' tiny.ini >lm.ini; $TRAIN lm.ini --quiet data.task=text data.file=lm.ini "
        "data.objective=lm model.causal=yes >out; loss=$(sed -n 's/^eval_loss,//p' "
        "runs/lm/result.csv); bits=$(sed -n 's/^bits_per_byte,//p' runs/lm/result.csv); awk -v "
        "loss=$loss -v bits=$bits 'BEGIN { printf \"perplexity %%.4g, %%.4g bits per byte\\n\", "
        "exp(loss), bits }' >wanted; grep '^perplexity ' out | cmp - wanted");
    expect_unprinted("perplexity", "$TRAIN tiny.ini --quiet");
}

/* ---- the best evaluation ---- */

/* The loss of the task falls all the way to step 39. */
TEST(the_last_evaluation_can_be_the_best)
{
    expect_unprinted("best: ", "$TRAIN tiny.ini --quiet train.steps=39");
    expect_printed("step-00000039.h5, step 39\n", "$TRAIN tiny.ini --eval --best");
    expect_unprinted("best: ", "$TRAIN tiny.ini --quiet --resume train.steps=39");
}

#define WORSENING                                                                                  \
    RUN "optimizer.lr=10 optimizer.warmup_steps=60 train.steps=100 train.patience=3 --quiet"

/* A run that becomes worse: the last lines, result.csv and the report are of the model that --eval
 * uses, also when the ended run is resumed. */
TEST(the_results_of_a_run_with_patience_are_of_its_best_evaluation)
{
    int best_step, last_step;
    double last_loss;
    run("$TRAIN " WORSENING);
    const char *eval = line_of(w->out, "eval: "), *best = line_of(w->out, "best: ");
    ck_assert_int_eq(sscanf(best,
                            "best: step %d, which these results, the report, --predict and other "
                            "uses take; last: loss %lf at step %d",
                            &best_step, &last_loss, &last_step),
                     3);
    ck_assert_msg(best_step < last_step, "the test needs a run that becomes worse");
    expect_in_file("runs/tiny/result.csv",
                   lasting("steps,%d\nmodel_step,%d\nlast_eval_loss,", last_step, best_step));
    expect_printed(eval, "cp runs/tiny/result.csv before.csv; $TRAIN tiny.ini --eval --quiet");
    run("$TRAIN " WORSENING " --resume");
    ck_assert_str_eq(line_of(w->out, "eval: "), eval);
    ck_assert_str_eq(line_of(w->out, "best: "), best);
    expect_same_files("before.csv", "runs/tiny/result.csv");
    run("$TRAIN tiny.ini --eval --last --quiet");
    ck_assert_double_eq_tol(last_loss, number_behind(w->out, "eval: loss "), 1e-5 * last_loss);
    shell(w, "$TRAIN --report runs/tiny");
    expect_in_file("runs/tiny/report.html",
                   lasting(" after %d steps, the best evaluation; at the end, after %d steps, loss "
                           "%.6g<",
                           best_step, last_step, last_loss));
    /* a best checkpoint that is gone costs a warning */
    expect_told(0, "warning: the results are those of the last step, not of the best: ",
                "rm runs/tiny/checkpoints/step-%08d.h5; $TRAIN " WORSENING " --resume", best_step);
    expect_exit(w, 1, "grep -q model_step runs/tiny/result.csv");
}

TEST(an_extended_run_knows_nothing_of_where_it_once_ended)
{
    run("$TRAIN tiny.ini --quiet run.name=straight");
    run("$TRAIN tiny.ini --quiet run.name=parts train.steps=39");
    run("$TRAIN tiny.ini --quiet run.name=parts --resume");
    expect_same_run("straight", "parts", 60);
    run("h5dump -a /eval_loss runs/parts/checkpoints/step-00000039.h5");
    expect_exit(
        w, 1,
        "h5dump -a /eval_loss runs/parts/checkpoints/step-00000040.h5 | grep -q 'unable to open'");
}
