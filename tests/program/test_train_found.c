/* Model of --eval, --predict, --decay and --print-config: by configuration, folder or file. */

#include "train_program.h"

static void expect_eval_line(const char *expected)
{
    ck_assert_str_eq(line_of(w->out, "eval: "), expected);
}

SUITE(PROGRAM_OPTIONS)

TEST(a_run_is_evaluated_as_it_was_trained)
{
#define MINE "$TRAIN tiny.ini run.name=mine "
    run(MINE "model.dim=24 data.task=reverse train.steps=20");
    const char *trained = line_of(w->out, "eval: ");
    run(MINE "--eval");
    expect_eval_line(trained);
    expect_text(
        w->err,
        "train: using the configuration of the run, which differs from tiny.ini:\nmodel.dim: the "
        "run has '24', now it is '16'\ndata.task: the run has 'reverse', now it is 'copy'\n");
    expect_no_stderr("using the configuration", MINE "--eval --quiet");
    expect_no_stderr("using the configuration", MINE "--eval model.dim=24 data.task=reverse");
    /* the command line changes keys that may differ */
    expect_stdout("(8 sequences, 40 labels)", MINE "--eval train.eval_batches=1");
    expect_stderr(2,
                  "command line: model.dim = 16 cannot be changed here: the trained model has 24\n",
                  MINE "--eval model.dim=16");
    expect_exit(w, 2, MINE "--eval model.heads=4 model.dim=30");
    expect_stderr(2,
                  "command line: model.heads = 5 cannot be changed here: the trained model has 2\n",
                  "$TRAIN --checkpoint runs/mine --eval model.heads=5");
}

TEST(the_configuration_in_the_folder_of_a_run_selects_that_run)
{
    run("$TRAIN tiny.ini run.name=a=b model.dim=24 train.steps=20");
    const char *trained = line_of(w->out, "eval: ");
    expect_stdout("checkpoint: runs/a=b/checkpoints/step-00000020.h5, step 20\n",
                  "$TRAIN runs/a=b/config.ini --eval");
    run("cd runs/a=b && $TRAIN config.ini --eval");
    expect_eval_line(trained);
    expect_stdout("checkpoint: ./a=b/../a=b/checkpoints/step-00000020.h5, step 20\n",
                  "cd runs && $TRAIN ./a=b/../a=b/config.ini --eval");
    run("cd runs/a=b/checkpoints && $TRAIN ../config.ini --eval");
    expect_eval_line(trained);
    run("mkdir far && mv runs/a=b far/moved");
    run("$TRAIN far/moved/config.ini --eval");
    expect_eval_line(trained);
    expect_stdout("\nrun: far/moved\n", "$TRAIN far/moved/config.ini --resume train.steps=40");
    ck_assert(!exists("runs/a=b") && exists("far/moved/checkpoints/step-00000040.h5"));
    run("printf '[position]\nscale = 3\n' >>far/moved/config.ini; $TRAIN far/moved/config.ini "
        "--eval");
    expect_stderr(2, "far/moved already holds a run", "$TRAIN far/moved/config.ini");
}

TEST(a_run_may_lie_in_a_folder_of_any_name)
{
    NEEDS_PROGRAM("gnuplot");
    static const char *const names[] = {"t #2", "-t", "t ;x"};
    run("$TRAIN tiny.ini train.steps=20 && sed -i '/^name =/d' runs/tiny/config.ini");
    expect_stdout("checkpoint: runs/tiny/checkpoints/step-00000020.h5, step 20\n",
                  "$TRAIN runs/tiny/config.ini --eval");
    for (int i = 0; i < ROWS(names); i++) {
        run("cp -r runs/tiny './%s' && ROTOR_NO_REPORT=1 $TRAIN --report './%s'", names[i],
            names[i]);
        run("$TRAIN --checkpoint './%s' --eval", names[i]);
        expect_stderr(2, "run.name cannot be ", "$TRAIN './%s/config.ini' --eval", names[i]);
    }
}

TEST(a_damaged_checkpoint_is_reported_and_an_older_one_used)
{
    run("$TRAIN tiny.ini train.steps=40; echo broken >runs/tiny/checkpoints/step-00000040.h5");
    expect_stderr(0, "step-00000040.h5: ", "$TRAIN --checkpoint runs/tiny --eval");
    expect_text(w->err, "falling back to step-00000020.h5");
}

/* 1e-50 is 0 in float, which makes the configuration invalid there, but not the model. */
TEST(a_configuration_that_only_double_can_represent_is_replaced_in_float)
{
    run("$TRAIN64 tiny.ini train.steps=20 optimizer.eps=1e-50");
    expect_stderr(0, "warning: the configuration of the run cannot be used; using that of",
                  "$TRAIN tiny.ini --eval");
    run("$TRAIN tiny.ini --eval --checkpoint runs/tiny");
    expect_exit(w, 4, "$TRAIN --eval --checkpoint runs/tiny");
}

TEST(a_config_ini_without_checkpoints_is_an_ordinary_configuration)
{
    static const char *const rows[][2] = {
        {"$TRAIN here/config.ini train.steps=1", "runs/config"},
        {"$TRAIN config.ini train.steps=1 --overwrite", "runs/config"},
        {"touch here/checkpoints && $TRAIN here/config.ini --overwrite train.steps=1",
         "runs/config"},
        {"rm here/checkpoints && mkdir here/checkpoints && cp tiny.ini here/tiny.ini && $TRAIN "
         "here/tiny.ini train.steps=1",
         "runs/tiny"},
        /* a name on the command line makes another run beside it */
        {"$TRAIN tiny.ini run.dir=far run.name=one train.steps=1", "far/one"},
        {"$TRAIN far/one/config.ini run.name=two", "far/two"},
        {"$TRAIN far/one/config.ini run.dir=near", "near/one"}};
    run("mkdir here && cp tiny.ini here/config.ini && cp tiny.ini config.ini");
    for (int i = 0; i < ROWS(rows); i++)
        expect_stdout(lasting("\nrun: %s\n", rows[i][1]), "%s", rows[i][0]);
}

TEST(a_checkpoint_is_used_with_its_own_configuration)
{
    static const char *const names[] = {"runs/mine/checkpoints/step-00000020.h5",
                                        "runs/mine/checkpoints", "runs/mine", "runs/mine/"};
    run("$TRAIN tiny.ini run.name=mine model.dim=24 train.steps=20");
    const char *trained = line_of(w->out, "eval: ");
    for (int i = 0; i < ROWS(names); i++) {
        run("$TRAIN --checkpoint %s --eval", names[i]);
        expect_eval_line(trained);
        expect_text(w->out, "step-00000020.h5, step 20\n");
        expect_stdout("\ndim = 24\n", "$TRAIN --checkpoint %s --print-config", names[i]);
        expect_output("r,C,C_layer_0,C_layer_1\n", "$TRAIN --checkpoint %s --decay | head -n 1",
                      names[i]);
    }
}

TEST(a_run_that_was_never_evaluated_has_no_best)
{
    expect_exit(w, 75,
                TINY "train.steps=1000000 train.eval_every=1000000 & " WAIT_FOR_ROW(
                    "20", "runs/tiny/metrics.csv") "kill -INT $!; wait $!");
    expect_stderr(4, "no evaluation was made: there is no best checkpoint\n",
                  "$TRAIN tiny.ini --eval --best");
}

TEST(a_prediction_names_its_checkpoint)
{
    const char *lm = "tiny.ini theta.learn=no data.task=text data.vocab=32 data.file=text.txt "
                     "data.objective=lm model.causal=yes";
    run("seq 500 >text.txt; $TRAIN %s train.steps=1", lm);
    expect_stderr(0, "train: checkpoint: runs/tiny/checkpoints/step-00000001.h5, step 1\n",
                  "$TRAIN %s --predict 12 --tokens 3", lm);
    expect_no_text(w->out, "checkpoint");
    expect_message(0, "", "$TRAIN --checkpoint runs/tiny --predict 12 --tokens 3 --quiet");
}
