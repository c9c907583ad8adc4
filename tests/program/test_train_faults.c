/* `train` when something is in its way: two trainers, signals, disks, numbers. */

#include "train_program.h"

#include "sealing.h"

#define ENDLESS "--quiet train.steps=1000000 "

SUITE(PROGRAM_OPTIONS)

TEST_ROWS(the_second_trainer_is_refused_and_the_first_continues, 0, 2)
{
    static const char *const ways[] = {"--resume", "--overwrite"};
    int first = 0;
    expect_exit(w, 2,
                "$TRAIN tiny.ini " ENDLESS
                "& " WAIT_FOR_ROW("20",
                                  "runs/tiny/metrics.csv") "$TRAIN tiny.ini " ENDLESS
                                                           "%s; second=$?; kill -TERM $!; wait $!; "
                                                           "echo first $! $?; exit $second",
                ways[_i]);
    ck_assert_int_eq(sscanf(w->out, "first %d 75\n", &first), 1);
    expect_text(w->err, lasting("train: runs/tiny: process %d is training here: wait for its end, "
                                "or stop it with kill %d\n",
                                first, first));
}

TEST(other_runs_and_files_are_not_changed)
{
    run(TINY "run.name=a & $TRAIN tiny.ini --quiet run.name=b && wait $!");
    expect_same_files("runs/a/metrics.csv", "runs/b/metrics.csv");
    /* the profile counts every op */
    expect_stdout("\nlinear            forward ", TINY "--profile");
    expect_text(w->out, "\nattention         backward ", "\nrope              backward ",
                " 60 steps and their evaluations\n");
    run("cmp runs/tiny/metrics.csv runs/a/metrics.csv");
    expect_stdout(" 4 steps and their", TINY "--profile --resume train.steps=64");
    /* overwrite removes the run and nothing else */
    expect_stderr(2, "runs/tiny already holds a run: give --resume", "$TRAIN tiny.ini");
    expect_stderr(1, "runs/tiny/.lock: is no file, and cannot lock the folder: remove it\n",
                  "cd runs/tiny; ln -s away .lock; cd ../..; $TRAIN tiny.ini --resume");
    run("rm runs/tiny/.lock");
    run("cd runs/tiny; echo mine >checkpoints/best.h5; mkdir notes; echo >notes/a");
    run(TINY "--overwrite theta.learn=no train.steps=15");
    expect_output("./checkpoints/best.h5\n./checkpoints/step-00000015.h5\n"
                  "./config.ini\n./metrics.csv\n./notes/a\n./result.csv\n./timing.csv\n"
                  "./usage.csv\n",
                  "cd runs/tiny; find . -type f | sort");
}

/* A step of this size takes long enough for the second signal to come before its end. */
TEST(a_second_interrupt_ends_at_once)
{
    expect_exit(w, 130,
                TINY "model.dim=256 data.length=256 train.batch_size=256 run.log_every=1 "
                     "train.steps=1 train.shards=1 & until [ -e runs/tiny/metrics.csv ]; do kill "
                     "-0 $! || exit 99; sleep 0.01; done; kill -INT $!; " WAIT_FOR_HANDLER
                     "kill -INT $!; wait $!");
}

TEST_ROWS(a_signal_ends_a_run_after_its_step_with_a_checkpoint, 0, 4)
{
    static const char *const signals[] = {"TERM", "INT", "HUP", "USR1"};
    int step = 0;
    expect_exit(w, 75,
                "$TRAIN tiny.ini " ENDLESS "train.checkpoint_every=1000000 & " WAIT_FOR_ROW(
                    "20", "runs/tiny/metrics.csv") "kill -%s $!; wait $!",
                signals[_i]);
    ck_assert_int_eq(sscanf(w->err, "train: stopped by a signal after step %d", &step), 1);
    const char *path = lasting("runs/tiny/checkpoints/step-%08d.h5", step);
    ck_assert_msg(exists(path), "%s is missing", path);
    ck_assert_str_eq(w->out, "");
}

/* A folder of some 1,300 bytes, of parts that a file system takes, with a report. */
TEST(a_run_folder_with_a_long_path_holds_the_whole_run)
{
    const char *const long_dir = "dir=$(printf 'a%%.0s' $(seq 200)); dir=$dir/$dir/$dir; "
                                 "dir=$dir/$dir; unset ROTOR_NO_REPORT; ";
    run("%s $TRAIN tiny.ini --quiet run.dir=$dir train.steps=20; code=$?; mv $dir/tiny found; exit "
        "$code",
        long_dir);
    static const char *const files[] = {"result.csv",      "metrics.csv",
                                        "theta_final.csv", "checkpoints/step-00000020.h5",
                                        "figures/loss.gp", "report.html"};
    for (int i = 0; i < ROWS(files); i++) {
        const char *path = lasting("found/%s", files[i]);
        ck_assert_msg(exists(path), "%s is missing; %s", path, w->err);
    }
    expect_text(w->out, "eval: loss ");
}

/* HDF5 1.10 crashes on these two, later ones refuse them; and a checksum can be forged. */
TEST(a_file_that_crashes_hdf5_is_reported_as_damaged)
{
    static unsigned char bytes[1 << 16];
    FILE *file = fopen(TEST_SOURCES "/fuzz/corpus/checkpoint/crash", "rb");
    const size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    ck_assert(size && !fclose(file) && !write_sealed("crash.h5", bytes, size).code);
    expect_stderr(4, "train: crash.h5: it is damaged: ", "$TRAIN --eval --checkpoint crash.h5");
    expect_stderr(3, "/crash-chunks:/ids: ",
                  TINY "data.task=tokens data.file=" TEST_SOURCES
                       "/fuzz/corpus/tokens/crash-chunks:/ids");
    expect_text(w->err, "is damaged");
    ck_assert(!exists("runs"));
}

TEST(training_continues_on_a_full_disk)
{
    expect_exit(w, 6, "ulimit -f 8; $TRAIN tiny.ini");
    const char *line = line_of(w->err, "train: warning: ");
    expect_text(line, "step-00000020.h5", "File too large");
    ck_assert_int_eq(count_of(w->err, "train: warning: "), 1); /* tried again in silence */
    expect_text(w->err, "step 60/60 ", "\ntrain: the last checkpoint could not be written\n");
    expect_output("", "ls runs/tiny/checkpoints"); /* no half of a file either */
    expect_in_file("runs/tiny/metrics.csv", "\n60,");
    expect_exit(w, 6, "ulimit -f 8; $TRAIN tiny.ini --quiet --overwrite");
    ck_assert_int_eq(count_of(w->err, "train: "), 2); /* gcov prints lines of its own */
    ck_assert(!strncmp(w->err, "train: warning: ", 16));
    /* a run without checkpoints goes on once there is room */
    expect_stderr(0, "runs/tiny has no checkpoint: starting afresh\n", TINY "--resume");
    run(TINY "run.name=other");
    expect_same_files("runs/tiny/metrics.csv", "runs/other/metrics.csv");
}

TEST(a_closed_pipe_does_not_end_training)
{
    run("{ $TRAIN tiny.ini 2>.log; echo $? >.code; } | : ; cat .code");
    run("{ $TRAIN tiny.ini --overwrite 2>&1; echo $? >.code; } | : ; cat .code");
    ck_assert(exists("runs/tiny/checkpoints/step-00000060.h5"));
    expect_in_file("runs/tiny/metrics.csv", "\n60,");
}

/* Parameters after step 1 are enormous but finite, and saved. No evaluation, no table of lengths.
 */
TEST(a_loss_that_is_not_finite_leaves_the_last_good_checkpoint)
{
#define WITH_RATE(rate) TINY "--overwrite optimizer.clip_norm=0 optimizer.lr=" rate
    expect_stderr(5, "train: step 2: the loss is ", WITH_RATE("1e30 train.checkpoint_every=1"));
    expect_output("step-00000001.h5\n", "ls runs/tiny/checkpoints");
    expect_stderr(5, "train: step 1: the loss of the evaluation is ",
                  WITH_RATE(
                      "1e30 train.steps=1 optimizer.schedule=constant optimizer.schedule_steps=0"));
    expect_stderr(5, "is not finite: no checkpoint was saved\n",
                  WITH_RATE("1e38 train.checkpoint_every=1 train.eval_lengths=16"));
    expect_output("", "ls runs/tiny/checkpoints");
    ck_assert(exists("runs/tiny/result.csv") && !exists("runs/tiny/lengths.csv"));
    expect_stderr(5, "step 2: [", WITH_RATE("1e30 --trap optimizer.kind=sgd"));
    expect_text(w->err, "] result: element ");
}
