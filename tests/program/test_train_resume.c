/* An interrupted training ends in the same bits as one that was not, however it was interrupted. */

#include "markup.h"
#include "train_program.h"

#include "io/checkpoint/forged_attribute.h"

static void expect_same_training(const char *one, const char *other, int step)
{
    expect_same_model(one, other, step);
    expect_same_in(one, other, "metrics.csv theta.csv");
}

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS)

/* Stops where all is due, where only a row is logged, and where nothing is; threads change. */
TEST_ROWS(a_run_in_two_or_three_parts_equals_the_uninterrupted_run, 0, 17)
{
#define SHARDS                                                                                     \
    "train.shards=4 model.dropout=0.1 model.attention_dropout=0.2 theta.scope=head data.task="
    static const struct {
        const char *options;
        int first, second; /* 0: two parts */
    } rows[] = {
        {SHARDS "shift", 20, 40},
        {SHARDS "shift", 30, 31},
        {SHARDS "sort", 7, 50},
        {SHARDS "sort", 41, 59},
        {SHARDS "copy", 1, 2},
        {SHARDS "reverse", 19, 21},
        /* read several times over: both stops are inside an epoch */
        {SHARDS "text data.vocab=32 data.file=text.txt", 23, 46},
        {"optimizer.kind=sgd optimizer.lr=0.1", 29, 0},
        {"optimizer.kind=lion optimizer.lr=3e-4", 29, 0},
        {"optimizer.kind=muon optimizer.matrix_lr=0.02", 29, 0},
        {"theta.lr_scale=0 optimizer.warmup_steps=30", 29, 0},
        {"theta.form=raw optimizer.schedule=linear", 29, 0},
        {"theta.scope=model optimizer.clip_norm=0 optimizer.schedule=constant "
         "optimizer.schedule_steps=0",
         29, 0},
        {"theta.scope=head theta.head_scale=yes", 29, 0},
        {"theta.log=yes run.log_every=5 train.checkpoint_every=10", 43, 0},
        {"model.layers=3 model.window=5 model.layer_types=full,sliding,sliding "
         "position.local_base=100",
         29, 0},
        {"data.task=text data.vocab=32 data.file=text.txt data.eval_file=own.txt "
         "train.eval_batches=0",
         40, 0},
    };
    static const char part[] = TINY "run.name=parts";
    const char *options = rows[_i].options;
    run("for i in $(seq 25); do echo 'around and around it goes'; done >text.txt; seq 99 >own.txt");
    run(TINY "run.name=straight %s", options);
    run("%s %s --threads 1 train.steps=%d", part, options, rows[_i].first);
    if (rows[_i].second)
        run("%s %s --threads 3 train.steps=%d --resume", part, options, rows[_i].second);
    run("%s %s --threads 2 --resume", part, options);
    expect_same_training("straight", "parts", 60);
    expect_same_in("straight", "parts", "result.csv usage.csv theta_final.csv");
}

/* The same configuration in two folders: even whole checkpoints are equal. */
static const char *const long_run = "--quiet train.steps=2000 optimizer.schedule_steps=2000 "
                                    "model.dropout=0.1 run.log_every=7 train.checkpoint_every=50";

static void expect_same_folders(void)
{
    run("diff -r -x timing.csv -x report.html -x loss_by_time.svg straight/runs stopped/runs");
    run("for i in straight stopped; do sed " WITHOUT_TIMES
        " $i/runs/tiny/report.html >$i.html || exit 1; done; cmp straight.html stopped.html");
}

/* A killed run saves nothing: its tables have rows after the last checkpoint, and the last row is
 * cut off. */
SAMPLED_ROWS(a_run_stopped_by_a_signal_is_resumed_to_the_same_files, 0, 3, 3)
{
    static const char *const signals[] = {"TERM", "USR1", "KILL"};
    const bool killed = _i == 2;
    run("mkdir straight stopped; cd straight; $TRAIN ../tiny.ini %s", long_run);
    expect_exit(w, killed ? 137 : 75,
                "cd stopped; $TRAIN ../tiny.ini %s & " WAIT_FOR_ROW(
                    "140", "runs/tiny/metrics.csv") "kill -%s $!; wait $!",
                long_run, signals[_i]);
    if (killed) {
        run("cd stopped/runs/tiny; for f in metrics theta; do printf 19 >>$f.csv; done");
    } else {
        ck_assert(!strncmp(w->err, "train: stopped by a signal after step ", 38));
        expect_text(w->err, "; --resume continues it\n");
    }
    run("cd stopped; $TRAIN ../tiny.ini %s --resume", long_run);
    expect_same_folders();
}

TEST(a_run_resumes_before_damaged_checkpoints_and_ends_the_same)
{
    run(TINY "run.name=straight && $TRAIN tiny.ini --quiet run.name=broken");
    run("cd runs/broken/checkpoints; : >step-00000060.h5; head -c 3000 step-00000040.h5 >half; mv "
        "half step-00000040.h5");
    expect_stderr(0, "step-00000060.h5", TINY "run.name=broken --resume");
    expect_text(w->err, "step-00000040.h5",
                "resuming from runs/broken/checkpoints/step-00000020.h5\n");
    expect_same_training("straight", "broken", 60);
    /* nothing is touched when every checkpoint is broken */
    run("for f in runs/broken/checkpoints/*; do printf broken >$f; done; " NOTE_FILES);
    expect_stderr(4, "step-00000060.h5", TINY "run.name=broken --resume");
    expect_no_text(w->err, "starting afresh");
    run(COMPARE_FILES);
}

TEST(resuming_a_finished_run_explains_that_nothing_is_left)
{
    run(TINY "train.steps=20 >first && " NOTE_FILES);
    run(TINY "--resume train.steps=20 >second && cmp first second && " COMPARE_FILES);
    expect_stderr(2, "run.seed",
                  TINY "--resume run.seed=2 theta.scope=head data.vocab=11 run.log_every=3");
    expect_text(w->err, "theta.scope", "data.vocab");
    expect_no_text(w->err, "run.log_every", "train.steps");
    run(COMPARE_FILES);
    expect_stderr(0, "nothing is left to train: the run has taken 20 steps\n",
                  "$TRAIN tiny.ini --resume train.steps=20");
    expect_stderr(
        0, "nothing is left to train: the run has taken 20 steps, more than train.steps = 10\n",
        "$TRAIN tiny.ini --resume train.steps=10");
    expect_text(w->out, "steps: 20, ");
    expect_text(page_text("runs/tiny/report.html"), "\n| train.steps | 20 ");
    expect_no_stderr("nothing is left", "$TRAIN tiny.ini --resume --quiet train.steps=10");
    run(TINY "--resume --threads 2 run.log_every=3 train.eval_every=7 train.checkpoint_every=9 "
             "train.keep=2");
}

/* classes.csv and the tables behind it stand for those of other tasks and encodings. */
TEST(no_table_of_an_earlier_end_stands_beside_a_later_result)
{
    run(TINY "train.steps=20 theta.cutoffs=yes train.eval_lengths=16");
    run("cd runs/tiny; for t in classes confusion distances heads gates phases; do cp usage.csv "
        "$t.csv; done");
    run(TINY "--resume train.steps=40 theta.cutoffs=no train.eval_lengths=16");
#define TABLES "cd runs/tiny; echo *.csv"
    expect_output("lengths.csv metrics.csv result.csv theta.csv theta_final.csv timing.csv "
                  "usage.csv\n",
                  TABLES);
    expect_exit(w, 5, TINY "--resume train.steps=60 train.eval_lengths=16 optimizer.lr=1e30");
    expect_output("metrics.csv result.csv schedules.csv theta.csv theta_final.csv timing.csv\n",
                  TABLES);
}

TEST(an_extended_run_can_be_given_another_schedule)
{
    run(TINY "optimizer.schedule_steps=0");
    expect_stderr(
        0,
        "train: extended from step 61 on: optimizer.lr 0.01 -> 0.02, optimizer.schedule cosine -> "
        "linear, optimizer.min_lr_ratio 0 -> 0.5, optimizer.schedule_steps 60 -> 100, train.steps "
        "60 -> 100; the learning rate is 6.85e-06, then 0.014, at the end 0.0101\n",
        TINY "--resume train.steps=100 optimizer.schedule_steps=100 optimizer.lr=0.02 "
             "optimizer.schedule=linear optimizer.min_lr_ratio=0.5");
    expect_no_text(w->err, "warning");
    run("awk -F, '$1 == 80 { print $6 }' runs/tiny/metrics.csv");
    ck_assert_double_eq_tol(number_behind(w->out, ""), 0.02 * (0.5 + 0.5 * 0.21), 1e-9);
    ck_assert_str_eq(read_file("runs/tiny/schedules.csv"),
                     "until_step,lr,schedule,min_lr_ratio,schedule_steps\n60,0.01,cosine,0,60\n"
                     "100,0.02,linear,0.5,100\n");
    /* without another one it goes on with the schedule of the start */
    const char *kept =
        "--quiet run.name=kept optimizer.schedule_steps=0 optimizer.min_lr_ratio=0.1";
    run("$TRAIN tiny.ini %s && $TRAIN tiny.ini %s --resume train.steps=80", kept, kept);
    expect_output("2\n", "grep -c '^[78]0,.*,0.001,' runs/kept/metrics.csv");
}

/* Adam could have moved ln theta by the sum of the rates of both schedules. */
TEST(an_extended_run_remembers_the_rates_of_its_past)
{
    run(TINY "optimizer.schedule=constant optimizer.schedule_steps=0 train.steps=30");
    expect_stdout("used: movement over 0.32, the most that Adam",
                  TINY "--resume optimizer.schedule=constant optimizer.schedule_steps=0 "
                       "train.steps=50 optimizer.lr=0.001");
    expect_stdout("used: movement over 0.32, the most that Adam",
                  "$TRAIN runs/tiny/config.ini --resume");
    expect_stdout("used: movement over 0.33, the most that Adam",
                  "$TRAIN runs/tiny/config.ini --resume train.steps=60 --quiet");
    expect_output("60,0.001,constant,0,60\n", "tail -n 1 runs/tiny/schedules.csv");
    run(TINY "--overwrite");
    ck_assert(!exists("runs/tiny/schedules.csv"));
}

NIGHTLY_TEST(an_extension_that_is_stopped_ends_in_the_same_bits)
{
    const char *more =
        "--quiet --resume train.steps=1500 optimizer.schedule_steps=1500 optimizer.lr=0.02";
    run(TINY "run.name=straight && cp -r runs/straight runs/parts");
    run("$TRAIN tiny.ini run.name=straight %s", more);
    expect_exit(w, 75,
                "$TRAIN tiny.ini run.name=parts %s & " WAIT_FOR_ROW(
                    "70", "runs/parts/metrics.csv") "kill -INT $!; wait $!",
                more);
    expect_stderr(2, "optimizer.schedule: the run has 'cosine', now it is 'linear'",
                  "$TRAIN tiny.ini run.name=parts %s optimizer.schedule=linear", more);
    run("$TRAIN tiny.ini run.name=parts %s", more);
    expect_same_training("straight", "parts", 1500);
    expect_same_in("straight", "parts", "schedules.csv");
}

TEST(a_stopped_run_keeps_its_schedule)
{
    run("$TRAIN tiny.ini --quiet");
    ck_assert(exists("runs/tiny/result.csv"));
    expect_exit(w, 75,
                TINY "--resume train.steps=5000 & " WAIT_FOR_ROW(
                    "80", "runs/tiny/metrics.csv") "kill -INT $!; wait $!");
    ck_assert(!exists("runs/tiny/result.csv"));
    expect_stderr(2, "optimizer.lr: the run has '0.01', now it is '0.5'\n",
                  "$TRAIN tiny.ini --resume train.steps=9000 optimizer.lr=0.5");
    expect_exit(w, 2, "$TRAIN tiny.ini --resume train.steps=5000 optimizer.schedule_steps=9000");
}

TEST(a_learning_rate_of_zero_is_warned_about)
{
    static const char warning[] = "warning: the learning rate is 0 from step";
    expect_stderr(0,
                  "train: warning: the learning rate is 0 from step 61 to the end at 80, since "
                  "optimizer.schedule_steps = 60: give optimizer.schedule_steps=80 or "
                  "optimizer.min_lr_ratio above 0\n",
                  "$TRAIN tiny.ini train.steps=80");
    expect_stderr(0, "rate is 0 from step 81 to the end at 90", TINY "--resume train.steps=90");
    ck_assert_int_eq(count_of(w->err, warning), 1);
    expect_no_stderr("warning", TINY "--resume train.steps=90");
    expect_no_stderr("warning", "$TRAIN tiny.ini --overwrite");
    expect_no_stderr("warning",
                     "$TRAIN tiny.ini --overwrite train.steps=80 optimizer.min_lr_ratio=0.01");
    expect_no_stderr("warning", "$TRAIN tiny.ini --overwrite train.steps=80 optimizer.lr=0");
}

/* The target is reached at step 25, but a run that is never stopped asks at step 40. */
TEST(a_resumed_run_checks_its_target_at_the_steps_of_an_uninterrupted_run)
{
    static const char keys[] = "--quiet train.eval_every=40 train.target_accuracy=0.01";
    expect_stdout("steps: 40, ", "$TRAIN tiny.ini run.name=straight %s", keys);
    run("$TRAIN tiny.ini run.name=parts %s train.steps=25", keys);
    expect_stdout("steps: 40, ", "$TRAIN tiny.ini run.name=parts %s --resume", keys);
    expect_same_in("straight", "parts", "metrics.csv result.csv");
    expect_stdout("steps: 40, ", "$TRAIN tiny.ini run.name=parts %s --resume", keys);
}

TEST_ROWS(another_precision_is_warned_about, 0, 2)
{
    static const char *const programs[] = {"$TRAIN", "$TRAIN64"};
    static const char *const words[] = {"float", "double"};
    const char *other = programs[!_i];
    const char *warning =
        lasting("step-00000020.h5 was computed in %s, this program computes in %s: ", words[_i],
                words[!_i]);
    run("%s tiny.ini --quiet train.steps=20", programs[_i]);
    expect_no_stderr("was computed in", "%s tiny.ini --quiet --resume train.steps=21",
                     programs[_i]);
    expect_stderr(
        0, "train: warning: ",
        "rm runs/tiny/checkpoints/step-00000021.h5; %s tiny.ini --quiet --resume train.steps=21",
        other);
    expect_text(w->err, warning);
    expect_no_stderr(
        "was computed in",
        "%s tiny.ini --quiet --eval --checkpoint runs/tiny/checkpoints/step-00000020.h5", other);
}

#define NEWEST "runs/tiny/checkpoints/step-00000020.h5"

TEST_ROWS(a_checkpoint_of_another_seed_or_position_is_not_resumed, 0, 2)
{
    run(TINY "train.steps=20");
    if (_i)
        forge_integer(NEWEST, "/", "seed", 5);
    else
        forge_integer(NEWEST, "/data", "position", 152);
    expect_stderr(4,
                  _i ? NEWEST ": seed is 5, 1 expected\n"
                     : NEWEST ": position is 152, 160 expected\n",
                  TINY "--resume");
    run(TINY "--eval"); /* which has no future */
}

#define MAKE_TEXTS "seq 600 >text.txt; seq 600 900 >more.txt; "

/* Files are compared by size and XXH128, which timing.csv has, and not by their absolute paths. */
TEST_ROWS(a_moved_project_is_resumed, 0, 6)
{
    static const char *const rows[] = {
        "m.ini --resume",
        "m.ini 'data.file=text.txt*2, more.txt' data.eval_file=more.txt run.name=next --resume",
        "m.ini train.init_from=runs/m run.name=next data.vocab_file=vocab.txt --resume",
        ("m.ini train.init_from=runs/m/checkpoints/step-00000004.h5 run.name=next "
         "theta.init_from=runs/m/theta_final.csv --resume"),
        "m.ini train.trunk=runs/m run.name=next --resume",
        "m.ini run.name=s sweep.run.seed=1,2 train.init_from=runs/m/checkpoints"};
    run("mkdir before && cd before && " MAKE_TEXTS "sed 's/^vocab = 10/task = text\\nfile = "
        "text.txt\\nlevel = char/; s/^steps = 60/steps = 4/; s/= 20/= 2/' ../tiny.ini >m.ini && "
        "$TRAIN m.ini --quiet && cp runs/m/vocab.txt . && $TRAIN --quiet train.steps=6 %s",
        rows[_i]);
    run("mv before after");
    if (_i == 5) /* a run that is new and those that have ended read the same text */
        run("cd after && $TRAIN --quiet train.steps=6 %s,3 >out && ! grep 'of different' out",
            "m.ini train.init_from=runs/m/checkpoints run.name=s sweep.run.seed=1,2");
    run("cd after && $TRAIN --quiet train.steps=8 %s", rows[_i]);
    if (_i) /* the run itself was not resumed */
        expect_stderr(0, "/before/text.txt is gone; using ",
                      "cd after && $TRAIN runs/m/config.ini --eval && cd ..");
    if (_i < 2)
        expect_stderr(2, "', whose content differs or cannot be compared\n",
                      "mv after third; cd third; seq 2 601 >text.txt; $TRAIN --quiet %s", rows[_i]);
}
