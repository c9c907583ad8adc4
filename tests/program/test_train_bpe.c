/* Models of texts with byte-level BPE: their runs, checkpoints, folders, and what they say. */

#include "train_program.h"

#define FIXTURES TEST_SOURCES "/fixtures/bpe"

/* Of this text every word follows from the one before, and there are characters of several bytes.
 */
#define WORDS "Spin and round, the wheels turning; \xc3\x89t\xc3\xa9 \xe4\xb8\x96\xe7\x95\x8c! "

static void make_files(const char *kind)
{
    expect_exit(w, 0,
                "for i in $(seq 60); do echo '" WORDS "'; done >text.txt; cp " FIXTURES
                "/%s/tokenizer.json v.json; chmod u+w v.json",
                kind);
}

#define TEXT                                                                                       \
    "tiny.ini --quiet theta.learn=no data.task=text data.vocab=32 data.file=text.txt "             \
    "data.level=bpe "                                                                              \
    "optimizer.lr=5e-3 optimizer.schedule_steps=600 train.batch_size=16 model.dim=32 "
#define LM  TEXT "data.objective=lm model.causal=yes "
#define BPE "data.vocab_file=v.json "

static const char newest[] = "runs/tiny/checkpoints/step-00000060.h5";

SUITE(PROGRAM_OPTIONS)

TEST(a_causal_model_continues_a_text)
{
    make_files("gpt2");
    expect_exit(w, 0, "$TRAIN " LM BPE "train.steps=300 data.length=24");
    expect_same_files("v.json", "runs/tiny/tokenizer.json");
    expect_exit(w, 0,
                "$TRAIN --quiet --checkpoint runs/tiny --predict 'Spin and' --tokens 40 "
                "--temperature 0");
    ck_assert_msg(!strncmp(w->out, "Spin and round, the wheels turning; \xc3\x89t\xc3\xa9 ", 42),
                  "%s", w->out);
    ck_assert_str_eq(w->err, "");
}

/* Whatever is drawn, what is printed is UTF-8. */
TEST(a_continuation_is_never_half_a_character)
{
    make_files("gpt2");
    expect_exit(w, 0, "$TRAIN " LM BPE "train.steps=2");
    for (int seed = 1; seed <= 4; seed++)
        expect_exit(w, 0,
                    "$TRAIN --quiet --checkpoint runs/tiny --predict '\xe4\xb8\x96' --tokens 60 "
                    "--temperature 9 --seed %d >>all.txt",
                    seed);
    expect_exit(w, 0, "iconv -f UTF-8 -t UTF-16 all.txt >utf16 && grep -c '\xef\xbf\xbd' all.txt");
    ck_assert_int_ge(atoi(w->out), 1);
}

TEST(a_run_keeps_its_vocabulary)
{
    make_files("llama3");
    expect_exit(w, 0, "$TRAIN " LM BPE "train.steps=60");
    expect_exit(w, 0, "$TRAIN " LM BPE "run.name=parts train.steps=20");
    expect_exit(w, 0, "rm v.json runs/parts/tokenizer.json");
    expect_exit(w, 0, "$TRAIN " LM BPE "run.name=parts --resume");
    expect_same_files("runs/tiny/metrics.csv", "runs/parts/metrics.csv");
    expect_same_files("runs/tiny/tokenizer.json", "runs/parts/tokenizer.json");
    expect_exit(w, 0, "$TRAIN --report runs/tiny; grep -c 'bits per piece' runs/tiny/report.html");
    expect_exit(w, 0, "$TRAIN " LM "run.name=more train.steps=20 train.init_from=%s", newest);
    expect_same_files("runs/tiny/tokenizer.json", "runs/more/tokenizer.json");
    expect_exit(w, 2,
                "cp " FIXTURES "/gpt2/tokenizer.json o.json; $TRAIN " LM
                "data.vocab_file=o.json run.name=other train.init_from=%s",
                newest);
    expect_text(w->err, "o.json is not the vocabulary that the model was trained with");
}

#define ANSWER "--predict 'the e\xcc\x81' --tokens 12 --temperature 0 "

/* Of RoFormer, and of Llama. */
TEST_ROWS(a_folder_for_transformers_has_the_same_answers, 0, 2)
{
    make_files("qwen2");
    expect_exit(w, 0, "$TRAIN " LM BPE "train.steps=60 %s", _i ? "model.kind=decoder" : "");
    expect_exit(
        w, 0,
        "$TRAIN --quiet --checkpoint runs/tiny --export out && cat out/tokenizer_config.json");
    expect_text(w->out, "\"tokenizer_class\": \"PreTrainedTokenizerFast\"");
    expect_text(w->out, "\"bos_token\": \"<|endoftext|>\"");
    expect_exit(w, 0, "cat out/tokenizer.json"); /* with what v.json lacks */
    expect_text(w->out, "TemplateProcessing");
    ck_assert(!exists("out/vocab.txt"));
    expect_exit(w, 0,
                "$TRAIN --quiet --checkpoint runs/tiny " ANSWER ">a.txt; "
                "$TRAIN --quiet --checkpoint out " ANSWER "| cmp - a.txt");
    expect_exit(w, 0,
                "sed -i '/rotor_level/d' out/config.json; $TRAIN --quiet --checkpoint out " ANSWER
                "| cmp - a.txt");
    expect_exit(w, 0, "$TRAIN --checkpoint out --print-config | grep 'level = bpe'");
}

/* With the word that the text is made of. Its piece begins with a blank, which is left out where
 * the text has one of its own. */
TEST(a_model_with_a_mask_fills_it)
{
    static const char filled[] = "the the the the the\n";
    double first, second;
    make_files("space");
    expect_exit(w, 0,
                "yes the | head -3000 | tr '\\n' ' ' >text.txt; $TRAIN " TEXT BPE
                "train.steps=40 data.mask_probability=0.3");
    expect_exit(w, 0,
                "$TRAIN --quiet --checkpoint runs/tiny --predict 'the[MASK] the [MASK] the' | "
                "sed \"s/, '.*//\"");
    const char *rest = w->out + strlen(filled);
    ck_assert_msg(!strncmp(w->out, filled, strlen(filled)) &&
                      sscanf(rest, "mask 1: ' the' %lf\nmask 2: ' the' %lf\n", &first, &second) ==
                          2,
                  "%s", w->out);
    ck_assert_double_ge(first, 0.9);
    ck_assert_double_ge(second, 0.9);
}

TEST(samples_of_masked_pieces_are_utf8)
{
    make_files("space");
    expect_exit(w, 0, "$TRAIN " TEXT BPE "train.steps=100 data.mask_probability=0.3");
    expect_exit(w, 0,
                "$TRAIN --report runs/tiny; iconv -f UTF-8 -t UTF-16 runs/tiny/report.html "
                ">utf16; grep -c Samples runs/tiny/report.html");
}

TEST(labelled_texts_have_the_tokens_around_them)
{
    make_files("space");
    expect_exit(w, 0,
                "printf 'text\\tlabel\\n' >a.tsv; for i in $(seq 20); do printf "
                "'the wheel %%d\\tx\\nround and\\ty\\n' $i; done >>a.tsv; $TRAIN tiny.ini --quiet "
                "data.task=classify data.vocab=32 data.file=a.tsv data.level=bpe " BPE
                "train.steps=80 "
                "train.batch_size=8");
    expect_exit(w, 0, "$TRAIN --quiet --checkpoint runs/tiny --predict 'the wheel 7'");
    ck_assert_msg(!strncmp(w->out, "x\t", 2), "%s", w->out);
}

typedef struct refusal {
    int code;
    const char *kind, *command, *says;
} refusal;

static const refusal refusals[] = {
    {2, "gpt2", TEXT BPE,
     "data.objective = mlm needs a mask token, such as <mask>; the vocabulary has no "
     "such special token"},
    {2, "gpt2", TEXT, "data.vocab_file must name a tokenizer.json for data.level = bpe"},
    {2, "gpt2", LM BPE "data.lowercase=yes",
     "data.lowercase = yes has no effect: it needs data.task = text, classify or tag and "
     "data.level "
     "= wordpiece"},
    {2, "gpt2", "tiny.ini data.task=text data.vocab=32 data.file=text.txt " BPE,
     "data.vocab_file has no effect: it needs data.task = text, classify or tag and "
     "data.level other than byte"},
    {3, "gpt2", LM "data.vocab_file=text.txt", "text.txt:1: invalid JSON: "},
    {3, "gpt2", LM "data.vocab_file=none.json",
     "none.json: No such file or directory (data.vocab_file)"},
    {3, "gpt2", "$(sed -i 's/\"type\": \"BPE\"/\"type\": \"Unigram\"/' v.json) " LM BPE,
     "v.json: model.type is 'Unigram'; 'BPE' is read"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

TEST_ROWS(what_a_model_cannot_be_trained_with_is_refused, 0, REFUSALS)
{
    make_files(refusals[_i].kind);
    expect_exit(w, refusals[_i].code, "$TRAIN %s", refusals[_i].command);
    expect_text(w->err, refusals[_i].says);
}

TEST(bytes_that_have_no_piece_are_told)
{
    make_files("missing");
    expect_exit(w, 0, "echo '\xf3\xa0\x80\x81' >>text.txt; $TRAIN " LM BPE "train.steps=1");
    expect_text(w->err, "warning: bytes of data.file that are not in the vocabulary and are left "
                        "out: ");
}
