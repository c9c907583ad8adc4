/* `train --predict`: what a trained model makes of a text. */

#include "train_program.h"

/* A text of which every token follows from the one before. */
#define ALPHABET "abcdefghijklmnop"

static void make_text(void)
{
    run("for i in $(seq 200); do printf '" ALPHABET "'; done >text.txt");
}

#define LANGUAGE_OF                                                                                \
    "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "             \
    "data.level=char "

#define LANGUAGE_FOR(steps)                                                                        \
    LANGUAGE_OF                                                                                    \
    "model.dim=32 "                                                                                \
    "optimizer.lr=5e-3 optimizer.schedule_steps=" steps " train.batch_size=16 "

#define LANGUAGE LANGUAGE_FOR("200")

#define LM LANGUAGE "data.objective=lm model.causal=yes "

SUITE(PROGRAM_OPTIONS, .prepare = make_text)

TEST(a_causal_model_continues_a_text)
{
    run("$TRAIN " LM "train.steps=200");
    expect_output("efghijklmnopabcdefghijkl\n",
                  "$TRAIN " LM "--predict efgh --tokens 20 --temperature 0");
    expect_output("efghijklm\n",
                  "$TRAIN " LM "--predict efgh --tokens 20 --temperature 0 --stop klm");
    expect_output(
        "efghijklm\n",
        "$TRAIN " LM
        "--predict efgh --tokens 5 --temperature 0 --stop gh"); /* what was given does not count */
    expect_told(2, "--top-k must be a whole number above 0; got '0'",
                "$TRAIN " LM "--predict a --top-k 0");
    expect_told(2, "--top-p must be a number above 0, up to 1; got '1.5'",
                "$TRAIN " LM "--predict a --top-p 1.5");
    run("$TRAIN " LM "--predict '' --tokens 3");
    ck_assert_int_eq(strlen(w->out), 4);
}

TEST(choices_depend_on_the_seed_alone)
{
    run("$TRAIN " LM "train.steps=1");
    run("$TRAIN " LM "--predict a --tokens 30 --seed 5 >first");
    run("$TRAIN " LM "--predict a --tokens 30 --seed 5 | cmp - first");
    expect_exit(w, 1, "$TRAIN " LM "--predict a --tokens 30 --seed 6 | cmp -s - first");
}

/* Weights that are large enough to be shared out. */
TEST(threads_change_no_choice)
{
    static const char large[] = "model.dim=256 model.heads=4 --overwrite";
    for (int threads = 1; threads <= 3; threads++)
        run("$TRAIN " LANGUAGE_OF
            "data.objective=lm model.causal=yes %s train.steps=1 && $TRAIN runs/tiny/config.ini "
            "--predict abc --tokens 20 --seed 5 --quiet --threads %d >out%d",
            large, threads, threads);
    expect_output("24\n", "cmp out1 out2 && cmp out1 out3 && wc -c <out1");
}

/* A pipe is answered line by line, a file in groups. Prompts differ in length, end at different
 * times, and fill more than one group; one is empty, and one longer than data.length. */
NIGHTLY_TEST(lines_of_a_file_are_continued_as_each_alone)
{
    static const char *const ways[] = {"", "--temperature 0 --stop p", "--seed 4 --top-k 5",
                                       "--stop no --temperature 2"};
    static const char *const models[] = {
        "", "model.attention=linear_elu ", "model.window=5 ", "position.kind=learned ",
        ("position.scaling=dynamic position.original_len=8 position.scale=2 ")};
    run("for i in $(seq 37); do printf '%%.*s\\n' $((i * 5 %% 19)) " ALPHABET ALPHABET
        "; done >lines.txt");
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        run("$TRAIN " LM "data.length=20 train.steps=60 --overwrite %s", models[m]);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            run("$TRAIN runs/tiny/config.ini --predict - --tokens 9 %s <lines.txt >together 2>told",
                ways[i]);
            expect_output(
                "37\n",
                "cat lines.txt | $TRAIN runs/tiny/config.ini --predict - --tokens 9 %s >alone "
                "2>told-alone && cmp together alone && cmp told told-alone && wc -l <together",
                ways[i]);
        }
    }
}

/* Lines before the bad one are answered, lines behind it are not. */
TEST(a_bad_line_of_a_file_is_named)
{
    run("$TRAIN " LM "train.steps=1 data.length=8 position.kind=learned");
    expect_message(2, "train: line 3: byte 0xff at byte 0 is not UTF-8\n",
                   "printf 'a\nb\n\377\nc\n' >lines.txt; $TRAIN runs/tiny/config.ini --quiet "
                   "--predict - --tokens 2 <lines.txt");
    ck_assert_int_eq(count_of(w->out, "\n"), 2);
    expect_message(
        2, "train: line 21: the text has 11 tokens; the model has positions for 8\n",
        "for i in $(seq 20); do echo a; done >lines.txt; echo abcdefghij >>lines.txt; echo a "
        ">>lines.txt; $TRAIN runs/tiny/config.ini --quiet --predict - --tokens 2 <lines.txt");
    ck_assert_int_eq(count_of(w->out, "\n"), 20);
    run("$TRAIN runs/tiny/config.ini --quiet --predict - --tokens 2 </dev/null");
    expect_output("", ": >lines.txt; $TRAIN runs/tiny/config.ini --quiet --predict - <lines.txt");
    expect_exit(
        w, 1,
        "echo a >lines.txt; $TRAIN runs/tiny/config.ini --quiet --predict - <lines.txt >/dev/full");
}

/* After as many steps both letters have a probability of 0.93 and more. */
TEST(a_masked_model_fills_the_masks)
{
    run("$TRAIN " LANGUAGE_FOR("400") "train.steps=400 data.mask_probability=0.3");
    run("$TRAIN runs/tiny/config.ini --quiet --predict 'cde[MASK]ghi[MASK]kl'");
    ck_assert(!strncmp(w->out, "cdefghijkl\nmask 1: 'f' ", 23));
    ck_assert_int_eq(count_of(w->out, "\n"), 3);
    ck_assert_ptr_nonnull(strstr(w->out, "\nmask 2: 'j' "));
}

TEST(what_cannot_be_predicted_is_refused)
{
    expect_told(4, "has no checkpoint", "$TRAIN " LM "--predict a");
    run("$TRAIN " LM "train.steps=1");
    expect_told(2, "byte 0xff at byte 2 is not UTF-8",
                "$TRAIN " LM "--predict \"$(printf 'ab\\377')\"");
    expect_told(2, "a text to continue must have no [MASK]", "$TRAIN " LM "--predict 'a[MASK]'");
    expect_told(2, "--temperature must be a number >= 0; got '-1'",
                "$TRAIN " LM "--predict a --temperature -1");
    expect_told(2, "--tokens must be a whole number from 1 to 1000000; got '0'",
                "$TRAIN " LM "--predict a --tokens 0");
    expect_told(2, "--seed needs --predict", "$TRAIN " LM "--seed 1");
    run("$TRAIN tiny.ini --quiet --overwrite train.steps=1 optimizer.schedule_steps=0");
    expect_told(2, "--predict needs data.task = text", "$TRAIN tiny.ini --predict a");
}

/* Once, however many there are; they stay as they are in what is printed. */
TEST(characters_that_are_not_known_are_read_as_unknown)
{
    run("$TRAIN " LM "train.steps=1");
    run("$TRAIN " LM "--predict 'aXbYc' --tokens 1 --temperature 0");
    ck_assert(!strncmp(w->out, "aXbYc", 5) && strlen(w->out) == 7);
    ck_assert_str_eq(w->err, "train: warning: characters of the text that are not in the "
                             "vocabulary and are read as [UNK]: 2, the first is 'X' at byte 1\n");
    run("$TRAIN " LM "--predict 'aXbYc' --tokens 20 >first");
    run("$TRAIN " LM "--predict 'aZbQc' --tokens 20 | tr ZQ XY | cmp - first");
    run("$TRAIN " LANGUAGE "run.name=masked train.steps=1");
    run("$TRAIN " LANGUAGE "run.name=masked --predict 'a[MASK]X[MASK]Y'");
    ck_assert(w->out[0] == 'a' && w->out[2] == 'X' && w->out[4] == 'Y' && w->out[5] == '\n');
    expect_text(w->err, "are read as [UNK]: 2, the first is 'X' at byte 7\n");
}

/* Of the five most likely tokens, and of many choices at a temperature that makes all of them as
 * likely, none is a special token: each is one of the letters. */
TEST(special_tokens_are_never_predicted)
{
    run("$TRAIN " LM "train.steps=1");
    run("$TRAIN " LM "--predict a --tokens 400 --temperature 1e6");
    ck_assert_uint_eq(strspn(w->out, ALPHABET), 401);
    ck_assert_str_eq(w->out + 401, "\n");
    run("for i in $(seq 200); do printf ab; done >text.txt");
    run("$TRAIN " LANGUAGE "run.name=two train.steps=1");
    run("$TRAIN " LANGUAGE "run.name=two --predict '[MASK]'");
    ck_assert_int_eq(count_of(w->out, "'"), 4);
    expect_text(w->out, "'a' 0.");
    expect_text(w->out, "'b' 0.");
}

/* The alphabet shows that nothing was lost on the way: a token follows from the one before,
 * whatever the model still has of the others. dynamic, which was trained on 8, may err beyond. */
TEST_ROWS(a_text_beyond_the_context_goes_on_and_says_so, 0, 5)
{
    static const char *const scalings[] = {
        "", "position.kind=alibi ", "model.attention=linear_elu ", "model.window=3 ",
        "position.scaling=dynamic position.original_len=8 position.scale=2 "};
    char options[512];
    snprintf(options, sizeof options, LM "data.length=8 %s", scalings[_i]);
    run("$TRAIN %s train.steps=200", options);
    expect_message(0, "", "$TRAIN %s --predict efgh --tokens 40 --temperature 0 >out", options);
    expect_output("efghijkl\n", "$TRAIN %s --predict efgh --tokens 4 --temperature 0", options);
    snprintf(options, sizeof options, "runs/tiny/config.ini --predict efgh --temperature 0");
    run("$TRAIN %s --tokens 4", options);
    ck_assert_ptr_null(strstr(w->err, "tokens"));
    run("$TRAIN %s --tokens 5 --stop x", options);
    if (_i < 4)
        expect_text(w->err, "1 of 1 texts filled the context window, data.length = 8 tokens: its "
                            "older half was dropped\n");
    else
        ck_assert_ptr_null(strstr(w->err, "newest"));
    if (_i < 4) {
        expect_output("efghijklmnop" ALPHABET ALPHABET "\n", "cat out");
    }
}

/* The first token after a text that is too long from the start is that of its newest tokens. */
TEST(of_a_text_that_is_too_long_the_newest_tokens_are_read)
{
    run("$TRAIN " LM "data.length=8 train.steps=200");
    expect_output("abcdefghijklmnopabcdefgh\nabcd\n",
                  "printf 'abcdefghijklmnopabcdefg\\nabc\\n' | $TRAIN runs/tiny/config.ini "
                  "--predict - --tokens 1 --temperature 0");
    expect_text(w->err, "1 of 2 texts filled the context window, data.length = 8 tokens");
}

TEST(a_text_ends_where_the_model_has_no_more_positions)
{
    run("$TRAIN " LM "data.length=8 position.kind=learned train.steps=100");
    run("$TRAIN " LM "data.length=8 position.kind=learned --predict abcd --tokens 99");
    ck_assert_uint_eq(strlen(w->out), 4 + 4 + 1); /* [CLS] has a position, the last token none */
    ck_assert_str_eq(
        w->err,
        "train: warning: 1 of 1 texts ended where the model has no more positions, at 8 tokens\n");
    run("$TRAIN " LM "data.length=8 position.kind=learned --predict abcdefg");
    ck_assert_uint_eq(strlen(w->out), 7 + 1 + 1);
    expect_message(2, "train: line 2: the text has 9 tokens; the model has positions for 8\n",
                   "printf 'abc\\nabcdefgh\\nabc\\n' | $TRAIN " LM
                   "data.length=8 position.kind=learned --predict -");
    ck_assert_int_eq(count_of(w->out, "\n"), 1);
}

/* 32 tokens for a scale of 1. */
TEST(a_text_ends_where_xpos_does)
{
    run("$TRAIN " LM "data.length=32 position.xpos=1 train.steps=20");
    run("$TRAIN runs/tiny/config.ini --predict abcd --tokens 99 --quiet");
    ck_assert_uint_eq(strlen(w->out), 4 + 28 + 1);
    ck_assert_str_eq(
        w->err,
        "train: warning: 1 of 1 texts ended where the model has no more positions, at 32 tokens\n");
    expect_told(2, "position.xpos = 1 is for 32 tokens at most",
                "$TRAIN runs/tiny/config.ini --eval data.length=33");
}

#define BYTES                                                                                      \
    "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "             \
    "data.level=byte "                                                                             \
    "model.dim=32 optimizer.lr=5e-3 optimizer.schedule_steps=200 train.batch_size=16 "             \
    "data.objective=lm model.causal=yes "

/* At level byte the tokens are parts of characters. */
TEST(characters_are_never_broken)
{
    run("for i in $(seq 200); do printf '\\303\\244\\342\\202\\254'; done >text.txt");
    run("$TRAIN " BYTES "train.steps=150");
    for (int tokens = 1; tokens < 8; tokens++)
        run("$TRAIN " BYTES "--predict '' --tokens %d | iconv -f UTF-8 -t UTF-8 >/dev/null",
            tokens);
    run("$TRAIN " BYTES
        "--predict '' --tokens 400 --temperature 9 | iconv -f UTF-8 -t UTF-8 >/dev/null");
    expect_output("\xc3\xa4\n",
                  "$TRAIN " BYTES "--predict \"$(printf '\\303')\" --tokens 1 --temperature 0");
    expect_output("\xc3\xa4\xef\xbf\xbd\n",
                  "$TRAIN " BYTES
                  "--predict \"$(printf '\\303\\244\\342')\" --tokens 1 --temperature 0");
}

/* A reader that stops ends the program long before a million tokens. */
TEST(tokens_are_shown_as_they_are_chosen)
{
    run("$TRAIN " LM "train.steps=1");
    expect_output("10\n",
                  "timeout 20 $TRAIN " LM "--predict a --tokens 1000000 | head -c 10 | wc -c");
    NEEDS(!access("/dev/full", W_OK), "/dev/full");
    expect_message(1, "train: the results could not be printed\n",
                   "timeout 20 $TRAIN " LM "--predict a --tokens 1000000 >/dev/full");
}

/* Each line gives what it gives alone: the same seed, and nothing of the line before. */
TEST_ROWS(lines_of_standard_input_are_answered_one_by_one, 0, 2)
{
    static const char *const models[] = {LM, LANGUAGE};
    static const char *const options[] = {"--tokens 9 --seed 3", ""};
    static const char *const texts[][3] = {{"abc", "fX", "bcde"},
                                           {"a[MASK]c", "[MASK]X[MASK]", "b[MASK]"}};
    run("$TRAIN %s train.steps=20", models[_i]);
    for (int i = 0; i < 3; i++)
        run("$TRAIN %s --predict '%s' %s 2>>alone.err >>alone", models[_i], texts[_i][i],
            options[_i]);
    run("printf '%s\\n%s\\r\\n%s' | $TRAIN %s --predict - %s | cmp - alone", texts[_i][0],
        texts[_i][1], texts[_i][2], models[_i], options[_i]);
    snprintf(w->out, sizeof w->out,
             "train: warning: characters of standard input that are not in the vocabulary and are "
             "read as [UNK]: 1, the first is 'X' at byte %d\n",
             _i ? 15 : 5);
    ck_assert_str_eq(w->err, w->out);
}

TEST(a_line_that_cannot_be_read_is_exit_2_and_named)
{
    run("$TRAIN " LANGUAGE "train.steps=1");
    expect_message(2, "train: line 2: the text must have a [MASK] to fill\n",
                   "printf 'a[MASK]c\\nabc\\nde[MASK]\\n' | $TRAIN " LANGUAGE "--predict -");
    ck_assert_int_eq(count_of(w->out, "\n"), 2);
    expect_message(3, "train: line 1: byte 0x00 at byte 6 is not text\n",
                   "printf '[MASK]\\000b\\n' | $TRAIN " LANGUAGE "--predict -");
    expect_message(2, "train: line 2: byte 0xff at byte 0 is not UTF-8\n",
                   "printf '[MASK]\\n[MASK]\\377\\n' | $TRAIN " LANGUAGE "--predict -");
    expect_message(2, "train: line 1: has more than 1048576 bytes\n",
                   "head -c 1048577 /dev/zero | tr '\\0' a | $TRAIN " LANGUAGE "--predict -");
    expect_message(1, "train: line 1: cannot be read: Is a directory\n",
                   "$TRAIN " LANGUAGE "--predict - </");
    expect_output("", "$TRAIN " LANGUAGE "--predict - </dev/null");
}

TEST(answers_that_cannot_be_printed_are_a_failure)
{
    NEEDS(!access("/dev/full", W_OK), "/dev/full");
    run("$TRAIN " LANGUAGE "train.steps=1");
    expect_message(1, "train: the results could not be printed\n",
                   "yes '[MASK]' | $TRAIN " LANGUAGE "--predict - >/dev/full");
}
