/* Folders of Llama and Mistral through the program: evaluated, trained on, and written. */

#include "train_program.h"

static void enter_with_files(void)
{
    enter();
    setenv("LLAMA", TEST_SOURCES "/fixtures/llama", 1);
    run("seq 3000 | awk '{ print 4 + ($1 * 7 + $1 %% 5) %% 37 }' >ids.txt; h5import ids.txt -d "
        "3000 -p /ids -t TEXTIN -s 32 -o ids.h5");
}

#define IDS "data.file=ids.h5:/ids data.length=16 "

SUITE(.setup = enter_with_files, .teardown = leave, .timeout = 300)

TEST_ROWS(a_folder_is_evaluated_on_ids, 0, 4)
{
    static const char *const names[] = {"llama", "llama_bias", "llama_longrope", "mistral_window"};
    expect_stdout("eval: loss ", "$TRAIN --checkpoint $LLAMA/%s/hf --eval " IDS, names[_i]);
    expect_no_text(w->out, "diverged");
    expect_no_text(w->err, "warning");
}

TEST(a_folder_with_an_unknown_tokenizer_reads_token_ids)
{
    expect_stderr(0, "train: warning: tokenizer.json: ",
                  "cp -r $LLAMA/llama/hf m; chmod -R u+w m; echo '{\"model\": {\"type\": "
                  "\"Unigram\"}}' >m/tokenizer.json; $TRAIN --checkpoint m --eval " IDS);
    expect_text(w->err, "; the model reads token ids, but no texts\n");
    expect_stderr(4,
                  "train: m: tokenizer.json: the type of model is 'Unigram'; only 'BPE' and "
                  "'WordPiece' can be read; the model reads token ids, not texts\n",
                  "$TRAIN --checkpoint m --predict 'a b'");
    run("$TRAIN --checkpoint m --predict '5 6' --tokens 3 --quiet");
    expect_stderr(2, "train: --usage needs data: give data.file=FILE\n",
                  "$TRAIN --checkpoint m --usage");
    expect_stderr(2, "warning: tokenizer.json: the type of model is 'Unigram'; ",
                  "$TRAIN --checkpoint m --eval data.file=ids.txt");
    expect_stderr(4, "m: tokenizer.json: the type of model is 'Unigram'; ",
                  "$TRAIN /dev/null train.init_from=m data.task=text data.file=ids.txt "
                  "data.level=byte data.length=16");
}

/* No training on this machine has the memory for so many. */
TEST(a_folder_with_a_million_positions_is_exported)
{
    run("cp -r $LLAMA/llama/hf m; chmod -R u+w m; sed -i 's/\"max_position_embeddings\": "
        "64/\"max_position_embeddings\": 1000000/' m/config.json; $TRAIN --checkpoint m --export "
        "out");
    run("grep -q '\"max_position_embeddings\": 1000000' out/config.json");
}

/* A decoder of abcdefghijklmnop whose folder calls a letter the end of a text. */
TEST(an_end_token_of_a_folder_is_kept_and_ends_a_continuation)
{
    static const char predict[] = "--predict abcd --tokens 20 --temperature 0 --quiet";
    run("for i in $(seq 200); do printf abcdefghijklmnop; done >text.txt");
    run("printf '[data]\ntask = text\nfile = text.txt\nlevel = byte\nlength = 32\nobjective = "
        "lm\n[model]\nkind = decoder\nlayers = 1\ndim = 32\nheads = 2\n[optimizer]\nlr = "
        "0.005\n[train]\nsteps = 150\nbatch_size = 16\n' >t.ini && $TRAIN t.ini --quiet");
    run("$TRAIN --checkpoint runs/t --export m --quiet");
    run("grep -q '\"eos_token_id\": null' m/config.json");
    expect_output("abcdefghijklmnopabcdefgh\n", "$TRAIN --checkpoint m %s", predict);
    /* h is 4 + 104 */
    expect_output("abcdefg\n",
                  "sed -i 's/\"eos_token_id\": null/\"eos_token_id\": [3, 108]/' m/config.json; "
                  "$TRAIN --checkpoint m %s",
                  predict);
    run("$TRAIN t.ini --quiet run.name=on train.steps=2 train.init_from=m; $TRAIN "
        "runs/on/config.ini --quiet train.steps=4 --resume");
    expect_output("abcdefg\n", "$TRAIN --checkpoint runs/on %s", predict);
    run("$TRAIN --checkpoint runs/on --export again --quiet; grep -q '\"eos_token_id\": \\[3, "
        "108\\]' again/config.json");
    expect_output("abcdefghi\n",
                  "echo '{\"eos_token_id\": 110}' >again/generation_config.json; $TRAIN "
                  "--checkpoint again %s",
                  predict);
}
