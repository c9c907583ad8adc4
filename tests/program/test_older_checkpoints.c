/* Checkpoints of versions 1 and 2 are refused; the tables of their runs are still drawn. */

#include "train_program.h"

#include "io/rotor-io.h"
#include "training/forged_attribute.h"

#define RUN    "runs/lm/checkpoints/step-00000004.h5"
#define CONFIG "runs/lm/config.ini run.dir=runs --quiet "

static void make_run(int version)
{
    run("for i in $(seq 60); do printf 'abcdefghijklmnop'; done >text.txt; $TRAIN tiny.ini --quiet "
        "run.name=lm data.task=text data.vocab=32 data.level=char data.file=text.txt train.steps=4 "
        "train.checkpoint_every=2 train.eval_every=2");
    forge_integer("runs/lm/checkpoints/step-00000002.h5", "/", "version", version);
    forge_integer(RUN, "/", "version", version);
}

static const char *message_of(int version)
{
    return lasting("step-00000004.h5: version is %d; this program reads version 3: train again "
                   "(--report still draws the tables of an older run)",
                   version);
}

SUITE(PROGRAM_OPTIONS)

TEST_ROWS(what_reads_a_model_refuses_it, 1, 3)
{
    static const char *const commands[] = {
        "--eval --checkpoint " RUN,
        CONFIG "--eval",
        CONFIG "--resume",
        CONFIG "--predict 'abc[MASK]e'",
        CONFIG "--export there",
        "--print-config --checkpoint " RUN,
        CONFIG "run.name=new train.init_from=" RUN,
        CONFIG "run.name=new train.init_from=" RUN " --check",
    };
    rt_model *model;
    make_run(_i);
    run("cp -r runs before");
    for (int i = 0; i < ROWS(commands); i++)
        expect_told(4, message_of(_i), "$TRAIN %s", commands[i]);
    run("diff -r before runs && test ! -e there");
    const rt_status status = rt_model_open(&model, RUN);
    ck_assert_int_eq(status.code, RT_CHECKPOINT);
    expect_text(status.message, message_of(_i));
    ck_assert_ptr_null(model);
}

TEST(a_report_draws_its_tables)
{
    NEEDS_PROGRAM("gnuplot");
    make_run(2);
    expect_told(0, message_of(2), "$TRAIN --report runs/lm && grep -q '<svg' runs/lm/report.html");
    run("$TRAIN tiny.ini --quiet run.name=now train.steps=4 && $TRAIN --report runs/lm runs/now "
        "--output both.html && grep -q '<svg' both.html");
}
