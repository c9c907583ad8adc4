/* Output and learning of `train`. */

#include "train_program.h"

#include "train/config/keys.h"

/* ---- results ---- */

SUITE(PROGRAM_OPTIONS)

TEST(the_lines_of_the_results_are_exact)
{
    char line[LINE_SIZE], verdict[16], rest;
    double loss, accuracy, drift, grid, phase;
    int sequences, labels, layer, pair;
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    ck_assert(!strncmp(w->out, "steps: 60, 5760 tokens\n", 23));
    ck_assert_int_eq(sscanf(line_of(w->out, "eval: ", line),
                            "eval: loss %lf, accuracy %lf (%d sequences, %d labels%c", &loss,
                            &accuracy, &sequences, &labels, &rest),
                     5);
    ck_assert_int_eq(sequences, 16);
    ck_assert_int_eq(labels, 80); /* 5 of the 12 tokens of each are the copy */
    expect_number(loss, 0.5, 1.6);
    expect_number(accuracy, 0.3, 1);
    ck_assert_int_eq(sscanf(line_of(w->out, "theta: ", line),
                            "theta: max relative drift %lf (layer %d, i %d; %lf grid steps), "
                            "max phase drift %lf rad over 11 positions: %15s (tolerance 0.20%c",
                            &drift, &layer, &pair, &grid, &phase, verdict, &rest),
                     7);
    ck_assert_str_eq(verdict, drift <= 0.2 ? "near" : "moved");
    expect_number(grid, 1e-4, 1);
    expect_number(phase, 1e-4, 11);
    ck_assert_str_eq(strstr(w->out, "\nrun: "), "\nrun: runs/tiny\n");
}

/* A head of 8 features has 4 pairs: 2 layers, step 0 and three evaluations. */
TEST(theta_is_recorded_at_the_start_and_at_every_evaluation)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    char *theta = read_file("runs/tiny/theta.csv"), *metrics = read_file("runs/tiny/metrics.csv");
    ck_assert_int_eq(count_of(theta, "\n"), 1 + 4 * 2 * 4);
    ck_assert_int_eq(count_of(theta, "\n0,"), 8);
    ck_assert_int_eq(count_of(theta, "\n60,"), 8);
    ck_assert_int_eq(count_of(metrics, "\n"), 1 + 6);
    ck_assert_int_eq(count_of(metrics, ",,,"), 3); /* logged without an evaluation */
    rt_free(theta);
    rt_free(metrics);
}

static double last_loss(const char *path)
{
    double loss = 0;
    char *metrics = read_file(path);
    metrics[strlen(metrics) - 1] = '\0';
    ck_assert_int_eq(sscanf(strrchr(metrics, '\n'), "\n%*d,%*d,%lf", &loss), 1);
    rt_free(metrics);
    return loss;
}

/* A few hundred steps take each of them far below ln 8, the loss of guessing. */
NIGHTLY_ROWS(every_task_is_learned, 0, 4)
{
    static const char *const tasks[] = {"copy", "reverse", "shift", "sort"};
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet data.task=%s model.dim=32 train.batch_size=16 "
                "optimizer.lr=5e-3 train.steps=500 optimizer.schedule_steps=500 run.log_every=500",
                tasks[_i]);
    expect_number(last_loss("runs/tiny/metrics.csv"), 0, 0.25);
}

TEST(learning_stops_at_the_target)
{
    double accuracy = 0;
    char line[LINE_SIZE];
    int step = 0;
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet model.dim=32 train.batch_size=16 optimizer.lr=5e-3 "
                "train.steps=800 optimizer.schedule_steps=800 train.target_accuracy=0.9");
    sscanf(w->out, "steps: %d", &step);
    sscanf(line_of(w->out, "eval: ", line), "eval: loss %*f, accuracy %lf", &accuracy);
    expect_number(step, 20, 780);
    ck_assert_int_eq(step % 20, 0);
    expect_number(accuracy, 0.9, 1);
}

/* ---- on the way ---- */

TEST(off_a_terminal_progress_is_a_plain_line_a_minute)
{
    expect_exit(w, 0, "$TRAIN tiny.ini run.log_every=25");
    ck_assert_int_eq(count_of(w->err, "\nstep "), 2);
    expect_text(w->err, "\nstep 25/60 ");
    expect_text(w->err, "\nstep 60/60 "); /* the last one, whatever its number */
    expect_no_text(w->err, "\r");
    expect_no_text(w->err, "\033");
}

TEST(an_override_is_repeated_unless_quiet)
{
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20 run.seed=7");
    expect_text(w->err, "train.steps = 20\n");
    expect_text(w->err, "run.seed = 7\n");
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20 run.seed=7 --quiet --overwrite");
    ck_assert_str_eq(w->err, "");
}

TEST(quiet_still_warns)
{
    expect_exit(w, 6, "ulimit -f 8; $TRAIN tiny.ini --quiet");
    ck_assert_int_eq(count_of(w->err, "train: "), 2); /* gcov prints lines of its own */
    ck_assert(!strncmp(w->err, "train: warning: ", 16));
    expect_text(w->err, "\ntrain: the last checkpoint could not be written\n");
}

/* ---- commands that stop at once ---- */

TEST(help_names_every_key_and_option)
{
    static const char *const options[] = {"--resume",     "--overwrite", "--eval",
                                          "--check ",     "--quiet",     "--print-config",
                                          "--gradcheck",  "--threads N", "--checkpoint FILE",
                                          "--no-color",   "--version",   "-h, --help",
                                          "75 stopped by"};
    char name[RT_KEY_NAME_SIZE], start[RT_KEY_NAME_SIZE + 8];
    const rt_key *key;
    expect_exit(w, 0, "$TRAIN --help");
    ck_assert_str_eq(w->err, "");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        expect_text(w->out, options[i]);
    for (int i = 0; (key = rt_key_at(i)); i++) {
        snprintf(start, sizeof start, "\n  %s=", rt_key_full_name(key, name));
        expect_text(w->out, start);
    }
    expect_exit(w, 0, "$TRAIN -h; $TRAIN nothing.ini --help >.other; $TRAIN -h | cmp - .other");
}

TEST(help_on_a_part_names_that_part_alone)
{
    expect_exit(w, 0, "$TRAIN --help optimizer");
    expect_text(w->out, "  optimizer.lr=");
    expect_no_text(w->out, "  train.steps=");
    expect_no_text(w->out, "usage: ");
    expect_exit(w, 0, "$TRAIN --help sweep");
    expect_text(w->out, "  sweep.jobs=1");
    expect_no_text(w->out, "optimizer.lr");
    expect_exit(w, 0, "$TRAIN -h train.min_delta");
    expect_text(w->out, "  train.min_delta=0");
    expect_text(w->out, "\n  values: >= 0\n  needs: train.patience above 0\n");
    expect_exit(w, 0, "$TRAIN -h model.norm | grep -c '^  default of a decoder: pre$'");
}

TEST(the_version_names_the_precision)
{
    expect_exit(w, 0, "$TRAIN --version");
    expect_text(w->out, "rotor " ROTOR_VERSION " (float)\nOpenBLAS ");
    expect_exit(w, 0, "$TRAIN64 --version");
    expect_text(w->out, "rotor " ROTOR_VERSION " (double)\nOpenBLAS ");
}

TEST(the_configuration_is_printed_with_its_origins)
{
    char line[RT_KEY_NAME_SIZE];
    const rt_key *key;
    expect_exit(w, 0, "$TRAIN --print-config tiny.ini optimizer.lr=0.5 --threads 3");
    for (int i = 0; (key = rt_key_at(i)); i++) {
        snprintf(line, sizeof line, "\n%s = ", key->name);
        if (!key->needs && key->type != RT_KEY_TEXT && key->type != RT_KEY_LENGTHS)
            expect_text(w->out, line);
    }
    expect_no_text(w->out, "original_len");
    ck_assert_int_eq(count_of(w->err, "command line"), 2);
    expect_no_text(w->err, "position.base");
    expect_exit(w, 0, "$TRAIN --print-config tiny.ini --quiet");
    ck_assert_str_eq(w->err, "");
    expect_exit(w, 0, "ls -A");
    ck_assert_str_eq(w->out, ".err\n.out\ntiny.ini\n");
}

TEST(a_check_says_that_all_is_good)
{
    expect_exit(w, 0, "$TRAIN --check tiny.ini");
    expect_text(w->out, "tiny.ini: configuration and data are valid\n");
}

/* ---- evaluation ---- */

/* float to double is exact, so the double program sees the same model and differs only by
 * its own rounding. */
TEST_ROWS(a_checkpoint_gives_the_same_results_in_the_other_precision, 0, 2)
{
    static const char *const pair[][2] = {{"$TRAIN", "$TRAIN64"}, {"$TRAIN64", "$TRAIN"}};
    double loss[2], accuracy[2];
    char line[LINE_SIZE];
    expect_exit(w, 0, "%s tiny.ini --quiet", pair[_i][0]);
    for (int k = 0; k < 2; k++) {
        expect_exit(w, 0, "%s tiny.ini --eval", pair[_i][k]);
        expect_text(w->out, "checkpoint: runs/tiny/checkpoints/step-00000060.h5, step 60\n");
        ck_assert_int_eq(sscanf(line_of(w->out, "eval: ", line), "eval: loss %lf, accuracy %lf",
                                loss + k, accuracy + k),
                         2);
    }
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-4);
    ck_assert_double_eq_tol(accuracy[0], accuracy[1], 0.013); /* one label of 80 */
}

TEST(evaluation_is_the_same_for_any_number_of_threads)
{
    char one[OUTPUT_SIZE];
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet train.shards=4");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet train.shards=4 --eval --threads 1");
    strcpy(one, w->out);
    for (int threads = 2; threads <= 3; threads++) {
        expect_exit(w, 0, "$TRAIN tiny.ini --quiet train.shards=4 --eval --threads %d", threads);
        ck_assert_str_eq(w->out, one);
    }
}

TEST(evaluation_changes_nothing_on_disk)
{
    expect_exit(w, 0,
                "$TRAIN tiny.ini --quiet; find runs -type f -exec cksum {} + | sort >.before");
    expect_exit(
        w, 0, "$TRAIN tiny.ini --eval; find runs -type f -exec cksum {} + | sort | cmp - .before");
}

/* As the rate rises to 10 the loss of the first steps becomes ten times as high: the least of the
 * evaluations is named, and its checkpoint kept beside the newest; also by a run that was stopped
 * on the way. */
TEST_ROWS(the_best_evaluation_is_named_and_its_checkpoint_kept, 0, 2)
{
    const char *options = "tiny.ini --quiet optimizer.lr=10 optimizer.warmup_steps=60 "
                          "train.eval_every=5 train.keep=1 train.checkpoint_every=1000";
    if (_i)
        expect_exit(w, 0, "$TRAIN %s train.steps=45", options);
    expect_exit(w, 0, "$TRAIN %s %s >out", options, _i ? "--resume" : "");
    expect_exit(w, 0,
                "awk -F, 'NR > 1 && $4 != \"\" && (!step || $4 + 0 < least) { least = $4 + 0; "
                "step = $1 } END { printf \"best: loss %%.6g at step %%d\\n\", least, step; "
                "printf \"step-%%08d.h5\\n\", step >\"kept\"; exit step == 60 }' "
                "runs/tiny/metrics.csv >best; cat best");
    expect_exit(w, 0, "grep '^best: ' out | cmp - best");
    expect_exit(w, 0,
                "(cat kept; echo step-00000060.h5) | sort >kept.2; "
                "ls runs/tiny/checkpoints | cmp - kept.2");
}
