/* A model of text keeps its vocabulary: whatever text it meets is read with it. */

#include "train_program.h"

/* Two texts: the second has letters that the first lacks, and lacks some that it has. */
static void make_texts(void)
{
    expect_exit(w, 0, "for i in $(seq 20); do echo 'around and around it goes'; done >first.txt");
    expect_exit(w, 0, "for i in $(seq 20); do echo 'the wheel goes on'; done >second.txt");
}

#define TEXT   "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 model.dropout=0.1 "
#define FIRST  TEXT "data.file=first.txt "
#define SECOND TEXT "data.file=second.txt "
#define CHAR   "data.level=char "

static const char newest[] = "runs/tiny/checkpoints/step-00000060.h5";

/* ---- another text ---- */

SUITE(PROGRAM_OPTIONS)

TEST_ROWS(a_model_is_evaluated_on_another_text, 0, 2)
{
    static const char *const levels[] = {"", CHAR};
    make_texts();
    expect_exit(w, 0, "$TRAIN " FIRST "%s", levels[_i]);
    expect_exit(w, 0, "$TRAIN " SECOND "%s --eval", levels[_i]);
    expect_text(w->out, "eval: loss ");
    if (!_i)
        expect_no_text(w->err, "[UNK]");
    else /* h, w, h and l in each line */
        expect_text(w->err,
                    "train: warning: characters of data.file that are not in the vocabulary "
                    "and are read as [UNK]: 80, the first is 'h' at byte 1\n");
}

TEST_ROWS(a_run_starts_from_a_model_of_another_text, 0, 2)
{
    static const char *const levels[] = {"", CHAR};
    char command[256];
    snprintf(command, sizeof command, "%s run.name=more train.init_from=%s", levels[_i], newest);
    make_texts();
    expect_exit(w, 0, "$TRAIN " FIRST "%s", levels[_i]);
    expect_exit(w, 0, "$TRAIN " SECOND "%s train.steps=10", command);
    expect_same_files("runs/tiny/vocab.txt", "runs/more/vocab.txt");
    expect_exit(w, 0, "$TRAIN " SECOND "%s --check", command);
    expect_exit(w, 0, "rm -r runs/tiny");
    expect_exit(w, 0, "$TRAIN " SECOND "%s --resume", command);
    expect_exit(w, 0, "$TRAIN " FIRST "%s --eval", command);
    expect_no_text(w->err, "[UNK]");
}

TEST(the_level_must_be_that_of_the_model)
{
    make_texts();
    expect_exit(w, 0, "$TRAIN " FIRST CHAR);
    expect_exit(w, 2, "$TRAIN " FIRST "data.level=byte --eval");
    expect_text(w->err,
                "command line: data.level = byte cannot be changed here: the trained model has "
                "char\n");
    expect_exit(w, 2, "$TRAIN " FIRST "data.level=byte run.name=more train.init_from=%s", newest);
    expect_text(w->err, "  data.level = byte (command line); the model has char\n");
    expect_exit(w, 2, "$TRAIN " FIRST "data.level=byte run.name=more train.init_from=%s --check",
                newest);
    ck_assert(!exists("runs/more"));
}

TEST(a_model_of_text_is_no_model_of_anything_else)
{
    make_texts();
    expect_exit(w, 0, "$TRAIN " FIRST);
    expect_exit(w, 4, "$TRAIN tiny.ini data.vocab=260 run.name=more train.init_from=%s --check",
                newest);
    expect_exit(w, 4, "$TRAIN tiny.ini data.vocab=260 run.name=more train.init_from=%s", newest);
    expect_text(w->err, "step-00000060.h5: the model was trained on text, data.task = copy\n");
    expect_exit(w, 0, "$TRAIN tiny.ini --overwrite --quiet data.vocab=260");
    expect_exit(w, 4, "$TRAIN " FIRST "run.name=more train.init_from=%s", newest);
    expect_text(w->err, "step-00000060.h5: the model was trained without a vocabulary of text, "
                        "data.task = text\n");
}

/* ---- vocab.txt ---- */

TEST(the_vocabulary_lies_in_the_folder_of_the_run)
{
    make_texts();
    expect_exit(w, 0, "$TRAIN " FIRST CHAR);
    expect_exit(w, 0,
                "printf '%%s\\n' '[PAD]' '[CLS]' '[MASK]' '[SEP]' '[UNK]' '\\n' ' ' a d e g "
                "i n o r s t u | cmp - runs/tiny/vocab.txt");
    expect_exit(w, 0, "$TRAIN " FIRST "--overwrite");
    expect_exit(w, 0, "wc -l <runs/tiny/vocab.txt; sed -n '5p;260p' runs/tiny/vocab.txt");
    ck_assert_str_eq(w->out, "260\n0x00\n0xff\n");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet --overwrite train.steps=1");
    ck_assert(!exists("runs/tiny/vocab.txt"));
}

/* In another order than that of the text: other ids, and so another training. */
static void make_vocabulary(void)
{
    make_texts();
    expect_exit(w, 0,
                "mkdir sub; sed 's/^file =.*//' tiny.ini >sub/text.ini; printf "
                "'[data]\\ntask = text\\nlevel = char\\nfile = ../first.txt\\n"
                "vocab_file = ./v.txt\\n[train]\\nsteps = 20\\n' >sub/text.ini");
    expect_exit(w, 0,
                "printf '%%s\\n' '[PAD]' '[CLS]' '[MASK]' '[SEP]' '[UNK]' z u t s r o n i g "
                "e d a ' ' '\\n' >sub/v.txt");
}

#define WITH_FILE                                                                                  \
    "sub/text.ini --quiet model.dim=16 model.heads=2 data.length=12 train.batch_size=8 "           \
    "optimizer.schedule_steps=20 train.eval_every=10 "

TEST(a_vocabulary_is_taken_from_a_file_beside_the_configuration)
{
    make_vocabulary();
    expect_exit(w, 0, "$TRAIN " WITH_FILE);
    expect_exit(w, 0, "cmp sub/v.txt runs/text/vocab.txt");
    expect_exit(w, 2, "$TRAIN " WITH_FILE "--resume data.vocab_file=runs/text/vocab.txt");
    expect_text(w->err, "data.vocab_file: the run has ");
    expect_exit(w, 0, "echo xx >>sub/v.txt");
    expect_exit(w, 3, "$TRAIN " WITH_FILE "--check");
    expect_text(w->err, "sub/v.txt:20: holds 2 characters; at level char a line holds one\n");
}

TEST(a_run_goes_on_with_the_vocabulary_of_its_checkpoint)
{
    NEEDS_PROGRAM("gnuplot");
    make_vocabulary();
    expect_exit(w, 0, "$TRAIN " WITH_FILE);
    expect_exit(w, 0, "$TRAIN " WITH_FILE "run.name=parts train.steps=7");
    expect_exit(w, 0, "rm sub/v.txt runs/parts/vocab.txt");
    expect_exit(w, 0, "$TRAIN " WITH_FILE "run.name=parts --resume");
    expect_same_files("runs/text/metrics.csv", "runs/parts/metrics.csv");
    expect_same_files("runs/text/vocab.txt", "runs/parts/vocab.txt");
    expect_no_text(w->err, "warning");
    expect_exit(w, 0, "$TRAIN " WITH_FILE "--eval");
    expect_exit(w, 0, "$TRAIN --report runs/text");
    expect_exit(w, 3, "$TRAIN " WITH_FILE "run.name=new");
    expect_text(w->err, "sub/v.txt: No such file or directory (data.vocab_file)");
}

TEST_ROWS(a_vocabulary_that_was_edited_is_told_to_a_run_that_goes_on, 0, 3)
{
    static const char *const edits[] = {"", "sed -i 's/^z$/q/' sub/v.txt; ",
                                        "echo xx >>sub/v.txt; "};
    make_vocabulary();
    expect_exit(w, 0, "$TRAIN " WITH_FILE "train.steps=7");
    expect_exit(w, 0, "%s$TRAIN " WITH_FILE "--resume", edits[_i]);
    if (_i)
        expect_text(w->err, "sub/v.txt has changed since the run began; the run goes on with the "
                            "vocabulary of its checkpoint\n");
    else
        expect_no_text(w->err, "warning");
}

TEST(a_file_that_is_not_the_vocabulary_of_the_model_is_refused)
{
    char more[256];
    snprintf(more, sizeof more, "run.name=more train.init_from=%s", newest);
    make_vocabulary();
    expect_exit(w, 0, "$TRAIN " FIRST CHAR);
    expect_exit(w, 2, "$TRAIN " FIRST CHAR "%s data.vocab_file=sub/v.txt", more);
    expect_text(w->err, "data.vocab_file: ");
    expect_text(w->err, "sub/v.txt is not the vocabulary that the model was trained with");
    expect_exit(w, 2, "$TRAIN " FIRST CHAR "%s data.vocab_file=sub/v.txt --check", more);
    ck_assert(!exists("runs/more"));
    expect_exit(w, 0, "$TRAIN " FIRST CHAR "%s data.vocab_file=runs/tiny/vocab.txt", more);
    expect_same_files("runs/tiny/vocab.txt", "runs/more/vocab.txt");
}
