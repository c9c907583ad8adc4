/* Byte-level BPE: ids of texts, tokenizer.json, and errors in it. */

#include "data/tokenizers/bpe.h"
#include "data/tokenizers/tokens.h"

#include "data/samples.h"
#include "tokenizer_fixtures.h"

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* ROTOR_BPE names a folder with others. */
TEST(texts_have_the_ids_of_tokenizers)
{
    const char *given = getenv("ROTOR_BPE");
    ck_assert_int_gt(check_bpe_folders(given ? given : TEST_SOURCES "/fixtures/bpe"), 0);
}

#define G "\xc4\xa0" /* U+0120, a space */

#define TOKEN(id, content, flags)                                                                  \
    "{'id':" id ",'content':'" content "','single_word':false," flags "}"
#define PLAIN   "'lstrip':false,'rstrip':false,'normalized':false,'special':false"
#define SPECIAL "'lstrip':false,'rstrip':false,'normalized':false,'special':true"

/* No piece of "de": bytes that are not in the vocabulary. */
static const char small[] =
    "{'version':'1.0','added_tokens':[" TOKEN("7", "<s>", SPECIAL) "," TOKEN(
        "8", "</s>",
        SPECIAL) "],'normalizer':null,'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,"
                 "'use_regex':true},'post_processor':null,'decoder':{'type':'ByteLevel'},'model':{'"
                 "type':'BPE','dropout':null,'unk_token':null,'byte_fallback':false,'ignore_merges'"
                 ":false,'vocab':{'a':0,'b':1,'c':2,'" G "':3,'ab':4,'abc':5,'" G
                 "a':6,'<s>':7},'merges':[['a','b'],'ab c',['" G "','a']]}}";

/* Returns a text of JSON, whose quotes are single ones in this file. */
static const char *json(const char *text)
{
    char *copy = owned(strdup(text), free);
    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    return copy;
}

static const char *changed(const char *from, const char *to)
{
    return replaced(small, from, to);
}

static const rt_vocabulary_kind of_bpe = {.level = RT_LEVEL_BPE};

static rt_vocabulary *bpe_of(const char *text)
{
    return vocabulary_of(of_bpe, json(text));
}

static rt_status read_bpe(rt_vocabulary **v, rt_vocabulary_kind kind, const char *text)
{
    text = json(text);
    return rt_vocabulary_read(v, kind, "t.json", (const unsigned char *)text, strlen(text));
}

static rt_vocabulary *with(const char *from, const char *to)
{
    return bpe_of(changed(from, to));
}

static void becomes(const rt_vocabulary *v, const char *text, const char *expected)
{
    has_ids(AS_TEXT, v, text, expected);
}

#define MERGES    "['a','b'],'ab c',['" G "','a']"
#define BOTH_ENDS "'lstrip':true,'rstrip':true,'normalized':false,'special':true}"
#define PREFIXED  "'add_prefix_space':false", "'add_prefix_space':true"
#define TWO_ADDED TOKEN("8", "</s>", SPECIAL), TOKEN("8", "ca", PLAIN) "," TOKEN("9", "cab", PLAIN)

/* Ids of texts, with one part of the small file replaced. special: parses special tokens. */
static const struct {
    const char *from, *to;
    bool special;
    const char *text, *ids;
} encodings[] = {
    {"", "", false, "abc ab cab ac", "5 3 4 3 2 4 6 2"},
    {MERGES, "['" G "','a'],'a b'", false, " abc ab", "6 1 2 6 1"},
    {"['a','b'],", "'#version: 0.2','a b',", false, "abc", "5"},
    {"['a','b'],'ab c',", "", false, "abc ab", "0 1 2 6 1"},
    /* of a merge that comes twice the later place holds */
    {"['" G "','a']", "['" G "','a'],['a','b']", false, " abc", "6 1 2"},
    /* a word that is a piece needs no merges */
    {"false,'vocab':{'a':0,'b':1,'c':2,'" G "':3,'ab':4,'abc':5,'" G
     "a':6,'<s>':7},'merges':[['a','b'],'ab c',",
     "true,'vocab':{'a':0,'b':1,'c':2,'" G "':3,'ab':4,'abc':5,'" G "a':6,'<s>':7},'merges':[",
     false, "abc ab", "5 6 1"},
    {"", "", true, "ab<s>abc</s>", "4 7 5 8"},
    {"", "", true, "<s", ""},
    {"", "", false, "ab<s>abc</s>", "4 5"},
    /* of added tokens, which are always found, the longest that fits is taken */
    {TWO_ADDED, false, "acabca", "0 9 8"},
    {SPECIAL "}," TOKEN("8", "</s>", SPECIAL), BOTH_ENDS, true, "a  <s> \xe2\x80\x83 a <s>",
     "0 7 0 7"},
    /* a text without a space before it gets one */
    {PREFIXED, false, "ab", "3 4"},
    {PREFIXED, false, " ab", "3 4"},
    {PREFIXED, false, "c", "3 2"},
    {PREFIXED, true, "<s>c", "7 3 2"},
    /* a byte that has no piece may have a token */
    {"'unk_token':null", "'unk_token':'<s>'", false, "a xx b", "0 3 7 7 3 1"},
    {"'unk_token':null", "'fuse_unk':true,'unk_token':'<s>'", false, "a xx b", "0 3 7 3 1"},
    {"'unk_token':null", "'unk_token':'nothing'", false, "axb", "4"},
};

TEST_ROWS(a_text_has_the_ids_of_its_pieces, 0, ROWS(encodings))
{
    has_ids(encodings[_i].special ? AS_TOKENS : AS_TEXT, with(encodings[_i].from, encodings[_i].to),
            encodings[_i].text, encodings[_i].ids);
}

TEST(special_and_unknown_tokens_are_not_ordinary)
{
    rt_vocabulary *v = with(TWO_ADDED);
    ck_assert(rt_vocabulary_is_ordinary(v, 8) && !rt_vocabulary_is_ordinary(v, 7));
    ck_assert_int_eq(with("'unk_token':null", "'unk_token':'<s>'")->special.unknown, 7);
    v = with(PREFIXED);
    ck_assert_uint_eq(rt_vocabulary_most_ids(v, 10), 20);
    ck_assert_uint_eq(rt_vocabulary_most_ids(v, SIZE_MAX / 2 + 1), SIZE_MAX);
}

/* Ids of tokenizers 0.23.3, which drops a match that is empty because the match before it took its
 * bytes as blanks. The token <s> takes the blanks after it. */
static const struct {
    const char *flags, *ids; /* of a tab, and of the text "a<s>", three tabs, "b" */
} blanks[] = {
    {"'lstrip':true,'rstrip':true", "0 7 1"},
    {"'lstrip':false,'rstrip':true", "0 7 8 8 8 1"},
    {"'lstrip':false,'rstrip':false", "0 7 8 8 8 1"},
};

TEST_ROWS(a_blank_token_within_the_blanks_of_another_is_dropped, 0, 3)
{
    char token[300];
    snprintf(token, sizeof token,
             "'lstrip':false,'rstrip':true,'normalized':false,'special':true},{'id':8,'content':'"
             "\\t','single_word':false,%s,'normalized':false,'special':false}",
             blanks[_i].flags);
    rt_vocabulary *v = with(SPECIAL "}," TOKEN("8", "</s>", SPECIAL), token);
    has_ids(AS_TOKENS, v, "a<s>\t\t\tb", blanks[_i].ids);
    has_ids(AS_TEXT, v, "a\t\tb", _i ? "0 8 8 1" : "0 8 1");
}

TEST(a_byte_that_has_no_piece_is_left_out_and_counted)
{
    int32_t ids[20];
    int count;
    rt_unknown unknown;
    rt_vocabulary *v = bpe_of(small);
    ck_assert_int_eq(v->special.unknown, RT_NO_ID);
    ck_assert(!rt_vocabulary_encode(v, "abxc\xc3\xa9", 6, false, ids, &count, &unknown).code);
    ck_assert_int_eq(count, 1); /* without x, ab and c are neighbours */
    ck_assert_int_eq(ids[0], 5);
    ck_assert_uint_eq(unknown.count, 3);
    ck_assert_uint_eq(unknown.at, 2);
    ck_assert_str_eq(unknown.name, "'x'");
}

TEST(ids_may_have_gaps_which_are_no_tokens)
{
    static const int32_t ordinary[] = {0, 1, 2, 3, 6, 14, 15};
    rt_vocabulary *v = with("'ab':4,'abc':5", "'ab':14,'abc':15");
    size_t size;
    ck_assert_int_eq(v->count, 16);
    ck_assert_int_eq(v->ordinary_count, 7);
    for (int rank = 0; rank < 7; rank++)
        ck_assert_int_eq(v->ordinary[rank], ordinary[rank]);
    ck_assert(!rt_vocabulary_is_ordinary(v, 5) && !rt_vocabulary_decode(v, 5, &size));
    ck_assert_uint_eq(rt_vocabulary_spell(v, 5).size, 0);
    has_ids(AS_TEXT, v, "abc", "15");
}

TEST(ids_are_spelled_as_bytes)
{
    const int32_t ids[] = {7, 4, 6, -1, 2, 99, 8};
    size_t size;
    rt_vocabulary *v = bpe_of(small);
    are_spelled(v, ids, 7, "<s>ab ac</s>", 12);
    ck_assert_str_eq(rt_vocabulary_decode(v, 6, &size), " a");
    ck_assert_uint_eq(size, 2);
    ck_assert(!rt_vocabulary_decode(v, 7, &size));
}

/* pad, cls, mask, sep */
static void has_special(const rt_vocabulary *v, int pad, int cls, int mask, int sep)
{
    ck_assert_int_eq(v->special.pad, pad);
    ck_assert_int_eq(v->special.cls, cls);
    ck_assert_int_eq(v->special.mask, mask);
    ck_assert_int_eq(v->special.sep, sep);
}

TEST(special_ids_are_found_by_template_and_name)
{
    has_special(bpe_of(small), 8, 7, RT_NO_ID, 8);
    has_special(with("'</s>'", "'<mask>'"), 7, 7, 8, RT_NO_ID);
    has_special(with("'</s>'", "'<pad>'"), 8, 7, RT_NO_ID, RT_NO_ID);
    has_special(with(TOKEN("7", "<s>", SPECIAL) ",", ""), 8, 8, RT_NO_ID, 8);
    has_special(with(TOKEN("7", "<s>", SPECIAL) "," TOKEN("8", "</s>", SPECIAL), ""), 0, RT_NO_ID,
                RT_NO_ID, RT_NO_ID);
    has_special(with("'post_processor':null",
                     "'post_processor':{'type':'Sequence','processors':[{'type':'ByteLevel'},{'"
                     "type':'TemplateProcessing','single':[{'SpecialToken':{'id':'</"
                     "s>'}},{'Sequence':{'id':'A'}},{'SpecialToken':{'id':'<s>'}}]}]}"),
                7, 8, RT_NO_ID, 7);
    /* of two behind a text, the first */
    has_special(with("'post_processor':null",
                     "'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{'"
                     "id':'</s>'}},{'Sequence':{'id':'A'}},{'SpecialToken':{'id':'<s>'}},{'Special"
                     "Token':{'id':'</s>'}}]}"),
                7, 8, RT_NO_ID, 7);
}

TEST(known_special_ids_override_those_of_the_file)
{
    rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE,
                               .has_known = true,
                               .known = {RT_NO_ID, 8, 3, 7, RT_NO_ID}};
    rt_vocabulary *v = vocabulary_of(kind, json(small));
    ck_assert(!rt_vocabulary_is_ordinary(v, 3));
    has_special(v, 7, 8, 3, 7);
    has_special(vocabulary_of(rt_vocabulary_kind_of(v), json(small)), 7, 8, 3, 7);
    kind.known = (rt_special_ids){RT_NO_ID, RT_NO_ID, RT_NO_ID, 4, RT_NO_ID};
    /* whose one token begins texts, too */
    has_special(vocabulary_of(kind, json(changed(TOKEN("7", "<s>", SPECIAL) ",", ""))), 4, 8,
                RT_NO_ID, 4);
    kind.known.mask = 9;
    is_status(read_bpe(&v, kind, small), RT_DATA, "t.json: has no id 9, which is to be [MASK]");
}

TEST(the_file_is_written_as_it_was_read)
{
    rt_vocabulary *v = bpe_of(small);
    is_written(v, json(small));
    ck_assert_str_eq(rt_vocabulary_file(v), "tokenizer.json");
}

/* Differences of another file; the last is only written in another way. */
static const char *const differences[][2] = {
    {"'add_prefix_space':false", "'add_prefix_space':true"},
    {"'use_regex':true", "'use_regex':false"},
    {"'normalizer':null", "'normalizer':{'type':'NFC'}"},
    {"'ignore_merges':false", "'ignore_merges':true"},
    {"'unk_token':null", "'unk_token':'<s>'"},
    {"'unk_token':null", "'fuse_unk':true"},
    {"['a','b'],'ab c'", "'ab c',['a','b']"},
    {"['a','b'],", ""},
    {"'a':0,'b':1", "'a':1,'b':0"},
    {"'</s>'", "'</t>'"},
    {TOKEN("7", "<s>", SPECIAL), TOKEN("7", "<s>", PLAIN)},
    {"'lstrip':false", "'lstrip':true"},
    {"'rstrip':false", "'rstrip':true"},
    {"'normalized':false", "'normalized':true"},
    {"'ab c'", "['ab',\n'c']"},
};

TEST_ROWS(vocabularies_that_cut_in_another_way_differ, 0, ROWS(differences))
{
    rt_vocabulary *a = bpe_of(small), *b = with(differences[_i][0], differences[_i][1]);
    ck_assert_int_eq(rt_vocabularies_equal(a, b), _i == ROWS(differences) - 1);
    ck_assert(rt_vocabularies_equal(a, a) && !rt_vocabularies_equal(a, NULL));
}

#define CUTTER(part)                                                                               \
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'use_regex':true}",              \
        "'pre_tokenizer':" part
#define CUTTERS(parts) CUTTER("{'type':'Sequence','pretokenizers':[" parts "]}")
#define OF_TYPE(type)  "{'type':'" type "'}"
#define SPLIT(pattern, behavior)                                                                   \
    CUTTERS("{'type':'Split','pattern':{" pattern "},'behavior':'" behavior                        \
            "','invert':false}," OF_TYPE("ByteLevel"))
#define READ_BEFORE "; 'ByteLevel' is read, and before it 'Digits' and 'Split'"

static const struct refusal {
    const char *from, *to, *says;
} refusals[] = {
    {"{'version'", "{'version", ":1: invalid JSON: "},
    {"{'version'", "['version'", ":1: invalid JSON: "},
    {"'a':0", "'a':0,'a':0", ":1: invalid JSON: 'duplicate object key near "},
    {"'type':'BPE'", "'type':'Unigram'", ": model.type is 'Unigram'; 'BPE' is read"},
    {"'post_processor':null", "'post_processor':{'type':'Sequence'}",
     ": post_processor.processors must be a list"},
    {"'vocab':{", "'vocab':{'q':{", ""},
    {"'vocab':", "'vocap':", ": model.vocab must be an object"},
    {"'merges':", "'nothing':", ": model.merges must be a list"},
    {"'a':0", "'a':-1", ": model.vocab: the id of 'a' must be from 0 to 999999"},
    {"'a':0", "'a':1000000", ": model.vocab: the id of 'a' must be from 0 to 999999"},
    {"'a':0", "'a':0.5", ": model.vocab: the id of 'a' must be from 0 to 999999"},
    {"'a':0", "'a':1", ": model.vocab: the id 1 is that of two pieces, one is 'b'"},
    {"'a':0", "'a':0,'a b':9", ": model.vocab: 'a b' is no byte-level text"},
    {"'a':0", "'a':0,'':9", ": model.vocab: the piece of id 9 is empty"},
    {"'ab c'", "'abc'", ": model.merges[1] must be two pieces, as a list or with a space"},
    {"'ab c'", "'a b c'", ": model.merges[1] must be two pieces, as a list or with a space"},
    {"'ab c'", "['a']", ": model.merges[1] must be two pieces, as a list or with a space"},
    {"'ab c'", "['a','b','c']", ": model.merges[1] must be two pieces, "},
    {"'ab c'", "7", ": model.merges[1] must be two pieces, as a list or with a space between"},
    {"'ab c'", "'d c'", ": model.merges[1]: 'd' is not in model.vocab"},
    {"'ab c'", "'ab d'", ": model.merges[1]: 'd' is not in model.vocab"},
    {"'ab c'", "'b c'", ": model.merges[1]: 'bc' is not in model.vocab"},
    {"'dropout':null", "'dropout':0.1", ": model.dropout must be null"},
    {"'dropout':null", "'continuing_subword_prefix':'##'",
     ": model.continuing_subword_prefix must be null"},
    {"'dropout':null", "'end_of_word_suffix':'</w>'", ": model.end_of_word_suffix must be null"},
    {"'byte_fallback':false", "'byte_fallback':true",
     ": model.byte_fallback must be false: the pieces must be of bytes, as those of ByteLevel are"},
    {"'ignore_merges':false", "'ignore_merges':1", ": model.ignore_merges must be true or false"},
    {"'unk_token':null", "'unk_token':1", ": model.unk_token must be a piece or null"},
    {"'normalizer':null", "'normalizer':" OF_TYPE("NFD"),
     ": normalizer is 'NFD'; null, 'NFC', 'NFKC' and a 'Sequence' of these are read"},
    {"'normalizer':null",
     "'normalizer':{'type':'Sequence','normalizers':[{'type':'NFC'},{'type':'Lowercase'}]}",
     ": normalizer is 'Lowercase'; null, 'NFC', 'NFKC' and a 'Sequence' of these are read"},
    {"'normalizer':null", "'normalizer':{'type':'Sequence'}",
     ": normalizer.normalizers must be a list"},
    {CUTTER("null"), ": pre_tokenizer, at its end, is missing" READ_BEFORE},
    {CUTTER(OF_TYPE("Metaspace")), ": pre_tokenizer, at its end, is 'Metaspace'" READ_BEFORE},
    {CUTTERS(OF_TYPE("Punctuation") "," OF_TYPE("ByteLevel")),
     ": pre_tokenizer is 'Punctuation'" READ_BEFORE},
    {CUTTERS(OF_TYPE("ByteLevel") "," OF_TYPE("Digits")),
     ": pre_tokenizer is 'ByteLevel'" READ_BEFORE},
    {CUTTERS(""), ": pre_tokenizer.pretokenizers must be a list"},
    {CUTTERS(OF_TYPE("Digits") "," OF_TYPE("Digits") "," OF_TYPE("Digits") "," OF_TYPE(
         "Digits") "," OF_TYPE("ByteLevel")),
     ": pre_tokenizer cuts a text more than 4 times"},
    {SPLIT("'Regex':'\\\\p{L}+|x'", "Isolated"),
     ": pre_tokenizer: Split has the pattern '\\p{L}+|x', which is none of those that are read: "
     "GPT-2's, GPT-4's and LLaMA 3's, Qwen2's"},
    {SPLIT("'String':' '", "Isolated"), ": pre_tokenizer: Split has no pattern with Regex"},
    {SPLIT("'Regex':'x'", "Removed"),
     ": pre_tokenizer: the behavior of Split is 'Removed'; 'Isolated' is read"},
    {"'use_regex':true", "'use_regex':3", ": pre_tokenizer.use_regex must be true or false"},
    {"'decoder':{'type':'ByteLevel'}", "'decoder':null",
     ": decoder is missing; 'ByteLevel' is read"},
    {"'post_processor':null", "'post_processor':{'type':'BertProcessing'}",
     ": post_processor is 'BertProcessing'; 'ByteLevel' and 'TemplateProcessing' are read"},
    {"'post_processor':null", "'post_processor':{'type':'TemplateProcessing','single':[]}",
     ": post_processor.single must be a list with a Sequence"},
    {"'post_processor':null",
     "'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'</s>'}},"
     "{'SpecialToken':{'id':'<s>'}},{'Sequence':{'id':'A'}}]}",
     ": post_processor.single has more than one token before the text"},
    {"'id':8", "'id':9", ": added_tokens[1].id must be 8; it is 9"},
    {"'id':8", "'id':6", ": added_tokens[1]: its id 6 is that of "},
    {"'id':8", "'id':-1", ": added_tokens[1].id must be from 0 to 999999"},
    {"'id':7", "'id':9", ": added_tokens[0].id must be 7; it is 9"},
    {"'content':'</s>'", "'content':''",
     ": added_tokens[1].content must be a text of 1 to 512 bytes"},
    {"'content':'</s>'", "'content':'<s>'", ": added_tokens[1].id must be 7; it is 8"},
    {"'id':8,'content':'</s>'", "'id':7,'content':'<s>'", ": added_tokens has '<s>' twice"},
    {"'single_word':false", "'single_word':true", ": added_tokens[0].single_word must be false"},
    {"'special':true", "'special':'yes'", ": added_tokens[0].special must be true or false"},
    {"'a':0,'b':1,'c':2,'" G "':3,'ab':4,'abc':5,'" G
     "a':6,'<s>':7},'merges':[['a','b'],'ab c',['" G "','a']]",
     "'<s>':7,'</s>':8},'merges':[]", ": has no token beside the special ones"},
};

TEST_ROWS(a_file_that_is_no_byte_level_bpe_is_refused_by_its_key, 0, ROWS(refusals))
{
    const struct refusal *r = &refusals[_i];
    rt_vocabulary *v;
    rt_status status = read_bpe(&v, of_bpe, changed(r->from, r->to));
    ck_assert_int_eq(status.code, RT_DATA);
    ck_assert_msg(!v && !strncmp(status.message, "t.json", 6) &&
                      !strncmp(status.message + 6, r->says, strlen(r->says)),
                  "'t.json%s' expected; got: %s", r->says, status.message);
}

/* Jansson ignores a zero byte after a number; a checkpoint would keep the file up to it. */
TEST(a_zero_in_the_file_is_refused)
{
    rt_vocabulary *v;
    char *file = strdup(json(lasting("{'one': 1 ,%s", small + 1)));
    const size_t size = strlen(file);
    expect_ok(rt_vocabulary_read(&v, of_bpe, "file", (unsigned char *)file, size));
    rt_vocabulary_free(v);
    *strstr(file, " ,") = '\0';
    is_status(rt_vocabulary_read(&v, of_bpe, "file", (unsigned char *)file, size), RT_DATA,
              "file:1: byte 0x00 is not valid in JSON");
    free(file);
    ck_assert_int_eq(read_bpe(&v, of_bpe, "").code, RT_DATA);
}

/* A word that is joined again and again, longer than any that is kept. */
TEST(a_megabyte_without_blanks_is_tokenized)
{
    enum { SIZE = 1 << 20 };
    char *text = owned(rt_alloc(SIZE, 1), rt_free);
    int32_t *ids = owned(rt_alloc(SIZE, sizeof *ids), rt_free);
    rt_unknown unknown;
    int count;
    rt_vocabulary *v = bpe_of(small);
    for (int i = 0; i < SIZE; i++)
        text[i] = "abcab"[i % 5];
    ck_assert(!rt_vocabulary_encode(v, text, SIZE, false, ids, &count, &unknown).code);
    ck_assert_int_eq(count, SIZE / 5 * 2 + 1);
    for (int i = 0; i + 1 < count; i++)
        ck_assert_int_eq(ids[i], i % 2 ? 4 : 5);
}

/* Each word comes twice: the second finds the cached ids of the first if it is short enough. */
TEST(a_repeated_word_has_the_same_ids)
{
    enum { LONGEST = 40, TURNS = 8, SIZE = TURNS * LONGEST * (LONGEST + 3) };
    char *text = owned(rt_alloc(SIZE, 1), rt_free);
    int32_t *ids = owned(rt_alloc(SIZE, sizeof *ids), rt_free);
    rt_unknown unknown;
    size_t size = 0;
    int count, at = 0;
    rt_vocabulary *v = bpe_of(small);
    for (int i = 0; i < 2 * TURNS * LONGEST; i++) {
        text[size++] = ' ';
        for (int k = 0; k < 1 + i / 2 % LONGEST; k++)
            text[size++] = "abc"[k % 3];
    }
    ck_assert_uint_eq(size, SIZE);
    ck_assert(!rt_vocabulary_encode(v, text, size, false, ids, &count, &unknown).code);
    for (int i = 0; i < 2 * TURNS * LONGEST; i++) {
        const int letters = 1 + i / 2 % LONGEST;
        ck_assert_int_eq(ids[at++], letters == 1 ? 6 : 3);
        for (int k = 0; k + 3 <= letters; k += 3)
            ck_assert_msg(ids[at++] == 5, "turn %d of %d letters", i, letters);
        if (letters > 1 && letters % 3)
            ck_assert_int_eq(ids[at++], letters % 3 == 1 ? 0 : 4);
    }
    ck_assert_int_eq(at, count);
}

static void is_formed(rt_form form, const char *text, const char *expected)
{
    unsigned char *formed;
    size_t size;
    ck_assert(
        !rt_normal_form(form, &formed, &size, (const unsigned char *)text, strlen(text)).code);
    formed[size] = '\0';
    ck_assert_str_eq((char *)formed, expected);
    ck_assert(size <= rt_normal_form_growth(form) * strlen(text));
    rt_free(formed);
}

static const struct {
    rt_form form;
    const char *text, *expected;
} forms[] = {
    {RT_FORM_NFC, "e\xcc\x81z", "\xc3\xa9z"},
    {RT_FORM_NFC, "a\xcc\xa3\xcc\x88", "\xe1\xba\xa1\xcc\x88"}, /* a, dot below, diaeresis */
    {RT_FORM_NFC, "a\xcc\x88\xcc\xa3", "\xe1\xba\xa1\xcc\x88"}, /* their order does not count */
    {RT_FORM_NFC, "a\xcc\x88\xcc\x84", "\xc7\x9f"},             /* a, diaeresis, macron */
    {RT_FORM_NFC, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "\xed\x95\x9c"}, /* Hangul */
    {RT_FORM_NFC, "\xcc\x81z", "\xcc\x81z"},                               /* nothing to join */
    {RT_FORM_NFC, "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc"},             /* never composed */
    {RT_FORM_NFKC, "\xef\xac\x81", "fi"},                                  /* a ligature */
    {RT_FORM_NFKC, "\xef\xbc\xa1\xc2\xa0x", "A x"},  /* full width, no-break space */
    {RT_FORM_NFKC, "x\xc2\xb2\xe2\x85\xa3", "x2IV"}, /* superscript, Roman number */
    {RT_FORM_NFKC, "e\xcc\x81", "\xc3\xa9"},
    {RT_FORM_NFKC, "\xef\xb7\xba", /* the longest: 18 characters */
     "\xd8\xb5\xd9\x84\xd9\x89 \xd8\xa7\xd9\x84\xd9\x84\xd9\x87 "
     "\xd8\xb9\xd9\x84\xd9\x8a\xd9\x87 \xd9\x88\xd8\xb3\xd9\x84\xd9\x85"},
};

TEST_ROWS(letters_and_marks_are_composed, 0, ROWS(forms))
{
    is_formed(forms[_i].form, forms[_i].text, forms[_i].expected);
}

TEST(a_text_in_normal_form_is_recognized)
{
    ck_assert(rt_normal_form_is_plain(RT_FORM_NFC, (const unsigned char *)"ab\xc3\xa9\xcb\xbf", 6));
    ck_assert(!rt_normal_form_is_plain(RT_FORM_NFC, (const unsigned char *)"e\xcc\x81", 3));
    ck_assert(rt_normal_form_is_plain(RT_FORM_NFKC, (const unsigned char *)"ab~", 3));
    ck_assert(!rt_normal_form_is_plain(RT_FORM_NFKC, (const unsigned char *)"\xc2\xa0", 2));
}

/* Every form, alone or in a sequence; the text is a full-width a and an acute accent. */
static const struct {
    const char *normalizer, *ids;
} normalizers[] = {
    {"{'type':'Sequence','normalizers':[]}", "0 8"},
    {"{'type':'NFC'}", "0 8"},
    {"{'type':'NFKC'}", "0 8 0"},
    {"{'type':'Sequence','normalizers':[{'type':'NFKC'},{'type':'NFC'}]}", "0 8 0"},
};

/* The added token is found in the normalized text, in whichever form the file has it. */
TEST_ROWS(a_text_is_normalized_as_the_file_says, 0, 4)
{
    const char *file = changed(TOKEN("8", "</s>", SPECIAL),
                               "{'id':8,'content':'e\xcc\x81','single_word':false,'lstrip':false,'"
                               "rstrip':false,'normalized':true,'special':false}");
    file =
        replaced(file, "'normalizer':null", lasting("'normalizer':%s", normalizers[_i].normalizer));
    becomes(bpe_of(file), "a\xc3\xa9\xef\xbd\x81", _i ? normalizers[_i].ids : "0");
    becomes(bpe_of(file), "ae\xcc\x81\xef\xbd\x81", normalizers[_i].ids);
}

TEST(a_text_of_marks_is_sorted_by_class)
{
    char text[200] = "x", expected[200] = "x";
    for (int i = 0; i < 20; i++) {
        strcat(text, "\xcc\x81\xcc\xa3"); /* class 230, class 220 */
        strcat(expected, "\xcc\xa3");
    }
    for (int i = 0; i < 20; i++)
        strcat(expected, "\xcc\x81");
    is_formed(RT_FORM_NFC, text, expected);
}

static rt_data_options text_options(const char *file, const char *text)
{
    rt_data_options o = options_with("text", "level=bpe objective=lm length=3");
    o.file = write_text("a", text);
    o.vocab_file = write_text("b", json(file));
    return o;
}

TEST(a_sequence_begins_with_the_token_that_begins_a_text)
{
    rt_data_options o = text_options(small, "ab ab ab ab ab ab ab ab ab ab ab ab <s>");
    rt_data *data = source(&o);
    rt_batch batch = training_of(data, 2, 3);
    ck_assert_int_eq(data->vocab, 9);
    ck_assert(batch.ids[0] == 7 && batch.ids[3] == 7);
    for (int t = 1; t < 3; t++)
        ck_assert(batch.ids[t] < 7 && batch.labels[t - 1] == batch.ids[t]);
    ck_assert_uint_eq(data->unknown[RT_PART_TRAINING].count, 3); /* of <s> */
}

TEST(a_task_whose_special_token_is_missing_is_refused)
{
    const char *none = changed(TOKEN("7", "<s>", SPECIAL) "," TOKEN("8", "</s>", SPECIAL), "");
    const char *begin = changed("'</s>'", "'<pad>'");
    rt_data_options o = text_options(small, "ab ab ab ab ab ab ab ab ab ab ab ab");
    o.objective = RT_OBJECTIVE_MLM;
    is_refused(&o, NULL, RT_CONFIG,
               "data.objective = mlm needs a mask token, such as <mask>; the vocabulary has no "
               "such special token");
    o.vocab_file = NULL;
    o.level = RT_LEVEL_BYTE;
    is_refused(&o, bpe_of(small), RT_CONFIG,
               "data.level cuts a text into bytes, but the vocabulary of the model has pieces");
    o = text_options(none, "ab ab ab ab ab ab ab ab ab ab ab ab");
    is_refused(&o, NULL, RT_CONFIG,
               "data.task = text needs a token that begins a sequence, such as <s> or "
               "<|endoftext|>; the vocabulary has no such special token");
    o.vocab_file = NULL;
    is_refused(&o, NULL, RT_CONFIG,
               "data.vocab_file must name a tokenizer.json for data.level = bpe");
    o = text_options(begin, "x");
    o.task = task_named("tag");
    o.file = write_text("a", "a\tX\nb\tY\n\na\tX\n");
    is_refused(&o, NULL, RT_CONFIG,
               "data.task = tag needs tokens that begin and end a text, such as <s> and </s>");
}

/* A text of which no token is hidden may speak of [MASK]. */
TEST(the_word_for_a_mask_is_text_where_there_is_none)
{
    has_masks(bpe_of(small), false, "ab[MASK]c", "7 4 2", 0);
    rt_vocabulary *v = with("'</s>'", "'<mask>'");
    has_masks(v, false, "ab[MASK]c", "7 4 8 2", 1);
    has_masks(v, true, "a<s>[MASK]c", "0 7 8 2", 1);
    has_masks(v, false, "ab [MASK]c", "7 4 8 2", 1); /* the blank is the mask's */
    has_masks(v, false, "[MASK]ab<mask>c", "7 8 4 8 2", 2);
}

/* With lstrip and rstrip, as the mask of ModernBERT has the first. */
TEST(blanks_beside_a_mask_are_its_own_where_its_token_says_so)
{
    static const char text[] = "ab \t[MASK]  c";
    static const char both[] = TOKEN("8", "[MASK]", "'lstrip':true,'rstrip':true,'special':true");
    static const char left[] = TOKEN("8", "[MASK]", "'lstrip':true,'special':true");
    has_masks(with(TOKEN("8", "</s>", SPECIAL), both), false, text, "7 4 8 2", 1);
    has_masks(with(TOKEN("8", "</s>", SPECIAL), left), false, text, "7 4 8 3 3 2", 1);
}

TEST(every_allocation_may_fail)
{
    const char *file = changed("'normalizer':null", "'normalizer':{'type':'NFC'}");
    char text[4096];
    file = replaced(file, "'add_prefix_space':false", "'add_prefix_space':true");
    for (size_t i = 0; i + 4 < sizeof text; i += 4)
        memcpy(text + i, "a\xcc\x81 ", 5);
    const rt_data_options o = text_options(file, text);
    open_with_refusals(&o, 1);
}
