/* data.eval_file and texts for evaluation alone, through the program. */

#include "train_program.h"

static void make_texts(void)
{
    run("mkdir sub; seq 400 >sub/text.txt; seq 500 560 >sub/one.txt; seq 700 730 >sub/two.txt; "
        "printf 123 >sub/short.txt; sed 's/^vocab.*/task = text\\nlevel = char\\nfile = text.txt/; "
        "s/^learn.*/learn = no/; s/^steps = 60/steps = 4/' tiny.ini >sub/t.ini");
}

#define TEXT "sub/t.ini --quiet "
#define OWN  TEXT "data.eval_file=sub/one.txt,sub/two.txt train.eval_batches=0 "

SUITE(PROGRAM_OPTIONS, .prepare = make_texts)

TEST(a_text_is_evaluated_on_the_files_that_are_named)
{
    run("$TRAIN " OWN);
    const char *trained = line_of(w->out, "eval: ");
    expect_text(trained, "(33 sequences, ");
    run("grep '^eval_file = /.*/sub/one.txt,/.*/sub/two.txt$' runs/t/config.ini");
    run("sed -n 2p runs/t/timing.csv | grep '/sub/two.txt (124 bytes, XXH128 '");
    expect_stderr(2, "--eval does not read data.file: the run has data.eval_file = /",
                  "$TRAIN runs/t/config.ini --eval data.file=sub/two.txt");
    expect_text(w->err, "; give data.eval_file=FILE to evaluate on another one\n");
    expect_stderr(0, "evaluating on the last 0.1 of data.file",
                  "$TRAIN runs/t/config.ini --eval data.file=sub/two.txt data.eval_file=");
    run("rm sub/text.txt; $TRAIN --checkpoint runs/t --eval");
    ck_assert_str_eq(line_of(w->out, "eval: "), trained);
    expect_stdout("(11 sequences, ",
                  "$TRAIN --checkpoint runs/t --eval data.eval_file=sub/two.txt");
    expect_stderr(0, " of data.eval_file that are not in the vocabulary and are read as [UNK]",
                  "tr 9 x <sub/one.txt >sub/x.txt; $TRAIN --checkpoint runs/t --eval "
                  "data.eval_file=sub/x.txt");
    expect_no_text(w->err, " of data.file that");
}

TEST(token_ids_are_evaluated_on_their_own_data_set)
{
    run("seq 300 | awk '{ print 4 + $1 %% 6 }' >ids.txt; seq 90 | awk '{ print 4 + $1 %% 3 }' "
        ">eval.txt; h5import ids.txt -d 300 -p /train -t TEXTIN -s 32 eval.txt -d 90 -p /valid -t "
        "TEXTIN -s 32 -o sub/ids.h5");
    const char *tokens = TEXT "data.task=tokens data.level=byte data.file=sub/ids.h5:/train "
                              "data.eval_file=sub/ids.h5:/valid train.eval_batches=0";
    expect_stdout("(8 sequences, ", "$TRAIN %s data.vocab=10", tokens);
    expect_stdout("(8 sequences, ", "$TRAIN %s data.vocab=10 --eval", tokens);
    expect_stderr(3, "/sub/ids.h5:/train: data.file must hold ids from 0 to 5",
                  "$TRAIN %s data.vocab=6 --overwrite", tokens);
    expect_stderr(3, "/sub/ids.h5:/train: data.eval_file must hold ids from 0 to 6",
                  "$TRAIN " TEXT
                  "run.name=other data.task=tokens data.level=byte data.file=sub/ids.h5:/valid "
                  "data.vocab=7 data.eval_file=sub/ids.h5:/train");
    ck_assert(!exists("runs/other"));
}

TEST(a_text_too_short_to_evaluate_is_refused_before_anything_is_created)
{
    for (int checks = 0; checks < 2; checks++) {
        expect_each_refused(
            checks ? "$TRAIN " TEXT "--check" : "$TRAIN " TEXT,
            {3,
             "data.eval_file=sub/one.txt,sub/two.txt train.eval_batches=0 "
             "train.eval_lengths=20,400",
             "/sub/two.txt: the text for evaluation is shorter than the 400 tokens of "
             "train.eval_lengths\n"});
        ck_assert(!exists("runs"));
    }
}

/* Ids of nanoGPT's character files begin at 0. */
TEST(ids_below_4_are_a_warning_and_can_be_ordinary_tokens)
{
    run("for i in $(seq 200); do printf '\\0\\0\\1\\0\\5\\0\\6\\0'; done >zero.bin");
    expect_stderr(
        0,
        "takes the ids 0 to 3 for [PAD], [CLS], [MASK] and [SEP], and 400 of the first 800 "
        "tokens of data.file have one of the first three; set data.special_tokens=no",
        "$TRAIN tiny.ini data.task=tokens data.file=zero.bin train.steps=2");
    expect_no_stderr("ids 0 to 3",
                     "$TRAIN tiny.ini data.task=tokens data.file=zero.bin train.steps=2 "
                     "data.special_tokens=no run.name=ordinary");
    expect_no_text(w->err, "data.mask_id");
    expect_stderr(0,
                  "warning: data.mask_id = 5 hides tokens, and 200 of the first 800 tokens of "
                  "data.file have this id; set data.mask_id to an id that they do not use\n",
                  "$TRAIN tiny.ini data.task=tokens data.file=zero.bin train.steps=2 "
                  "data.special_tokens=no data.mask_id=5 run.name=masked");
    expect_stdout("\nspecial_tokens = no\n",
                  "$TRAIN --checkpoint runs/ordinary --print-config --quiet");
}

TEST(a_model_of_token_ids_continues_ids)
{
    run("for i in $(seq 400); do printf "
        "'\\0\\0\\1\\0\\2\\0\\3\\0\\4\\0\\5\\0\\6\\0\\7\\0\\10\\0\\11\\0'; done >ids.bin; $TRAIN "
        "tiny.ini --quiet data.task=tokens data.file=ids.bin data.special_tokens=no "
        "data.objective=lm model.causal=yes data.vocab=10 train.steps=150 optimizer.lr=1e-2");
    expect_output("3 4 5 6 7 8 9 0 1 2\n",
                  "$TRAIN runs/tiny/config.ini --predict '3 4 5' --tokens 7 --temperature 0");
    expect_output("1 2 3 4 5\n8 9 0 1 2\n",
                  "printf '1 2\\n8 9\\n' >two; $TRAIN runs/tiny/config.ini --predict - --tokens 3 "
                  "--temperature 0 <two");
    expect_output(
        "{\"text\": \"7\", \"continuation\": \" 8 9 0 1\", \"tokens\": 4, \"end\": \"stop\"}\n",
        "$TRAIN runs/tiny/config.ini --predict 7 --temperature 0 --stop ' 0 1' --jsonl");
    run("$TRAIN --checkpoint runs/tiny --export ids --quiet");
    expect_output("3 4 5 6 7 8 9 0 1 2\n",
                  "$TRAIN --checkpoint ids --predict '3 4 5' --tokens 7 --temperature 0");
    expect_output("8 9 0 1 2\n", "echo 8 9 | $TRAIN --checkpoint ids --predict - --tokens 3 "
                                 "--temperature 0");
    expect_stderr(4, "the model reads token ids, not texts",
                  "$TRAIN --checkpoint ids --predict 8a");
    expect_stderr(4, "the model reads token ids, not texts", "$TRAIN --checkpoint ids --embed two");
    expect_each_refused("$TRAIN runs/tiny/config.ini --predict",
                        {2, "'3 x'", "train: 'x' is no token id from 0 to 9\n"},
                        {2, "10", "train: '10' is no token id from 0 to 9\n"},
                        {2, "-1", "train: '-1' is no token id from 0 to 9\n"},
                        {2, "' '", "train: there is no token id to continue\n"});
    /* the ids of [PAD], [CLS], [MASK] and [SEP] are never predicted */
    expect_output(
        "4 5 ",
        "for i in $(seq 200); do printf '\\4\\0\\5\\0'; done >ids.bin; $TRAIN tiny.ini --quiet "
        "data.task=tokens data.file=ids.bin data.objective=lm model.causal=yes data.vocab=6 "
        "train.steps=1 --overwrite >out; $TRAIN runs/tiny/config.ini --predict 4 --tokens 50 "
        "--temperature 100 --seed 1 | tr ' ' '\\n' | sort -u | tr '\\n' ' '");
}

TEST(a_text_shorter_than_a_window_is_evaluated)
{
    run("$TRAIN " TEXT "data.objective=lm model.causal=yes");
    expect_stdout("(1 sequences, 3 labels)\n",
                  "$TRAIN runs/t/config.ini --eval data.eval_file=sub/short.txt");
    expect_text(w->err, "1 text for evaluation shorter than data.length = 12 (the shortest has 3 "
                        "tokens): evaluated as one shorter sequence\n");
    const char *padded = line_of(w->out, "eval: ");
    expect_stdout(padded,
                  "$TRAIN --checkpoint runs/t --eval data.eval_file=sub/short.txt data.length=4");
    expect_no_text(w->err, "shorter");
}

/* sub/two.txt has 124 characters, sub/one.txt 244. */
TEST(a_text_shorter_than_a_length_of_evaluation_counts_in_training_as_in_eval)
{
    run("$TRAIN " OWN "train.eval_lengths=128");
    const char *trained = line_of(w->out, "eval at length 128");
    expect_text(trained, "(2 sequences, ");
    expect_stdout(trained, "$TRAIN --checkpoint runs/t --eval");
    expect_text(w->err, "1 text for evaluation shorter than train.eval_lengths = 128 (the shortest "
                        "has 124 tokens): evaluated as one shorter sequence\n");
}
