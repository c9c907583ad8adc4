/* Reads and writes the files of a tokenizer. */

#include "io/huggingface/tokenizer.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/words.h"
#include "io/huggingface/folder.h"
#include "util/files.h"
#include "util/number.h"
#include "util/utf8.h"
#include "util/writer.h"

#include <stdlib.h>
#include <string.h>

#define PIECES RT_HF_TOKENIZER_JSON

/* Returns whether words are in lower case. Ideographs must be words; accents go with capitals. */
static bool read_words(rt_reading *r, const char *lower_key, const char *ideographs_key)
{
    const bool lowercase = rt_reading_flag(r, lower_key, true);
    const bool strips = rt_reading_flag(r, "strip_accents", lowercase);
    const bool ideographs = rt_reading_flag(r, ideographs_key, true);
    if (strips != lowercase)
        rt_reading_refuse(r, "strip_accents must be as %s is", lower_key);
    if (!ideographs)
        rt_reading_refuse(r, "%s must be true", ideographs_key);
    return lowercase;
}

/* Settings of tokenizer_config.json, which may be missing. */
typedef struct word_settings {
    bool leaves_words; /* tokenizer.json decides, if there is one */
    bool of_esm, of_bert;
    bool lowercase;
    const char *warning;
} word_settings;

/* Generic classes, which do not determine the kind of tokenizer. */
static const char *const general[] = {"PreTrainedTokenizerFast", "TokenizersBackend", NULL};

/* Reads tokenizer_config.json. A tokenizer without a class is BERT's. */
static rt_status read_settings(const char *folder, word_settings *s)
{
    static const char *const of_bert[] = {"", "BertTokenizer", "BertTokenizerFast", NULL};
    static const char *const of_transformer[] = {"RoFormerTokenizer", "RoFormerTokenizerFast",
                                                 NULL};
    json_auto_t *object = NULL;
    *s = (word_settings){.leaves_words = true, .lowercase = true};
    RT_TRY(rt_json_read_optional(&object, folder, RT_HF_TOKENIZER));
    if (!object)
        return rt_ok();
    rt_reading r = {.json = object, .file = RT_HF_TOKENIZER, .status = rt_ok()};
    const char *word = rt_json_word(object, "tokenizer_class");
    s->leaves_words = rt_word_index(general, word) >= 0;
    s->of_esm = !strcmp(word, "EsmTokenizer");
    s->of_bert = *word && !s->leaves_words && !s->of_esm;
    if (rt_word_index(of_transformer, word) >= 0)
        s->warning = RT_HF_TOKENIZER ": RoFormerTokenizer cuts Chinese into words before it looks "
                                     "for pieces; here every ideograph is a word, as for "
                                     "BertTokenizer";
    else if (!s->leaves_words && !s->of_esm && rt_word_index(of_bert, word) < 0)
        rt_reading_refuse(&r,
                          "tokenizer_class is %s; 'BertTokenizer', 'RoFormerTokenizer' and "
                          "'EsmTokenizer' are read",
                          RT_QUOTED(word));
    if (!s->of_esm) {
        s->lowercase = read_words(&r, "do_lower_case", "tokenize_chinese_chars");
        if (!rt_reading_flag(&r, "do_basic_tokenize", true))
            rt_reading_refuse(&r, "do_basic_tokenize must be true");
    }
    return r.status;
}

/* Refuses a part of another type. */
static void check_type(rt_reading *r, const char *name, const char *type, const char *others)
{
    const char *found = json_string_value(json_object_get(r->json, "type"));
    if (!found || strcmp(found, type) != 0)
        rt_reading_refuse(r, "the type of %s is %s; only %s'%s' can be read", name,
                          found ? RT_QUOTED(found) : "missing", others, type);
}

static void expect_word(rt_reading *r, const char *key, const char *wish)
{
    const char *word = rt_json_word(r->json, key);
    if (rt_reading_find(r, key) && strcmp(word, wish) != 0)
        rt_reading_refuse(r, "%s is %s; only '%s' can be read", key, RT_QUOTED(word), wish);
}

/* Reads how a tokenizer.json of WordPiece cuts texts, and finds its pieces. */
static rt_status read_cutting(const json_t *tokenizer, word_settings *s, json_t **vocab)
{
    rt_reading r = {.json = json_object_get(tokenizer, "model"), .file = PIECES};
    check_type(&r, "model", "WordPiece", "'BPE' and ");
    expect_word(&r, "continuing_subword_prefix", "##");
    expect_word(&r, "unk_token", "[UNK]");
    const json_t *most = json_object_get(r.json, "max_input_chars_per_word");
    if (most && json_integer_value(most) != RT_WORD_CHARACTERS)
        rt_reading_refuse(&r, "max_input_chars_per_word must be %d", RT_WORD_CHARACTERS);
    *vocab = json_object_get(r.json, "vocab");
    if (!json_is_object(*vocab))
        rt_reading_refuse(&r, "model.vocab must be an object");
    r.json = json_object_get(tokenizer, "normalizer");
    check_type(&r, "normalizer", "BertNormalizer", "");
    r.json = json_object_get(tokenizer, "pre_tokenizer");
    check_type(&r, "pre_tokenizer", "BertPreTokenizer", "");
    r.json = json_object_get(tokenizer, "normalizer");
    if (s->leaves_words)
        s->lowercase = read_words(&r, "lowercase", "handle_chinese_chars");
    if (!rt_reading_flag(&r, "clean_text", true))
        rt_reading_refuse(&r, "clean_text must be true");
    return r.status;
}

/* Writes the pieces as the text of a vocab.txt, in the order of their ids, which must be 0 to
 * count - 1. */
static rt_status write_pieces(json_t *vocab, char **text_new, size_t *size)
{
    const size_t count = json_object_size(vocab);
    const char *piece;
    RT_OWNED const char **pieces = rt_alloc(count, sizeof *pieces);
    rt_writer w = {0};
    json_t *id;
    RT_TRY(rt_allocated(pieces, "a vocabulary"));
    json_object_foreach(vocab, piece, id)
    {
        const json_int_t place = json_is_integer(id) ? json_integer_value(id) : -1;
        if (place < 0 || (uint64_t)place >= count || pieces[place])
            return rt_error(RT_CHECKPOINT,
                            PIECES ": the ids of the %zu pieces must be 0 to %zu, each once; "
                                   "that of %s is not",
                            count, count - 1, RT_QUOTED(piece));
        if (!*piece || strchr(piece, '\n'))
            return rt_error(RT_CHECKPOINT, PIECES ": the piece of id %d %s", (int)place,
                            *piece ? "has a newline" : "is empty");
        pieces[place] = piece;
    }
    for (size_t i = 0; i < count; i++)
        rt_writer_add(&w, "%s\n", pieces[i]);
    *size = w.length;
    *text_new = rt_writer_take(&w);
    return rt_allocated(*text_new, "a vocabulary");
}

static rt_status read_pieces(json_t **tokenizer_new, const char *folder)
{
    RT_OWNED char *bytes = NULL;
    size_t size;
    *tokenizer_new = NULL;
    RT_TRY(rt_folder_read(&bytes, &size, folder, PIECES, RT_BPE_BYTES));
    return rt_json_parse(tokenizer_new, (rt_json_source){PIECES, .values = RT_BPE_VALUES,
                                                         .bytes = bytes, .size = size});
}

/* Keys of tokenizer_config.json, each with its id; of two keys for one id the last counts. */
static const struct {
    const char *key;
    size_t id; /* offset in rt_special_ids */
} roles[] = {{"cls_token", offsetof(rt_special_ids, cls)},
             {"sep_token", offsetof(rt_special_ids, sep)},
             {"bos_token", offsetof(rt_special_ids, cls)},
             {"eos_token", offsetof(rt_special_ids, sep)},
             {"pad_token", offsetof(rt_special_ids, pad)},
             {"mask_token", offsetof(rt_special_ids, mask)},
             {"unk_token", offsetof(rt_special_ids, unknown)}};
enum { ROLES = sizeof roles / sizeof *roles, UNKNOWN = ROLES - 1 /* set by tokenizer.json */ };

static int32_t *id_of(rt_special_ids *ids, int role)
{
    return (int32_t *)((char *)ids + roles[role].id);
}

/* Returns whether a key names the token of an earlier one for models that continue texts. */
static bool is_alias(int role)
{
    return !strncmp(roles[role].key, "bos", 3) || !strncmp(roles[role].key, "eos", 3);
}

/* Returns the id of a token by its text; RT_NO_ID if there is none. */
static int32_t find_id(const rt_vocabulary *v, const char *text)
{
    const rt_added_token *added = v->bpe ? rt_bpe_added(v->bpe, text, RT_NO_ID) : NULL;
    const size_t size = strlen(text);
    if (added)
        return added->id;
    for (int32_t id = 0; id < v->count; id++) {
        const rt_spelling s = rt_vocabulary_spell(v, id);
        if (s.size == size && !memcmp(s.bytes, text, size))
            return id;
    }
    return RT_NO_ID;
}

/* Returns the text of a token: a string, or the content of an object; NULL if there is none. */
static const char *text_of(const json_t *token)
{
    return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

static rt_status read_roles(rt_vocabulary *v, const char *folder)
{
    json_auto_t *config = NULL;
    rt_special_ids ids = {RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
    RT_TRY(rt_json_read_optional(&config, folder, RT_HF_TOKENIZER));
    for (int i = 0; i < UNKNOWN && config; i++) {
        const char *key = roles[i].key;
        const json_t *found = json_object_get(config, key);
        const char *text = text_of(found);
        int32_t *id = id_of(&ids, i);
        if (!found || json_is_null(found))
            continue;
        *id = text ? find_id(v, text) : RT_NO_ID;
        if (!text)
            return rt_error(RT_CHECKPOINT, RT_HF_TOKENIZER ": %s must be a token or null", key);
        if (*id == RT_NO_ID && strcmp(key, "pad_token") != 0) /* which rotor never uses */
            return rt_error(RT_CHECKPOINT, RT_HF_TOKENIZER ": %s %s is no token of tokenizer.json",
                            key, RT_QUOTED(text));
    }
    if (v->bpe->first != RT_NO_ID) /* by the template, whatever the key says */
        ids.cls = v->bpe->first;
    return config ? rt_bpe_know(v, RT_HF_TOKENIZER, &ids) : rt_ok();
}

/* Lists of further special tokens; an object names their roles. */
static const char *const extra_keys[] = {"extra_special_tokens", "additional_special_tokens"};

/* Refuses further special tokens of a file that the vocabulary lacks: transformers gives them ids
 * of their own. */
static rt_status check_extra(const rt_vocabulary *v, const char *file, const json_t *object)
{
    for (int k = 0; k < 2; k++) {
        json_t *found = json_object_get(object, extra_keys[k]), *token;
        void *member = json_object_iter(found);
        for (size_t i = 0;
             (token = member ? json_object_iter_value(member) : json_array_get(found, i));
             i++, member = member ? json_object_iter_next(found, member) : NULL) {
            const char *text = text_of(token);
            const bool there = text && (v->bpe ? rt_bpe_added(v->bpe, text, RT_NO_ID) != NULL
                                               : find_id(v, text) != RT_NO_ID);
            if (!there)
                return rt_error(RT_CHECKPOINT,
                                "%s: %s: %s is no added token of the vocabulary, and its id is "
                                "not known: let transformers save the tokenizer again",
                                file, extra_keys[k], text ? RT_QUOTED(text) : "an item");
        }
    }
    return rt_ok();
}

/* Refuses an added token that the vocabulary lacks, which would be cut as text. */
static rt_status check_added(const rt_vocabulary *v, const char *file, const char *text,
                             json_int_t id)
{
    return !text || find_id(v, text) == id
               ? rt_ok()
               : rt_error(RT_CHECKPOINT, "%s: the vocabulary has no added token %s with the id %d",
                          file, RT_QUOTED(text), (int)id);
}

/* Checks the added tokens of all files that name some, of tokenizer.json unless it is NULL: those
 * of byte-level BPE are read with the vocabulary. */
static rt_status check_all_added(const rt_vocabulary *v, const char *folder,
                                 const json_t *tokenizer)
{
    json_auto_t *added = NULL, *config = NULL, *map = NULL;
    json_t *token;
    const char *text;
    size_t i;
    RT_TRY(rt_json_read_optional(&added, folder, RT_HF_ADDED));
    RT_TRY(rt_json_read_optional(&config, folder, RT_HF_TOKENIZER));
    RT_TRY(rt_json_read_optional(&map, folder, RT_HF_MAP));
    json_array_foreach(json_object_get(tokenizer, "added_tokens"), i, token)
    {
        RT_TRY(check_added(v, PIECES, text_of(token),
                           json_integer_value(json_object_get(token, "id"))));
    }
    json_object_foreach(added, text, token)
    {
        RT_TRY(check_added(v, RT_HF_ADDED, text, json_integer_value(token)));
    }
    json_object_foreach(json_object_get(config, "added_tokens_decoder"), text, token)
    {
        RT_TRY(check_added(v, RT_HF_TOKENIZER, text_of(token), strtol(text, NULL, 10)));
    }
    RT_TRY(check_extra(v, RT_HF_TOKENIZER, config));
    return check_extra(v, RT_HF_MAP, map);
}

/* Rules by which a class of transformers cuts texts. A folder with vocab.json and merges.txt gets a
 * tokenizer.json by these rules. */
typedef struct tokenizer_class {
    const char *name, *model_type;
    bool nfc;
    rt_pretokenizer cut;
} tokenizer_class;

static const tokenizer_class classes[] = {
    {"GPT2Tokenizer", "gpt2", false, RT_PRETOKENIZER_GPT2},
    {"Qwen2Tokenizer", "qwen2", true, RT_PRETOKENIZER_QWEN2},
    {"Qwen2Tokenizer", "qwen3", true, RT_PRETOKENIZER_QWEN2},
    {"GPTNeoXTokenizer", "gpt_neox", true, RT_PRETOKENIZER_GPT2},
};
enum { CLASSES = sizeof classes / sizeof *classes };

/* Finds the class by tokenizer_class, with or without "Fast", or model_type; default: GPT-2's. */
static rt_status find_class(const tokenizer_class **class, const char *folder,
                            const json_t *settings)
{
    json_auto_t *config = NULL;
    const char *word = json_string_value(json_object_get(settings, "tokenizer_class"));
    *class = &classes[0];
    RT_TRY(rt_json_read_optional(&config, folder, RT_HF_CONFIG));
    const char *type = json_string_value(json_object_get(config, "model_type"));
    const bool by_model = !word || rt_word_index(general, word) >= 0;
    bool known = by_model;
    for (int i = 0; i < CLASSES; i++) {
        const size_t length = strlen(classes[i].name);
        if (by_model ? type && !strncmp(type, classes[i].model_type, strlen(classes[i].model_type))
                     : !strncmp(word, classes[i].name, length) &&
                           (!word[length] || !strcmp(word + length, "Fast"))) {
            *class = &classes[i];
            known = true;
        }
    }
    return known ? rt_ok()
                 : rt_error(RT_CHECKPOINT,
                            RT_HF_TOKENIZER ": tokenizer_class is %s; with vocab.json and "
                                            "merges.txt 'GPT2Tokenizer', 'Qwen2Tokenizer' and "
                                            "'GPTNeoXTokenizer' are read",
                            RT_QUOTED(word));
}

/* Reads the lines of merges.txt as a list, except the version. */
static rt_status read_merges(json_t **list_new, const char *folder)
{
    RT_OWNED char *text = NULL;
    size_t size;
    *list_new = NULL;
    RT_TRY(rt_folder_read(&text, &size, folder, RT_HF_MERGES, RT_BPE_BYTES));
    const size_t valid = rt_utf8_valid((unsigned char *)text, size);
    if (valid < size)
        return rt_error(RT_CHECKPOINT, RT_HF_MERGES ": byte %zu is not UTF-8", valid);
    json_t *list = json_array();
    for (char *line = text, *end = text + size; line < end && list;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        char *next = line + length + 1;
        length -= length && line[length - 1] == '\r';
        if (length && strncmp(line, "#version", 8) != 0)
            rt_json_append(&list, json_stringn(line, length));
        line = next;
    }
    *list_new = list;
    return rt_allocated(list, RT_HF_MERGES);
}

/* Adds a token in the order of ids, unless it is there. */
static rt_status add_token(json_t *list, const char *text, json_int_t id, const json_t *flags,
                           bool special)
{
    const json_t *normalized = json_object_get(flags, "normalized"), *token;
    size_t i, at = 0;
    json_array_foreach(list, i, token)
    {
        if (!strcmp(json_string_value(json_object_get(token, "content")), text))
            return rt_ok();
        at += json_integer_value(json_object_get(token, "id")) < id;
    }
    if (json_array_insert_new(
            list, at,
            json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", id, "content", text, "single_word",
                      json_is_true(json_object_get(flags, "single_word")), "lstrip",
                      json_is_true(json_object_get(flags, "lstrip")), "rstrip",
                      json_is_true(json_object_get(flags, "rstrip")), "normalized",
                      normalized ? json_is_true(normalized) : !special, "special", special)))
        return rt_out_of_memory(PIECES);
    return rt_ok();
}

/* Adds the tokens of added_tokens_decoder, whose keys are ids. */
static rt_status add_decoder(json_t *list, json_t *settings)
{
    const char *number;
    json_t *token;
    json_object_foreach(json_object_get(settings, "added_tokens_decoder"), number, token)
    {
        const char *text = json_string_value(json_object_get(token, "content"));
        const bool special = json_is_true(json_object_get(token, "special"));
        int64_t id;
        if (!rt_integer_parse(number, &id))
            return rt_error(RT_CHECKPOINT,
                            RT_HF_TOKENIZER ": added_tokens_decoder: %s is not an id",
                            RT_QUOTED(number));
        if (text)
            RT_TRY(add_token(list, text, id, token, special));
    }
    return rt_ok();
}

/* Adds special tokens that an object names and that have an id; null: the default; NULL: none. */
static rt_status add_named(json_t *list, const json_t *of, const json_t *vocab, const json_t *added)
{
    /* if two of them name one text, the options of the first count */
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                       "sep_token", "cls_token", "mask_token"};
    enum { NAMES = sizeof keys / sizeof *keys };
    const json_t *const more[] = {json_object_get(of, extra_keys[0]),
                                  json_object_get(of, extra_keys[1])};
    const size_t last = NAMES + json_array_size(more[0]) + json_array_size(more[1]);
    for (size_t i = 0; i < last && of; i++) {
        const size_t n = i < NAMES ? 0 : i - NAMES, first = json_array_size(more[0]);
        const json_t *found = i < NAMES   ? json_object_get(of, keys[i])
                              : n < first ? json_array_get(more[0], n)
                                          : json_array_get(more[1], n - first);
        const char *text = json_is_null(of) ? "<|endoftext|>" : text_of(found);
        const json_t *id = text ? json_object_get(vocab, text) : NULL;
        if (text && !id)
            id = json_object_get(added, text);
        if (json_is_integer(id))
            RT_TRY(add_token(list, text, json_integer_value(id), found, true));
    }
    return rt_ok();
}

/* Refuses add_bos_token and add_eos_token, which have an effect without a tokenizer.json. */
static rt_status check_flags(const json_t *settings)
{
    static const char *const flags[][2] = {{"add_bos_token", "bos_token"},
                                           {"add_eos_token", "eos_token"}};
    for (int i = 0; i < 2; i++) {
        const json_t *token = json_object_get(settings, flags[i][1]);
        if (json_is_true(json_object_get(settings, flags[i][0])) && !json_is_null(token))
            return rt_error(RT_CHECKPOINT,
                            RT_HF_TOKENIZER ": %s = true is read only from the post-processor of a "
                                            "tokenizer.json: let transformers save the tokenizer "
                                            "again, which writes one",
                            flags[i][0]);
    }
    return rt_ok();
}

/* Lists the added tokens of all files; added_tokens.json maps texts to ids. */
static rt_status find_added(json_t **list_new, const char *folder, json_t *settings,
                            const json_t *vocab)
{
    json_t *list = *list_new = json_array(), *id;
    json_auto_t *added = NULL, *map = NULL;
    const char *text;
    RT_TRY(rt_allocated(list, PIECES));
    RT_TRY(rt_json_read_optional(&added, folder, RT_HF_ADDED));
    RT_TRY(rt_json_read_optional(&map, folder, RT_HF_MAP));
    RT_TRY(add_decoder(list, settings));
    RT_TRY(add_named(list, settings, vocab, added));
    RT_TRY(add_named(list, map, vocab, added));
    RT_TRY(add_named(list, json_null(), vocab, added)); /* the default of all classes */
    json_object_foreach(added, text, id)
    {
        if (!json_is_integer(id))
            return rt_error(RT_CHECKPOINT, RT_HF_ADDED ": %s has no integer as its id",
                            RT_QUOTED(text));
        RT_TRY(add_token(list, text, json_integer_value(id), NULL, false));
    }
    return rt_ok();
}

rt_status rt_tokenizer_assemble(char **text_new, const rt_tokenizer_parts *p)
{
    const rt_pretokenizer last = p->cuts[p->cut_count - 1];
    json_t *cutters = json_array();
    for (int i = 0; i < p->cut_count; i++)
        if (rt_bpe_pattern(p->cuts[i]) && p->cuts[i] != RT_PRETOKENIZER_GPT2)
            rt_json_append(&cutters, json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern",
                                               "Regex", rt_bpe_pattern(p->cuts[i]), "behavior",
                                               "Isolated", "invert", 0));
        else if (p->cuts[i] == RT_PRETOKENIZER_DIGIT)
            rt_json_append(&cutters,
                           json_pack("{s:s,s:b}", "type", "Digits", "individual_digits", 1));
    rt_json_append(&cutters, json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space",
                                       p->space_before, "trim_offsets", 1, "use_regex",
                                       last == RT_PRETOKENIZER_GPT2));
    json_t *model = json_pack("{s:s,s:n,s:n,s:s,s:s,s:b,s:b,s:b,s:O,s:O}", "type", "BPE", "dropout",
                              "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix",
                              "", "fuse_unk", 0, "byte_fallback", 0, "ignore_merges",
                              p->ignore_merges, "vocab", p->vocab, "merges", p->merges);
    json_auto_t *whole =
        json_pack("{s:s,s:n,s:n,s:O,s:o,s:{s:s,s:o},s:n,s:{s:s,s:b,s:b,s:b},s:o}", "version", "1.0",
                  "truncation", "padding", "added_tokens", p->added, "normalizer",
                  p->nfc ? json_pack("{s:s}", "type", "NFC") : json_null(), "pre_tokenizer", "type",
                  "Sequence", "pretokenizers", cutters, "post_processor", "decoder", "type",
                  "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1, "model",
                  model);
    *text_new = whole ? rt_json_dump(whole, JSON_INDENT(2), "") : NULL;
    return rt_allocated(*text_new, PIECES);
}

/* Makes the text of a tokenizer.json from vocab.json, merges.txt, and the tokens of
 * tokenizer_config.json, special_tokens_map.json and added_tokens.json. The caller frees it. */
static rt_status file_of_merges(char **text_new, size_t *size, const char *folder)
{
    const tokenizer_class *class = NULL;
    json_auto_t *settings = NULL, *vocab = NULL, *merges = NULL, *added = NULL;
    *text_new = NULL;
    RT_TRY(rt_json_read_optional(&settings, folder, RT_HF_TOKENIZER));
    RT_TRY(find_class(&class, folder, settings));
    RT_TRY(check_flags(settings));
    RT_TRY(rt_json_read_file(&vocab, folder, RT_HF_VOCAB_JSON));
    RT_TRY(read_merges(&merges, folder));
    RT_TRY(find_added(&added, folder, settings, vocab));
    const bool space = json_is_true(json_object_get(settings, "add_prefix_space"));
    RT_TRY(rt_tokenizer_assemble(text_new, &(rt_tokenizer_parts){&class->cut, 1, class->nfc, space,
                                                                 false, vocab, merges, added}));
    *size = strlen(*text_new);
    return rt_ok();
}

static rt_status find_level(const char *word, rt_level *level)
{
    const int i = rt_word_index(rt_level_words, word);
    *level = i < 0 ? RT_LEVEL_WORDPIECE : (rt_level)i;
    if (i >= 0 || !*word)
        return rt_ok();
    return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": " RT_HF_LEVEL " is %s, which is not known",
                    RT_QUOTED(word));
}

static bool has_line(const char *text, size_t size, const char *line)
{
    const size_t length = strlen(line);
    for (const char *at = text, *end = text + size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t found = (size_t)((newline ? newline : end) - at);
        if (found == length && !memcmp(at, line, length))
            return true;
        at += found + 1;
    }
    return false;
}

/* Returns whether a vocab.txt is ESM's: by its class or, without one, by its special tokens. */
static bool is_of_esm(const word_settings *s, const char *text, size_t size)
{
    if (s->of_esm || s->of_bert)
        return s->of_esm;
    return has_line(text, size, rt_special_token(RT_LEVEL_RESIDUE, 1)) &&
           !has_line(text, size, rt_special_token(RT_LEVEL_WORDPIECE, 1));
}

/* Reads the vocabulary of a folder as rt_tokenizer_read, but for its warning. */
static rt_status read_vocabulary(rt_vocabulary **vocabulary_new, const char *folder,
                                 const char *level, word_settings *s)
{
    const bool lines = rt_folder_has(folder, RT_HF_VOCAB), pieces = rt_folder_has(folder, PIECES);
    const bool merges = !lines && !pieces;
    rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    json_auto_t *tokenizer = NULL;
    json_t *vocab = NULL;
    RT_OWNED char *text = NULL;
    size_t size = 0;
    if (merges && !(rt_folder_has(folder, RT_HF_VOCAB_JSON) && rt_folder_has(folder, RT_HF_MERGES)))
        return rt_ok();
    if (!merges)
        RT_TRY(find_level(level, &kind.level));
    if (!lines && kind.level != RT_LEVEL_BPE)
        RT_TRY(read_pieces(&tokenizer, folder));
    const json_t *model = json_object_get(tokenizer, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    if (!*level && (type ? !strcmp(type, "BPE") : json_object_get(model, "merges") != NULL))
        kind.level = RT_LEVEL_BPE;
    if (kind.level == RT_LEVEL_BPE) { /* rt_vocabulary_read parses the file again */
        json_decref(tokenizer);
        tokenizer = NULL;
    }
    if (kind.level == RT_LEVEL_WORDPIECE)
        RT_TRY(read_settings(folder, s));
    if (tokenizer)
        RT_TRY(read_cutting(tokenizer, s, &vocab));
    RT_TRY(vocab    ? write_pieces(vocab, &text, &size)
           : merges ? file_of_merges(&text, &size, folder)
           : kind.level == RT_LEVEL_BPE
               ? rt_folder_read(&text, &size, folder, PIECES, RT_BPE_BYTES)
               : rt_folder_read(&text, &size, folder, RT_HF_VOCAB, RT_TEXT_FILE_BYTES));
    if (lines && !*level && is_of_esm(s, text, size))
        kind.level = RT_LEVEL_RESIDUE;
    kind.lowercase = kind.level == RT_LEVEL_WORDPIECE && s->lowercase;
    const char *name = lines && kind.level != RT_LEVEL_BPE ? RT_HF_VOCAB : PIECES;
    RT_TRY(rt_vocabulary_read(vocabulary_new, kind, name, (const unsigned char *)text, size));
    if (kind.level == RT_LEVEL_BPE)
        RT_TRY(read_roles(*vocabulary_new, folder));
    return kind.level == RT_LEVEL_BYTE || kind.level == RT_LEVEL_CHAR
               ? rt_ok()
               : check_all_added(*vocabulary_new, folder, tokenizer);
}

rt_status rt_tokenizer_read(rt_vocabulary **vocabulary_new, const char *folder, const char *level,
                            const char **warning)
{
    word_settings s = {0};
    *vocabulary_new = NULL;
    rt_status status = read_vocabulary(vocabulary_new, folder, level, &s);
    if (status.code) {
        rt_vocabulary_free(*vocabulary_new);
        *vocabulary_new = NULL;
    }
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    *warning = status.code ? NULL : s.warning;
    return status;
}

/* Creates the text of a token. */
static json_t *written(const rt_vocabulary *v, int32_t id)
{
    const rt_added_token *added = v->bpe ? rt_bpe_added(v->bpe, NULL, id) : NULL;
    const rt_spelling s = rt_vocabulary_spell(v, id);
    return added ? json_stringn(added->text, added->size) : json_stringn(s.bytes, s.size);
}

/* Adds to a template the text of that name or, if it is NULL, a token unless it is RT_NO_ID. */
static void put_piece(json_t **list, const rt_vocabulary *v, int32_t id, const char *text, int type)
{
    if (text || id != RT_NO_ID)
        rt_json_append(list, json_pack("{s:{s:o,s:i}}", text ? "Sequence" : "SpecialToken", "id",
                                       text ? json_string(text) : written(v, id), "type_id", type));
}

static void put_meaning(json_t **tokens, const rt_vocabulary *v, int32_t id)
{
    json_auto_t *name = id == RT_NO_ID ? NULL : written(v, id);
    if (id != RT_NO_ID)
        rt_json_put(tokens, name ? json_string_value(name) : "",
                    json_pack("{s:O,s:[i],s:[O]}", "id", name, "ids", (int)id, "tokens", name));
}

/* Creates the templates "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]". */
static json_t *template_of(const rt_vocabulary *v, rt_text_frame f)
{
    json_t *lists[] = {json_array(), json_array()}, *tokens = json_object();
    put_meaning(&tokens, v, f.first);
    put_meaning(&tokens, v, f.last);
    for (int i = 0; i < 2; i++) {
        put_piece(&lists[i], v, f.first, NULL, 0);
        put_piece(&lists[i], v, 0, "A", 0);
        put_piece(&lists[i], v, f.last, NULL, 0);
    }
    put_piece(&lists[1], v, 0, "B", 1);
    put_piece(&lists[1], v, f.last, NULL, 1);
    return json_pack("{s:s,s:o,s:o,s:o}", "type", "TemplateProcessing", "single", lists[0], "pair",
                     lists[1], "special_tokens", tokens);
}

static bool is_template(const json_t *processor)
{
    return !strcmp(rt_json_word(processor, "type"), "TemplateProcessing");
}

/* Creates a post-processor with another template; other processors of a sequence stay. */
static json_t *processor_of(json_t *old, const rt_vocabulary *v, rt_text_frame f)
{
    json_t *all = json_object_get(old, "processors"), *one, *list = json_array();
    size_t i;
    json_array_foreach(all, i, one) if (!is_template(one)) rt_json_append(&list, json_incref(one));
    if (!all && json_is_object(old) && !is_template(old))
        rt_json_append(&list, json_incref(old));
    if (f.first != RT_NO_ID || f.last != RT_NO_ID)
        rt_json_append(&list, template_of(v, f));
    if (!list || json_array_size(list) > 1)
        return json_pack("{s:s,s:o}", "type", "Sequence", "processors", list);
    json_t *made = json_incref(json_array_size(list) ? json_array_get(list, 0) : json_null());
    json_decref(list);
    return made;
}

rt_status rt_tokenizer_bpe_file(char **text_new, const rt_vocabulary *v, bool begins, bool ends)
{
    static const char key[] = "post_processor";
    const rt_bpe *bpe = v->bpe;
    const int32_t last = bpe->last != RT_NO_ID ? bpe->last : v->special.sep;
    const rt_text_frame f = {begins ? v->special.cls : RT_NO_ID, ends ? last : RT_NO_ID};
    json_auto_t *tokenizer = NULL;
    *text_new = NULL;
    if (f.first == bpe->first && f.last == bpe->last)
        return rt_vocabulary_write(v, text_new);
    RT_OWNED char *file = rt_copy_text(v->file); /* a copy, which parsing changes */
    RT_TRY(rt_allocated(file, PIECES));
    RT_TRY(rt_json_parse(&tokenizer, (rt_json_source){PIECES, .values = RT_BPE_VALUES,
                                                      .bytes = file, .size = strlen(file)}));
    if (!json_object_set_new(tokenizer, key, processor_of(json_object_get(tokenizer, key), v, f)))
        *text_new = rt_json_dump(tokenizer, JSON_INDENT(2), "\n");
    return rt_allocated(*text_new, PIECES);
}

rt_status rt_tokenizer_pieces_file(char **text_new, const rt_vocabulary *v)
{
    rt_special_ids ids = v->special;
    const rt_text_frame around = {ids.cls, ids.sep};
    int32_t count = 0;
    RT_OWNED char *lines = rt_copy_text(v->file); /* each is a piece */
    RT_TRY(rt_allocated(lines, PIECES));
    json_t *vocab = json_object(), *added = json_array();
    for (char *rest = lines, *piece; (piece = strtok_r(rest, "\n", &rest)); count++)
        rt_json_put(&vocab, piece, json_integer(count));
    for (int32_t id = 0; id < v->count; id++)
        for (int i = 0; i < ROLES; i++)
            if (*id_of(&ids, i) == id && !is_alias(i))
                rt_json_append(&added,
                               json_pack("{s:i,s:o,s:b,s:b,s:b,s:b,s:b}", "id", (int)id, "content",
                                         written(v, id), "single_word", 0, "lstrip", 0, "rstrip", 0,
                                         "normalized", 0, "special", 1));
    json_auto_t *whole = json_pack(
        "{s:s,s:n,s:n,s:o,s:{s:s,s:b,s:b,s:n,s:b},s:{s:s},s:o,s:{s:s,s:s,s:b},s:{s:s,s:s,s:s,s:i,"
        "s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer", "type",
        "BertNormalizer", "clean_text", 1, "handle_chinese_chars", 1, "strip_accents", "lowercase",
        v->lowercase, "pre_tokenizer", "type", "BertPreTokenizer", "post_processor",
        template_of(v, around), "decoder", "type", "WordPiece", "prefix", "##", "cleanup", 1,
        "model", "type", "WordPiece", "unk_token", "[UNK]", "continuing_subword_prefix", "##",
        "max_input_chars_per_word", RT_WORD_CHARACTERS, "vocab", vocab);
    *text_new = whole ? rt_json_dump(whole, JSON_INDENT(2), "\n") : NULL;
    return rt_allocated(*text_new, PIECES);
}

/* Writes a class; otherwise transformers takes RoFormerTokenizer, which needs other packages. Some
 * families get a general class in spite of it, for which the tokens must be named. */
char *rt_huggingface_tokenizer_text(const rt_huggingface_export *export, bool has_types)
{
    json_auto_t *made = json_object();
    const rt_level level = export->vocabulary->level;
    rt_special_ids ids = export->vocabulary->special;
    const bool residues = level == RT_LEVEL_RESIDUE, pieces = level == RT_LEVEL_WORDPIECE;
    rt_json_put(&made, "tokenizer_class",
                json_string(level == RT_LEVEL_BPE ? "PreTrainedTokenizerFast"
                            : residues            ? "EsmTokenizer"
                                                  : "BertTokenizer"));
    /* an encoder, which has a mask, has keys of its own for both ends */
    for (int i = ids.mask != RT_NO_ID ? 0 : 2; i < ROLES && (pieces || level == RT_LEVEL_BPE);
         i++) {
        const int32_t id = *id_of(&ids, i);
        if (id != RT_NO_ID && !(pieces && is_alias(i)) &&
            !rt_vocabulary_is_ordinary(export->vocabulary, id))
            rt_json_put(&made, roles[i].key, written(export->vocabulary, id));
    }
    /* some classes return token types by default, others do not */
    if (!residues)
        rt_json_put(&made, "model_input_names",
                    has_types
                        ? json_pack("[s,s,s]", "input_ids", "token_type_ids", "attention_mask")
                        : json_pack("[s,s]", "input_ids", "attention_mask"));
    if (level != RT_LEVEL_BPE && !residues)
        rt_json_put(&made, "do_lower_case", json_boolean(export->lowercase));
    rt_json_put(&made, "model_max_length",
                json_integer(export->length ? export->length : export->positions));
    if (export->chat_template)
        rt_json_put(&made, RT_HF_CHAT_KEY,
                    json_loads(export->chat_template, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
    return rt_json_text(made);
}
