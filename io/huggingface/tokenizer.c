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

/* Reads a flag; `otherwise` if the key is absent or null. */
static rt_status read_bool(const json_t *object, const char *file, const char *key, bool otherwise,
                           bool *value)
{
    const json_t *found = json_object_get(object, key);
    *value = json_is_boolean(found) ? json_is_true(found) : otherwise;
    return !found || json_is_null(found) || json_is_boolean(found)
               ? rt_ok()
               : rt_error(RT_CHECKPOINT, "%s: %s must be true or false", file, key);
}

/* The words must be those of BERT: ideographs apart, accents gone with the capitals. */
static rt_status read_words(const json_t *object, const char *file, const char *lower_key,
                            const char *ideographs_key, bool *lowercase)
{
    bool strips, ideographs;
    rt_status status = read_bool(object, file, lower_key, true, lowercase);
    if (!status.code)
        status = read_bool(object, file, "strip_accents", *lowercase, &strips);
    if (!status.code)
        status = read_bool(object, file, ideographs_key, true, &ideographs);
    if (status.code)
        return status;
    if (strips != *lowercase)
        return rt_error(RT_CHECKPOINT, "%s: strip_accents must be as %s is", file, lower_key);
    if (!ideographs)
        return rt_error(RT_CHECKPOINT, "%s: %s must be true", file, ideographs_key);
    return rt_ok();
}

static rt_status expect_word(const json_t *object, const char *file, const char *key,
                             const char *wish)
{
    char quoted[RT_QUOTE_SIZE];
    const json_t *found = json_object_get(object, key);
    const char *word = json_is_string(found) ? json_string_value(found) : "";
    if (!found || json_is_null(found) || !strcmp(word, wish))
        return rt_ok();
    return rt_error(RT_CHECKPOINT, "%s: %s is %s; '%s' alone is read", file, key,
                    rt_quote(quoted, word), wish);
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

/* The class that transformers would take; without one it is taken for BERT's. */
static rt_status read_class(const json_t *object, settings *s)
{
    static const char *const of_bert[] = {"", "BertTokenizer", "BertTokenizerFast", NULL};
    static const char *const general[] = {"PreTrainedTokenizerFast", "TokenizersBackend", NULL};
    static const char *const of_esm[] = {"EsmTokenizer", NULL};
    static const char *const of_transformer[] = {"RoFormerTokenizer", "RoFormerTokenizerFast",
                                                 NULL};
    char quoted[RT_QUOTE_SIZE];
    const json_t *found = json_object_get(object, "tokenizer_class");
    const char *word = json_is_string(found) ? json_string_value(found) : "";
    s->leaves_words = is_among(word, general);
    s->of_esm = is_among(word, of_esm);
    s->of_bert = *word && !s->leaves_words && !s->of_esm;
    if (is_among(word, of_transformer))
        s->warning = RT_HF_TOKENIZER ": RoFormerTokenizer cuts Chinese into words before it looks "
                                     "for pieces; here every ideograph is a word, as for "
                                     "BertTokenizer";
    else if (!s->leaves_words && !s->of_esm && !is_among(word, of_bert))
        return rt_error(RT_CHECKPOINT,
                        RT_HF_TOKENIZER ": tokenizer_class is %s; 'BertTokenizer', "
                                        "'RoFormerTokenizer' and 'EsmTokenizer' are read",
                        rt_quote(quoted, word));
    return rt_ok();
}

static rt_status read_settings(const char *folder, settings *s)
{
    json_t *object;
    bool basic = true;
    *s = (settings){.leaves_words = true, .lowercase = true};
    if (!rt_folder_has(folder, RT_HF_TOKENIZER))
        return rt_ok();
    rt_status status = rt_json_read_file(&object, folder, RT_HF_TOKENIZER);
    if (!status.code)
        status = read_class(object, s);
    if (!status.code && !s->of_esm)
        status = read_words(object, RT_HF_TOKENIZER, "do_lower_case", "tokenize_chinese_chars",
                            &s->lowercase);
    if (!status.code && !s->of_esm)
        status = read_bool(object, RT_HF_TOKENIZER, "do_basic_tokenize", true, &basic);
    if (!status.code && !basic)
        status = rt_error(RT_CHECKPOINT, RT_HF_TOKENIZER ": do_basic_tokenize must be true");
    json_decref(object);
    return status;
}

/* ---- tokenizer.json ---- */

/* A part of it that must be there, of the type that BERT has. */
static rt_status find_part(const json_t *tokenizer, const char *name, const char *type,
                           const json_t **part)
{
    *part = json_object_get(tokenizer, name);
    const char *found = json_string_value(json_object_get(*part, "type"));
    char quoted[RT_QUOTE_SIZE];
    if (found && !strcmp(found, type))
        return rt_ok();
    return rt_error(RT_CHECKPOINT, PIECES ": the type of %s is %s; '%s' alone is read", name,
                    found ? rt_quote(quoted, found) : "missing", type);
}

/* Reads how the tokenizer cuts a text into words. */
static rt_status read_cutting(const json_t *tokenizer, settings *s)
{
    const json_t *normalizer, *cutter;
    bool cleans = true;
    rt_status status = find_part(tokenizer, "normalizer", "BertNormalizer", &normalizer);
    if (!status.code)
        status = find_part(tokenizer, "pre_tokenizer", "BertPreTokenizer", &cutter);
    if (!status.code && s->leaves_words)
        status = read_words(normalizer, PIECES, "lowercase", "handle_chinese_chars", &s->lowercase);
    if (!status.code)
        status = read_bool(normalizer, PIECES, "clean_text", true, &cleans);
    if (!status.code && !cleans)
        status = rt_error(RT_CHECKPOINT, PIECES ": clean_text must be true");
    return status;
}

/* Reads how the tokenizer cuts a word into pieces. */
static rt_status read_model(const json_t *tokenizer, json_t **vocab)
{
    const json_t *model = json_object_get(tokenizer, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    char quoted[RT_QUOTE_SIZE];
    rt_status status = rt_ok();
    if (!type || strcmp(type, "WordPiece") != 0)
        status = rt_error(RT_CHECKPOINT,
                          PIECES ": the type of model is %s; 'BPE' and 'WordPiece' are read",
                          type ? rt_quote(quoted, type) : "missing");
    if (!status.code)
        status = expect_word(model, PIECES, "continuing_subword_prefix", "##");
    if (!status.code)
        status = expect_word(model, PIECES, "unk_token", "[UNK]");
    const json_t *most = json_object_get(model, "max_input_chars_per_word");
    if (!status.code && most && json_integer_value(most) != RT_WORD_CHARACTERS)
        status = rt_error(RT_CHECKPOINT, PIECES ": max_input_chars_per_word must be %d",
                          RT_WORD_CHARACTERS);
    *vocab = json_object_get(model, "vocab");
    if (!status.code && !json_is_object(*vocab))
        status = rt_error(RT_CHECKPOINT, PIECES ": model.vocab must be an object");
    return status;
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

static rt_status read_pieces(const char *folder, char **text_new, settings *s)
{
    json_t *tokenizer, *vocab;
    rt_status status = rt_tokenizer_read_json(&tokenizer, folder);
    if (!status.code)
        status = read_model(tokenizer, &vocab);
    if (!status.code)
        status = read_cutting(tokenizer, s);
    if (!status.code)
        status = write_pieces(vocab, text_new);
    json_decref(tokenizer);
    return status;
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

/* Finds out whether tokenizer.json has BPE, if that matters. */
static rt_status find_bpe(const char *folder, bool lines, const char *word, rt_level *level)
{
    json_t *tokenizer;
    if (lines || *word)
        return rt_ok();
    rt_status status = rt_tokenizer_read_json(&tokenizer, folder);
    if (!status.code && rt_tokenizer_is_bpe(tokenizer))
        *level = RT_LEVEL_BPE;
    json_decref(tokenizer);
    return status;
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
    char *text = NULL;
    size_t size = 0;
    *vocabulary_new = NULL;
    *warning = NULL;
    if (!lines && !rt_folder_has(folder, PIECES))
        return rt_folder_has(folder, RT_HF_WORDS) && rt_folder_has(folder, RT_HF_MERGES)
                   ? rt_tokenizer_read_bpe(vocabulary_new, folder)
                   : rt_ok();
    rt_status status = find_level(level, &kind.level);
    if (!status.code)
        status = find_bpe(folder, lines, level, &kind.level);
    if (!status.code && kind.level == RT_LEVEL_BPE)
        return rt_tokenizer_read_bpe(vocabulary_new, folder);
    if (!status.code && kind.level == RT_LEVEL_WORDPIECE)
        status = read_settings(folder, &s);
    if (!status.code)
        status = lines ? rt_folder_read(&text, &size, folder, RT_HF_VOCAB, RT_TEXT_FILE_BYTES)
                       : read_pieces(folder, &text, &s);
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
