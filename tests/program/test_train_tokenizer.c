/* `train --train-tokenizer`, at both levels, and a model of texts with such a tokenizer. */

#include "train_program.h"

/* Texts of several scripts, with blanks, zero bytes and words that are as frequent as others, and
 * the file that tokenizers 0.23 trains and saves of both:
 *
 *     tokenizer = Tokenizer(models.BPE())
 *     tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
 *     tokenizer.decoder = decoders.ByteLevel()
 *     tokenizer.train(["scripts.txt", "ties.txt"], trainers.BpeTrainer(
 *         vocab_size=800, special_tokens=["<|endoftext|>"],
 *         initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
 *     tokenizer.save("tokenizer.json") */
#define TRAINED TEST_SOURCES "/fixtures/trained/"

SUITE(PROGRAM_OPTIONS)

/* Each document of JSON lines is a line. */
TEST(texts_may_be_json_lines)
{
    run("printf 'ab ab abc\\nthe the ab\\n' >a.txt; awk '{ printf \"{\\\"body\\\": "
        "\\\"%%s\\\"}\\n\", $0 "
        "}' a.txt >a.jsonl; gzip -k a.txt; for file in a.txt a.txt.gz '--field body a.jsonl'; do "
        "$TRAIN "
        "--quiet --train-tokenizer 262 $file >t.json; md5sum t.json; done | sort -u | wc -l");
    ck_assert_str_eq(w->out, "1\n");
    expect_stderr(3, "a.jsonl:1: has no field 'text'", "$TRAIN --train-tokenizer 262 a.jsonl");
    expect_stderr(2, "--field needs --train-tokenizer", "$TRAIN tiny.ini --field a");
}

TEST(a_trained_tokenizer_equals_that_of_the_library_tokenizers)
{
    expect_message(0, "",
                   "cp " TRAINED "*.txt .; $TRAIN --train-tokenizer 800 scripts.txt ties.txt");
    run("$TRAIN --train-tokenizer 800 scripts.txt ties.txt >t.json");
    expect_same_files("t.json", TRAINED "tokenizer.json");
    run("$TRAIN64 --train-tokenizer 800 ties.txt scripts.txt | cmp - t.json");
    /* two newlines would be a word if lines were not read by themselves */
    expect_output(
        "0\n",
        "for i in 1 2 3; do printf 'a\\n\\n\\nb'; done >text.txt; $TRAIN --quiet --train-tokenizer "
        "300 text.txt >t.json; grep -c '\"\xc4\x8a\xc4\x8a\"' t.json || :");
    run("printf 'a \\n' >text.txt; printf ' b' >more.txt; $TRAIN --quiet --train-tokenizer 300 "
        "text.txt more.txt >two.json; cat text.txt more.txt >one.txt; $TRAIN --quiet "
        "--train-tokenizer 300 one.txt | cmp - two.json");
}

/* tokenizers with special_tokens=["<|endoftext|>", "[MASK]"] and vocab_size=801. */
TEST(a_mask_token_has_id_1_and_moves_the_others)
{
    expect_stdout("\"<|endoftext|>\",\n\"[MASK]\",\n      \"id\": 1,\n"
                  "      \"[MASK]\": 1,\n      \"!\": 2,\n",
                  "cp " TRAINED
                  "*.txt .; $TRAIN --train-tokenizer 801 --mask scripts.txt ties.txt >mask.json; "
                  "sed -n '/\"merges\"/,$p' mask.json >merges; sed -n '/\"merges\"/,$p' " TRAINED
                  "tokenizer.json | cmp - merges; sed -n 's/^ *\"content\": //p' mask.json; grep "
                  "-E ': (1|2|800),?$' mask.json");
    run("sed '/^vocab/d' tiny.ini >masked.ini; $TRAIN masked.ini --quiet data.task=text "
        "data.file=scripts.txt data.level=bpe data.vocab_file=mask.json; $TRAIN "
        "runs/masked/config.ini --predict 'a[MASK]b'");
}

/* Each part reads its own lines, which are more than the parts. */
NIGHTLY_TEST(a_large_text_has_the_merges_of_a_small_one)
{
    run("cat " TRAINED "scripts.txt " TRAINED
        "ties.txt >text.txt; echo >>text.txt; for i in $(seq 7000); do cat text.txt; done "
        ">large.txt; $TRAIN --train-tokenizer 600 text.txt >small.json; $TRAIN --train-tokenizer "
        "600 large.txt | cmp - small.json");
}

#define WORDPIECE "$TRAIN --level wordpiece --train-tokenizer "

static void make_text(void)
{
    run("for i in $(seq 60); do echo 'Spin and round, the wheels turning; \xc3\x89t\xc3\xa9! '; "
        "done >text.txt");
}

TEST(a_vocabulary_has_as_many_lines_as_are_asked_for)
{
    make_text();
    for (int lines = 42; lines < 55; lines += 6) {
        run(WORDPIECE "%d text.txt >v.txt; wc -l <v.txt", lines);
        ck_assert_int_eq(atoi(w->out), lines);
        ck_assert_str_eq(w->err, "");
    }
    expect_output("[PAD] [UNK] [CLS] [SEP] [MASK] ", "head -5 v.txt | tr '\\n' ' '");
    /* a tokenizer of all words is smaller */
    expect_stderr(0, "train: warning: 266 tokens, not 1000: every word of the texts is a token\n",
                  "echo 'to be or not to be' >be.txt; $TRAIN --train-tokenizer 1000 be.txt");
    expect_stdout("\"merges\":[]}}", "$TRAIN --quiet --train-tokenizer 257 be.txt | tr -d '\\n '");
    ck_assert_str_eq(w->err, "");
    expect_stderr(0, "train: warning: ", WORDPIECE "1000 text.txt >v.txt");
    expect_text(w->err, " lines, not 1000: every word of the texts is a piece\n");
    expect_message(
        0, "", "$TRAIN --quiet --level wordpiece --train-tokenizer 1000 text.txt | cmp - v.txt");
    expect_output("4\n", "grep -cx 'wheels\\|turning\\|Spin\\|round' v.txt");
}

TEST(invalid_arguments_of_a_tokenizer_are_refused)
{
    expect_each_refused(
        "", {2, "$TRAIN --train-tokenizer", "option '--train-tokenizer' needs a value"},
        {2, "$TRAIN --train-tokenizer 300", "--train-tokenizer N takes text files, and no config"},
        {2, "$TRAIN tiny.ini --train-tokenizer 300", "--train-tokenizer N takes text files"},
        {2, "$TRAIN --train-tokenizer 256 tiny.ini",
         "--train-tokenizer must be a whole number from 257 to 500000; got '256'"},
        {2, "$TRAIN --train-tokenizer 500001 tiny.ini", "from 257 to 500000; got '500001'"},
        {2, "$TRAIN --train-tokenizer 257 --mask tiny.ini",
         "from 258 to 500000 with --mask; got '257'"},
        {2, "$TRAIN --mask tiny.ini", "--mask needs --train-tokenizer"},
        {2, "$TRAIN --train-tokenizer 300 --lowercase tiny.ini",
         "--lowercase needs --level wordpiece"},
        {3, "$TRAIN --train-tokenizer 300 tiny.ini none.txt",
         "none.txt: No such file or directory (--train-tokenizer)"},
        {3, "$TRAIN --train-tokenizer 300 .", ".: Is a directory (--train-tokenizer)"},
        {3, ": >.err2; $TRAIN --train-tokenizer 300 .err2",
         ".err2: --train-tokenizer needs text; the file is empty"},
        {3, "printf 'ab\\377' >.err2; $TRAIN --train-tokenizer 300 .err2",
         ".err2: a tokenizer needs UTF-8; byte 0xff at offset 2 is not"},
        {2, "$TRAIN --vocab 100 tiny.ini",
         "--vocab N is now called --train-tokenizer N --level wordpiece"},
        {2, WORDPIECE "0 tiny.ini",
         "--train-tokenizer must be a whole number from 257 to 500000 or, with --level wordpiece, "
         "from 1 to 1000000; got '0'"},
        {2, WORDPIECE "x tiny.ini", "from 1 to 1000000; got 'x'"},
        {2, WORDPIECE "1000001 tiny.ini", "from 1 to 1000000; got '1000001'"},
        {2, WORDPIECE "100 --eval tiny.ini", "--eval cannot be combined with another command"},
        {2, "$TRAIN --report x --train-tokenizer 100",
         "--train-tokenizer cannot be combined with another command"},
        {2, WORDPIECE "100 --resume tiny.ini", "--resume goes with training only"},
        {2, WORDPIECE "100 --mask tiny.ini", "--mask needs --level bpe"},
        {2, "$TRAIN --level words --train-tokenizer 300 tiny.ini",
         "--level must be bpe or wordpiece; got 'words'"},
        {2, "$TRAIN --level bpe tiny.ini", "--level needs --train-tokenizer"},
        {2, "$TRAIN --lowercase tiny.ini",
         "--lowercase needs --train-tokenizer; in a configuration, set data.lowercase"},
        {3, WORDPIECE "100 data.lowercase=yes", "data.lowercase=yes: No such file or directory"},
        {2, "echo abc >.err2; " WORDPIECE "6 .err2",
         "--train-tokenizer 6 is too few: a vocabulary of these texts needs at least "},
        {2, "$TRAIN tiny.ini data.task=text data.vocab=32 data.file=tiny.ini data.level=wordpiece",
         "data.vocab_file must name a vocab.txt for data.level = wordpiece; train "
         "--train-tokenizer N --level wordpiece makes one"});
}
