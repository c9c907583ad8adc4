/* A checkpoint of version 2 is refused; the tables of its run are still drawn. */

#include "train_program.h"

#include "io/checkpoint/forged_attribute.h"
#include "io/rotor-io.h"

#define RUN    "runs/lm/checkpoints/step-00000004.h5"
#define CONFIG "runs/lm/config.ini run.dir=runs --quiet "

static const char refusal[] = "step-00000004.h5: version is 2; this program reads version 3: train "
                              "again (--report still draws the tables of an older run)";

static void make_run(void)
{
    run("for i in $(seq 60); do printf 'abcdefghijklmnop'; done >text.txt; $TRAIN tiny.ini --quiet "
        "run.name=lm data.task=text data.vocab=32 data.level=char data.file=text.txt train.steps=4 "
        "train.checkpoint_every=2 train.eval_every=2");
    forge_integer("runs/lm/checkpoints/step-00000002.h5", "/", "version", 2);
    forge_integer(RUN, "/", "version", 2);
}

SUITE(PROGRAM_OPTIONS, .prepare = make_run)

TEST(every_command_that_reads_a_model_refuses_an_older_checkpoint)
{
    rt_model *model;
    run("cp -r runs before");
    expect_each_refused("$TRAIN", {4, "--eval --checkpoint " RUN, refusal},
                        {4, CONFIG "--eval", refusal}, {4, CONFIG "--resume", refusal},
                        {4, CONFIG "--export there", refusal},
                        {4, "--print-config --checkpoint " RUN, refusal},
                        {4, CONFIG "run.name=new train.init_from=" RUN " --check", refusal});
    run("diff -r before runs && test ! -e there");
    is_status_with(rt_model_open(&model, RUN), RT_CHECKPOINT, refusal);
    ck_assert_ptr_null(model);
}

TEST(the_tables_of_an_older_run_are_drawn)
{
    NEEDS_PROGRAM("gnuplot");
    expect_stderr(0, refusal, "$TRAIN --report runs/lm && grep -q '<svg' runs/lm/report.html");
    run(TINY "run.name=now train.steps=4 && $TRAIN --report runs/lm runs/now --output both.html && "
             "grep -q '<svg' both.html");
}
