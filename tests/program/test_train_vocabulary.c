/* A model of text reads any text with its own vocabulary: characters, WordPiece, byte-level BPE. */

#include "train_program.h"

/* Two texts: the second has letters that the first lacks, and lacks some that it has. */
static void make_texts(void)
{
    run("for i in $(seq 20); do echo 'around and around it goes'; done >first.txt");
    run("for i in $(seq 20); do echo 'the wheel goes on'; done >second.txt");
}

#define TEXT   "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 model.dropout=0.1 "
#define FIRST  TEXT "data.file=first.txt "
#define SECOND TEXT "data.file=second.txt "
#define CHAR   "data.level=char "

static const char newest[] = "runs/tiny/checkpoints/step-00000060.h5";

SUITE(PROGRAM_OPTIONS, .prepare = make_texts)

TEST_ROWS(a_model_is_evaluated_and_trained_further_on_another_text, 0, 2)
{
    static const char *const levels[] = {"", CHAR};
    const char *command = lasting("%s run.name=more train.init_from=%s", levels[_i], newest);
    run("$TRAIN " FIRST "%s", levels[_i]);
    expect_stdout("eval: loss ", "$TRAIN " SECOND "%s --eval", levels[_i]);
    if (!_i)
        expect_no_text(w->err, "[UNK]");
    else /* h, w, h and l in each line */
        expect_text(w->err, "train: warning: characters of data.file that are not in the "
                            "vocabulary and are read as [UNK]: 80, the first is 'h' at byte 1\n");
    run("$TRAIN " SECOND "%s train.steps=10", command);
    expect_same_files("runs/tiny/vocab.txt", "runs/more/vocab.txt");
    run("$TRAIN " SECOND "%s --check && rm -r runs/tiny && $TRAIN " SECOND "%s --resume", command,
        command);
    expect_no_stderr("[UNK]", "$TRAIN " FIRST "%s --eval", command);
}

TEST(the_task_and_the_level_must_be_those_of_the_model)
{
#define FROM(name) "run.name=more train.init_from=runs/" name "/checkpoints/step-00000060.h5"
    run("$TRAIN " FIRST CHAR);
    expect_each_refused(
        "$TRAIN " FIRST "data.level=byte",
        {2, "--eval",
         "command line: data.level = byte cannot be changed here: the trained model has char\n"},
        {2, FROM("tiny"), "  data.level = byte (command line); the model has char\n"},
        {2, FROM("tiny") " --check", "  data.level = byte (command line); the model has char\n"});
    run("$TRAIN " FIRST "--overwrite && $TRAIN tiny.ini --quiet data.vocab=260 run.name=copy");
    expect_each_refused(
        "$TRAIN",
        {4, "tiny.ini data.vocab=260 " FROM("tiny") " --check", "the model was trained on text"},
        {4, "tiny.ini data.vocab=260 " FROM("tiny"),
         "step-00000060.h5: the model was trained on text, data.task = copy\n"},
        {4, FIRST FROM("copy"),
         "step-00000060.h5: the model was trained without a vocabulary of text, data.task = "
         "text\n"});
    ck_assert(!exists("runs/more"));
}

/* The lines of a vocabulary are in data/tokenizers/test_vocabulary.c. */
TEST(only_a_run_on_text_has_a_vocabulary_in_its_folder)
{
    expect_output("260\n", "$TRAIN " FIRST ">out; wc -l <runs/tiny/vocab.txt");
    run(TINY "--overwrite train.steps=1");
    ck_assert(!exists("runs/tiny/vocab.txt"));
}

TEST(resuming_with_an_edited_vocabulary_is_a_warning)
{
    static const char *const edits[] = {"", "sed -i 's/^u$/q/' v.txt; ", "echo xx >>v.txt; "};
    run("$TRAIN " FIRST CHAR "train.steps=1 && tac runs/tiny/vocab.txt | sed '/^.PAD/d; /^.CLS/d; "
        "/^.MASK/d; /^.SEP/d; /^.UNK/d' >letters && head -n 5 "
        "runs/tiny/vocab.txt | cat - letters >v.txt && $TRAIN " FIRST CHAR
        "data.vocab_file=v.txt train.steps=7 --overwrite && cp -r runs before");
    for (int i = 0; i < ROWS(edits); i++) {
        run("rm -r runs; cp -r before runs; %s$TRAIN " FIRST CHAR
            "data.vocab_file=v.txt train.steps=20 --resume",
            edits[i]);
        if (i)
            expect_text(w->err, "v.txt has changed since the run began; the run goes on with the "
                                "vocabulary of its checkpoint\n");
        else
            expect_no_text(w->err, "warning");
    }
}

#define FIXTURES TEST_SOURCES "/fixtures/bpe"

/* Every word follows from the one before; some characters have several bytes. */
#define SENTENCE "Spin and round, the wheels turning; \xc3\x89t\xc3\xa9"

/* The text, and v.txt, a vocabulary of all its words, in lower case. */
static void make_words(void)
{
    expect_message(0, "",
                   "for i in $(seq 60); do echo '" SENTENCE
                   "! '; done >text.txt; $TRAIN --level wordpiece --train-tokenizer 1000 "
                   "--lowercase --quiet text.txt >v.txt");
}

/* The text, with characters of three bytes, and v.json, a tokenizer of that kind. */
static void make_pieces(const char *kind)
{
    run("for i in $(seq 60); do echo '" SENTENCE
        " \xe4\xb8\x96\xe7\x95\x8c! '; done >text.txt; cp " FIXTURES
        "/%s/tokenizer.json v.json; chmod u+w v.json",
        kind);
}

/* At this learning rate predicted words have p >= 0.9 whatever the rounding; at 5e-3 last bits
 * decide. */
#define OF_TEXT                                                                                    \
    "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "             \
    "optimizer.schedule_steps=600 train.batch_size=16 model.dim=32 "
#define AS_LM  "data.objective=lm model.causal=yes "
#define WORDS  OF_TEXT "optimizer.lr=2e-3 data.level=wordpiece "
#define LOWER  WORDS "data.vocab_file=v.txt data.lowercase=yes "
#define PIECES OF_TEXT "optimizer.lr=5e-3 data.level=bpe "
#define BPE    PIECES "data.vocab_file=v.json "

TEST(a_model_of_words_fills_masks)
{
    make_words();
    run("$TRAIN " LOWER "train.steps=600 data.mask_probability=0.3");
    expect_same_files("v.txt", "runs/tiny/vocab.txt");
    run("$TRAIN --quiet --checkpoint runs/tiny --predict 'SPIN [MASK] round[MASK] the wheels'");
    ck_assert_msg(!strncmp(w->out, "SPIN and round, the wheels\nmask 1: 'and' ", 41), "%s", w->out);
    ck_assert_ptr_nonnull(strstr(w->out, "\nmask 2: ',' "));
    ck_assert_str_eq(w->err, "");
}

TEST(a_causal_model_of_words_continues_a_text)
{
    make_words();
    run("$TRAIN " LOWER AS_LM "train.steps=200");
    expect_output("Spin and round , the\n",
                  "$TRAIN " LOWER AS_LM "--predict 'Spin and' --tokens 3 --temperature 0");
    run("$TRAIN " LOWER AS_LM "--predict '' --tokens 3 --temperature 0"); /* no blank is first */
    ck_assert_msg(*w->out != ' ' && count_of(w->out, " ") == 2, "%s", w->out);
    expect_stderr(
        0,
        "warning: words of the text that are not in the vocabulary and are read as [UNK]: "
        "1, the first is 'zebra' at byte 4\n",
        "$TRAIN " LOWER AS_LM "--predict 'the zebra' --tokens 1 --temperature 0");
    /* a cased model reads no lower case */
    expect_stderr(0, "read as [UNK]: 120, the first is 'Spin' at byte 0\n",
                  "$TRAIN " WORDS "data.vocab_file=v.txt train.steps=60 --overwrite");
    expect_stderr(2, "  data.lowercase = yes (command line); the model has no\n",
                  "$TRAIN " LOWER "run.name=more train.init_from=%s", newest);
    expect_stderr(2, "data.lowercase: the run has 'no', now it is 'yes'",
                  "$TRAIN " LOWER "--resume");
}

TEST_ROWS(a_run_keeps_its_words_or_pieces, 0, 2)
{
    static const struct {
        const char *keys, *vocabulary, *source, *unit;
    } rows[] = {{LOWER, "vocab.txt", "v.txt", "word piece"},
                {BPE AS_LM, "tokenizer.json", "v.json", "piece"}};
    const char *keys = rows[_i].keys, *name = rows[_i].vocabulary;
    if (_i)
        make_pieces("llama3");
    else
        make_words();
    run("$TRAIN %s train.steps=60", keys);
    run("cp %s other; echo >>other", rows[_i].source);
    expect_stderr(2, "data.vocab_file: the run has ", "$TRAIN %s --resume data.vocab_file=other",
                  _i ? PIECES AS_LM : WORDS "data.lowercase=yes ");
    run("$TRAIN %s --resume data.vocab_file=runs/tiny/%s",
        _i ? PIECES AS_LM : WORDS "data.lowercase=yes ", name);
    run("$TRAIN %s run.name=parts train.steps=20", keys);
    run("rm %s runs/parts/%s", rows[_i].source, name);
    run("$TRAIN %s run.name=parts --resume", keys);
    expect_same_in("tiny", "parts", lasting("metrics.csv %s", name));
    run("$TRAIN --report runs/tiny; grep -c 'bits per %s' runs/tiny/report.html", rows[_i].unit);
    run("$TRAIN %s run.name=more train.steps=20 train.init_from=%s", _i ? PIECES AS_LM : WORDS,
        newest);
    expect_same_in("tiny", "more", name);
    for (int check = 0; _i && check < 2; check++) {
        expect_stderr(2, "o.json is not the vocabulary that the model was trained with",
                      "cp " FIXTURES "/gpt2/tokenizer.json o.json; $TRAIN " PIECES AS_LM
                      "data.vocab_file=o.json run.name=other train.init_from=%s %s",
                      newest, check ? "--check" : "");
        ck_assert(!exists("runs/other"));
    }
    if (!_i)
        expect_stderr(0,
                      "words of data.file that are not in the vocabulary and are read as [UNK]: 1, "
                      "the first is 'of' at byte 11\n",
                      "echo 'The Wheels of Spin turning' >text.txt; $TRAIN --quiet --checkpoint "
                      "runs/more --eval data.eval_fraction=0 data.length=4 data.file=text.txt");
}

/* The piece begins with a blank, which is left out where the text has its own. Samples are UTF-8.
 */
TEST(a_model_with_a_mask_fills_it)
{
    static const char filled[] = "the the the the the\n";
    double first, second;
    make_pieces("space");
    run("$TRAIN " BPE "train.steps=100 data.mask_probability=0.3 run.name=samples && $TRAIN "
        "--report runs/samples; iconv -f UTF-8 -t UTF-16 runs/samples/report.html "
        ">utf16; grep -c Samples runs/samples/report.html");
    run("yes the | head -3000 | tr '\\n' ' ' >text.txt; $TRAIN " BPE
        "train.steps=40 data.mask_probability=0.3");
    run("$TRAIN --quiet --checkpoint runs/tiny --predict 'the[MASK] the [MASK] the' | sed \"s/, "
        "'.*//\"");
    const char *rest = w->out + strlen(filled);
    ck_assert_msg(!strncmp(w->out, filled, strlen(filled)) &&
                      sscanf(rest, "mask 1: ' the' %lf\nmask 2: ' the' %lf\n", &first, &second) ==
                          2,
                  "%s", w->out);
    ck_assert_double_ge(first, 0.9);
    ck_assert_double_ge(second, 0.9);
}

TEST(bytes_without_a_piece_are_left_out_with_a_warning)
{
    make_pieces("missing");
    expect_stderr(0,
                  "warning: bytes of data.file that are not in the vocabulary and are left out: ",
                  "echo '\xf3\xa0\x80\x81' >>text.txt; $TRAIN " BPE AS_LM "train.steps=1");
}
