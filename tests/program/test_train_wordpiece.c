/* `train --train-tokenizer N --level wordpiece`, and models of texts with a WordPiece vocabulary.
 */

#include "train_program.h"

#define WORDPIECE "$TRAIN --level wordpiece --train-tokenizer "

/* A text of which every word follows from the one before. */
#define WORDS "Spin and round, the wheels turning; \xc3\x89t\xc3\xa9! "

static void make_text(void)
{
    expect_exit(w, 0, "for i in $(seq 60); do echo '" WORDS "'; done >text.txt");
}

static void make_vocabulary(void)
{
    make_text();
    expect_exit(
        w, 0,
        "$TRAIN --level wordpiece --train-tokenizer 1000 --lowercase --quiet text.txt >v.txt");
    ck_assert_str_eq(w->err, "");
}

/* At this rate a word that is predicted has a probability of 0.9 and more, whatever was rounded on
 * the way; at 5e-3 the last bits decide. */
#define TEXT                                                                                       \
    "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "             \
    "data.level=wordpiece "                                                                        \
    "optimizer.lr=2e-3 optimizer.schedule_steps=600 train.batch_size=16 model.dim=32 "
#define LOWER TEXT "data.vocab_file=v.txt data.lowercase=yes "
#define LM    LOWER "data.objective=lm model.causal=yes "

static const char newest[] = "runs/tiny/checkpoints/step-00000060.h5";

/* ---- vocabularies ---- */

SUITE(PROGRAM_OPTIONS)

TEST(a_vocabulary_has_as_many_lines_as_are_asked_for)
{
    make_text();
    for (int lines = 42; lines < 55; lines += 6) {
        expect_exit(w, 0,
                    "$TRAIN --level wordpiece --train-tokenizer %d text.txt >v.txt; wc -l <v.txt",
                    lines);
        ck_assert_int_eq(atoi(w->out), lines);
        ck_assert_str_eq(w->err, "");
        expect_exit(
            w, 0, "$TRAIN64 --level wordpiece --train-tokenizer %d text.txt text.txt | cmp - v.txt",
            lines);
    }
    expect_exit(w, 0, "head -5 v.txt | tr '\\n' ' '");
    ck_assert_str_eq(w->out, "[PAD] [UNK] [CLS] [SEP] [MASK] ");
}

TEST(a_vocabulary_of_all_words_is_shorter)
{
    make_text();
    expect_exit(w, 0, "$TRAIN --level wordpiece --train-tokenizer 1000 text.txt >v.txt");
    expect_text(w->err, "train: warning: ");
    expect_text(w->err, " lines, not 1000: every word of the texts is a piece\n");
    expect_exit(w, 0,
                "$TRAIN --quiet --level wordpiece --train-tokenizer 1000 text.txt | cmp - v.txt");
    ck_assert_str_eq(w->err, "");
    expect_exit(w, 0, "grep -cx 'wheels\\|turning\\|Spin\\|round' v.txt");
    ck_assert_str_eq(w->out, "4\n");
}

typedef struct refusal {
    int code;
    const char *command, *says;
} refusal;

static const refusal refusals[] = {
    {2, "$TRAIN --vocab 100 tiny.ini",
     "--vocab N is now called --train-tokenizer N --level wordpiece"},
    {2, WORDPIECE "0 tiny.ini",
     "--train-tokenizer must be a whole number from 1 to 1000000; got '0'"},
    {2, WORDPIECE "x tiny.ini", "from 1 to 1000000; got 'x'"},
    {2, WORDPIECE "1000001 tiny.ini", "from 1 to 1000000; got '1000001'"},
    {2, WORDPIECE "20 tiny.ini", "a vocabulary of these texts needs at least "},
    {2, WORDPIECE "100 --eval tiny.ini", "--eval cannot be combined with another command"},
    {2, "$TRAIN --report x --train-tokenizer 100",
     "--train-tokenizer cannot be combined with another command"},
    {2, WORDPIECE "100 --resume tiny.ini", "--resume goes with training only"},
    {2, WORDPIECE "100 --output x tiny.ini", "--output needs --embed or --report"},
    {2, WORDPIECE "100 --mask tiny.ini", "--mask needs --level bpe"},
    {2, "$TRAIN --level words --train-tokenizer 300 tiny.ini",
     "--level must be bpe or wordpiece; got 'words'"},
    {2, "$TRAIN --level bpe tiny.ini", "--level needs --train-tokenizer"},
    {2, "$TRAIN --lowercase tiny.ini",
     "--lowercase needs --train-tokenizer; in a configuration, set data.lowercase"},
    {3, WORDPIECE "100 tiny.ini none.txt",
     "none.txt: No such file or directory (--train-tokenizer)"},
    {3, WORDPIECE "100 data.lowercase=yes", "data.lowercase=yes: No such file or directory"},
    {3, WORDPIECE "100 .", ".: Is a directory (--train-tokenizer)"},
    {2, "echo abc >.err2; $TRAIN --level wordpiece --train-tokenizer 6 .err2",
     "--train-tokenizer 6 is too few: a vocabulary of these texts needs at least "},
    {3, ": >.err2; $TRAIN --level wordpiece --train-tokenizer 100 .err2",
     ".err2: --train-tokenizer needs text; the file is empty"},
    {3, "printf 'ab\\377' >.err2; $TRAIN --level wordpiece --train-tokenizer 100 .err2",
     ".err2: a vocabulary needs UTF-8; byte 0xff at offset 2 is not"},
    {3, "echo >.err2; $TRAIN --level wordpiece --train-tokenizer 100 .err2",
     "the texts have no word of up to 100 characters to build a vocabulary from"},
    {2, "$TRAIN tiny.ini data.task=text data.vocab=32 data.file=tiny.ini data.level=wordpiece",
     "data.vocab_file must name a vocab.txt for data.level = wordpiece; train --train-tokenizer N "
     "--level wordpiece makes one"},
    {2,
     "$TRAIN tiny.ini data.task=text data.vocab=32 data.file=tiny.ini data.lowercase=yes --check",
     "data.lowercase = yes has no effect: it needs data.task = text, classify or tag and "
     "data.level "
     "= wordpiece"},
    {3,
     WORDPIECE "80 tiny.ini | tail -n +2 >.err2; $TRAIN tiny.ini data.task=text data.vocab=32 "
               "data.file=tiny.ini data.level=wordpiece data.vocab_file=.err2",
     ".err2: has no line [PAD]"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

TEST_ROWS(what_makes_no_vocabulary_is_refused, 0, REFUSALS)
{
    expect_exit(w, refusals[_i].code, "%s", refusals[_i].command);
    expect_text(w->err, refusals[_i].says);
    ck_assert_str_eq(w->out, "");
}

TEST(a_vocabulary_that_cannot_be_printed_is_a_failure)
{
    make_text();
    expect_exit(w, 1, "$TRAIN --level wordpiece --train-tokenizer 60 text.txt >/dev/full");
    expect_text(w->err, "the results could not be printed");
}

/* ---- training ---- */

TEST(a_model_of_words_fills_masks)
{
    make_vocabulary();
    expect_exit(w, 0,
                "$TRAIN " LOWER "train.steps=600 "
                "data.mask_probability=0.3");
    expect_same_files("v.txt", "runs/tiny/vocab.txt");
    expect_exit(
        w, 0,
        "$TRAIN --quiet --checkpoint runs/tiny --predict 'SPIN [MASK] round[MASK] the wheels'");
    ck_assert_msg(!strncmp(w->out, "SPIN and round, the wheels\nmask 1: 'and' ", 41), "%s", w->out);
    ck_assert_ptr_nonnull(strstr(w->out, "\nmask 2: ',' "));
    ck_assert_str_eq(w->err, "");
}

TEST(a_causal_model_of_words_continues_a_text)
{
    make_vocabulary();
    expect_exit(w, 0, "$TRAIN " LM "train.steps=200");
    expect_exit(w, 0, "$TRAIN " LM "--predict 'Spin and' --tokens 3 --temperature 0");
    ck_assert_str_eq(w->out, "Spin and round , the\n");
    expect_exit(w, 0, "$TRAIN " LM "--predict 'the zebra' --tokens 1 --temperature 0");
    expect_text(w->err, "warning: words of the text that are not in the vocabulary and are read as "
                        "[UNK]: 1, the first is 'zebra' at byte 4\n");
}

TEST(a_run_keeps_its_words)
{
    make_vocabulary();
    expect_exit(w, 0, "$TRAIN " LOWER "train.steps=60");
    expect_exit(w, 0, "$TRAIN " LOWER "run.name=parts train.steps=20");
    expect_exit(w, 0, "rm v.txt runs/parts/vocab.txt");
    expect_exit(w, 0, "$TRAIN " LOWER "run.name=parts --resume");
    expect_same_files("runs/tiny/metrics.csv", "runs/parts/metrics.csv");
    expect_same_files("runs/tiny/vocab.txt", "runs/parts/vocab.txt");
    expect_exit(w, 0,
                "$TRAIN --report runs/tiny; grep -c 'bits per word piece' "
                "runs/tiny/report.html");
    expect_exit(w, 0, "$TRAIN " TEXT "run.name=more train.steps=20 train.init_from=%s", newest);
    expect_same_files("runs/tiny/vocab.txt", "runs/more/vocab.txt");
    expect_exit(w, 0, "echo 'The Wheels of Spin turning' >text.txt");
    expect_exit(w, 0,
                "$TRAIN --quiet --checkpoint runs/more --eval data.eval_fraction=0 "
                "data.length=4 data.file=text.txt");
    expect_text(w->err, "words of data.file that are not in the vocabulary and are read as [UNK]: "
                        "1, the first is 'of' at byte 11\n");
}

TEST(a_cased_model_reads_no_lower_case)
{
    make_vocabulary();
    expect_exit(w, 0, "$TRAIN " TEXT "data.vocab_file=v.txt train.steps=60");
    expect_text(w->err, "read as [UNK]: 120, the first is 'Spin' at byte 0\n");
    expect_exit(w, 2, "$TRAIN " LOWER "run.name=more train.init_from=%s", newest);
    expect_text(w->err, "  data.lowercase = yes (command line); the model has no\n");
    expect_exit(w, 2, "$TRAIN " LOWER "--resume");
    expect_text(w->err, "data.lowercase: the run has 'no', now it is 'yes'");
}
