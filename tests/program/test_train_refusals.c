/* Refusals of `train` before it does anything; --check refuses the same. */

#include "train_program.h"

SUITE(PROGRAM_OPTIONS)

#define ONE_STEP TINY "theta.learn=no train.steps=1 optimizer.schedule_steps=1 "

/* The data of the model decide, and not those of the named file. */
TEST(an_option_without_effect_is_refused)
{
    static const char
        label[] = "--seed has no effect with data.task = classify, whose labels are not sampled\n",
        mask[] =
            " has no effect with data.objective = mlm, which fills masks and continues no text\n",
        drawn[] = " has no effect at temperature 0, where the most likely token is chosen: give "
                  "--temperature above 0\n";
    run("yes 'a line' | head -c 4000 >text.txt; printf 'text\tlabel\na\tb\nc\td\n' "
        ">t.tsv; " ONE_STEP "run.name=lm data.task=text data.vocab=32 data.file=text.txt "
        "data.objective=lm model.causal=yes && " ONE_STEP
        "run.name=mlm data.task=text data.vocab=32 data.file=text.txt && " ONE_STEP
        "run.name=label data.task=classify data.vocab=32 data.file=t.tsv data.eval_fraction=0");
    expect_each_refused("$TRAIN --checkpoint runs/label --predict a",
                        {2, "--tokens 9", "--tokens has no"}, {2, "--stop x", "--stop has no"},
                        {2, "--temperature 1", "--temperature has"},
                        {2, "--top-k 3", "--top-k has no"}, {2, "--top-p 0.5", "--top-p has no"},
                        {2, "--seed 0", label}, {2, "--samples 2", "--samples has no"},
                        {2, "--special", "which always reads special tokens as text\n"});
    expect_stderr(0, "evaluating on a random 0.5 of data.file",
                  "$TRAIN --checkpoint runs/label --eval data.file=t.tsv data.eval_fraction=0.5");
    expect_each_refused("$TRAIN runs/mlm/config.ini --predict 'a[MASK]'", {2, "--tokens 9", mask},
                        {2, "--samples 2 --temperature 1", mask}, {2, "--stop x", mask},
                        {2, "--top-k 3", drawn}, {2, "--top-p 0.5", drawn}, {2, "--seed 0", drawn});
    expect_each_refused("$TRAIN runs/lm/config.ini --predict a --temperature 0",
                        {2, "--top-k 3", drawn}, {2, "--top-p 0.5", drawn}, {2, "--seed 0", drawn},
                        {2, "--samples 2", drawn});
    for (int i = 0; i < 3; i++) {
        static const char *const of_draws[] = {"--top-k 3", "--top-p 0.5", "--seed 0"};
        run("$TRAIN --checkpoint runs/lm --predict a --tokens 1 %s", of_draws[i]);
        run("$TRAIN --checkpoint runs/mlm --predict 'a[MASK]' --temperature 1 %s", of_draws[i]);
    }
}

#define INI_OF(task, file)                                                                         \
    "write a file such as mine.ini:\n\n[data]\ntask = " task "\nfile = " file                      \
    "\n\nand type: train mine.ini\n"

TEST(a_file_in_place_of_a_configuration_is_identified)
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
        {"a.h5", "a.h5: is a checkpoint: --checkpoint a.h5 uses its model\n"},
        {"ids.h5", "ids.h5: is an HDF5 file; to train on the token ids of a data set in it, set "
                   "data.task = tokens and data.file = ids.h5:/DATASET in a CONFIG.ini\n"},
        {"hf/config.json", "hf/config.json: is JSON; a CONFIG.ini is expected. --checkpoint takes "
                           "the folder of a config.json, data.vocab_file a tokenizer.json\n"},
    };
    run(TINY
        "train.steps=1 && cp runs/tiny/checkpoints/*.h5 a.h5 && mkdir hf runs/a=b && echo '{}' "
        ">hf/config.json && echo run >runs/a=b/runs.csv && printf '\\211HDF\\r\\n\\032\\n' >ids.h5 "
        "&& printf 'text\\tlabel\\nfine\\tgood\\n' >rows.tsv && printf 'Note: this\\nis what\\nit "
        "looks like.\\n' >my.txt && printf 'int a[] = {\\n  1,\\n  2,\\n};\\n' >code.c");
    for (int i = 0; i < ROWS(rows); i++) {
        expect_message(2, rows[i][1], "$TRAIN %s --predict x", rows[i][0]);
        ck_assert_str_eq(w->out, "");
    }
}

/* Each line of these says something of a configuration, or one section is known. */
TEST(a_configuration_with_mistakes_is_reported_line_by_line)
{
    static const char *const rows[][2] = {
        {"lr = 1\nsteps 5\n", "odd.ini:2: a line must be 'key = value'; got 'steps 5'\n"},
        {"[wombat]\n", "odd.ini:1: unknown section 'wombat'; the sections are "},
        {"what\nis\nthis\n[run]\n", "odd.ini:1: a line must be 'key = value'; got 'what'\n"},
        {"some\nnotes\n[variant a]\n", "odd.ini:1: a line must be 'key = value'; got 'some'\n"},
    };
    for (int i = 0; i < ROWS(rows); i++) {
        write_file("odd.ini", rows[i][0]);
        expect_stderr(2, rows[i][1], "$TRAIN odd.ini");
    }
    run(": >empty.ini; $TRAIN --quiet --check empty.ini && cat tiny.ini | $TRAIN --quiet --check "
        "/dev/stdin");
    /* a pipe is read several times: by a program that starts again, and by the runs of a sweep; its
     * paths are those of the working directory */
    run("cat tiny.ini | $TRAIN --quiet /dev/stdin run.name=piped run.kernels=portable && "
        "$TRAIN --quiet tiny.ini run.name=filed run.kernels=portable && "
        "sed s/piped/filed/ runs/piped/config.ini | cmp - runs/filed/config.ini");
    run("(cat tiny.ini; echo '[sweep]'; echo 'optimizer.lr = 0.1, 0.2') | $TRAIN --quiet "
        "/dev/stdin run.name=both && grep -c '^dim = 16$' runs/both/*/config.ini");
    run("yes 'a line of text' | head -c 4000 >piped.txt; printf '[data]\\ntask = text\\nfile = "
        "piped.txt\\n' | $TRAIN --quiet --check /dev/stdin");
    /* other files below /dev have a folder, too */
    run("[ ! -w /dev/shm ] || (folder=$(mktemp -d /dev/shm/XXXXXX) && cp piped.txt $folder/own.txt "
        "&& "
        "printf '[data]\\ntask = text\\nfile = own.txt\\n' >$folder/own.ini && "
        "$TRAIN --quiet --check $folder/own.ini; code=$?; rm -r $folder; exit $code)");
    run("cat tiny.ini | $TRAIN --quiet --print-config /dev/fd/5 5<&0 | grep '^dim = 16$' && "
        "$TRAIN --init gpt /dev/stdout | grep '^\\[data\\]$'");
    expect_message(2, "train: named.ini is a pipe that cannot be read again; give a file\n",
                   "mkfifo named.ini && $TRAIN named.ini");
    /* the one that is shown for a text trains on it */
    expect_stdout(
        "mine.ini: ",
        "yes 'a line of text' | head -c 4000 >my.txt; $TRAIN my.txt 2>told; sed -n '/^\\[/,/^$/p' "
        "told >mine.ini && eval \"$(sed -n 's/^and type: train/$TRAIN --quiet --check/p' told)\"");
}

#define SAVE_PRETRAINED(folder, class)                                                             \
    ": the weights are in pytorch_model.bin, which is not read; save_pretrained writes "           \
    "model.safetensors. In Python: from transformers import " class "; " class ".from_pretrained(" \
                                                                               "'" folder          \
                                                                               "').save_"          \
                                                                               "pretrained("       \
                                                                               "'" folder "')\n"

TEST(weights_in_another_format_are_refused_with_a_remedy)
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
    };
    run("mkdir pt parts half other && echo '{}' | tee parts/config.json >half/config.json && echo "
        "'{\"architectures\":[\"RoFormerForMaskedLM\"]}' >pt/config.json && printf 'PK\\003\\004' "
        ">pt/pytorch_model.bin && echo '{}' >parts/pytorch_model.bin.index.json && printf "
        "'\\002\\0\\0\\0\\0\\0\\0\\0{}' >other/model.safetensors");
    for (int i = 0; i < ROWS(rows); i++) {
        expect_message(4, rows[i][1], "$TRAIN --checkpoint %s --eval", rows[i][0]);
        expect_stderr(4, rows[i][2], "$TRAIN tiny.ini train.init_from=%s --quiet", rows[i][0]);
    }
    ck_assert(!exists("runs"));
}

TEST(a_file_or_pipe_in_place_of_a_folder_is_refused)
{
    run(TINY "train.steps=1");
    expect_stderr(2, "out.safetensors: a model is exported as a folder; name one, for ",
                  "$TRAIN --checkpoint runs/tiny --export out.safetensors --quiet");
    ck_assert(!exists("out.safetensors"));
    run("$TRAIN --checkpoint runs/tiny --export v1.0 --quiet");
    ck_assert(exists("v1.0/model.safetensors"));
    /* a pipe in place of a run configuration is not waited for */
    run("mkdir run && mkfifo run/config.ini");
    expect_stderr(2, "run is not the folder of a run: ", "timeout -s KILL 60 $TRAIN --report run");
}

TEST(a_change_of_the_engine_is_a_warning_and_of_the_math_an_error)
{
    NEEDS(!shell(w, TINY "--check run.engine=onednn run.math=bf16"), BF16);
    run(TINY "run.engine=onednn train.steps=4");
    expect_stderr(0, "was computed with oneDNN-",
                  TINY "--resume run.engine=openblas train.steps=6");
    expect_stderr(2, "run.math", TINY "--resume run.engine=onednn run.math=bf16 train.steps=8");
    expect_stdout("eval: loss ", TINY "--overwrite run.engine=onednn run.math=bf16");
}

static const char *const coarse[][2] = {
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

/* These numbers are distinct in double. */
TEST_ROWS(a_number_that_float_rounds_to_another_is_refused, 0, ROWS(coarse))
{
    expect_stderr(2, "command line: ", TINY "--check %s", coarse[_i][0]);
    expect_text(w->err, lasting(", which is %s in float\n", coarse[_i][1]));
    run("$TRAIN64 tiny.ini --quiet --check %s", coarse[_i][0]);
}

static void refused_alike(int code, const char *arguments, const char *message)
{
    expect_stderr(code, message, "$TRAIN --quiet --check tiny.ini %s", arguments);
    const char *said = lasting("%s", w->err), *parts = strstr(said, " GB of memory (");
    if (parts) { /* the total includes what the process occupies by then */
        expect_stderr(code, parts, "$TRAIN --quiet tiny.ini %s", arguments);
        ck_assert_double_eq_tol(strtod(strstr(w->err, "about ") + 6, NULL),
                                strtod(strstr(said, "about ") + 6, NULL), 0.1);
    } else {
        expect_message(code, said, "$TRAIN --quiet tiny.ini %s", arguments);
    }
    ck_assert_msg(!exists("runs"), "a folder was made for %s", arguments);
}

NIGHTLY_TEST(check_refuses_every_configuration_that_training_refuses)
{
    run("yes 'a line of text' | head -c 4000 >text.txt");
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
    refused_alike(2, "model.layers=1000 model.dim=16384 model.heads=64",
                  "tiny.ini: the model is too large: it has more than 2.7e+11 parameters");
    refused_alike(2, "model.layers=50 model.dim=16384 model.heads=64",
                  "tiny.ini: the run needs about ");
    expect_text(w->err, " GB of memory (parameters and moments ", "; this machine has ");
    refused_alike(2, "train.batch_size=20000 data.length=10000 model.layers=400",
                  "; this machine has ");
    refused_alike(2, "model.dim=1000000 model.heads=1", "the model is too large: ");
    refused_alike(2, "train.freeze=embeddings,layers.0,layers.1,head",
                  " leaves nothing to train\n");
    refused_alike(4, "train.init_from=absent.h5", "absent.h5: No such file");
}

TEST(check_refuses_an_initial_model_that_does_not_fit)
{
#define FIRST "train.init_from=first/tiny/checkpoints/step-00000001.h5"
    run("$TRAIN --quiet tiny.ini run.dir=first train.steps=1");
    refused_alike(2, FIRST " model.layers=1",
                  "  model.layers = 1 (command line); the model has 2\n");
    expect_message(0, "", "$TRAIN --quiet --check tiny.ini " FIRST);
    refused_alike(2, "run.dir=$(printf '%4000s' '' | tr ' ' a)",
                  "the path of the run folder has 4005 bytes, 3999 are possible: aaa");
    ck_assert_int_eq(shell(w, "ls -d a*"), 2);
}

/* 3,995 bytes of folder hold a sweep, but not a run in it. */
TEST(the_runs_of_a_sweep_are_checked_with_their_data)
{
    run("yes 'a line of text' | head -c 4000 >text.txt");
    for (int checks = 0; checks < 2; checks++)
        expect_each_refused(checks ? "$TRAIN --quiet --check tiny.ini" : "$TRAIN --quiet tiny.ini",
                            {3, "data.task=text data.vocab=32 sweep.data.file=text.txt,gone",
                             "gone: No such file or directory (data.file)"},
                            {2, "sweep.data.length=12,1000000 train.batch_size=1000000",
                             "tiny.ini: a step is too large: "},
                            {2, "run.dir=$(printf '%3990s' '' | tr ' ' a) sweep.run.seed=1,2",
                             "the path of the run folder has "});
    ck_assert(!exists("runs"));
    ck_assert_int_ne(shell(w, "ls -d aaa*"), 0);
}

/* A sanitizer reserves terabytes. */
TEST_ROWS(too_little_address_space_ends_the_program_with_a_message, 0, UNSANITIZED)
{
    for (int kilobytes = 200000; kilobytes <= 400000; kilobytes += 50000)
        run("ulimit -v %d; timeout -s KILL 60 $TRAIN --version || test $? != 137", kilobytes);
    expect_stderr(2, " GB of address space (buffers of OpenBLAS 0.",
                  "ulimit -v 200000; timeout -s KILL 60 $TRAIN --quiet tiny.ini");
    expect_text(w->err, "); the limit (ulimit -v) leaves ");
    ck_assert(!exists("runs"));
    run("export OPENBLAS_NUM_THREADS=1; ulimit -v 4000000; $TRAIN --quiet tiny.ini run.threads=2");
    /* these start a process of their own, which a thread of OpenBLAS must not hold up */
    static const char *const commands[] = {
        "tiny.ini --eval", "tiny.ini --eval --checkpoint runs/tiny/checkpoints/step-00000060.h5",
        "--report runs/tiny", "tiny.ini sweep.run.seed=1,2 run.name=sweep"};
    for (int i = 0; i < ROWS(commands); i++)
        expect_exit(w, 2, "ulimit -v 220000; timeout -s KILL 60 $TRAIN --quiet %s", commands[i]);
    for (int i = 0; i < ROWS(commands); i++)
        run("export OPENBLAS_NUM_THREADS=1; ulimit -v 4000000; timeout -s KILL 60 $TRAIN --quiet "
            "%s || { test $? = 1 && ! command -v gnuplot; }",
            commands[i]);
}
