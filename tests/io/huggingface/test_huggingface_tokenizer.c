/* The vocabulary of a Hugging Face folder. Expected values for tokenizer_config.json are those of
 * transformers 5.23 with the same files. */

#include "tokenizer_fixtures.h"
#include "util/scratch.h"

#include "io/huggingface/tokenizer.h"

/* A tokenizer whose pieces are not in the order of their ids. */
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

/* Returns the vocabulary of the folder, which is freed after the test. */
static rt_vocabulary *opened_vocabulary(const char *level, const char *warning)
{
    rt_vocabulary *vocabulary;
    const char *said;
    expect_ok(rt_tokenizer_read(&vocabulary, scratch, level, &said));
    ck_assert_msg((said == NULL) == (warning == NULL), "%s", said ? said : "no warning");
    ck_assert(!warning || strstr(said, warning));
    return owned(vocabulary, release_vocabulary);
}

/* Returns the tokenizer_config.json that is written for a vocabulary, of a model without token
 * types. */
static const char *settings_for(const rt_vocabulary *v, int length)
{
    const rt_huggingface_export export = {.length = length, .vocabulary = v};
    return owned(rt_huggingface_tokenizer_text(&export, false), rt_free);
}

static rt_status try_vocabulary(const char *level)
{
    rt_vocabulary *vocabulary;
    const char *said;
    const rt_status status = rt_tokenizer_read(&vocabulary, scratch, level, &said);
    ck_assert((status.code == RT_OK) == (vocabulary != NULL));
    rt_vocabulary_free(vocabulary);
    return status;
}

static void expect_refused(const char *level, const char *message)
{
    is_status(try_vocabulary(level), RT_CHECKPOINT, message);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* A token that a text would be cut into pieces of, from each file that can add one. */
TEST_ROWS(added_tokens_that_the_vocabulary_lacks_are_refused, 0, 3)
{
    static const struct {
        const char *file, *text;
    } rows[] = {{"added_tokens.json", "{\"[PAD]\": 0, \"<e>\": 7}"},
                {"tokenizer_config.json",
                 "{\"added_tokens_decoder\": {\"7\": {\"content\": \"<e>\"}}}"},
                {"added_tokens.json", "{\"[CLS]\": 1}"}};
    put_text("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\na\n");
    put_text(rows[_i].file, rows[_i].text);
    expect_refused("", lasting("%s: the vocabulary has no added token %s", rows[_i].file,
                               _i < 2 ? "'<e>' with the id 7" : "'[CLS]' with the id 1"));
}

TEST(pieces_are_in_the_order_of_their_ids)
{
    put_text("tokenizer.json", pieces);
    rt_vocabulary *v = opened_vocabulary("", NULL);
    ck_assert_int_eq((int)v->level, RT_LEVEL_WORDPIECE);
    is_written(v, lines);
    has_ids(AS_TEXT, v, "aA b c", "5 7 6 1");
    ck_assert_int_eq(v->special.mask, 4);
}

/* Messages are of tokenizer.json. */
#define OTHER_MODEL(type) "the type of model is " type "; only 'BPE' and 'WordPiece' can be read"
#define OTHER_ID(piece)                                                                            \
    "the ids of the 9 pieces must be 0 to 8, each once; that of " piece " is not"
static const struct {
    const char *from, *to, *message;
} others[] = {
    {"\"type\": \"WordPiece\"", "\"type\": \"Unigram\"", OTHER_MODEL("'Unigram'")},
    {"\"type\": \"WordPiece\", ", "", OTHER_MODEL("missing")},
    {"\"model\"", "\"other\"", OTHER_MODEL("missing")},
    {"\"##\"", "\"@@\"", "continuing_subword_prefix is '@@'; only '##' can be read"},
    {"\"unk_token\": \"[UNK]\"", "\"unk_token\": \"<unk>\"",
     "unk_token is '<unk>'; only '[UNK]' can be read"},
    {": 100", ": 50", "max_input_chars_per_word must be 100"},
    {"\"vocab\": {", "\"vocab\": 1, \"other\": {", "model.vocab must be an object"},
    {"\"A\": 8", "\"A\": 9", OTHER_ID("'A'")},
    {"\"b\": 6", "\"b\": 5", OTHER_ID("'b'")},
    {"\"b\": 6", "\"b\": -1", OTHER_ID("'b'")},
    {"\"b\": 6", "\"b\": 6.0", OTHER_ID("'b'")},
    {"\"b\": 6", "\"b\": 4294967302", OTHER_ID("'b'")},
    {"\"b\": 6", "\"b\\nc\": 6", "the piece of id 6 has a newline"},
    {"\"b\": 6", "\"\": 6", "the piece of id 6 is empty"},
    {"\"[MASK]\"", "\"mask\"", "has no line [MASK]"},
    {"BertNormalizer", "NFC", "the type of normalizer is 'NFC'; only 'BertNormalizer' can be read"},
    {"\"lowercase\": true", "\"lowercase\": 1", "lowercase must be true or false"},
    {"\"strip_accents\": null", "\"strip_accents\": false",
     "strip_accents must be as lowercase is"},
    {"\"handle_chinese_chars\": true", "\"handle_chinese_chars\": false",
     "handle_chinese_chars must be true"},
    {"\"clean_text\": true", "\"clean_text\": false", "clean_text must be true"},
    {"\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}", "\"pre_tokenizer\": null",
     "the type of pre_tokenizer is missing; only 'BertPreTokenizer' can be read"},
    {"BertPreTokenizer", "Whitespace",
     "the type of pre_tokenizer is 'Whitespace'; only 'BertPreTokenizer' can be read"},
};

TEST_ROWS(a_tokenizer_unlike_that_of_bert_is_refused_by_its_key, 0, ROWS(others))
{
    put_text("tokenizer.json", replaced(pieces, others[_i].from, others[_i].to));
    expect_refused("", lasting("tokenizer.json: %s", others[_i].message));
}

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

TEST_ROWS(lower_casing_follows_transformers, 0, ROWS(cases))
{
    if (cases[_i].settings)
        put_text("tokenizer_config.json", cases[_i].settings);
    if (cases[_i].pieces)
        put_text("tokenizer.json", cases[_i].lowercase ? pieces
                                                       : replaced(pieces, "\"lowercase\": true",
                                                                  "\"lowercase\": false"));
    if (cases[_i].lines)
        put_text("vocab.txt", lines);
    rt_vocabulary *v = opened_vocabulary("", NULL);
    ck_assert_int_eq(v->lowercase, cases[_i].expected);
    has_ids(AS_TEXT, v, "A", cases[_i].expected ? "5" : "8");
}

/* The fixture is the tokenizer.json of BertTokenizer for the same vocabulary, by transformers 5.24.
 */
TEST(pieces_are_written_as_transformers_saves_those_of_bert)
{
    char *text;
    put_text("vocab.txt", lines);
    const rt_vocabulary *v = opened_vocabulary("", NULL);
    expect_ok(rt_tokenizer_pieces_file(&text, v));
    owned(text, rt_free);
    json_auto_t *own = json_loads(text, 0, NULL);
    json_auto_t *theirs =
        json_load_file(TEST_SOURCES "/fixtures/wordpiece/tokenizer.json", 0, NULL);
    ck_assert_msg(theirs && json_equal(own, theirs), "%s", text);
    const char *settings = settings_for(v, 16);
    static const char *const tokens[] = {"\"cls_token\": \"[CLS]\"", "\"sep_token\": \"[SEP]\"",
                                         "\"pad_token\": \"[PAD]\"", "\"mask_token\": \"[MASK]\"",
                                         "\"unk_token\": \"[UNK]\""};
    for (int i = 0; i < ROWS(tokens); i++)
        ck_assert_msg(strstr(settings, tokens[i]) != NULL, "no %s in %s", tokens[i], settings);
    ck_assert(!strstr(settings, "bos_token") && !strstr(settings, "eos_token"));
    json_auto_t *object = json_loads(settings, 0, NULL);
    json_auto_t *names = json_pack("[s,s]", "input_ids", "attention_mask");
    ck_assert(json_equal(json_object_get(object, "model_input_names"), names));
    const rt_huggingface_export typed = {.length = 16, .vocabulary = v};
    expect_in(owned(rt_huggingface_tokenizer_text(&typed, true), rt_free),
              "\"input_ids\",\n    \"token_type_ids\",\n    \"attention_mask\"\n");
    remove(in_scratch("vocab.txt"));
    put_text("tokenizer.json", text);
    ck_assert(rt_vocabularies_equal(opened_vocabulary("", NULL), v));
}

static const struct {
    const char *settings, *message;
} bad_settings[] = {
    {"{\"do_lower_case\": 1}", ": do_lower_case must be true or false"},
    {"{\"strip_accents\": false}", ": strip_accents must be as do_lower_case is"},
    {"{\"do_lower_case\": false, \"strip_accents\": true}",
     ": strip_accents must be as do_lower_case is"},
    {"{\"tokenize_chinese_chars\": false}", ": tokenize_chinese_chars must be true"},
    {"{\"do_basic_tokenize\": false}", ": do_basic_tokenize must be true"},
    {"{\"tokenizer_class\": \"CanineTokenizer\"}",
     ": tokenizer_class is 'CanineTokenizer'; 'BertTokenizer', "
     "'RoFormerTokenizer' and 'EsmTokenizer' are read"},
    {"{", ":1: invalid JSON: 'string or '}' expected near end of file'"},
};

TEST_ROWS(settings_unlike_those_of_bert_are_refused_by_their_key, 0, ROWS(bad_settings))
{
    const char *message = lasting("tokenizer_config.json%s", bad_settings[_i].message);
    put_text("tokenizer_config.json", bad_settings[_i].settings);
    put_text("vocab.txt", lines);
    expect_refused("", message);
    ck_assert_int_eq(remove(in_scratch("vocab.txt")), 0);
    put_text("tokenizer.json", pieces);
    expect_refused("", message);
}

TEST_ROWS(a_tokenizer_of_chinese_words_is_a_warning, 0, 2)
{
    put_text("tokenizer_config.json",
             lasting("{\"tokenizer_class\": \"RoFormerTokenizer%s\"}", _i ? "Fast" : ""));
    put_text("vocab.txt", lines);
    opened_vocabulary("", "cuts Chinese into words");
}

TEST(vocab_txt_takes_precedence_over_tokenizer_json)
{
    put_text("tokenizer_config.json", "{");
    ck_assert_ptr_null(opened_vocabulary("", NULL));
    remove(in_scratch("tokenizer_config.json"));
    put_text("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\na\n");
    put_text("tokenizer.json", "{");
    rt_vocabulary *v = opened_vocabulary("", NULL);
    has_ids(AS_TEXT, v, "a b", "6 5");
}

TEST_ROWS(a_pipe_is_refused_without_waiting, 0, 2)
{
    const char *name = _i ? "tokenizer.json" : "vocab.txt";
    ck_assert_int_eq(mkfifo(in_scratch(name), 0600), 0);
    is_status_with(try_vocabulary(""), RT_CHECKPOINT, lasting("%s: cannot be read: ", name));
}

TEST(a_level_of_rotors_own_is_read_without_settings)
{
    put_text("vocab.txt", "[PAD]\n[CLS]\n[MASK]\n[SEP]\n[UNK]\n\\n\nA\n");
    put_text("tokenizer_config.json", "{\"do_lower_case\": true}");
    rt_vocabulary *v = opened_vocabulary("char", NULL);
    ck_assert_int_eq((int)v->level, RT_LEVEL_CHAR);
    ck_assert(!v->lowercase);
    has_ids(AS_TEXT, v, "A\n", "6 5");
    expect_refused("words", "config.json: rotor_level is 'words', which is not known");
    expect_refused("byte", "vocab.txt:5: must be a byte, from 0x00 to 0xff");
}

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
    put_text("vocab.txt", of_esm[_i].lines);
    if (of_esm[_i].config)
        put_text("tokenizer_config.json", of_esm[_i].config);
    rt_vocabulary *v = opened_vocabulary("", NULL);
    ck_assert_int_eq((int)v->level, (int)of_esm[_i].level);
    if (of_esm[_i].level == RT_LEVEL_RESIDUE)
        has_ids(AS_TEXT, v, "LAxA", "4 5 3 5");
    is_written(v, of_esm[_i].lines);
}

TEST(a_vocabulary_that_contradicts_its_tokenizer_class_is_refused)
{
    put_text("vocab.txt", RESIDUES);
    put_text("tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\"}");
    expect_refused("", "vocab.txt: has no line [PAD]");
    put_text("vocab.txt", lines);
    put_text("tokenizer_config.json", "{\"tokenizer_class\": \"EsmTokenizer\"}");
    expect_refused("", "vocab.txt: has no line <pad>");
}

TEST(a_vocabulary_of_residues_is_written_for_transformers)
{
    put_text("vocab.txt", RESIDUES);
    ck_assert_str_eq(settings_for(opened_vocabulary("residue", NULL), 2000),
                     "{\n  \"tokenizer_class\": \"EsmTokenizer\",\n"
                     "  \"model_max_length\": 2000\n}\n");
}

#define TOKEN(id, text)                                                                            \
    "{\"id\": " id ", \"content\": \"" text "\", \"single_word\": false, \"lstrip\": false, "      \
    "\"rstrip\": false, \"normalized\": false, \"special\": true}"

#define BPE_OF(tokens)                                                                             \
    "{\"added_tokens\": [" tokens "],\n"                                                           \
    " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},\n"                \
    " \"decoder\": {\"type\": \"ByteLevel\"},\n"                                                   \
    " \"model\": {\"type\": \"BPE\", \"vocab\": {\"b\": 0, \"a\": 1}, \"merges\": []}}\n"

static const char bpe[] =
    BPE_OF(TOKEN("2", "<s>") ", " TOKEN("3", "<t>") ", " TOKEN("4", "<\xe2\x82\xac>"));

static const struct {
    const char *config;
    int pad, cls, mask, sep;
} bpe_cases[] = {
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

TEST_ROWS(tokenizer_config_sets_the_special_tokens_of_bpe, 0, ROWS(bpe_cases))
{
    put_text("tokenizer.json", bpe);
    if (bpe_cases[_i].config)
        put_text("tokenizer_config.json", bpe_cases[_i].config);
    rt_vocabulary *v = opened_vocabulary(_i % 2 ? "bpe" : "", NULL);
    ck_assert_int_eq((int)v->level, RT_LEVEL_BPE);
    ck_assert_int_eq(v->special.pad, bpe_cases[_i].pad);
    ck_assert_int_eq(v->special.cls, bpe_cases[_i].cls);
    ck_assert_int_eq(v->special.mask, bpe_cases[_i].mask);
    ck_assert_int_eq(v->special.sep, bpe_cases[_i].sep);
    has_ids(AS_TEXT, v, "ab", "1 0");
}

TEST_ROWS(a_malformed_bpe_is_refused_with_its_file, 0, 6)
{
    static const struct {
        const char *tokenizer, *settings, *level, *message;
    } rows[] = {
        {bpe, "{\"bos_token\": \"<u>\"}", "",
         "tokenizer_config.json: bos_token '<u>' is no token of tokenizer.json"},
        {bpe, "{\"eos_token\": 3}", "", "tokenizer_config.json: eos_token must be a token or null"},
        {bpe, "{\"mask_token\": {}}", "",
         "tokenizer_config.json: mask_token must be a token or null"},
        {bpe, "[", "bpe", "tokenizer_config.json:1: invalid JSON: '']' expected near end of file'"},
        {pieces, "[", "bpe", "tokenizer.json: model.type is 'WordPiece'; 'BPE' is read"},
        {"{\"model\": {\"type\": \"BPE\"}}", "[", "",
         "tokenizer.json: model.vocab must be an object"},
    };
    put_text("tokenizer.json", rows[_i].tokenizer);
    put_text("tokenizer_config.json", rows[_i].settings);
    expect_refused(rows[_i].level, rows[_i].message);
}

TEST_ROWS(an_error_in_a_file_beside_vocab_json_is_reported_with_its_file, 0, 9)
{
    static const struct {
        const char *merges, *file, *text, *message;
    } rows[] = {
        {"#version: 0.2\na \xff\n", "added_tokens.json", "{}", "merges.txt: byte 16 is not UTF-8"},
        {"a b\n", "added_tokens.json", "{\"<x>\": \"3\"}",
         "added_tokens.json: '<x>' has no integer as its id"},
        {"a b\n", "tokenizer_config.json",
         "{\"added_tokens_decoder\": {\"3x\": {\"content\": \"<x>\"}}}",
         "tokenizer_config.json: added_tokens_decoder: '3x' is not an id"},
        {"a b\n", "added_tokens.json", "{\"<x>\": 7}",
         "tokenizer.json: added_tokens[0].id must be 3; it is 7"},
        {"a b\n", "tokenizer_config.json", "{\"add_bos_token\": true, \"bos_token\": \"a\"}",
         "tokenizer_config.json: add_bos_token = true is read only from the post-processor of a "
         "tokenizer.json: let transformers save the tokenizer again, which writes one"},
        {"a b\n", "tokenizer_config.json", "{\"add_eos_token\": true}",
         "tokenizer_config.json: add_eos_token = true is read only from the post-processor of a "
         "tokenizer.json: let transformers save the tokenizer again, which writes one"},
        {"a b\n", "tokenizer_config.json", "{\"additional_special_tokens\": [\"a\", \"<x>\"]}",
         "tokenizer_config.json: additional_special_tokens: '<x>' is no added token of the "
         "vocabulary, and its id is not known: let transformers save the tokenizer again"},
        {"a b\n", "tokenizer_config.json", "{\"extra_special_tokens\": {\"image\": \"<x>\"}}",
         "tokenizer_config.json: extra_special_tokens: '<x>' is no added token of the vocabulary, "
         "and its id is not known: let transformers save the tokenizer again"},
        {"a b\n", "special_tokens_map.json",
         "{\"additional_special_tokens\": [{\"content\": \"<x>\"}]}",
         "special_tokens_map.json: additional_special_tokens: '<x>' is no added token of the "
         "vocabulary, and its id is not known: let transformers save the tokenizer again"},
    };
    put_text("vocab.json", "{\"a\": 0, \"b\": 1, \"ab\": 2}");
    put_text("merges.txt", rows[_i].merges);
    put_text(rows[_i].file, rows[_i].text);
    expect_refused("", rows[_i].message);
}

/* Two keys name one token; the options of bos_token apply, which strips the blanks before it. */
TEST(the_first_key_of_a_token_has_its_options)
{
    put_text("vocab.json", "{\"a\": 0, \"\\u0120\": 1, \"<s>\": 2}");
    put_text("merges.txt", "");
    put_text("tokenizer_config.json",
             "{\"tokenizer_class\": \"GPT2Tokenizer\", \"cls_token\": \"<s>\", "
             "\"bos_token\": {\"content\": \"<s>\", \"lstrip\": true}}");
    has_ids(AS_TOKENS, opened_vocabulary("", NULL), "a <s>", "0 2");
}

/* A written vocabulary reads back as the same, whatever the names of its tokens. */
TEST(a_vocabulary_of_bpe_is_written_for_transformers)
{
    put_text("tokenizer.json", bpe);
    put_text("tokenizer_config.json", "{\"bos_token\": \"<t>\", \"mask_token\": \"<s>\"}");
    rt_vocabulary *v = opened_vocabulary("", NULL);
    const char *text = settings_for(v, 64);
    ck_assert_str_eq(text,
                     "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
                     "  \"cls_token\": \"<t>\",\n  \"bos_token\": \"<t>\",\n"
                     "  \"pad_token\": \"<t>\",\n"
                     "  \"mask_token\": \"<s>\",\n  \"model_input_names\": [\n    \"input_ids\",\n"
                     "    \"attention_mask\"\n  ],\n  \"model_max_length\": 64\n}\n");
    put_text("tokenizer_config.json", text);
    ck_assert(rt_vocabularies_equal(v, opened_vocabulary("", NULL)));
}

/* U+00E9 stands for a byte, but not in a token that was added. */
TEST(a_token_with_letters_of_byte_level_text_is_read_and_written_as_it_is)
{
#define DEBUT "<|d\u00e9but|>"
    put_text("tokenizer.json", BPE_OF(TOKEN("2", DEBUT)));
    put_text("tokenizer_config.json", "{\"bos_token\": \"" DEBUT "\"}");
    rt_vocabulary *v = opened_vocabulary("", NULL);
    ck_assert_int_eq(v->special.cls, 2);
    const char *text = settings_for(v, 64);
    expect_in(text, DEBUT);
    ck_assert(!strstr(text, "cls_token") && !strstr(text, "sep_token")); /* as no encoder's */
}

TEST_ROWS(every_allocation_can_fail, 0, 3)
{
    put_text("tokenizer_config.json", "{\"do_lower_case\": false}");
    put_text(_i == 1 ? "vocab.txt" : "tokenizer.json", _i == 1 ? lines : _i ? bpe : pieces);
    expect_ok_after_refusals(5, try_vocabulary(""));
}
