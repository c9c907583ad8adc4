/* Trainings on labelled texts, through the program. */

#include "train_program.h"

/* The label says whether an x is in the text, of a token whether it is an x. */
static void make_files(void)
{
    run("mkdir sub; awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 400; i++) { s = "
        "substr(\"ab\\\"dab\\\"dab\\\"dab\\\"d\", 1 + i %% 4, 1 + i * 7 %% 11); at = i %% 6; print "
        "(i %% 2 ? substr(s, 1, at) \"x\" substr(s, at + 1) : s) \"\\t\" (i %% 2 ? \"with\" : "
        "\"none\") } }' >sub/train.tsv; { echo 'label,text'; for i in 1 2 3 4 5; do echo "
        "'with,\"bxa\"'; echo 'none,\"a\"\"b\"'; done; } >sub/test.csv");
    run("awk 'BEGIN { for (i = 0; i < 200; i++) { for (k = 0; k < 1 + i %% 5; k++) { t = (i * 7 + "
        "k * 3) %% 4; print (t == 1 ? \"x\" : \"ab\" t) \"\\t\" (t == 1 ? \"X\" : \"O\") } print "
        "\"\" } }' >sub/tags.tsv");
    run("printf '[data]\\ntask = classify\\nlevel = char\\nlength = 16\\nfile = "
        "train.tsv\\neval_file = ./test.csv\\n[model]\\nlayers = 1\\ndim = 16\\nheads = "
        "2\\n[theta]\\nlearn = yes\\n[optimizer]\\nlr = 0.01\\n[train]\\nsteps = 60\\nbatch_size = "
        "16\\neval_every = 20\\ncheckpoint_every = 20\\n' >sub/c.ini");
}

#define CLASSIFY "sub/c.ini --quiet "
#define TAG      CLASSIFY "data.task=tag data.vocab=32 data.file=sub/tags.tsv data.eval_file= "

SUITE(PROGRAM_OPTIONS, .prepare = make_files)

static const char *const tasks[] = {CLASSIFY, TAG};

/* The rate rises so that no seed is stuck at even odds; the final loss is below 1e-4. */
TEST_ROWS(labels_are_learned, 0, ROWS(tasks))
{
    run("$TRAIN %s train.target_accuracy=0.95 train.steps=200 train.eval_every=200 "
        "optimizer.warmup_steps=20",
        tasks[_i]);
    run("$TRAIN %s --eval", tasks[_i]);
    if (!_i)
        expect_text(w->out, "(10 sequences, 10 labels)\n");
    run("$TRAIN64 %s --gradcheck", tasks[_i]);
}

TEST(a_model_keeps_its_labels)
{
    run("$TRAIN " CLASSIFY);
    expect_stdout("none\nwith\n", "h5dump -d /labels -o labels.bin -b LE "
                                  "runs/c/checkpoints/step-00000060.h5 && cat labels.bin");
    /* one label of the two is left, and another one comes */
    run("sed -i /with/d sub/train.tsv; $TRAIN " CLASSIFY "--eval");
    run("printf 'abc\\tmore\\n' >>sub/train.tsv");
    expect_stderr(3, "/sub/train.tsv:202: column label: 'more' is not a label of the model\n",
                  "$TRAIN " CLASSIFY "--eval data.eval_file=sub/train.tsv");
}

TEST(a_model_without_token_types_takes_no_pairs)
{
    run("$TRAIN " CLASSIFY "train.steps=1; printf 'text\\ttext_b\\tlabel\\nab\\tbx\\twith\\n' "
        ">sub/pairs.tsv");
    expect_stderr(3,
                  "/sub/pairs.tsv:1: has column text_b, a second text, but the model has no "
                  "token types and so takes no pairs of texts\n",
                  "$TRAIN --checkpoint runs/c --eval data.eval_file=sub/pairs.tsv");
    expect_stderr(0,
                  "warning: a tab is part of the text, in 1 of 2 texts: the model has no token "
                  "types",
                  "printf 'ab\\tbx\\nab\\n' | $TRAIN --checkpoint runs/c --predict -");
}

TEST(a_run_starts_from_a_model_of_the_same_labels)
{
    run("$TRAIN " CLASSIFY);
    expect_no_stderr("newly initialized", "$TRAIN sub/c.ini run.name=more train.steps=5 "
                                          "train.init_from=runs/c/checkpoints/step-00000060.h5");
    run("sed -i s/with/zwith/ sub/train.tsv sub/test.csv");
    expect_stderr(0, "newly initialized parameters of the model: 4, the first is head.",
                  "$TRAIN sub/c.ini run.name=other train.steps=5 optimizer.lr=0 "
                  "train.init_from=runs/c/checkpoints/step-00000060.h5");
}

TEST(truncated_texts_are_counted_in_a_warning)
{
    expect_stderr(
        0,
        "train: warning: of 410 labelled texts 309 are longer than data.length = 5 and are "
        "cut at the end\n",
        "cp sub/train.tsv 'sub/a, b.tsv'; $TRAIN " CLASSIFY
        "'data.file=sub/a, b.tsv' data.length=5 --check");
}
