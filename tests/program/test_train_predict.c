/* `train --predict`: continuations, filled masks and labels. */

#include "train_program.h"

/* A text of which every token follows from the one before. */
#define ALPHABET "abcdefghijklmnop"

static void make_text(void)
{
    run("for i in $(seq 200); do printf '" ALPHABET "'; done >text.txt");
}

#define USE "$TRAIN runs/tiny/config.ini --quiet --predict "

#define LANGUAGE_OF                                                                                \
    "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "             \
    "data.level=char "

#define LANGUAGE_FOR(steps)                                                                        \
    LANGUAGE_OF                                                                                    \
    "model.dim=32 optimizer.lr=5e-3 optimizer.schedule_steps=" steps " train.batch_size=16 "

#define LANGUAGE LANGUAGE_FOR("200")

#define LM LANGUAGE "data.objective=lm model.causal=yes "

SUITE(PROGRAM_OPTIONS, .prepare = make_text)

TEST(a_causal_model_continues_a_text)
{
    run("$TRAIN " LM "train.steps=200");
    expect_output("efghijklmnopabcdefghijkl\n", USE "efgh --tokens 20 --temperature 0");
    expect_output("efghijklm\n", USE "efgh --tokens 20 --temperature 0 --stop klm");
    expect_output("efghijklm\n", /* what was given does not count */
                  USE "efgh --tokens 5 --temperature 0 --stop gh");
    run(USE "'' --tokens 3");
    ck_assert_int_eq(strlen(w->out), 4);
    /* choices depend on the seed alone */
    run("$TRAIN " LM "train.steps=1 --overwrite && " USE "a --tokens 30 --seed 5 >first && " USE
        "a --tokens 30 --seed 5 | cmp - first");
    expect_exit(w, 1, USE "a --tokens 30 --seed 6 | cmp -s - first");
}

/* A pipe is answered line by line, a file in groups. Prompts differ in length, end at different
 * times, and fill more than one group; one is empty, and one longer than data.length. Other models
 * are in tests/laws/test_sessions_laws.c. */
TEST(lines_of_a_file_have_the_continuations_of_single_lines)
{
    static const char *const ways[] = {"", "--temperature 0 --stop p", "--seed 4 --top-k 5",
                                       "--stop no --temperature 2", "--samples 3"};
    run("for i in $(seq 37); do printf '%%.*s\\n' $((i * 5 %% 19)) " ALPHABET ALPHABET
        "; done >lines.txt; $TRAIN " LM "data.length=20 train.steps=60");
    for (int i = 0; i < ROWS(ways); i++) {
        run("$TRAIN runs/tiny/config.ini --predict - --tokens 9 %s <lines.txt >together 2>told",
            ways[i]);
        expect_output(
            strstr(ways[i], "--samples") ? "111\n" : "37\n",
            "cat lines.txt | $TRAIN runs/tiny/config.ini --predict - --tokens 9 %s >alone "
            "2>told-alone && cmp together alone && cmp told told-alone && wc -l <together",
            ways[i]);
    }
}

TEST(a_bad_line_of_a_file_is_named)
{
    run("$TRAIN " LM "train.steps=1 data.length=8 position.kind=learned");
    expect_message(2, "train: line 3: byte 0xff at byte 0 is not UTF-8\n",
                   "printf 'a\nb\n\377\nc\n' >lines.txt; " USE "- --tokens 2 <lines.txt");
    ck_assert_int_eq(count_of(w->out, "\n"), 2);
    expect_message(2, "train: line 21: the text has 11 tokens; the model has positions for 8\n",
                   "for i in $(seq 20); do echo a; done >lines.txt; echo abcdefghij >>lines.txt; "
                   "echo a >>lines.txt; " USE "- --tokens 2 <lines.txt");
    ck_assert_int_eq(count_of(w->out, "\n"), 20);
    expect_output("", USE "- --tokens 2 </dev/null; : >lines.txt; " USE "- <lines.txt");
    expect_exit(w, 1, "echo a >lines.txt; " USE "- <lines.txt >/dev/full");
}

/* After as many steps both letters have a probability of 0.93 and more. */
TEST(a_masked_model_fills_the_masks)
{
    run("$TRAIN " LANGUAGE_FOR("400") "train.steps=400 data.mask_probability=0.3");
    run(USE "'cde[MASK]ghi[MASK]kl'");
    ck_assert(!strncmp(w->out, "cdefghijkl\nmask 1: 'f' ", 23));
    ck_assert_int_eq(count_of(w->out, "\n"), 3);
    ck_assert_ptr_nonnull(strstr(w->out, "\nmask 2: 'j' "));
    /* weights that are large enough to be shared out: threads change no choice */
    static const char large[] = "model.dim=256 model.heads=4 --overwrite";
    for (int threads = 1; threads <= 3; threads++)
        run("$TRAIN " LANGUAGE_OF
            "data.objective=lm model.causal=yes %s train.steps=1 && $TRAIN runs/tiny/config.ini "
            "--predict abc --tokens 20 --seed 5 --quiet --threads %d >out%d",
            large, threads, threads);
    expect_output("24\n", "cmp out1 out2 && cmp out1 out3 && wc -c <out1");
}

TEST(a_prediction_with_invalid_text_or_options_is_refused)
{
    expect_stderr(4, "has no checkpoint", "$TRAIN " LM "--predict a");
    run("$TRAIN " LM "train.steps=1");
    expect_each_refused(
        USE, {2, "'a[MASK]'", "a text to continue must have no [MASK]"},
        {2, "a --temperature -1", "--temperature must be a number >= 0; got '-1'"},
        {2, "a --tokens 0", "--tokens must be a whole number from 1 to 1000000; got '0'"},
        {2, "a --samples 0", "--samples must be a whole number from 1 to 1000000; got '0'"},
        {2, "a --samples 1000001", "got '1000001'"},
        {2, "a --top-k 0", "--top-k must be a whole number above 0; got '0'"},
        {2, "a --top-p 1.5", "--top-p must be a number above 0, up to 1; got '1.5'"});
    run(TINY "--overwrite train.steps=1 optimizer.schedule_steps=0");
    expect_stderr(2, "--predict needs data.task = text", "$TRAIN tiny.ini --predict a");
}

TEST(characters_that_are_not_known_are_read_as_unknown_and_shown_as_they_were)
{
    run("$TRAIN " LM "train.steps=1");
    run("$TRAIN " LM "--predict 'aXbYc' --tokens 20 >first");
    ck_assert_str_eq(w->err, "train: warning: characters of the text that are not in the "
                             "vocabulary and are read as [UNK]: 2, the first is 'X' at byte 1\n");
    run("$TRAIN " LM "--predict 'aZbQc' --tokens 20 | tr ZQ XY | cmp - first");
    run("for i in $(seq 200); do printf ab; done >text.txt; $TRAIN " LANGUAGE_OF
        "run.name=two train.steps=1 optimizer.lr=0");
    run("$TRAIN --checkpoint runs/two --predict 'a[MASK]X'");
    ck_assert(w->out[0] == 'a' && w->out[2] == 'X' && w->out[3] == '\n');
    ck_assert_int_eq(count_of(w->out, "'"), 4); /* special tokens are never predicted */
    expect_text(w->out, "'a' 0.", "'b' 0.");
}

/* A token follows from the one before, so the alphabet shows that nothing was lost, whichever other
 * tokens the model still has. dynamic was trained on 8 tokens and may err beyond. */
TEST_ROWS(a_text_beyond_the_context_is_continued_with_a_message, 0, 5)
{
    static const char *const scalings[] = {
        "", "position.kind=alibi ", "model.attention=linear_elu ", "model.window=3 ",
        "position.scaling=dynamic position.original_len=8 position.scale=2 "};
    static const char greedy[] = "$TRAIN runs/tiny/config.ini --predict efgh --temperature 0";
    const bool dynamic = _i == 4;
    run("$TRAIN " LM "data.length=8 %s train.steps=200", scalings[_i]);
    expect_message(0, "", "%s --quiet --tokens 40 >out", greedy);
    expect_output("efghijkl\n", "%s --tokens 4", greedy);
    expect_no_text(w->err, "tokens");
    run("%s --tokens 5 --stop x", greedy);
    if (dynamic) {
        expect_no_text(w->err, "newest");
        return;
    }
    expect_text(w->err, "1 of 1 texts filled the context window, data.length = 8 tokens: its older "
                        "half was dropped\n");
    expect_output("efghijklmnop" ALPHABET ALPHABET "\n", "cat out");
    if (_i) /* other models may err from so few tokens */
        return;
    expect_output("abcdefghijklmnopabcdefgh\nabcd\n",
                  "printf 'abcdefghijklmnopabcdefg\\nabc\\n' | $TRAIN runs/tiny/config.ini "
                  "--predict - --tokens 1 --temperature 0");
    expect_text(w->err, "1 of 2 texts filled the context window, data.length = 8 tokens");
}

static void expect_end_at(int tokens)
{
    ck_assert_str_eq(w->err, lasting("train: warning: 1 of 1 texts ended where the model has no "
                                     "more positions, at %d tokens\n",
                                     tokens));
}

/* With xpos, 32 tokens for a scale of 1. */
TEST(a_text_ends_where_the_model_has_no_more_positions)
{
    run("$TRAIN " LM "data.length=8 position.kind=learned train.steps=100");
    run(USE "abcd --tokens 99");
    ck_assert_uint_eq(strlen(w->out), 4 + 4 + 1); /* [CLS] has a position, the last token none */
    expect_end_at(8);
    run(USE "abcdefg");
    ck_assert_uint_eq(strlen(w->out), 7 + 1 + 1);
    run("$TRAIN " LM "data.length=32 position.xpos=1 train.steps=20 --overwrite");
    run(USE "abcd --tokens 99");
    ck_assert_uint_eq(strlen(w->out), 4 + 28 + 1);
    expect_end_at(32);
}

#define BYTES                                                                                      \
    "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "             \
    "data.level=byte model.dim=32 optimizer.lr=5e-3 optimizer.schedule_steps=200 "                 \
    "train.batch_size=16 data.objective=lm model.causal=yes "

/* At level byte the tokens are parts of characters. */
TEST(output_is_always_valid_utf8)
{
    run("for i in $(seq 200); do printf '\\303\\244\\342\\202\\254'; done >text.txt");
    run("$TRAIN " BYTES "train.steps=150");
    for (int tokens = 1; tokens < 8; tokens++)
        run(USE "'' --tokens %d | iconv -f UTF-8 -t UTF-8 >/dev/null", tokens);
    run(USE "'' --tokens 400 --temperature 9 | iconv -f UTF-8 -t UTF-8 >/dev/null");
    expect_output("\xc3\xa4\n", USE "\"$(printf '\\303')\" --tokens 1 --temperature 0");
    expect_output("\xc3\xa4\xef\xbf\xbd\n",
                  USE "\"$(printf '\\303\\244\\342')\" --tokens 1 --temperature 0");
}

/* A reader that stops ends the program long before a million tokens. */
TEST(tokens_are_shown_as_they_are_chosen)
{
    run("$TRAIN " LM "train.steps=1");
    expect_output("10\n", "timeout 20 " USE "a --tokens 1000000 | head -c 10 | wc -c");
    NEEDS(!access("/dev/full", W_OK), "/dev/full");
    expect_message(1, "train: the results could not be printed\n",
                   "timeout 20 " USE "a --tokens 1000000 >/dev/full");
    expect_message(1, "train: the results could not be printed\n",
                   "$TRAIN " LANGUAGE "train.steps=1 --overwrite; yes '[MASK]' | " USE
                   "- >/dev/full");
}

TEST_ROWS(lines_of_standard_input_are_answered_one_by_one, 0, 2)
{
    static const char *const models[] = {LM, LANGUAGE};
    static const char *const options[] = {"--tokens 9 --temperature 0", ""};
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

TEST(a_line_that_cannot_be_answered_is_named_in_an_error)
{
    run("$TRAIN " LANGUAGE "train.steps=1");
    expect_message(2, "train: line 2: the text must have a [MASK] to fill\n",
                   "printf 'a[MASK]c\\nabc\\nde[MASK]\\n' | $TRAIN " LANGUAGE "--predict -");
    ck_assert_int_eq(count_of(w->out, "\n"), 2);
    expect_message(3, "train: line 1: byte 0x00 at byte 6 is not text\n",
                   "printf '[MASK]\\000b\\n' | $TRAIN " LANGUAGE "--predict -");
    expect_message(1, "train: line 1: cannot be read: Is a directory\n",
                   "$TRAIN " LANGUAGE "--predict - </");
}
