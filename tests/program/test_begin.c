/* The beginning of a text, a token or nothing (data.begin), in runs, folders and exports. */

#include "tokenizer_fixtures.h"
#include "train_program.h"

#include "data/tokenizers/bpe.h"
#include "io/huggingface/tokenizer.h"

#define TOKENIZERS TEST_SOURCES "/fixtures/bpe/"

static const char config[] =
    "[model]\nkind = decoder\nlayers = 1\ndim = 16\nheads = 2\n[data]\ntask = text\nlevel = bpe\n"
    "file = text.txt\nobjective = lm\nlength = 16\n[train]\nsteps = 4\nbatch_size = 4\n"
    "eval_batches = 2\n[optimizer]\nlr = 0.01\n";

#define TRAIN_ON(name) "$TRAIN c.ini --quiet data.vocab_file=" TOKENIZERS name "/tokenizer.json "

static void make_files(void)
{
    write_file("c.ini", config);
    run("yes 'The quick brown fox jumps over the lazy dog' | head -c 4000 >text.txt");
}

SUITE(PROGRAM_OPTIONS, .prepare = make_files)

static const struct {
    const char *name;
    int32_t first, last; /* what its own post-processor puts around a text */
} tokenizers[] = {
    {"gpt2", RT_NO_ID, RT_NO_ID},
    {"qwen2", RT_NO_ID, RT_NO_ID},
    {"llama3", 0, RT_NO_ID},
    {"space", 0, 1},
};
enum { FRAMES = 4 };

/* A pair has the tokens of a text before its first text and after its second. */
static void expect_pair(const char *text, bool begins, bool ends)
{
    json_t *json = json_loads(text, 0, NULL);
    const json_t *part = json_object_get(json, "post_processor");
    const json_t *parts = json_object_get(part, "processors");
    if (parts)
        part = json_array_get(parts, json_array_size(parts) - 1);
    if (begins || ends)
        ck_assert_uint_eq(json_array_size(json_object_get(part, "pair")),
                          (size_t)(2 + begins + 2 * ends));
    json_decref(json);
}

TEST_ROWS(an_exported_tokenizer_adds_the_tokens_that_rotor_adds_around_a_text, 0,
          ROWS(tokenizers) * FRAMES)
{
    const int n = _i / FRAMES;
    const bool begins = _i & 1, ends = _i >> 1 & 1;
    const char *bytes = read_file(lasting(TOKENIZERS "%s/tokenizer.json", tokenizers[n].name));
    rt_vocabulary *v = vocabulary_of((rt_vocabulary_kind){.level = RT_LEVEL_BPE}, bytes);
    const int32_t first = begins ? v->special.cls : RT_NO_ID;
    const int32_t last = ends ? v->special.sep : RT_NO_ID;
    ck_assert_int_eq(v->bpe->first, tokenizers[n].first);
    ck_assert_int_eq(v->bpe->last, tokenizers[n].last);
    char *text;
    expect_ok(rt_tokenizer_bpe_file(&text, v, begins, ends));
    ck_assert_int_eq(!strcmp(text, bytes),
                     first == tokenizers[n].first && last == tokenizers[n].last);
    rt_vocabulary *again = vocabulary_of((rt_vocabulary_kind){.level = RT_LEVEL_BPE}, text);
    ck_assert(rt_vocabularies_equal(v, again));
    ck_assert_int_eq(again->bpe->first, first);
    ck_assert_int_eq(again->bpe->last, last);
    if (first != tokenizers[n].first || last != tokenizers[n].last)
        expect_pair(text, begins, ends);
    rt_free(text);
}

#define MAKE_FOREIGN "sed -i /rotor_/d folder/config.json"

static bool begins_bare(const char *folder)
{
    rt_huggingface *imported;
    expect_ok(rt_huggingface_import(&imported, folder));
    const bool bare = imported->bare;
    rt_huggingface_close(imported);
    return bare;
}

static void expect_begin(const char *arguments, const char *value)
{
    expect_stdout(lasting("\nbegin = %s\n", value), "$TRAIN %s --print-config", arguments);
}

TEST_ROWS(an_exported_model_begins_as_it_was_trained, 0, 4)
{
    static const char *const templates[] = {"gpt2", "llama3"}, *const begins[] = {"auto", "none"};
    const bool bare = _i & 1;
    run("$TRAIN c.ini --quiet data.vocab_file=" TOKENIZERS
        "%s/tokenizer.json data.begin=%s && $TRAIN --checkpoint runs/c --export folder",
        templates[_i >> 1], begins[bare]);
    ck_assert_int_eq(begins_bare("folder"), bare);
    expect_begin("--checkpoint folder", begins[bare]);
    run("$TRAIN --checkpoint folder --predict 'The quick' --tokens 5 --temperature 0 >a; $TRAIN "
        "--checkpoint runs/c --predict 'The quick' --tokens 5 --temperature 0 >b; cmp a "
        "b; " MAKE_FOREIGN);
    ck_assert_int_eq(begins_bare("folder"), bare); /* its tokenizer says it */
    run("$TRAIN --checkpoint folder --predict 'The quick' --tokens 5 --temperature 0 | cmp - a");
    expect_in_file("folder/README.md",
                   bare ? "begins with its own first token: rotor adds none before it"
                        : "; its tokenizer adds it.");
}

TEST(a_folder_without_a_template_is_used_without_the_token)
{
    static const char *const given[] = {"", "data.begin=auto", "data.begin=none"};
    run(TRAIN_ON(
        "qwen2") "data.begin=none; $TRAIN --checkpoint runs/c --export folder; " MAKE_FOREIGN);
    ck_assert(begins_bare("folder"));
    for (int i = 0; i < 3; i++)
        run("$TRAIN --checkpoint folder --eval data.file=text.txt data.length=16 %s >%d.out; cmp "
            "0.out %d.out",
            given[i], i, i);
    expect_stderr(2, "the text is empty", "$TRAIN --checkpoint folder --predict ''");
    run("printf 'The\\nfox\\n' | $TRAIN --checkpoint folder --predict - --tokens 3");
}

TEST(a_tokenizer_in_two_files_is_read_as_that_in_one)
{
    static const char ask[] = "$TRAIN --quiet --checkpoint folder --predict 'The quick "
                              "<|endoftext|> 12 fox' --special --tokens 5 --temperature 0 >%s";
    run(TRAIN_ON(
        "gpt2") "data.begin=none; $TRAIN --checkpoint runs/c --export folder; cp " TOKENIZERS
                "gpt2/tokenizer.json folder");
    run(ask, "one");
    run("cd folder && sed -n '/\"vocab\": {/,/^  }/p' tokenizer.json | sed '1s/.*/{/; $s/.*/}/' "
        ">vocab.json && sed -n '/\"merges\": /,$s/^   \"\\(.*\\)\",*$/\\1/p' tokenizer.json | sed "
        "'s/\\\\\\([\"\\\\]\\)/\\1/g' >merges.txt && rm tokenizer.json");
    run(ask, "two; cmp one two");
    expect_stderr(0,
                  "tokenizer_class is 'RobertaTokenizer'; with vocab.json and merges.txt "
                  "'GPT2Tokenizer', 'Qwen2Tokenizer' and 'GPTNeoXTokenizer' are read",
                  "sed -i 's/PreTrainedTokenizerFast/RobertaTokenizer/' "
                  "folder/tokenizer_config.json; $TRAIN --checkpoint folder --export out");
}

TEST(a_run_begins_texts_as_the_model_that_it_starts_from)
{
    run(TRAIN_ON("gpt2") "data.begin=none run.name=first; $TRAIN --checkpoint runs/first --export "
                         "folder; " MAKE_FOREIGN);
    run("$TRAIN c.ini --quiet run.name=second train.init_from=folder");
    expect_begin("--checkpoint runs/second", "none");
    run("$TRAIN c.ini --quiet run.name=third "
        "train.init_from=runs/second/checkpoints/step-00000004.h5");
    expect_begin("--checkpoint runs/third", "none");
    run("grep -qx 'begin = none' runs/third/config.ini");
    run("$TRAIN c.ini --quiet run.name=second train.init_from=folder --resume train.steps=6");
    expect_begin("--checkpoint runs/second", "none");
}

TEST(a_resumed_run_begins_texts_as_before)
{
    run(TRAIN_ON("gpt2"));
    expect_stderr(2, "data.begin: the run has 'auto', now it is 'none'",
                  TRAIN_ON("gpt2") "--resume data.begin=none");
    expect_stderr(2, "data.begin = none has no effect: it needs data.task = text, ",
                  "$TRAIN c.ini data.task=copy data.level=byte data.begin=none");
}

/* Foreign classifiers, and runs from them, read a text as its tokenizer gives it; own ones do not.
 */
TEST_ROWS(a_text_with_a_label_has_the_tokens_of_the_tokenizer, 0, ROWS(tokenizers))
{
    static const char *const levels[] = {"begin", "end"};
    static const char *const values[] = {"auto", "none"};
    run("printf 'text\\tlabel\\nthe fox\\ta\\nthe dog\\tb\\n' >c.tsv; $TRAIN c.ini --quiet "
        "data.task=classify data.file=c.tsv data.eval_fraction=0 data.vocab_file=" TOKENIZERS
        "%s/tokenizer.json model.pool=last run.name=own && $TRAIN --checkpoint runs/own --export "
        "folder",
        tokenizers[_i].name);
    for (int i = 0; i < 2; i++)
        run("$TRAIN --checkpoint folder --print-config | grep -qx '%s = auto'", levels[i]);
    run("echo 'the lazy fox' | tee text | $TRAIN --checkpoint folder --predict - >own; $TRAIN "
        "--checkpoint runs/own --predict - <text | cmp - own; cp -r folder exported; " MAKE_FOREIGN
        "; cp " TOKENIZERS "%s/tokenizer.json folder",
        tokenizers[_i].name);
    const int32_t ends[] = {tokenizers[_i].first, tokenizers[_i].last};
    for (int i = 0; i < 2; i++)
        run("$TRAIN --checkpoint folder --print-config | grep -qx '%s = %s' && $TRAIN /dev/null "
            "data.task=classify data.file=c.tsv train.init_from=folder --print-config | grep -qx "
            "'%s = %s'",
            levels[i], values[ends[i] == RT_NO_ID], levels[i], values[ends[i] == RT_NO_ID]);
    run("$TRAIN --checkpoint folder --predict - <text >foreign; $TRAIN --checkpoint exported "
        "data.begin=%s data.end=%s --predict - <text | cmp - foreign",
        values[ends[0] == RT_NO_ID], values[ends[1] == RT_NO_ID]);
    ck_assert_int_eq(shell(w, "cmp -s own foreign"), ends[0] == RT_NO_ID && ends[1] == RT_NO_ID);
}

TEST(special_tokens_of_a_text_are_tokens_with_an_option)
{
    static const char *const uses[] = {
        "--predict 'fox<|endoftext|>a' --tokens 5 --temperature 0",
        "--eval data.eval_file=lines --quiet",
    };
    int tokens[2];
    run(TRAIN_ON(
        "gpt2") "; echo 'fox<|endoftext|>' >line; yes 'fox<|endoftext|>' | head -200 >lines");
    for (int special = 0; special < 2; special++) {
        run("$TRAIN --quiet --checkpoint runs/c --eval --per-line data.eval_file=line %s | tail -1 "
            "| cut -d, -f3",
            special ? "--special" : "");
        tokens[special] = atoi(w->out);
    }
    ck_assert_msg(tokens[1] > 1 && tokens[1] < tokens[0], "%d instead of %d", tokens[1], tokens[0]);
    for (int i = 0; i < ROWS(uses); i++)
        run("$TRAIN --checkpoint runs/c %s >a; $TRAIN --checkpoint runs/c %s --special >b; ! cmp "
            "-s a b",
            uses[i], uses[i]);
    expect_stderr(2, "--special needs --eval or --predict", TRAIN_ON("gpt2") "--special");
}

TEST_ROWS(a_chat_template_is_kept_on_export, 0, 2)
{
#define HAS_TEMPLATE(folder)                                                                       \
    " && grep -q '\"chat_template\": \"{{ a }}\"' " folder "/tokenizer_config.json"
    static const char *const where[] = {
        "sed -i 's/^{/{\"chat_template\": \"{{ a }}\",/' folder/tokenizer_config.json",
        "printf '{{ a }}' >folder/chat_template.jinja"};
    run(TRAIN_ON("gpt2") "; $TRAIN --checkpoint runs/c --export folder; %s", where[_i]);
    run("$TRAIN --checkpoint folder --export again" HAS_TEMPLATE("again"));
    run("$TRAIN c.ini --quiet run.name=tuned train.init_from=folder && $TRAIN --checkpoint "
        "runs/tuned --export tuned" HAS_TEMPLATE("tuned"));
    run("$TRAIN --checkpoint folder --export m.gguf && grep -qa 'tokenizer.chat_template.*{{ a }}' "
        "m.gguf");
    run("$TRAIN --checkpoint runs/c --export folder --overwrite" HAS_TEMPLATE("folder"));
}
