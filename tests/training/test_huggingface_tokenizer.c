/* The vocabulary of a Hugging Face folder. What is expected of tokenizer_config.json is what
 * transformers 5.23 does with the same files. */

#include "suite.h"
#include "training/scratch.h"

#include "data/tokenizers/vocabulary.h"
#include "io/huggingface/private.h"
#include "io/huggingface/tokenizer.h"

/* Its pieces are not in the order of their ids. */
static const char pieces[] =
    "{\"version\": \"1.0\",\n"
    " \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, "
    "\"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": true},\n"
    " \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},\n"
    " \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
    "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 100,\n"
    "  \"vocab\": {\"##a\": 7, \"[PAD]\": 0, \"A\": 8, \"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, "
    "\"[MASK]\": 4, \"a\": 5, \"b\": 6}}}\n";

/* The same vocabulary as a vocab.txt. */
static const char lines[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\nA\n";

static void write_file(const char *name, const char *text)
{
    write_bytes(in_scratch(name), text, strlen(text));
}

/* tokenizer.json with one text in the place of another. */
static void write_pieces(const char *from, const char *to)
{
    static char changed[2 * sizeof pieces];
    const char *at = strstr(pieces, from);
    ck_assert_msg(at != NULL, "no %s", from);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - pieces), pieces, to,
             at + strlen(from));
    write_file("tokenizer.json", changed);
}

static rt_vocabulary *read_vocabulary(const char *level, const char *warning)
{
    rt_vocabulary *vocabulary;
    const char *said;
    assert_status(rt_tokenizer_read(&vocabulary, scratch, level, &said), RT_OK, "");
    ck_assert_msg((said == NULL) == (warning == NULL), "%s", said ? said : "no warning");
    ck_assert(!warning || strstr(said, warning));
    return vocabulary;
}

static void expect_refused(const char *level, const char *message)
{
    rt_vocabulary *vocabulary;
    const char *said;
    assert_status(rt_tokenizer_read(&vocabulary, scratch, level, &said), RT_CHECKPOINT, message);
    ck_assert_ptr_null(vocabulary);
}

static void expect_ids(const rt_vocabulary *v, const char *text, const int32_t *expected, int size)
{
    int32_t ids[64];
    rt_unknown unknown = {0};
    int count;
    ck_assert_uint_le(strlen(text), 64);
    assert_status(rt_vocabulary_encode(v, text, strlen(text), ids, &count, &unknown), RT_OK, "");
    ck_assert_int_eq(count, size);
    for (int i = 0; i < size; i++)
        ck_assert_int_eq(ids[i], expected[i]);
}

#define EXPECT_IDS(v, text, ...)                                                                   \
    expect_ids(v, text, (const int32_t[]){__VA_ARGS__},                                            \
               sizeof(const int32_t[]){__VA_ARGS__} / sizeof(int32_t))

/* ---- tokenizer.json ---- */

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(pieces_are_in_the_order_of_their_ids)
{
    char *text;
    write_file("tokenizer.json", pieces);
    rt_vocabulary *v = read_vocabulary("", NULL);
    ck_assert_int_eq((int)v->level, RT_LEVEL_WORDPIECE);
    assert_status(rt_vocabulary_write(v, &text), RT_OK, "");
    ck_assert_str_eq(text, lines);
    EXPECT_IDS(v, "aA b c", 5, 7, 6, 1);
    ck_assert_int_eq(v->special.mask, 4);
    rt_free(text);
    rt_vocabulary_free(v);
}

static const struct {
    const char *from, *to, *message;
} others[] = {
    {"\"type\": \"WordPiece\"", "\"type\": \"Unigram\"",
     "tokenizer.json: the type of model is 'Unigram'; 'BPE' and 'WordPiece' are read"},
    {"\"type\": \"WordPiece\", ", "",
     "tokenizer.json: the type of model is missing; 'BPE' and 'WordPiece' are read"},
    {"\"model\"", "\"other\"",
     "tokenizer.json: the type of model is missing; 'BPE' and 'WordPiece' are read"},
    {"\"##\"", "\"@@\"", "tokenizer.json: continuing_subword_prefix is '@@'; '##' alone is read"},
    {"\"unk_token\": \"[UNK]\"", "\"unk_token\": \"<unk>\"",
     "tokenizer.json: unk_token is '<unk>'; '[UNK]' alone is read"},
    {": 100", ": 50", "tokenizer.json: max_input_chars_per_word must be 100"},
    {"\"vocab\": {", "\"vocab\": 1, \"other\": {", "tokenizer.json: model.vocab must be an object"},
    {"\"A\": 8", "\"A\": 9",
     "tokenizer.json: the ids of the 9 pieces must be 0 to 8, each once; that of 'A' is not"},
    {"\"b\": 6", "\"b\": 5",
     "tokenizer.json: the ids of the 9 pieces must be 0 to 8, each once; that of 'b' is not"},
    {"\"b\": 6", "\"b\": -1",
     "tokenizer.json: the ids of the 9 pieces must be 0 to 8, each once; that of 'b' is not"},
    {"\"b\": 6", "\"b\": 6.0",
     "tokenizer.json: the ids of the 9 pieces must be 0 to 8, each once; that of 'b' is not"},
    {"\"b\": 6", "\"b\": 4294967302",
     "tokenizer.json: the ids of the 9 pieces must be 0 to 8, each once; that of 'b' is not"},
    {"\"b\": 6", "\"b\\nc\": 6", "tokenizer.json: the piece of id 6 has a newline"},
    {"\"b\": 6", "\"\": 6", "tokenizer.json: the piece of id 6 is empty"},
    {"\"[MASK]\"", "\"mask\"", "tokenizer.json: has no line [MASK]"},
    {"BertNormalizer", "NFC",
     "tokenizer.json: the type of normalizer is 'NFC'; 'BertNormalizer' alone is read"},
    {"\"lowercase\": true", "\"lowercase\": 1", "tokenizer.json: lowercase must be true or false"},
    {"\"strip_accents\": null", "\"strip_accents\": false",
     "tokenizer.json: strip_accents must be as lowercase is"},
    {"\"handle_chinese_chars\": true", "\"handle_chinese_chars\": false",
     "tokenizer.json: handle_chinese_chars must be true"},
    {"\"clean_text\": true", "\"clean_text\": false", "tokenizer.json: clean_text must be true"},
    {"\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}", "\"pre_tokenizer\": null",
     "tokenizer.json: the type of pre_tokenizer is missing; 'BertPreTokenizer' alone is read"},
    {"BertPreTokenizer", "Whitespace",
     "tokenizer.json: the type of pre_tokenizer is 'Whitespace'; 'BertPreTokenizer' alone is "
     "read"},
};

TEST_ROWS(what_is_not_as_berts_is_refused_by_its_key, 0, ROWS(others))
{
    write_pieces(others[_i].from, others[_i].to);
    expect_refused("", others[_i].message);
}

/* ---- settings ---- */

#define BERT "\"tokenizer_class\": \"BertTokenizer\""

/* Ids of transformers for a capital, with a tokenizer.json or with vocab.txt. */
static const struct {
    const char *settings; /* NULL: there is no tokenizer_config.json */
    bool pieces;          /* there is a tokenizer.json, ... */
    bool lines;           /* ... or a vocab.txt */
    bool lowercase;       /* of the former */
    bool expected;
} cases[] = {
    {"{" BERT "}", true, false, false, true},
    {"{" BERT ", \"do_lower_case\": true}", true, false, false, true},
    {"{" BERT ", \"do_lower_case\": false}", true, false, true, false},
    {"{" BERT "}", true, false, true, true},
    {"{" BERT "}", true, true, false, true},
    {"{" BERT ", \"do_lower_case\": false}", true, true, true, false},
    {"{" BERT ", \"do_lower_case\": true}", true, true, false, true},
    {"{" BERT "}", false, true, false, true},
    {"{" BERT ", \"do_lower_case\": null}", false, true, false, true},
    {"{\"do_lower_case\": false, \"strip_accents\": false}", false, true, false, false},
    {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", true, false, false, false},
    {"{\"tokenizer_class\": \"TokenizersBackend\"}", true, false, true, true},
    {NULL, true, false, false, false},
    {NULL, true, false, true, true},
    {NULL, false, true, false, true},
};

TEST_ROWS(capitals_are_as_transformers_has_them, 0, ROWS(cases))
{
    if (cases[_i].settings)
        write_file("tokenizer_config.json", cases[_i].settings);
    if (cases[_i].pieces)
        write_pieces("\"lowercase\": true",
                     cases[_i].lowercase ? "\"lowercase\": true" : "\"lowercase\": false");
    if (cases[_i].lines)
        write_file("vocab.txt", lines);
    rt_vocabulary *v = read_vocabulary("", NULL);
    ck_assert_int_eq(v->lowercase, cases[_i].expected);
    if (cases[_i].expected)
        EXPECT_IDS(v, "A", 5);
    else
        EXPECT_IDS(v, "A", 8);
    rt_vocabulary_free(v);
}

static const struct {
    const char *settings, *message;
} bad_settings[] = {
    {"{\"do_lower_case\": 1}", "tokenizer_config.json: do_lower_case must be true or false"},
    {"{\"strip_accents\": false}",
     "tokenizer_config.json: strip_accents must be as do_lower_case is"},
    {"{\"do_lower_case\": false, \"strip_accents\": true}",
     "tokenizer_config.json: strip_accents must be as do_lower_case is"},
    {"{\"tokenize_chinese_chars\": false}",
     "tokenizer_config.json: tokenize_chinese_chars must be true"},
    {"{\"do_basic_tokenize\": false}", "tokenizer_config.json: do_basic_tokenize must be true"},
    {"{\"tokenizer_class\": \"CanineTokenizer\"}",
     "tokenizer_config.json: tokenizer_class is 'CanineTokenizer'; 'BertTokenizer', "
     "'RoFormerTokenizer' and 'EsmTokenizer' are read"},
    {"{", "tokenizer_config.json:1: invalid JSON: 'string or '}' expected near end of file'"},
};

TEST_ROWS(settings_that_are_not_berts_are_refused_by_their_key, 0, ROWS(bad_settings))
{
    write_file("tokenizer_config.json", bad_settings[_i].settings);
    write_file("vocab.txt", lines);
    expect_refused("", bad_settings[_i].message);
    rename(in_scratch("vocab.txt"), in_scratch("other.txt"));
    write_file("tokenizer.json", pieces);
    expect_refused("", bad_settings[_i].message);
}

TEST(a_tokenizer_of_chinese_words_is_a_warning)
{
    write_file("tokenizer_config.json", "{\"tokenizer_class\": \"RoFormerTokenizer\"}");
    write_file("vocab.txt", lines);
    rt_vocabulary_free(read_vocabulary("", "cuts Chinese into words"));
}

/* ---- the files ---- */

TEST(without_both_files_there_is_no_vocabulary)
{
    write_file("tokenizer_config.json", "{");
    ck_assert_ptr_null(read_vocabulary("", NULL));
}

TEST(of_both_files_the_lines_hold)
{
    write_file("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\na\n");
    write_file("tokenizer.json", "{");
    rt_vocabulary *v = read_vocabulary("", NULL);
    EXPECT_IDS(v, "a b", 6, 5);
    rt_vocabulary_free(v);
}

TEST_ROWS(a_pipe_is_not_waited_for, 0, 2)
{
    rt_vocabulary *vocabulary;
    const char *warning, *name = _i ? "tokenizer.json" : "vocab.txt";
    ck_assert_int_eq(mkfifo(in_scratch(name), 0600), 0);
    const rt_status status = rt_tokenizer_read(&vocabulary, scratch, "", &warning);
    ck_assert_int_eq(status.code, RT_CHECKPOINT);
    expect_in(status.message, name);
    expect_in(status.message, ": cannot be read: ");
    ck_assert_ptr_null(vocabulary);
}

TEST(a_level_of_rotors_own_is_read_without_settings)
{
    write_file("vocab.txt", "[PAD]\n[CLS]\n[MASK]\n[SEP]\n[UNK]\n\\n\nA\n");
    write_file("tokenizer_config.json", "{\"do_lower_case\": true}");
    rt_vocabulary *v = read_vocabulary("char", NULL);
    ck_assert_int_eq((int)v->level, RT_LEVEL_CHAR);
    ck_assert(!v->lowercase);
    EXPECT_IDS(v, "A\n", 6, 5);
    rt_vocabulary_free(v);
    expect_refused("words", "config.json: rotor_level is 'words', which is not known");
    expect_refused("byte", "vocab.txt:5: must be a byte, from 0x00 to 0xff");
}

/* ---- residues ---- */

#define RESIDUES "<cls>\n<pad>\n<eos>\n<unk>\nL\nA\n<mask>"

static const struct {
    const char *config; /* or NULL */
    const char *lines;
    rt_level level;
} of_esm[] = {
    {"{\"tokenizer_class\": \"EsmTokenizer\", \"do_lower_case\": 3}", RESIDUES, RT_LEVEL_RESIDUE},
    {"{\"model_max_length\": 1024}", RESIDUES, RT_LEVEL_RESIDUE},
    {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", RESIDUES, RT_LEVEL_RESIDUE},
    {NULL, RESIDUES, RT_LEVEL_RESIDUE},
    {NULL, RESIDUES "\n[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", RT_LEVEL_WORDPIECE},
};

TEST_ROWS(a_vocabulary_of_ESM_is_known_by_its_class_or_its_tokens, 0, ROWS(of_esm))
{
    char *text;
    write_file("vocab.txt", of_esm[_i].lines);
    if (of_esm[_i].config)
        write_file("tokenizer_config.json", of_esm[_i].config);
    rt_vocabulary *v = read_vocabulary("", NULL);
    ck_assert_int_eq((int)v->level, (int)of_esm[_i].level);
    if (of_esm[_i].level == RT_LEVEL_RESIDUE)
        EXPECT_IDS(v, "LAxA", 4, 5, 3, 5);
    assert_status(rt_vocabulary_write(v, &text), RT_OK, "");
    ck_assert_str_eq(text, of_esm[_i].lines);
    rt_free(text);
    rt_vocabulary_free(v);
}

TEST(a_vocabulary_that_is_not_its_classes_is_refused)
{
    write_file("vocab.txt", RESIDUES);
    write_file("tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\"}");
    expect_refused("", "vocab.txt: has no line [PAD]");
    write_file("vocab.txt", lines);
    write_file("tokenizer_config.json", "{\"tokenizer_class\": \"EsmTokenizer\"}");
    expect_refused("", "vocab.txt: has no line <pad>");
}

TEST(a_vocabulary_of_residues_is_written_for_transformers)
{
    write_file("vocab.txt", RESIDUES);
    rt_vocabulary *v = read_vocabulary("residue", NULL);
    const rt_huggingface_export export = {.length = 2000, .vocabulary = v};
    char *text = rt_huggingface_tokenizer_text(&export);
    ck_assert_str_eq(text, "{\n  \"tokenizer_class\": \"EsmTokenizer\",\n"
                           "  \"model_max_length\": 2000\n}\n");
    rt_free(text);
    rt_vocabulary_free(v);
}

/* ---- byte-level BPE ---- */

#define TOKEN(id, text)                                                                            \
    "{\"id\": " id ", \"content\": \"" text "\", \"single_word\": false, \"lstrip\": false, "      \
    "\"rstrip\": false, \"normalized\": false, \"special\": true}"

static const char bpe[] = "{\"added_tokens\": [" TOKEN("2", "<s>") ", " TOKEN(
    "3", "<t>") ", " TOKEN("4", "<\xe2\x82\xac>") "],\n"
                                                  " \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
                                                  "\"add_prefix_space\": false},\n"
                                                  " \"decoder\": {\"type\": \"ByteLevel\"},\n"
                                                  " \"model\": {\"type\": \"BPE\", \"vocab\": "
                                                  "{\"b\": 0, \"a\": 1}, \"merges\": []}}\n";

typedef struct bpe_case {
    const char *config;
    int pad, cls, mask, sep;
} bpe_case;

static const bpe_case bpe_cases[] = {
    {NULL, 2, 2, -1, -1},
    {"{\"tokenizer_class\": \"GPT2TokenizerFast\", \"eos_token\": \"<t>\"}", 3, 2, -1, 3},
    {"{\"bos_token\": {\"content\": \"<t>\", \"lstrip\": false}, \"eos_token\": null}", 3, 3, -1,
     -1},
    {"{\"tokenizer_class\": \"Qwen2Tokenizer\", \"pad_token\": \"<t>\", \"mask_token\": "
     "\"<\xe2\x82\xac>\"}",
     3, 2, 4, -1},
    {"{\"pad_token\": \"[PAD]\", \"do_lower_case\": true}", 2, 2, -1, -1},
    {"{\"cls_token\": \"<t>\", \"sep_token\": \"<s>\", \"mask_token\": \"<\xe2\x82\xac>\"}", 2, 3,
     4, 2},
    {"{\"cls_token\": \"<s>\", \"bos_token\": \"<t>\"}", 3, 3, -1, -1},
};

TEST_ROWS(tokens_of_bpe_are_what_tokenizer_config_says, 0, ROWS(bpe_cases))
{
    const bpe_case *c = &bpe_cases[_i];
    write_file("tokenizer.json", bpe);
    if (c->config)
        write_file("tokenizer_config.json", c->config);
    rt_vocabulary *v = read_vocabulary(_i % 2 ? "bpe" : "", NULL);
    ck_assert_int_eq((int)v->level, RT_LEVEL_BPE);
    ck_assert_int_eq(v->special.pad, c->pad);
    ck_assert_int_eq(v->special.cls, c->cls);
    ck_assert_int_eq(v->special.mask, c->mask);
    ck_assert_int_eq(v->special.sep, c->sep);
    EXPECT_IDS(v, "ab", 1, 0);
    rt_vocabulary_free(v);
}

TEST(what_is_no_bpe_is_refused_with_its_file)
{
    write_file("tokenizer.json", bpe);
    write_file("tokenizer_config.json", "{\"bos_token\": \"<u>\"}");
    expect_refused("", "tokenizer_config.json: bos_token '<u>' is no token of tokenizer.json");
    write_file("tokenizer_config.json", "{\"eos_token\": 3}");
    expect_refused("", "tokenizer_config.json: eos_token must be a token or null");
    write_file("tokenizer_config.json", "{\"mask_token\": {}}");
    expect_refused("", "tokenizer_config.json: mask_token must be a token or null");
    write_file("tokenizer_config.json", "[");
    expect_refused("bpe", "tokenizer_config.json:1: invalid JSON: '']' expected near end of file'");
    write_file("tokenizer.json", pieces);
    expect_refused("bpe", "tokenizer.json: model.type is 'WordPiece'; 'BPE' is read");
    write_file("tokenizer.json", "{\"model\": {\"type\": \"BPE\"}}");
    expect_refused("", "tokenizer.json: model.vocab must be an object");
}

/* A written vocabulary is read as the same one, whatever the names of its tokens. */
TEST(a_vocabulary_of_bpe_is_written_for_transformers)
{
    write_file("tokenizer.json", bpe);
    write_file("tokenizer_config.json", "{\"bos_token\": \"<t>\", \"mask_token\": \"<s>\"}");
    rt_vocabulary *v = read_vocabulary("", NULL);
    const rt_huggingface_export export = {.length = 64, .vocabulary = v};
    char *text = rt_huggingface_tokenizer_text(&export);
    ck_assert_str_eq(text, "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
                           "  \"cls_token\": \"<t>\",\n  \"bos_token\": \"<t>\",\n"
                           "  \"pad_token\": \"<t>\",\n"
                           "  \"mask_token\": \"<s>\",\n  \"model_max_length\": 64\n}\n");
    write_file("tokenizer_config.json", text);
    rt_vocabulary *again = read_vocabulary("", NULL);
    ck_assert(rt_vocabularies_equal(v, again));
    rt_free(text);
    rt_vocabulary_free(v);
    rt_vocabulary_free(again);
}

/* U+00E9 stands for a byte, but not in a token that was added. */
TEST(a_token_with_letters_of_byte_level_text_is_read_and_written_as_it_is)
{
    static const char token[] = "<|d\xc3\xa9"
                                "but|>";
    char vocabulary[1000];
    snprintf(
        vocabulary, sizeof vocabulary,
        "{\"added_tokens\": [" TOKEN(
            "2",
            "%s") "],\n"
                  " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},\n"
                  " \"decoder\": {\"type\": \"ByteLevel\"},\n"
                  " \"model\": {\"type\": \"BPE\", \"vocab\": {\"b\": 0, \"a\": 1}, \"merges\": "
                  "[]}}",
        token);
    write_file("tokenizer.json", vocabulary);
    write_file("tokenizer_config.json", "{\"bos_token\": \"<|d\xc3\xa9"
                                        "but|>\"}");
    rt_vocabulary *v = read_vocabulary("", NULL);
    ck_assert_int_eq(v->special.cls, 2);
    const rt_huggingface_export export = {.length = 64, .vocabulary = v};
    char *text = rt_huggingface_tokenizer_text(&export);
    ck_assert_msg(strstr(text, token) != NULL, "%s", text);
    ck_assert(!strstr(text, "cls_token") && !strstr(text, "sep_token")); /* as no encoder's */
    rt_free(text);
    rt_vocabulary_free(v);
}

static rt_status try_vocabulary(void *context)
{
    rt_vocabulary *vocabulary;
    const char *warning;
    (void)context;
    const rt_status status = rt_tokenizer_read(&vocabulary, scratch, "", &warning);
    ck_assert((status.code == RT_OK) == (vocabulary != NULL));
    rt_vocabulary_free(vocabulary);
    return status;
}

TEST_ROWS(every_allocation_can_fail, 0, 3)
{
    write_file("tokenizer_config.json", "{\"do_lower_case\": false}");
    write_file(_i == 1 ? "vocab.txt" : "tokenizer.json", _i == 1 ? lines : _i ? bpe : pieces);
    expect_faults(try_vocabulary, NULL, 5);
}
