/* `train` as a user sees it: results, files, exit codes, messages. */

#include "train_program.h"

/* ---- a run ---- */

SUITE(PROGRAM_OPTIONS)

TEST(a_run_prints_its_results_and_leaves_its_files)
{
    static const char *const left[] = {"runs/tiny/config.ini", "runs/tiny/metrics.csv",
                                       "runs/tiny/theta.csv", "runs/tiny/timing.csv",
                                       "runs/tiny/checkpoints/step-00000060.h5"};
    expect_exit(w, 0, "$TRAIN tiny.ini");
    expect_text(w->out, "\neval: loss ");
    expect_text(w->out, "\ntheta: max relative drift ");
    expect_text(w->out, " (tolerance 0.20)\n");
    expect_text(w->out, " rad over 11 positions: ");
    expect_text(w->out, "\nrun: runs/tiny\n");
    expect_text(w->err, "step 10/60 ");
    char line[LINE_SIZE];
    expect_no_text(line_of(w->err, "step 10/60 ", line), "  eval loss 0.");
    expect_text(line_of(w->err, "step 60/60 ", line), "  eval loss 0.");
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        ck_assert_msg(exists(left[i]), "%s is missing", left[i]);
    char *metrics = read_file("runs/tiny/metrics.csv"), *theta = read_file("runs/tiny/theta.csv");
    expect_text(metrics, "step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm");
    expect_text(theta, "step,layer,head,i,theta,theta_initial\n0,0,all,0,1,1\n");
    rt_free(metrics);
    rt_free(theta);
}

TEST(a_small_model_learns_to_copy)
{
    expect_exit(w, 0,
                "$TRAIN tiny.ini model.dim=32 train.steps=400 optimizer.schedule_steps=400 "
                "train.batch_size=16 optimizer.lr=5e-3 train.target_accuracy=0.99");
}

TEST(quiet_says_nothing_on_the_way)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet");
    ck_assert_str_eq(w->err, "");
}

TEST(theta_is_reported_by_scope)
{
    expect_exit(w, 0, "$TRAIN tiny.ini theta.scope=model run.name=m");
    expect_text(w->out, "(layer all, i ");
    expect_exit(w, 0, "$TRAIN tiny.ini theta.scope=head run.name=h");
    expect_text(w->out, ", head ");
    expect_exit(w, 0, "$TRAIN tiny.ini theta.learn=no run.name=f");
    ck_assert_ptr_null(strstr(w->out, "theta:"));
    ck_assert(!exists("runs/f/theta.csv"));
}

TEST(a_closed_pipe_does_not_end_training)
{
    shell(w, "$TRAIN tiny.ini | true");
    ck_assert(exists("runs/tiny/checkpoints/step-00000060.h5"));
}

/* ---- sameness ---- */

TEST(the_same_seed_gives_the_same_bytes_for_any_number_of_threads)
{
    for (int threads = 1; threads <= 3; threads++)
        expect_exit(w, 0,
                    "$TRAIN tiny.ini train.shards=4 run.name=t%d --threads %d model.dropout=0.1 "
                    "model.attention_dropout=0.1",
                    threads, threads);
    expect_same_files("runs/t1/metrics.csv", "runs/t2/metrics.csv");
    expect_same_files("runs/t1/metrics.csv", "runs/t3/metrics.csv");
    expect_same_files("runs/t1/theta.csv", "runs/t3/theta.csv");
    expect_exit(w, 0, "$TRAIN tiny.ini train.shards=4 run.name=other run.seed=2");
    expect_exit(w, 1, "cmp runs/t1/metrics.csv runs/other/metrics.csv");
}

static void expect_same_model(const char *one, const char *other)
{
    expect_exit(w, 0,
                "for g in /model /optimizer; do h5diff runs/%s/checkpoints/step-00000002.h5 "
                "runs/%s/checkpoints/step-00000002.h5 $g $g || exit 1; done",
                one, other);
}

/* Its products and passes are cut into parts, which the threads share. */
#define LONG                                                                                       \
    "$TRAIN tiny.ini train.steps=2 train.batch_size=1 data.length=600 model.dim=128 "              \
    "model.dropout=0.1 model.attention_dropout=0.1 "

NIGHTLY_TEST(one_sequence_gives_the_same_bytes_for_any_number_of_threads)
{
    static const int threads[] = {1, 2, 3, 5};
    for (int i = 0; i < 4; i++)
        expect_exit(w, 0, LONG "run.name=t%d --threads %d", threads[i], threads[i]);
    for (int i = 1; i < 4; i++) {
        char name[8], metrics[32];
        snprintf(name, sizeof name, "t%d", threads[i]);
        snprintf(metrics, sizeof metrics, "runs/%s/metrics.csv", name);
        expect_same_files("runs/t1/metrics.csv", metrics);
        expect_same_model("t1", name);
    }
}

/* Recomputed layers have the same bits, with dropout, rounding and theta. */
SAMPLED_ROWS(recomputation_changes_no_byte, 0, 9, 3)
{
    static const char *const ways[] = {
        LONG "theta.scope=model",
        LONG "theta.scope=head --threads 2",
        "$TRAIN tiny.ini train.steps=2 theta.scope=layer train.shards=4 model.dropout=0.1",
        "$TRAIN tiny.ini train.steps=2 model.norm=pre model.ffn=swiglu --trap",
        "$TRAIN tiny.ini train.steps=2 position.kind=shaw theta.learn=no --profile",
        "$TRAIN tiny.ini train.steps=2 position.kind=t5 theta.learn=no",
        "$TRAIN tiny.ini train.steps=2 train.freeze=embeddings,layers.0",
        "$TRAIN tiny.ini train.steps=2 model.attention=linear_elu",
        LONG "run.engine=onednn run.math=bf16"};
    const char *way = ways[_i];
    if (strstr(way, "bf16") && shell(w, "%s --check", way)) {
        printf("SKIP recomputation in bf16: needs oneDNN and a processor that has it (%s)\n",
               w->err);
        return;
    }
    expect_exit(w, 0, "%s run.name=kept", way);
    expect_exit(w, 0, "%s run.name=again train.recompute=layers", way);
    expect_same_files("runs/kept/metrics.csv", "runs/again/metrics.csv");
    expect_same_model("kept", "again");
}

/* Stops on a checkpoint, on a step that is neither logged nor evaluated, and next to both. */
TEST_ROWS(a_run_that_stops_and_resumes_equals_the_straight_run, 0, 6)
{
    static const int stops[] = {1, 7, 20, 33, 40, 59};
    const int stop = stops[_i];
    const char *options = "theta.scope=head model.dropout=0.1 train.shards=2";
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=straight %s", options);
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=halves %s train.steps=%d", options, stop);
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=halves %s --resume --threads 1", options);
    expect_text(w->err, "resuming from runs/halves/checkpoints/step-000000");
    expect_same_files("runs/straight/metrics.csv", "runs/halves/metrics.csv");
    expect_same_files("runs/straight/theta.csv", "runs/halves/theta.csv");
    expect_exit(w, 0,
                "for g in /model /optimizer; do h5diff runs/straight/checkpoints/step-00000060.h5 "
                "runs/halves/checkpoints/step-00000060.h5 $g $g || exit 1; done");
}

/* Parameters are rounded at every step and every evaluation. */
TEST(bf16_gives_the_same_bytes_for_any_number_of_threads_and_when_resumed)
{
    const char *options = "run.engine=onednn run.math=bf16 model.dropout=0.1 train.shards=4";
    if (shell(w, "$TRAIN tiny.ini --check %s", options)) {
        printf("SKIP training in bf16: needs oneDNN and a processor that has it (%s)\n", w->err);
        return;
    }
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=one %s --threads 1", options);
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=three %s --threads 3", options);
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=halves %s train.steps=33", options);
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=halves %s --resume", options);
    expect_same_files("runs/one/metrics.csv", "runs/three/metrics.csv");
    expect_same_files("runs/one/metrics.csv", "runs/halves/metrics.csv");
    expect_same_files("runs/one/theta.csv", "runs/halves/theta.csv");
    expect_exit(w, 0,
                "$TRAIN tiny.ini run.name=float run.engine=onednn model.dropout=0.1 "
                "train.shards=4");
    expect_exit(w, 1, "cmp -s runs/one/metrics.csv runs/float/metrics.csv");
}

TEST(dropout_is_off_in_evaluation)
{
    char line[256];
    expect_exit(w, 0, "$TRAIN tiny.ini");
    snprintf(line, sizeof line, "%.*s", (int)strcspn(strstr(w->out, "eval: "), "\n"),
             strstr(w->out, "eval: "));
    expect_exit(w, 0, "$TRAIN tiny.ini --eval model.dropout=0.9 model.attention_dropout=0.9");
    expect_text(w->out, line);
}

TEST(evaluation_repeats_the_last_line_and_precision_is_free)
{
    char line[256];
    expect_exit(w, 0, "$TRAIN tiny.ini");
    snprintf(line, sizeof line, "%.*s", (int)strcspn(strstr(w->out, "eval: "), "\n"),
             strstr(w->out, "eval: "));
    expect_exit(w, 0, "$TRAIN tiny.ini --eval");
    expect_text(w->out, line);
    expect_exit(w, 0,
                "$TRAIN64 tiny.ini --eval --checkpoint runs/tiny/checkpoints/step-00000060.h5");
    expect_exit(w, 0, "$TRAIN64 tiny.ini run.name=exact train.steps=20");
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=exact --resume");
}

/* ---- refusals ---- */

typedef struct refusal {
    int code;
    const char *command;
    const char *says;
} refusal;

/* None of these creates anything. */
static const refusal refusals[] = {
    {2, "$TRAIN", "a CONFIG.ini is required"},
    {2, "$TRAIN --resme tiny.ini", "unknown option '--resme'; did you mean '--resume'?"},
    {2, "$TRAIN --lr=1e-3 tiny.ini", "unknown option '--lr=1e-3'; write optimizer.lr=1e-3"},
    {2, "$TRAIN tiny.ini --batch-size 4", "unknown option '--batch-size'; write train.batch_size="},
    {2, "$TRAIN tiny.ini --epochs=3", "unknown option '--epochs=3'; write train.steps=VALUE"},
    {2, "$TRAIN tiny.ini --data.file=x", "unknown option '--data.file=x'; write data.file=x"},
    {2, "$TRAIN tiny.ini -xy", "unknown option '-x'"},
    {2, "$TRAIN --threads", "needs a value"},
    {2, "$TRAIN --threads ''", "option '--threads' needs a value"},
    {2, "$TRAIN tiny.ini --export ''", "option '--export' needs a value"},
    {2, "$TRAIN tiny.ini --checkpoint= --eval", "option '--checkpoint' needs a value"},
    {2, "$TRAIN tiny.ini --eval --theta ''", "option '--theta' needs a value"},
    {2, "$TRAIN tiny.ini --predict a --stop ''", "option '--stop' needs a value"},
    {2, "$TRAIN --report ''", "option '--report' needs a value"},
    {2, "$TRAIN --watch ''", "option '--watch' needs a value"},
    {2, "$TRAIN --report a b --output ''", "option '--output' needs a value"},
    {2, "$TRAIN --train-tokenizer 20 ''", "an argument is empty"},
    {2, "$TRAIN --report a ''", "an argument is empty"},
    {2, "$TRAIN ''", "an argument is empty"},
    {2, "$TRAIN tiny.ini run.dir=", "run.dir has no value"},
    {2, "$TRAIN tiny.ini other.ini", "one CONFIG.ini is expected"},
    {2, "$TRAIN --init gpt", "--init NAME takes the FILE.ini to write"},
    {2, "$TRAIN --init gpt tiny.ini", "tiny.ini: the file exists"},
    {2, "$TRAIN tiny.ini --resume --overwrite", "give --resume or --overwrite, not both"},
    {2, "$TRAIN tiny.ini --checkpoint x", "--checkpoint needs --eval"},
    {2, "$TRAIN tiny.ini --eval --check", "cannot be combined with another command"},
    {2, "$TRAIN none.ini", "none.ini: cannot read the configuration: No such file or directory"},
    {2, "$TRAIN tiny.ini optimizer.learnig_rate=1", "did you mean 'lr'?"},
    {2, "$TRAIN tiny.ini model.heads=3", "model.dim"},
    {2, "$TRAIN --gradcheck tiny.ini", "use train-f64"},
    {3, "$TRAIN tiny.ini data.task=text data.vocab=32 data.file=none.txt",
     "none.txt: No such file or directory"},
    {3, "$TRAIN tiny.ini --check data.task=text data.vocab=32 data.file=none.txt",
     "No such file or directory"},
    {4, "$TRAIN tiny.ini --eval", "has no checkpoint"},
    {1, "$TRAIN tiny.ini run.dir=tiny.ini", "Not a directory"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

TEST_ROWS(bad_input_is_refused_and_creates_nothing, 0, REFUSALS)
{
    expect_exit(w, refusals[_i].code, "%s", refusals[_i].command);
    expect_text(w->err, refusals[_i].says);
    expect_exit(w, 0, "ls -A");
    ck_assert_str_eq(w->out, ".err\n.out\ntiny.ini\n");
}

TEST(a_broken_file_is_refused_line_by_line)
{
    write_file("bad.ini", "[model]\nlayer = 2\ndim = x\n[positon]\nbase = 0\n");
    expect_exit(w, 2, "$TRAIN bad.ini");
    expect_text(w->err, "bad.ini:2: unknown key 'layer' in [model]; did you mean 'layers'?\n");
    expect_text(w->err, "bad.ini:3: ");
    expect_text(w->err, "bad.ini:4: unknown section 'positon'; did you mean 'position'?\n");
    ck_assert(!exists("runs"));
}

TEST(a_run_that_is_there_is_kept_unless_told_otherwise)
{
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20");
    expect_exit(w, 2, "$TRAIN tiny.ini");
    expect_text(w->err, "runs/tiny already holds a run: give --resume");
    write_file("runs/tiny/notes.txt", "mine");
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=10 --overwrite");
    ck_assert(exists("runs/tiny/notes.txt"));
    ck_assert(exists("runs/tiny/checkpoints/step-00000010.h5"));
    ck_assert(!exists("runs/tiny/checkpoints/step-00000020.h5"));
}

TEST(resuming_follows_its_rules)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --resume train.steps=20");
    expect_text(w->err, "has no checkpoint: starting afresh");
    expect_exit(w, 0, "$TRAIN tiny.ini --resume train.steps=20");
    expect_text(w->out, "\neval: loss ");
    expect_exit(w, 2, "$TRAIN tiny.ini --resume optimizer.lr=0.5 model.layers=1");
    expect_text(w->err, "another configuration");
    expect_text(w->err, "optimizer.lr");
    expect_text(w->err, "model.layers");
    expect_exit(w, 0, "for f in runs/tiny/checkpoints/*; do echo broken > $f; done");
    expect_exit(w, 4, "$TRAIN tiny.ini --resume");
}

TEST(a_broken_checkpoint_falls_back_to_the_one_before)
{
    expect_exit(w, 0, "$TRAIN tiny.ini");
    write_file("runs/tiny/checkpoints/step-00000060.h5", "broken");
    expect_exit(w, 0, "$TRAIN tiny.ini --resume");
    expect_text(w->err, "step-00000060.h5");
    expect_text(w->err, "resuming from runs/tiny/checkpoints/step-00000040.h5");
}

TEST(a_checkpoint_of_another_model_is_refused_by_name)
{
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20");
    expect_exit(w, 4,
                "$TRAIN tiny.ini --eval data.vocab=11 --checkpoint "
                "runs/tiny/checkpoints/step-00000020.h5");
    expect_text(w->err,
                "embeddings.tokens.weight is (10, 16) in the checkpoint, (11, 16) in the model");
    expect_exit(w, 4,
                "$TRAIN tiny.ini --eval position.pairing=half --checkpoint "
                "runs/tiny/checkpoints/step-00000020.h5");
    expect_text(w->err, "pairing");
}

TEST(checks_that_were_asked_for_decide_the_exit_code)
{
    expect_exit(w, 7, "$TRAIN tiny.ini theta.check=unmoved theta.tolerance=1e-9 run.name=a");
    expect_text(w->out, ": moved (tolerance 1e-09)");
    expect_exit(w, 0, "$TRAIN tiny.ini theta.check=unmoved theta.tolerance=100 run.name=b");
    expect_exit(w, 7, "$TRAIN tiny.ini train.target_accuracy=1 run.name=c train.steps=20");
    expect_exit(w, 0, "$TRAIN tiny.ini train.target_accuracy=0.01 run.name=d");
    ck_assert(exists("runs/d/checkpoints/step-00000020.h5"));
    ck_assert(!exists("runs/d/checkpoints/step-00000060.h5"));
}

TEST(a_loss_that_is_not_finite_ends_the_run_and_keeps_the_checkpoint)
{
    expect_exit(w, 5,
                "$TRAIN tiny.ini optimizer.lr=1e38 optimizer.clip_norm=0 "
                "optimizer.kind=sgd train.checkpoint_every=1");
    expect_text(w->err, "train: step ");
    expect_text(w->err, "the loss is ");
}

TEST(a_disk_that_is_full_is_a_warning_and_then_exit_code_6)
{
    expect_exit(w, 6, "ulimit -f 8; $TRAIN tiny.ini");
    expect_text(w->err, "train: warning: ");
    expect_text(w->err, "checkpoints/step-00000020.h5");
    expect_text(w->err, "the last checkpoint could not be written");
}

TEST(parameters_that_are_not_finite_end_the_run)
{
    expect_exit(w, 5,
                "$TRAIN tiny.ini train.steps=1 optimizer.lr=1e30 optimizer.clip_norm=0 "
                "optimizer.schedule=constant optimizer.schedule_steps=0");
    expect_exit(w, 5,
                "$TRAIN tiny.ini run.name=b train.steps=1 optimizer.lr=1e38 "
                "optimizer.clip_norm=0 optimizer.schedule=constant optimizer.schedule_steps=0");
    ck_assert(!exists("runs/b/checkpoints/step-00000001.h5"));
}

TEST(scalars_for_tensorboard_are_written_if_asked_for)
{
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20 run.name=plain");
    ck_assert(!exists("runs/plain/tensorboard"));
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20 run.tensorboard=yes");
    expect_exit(w, 0, "cmp runs/plain/metrics.csv runs/tiny/metrics.csv");
    /* "a/b" of each of the two rows; of the first none but the evaluation's */
    expect_exit(w, 0, "grep -ac loss/training runs/tiny/tensorboard/events.out.tfevents.*");
    expect_exit(w, 0,
                "grep -ao loss/evaluation runs/tiny/tensorboard/events.out.tfevents.* | wc -l");
    ck_assert_int_eq(atoi(w->out), 1);
    expect_exit(w, 0, "grep -ao gradient_norm/theta runs/tiny/tensorboard/* | wc -l");
    ck_assert_int_eq(atoi(w->out), 2);
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=40 --resume run.tensorboard=yes");
    expect_exit(w, 0, "ls runs/tiny/tensorboard | wc -l");
    ck_assert_int_eq(atoi(w->out), 2);
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20 --overwrite");
    ck_assert(!exists("runs/tiny/tensorboard"));
    expect_exit(w, 1,
                "touch runs/plain/tensorboard; $TRAIN tiny.ini run.name=plain train.steps=40 "
                "--resume run.tensorboard=yes");
    expect_text(w->err, "tensorboard");
}

/* 2 ln 10 for ten tokens. */
TEST(a_run_that_has_diverged_says_so)
{
    NEEDS_PROGRAM("gnuplot");
    char diverged[LINE_SIZE], line[LINE_SIZE], loss[64], *page;
    expect_exit(w, 0, "$TRAIN tiny.ini optimizer.lr=10 optimizer.warmup_steps=60");
    line_of(w->out, "diverged: the loss ", diverged);
    ck_assert_int_eq(sscanf(line_of(w->out, "eval: ", line), "eval: loss %63[^,]", loss), 1);
    expect_text(diverged, loss);
    expect_text(diverged, " is more than twice 2.3, the loss of random guessing; try a smaller "
                          "optimizer.lr or more optimizer.warmup_steps");
    expect_exit(w, 0, "grep -c '^diverged_above,4.605170' runs/tiny/result.csv");
    expect_exit(w, 0, "$TRAIN --report runs/tiny");
    page = read_file("runs/tiny/report.html");
    expect_text(page, "diverged: the loss ");
    rt_free(page);
    expect_exit(w, 0, "$TRAIN tiny.ini --overwrite train.steps=1 optimizer.lr=0.1");
    expect_no_text(w->out, "diverged");
    expect_exit(w, 1, "grep diverged runs/tiny/result.csv");
}

TEST(a_run_that_reached_its_target_is_finished)
{
    expect_exit(w, 0, "$TRAIN tiny.ini train.target_accuracy=0.01");
    expect_exit(w, 0, "$TRAIN tiny.ini train.target_accuracy=0.01 --resume");
    expect_text(w->out, "steps: 20, ");
    ck_assert(!exists("runs/tiny/checkpoints/step-00000040.h5"));
}

/* Of 80 labels the share has at most four decimals, which are that number again. */
TEST(a_target_is_reached_by_the_very_accuracy)
{
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=20");
    expect_exit(w, 0,
                "target=$(awk -F, '$1 == 20 { print $5 }' runs/tiny/metrics.csv); "
                "$TRAIN tiny.ini train.target_accuracy=$target run.name=reached");
    expect_text(w->out, "steps: 20, ");
}

TEST(closed_streams_do_not_end_up_in_files)
{
    expect_exit(w, 0, "$TRAIN tiny.ini run.name=open");
    expect_exit(w, 1, "$TRAIN tiny.ini run.name=closed <&- >&- 2>&-"); /* nobody saw the results */
    expect_same_files("runs/open/metrics.csv", "runs/closed/metrics.csv");
}

TEST(results_that_cannot_be_printed_are_a_failure)
{
    expect_exit(w, 1, "$TRAIN --version >/dev/full");
    expect_exit(w, 1, "$TRAIN --help >/dev/full");
    expect_exit(w, 1, "$TRAIN tiny.ini >/dev/full");
    ck_assert(exists("runs/tiny/checkpoints/step-00000060.h5"));
}

TEST(a_damaged_table_is_cut_back_not_crashed_on)
{
    expect_exit(w, 0, "$TRAIN tiny.ini train.steps=30");
    write_file("runs/tiny/metrics.csv", "step\n30\n20,1\n");
    expect_exit(w, 0, "$TRAIN tiny.ini --resume");
}

TEST(nohup_protects_from_hanging_up)
{
    expect_exit(w, 0,
                "trap '' HUP; $TRAIN tiny.ini train.steps=400 & " WAIT_FOR_ROW(
                    "20", "runs/tiny/metrics.csv") "kill -HUP $!; wait $!");
}

TEST(commands_that_only_print)
{
    expect_exit(w, 0, "$TRAIN --version");
    expect_text(w->out, "rotor ");
    expect_exit(w, 0, "$TRAIN --help");
    expect_text(w->out, "--resume");
    expect_text(w->out, "theta.lr_scale=1.0");
    expect_text(w->out, "exit codes: 0 done");
    expect_exit(w, 0, "$TRAIN --print-config tiny.ini model.dim=32");
    expect_text(w->out, "\ndim = 32\n");
    expect_text(w->err, "tiny.ini:4");
    expect_text(w->err, "command line");
    expect_exit(w, 0, "$TRAIN --check tiny.ini");
    ck_assert(!exists("runs"));
}

/* At this seed units of relu lie within a step of their kink. */
TEST(the_gradients_of_a_model_of_relu_pass)
{
    expect_exit(w, 0,
                "$TRAIN64 --gradcheck tiny.ini run.seed=4 model.layers=1 model.dim=64 "
                "model.heads=1 data.length=6 data.vocab=8 model.activation=relu theta.learn=no");
    expect_text(w->out, "ok (at kinks too)");
    expect_text(w->out, "passed\n");
}

TEST(the_gradients_of_a_configured_model_pass)
{
    static const char *const options[] = {
        "theta.scope=model model.norm=pre position.pairing=half",
        "theta.scope=head theta.form=raw model.causal=yes position.rotate_value=yes",
        "theta.learn=no model.embedding_dim=12 model.tie_embeddings=no model.dropout=0.2",
        "position.fraction=0.5 model.activation=gelu_tanh model.attention_dropout=0.2",
        "theta.learn=no position.kind=none data.task=reverse",
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        expect_exit(w, 0, "$TRAIN64 --gradcheck tiny.ini %s", options[i]);
    expect_text(w->out, "passed\n");
    expect_text(w->out, "layers.1.attention.key.bias");
    expect_text(w->out, "ok (zero by symmetry)");
}
