/* `train` as a user sees it: results, learning, files, exit codes, messages. */

#include "train_program.h"

#include "train/config/keys.h"

SUITE(PROGRAM_OPTIONS)

TEST(the_lines_and_tables_of_the_results_are_exact)
{
    char verdict[16], rest;
    double loss, accuracy, drift, grid, phase;
    int sequences, labels, layer, pair;
    run("$TRAIN tiny.ini --quiet");
    ck_assert(!strncmp(w->out, "steps: 60, 5760 tokens\n", 23));
    ck_assert_int_eq(sscanf(line_of(w->out, "eval: "),
                            "eval: loss %lf, accuracy %lf (%d sequences, %d labels%c", &loss,
                            &accuracy, &sequences, &labels, &rest),
                     5);
    ck_assert_int_eq(sequences, 16);
    ck_assert_int_eq(labels, 80); /* 5 of the 12 tokens of each are the copy */
    expect_number(loss, 0.5, 1.6);
    expect_number(accuracy, 0.3, 1);
    ck_assert_int_eq(sscanf(line_of(w->out, "theta: "),
                            "theta: max relative drift %lf (layer %d, i %d; %lf grid steps), max "
                            "phase drift %lf rad over 11 positions: %15s (tolerance 0.20%c",
                            &drift, &layer, &pair, &grid, &phase, verdict, &rest),
                     7);
    ck_assert_str_eq(verdict, drift <= 0.2 ? "near" : "moved");
    expect_number(grid, 1e-4, 1);
    expect_number(phase, 1e-4, 11);
    ck_assert_str_eq(strstr(w->out, "\nrun: "), "\nrun: runs/tiny\n");
    /* a head of 8 features has 4 pairs: 2 layers, step 0 and three evaluations */
    const char *theta = read_file("runs/tiny/theta.csv"),
               *metrics = read_file("runs/tiny/metrics.csv");
    ck_assert_int_eq(count_of(theta, "\n"), 1 + 4 * 2 * 4);
    ck_assert_int_eq(count_of(theta, "\n0,"), 8);
    ck_assert_int_eq(count_of(theta, "\n60,"), 8);
    ck_assert_int_eq(count_of(metrics, "\n"), 1 + 6);
    ck_assert_int_eq(count_of(metrics, ",,,"), 3); /* logged without an evaluation */
}

/* A few hundred steps take each of them far below ln 8, the loss of guessing. */
NIGHTLY_ROWS(every_task_is_learned, 0, 4)
{
    static const char *const tasks[] = {"copy", "reverse", "shift", "sort"};
    run(TINY "data.task=%s model.dim=32 train.batch_size=16 optimizer.lr=5e-3 train.steps=500 "
             "optimizer.schedule_steps=500 run.log_every=500",
        tasks[_i]);
    run("tail -n 1 runs/tiny/metrics.csv | cut -d, -f3");
    expect_number(number_behind(w->out, ""), 0, 0.25);
}

TEST(progress_without_a_terminal_is_plain_lines)
{
    expect_stdout("(layer all, i ", "$TRAIN tiny.ini run.log_every=25 theta.scope=model");
    ck_assert_int_eq(count_of(w->err, "\nstep "), 2);
    expect_text(w->err, "\nstep 25/60 ", "run.log_every = 25\n", "theta.scope = model\n");
    expect_text(line_of(w->err, "step 60/60 "), "  eval loss 0."); /* whatever its number */
    expect_no_text(line_of(w->err, "step 25/60 "), "  eval loss 0.");
    expect_no_text(w->err, "\r", "\033");
    expect_message(0, "", "$TRAIN tiny.ini theta.scope=head run.seed=7 --quiet --overwrite");
    expect_text(w->out, ", head ");
    expect_no_stdout("theta:", "$TRAIN tiny.ini theta.learn=no run.name=f");
    ck_assert(!exists("runs/f/theta.csv"));
}

/* The help on the keys is in test_config_print.c. */
TEST(help_names_every_key_and_option)
{
    expect_message(0, "", "$TRAIN --help");
    expect_text(w->out, "--resume", "--overwrite", "--eval", "--check ", "--quiet",
                "--print-config", "--gradcheck", "--threads N", "--checkpoint FILE", "--no-color",
                "--version", "-h, --help", "75 stopped by", "exit codes: 0 done",
                owned(rt_config_help(NULL), rt_free));
    run("$TRAIN -h; $TRAIN nothing.ini --help >.other; $TRAIN -h | cmp - .other");
    expect_output("", "$TRAIN --help | grep -E '.{81}'; exit 0");
    expect_stderr(2, "no section and no key is named 'optimizer.lrs'; did you mean 'optimizer.lr'?",
                  "$TRAIN --help optimizer.lrs");
    expect_stderr(2, "; did you mean 'sweep.jobs'?", "$TRAIN --help sweep.job=2");
    expect_stderr(2, "; did you mean 'overwrite'?", "$TRAIN --help overwriet");
    expect_stderr(2, "'wombat'; --help alone lists all", "$TRAIN --help wombat");
    for (int i = 0; i < 4; i++)
        expect_stdout("  --theta WHAT       with --eval",
                      (const char *const[]){"$TRAIN --help --theta", "$TRAIN -h off:",
                                            "$TRAIN -h scale:4", "$TRAIN --help theta"}[i]);
    expect_stdout("  optimizer.lr=", "$TRAIN --help optimizer");
    expect_no_text(w->out, "  train.steps=", "usage: ");
    expect_stdout("  sweep.jobs=1", "$TRAIN --help sweep");
    expect_no_text(w->out, "optimizer.lr");
    expect_stdout("  train.min_delta=0", "$TRAIN -h train.min_delta");
    expect_text(w->out, "\n  values: >= 0\n  needs: train.patience above 0\n");
    run("$TRAIN -h model.norm | grep -c '^  default of a decoder: pre$'");
}

/* What the shells make of the list is in check_completion.sh. */
TEST(options_are_listed_for_completion_with_their_values)
{
    expect_output("--eval\n--theta\tstart base off: scale: @file \n--export\t@folder \n"
                  "--samples\t\n--init\tgpt classify tag mlm theta ...\n",
                  "$TRAIN --completion | grep -E '^--(eval|theta|export|samples|init)[^-]*$'");
}

TEST(a_tilde_on_the_command_line_stands_for_the_home_folder)
{
    run("HOME=$PWD $TRAIN tiny.ini --quiet train.steps=2 'run.dir=~/there'");
    ck_assert(exists("there/tiny/config.ini") && !exists("~"));
    run("HOME=$PWD $TRAIN --quiet --eval '--checkpoint=~/there/tiny'");
    run("HOME=$PWD $TRAIN --quiet '~/there/tiny/config.ini' --export '~/out' && test -d out");
    run("HOME=$PWD $TRAIN --quiet --report '~/there/tiny'");
    run("HOME=$PWD $TRAIN --quiet --init gpt '~/own.ini' && test -f own.ini");
    expect_stderr(2, "'~/there/tiny': HOME is not set; write the whole path",
                  "HOME= $TRAIN --eval --checkpoint '~/there/tiny'");
}

TEST(the_configuration_is_printed_with_its_origins)
{
    run("$TRAIN --print-config tiny.ini optimizer.lr=0.5 --threads 3");
    expect_text(w->out, "\nlr = 0.5\n", "\nthreads = 3\n", "\nsteps = 60\n");
    expect_no_text(w->out, "original_len");
    ck_assert_int_eq(count_of(w->err, "command line"), 2);
    expect_text(w->err, "tiny.ini:4");
    expect_no_text(w->err, "position.base");
    expect_message(0, "", "$TRAIN --print-config tiny.ini --quiet");
    expect_output(".err\n.out\ntiny.ini\n", "ls -A");
}

TEST(the_version_names_the_precision)
{
    expect_stdout("rotor " ROTOR_VERSION " (float)\nOpenBLAS ",
                  "$TRAIN --version; $TRAIN64 --version");
    expect_text(w->out, "rotor " ROTOR_VERSION " (double)\nOpenBLAS ");
    expect_stdout("tiny.ini: configuration and data are valid\n", "$TRAIN --check tiny.ini");
    run("$TRAIN --check tiny.ini | grep -Ex 'memory, MB: step [0-9]+,( [-a-z]+ [0-9]+,)* --export "
        "[0-9]+'");
    ck_assert(!exists("runs"));
}

/* float to double is exact: the double program sees the same model, and rounds differently. */
TEST_ROWS(a_checkpoint_gives_the_same_results_in_the_other_precision, 0, 2)
{
    static const char *const pair[][2] = {{"$TRAIN", "$TRAIN64"}, {"$TRAIN64", "$TRAIN"}};
    double loss[2], accuracy[2];
    run("%s tiny.ini --quiet", pair[_i][0]);
    for (int k = 0; k < 2; k++) {
        expect_stdout("checkpoint: runs/tiny/checkpoints/step-00000060.h5, step 60\n",
                      "%s tiny.ini --eval", pair[_i][k]);
        loss[k] = number_behind(w->out, "eval: loss ");
        accuracy[k] = accuracy_of(w->out);
    }
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-4);
    ck_assert_double_eq_tol(accuracy[0], accuracy[1], 0.013); /* one label of 80 */
}

TEST(an_evaluation_has_no_dropout_and_writes_no_file)
{
    run(TINY "train.shards=4 --threads 1");
    const char *line = line_of(w->out, "eval: ");
    run(NOTE_FILES);
    expect_stdout(line, "$TRAIN tiny.ini --eval train.shards=4 --threads 3 model.dropout=0.9 "
                        "model.attention_dropout=0.9");
    run(COMPARE_FILES);
}

/* The learning rate rises to 10, and the loss to ten times that of the first steps. The best
 * evaluation is named and its checkpoint kept beside the newest, also after a stop and --resume. */
TEST_ROWS(the_best_evaluation_is_named_and_its_checkpoint_kept, 0, 2)
{
    const char *options = "tiny.ini --quiet optimizer.lr=10 optimizer.warmup_steps=60 "
                          "train.eval_every=5 train.keep=1 train.checkpoint_every=1000";
    if (_i)
        run("$TRAIN %s train.steps=45", options);
    run("$TRAIN %s %s >out", options, _i ? "--resume" : "");
    run("awk -F, 'NR > 1 && $4 != \"\" && (!step || $4 + 0 < least) { least = $4 + 0; step = $1 } "
        "END { printf \"best: loss %%.6g at step %%d\\n\", least, step; printf "
        "\"step-%%08d.h5\\n\", step >\"kept\"; exit step == 60 }' runs/tiny/metrics.csv >best; cat "
        "best");
    run("grep '^best: ' out | cmp - best");
    run("(cat kept; echo step-00000060.h5) | sort >kept.2; ls runs/tiny/checkpoints | cmp - "
        "kept.2; $TRAIN tiny.ini --eval | grep step-00000060.h5");
    run("for i in tiny.ini '--checkpoint runs/tiny'; do $TRAIN $i --eval --best | grep -F $(cat "
        "kept) || exit 1; done; rm runs/tiny/checkpoints/$(cat kept)");
    expect_exit(w, 4, "$TRAIN tiny.ini --eval --best");
}

#define LONG                                                                                       \
    "$TRAIN tiny.ini train.steps=2 train.batch_size=1 data.length=600 model.dim=128 "              \
    "model.dropout=0.1 model.attention_dropout=0.1 "

/* One long sequence has products and passes that are cut into parts, which the threads share. */
SAMPLED_ROWS(threads_and_recomputation_change_no_byte, 0, 9, 3)
{
    static const char *const ways[] = {
        LONG "theta.scope=model",
        LONG "theta.scope=head",
        "$TRAIN tiny.ini train.steps=2 theta.scope=layer train.shards=4 model.dropout=0.1",
        "$TRAIN tiny.ini train.steps=2 model.norm=pre model.ffn=swiglu --trap",
        "$TRAIN tiny.ini train.steps=2 position.kind=shaw theta.learn=no --profile",
        "$TRAIN tiny.ini train.steps=2 position.kind=t5 theta.learn=no",
        "$TRAIN tiny.ini train.steps=2 train.freeze=embeddings,layers.0",
        "$TRAIN tiny.ini train.steps=2 model.attention=linear_elu",
        LONG "run.engine=onednn run.math=bf16"};
    const char *way = ways[_i];
    NEEDS(!strstr(way, "bf16") || !shell(w, "%s --check", way), BF16);
    run("%s run.name=kept --threads 1", way);
    run("%s run.name=again --threads 3 train.recompute=layers", way);
    expect_same_in("kept", "again", "metrics.csv");
    expect_same_model("kept", "again", 2);
}

/* Parameters are rounded at every step and every evaluation. */
TEST(bf16_gives_the_same_bytes_for_any_number_of_threads_and_when_resumed)
{
    const char *options = "run.engine=onednn run.math=bf16 model.dropout=0.1 train.shards=4";
    NEEDS(!shell(w, "$TRAIN tiny.ini --check %s", options), BF16);
    run("$TRAIN tiny.ini run.name=one %s --threads 1", options);
    run("$TRAIN tiny.ini run.name=three %s --threads 3", options);
    run("$TRAIN tiny.ini run.name=halves %s train.steps=33", options);
    run("$TRAIN tiny.ini run.name=halves %s --resume", options);
    expect_same_in("one", "three", "metrics.csv");
    expect_same_in("one", "halves", "metrics.csv theta.csv");
    run("$TRAIN tiny.ini run.name=float run.engine=onednn model.dropout=0.1 train.shards=4");
    expect_exit(w, 1, "cmp -s runs/one/metrics.csv runs/float/metrics.csv");
}

#define BLANKS "an override is section.key=value without blanks: write "
static const refused_command refusals[] = {
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
    {2, "$TRAIN --report a ''", "an argument is empty"},
    {2, "$TRAIN ''", "an argument is empty"},
    {2, "$TRAIN tiny.ini other.ini", "one CONFIG.ini is expected"},
    {2, "$TRAIN tiny.ini train.steps=3 other.ini", "one CONFIG.ini is expected"},
    {2, "$TRAIN tiny.ini train.steps = 100", BLANKS "'train.steps=100'"},
    {2, "$TRAIN train.steps =100 tiny.ini", BLANKS "'train.steps=100'"},
    {2, "$TRAIN --check train.steps= 100 tiny.ini", BLANKS "'train.steps=100'"},
    {2, "$TRAIN --print-config tiny.ini train.steps 100 --quiet", BLANKS "'train.steps=100'"},
    {2, "$TRAIN tiny.ini steps", BLANKS "'train.steps=VALUE'"},
    {2, "$TRAIN --eval tiny.ini data.eval_file = a , b,c", BLANKS "'data.eval_file=a,b,c'"},
    {2, "$TRAIN tiny.ini sweep.run.seed=1, 2, 3", BLANKS "'sweep.run.seed=1,2,3'"},
    {0, "$TRAIN --check --quiet train.freeze= tiny.ini", ""},
    {2, "$TRAIN --init gpt", "--init NAME takes the FILE.ini to write"},
    {2, "$TRAIN --init gpt tiny.ini", "tiny.ini: the file exists"},
    {2, "$TRAIN --init gtp own.ini",
     "train: --init must be one of gpt, classify, tag, mlm, theta; got 'gtp'\n"},
    {1, "$TRAIN --init gpt none/own.ini", "none/own.ini.tmp: No such file or directory"},
    {2, "$TRAIN tiny.ini --resume --overwrite", "give --resume or --overwrite, not both"},
    {2, "$TRAIN tiny.ini --checkpoint x", "--checkpoint needs --eval"},
    {2, "$TRAIN tiny.ini --eval --check", "cannot be combined with another command"},
    {2, "$TRAIN --gradcheck tiny.ini", "use train-f64"},
    {2, TINY "run.engine=openblas run.math=bf16",
     "tiny.ini: run.engine, run.math: OpenBLAS has no matrix products in bf16"},
    {2, "$TRAIN64 tiny.ini --quiet run.engine=onednn",
     "oneDNN computes in float; this program computes in double"},
    {2, TINY "run.kernels=portable run.engine=onednn", "run.kernels = portable needs OpenBLAS"},
    {2, TINY "run.kernels=portable run.math=bf16", "needs OpenBLAS, and run.math = float"},
    {2, "ROTOR_ROW_KERNELS=MMX $TRAIN tiny.ini --quiet",
     "train: ROTOR_ROW_KERNELS: unknown row kernels"},
    {3, "$TRAIN tiny.ini data.task=text data.vocab=32 data.file=none.txt",
     "none.txt: No such file or directory"},
    {2, "$TRAIN --checkpoint runs",
     "--checkpoint needs --eval, --usage, --distances, --gradient, --predict, --embed, --export, "
     "--print-config or --decay"},
    {2, "$TRAIN --checkpoint runs tiny.ini --print-config", "--checkpoint needs"},
    {2, "$TRAIN --checkpoint runs --check", "--checkpoint needs"},
    {2, "$TRAIN --checkpoint none.h5 --eval --best", "--best needs a folder; none.h5 is not one"},
    {2, "$TRAIN tiny.ini --best",
     "--best needs --eval, --usage, --distances, --gradient, --predict, --embed, --export or "
     "--decay"},
    {2, "$TRAIN tiny.ini --tokens 100", "train: --tokens needs --predict\n"},
    {2, "$TRAIN tiny.ini --seed 0", "train: --seed needs --predict\n"},
    {2, "$TRAIN tiny.ini --embed a --pool max", "--pool must be first, mean or last; got 'max'"},
    {2, "$TRAIN tiny.ini --embed a --output v.csv",
     "--output of --embed must be FILE.h5 or FILE.npy; got 'v.csv'"},
    {2, "$TRAIN tiny.ini --embed a --layer -1", "--layer must be a whole number >= 0; got '-1'"},
    {2, "$TRAIN tiny.ini --pool mean", "--pool needs --embed"},
    {2, "$TRAIN tiny.ini --embed a --eval", "--eval cannot be combined with another command"},
    {2, "$TRAIN tiny.ini --per-line", "--per-line needs --eval"},
    {2, "$TRAIN tiny.ini --eval --output v.h5", "--output needs --embed or --report"},
    {2, "$TRAIN tiny.ini --temperature 0", "train: --temperature needs --predict\n"},
    {2, "$TRAIN tiny.ini --top-k 3", "train: --top-k needs --predict\n"},
    {2, "$TRAIN tiny.ini --top-p 0.5", "train: --top-p needs --predict\n"},
    {2, "$TRAIN tiny.ini --samples 2", "train: --samples needs --predict\n"},
    {2, "$TRAIN tiny.ini --stop x", "train: --stop needs --predict\n"},
    {2, "$TRAIN tiny.ini --jsonl", "train: --jsonl needs --predict\n"},
    {2, "$TRAIN tiny.ini --export out --dtype f16", "train: --dtype needs --export FILE.gguf\n"},
    {2, "$TRAIN tiny.ini --export out.gguf --dtype q4",
     "train: --dtype must be f32 or f16; got 'q4'\n"},
    {2, "$TRAIN tiny.ini --trap --profile", "give --trap or --profile, not both"},
    {2, "$TRAIN --check tiny.ini --profile", "--profile goes with training only"},
    {2, "$TRAIN tiny.ini --theta start", "--theta needs --eval"},
    {2, "$TRAIN tiny.ini theta.learn=no theta.log=yes",
     "theta.log = yes has no effect: it needs theta.learn = yes\n"},
    {2, "$TRAIN tiny.ini theta.init=uniform theta.init_from=theta.csv",
     "theta.init_from and theta.init both set the initial theta; give only one"},
    {3, "$TRAIN tiny.ini --resume data.task=text data.vocab=32 data.file=absent.txt",
     "absent.txt: No such file or directory (data.file)\n"},
    {4, "$TRAIN --checkpoint none.h5 --eval", "none.h5: No such file or directory"},
    {4, "$TRAIN --decay tiny.ini --checkpoint none.h5", "none.h5: No such file or directory"},
    {4, "$TRAIN tiny.ini train.init_from=none.h5", "none.h5: No such file or directory"},
    {4, "$TRAIN --checkpoint . --eval", ". has no checkpoint"},
    {4, "$TRAIN tiny.ini --decay --best", "runs/tiny has no checkpoint"},
    {4, "$TRAIN tiny.ini --eval", "has no checkpoint"},
    {1, "$TRAIN tiny.ini run.dir=tiny.ini/below", "train: tiny.ini/below: Not a directory"},
};

TEST_ROWS(bad_input_is_refused_and_creates_nothing, 0, ROWS(refusals))
{
    const char *says = refusals[_i].says;
    const bool whole = !strncmp(says, "train: ", 7) && says[strlen(says) - 1] == '\n';
    expect_stderr(refusals[_i].code, says, "%s", refusals[_i].command);
    ck_assert_msg(!whole || !strcmp(w->err, says), "%s: %s", refusals[_i].command, w->err);
    expect_output(".err\n.out\ntiny.ini\n", "ls -A");
}

TEST(a_checkpoint_of_another_model_is_refused_by_name)
{
    run("$TRAIN tiny.ini train.steps=20");
    expect_stderr(
        4, "embeddings.tokens.weight is (10, 16) in the checkpoint, (11, 16) in the model",
        "$TRAIN tiny.ini --eval data.vocab=11 --checkpoint runs/tiny/checkpoints/step-00000020.h5");
}

/* An accuracy over 80 labels has at most four decimals, so that it reads back as the same number.
 */
TEST(checks_of_theta_and_the_target_decide_the_exit_code)
{
    expect_exit(w, 7, "$TRAIN tiny.ini theta.check=unmoved theta.tolerance=1e-9 run.name=a");
    expect_text(w->out, ": moved (tolerance 1e-09)");
    run("grep -x 'check = unmoved' runs/a/config.ini && $TRAIN runs/a/config.ini --eval");
    expect_exit(w, 7, "$TRAIN runs/a/config.ini --eval theta.check=unmoved");
    expect_exit(w, 7, "$TRAIN runs/a/config.ini --eval train.target_accuracy=1");
    run("$TRAIN tiny.ini theta.check=unmoved theta.tolerance=100 run.name=b");
    expect_exit(w, 7, "$TRAIN tiny.ini train.target_accuracy=1 run.name=c train.steps=20");
    run("$TRAIN tiny.ini train.target_accuracy=0.01 run.name=d");
    ck_assert(exists("runs/d/checkpoints/step-00000020.h5"));
    ck_assert(!exists("runs/d/checkpoints/step-00000060.h5"));
    expect_stdout("steps: 20, ", "target=$(awk -F, '$1 == 20 { print $5 }' runs/c/metrics.csv); "
                                 "$TRAIN tiny.ini train.target_accuracy=$target run.name=reached");
}

TEST(run_tensorboard_writes_scalars_for_tensorboard)
{
    run("$TRAIN tiny.ini train.steps=20 run.name=plain");
    ck_assert(!exists("runs/plain/tensorboard"));
    run("$TRAIN tiny.ini train.steps=20 run.tensorboard=yes");
    run("cmp runs/plain/metrics.csv runs/tiny/metrics.csv");
    /* "a/b" of each of the two rows; of the first none but the evaluation's */
    run("grep -ac loss/training runs/tiny/tensorboard/events.out.tfevents.*");
    expect_output("1\n",
                  "grep -ao loss/evaluation runs/tiny/tensorboard/events.out.tfevents.* | wc -l");
    expect_output("2\n", "grep -ao gradient_norm/theta runs/tiny/tensorboard/* | wc -l");
    run("$TRAIN tiny.ini train.steps=35 --resume run.tensorboard=yes; mv runs/tiny/tensorboard "
        "old; "
        "$TRAIN tiny.ini train.steps=40 --resume run.tensorboard=yes run.log_every=5");
    /* the step 35, which was an end, is there once more, without its evaluation */
    expect_output("1\n", "grep -aoh loss/evaluation runs/tiny/tensorboard/* | wc -l");
    expect_output("2\n", "grep -aoh loss/training runs/tiny/tensorboard/* | wc -l");
    run("$TRAIN tiny.ini train.steps=20 --overwrite");
    ck_assert(!exists("runs/tiny/tensorboard"));
}

/* 2 ln 10 for ten tokens. */
TEST(a_diverged_run_is_reported_with_a_remedy)
{
    NEEDS_PROGRAM("gnuplot");
    char loss[64];
    run("$TRAIN tiny.ini optimizer.lr=10 optimizer.warmup_steps=60");
    const char *diverged = line_of(w->out, "diverged: the loss ");
    ck_assert_int_eq(sscanf(line_of(w->out, "eval: "), "eval: loss %63[^,]", loss), 1);
    expect_text(diverged, loss);
    expect_text(diverged, " is more than twice 2.3, the loss of random guessing; try a smaller "
                          "optimizer.lr or more optimizer.warmup_steps");
    run("grep -c '^diverged_above,4.605170' runs/tiny/result.csv && $TRAIN --report runs/tiny");
    expect_in_file("runs/tiny/report.html", "diverged: the loss ");
    expect_no_stdout("diverged", "$TRAIN tiny.ini --overwrite train.steps=1 optimizer.lr=0.1");
    expect_exit(w, 1, "grep diverged runs/tiny/result.csv");
}

TEST(nohup_protects_from_hanging_up)
{
    run("trap '' HUP; $TRAIN tiny.ini train.steps=400 & " WAIT_FOR_ROW(
        "20", "runs/tiny/metrics.csv") "kill -HUP $!; wait $!");
}

TEST(the_gradients_of_a_configured_model_pass)
{
    run("$TRAIN64 --gradcheck tiny.ini theta.learn=no position.kind=none data.task=reverse");
    expect_text(w->out, "passed\n", "layers.1.attention.key.bias", "ok (zero by symmetry)");
    /* at this seed units of relu lie within a step of their kink */
    expect_stdout("ok (at kinks too)",
                  "$TRAIN64 --gradcheck tiny.ini run.seed=4 model.layers=1 model.dim=64 "
                  "model.heads=1 data.length=6 data.vocab=8 model.activation=relu theta.learn=no");
    expect_text(w->out, "passed\n");
}
