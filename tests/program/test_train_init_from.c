/* A configuration that says nothing of the model but train.init_from. */

#include "train_program.h"

#define NEWEST "runs/tiny/checkpoints/step-00000020.h5"

static void make_files(void)
{
    setenv("HF", TEST_SOURCES "/fixtures/huggingface", 1);
    run("for i in $(seq 300); do echo 'a b? d; f y'; done >text.txt; printf '[data]\\ntask = "
        "text\\nfile = text.txt\\n[train]\\nsteps = 4\\ninit_from = folder\\n' >short.ini; cp -r "
        "$HF/masked_lm/hf folder; chmod -R u+w folder");
}

/* A decoder with byte pair encoding, exported from a run and so in the form of a Llama. */
static void make_decoder(void)
{
    run("cp " TEST_SOURCES
        "/fixtures/bpe/llama3/tokenizer.json v.json; $TRAIN tiny.ini --quiet data.task=text "
        "data.vocab=32 data.file=text.txt data.level=bpe data.vocab_file=v.json model.kind=decoder "
        "data.objective=lm model.kv_heads=1 position.base=500 theta.learn=no train.steps=4 "
        "run.name=decoder; $TRAIN --checkpoint runs/decoder --export decoder --quiet");
}

/* A copy task whose model differs from the default in many keys. */
static void make_run(void)
{
    run(TINY "train.steps=20 model.norm=pre model.norm_kind=rms model.ffn=geglu model.bias=none "
             "model.causal=yes model.window=9 position.pairing=half position.every=2 "
             "theta.scope=head theta.form=raw position.scaling=yarn position.scale=2 && printf "
             "'[data]\\nlength = 24\\n[train]\\nsteps = 4\\ninit_from = " NEWEST "\\n' >copy.ini");
}

SUITE(PROGRAM_OPTIONS, .prepare = make_files)

TEST(a_folder_can_be_trained_further_without_other_settings)
{
    expect_stderr(0, "/folder, theta included\n", "$TRAIN short.ini");
    expect_no_text(w->err, "warning", "newly initialized");
    expect_in_file("runs/short/config.ini", "\ndim = 24\n", "\nlevel = wordpiece\n");
    expect_message(0, "", "$TRAIN short.ini --check --quiet train.init_from=$HF/causal_lm/hf");
    make_decoder();
    expect_stderr(0, "/decoder, theta included\n",
                  "$TRAIN short.ini train.init_from=decoder --overwrite");
    expect_no_text(w->err, "warning");
    expect_in_file("runs/short/config.ini", "\nkind = decoder\n", "\nbase = 500\n",
                   "\nobjective = lm\n", "\nlevel = bpe\n");
}

TEST_ROWS(a_checkpoint_and_a_folder_of_a_run_are_models_as_well, 0, 3)
{
    static const char *const names[] = {NEWEST, "runs/tiny", "runs/tiny/checkpoints"};
    make_run();
    expect_stderr(0, ", theta included\n",
                  "$TRAIN copy.ini run.name=a optimizer.lr=0 train.init_from=%s", names[_i]);
    expect_no_text(w->err, "newly initialized");
    expect_in_file("runs/a/config.ini", "\nevery = 2\n", "\nscope = head\n", "\nvocab = 10\n");
    expect_in_file("runs/a/config.ini", "\noriginal_len = 12\n"); /* not 24 */
    run("h5diff runs/a/checkpoints/step-00000004.h5 " NEWEST " /model");
}

/* A key that gives another initial theta has this effect, and the learned theta is left behind. */
TEST_ROWS(a_learned_theta_does_not_override_keys_that_are_set, 0, 7)
{
    static const char *const keys[] = {"position.scaling=linear position.scale=2",
                                       "position.scaling=yarn position.scale=2",
                                       "position.scaling=llama3 position.scale=2",
                                       "position.base=50",
                                       "position.frequencies=linear",
                                       "theta.init=uniform",
                                       "theta.init=perturbed theta.init_sigma=0.1"};
    static const char *const models[] = {"runs/tiny", "folder"};
    const char *fresh = lasting(TINY "train.steps=1 optimizer.lr=0 %s", keys[_i]);
    double losses[2];
    run(TINY "train.steps=20; rm -r folder; $TRAIN --checkpoint runs/tiny --export folder");
    run("%s run.name=fresh; grep ^0, runs/fresh/theta.csv >theta", fresh);
    for (int i = 0; i < 2; i++) {
        expect_stderr(0, " has learned is left behind: theta is as configured; ",
                      "%s run.name=start%d train.init_from=%s", fresh, i, models[i]);
        losses[i] = number_behind(w->out, "eval: loss ");
        run("grep ^0, runs/start%d/theta.csv | cmp - theta", i);
    }
    ck_assert_double_eq(losses[0], losses[1]);
}

/* These keys say what the model has, or nothing of the initial theta. */
TEST_ROWS(a_learned_theta_is_kept_or_its_loss_is_told, 0, 4)
{
    static const char *const keys[] = {"position.base=10000 theta.init=frequencies",
                                       "theta.init=perturbed", "theta.lr_scale=0",
                                       "theta.learn=no"};
    run(TINY "train.steps=20 %s", _i == 1 ? keys[1] : "");
    expect_exit(w, 0, TINY "run.name=start train.steps=1 train.init_from=runs/tiny %s", keys[_i]);
    const char *left = strstr(w->err, " has learned is left behind: ");
    ck_assert_msg((left != NULL) == (_i == 3), "%s", w->err);
    expect_no_stderr("has learned", TINY "run.name=given train.steps=1 train.init_from=runs/tiny "
                                         "position.base=50 theta.init_from=runs/tiny/theta.csv");
}

TEST_ROWS(a_folder_without_a_vocabulary_trains_on_ids, 0, 3)
{
    static const char *const folders[] = {"masked_lm_bf16", "sequence", "masked_lm_theta"};
    expect_no_stderr(
        "warning",
        "seq 2000 | awk '{ print 4 + $1 * 7 %% 49 }' >ids.txt; h5import ids.txt -d 2000 "
        "-p /ids -t TEXTIN -s 32 -o ids.h5; $TRAIN short.ini --quiet data.task=tokens "
        "data.file=ids.h5:/ids train.init_from=$HF/%s/hf",
        folders[_i]);
    expect_in_file("runs/short/config.ini", "\nvocab = 53\n");
    expect_in_file("runs/short/config.ini", _i == 2 ? "\nlearn = yes\n" : "\nlearn = no\n");
}

TEST(an_encoding_without_parameters_can_replace_another)
{
    make_run();
    run("$TRAIN copy.ini --quiet position.kind=alibi");
    expect_in_file("runs/copy/config.ini", "\nlearn = no\n", "\nevery = 1\n");
    expect_exit(w, 1, "grep '^scaling' runs/copy/config.ini"); /* it has no effect */
    /* a file of theta alone brings no architecture */
    expect_stderr(2, "has no theta for layer 0, head 0, i 4 of this model",
                  TINY "run.name=b model.dim=32 position.every=2 theta.scope=head theta.form=raw "
                       "theta.init_from=runs/tiny/theta.csv");
    ck_assert(!exists("runs/b"));
}

TEST(all_contradictions_to_the_initial_model_are_in_one_message)
{
    run("printf '[model]\\ndim = 32\\nheads = 3\\nnorm = pre\\n' >>short.ini");
    static const char *const commands[] = {"", "--check", "--print-config", "--resume"};
    for (int i = 0; i < 4; i++) {
        expect_exit(w, 2, "$TRAIN short.ini --quiet %s data.level=char", commands[i]);
        ck_assert(!strncmp(w->err, "short.ini:6: train.init_from: ", 30));
        expect_text(w->err, "/folder; leave these lines out to use its values:\n"
                            "  model.dim = 32 (short.ini:8); the model has 24\n"
                            "  model.norm = pre (short.ini:10); the model has post\n"
                            "  data.level = char (command line); the model has wordpiece\n");
        ck_assert_int_eq(count_of(w->err, "\n"), 4);
        ck_assert(!exists("runs"));
    }
}

TEST_ROWS(settings_that_repeat_the_folder_or_may_differ_are_accepted, 0, 6)
{
    static const char *const settings[] = {
        "model.dim=24 model.heads=3 model.kv_heads=3 model.ffn_dim=40 data.lowercase=no",
        "model.dropout=0 model.activation=relu model.causal=yes data.objective=lm",
        "theta.learn=yes theta.scope=head theta.init=perturbed theta.form=raw",
        "position.scaling=yarn position.scale=2 data.length=40",
        "model.attention=linear_elu",
        "position.base=500 position.fraction=0.5",
    };
    run("$TRAIN short.ini --quiet %s", settings[_i]);
}

/* A causal model that becomes an encoder does not keep its objective. */
TEST(a_model_that_stays_causal_keeps_its_objective)
{
    run("$TRAIN short.ini --quiet train.init_from=$HF/causal_lm/hf");
    expect_in_file("runs/short/config.ini", "\nobjective = lm\n");
    expect_stderr(
        0, "warning: model.causal differs from the folder's model",
        "$TRAIN short.ini --quiet train.init_from=$HF/causal_lm/hf model.causal=no --overwrite");
    expect_in_file("runs/short/config.ini", "\nobjective = mlm\n");
    /* a contradiction with an inherited value is reported with its line */
    expect_message(
        2,
        "short.ini:8: data.objective = lm needs model.causal = yes: otherwise a token sees the "
        "next one, which it must predict\n",
        "printf '[data]\\nobjective = lm\\n' >>short.ini; $TRAIN short.ini --quiet --overwrite");
}

TEST_ROWS(a_run_is_resumed_and_used_without_its_initial_folder, 0, 2)
{
    static const char *const configs[] = {"short.ini run.name=b", "runs/b/config.ini"};
    run("$TRAIN short.ini --quiet run.name=a");
    run("$TRAIN short.ini --quiet run.name=b train.steps=2 optimizer.schedule_steps=4");
    run("rm -r folder");
    run("$TRAIN %s --quiet --resume train.steps=4", configs[_i]);
    expect_same_files("runs/a/metrics.csv", "runs/b/metrics.csv");
    expect_no_stderr("using the configuration of the run", "$TRAIN %s --eval train.steps=4",
                     configs[_i]);
    run("$TRAIN %s --predict 'a [MASK]' --quiet", configs[_i]);
    expect_stderr(4, "/folder: No such file or directory\n", "$TRAIN short.ini --quiet run.name=c");
    ck_assert(!exists("runs/c"));
}

TEST(every_run_of_a_sweep_has_the_architecture_of_its_model)
{
    make_run();
    run(TINY "run.name=wide model.dim=24 train.steps=2");
    run("printf '[data]\\nlength = 12\\n[train]\\nsteps = 2\\n[variant one]\\ntrain.init_from = "
        "runs/tiny\\n[variant other]\\ntrain.init_from = runs/wide\\n' >s.ini; $TRAIN s.ini "
        "--check; $TRAIN s.ini --quiet");
    expect_in_file("runs/s/one/config.ini", "\ndim = 16\n", "\nnorm = pre\n");
    expect_in_file("runs/s/other/config.ini", "\ndim = 24\n", "\nnorm = post\n");
    expect_stderr(2, "  model.dim = 16 (command line); the model has 24\n",
                  "$TRAIN s.ini --quiet run.name=t model.dim=16 model.heads=4");
    ck_assert(!exists("runs/t"));
}

TEST_ROWS(a_printed_configuration_with_inherited_keys_reads_back_and_trains_the_same, 0, 3)
{
    static const char *const folders[] = {"folder", "decoder", "runs/tiny"};
    make_decoder();
    make_run();
    expect_stderr(0, "train.init_from           model.dim ",
                  "$TRAIN %s.ini --print-config train.init_from=%s >b.ini",
                  _i == 2 ? "copy" : "short", folders[_i]);
    run("$TRAIN b.ini --print-config --quiet | diff b.ini -");
    run("$TRAIN %s.ini --quiet train.init_from=%s run.name=a", _i == 2 ? "copy" : "short",
        folders[_i]);
    run("$TRAIN b.ini --quiet run.name=b");
    expect_same_files("runs/a/metrics.csv", "runs/b/metrics.csv");
    run("$TRAIN runs/a/config.ini --print-config --quiet | grep -v '^; ' >a.txt; grep -v '^#' "
        "runs/a/config.ini | diff - a.txt");
    run("mv %s gone; $TRAIN b.ini --print-config --quiet | diff b.ini -", folders[_i]);
}

/* A training reads each of these and would remove it, under one of its names. */
TEST_ROWS(a_training_does_not_remove_a_file_that_it_reads, 0, 10)
{
    static const char *const rows[] = {"train.init_from=runs/tiny",
                                       "train.init_from=./runs/../runs/tiny/checkpoints",
                                       ("train.init_from=" NEWEST),
                                       "train.init_from=link",
                                       "train.init_from=hard.h5",
                                       "run.dir=link/../../runs train.init_from=runs/tiny",
                                       "theta.init_from=runs/tiny/theta_final.csv",
                                       "train.trunk=link",
                                       "train.init_from=runs/tiny sweep.run.seed=1,2",
                                       "theta.init_from=runs/tiny/figures/theta.csv"};
    run(TINY "train.steps=20 && ln -s runs/tiny link && ln " NEWEST " hard.h5 && sed 's/^steps = "
             "60/steps = 20/' tiny.ini >same.ini && sha256sum runs/tiny/*.* " NEWEST " >sums");
    run("mkdir -p runs/tiny/figures; cp runs/tiny/theta_final.csv runs/tiny/figures/theta.csv");
    if (_i == 8) /* runs of a sweep, the first of which the second starts from */
        run("mkdir s && mv runs/tiny s/seed=1 && ln -s ../s/seed=1 runs/tiny");
    expect_stderr(2, "which this training writes anew", "$TRAIN same.ini --overwrite %s %s",
                  _i == 8 ? "run.dir=. run.name=s" : "run.name=tiny", rows[_i]);
    run("sha256sum --quiet -c sums");
}

/* Outputs of commands that are other names of an input. */
TEST_ROWS(a_command_does_not_replace_a_file_that_it_reads, 0, 4)
{
    static const char *const rows[] = {"--checkpoint folder --embed text.txt --output other.npy",
                                       "--checkpoint folder --embed - --output other.npy <text.txt",
                                       "--checkpoint folder --embed text.txt --output folder/a.npy",
                                       "--encode bytes.ini other.npy"};
    run("ln text.txt other.npy; mv folder/model.safetensors folder/a.npy; ln -s a.npy "
        "folder/model.safetensors; printf '[data]\\ntask = text\\nfile = text.txt\\n' >bytes.ini; "
        "sha256sum folder/* other.npy >sums");
    expect_stderr(2, " is read; name another file to write", "$TRAIN --overwrite %s", rows[_i]);
    run("sha256sum --quiet -c sums");
}
