/* Refusals of `train` before it does anything; --check refuses the same. */

#include "train_program.h"

/* ---- the command line ---- */

SUITE(PROGRAM_OPTIONS)

#define ONE_STEP "$TRAIN tiny.ini --quiet theta.learn=no train.steps=1 optimizer.schedule_steps=1 "

/* By the data that the model has, not by those of the file that is named. */
TEST(an_option_without_effect_is_refused)
{
    static const char *const of_lm[] = {"--tokens 9", "--stop x"},
                             *const of_draws[] = {"--top-k 3", "--top-p 0.5", "--seed 0"},
                             *const of_all[] = {"--tokens 9", "--stop x",    "--temperature 1",
                                                "--top-k 3",  "--top-p 0.5", "--seed 0"};
    static const char drawn[] = " has no effect at temperature 0, where the most likely token is "
                                "chosen: give --temperature above 0\n";
    run("yes 'a line' | head -c 4000 >text.txt; printf 'text\tlabel\na\tb\nc\td\n' "
        ">t.tsv; " ONE_STEP "run.name=lm data.task=text data.vocab=32 data.file=text.txt "
        "data.objective=lm model.causal=yes && " ONE_STEP
        "run.name=mlm data.task=text data.vocab=32 data.file=text.txt && " ONE_STEP
        "run.name=label data.task=classify data.vocab=32 data.file=t.tsv data.eval_fraction=0");
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++) {
        expect_told(2, " has no effect with data.task = classify, whose labels are not sampled\n",
                    "$TRAIN --checkpoint runs/label --predict a %s", of_all[i]);
        ck_assert(!strncmp(w->err, "train: --", 9) &&
                  !strncmp(w->err + 7, of_all[i], strcspn(of_all[i], " ")));
    }
    for (size_t i = 0; i < sizeof of_lm / sizeof *of_lm; i++)
        expect_told(
            2,
            " has no effect with data.objective = mlm, which fills masks and continues no text\n",
            "$TRAIN runs/mlm/config.ini --predict 'a[MASK]' %s", of_lm[i]);
    for (size_t i = 0; i < sizeof of_draws / sizeof *of_draws; i++) {
        expect_told(2, drawn, "$TRAIN --checkpoint runs/mlm --predict 'a[MASK]' %s", of_draws[i]);
        expect_told(2, drawn, "$TRAIN --checkpoint runs/lm --predict a --temperature 0 %s",
                    of_draws[i]);
        run("$TRAIN --checkpoint runs/lm --predict a --tokens 1 %s", of_draws[i]);
        run("$TRAIN --checkpoint runs/mlm --predict 'a[MASK]' --temperature 1 %s", of_draws[i]);
    }
}

TEST(a_key_of_a_sweep_is_given_once)
{
    expect_message(2, "command line: sweep.run.seed is given twice\n",
                   "$TRAIN tiny.ini sweep.run.seed=1,2 sweep.run.seed=3");
    expect_message(2, "command line: sweep.jobs is given twice\n",
                   "$TRAIN tiny.ini sweep.run.seed=1,2 sweep.jobs=2 sweep.jobs=1");
    expect_told(
        2, ": duplicate key 'jobs' in [sweep]; line ",
        "printf '[sweep]\\njobs = 2\\njobs = 1\\nrun.seed = 1,2\\n' >>tiny.ini; $TRAIN tiny.ini");
    ck_assert(!exists("runs"));
}

TEST(the_command_line_takes_the_place_of_the_file)
{
    expect_printed("the configurations of 3 runs are valid",
                   "printf '[sweep]\\njobs = 2\\nrun.seed = 1,2\\n' >>tiny.ini; $TRAIN --check "
                   "tiny.ini sweep.jobs=1 sweep.run.seed=3,4,5");
}

TEST(the_command_line_can_empty_a_list_or_a_text)
{
    run("printf 'eval_lengths = 24,48\\ninit_from = gone.h5\\n' >>tiny.ini; $TRAIN --quiet --check "
        "tiny.ini train.eval_lengths= train.init_from=");
    expect_unprinted("24,48",
                     "$TRAIN tiny.ini --print-config train.eval_lengths= train.init_from=");
    expect_no_text(w->out, "gone.h5");
    expect_told(2, "command line: optimizer.lr has no value\n", "$TRAIN tiny.ini optimizer.lr=");
}

/* ---- what is taken for a configuration ---- */

#define INI_OF(task, file)                                                                         \
    "write a file such as mine.ini:\n\n[data]\ntask = " task "\nfile = " file                      \
    "\n\nand type: train mine.ini\n"

/* One message: what it is, and what to type. */
TEST(what_is_no_configuration_is_named)
{
    static const char *const rows[][2] = {
        {"my.txt",
         "my.txt: is text, not a configuration. To train on it, " INI_OF("text", "my.txt")},
        {"code.c",
         "code.c: is text, not a configuration. To train on it, " INI_OF("text", "code.c")},
        {"rows.tsv",
         "rows.tsv: is a table of labelled texts, not a configuration. To train on it, " INI_OF(
             "classify", "rows.tsv")},
        {"runs/tiny", "runs/tiny: is a run: --checkpoint runs/tiny uses its model; its "
                      "configuration is runs/tiny/config.ini\n"},
        {"runs/a=b",
         "runs/a=b: is a sweep: --report runs/a=b draws its report; the folders in it are runs\n"},
        {"hf", "hf: is a folder of Hugging Face: --checkpoint hf uses its model; "
               "train.init_from=hf beside a CONFIG.ini trains it further\n"},
        {"runs", "runs: is a folder; a CONFIG.ini is expected\n"},
        {"a.h5", "a.h5: is a checkpoint: --checkpoint a.h5 uses its model\n"},
        {"ids.h5", "ids.h5: is an HDF5 file; to train on the token ids of a data set in it, set "
                   "data.task = tokens and data.file = ids.h5:/DATASET in a CONFIG.ini\n"},
        {"hf/config.json", "hf/config.json: is JSON; a CONFIG.ini is expected. --checkpoint takes "
                           "the folder of a config.json, data.vocab_file a tokenizer.json\n"},
        {"a.bin",
         "a.bin: is a binary file; a CONFIG.ini is expected, and --checkpoint names weights\n"},
    };
    run("$TRAIN tiny.ini --quiet train.steps=1 && cp runs/tiny/checkpoints/*.h5 a.h5 && mkdir hf "
        "runs/a=b && echo '{}' >hf/config.json && echo run >runs/a=b/runs.csv && printf "
        "'\\211HDF\\r\\n\\032\\n' >ids.h5 && printf 'a\\0b' >a.bin && printf "
        "'text\\tlabel\\nfine\\tgood\\n' >rows.tsv && printf 'Note: this\\nis what\\nit looks "
        "like.\\n' >my.txt && printf 'int a[] = {\\n  1,\\n  2,\\n};\\n' >code.c");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_message(2, rows[i][1], "$TRAIN %s --predict x", rows[i][0]);
        ck_assert_str_eq(w->out, "");
    }
}

TEST(the_configuration_that_is_shown_for_a_text_trains_on_it)
{
    expect_printed(
        "mine.ini: ",
        "yes 'a line of text' | head -c 4000 >my.txt; $TRAIN my.txt 2>told; sed -n '/^\\[/,/^$/p' "
        "told >mine.ini && eval \"$(sed -n 's/^and type: train/$TRAIN --quiet --check/p' told)\"");
}

/* Each line of these says something of a configuration, or one section is known. */
TEST(a_configuration_with_mistakes_is_still_one)
{
    static const char *const rows[][2] = {
        {"lr = 1\nsteps 5\n", "odd.ini:2: a line must be 'key = value'; got 'steps 5'\n"},
        {"[wombat]\n", "odd.ini:1: unknown section 'wombat'; the sections are "},
        {"what\nis\nthis\n[run]\n", "odd.ini:1: a line must be 'key = value'; got 'what'\n"},
        {"some\nnotes\n[variant a]\n", "odd.ini:1: a line must be 'key = value'; got 'some'\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file("odd.ini", rows[i][0]);
        expect_told(2, rows[i][1], "$TRAIN odd.ini");
    }
    run(": >empty.ini; $TRAIN --quiet --check empty.ini");
    run("cat tiny.ini | $TRAIN --quiet --check /dev/stdin");
}

/* ---- what is taken for a checkpoint ---- */

#define SAVE_PRETRAINED(folder, class)                                                             \
    ": the weights are in pytorch_model.bin, which is not read; save_pretrained writes "           \
    "model.safetensors. In Python: from transformers import " class "; " class ".from_pretrained(" \
                                                                               "'" folder          \
                                                                               "').save_"          \
                                                                               "pretrained("       \
                                                                               "'" folder "')\n"

TEST(weights_in_another_format_are_refused_with_the_way_out)
{
    static const char *const rows[][3] = {
        {"pt", "train: pt" SAVE_PRETRAINED("pt", "RoFormerForMaskedLM"),
         "RoFormerForMaskedLM.from_pretrained('/"},
        {"parts", "train: parts" SAVE_PRETRAINED("parts", "AutoModelForCausalLM"),
         "AutoModelForCausalLM.from_pretrained('/"},
        {"pt/pytorch_model.bin", "train: pt/" SAVE_PRETRAINED("pt/", "RoFormerForMaskedLM"),
         "RoFormerForMaskedLM.from_pretrained('/"},
        {"half", "train: half has config.json, but no model.safetensors\n",
         "/half has config.json, but no "},
        {"other", "train: other has weights, but no config.json\n", "/other has weights, but no "},
        {"other/model.safetensors",
         "train: other/model.safetensors is a file of a model of Hugging Face: name its folder, "
         "other/\n",
         ": name its folder, /"},
        {"half/config.json",
         "train: half/config.json is a file of a model of Hugging Face: name its folder, half/\n",
         ": name its folder, /"},
        {"a.gguf",
         "train: a.gguf: GGUF is not read; name a folder with config.json and model.safetensors\n",
         ": GGUF is not read; "},
    };
    run("mkdir pt parts half other && echo '{}' | tee parts/config.json >half/config.json && echo "
        "'{\"architectures\":[\"RoFormerForMaskedLM\"]}' >pt/config.json && printf 'PK\\003\\004' "
        ">pt/pytorch_model.bin && echo '{}' >parts/pytorch_model.bin.index.json && printf "
        "'\\002\\0\\0\\0\\0\\0\\0\\0{}' >other/model.safetensors && printf 'GGUF\\003' >a.gguf");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_message(4, rows[i][1], "$TRAIN --checkpoint %s --eval", rows[i][0]);
        expect_told(4, rows[i][2], "$TRAIN tiny.ini train.init_from=%s --quiet", rows[i][0]);
    }
    ck_assert(!exists("runs"));
}

TEST(a_model_is_not_exported_to_the_name_of_a_file)
{
    run("$TRAIN tiny.ini --quiet train.steps=1");
    expect_told(2, "out.safetensors: a model is exported as a folder; name one, for ",
                "$TRAIN --checkpoint runs/tiny --export out.safetensors --quiet");
    ck_assert(!exists("out.safetensors"));
    run("$TRAIN --checkpoint runs/tiny --export v1.0 --quiet");
    ck_assert(exists("v1.0/model.safetensors"));
}

/* ---- what computes ---- */

/* A run may go on with another engine, but not in other numbers. */
TEST(a_change_of_the_engine_is_told)
{
    if (shell(w, "$TRAIN tiny.ini --quiet --check run.engine=onednn run.math=bf16")) {
        printf("SKIP engines: needs oneDNN and a processor with bf16\n");
        return;
    }
    run("$TRAIN tiny.ini --quiet run.engine=onednn train.steps=4");
    expect_told(0, "was computed with oneDNN-",
                "$TRAIN tiny.ini --quiet --resume run.engine=openblas train.steps=6");
    expect_told(2, "run.math",
                "$TRAIN tiny.ini --quiet --resume run.engine=onednn run.math=bf16 train.steps=8");
    expect_printed("eval: loss ",
                   "$TRAIN tiny.ini --quiet --overwrite run.engine=onednn run.math=bf16");
}

/* ---- numbers ---- */

static const struct {
    const char *setting;
    const char *in_float;
} coarse[] = {
    {"optimizer.eps=1e-60", "0"},
    {"model.norm_eps=1e-50", "0"},
    {"optimizer.lr=1e39", "inf"},
    {"theta.lr_scale=1e300", "inf"},
    {"optimizer.beta2=0.9999999999", "1"},
    {"model.dropout=0.99999999999", "1"},
    {"position.base=1.00000000001", "1"},
    {"optimizer.lr=1e-60", "0"},
    {"model.init_std=1e-60", "0"},
    {"position.init_std=1e-60 position.kind=t5 theta.learn=no", "0"},
};

TEST_ROWS(what_is_another_number_in_the_precision_of_the_build_is_refused, 0,
          sizeof coarse / sizeof *coarse)
{
    const char *end = lasting(", which is %s in float\n", coarse[_i].in_float);
    expect_told(2, "command line: ", "$TRAIN tiny.ini --quiet --check %s", coarse[_i].setting);
    expect_text(w->err, end);
}

/* In two calls: the learning rate is set twice, and t5 has no base. */
TEST_ROWS(these_numbers_are_distinct_in_double, 0, 2)
{
    enum { FIRST_CALL = 7, COUNT = sizeof coarse / sizeof *coarse };
    char settings[1024] = "";
    for (int i = _i ? FIRST_CALL : 0; i < (_i ? COUNT : FIRST_CALL); i++)
        sprintf(settings + strlen(settings), " %s", coarse[i].setting);
    run("$TRAIN64 tiny.ini --quiet --check%s", settings);
}

/* ---- --check ---- */

/* Both end alike, with the same message, and leave nothing behind. */
static void refused_alike(int code, const char *arguments, const char *message)
{
    expect_exit(w, code, "$TRAIN --quiet --check tiny.ini %s", arguments);
    char *said = rt_alloc(OUTPUT_SIZE, 1);
    ck_assert_ptr_nonnull(said);
    memcpy(said, w->err, OUTPUT_SIZE);
    expect_text(said, message);
    expect_message(code, said, "$TRAIN --quiet tiny.ini %s", arguments);
    ck_assert_msg(!exists("runs"), "a folder was made for %s", arguments);
    rt_free(said);
}

NIGHTLY_TEST(what_training_refuses_check_refuses_alike)
{
    ck_assert_int_eq(shell(w, "yes 'a line of text' | head -c 4000 >text.txt"), 0);
    refused_alike(
        3, "data.task=text data.vocab=32 data.file=text.txt train.eval_lengths=500",
        "text.txt: the part for evaluation is shorter than the 500 tokens of train.eval_lengths\n");
    refused_alike(3, "data.task=text data.vocab=32 data.file=absent.txt",
                  "absent.txt: No such file");
    refused_alike(2, "train.batch_size=1000000 data.length=1000000",
                  "tiny.ini: a step is too large: 62500 sequences of 1000000 tokens are more than "
                  "2147483647 tokens; ");
    refused_alike(2, "data.vocab=1000000 data.length=8192 train.batch_size=1 run.threads=1",
                  "tiny.ini: a step is too large: [linear] a result of shape (4095, 1000000) is ");
    refused_alike(2, "model.layers=1000 model.dim=16384 model.heads=64", "; this machine has ");
    refused_alike(2, "train.freeze=embeddings,layers.0,layers.1,head",
                  " leaves nothing to train\n");
    refused_alike(4, "train.init_from=absent.h5", "absent.h5: No such file");
    refused_alike(2, "run.dir=$(printf '%4000s' '' | tr ' ' a)",
                  "the path of the run folder has 4005 bytes, 3999 are possible: aaa");
}

TEST(another_model_to_start_from_is_found_by_check)
{
    run("$TRAIN --quiet tiny.ini run.dir=first train.steps=1");
    refused_alike(2, "train.init_from=first/tiny/checkpoints/step-00000001.h5 model.layers=1",
                  "  model.layers = 1 (command line); the model has 2\n");
    expect_message(
        0, "",
        "$TRAIN --quiet --check tiny.ini train.init_from=first/tiny/checkpoints/step-00000001.h5");
}

TEST(the_runs_of_a_sweep_are_checked_with_their_data)
{
    ck_assert_int_eq(shell(w, "yes 'a line of text' | head -c 4000 >text.txt"), 0);
    expect_told(3, "gone: No such file or directory (data.file)",
                "$TRAIN --quiet --check tiny.ini data.task=text data.vocab=32 "
                "sweep.data.file=text.txt,gone");
    expect_told(
        3, "gone: No such file or directory (data.file)",
        "$TRAIN --quiet tiny.ini data.task=text data.vocab=32 sweep.data.file=text.txt,gone");
    expect_told(
        2, "tiny.ini: a step is too large: ",
        "$TRAIN --quiet --check tiny.ini sweep.data.length=12,1000000 train.batch_size=1000000");
    ck_assert(!exists("runs"));
}

/* 3,995 bytes of folder hold the sweep, but not a run in it. */
TEST(a_sweep_whose_runs_have_no_room_is_found_by_check)
{
    static const char dir[] = "run.dir=$(printf '%3990s' '' | tr ' ' a) sweep.run.seed=1,2";
    expect_told(2, "the path of the run folder has ", "$TRAIN --quiet --check tiny.ini %s", dir);
    expect_told(2, "the path of the run folder has ", "$TRAIN --quiet tiny.ini %s", dir);
    ck_assert_int_ne(shell(w, "ls -d aaa*"), 0);
}

TEST(a_pipe_in_place_of_a_run_configuration_is_not_waited_for)
{
    run("mkdir run && mkfifo run/config.ini");
    expect_told(2, "run is not the folder of a run: ", "timeout -s KILL 60 $TRAIN --report run");
}

/* ---- address space ---- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(SANITIZED) /* which reserves terabytes */
TEST(too_little_address_space_is_said_and_ends_the_program)
{
    for (int kilobytes = 200000; kilobytes <= 400000; kilobytes += 50000)
        run("ulimit -v %d; timeout -s KILL 60 $TRAIN --version || test $? != 137", kilobytes);
    expect_told(2, " GB of address space (buffers of OpenBLAS 0.",
                "ulimit -v 200000; timeout -s KILL 60 $TRAIN --quiet tiny.ini");
    expect_text(w->err, "); the limit (ulimit -v) leaves ");
    ck_assert(!exists("runs"));
    run("export OPENBLAS_NUM_THREADS=1; ulimit -v 4000000; $TRAIN --quiet tiny.ini run.threads=2");
    /* these start a process of their own, which a thread of OpenBLAS must not hold up */
    static const char *const commands[] = {
        "tiny.ini --eval", "tiny.ini --eval --checkpoint runs/tiny/checkpoints/step-00000060.h5",
        "--report runs/tiny", "tiny.ini sweep.run.seed=1,2 run.name=sweep"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_exit(w, 2, "ulimit -v 220000; timeout -s KILL 60 $TRAIN --quiet %s", commands[i]);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        run("export OPENBLAS_NUM_THREADS=1; ulimit -v 4000000; timeout -s KILL 60 $TRAIN --quiet "
            "%s || { test $? = 1 && ! command -v gnuplot; }",
            commands[i]);
}
#define LIMITS_ADDRESS_SPACE
#endif
