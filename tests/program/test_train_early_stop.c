/* train.patience and the best evaluation, through the program. */

#include "train_program.h"

/* Only the first evaluation counts as an improvement, whatever the last digits of a training: with
 * train.eval_every = 20 a patience of N ends a run at step 20 (N + 1). */
#define RUN  "tiny.ini optimizer.schedule_steps=100 train.keep=10 "
#define WAIT RUN "train.min_delta=1000 train.steps=100 "

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
    expect_stdout("steps: 60, 5760 tokens\n", "$TRAIN " WAIT "train.patience=2 --quiet");
    expect_lines(w->out, "run: runs/tiny\n" STOPPED("60", "100", "2 evaluations"));
    expect_output("7\nstopped_early,1\n",
                  "grep -c '' runs/tiny/metrics.csv; grep ^stopped_early runs/tiny/result.csv");
    expect_stdout("step-00000060.h5\n", "ls runs/tiny/checkpoints");
    expect_no_text(w->out, "step-00000080.h5\n");
    run("$TRAIN --report runs/tiny && grep 'stopped early at step 60 of 100: the' "
        "runs/tiny/report.html");
}

/* The loss of the task falls all the way to step 39: the last evaluation can be the best. */
TEST(a_run_whose_patience_lasts_takes_all_its_steps)
{
    expect_no_stdout("best: ",
                     "$TRAIN " RUN "train.patience=1 train.steps=39 train.eval_every=19 --quiet");
    expect_output("stopped_early,0\n", "grep ^stop runs/tiny/result.csv");
    expect_no_stdout("best: ", TINY "train.steps=39 --overwrite");
    expect_exit(w, 1, "grep ^stop runs/tiny/result.csv");
    expect_stdout("step-00000039.h5, step 39\n", "$TRAIN tiny.ini --eval --best");
    expect_no_stdout("best: ", TINY "--resume train.steps=39");
}

TEST(a_trial_with_too_few_steps_is_a_warning)
{
#define TRIAL "$TRAIN trial.ini run.name=tiny "
    run("sed 's/^schedule_.*/warmup_steps = 30/; /^steps/s/.*/steps = 400\\npatience = 2/' "
        "tiny.ini >trial.ini; " TRIAL "--check");
    run(TRIAL "train.steps=20");
    expect_text(w->err, "warning: train.patience = 2 cannot end the run: it runs out at step 60 at "
                        "the earliest, and train.steps = 20\n");
    expect_text(w->err, "warning: optimizer.warmup_steps = 30, and train.steps = 20: the learning "
                        "rate rises to the end");
    expect_stdout("step 20\n", "$TRAIN runs/tiny/config.ini --eval");
    expect_stdout("steps: 20, ", "$TRAIN runs/tiny/config.ini --resume --quiet");
    run(TRIAL "--resume train.steps=80");
    expect_no_text(w->err, "train.patience = 2 cannot");
}

TEST(resuming_a_run_that_stopped_early_explains_that_nothing_is_left)
{
#define LONGER RUN "train.min_delta=1000 train.steps=200 "
    run("$TRAIN " WAIT "train.patience=1; cp -r runs before");
    const char *before = line_of(w->out, "eval: ");
    run("$TRAIN " WAIT "train.patience=1 --resume");
    ck_assert_str_eq(line_of(w->out, "eval: "), before);
    expect_lines(w->out, "run: runs/tiny\n" STOPPED("40", "100", "1 evaluation"));
    expect_text(w->err, "train: nothing is left to train: " STOPPED("40", "100", "1 evaluation"),
                "train: set a larger train.patience or more train.steps to continue the run\n");
    run("diff -r before/tiny runs/tiny");
    expect_stderr(
        0,
        "the run had stopped early at step 40; it continues, and train.patience is counted "
        "from 0 again\n",
        "$TRAIN " LONGER "train.patience=1 --resume");
    expect_lines(w->out, STOPPED("60", "200", "1 evaluation"));
    run("$TRAIN " LONGER "train.patience=2 run.name=straight --quiet");
    expect_same_in("straight", "tiny", "metrics.csv");
    expect_same_model("straight", "tiny", 60);
}

TEST(a_larger_patience_continues_the_run_as_if_set_from_the_start)
{
    run("$TRAIN " WAIT "train.patience=3 run.name=straight --quiet");
    run("$TRAIN " WAIT "train.patience=1 run.name=parts --quiet");
    expect_lines(w->out, STOPPED("40", "100", "1 evaluation"));
    run("$TRAIN " WAIT "train.patience=2 run.name=parts --quiet --resume --threads 2");
    expect_lines(w->out, STOPPED("60", "100", "2 evaluations"));
    run("$TRAIN " WAIT "train.patience=3 run.name=parts --quiet --resume");
    expect_lines(w->out, STOPPED("80", "100", "3 evaluations"));
    expect_same_run("straight", "parts", 80);
}

/* No evaluation after the first is better at rate 0. The first part has no patience but counts. */
TEST(evaluations_are_counted_over_an_interruption)
{
    const char *flat = RUN "optimizer.lr=0 --quiet";
    run("$TRAIN %s run.name=straight train.steps=100 train.patience=2", flat);
    run("$TRAIN %s run.name=parts train.steps=50", flat);
    expect_stdout("steps: 60, ",
                  "$TRAIN %s run.name=parts train.steps=100 train.patience=2 --resume", flat);
    expect_same_run("straight", "parts", 60);
    /* an extended run knows nothing of where it once ended */
    run(TINY "run.name=whole");
    run(TINY "run.name=longer train.steps=39");
    run(TINY "run.name=longer --resume");
    expect_same_run("whole", "longer", 60);
    run("h5dump -a /eval_loss runs/longer/checkpoints/step-00000039.h5");
    expect_exit(
        w, 1,
        "h5dump -a /eval_loss runs/longer/checkpoints/step-00000040.h5 | grep -q 'unable to open'");
}

TEST(an_early_stop_below_the_target_ends_with_exit_code_7)
{
    expect_exit(w, 7, "$TRAIN " WAIT "train.patience=1 train.target_accuracy=1 --quiet");
    expect_lines(w->out, STOPPED("40", "100", "1 evaluation"));
    expect_text(w->err, "is below train.target_accuracy = 1\n");
    expect_stdout("steps: 20, ",
                  "$TRAIN " WAIT
                  "train.patience=1 --quiet --overwrite train.target_accuracy=0.0001");
    expect_no_text(w->out, "stopped early");
    /* the runs of a sweep stop early each for itself */
    expect_stderr(0, ": stopped early, loss ",
                  "$TRAIN " WAIT "run.name=s sweep.train.patience=1,3");
    expect_output("steps,40\nsteps,80\n", "grep -h ^steps runs/s/*/result.csv");
}

/* The perplexity is exp(loss), as in result.csv. An evaluation prints the same, without a table of
 * theta. */
TEST(a_language_model_ends_with_its_perplexity)
{
    run("sed '/^vocab/d' tiny.ini >lm.ini; $TRAIN lm.ini --quiet data.task=text data.file=lm.ini "
        "data.objective=lm model.causal=yes >out; loss=$(sed -n 's/^eval_loss,//p' "
        "runs/lm/result.csv); bits=$(sed -n 's/^bits_per_byte,//p' runs/lm/result.csv); awk -v "
        "loss=$loss -v bits=$bits 'BEGIN { printf \"perplexity %%.4g, %%.4g bits per byte\\n\", "
        "exp(loss), bits }' >wanted; grep '^perplexity ' out | cmp - wanted; grep -F \"$(cat "
        "wanted)\" runs/lm/report.html || { $TRAIN --report runs/lm || test $? = 1; } && grep -qF "
        "\"$(cat wanted)\" runs/lm/report.html");
    run("$TRAIN --checkpoint runs/lm --eval | cut -d ' ' -f 1-2 >evaluation; grep -E "
        "'^(eval|perplexity|theta):? ' out | cut -d ' ' -f 1-2 | sed '1i checkpoint: "
        "runs/lm/checkpoints/step-00000060.h5,' | cmp - evaluation; grep -c '^layer head' out");
    expect_no_stdout("perplexity", "$TRAIN tiny.ini --quiet");
}

#define WORSENING                                                                                  \
    RUN "optimizer.lr=3 optimizer.warmup_steps=100 train.steps=100 train.patience=3 --quiet"

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
    expect_stdout(eval, "cp runs/tiny/result.csv before.csv; $TRAIN tiny.ini --eval");
    expect_text(w->err, "using the best evaluation, of step ",
                ", since train.patience is set; --last uses the newest, of step ");
    expect_stdout(eval, "$TRAIN --checkpoint runs/tiny --eval --best");
    expect_no_text(w->err, "--last");
    run("$TRAIN " WORSENING " --resume");
    ck_assert_str_eq(line_of(w->out, "eval: "), eval);
    ck_assert_str_eq(line_of(w->out, "best: "), best);
    expect_same_files("before.csv", "runs/tiny/result.csv");
    run("$TRAIN --checkpoint runs/tiny --eval --last");
    expect_no_text(w->err, "--last");
    ck_assert_double_eq_tol(last_loss, number_behind(w->out, "eval: loss "), 1e-5 * last_loss);
    shell(w, "$TRAIN --report runs/tiny");
    expect_in_file(
        "runs/tiny/report.html",
        lasting(" after %d steps, the best evaluation; at the end, after %d steps, loss %.6g<",
                best_step, last_step, last_loss));
    expect_each_refused("$TRAIN tiny.ini --last",
                        {2, "--eval --best", "give --best or --last, not both"},
                        {2, "", "--last needs --eval, "});
    /* a best checkpoint that is gone costs a warning */
    expect_stderr(0, "warning: the results are those of the last step, not of the best: ",
                  "rm runs/tiny/checkpoints/step-%08d.h5; $TRAIN " WORSENING " --resume",
                  best_step);
    expect_exit(w, 1, "grep -q model_step runs/tiny/result.csv");
}

TEST(a_run_starts_from_the_best_model_of_an_early_stopped_run)
{
    static const char *const folders[] = {"runs/tiny", "runs/tiny/checkpoints"};
    int best, last;
    run("$TRAIN " WORSENING " && printf '[data]\nlength = 12\nvocab = 10\n[train]\nsteps = "
        "1\n' >next.ini");
    ck_assert_int_eq(sscanf(line_of(w->out, "best: "),
                            "best: step %d, which these results, the report, --predict and other "
                            "uses take; last: loss %*f at step %d",
                            &best, &last),
                     2);
    for (int i = 0; i < 3; i++) {
        const char *file = lasting("runs/tiny/checkpoints/step-%08d.h5", i < 2 ? best : last);
        expect_stderr(0,
                      i < 2
                          ? lasting("step-%08d.h5, the best evaluation, of step %d, since the run "
                                    "had train.patience (its newest is of step %d)",
                                    best, best, last)
                          : lasting("step-%08d.h5, step %d, ", last, last),
                      "$TRAIN next.ini optimizer.lr=0 train.init_from=%s --overwrite",
                      i < 2 ? folders[i] : file);
        run("h5diff runs/next/checkpoints/step-00000001.h5 %s /model", file);
    }
}
