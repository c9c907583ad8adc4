/* `train --train-tokenizer`, and a model of texts with such a tokenizer. */

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

TEST(the_file_is_that_of_tokenizers)
{
    expect_exit(w, 0, "cp " TRAINED "*.txt .; $TRAIN --train-tokenizer 800 scripts.txt ties.txt");
    ck_assert_str_eq(w->err, "");
    expect_exit(w, 0, "$TRAIN --train-tokenizer 800 scripts.txt ties.txt >t.json");
    expect_same_files("t.json", TRAINED "tokenizer.json");
    expect_exit(w, 0, "$TRAIN64 --train-tokenizer 800 ties.txt scripts.txt | cmp - t.json");
}

/* tokenizers with special_tokens=["<|endoftext|>", "[MASK]"] and vocab_size=801. */
TEST(a_mask_token_has_id_1_and_moves_the_others)
{
    expect_exit(w, 0,
                "cp " TRAINED "*.txt .; "
                "$TRAIN --train-tokenizer 801 --mask scripts.txt ties.txt >mask.json; "
                "sed -n '/\"merges\"/,$p' mask.json >merges; "
                "sed -n '/\"merges\"/,$p' " TRAINED "tokenizer.json | cmp - merges; "
                "sed -n 's/^ *\"content\": //p' mask.json; "
                "grep -E ': (1|2|800),?$' mask.json");
    expect_text(w->out, "\"<|endoftext|>\",\n\"[MASK]\",\n      \"id\": 1,\n"
                        "      \"[MASK]\": 1,\n      \"!\": 2,\n");
    expect_exit(w, 0,
                "sed '/^vocab/d' tiny.ini >masked.ini; $TRAIN masked.ini --quiet data.task=text "
                "data.file=scripts.txt data.level=bpe "
                "data.vocab_file=mask.json; "
                "$TRAIN runs/masked/config.ini --predict 'a[MASK]b'");
}

TEST(lines_are_read_by_themselves)
{
    /* In one line with what follows, two newlines would be a word. */
    expect_exit(w, 0,
                "for i in 1 2 3; do printf 'a\\n\\n\\nb'; done >text.txt; "
                "$TRAIN --quiet --train-tokenizer 300 text.txt >t.json; "
                "grep -c '\"\xc4\x8a\xc4\x8a\"' t.json || :");
    ck_assert_str_eq(w->out, "0\n");
    expect_exit(w, 0,
                "printf 'a \\n' >text.txt; printf ' b' >more.txt; "
                "$TRAIN --quiet --train-tokenizer 300 text.txt more.txt >two.json; "
                "cat text.txt more.txt >one.txt; "
                "$TRAIN --quiet --train-tokenizer 300 one.txt | cmp - two.json");
}

/* Each part reads lines of its own: there are more of them than parts. */
NIGHTLY_TEST(a_large_text_has_the_merges_of_a_small_one)
{
    expect_exit(w, 0,
                "cat " TRAINED "scripts.txt " TRAINED "ties.txt >text.txt; echo >>text.txt; "
                "for i in $(seq 7000); do cat text.txt; done >large.txt; "
                "$TRAIN --train-tokenizer 600 text.txt >small.json; "
                "$TRAIN --train-tokenizer 600 large.txt | cmp - small.json");
}

TEST(a_tokenizer_of_all_words_is_smaller)
{
    expect_exit(w, 0,
                "echo 'to be or not to be' >text.txt; $TRAIN --train-tokenizer 1000 text.txt");
    expect_text(w->err,
                "train: warning: 266 tokens, not 1000: every word of the texts is a token\n");
    expect_exit(w, 0, "$TRAIN --quiet --train-tokenizer 257 text.txt | tr -d '\\n '");
    expect_text(w->out, "\"merges\":[]}}");
    ck_assert_str_eq(w->err, "");
}

typedef struct refusal {
    int code;
    const char *command, *says;
} refusal;

static const refusal refusals[] = {
    {2, "$TRAIN --train-tokenizer", "option '--train-tokenizer' needs a value"},
    {2, "$TRAIN --train-tokenizer 300", "--train-tokenizer N takes text files, and no config"},
    {2, "$TRAIN tiny.ini --train-tokenizer 300", "--train-tokenizer N takes text files"},
    {2, "$TRAIN --train-tokenizer 256 tiny.ini",
     "--train-tokenizer must be a whole number from 257 to 500000; got '256'"},
    {2, "$TRAIN --train-tokenizer 500001 tiny.ini", "from 257 to 500000; got '500001'"},
    {2, "$TRAIN --train-tokenizer 257 --mask tiny.ini",
     "from 258 to 500000 with --mask; got '257'"},
    {2, "$TRAIN --mask tiny.ini", "--mask needs --train-tokenizer"},
    {2, "$TRAIN --train-tokenizer 300 --lowercase tiny.ini", "--lowercase needs --level wordpiece"},
    {3, "$TRAIN --train-tokenizer 300 tiny.ini none.txt",
     "none.txt: No such file or directory (--train-tokenizer)"},
    {3, "$TRAIN --train-tokenizer 300 .", ".: Is a directory (--train-tokenizer)"},
    {3, ": >.err2; $TRAIN --train-tokenizer 300 .err2",
     ".err2: --train-tokenizer needs text; the file is empty"},
    {3, "printf 'ab\\377' >.err2; $TRAIN --train-tokenizer 300 .err2",
     ".err2: a tokenizer needs UTF-8; byte 0xff at offset 2 is not"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

TEST_ROWS(what_makes_no_tokenizer_is_refused, 0, REFUSALS)
{
    expect_exit(w, refusals[_i].code, "%s", refusals[_i].command);
    expect_text(w->err, refusals[_i].says);
    ck_assert_str_eq(w->out, "");
}

TEST(a_tokenizer_that_cannot_be_printed_is_a_failure)
{
    expect_exit(w, 1, "$TRAIN --train-tokenizer 300 tiny.ini >/dev/full");
    expect_text(w->err, "the results could not be printed");
}

TEST(a_decoder_learns_a_text_by_its_own_tokens)
{
    expect_exit(w, 0,
                "for i in $(seq 40); do echo 'The wheels turn round and round.'; done >text.txt; "
                "$TRAIN --quiet --train-tokenizer 290 text.txt >t.json");
    expect_exit(
        w, 0,
        "$TRAIN tiny.ini --quiet model.kind=decoder theta.learn=no data.task=text "
        "data.vocab=32 data.file=text.txt data.level=bpe data.vocab_file=t.json train.steps=10");
    expect_same_files("t.json", "runs/tiny/tokenizer.json");
    expect_exit(w, 0,
                "$TRAIN --checkpoint runs/tiny --predict 'The wheels' --tokens 3 "
                "--temperature 0 --jsonl --quiet");
    expect_text(w->out, "{\"text\": \"The wheels\"");
}
