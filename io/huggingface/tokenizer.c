#include "io/huggingface/tokenizer.h"

#include "core/memory.h"
#include "data/tokenizers/words.h"
#include "io/huggingface/json.h"
#include "io/huggingface/private.h"
#include "text/text_file.h"
#include "text/writer.h"

#include <string.h>

#define PIECES RT_HF_PIECES

/* ---- how a text is cut into words ---- */

/* The words must be those of BERT: ideographs apart, accents gone with the capitals. */
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

/* Contents of tokenizer_config.json, which may be missing. */
typedef struct settings {
    bool leaves_words; /* to tokenizer.json, if there is one */
    bool of_esm, of_bert;
    bool lowercase;
    const char *warning;
} settings;

static bool is_among(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

/* A string of a key; "" for any other value. */
static const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}

/* The class that transformers would take; without one it is taken for BERT's. */
static void read_class(rt_reading *r, settings *s)
{
    static const char *const of_bert[] = {"", "BertTokenizer", "BertTokenizerFast", NULL};
    static const char *const general[] = {"PreTrainedTokenizerFast", "TokenizersBackend", NULL};
    static const char *const of_transformer[] = {"RoFormerTokenizer", "RoFormerTokenizerFast",
                                                 NULL};
    char quoted[RT_QUOTE_SIZE];
    const char *word = word_of(r->json, "tokenizer_class");
    s->leaves_words = is_among(word, general);
    s->of_esm = !strcmp(word, "EsmTokenizer");
    s->of_bert = *word && !s->leaves_words && !s->of_esm;
    if (is_among(word, of_transformer))
        s->warning = RT_HF_TOKENIZER ": RoFormerTokenizer cuts Chinese into words before it looks "
                                     "for pieces; here every ideograph is a word, as for "
                                     "BertTokenizer";
    else if (!s->leaves_words && !s->of_esm && !is_among(word, of_bert))
        rt_reading_refuse(r,
                          "tokenizer_class is %s; 'BertTokenizer', 'RoFormerTokenizer' and "
                          "'EsmTokenizer' are read",
                          rt_quote(quoted, word));
}

static rt_status read_settings(const char *folder, settings *s)
{
    json_t *object;
    *s = (settings){.leaves_words = true, .lowercase = true};
    if (!rt_folder_has(folder, RT_HF_TOKENIZER))
        return rt_ok();
    const rt_status status = rt_json_read_file(&object, folder, RT_HF_TOKENIZER);
    rt_reading r = {.json = object, .file = RT_HF_TOKENIZER, .status = status};
    read_class(&r, s);
    if (!s->of_esm) {
        s->lowercase = read_words(&r, "do_lower_case", "tokenize_chinese_chars");
        if (!rt_reading_flag(&r, "do_basic_tokenize", true))
            rt_reading_refuse(&r, "do_basic_tokenize must be true");
    }
    json_decref(object);
    return r.status;
}

/* ---- tokenizer.json ---- */

/* Refuses a part whose type is another than that of BERT. */
static void check_type(rt_reading *r, const char *name, const char *type, const char *others)
{
    char quoted[RT_QUOTE_SIZE];
    const char *found = json_string_value(json_object_get(r->json, "type"));
    if (!found || strcmp(found, type) != 0)
        rt_reading_refuse(r, "the type of %s is %s; %s'%s' %s read", name,
                          found ? rt_quote(quoted, found) : "missing", others, type,
                          *others ? "are" : "alone is");
}

static void expect_word(rt_reading *r, const char *key, const char *wish)
{
    char quoted[RT_QUOTE_SIZE];
    const char *word = word_of(r->json, key);
    if (rt_reading_find(r, key) && strcmp(word, wish) != 0)
        rt_reading_refuse(r, "%s is %s; '%s' alone is read", key, rt_quote(quoted, word), wish);
}

/* Reads how a tokenizer.json cuts a text into words, and a word into pieces. */
static rt_status read_cutting(const json_t *tokenizer, settings *s, json_t **vocab)
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

/* Puts the pieces in the order of their ids, which must be 0 to count - 1. */
static rt_status sort_pieces(json_t *vocab, const char **pieces, size_t count)
{
    const char *piece;
    json_t *id;
    json_object_foreach(vocab, piece, id)
    {
        char quoted[RT_QUOTE_SIZE];
        const json_int_t place = json_is_integer(id) ? json_integer_value(id) : -1;
        if (place < 0 || (uint64_t)place >= count || pieces[place])
            return rt_error(RT_CHECKPOINT,
                            PIECES ": the ids of the %zu pieces must be 0 to %zu, each once; that "
                                   "of %s is not",
                            count, count - 1, rt_quote(quoted, piece));
        if (!*piece || strchr(piece, '\n'))
            return rt_error(RT_CHECKPOINT, PIECES ": the piece of id %d %s", (int)place,
                            *piece ? "has a newline" : "is empty");
        pieces[place] = piece;
    }
    return rt_ok();
}

/* Writes the pieces as the text of a vocab.txt. */
static rt_status write_pieces(json_t *vocab, char **text_new)
{
    const size_t count = json_object_size(vocab);
    const char **pieces = rt_alloc(count, sizeof *pieces);
    rt_writer w = {0};
    if (!pieces)
        return rt_out_of_memory("a vocabulary");
    rt_status status = sort_pieces(vocab, pieces, count);
    for (size_t i = 0; i < count && !status.code; i++)
        rt_writer_add(&w, "%s\n", pieces[i]);
    rt_free(pieces);
    if (status.code) {
        rt_writer_free(&w);
        return status;
    }
    *text_new = rt_writer_take(&w);
    return *text_new ? rt_ok() : rt_out_of_memory("a vocabulary");
}

/* ---- the vocabulary ---- */

static rt_status find_level(const char *word, rt_level *level)
{
    static const char *const words[] = {RT_LEVELS(RT_CHOICE_WORD) NULL};
    char quoted[RT_QUOTE_SIZE];
    *level = RT_LEVEL_WORDPIECE;
    if (!*word)
        return rt_ok();
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word)) {
            *level = (rt_level)i;
            return rt_ok();
        }
    return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": " RT_HF_LEVEL " is %s, which is not known",
                    rt_quote(quoted, word));
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

/* Returns whether a vocab.txt is that of ESM: by its class, or without one by its special tokens.
 */
static bool is_of_esm(const settings *s, const char *text, size_t size)
{
    if (s->of_esm || s->of_bert)
        return s->of_esm;
    return has_line(text, size, rt_special_token(RT_LEVEL_RESIDUE, 1)) &&
           !has_line(text, size, rt_special_token(RT_LEVEL_WORDPIECE, 1));
}

rt_status rt_tokenizer_read(rt_vocabulary **vocabulary_new, const char *folder, const char *level,
                            const char **warning)
{
    rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE};
    const bool lines = rt_folder_has(folder, RT_HF_VOCAB);
    settings s = {0};
    json_t *tokenizer = NULL, *vocab = NULL;
    char *text = NULL;
    size_t size = 0;
    *vocabulary_new = NULL;
    *warning = NULL;
    if (!lines && !rt_folder_has(folder, PIECES))
        return rt_folder_has(folder, RT_HF_WORDS) && rt_folder_has(folder, RT_HF_MERGES)
                   ? rt_tokenizer_read_bpe(vocabulary_new, folder)
                   : rt_ok();
    rt_status status = find_level(level, &kind.level);
    if (!status.code && !lines && kind.level != RT_LEVEL_BPE)
        status = rt_tokenizer_read_json(&tokenizer, folder);
    if (!*level && rt_tokenizer_is_bpe(tokenizer))
        kind.level = RT_LEVEL_BPE;
    if (!status.code && kind.level == RT_LEVEL_BPE) {
        json_decref(tokenizer);
        return rt_tokenizer_read_bpe(vocabulary_new, folder);
    }
    if (!status.code && kind.level == RT_LEVEL_WORDPIECE)
        status = read_settings(folder, &s);
    if (!status.code && !lines)
        status = read_cutting(tokenizer, &s, &vocab);
    if (!status.code)
        status = lines ? rt_folder_read(&text, &size, folder, RT_HF_VOCAB, RT_TEXT_FILE_BYTES)
                       : write_pieces(vocab, &text);
    json_decref(tokenizer);
    if (!status.code && !lines)
        size = strlen(text);
    if (!status.code && lines && !*level && is_of_esm(&s, text, size))
        kind.level = RT_LEVEL_RESIDUE;
    kind.lowercase = kind.level == RT_LEVEL_WORDPIECE && s.lowercase;
    if (!status.code)
        status = rt_vocabulary_read(vocabulary_new, kind, lines ? RT_HF_VOCAB : PIECES,
                                    (const unsigned char *)text, size);
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    if (!status.code)
        *warning = s.warning;
    rt_free(text);
    return status;
}
