/* vocab.json and merges.txt, in which tokenizers of GPT-2's kind were kept before tokenizer.json:
 * made into a tokenizer.json as transformers does it. */

#include "io/huggingface/tokenizer.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/json.h"
#include "io/huggingface/private.h"
#include "text/writer.h"

#include <stdlib.h>
#include <string.h>

/* Normalizer and pre-tokenizer of a class of transformers, as JSON. */
typedef struct tokenizer_class {
    const char *name, *model_type, *normalizer, *before;
    bool gpt2; /* ByteLevel cuts by its own pattern */
} tokenizer_class;

#define QWEN2_PATTERN                                                                              \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}|"               \
    " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"

static const tokenizer_class classes[] = {
    {"GPT2Tokenizer", "gpt2", "null", "", true},
    {"Qwen2Tokenizer", "qwen2", "{\"type\": \"NFC\"}",
     "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" QWEN2_PATTERN
     "\"}, \"behavior\": \"Isolated\", \"invert\": false}, ",
     false},
    {"GPTNeoXTokenizer", "gpt_neox", "{\"type\": \"NFC\"}", "", true},
};
enum { CLASSES = sizeof classes / sizeof *classes };

/* A file of the folder as JSON, NULL if it is not there. */
static rt_status read_object(json_t **object_new, const char *folder, const char *name)
{
    *object_new = NULL;
    return rt_folder_has(folder, name) ? rt_json_read_file(object_new, folder, name) : rt_ok();
}

/* By tokenizer_class, which may end in "Fast", or else by model_type; GPT-2's for what names none.
 */
static rt_status find_class(const tokenizer_class **class, const char *folder,
                            const json_t *settings)
{
    char quoted[RT_QUOTE_SIZE];
    json_t *config;
    const char *word = json_string_value(json_object_get(settings, "tokenizer_class"));
    *class = &classes[0];
    rt_status status = read_object(&config, folder, RT_HF_CONFIG);
    const char *type = json_string_value(json_object_get(config, "model_type"));
    const bool general =
        !word || !strcmp(word, "PreTrainedTokenizerFast") || !strcmp(word, "TokenizersBackend");
    bool known = general;
    for (int i = 0; i < CLASSES && !status.code; i++) {
        const size_t length = strlen(classes[i].name);
        if (general ? type && !strncmp(type, classes[i].model_type, strlen(classes[i].model_type))
                    : !strncmp(word, classes[i].name, length) &&
                          (!word[length] || !strcmp(word + length, "Fast"))) {
            *class = &classes[i];
            known = true;
        }
    }
    json_decref(config);
    if (!status.code && !known)
        status = rt_error(RT_CHECKPOINT,
                          RT_HF_TOKENIZER ": tokenizer_class is %s; with vocab.json and merges.txt "
                                          "'GPT2Tokenizer', 'Qwen2Tokenizer' and "
                                          "'GPTNeoXTokenizer' are read",
                          rt_quote(quoted, word));
    return status;
}

/* The lines of merges.txt as a list; the first line may be a version. */
static rt_status read_merges(json_t **list_new, const char *folder)
{
    char *text;
    size_t size;
    bool failed = false;
    *list_new = NULL;
    rt_status status = rt_folder_read(&text, &size, folder, RT_HF_MERGES, RT_BPE_BYTES);
    if (status.code)
        return status;
    json_t *list = json_array();
    for (char *line = text, *end = text + size; line < end && !failed;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        char *next = line + length + 1;
        length -= length && line[length - 1] == '\r';
        if (length && strncmp(line, "#version", 8) != 0)
            failed = json_array_append_new(list, json_stringn(line, length)) != 0;
        line = next;
    }
    rt_free(text);
    if (failed) {
        json_decref(list);
        return rt_error(RT_CHECKPOINT, RT_HF_MERGES ": a line is not UTF-8, or memory is short");
    }
    *list_new = list;
    return list ? rt_ok() : rt_out_of_memory(RT_HF_MERGES);
}

/* ---- added tokens ---- */

static bool has_token(const json_t *list, const char *text)
{
    const json_t *token;
    size_t i;
    json_array_foreach(list, i, token)
    {
        if (!strcmp(json_string_value(json_object_get(token, "content")), text))
            return true;
    }
    return false;
}

/* Adds a token in the order of ids. */
static void add_token(json_t *list, const char *text, json_int_t id, const json_t *flags,
                      bool special)
{
    size_t at = 0;
    const json_t *normalized = json_object_get(flags, "normalized");
    while (at < json_array_size(list) &&
           json_integer_value(json_object_get(json_array_get(list, at), "id")) < id)
        at++;
    json_array_insert_new(list, at,
                          json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", id, "content", text,
                                    "single_word",
                                    json_is_true(json_object_get(flags, "single_word")), "lstrip",
                                    json_is_true(json_object_get(flags, "lstrip")), "rstrip",
                                    json_is_true(json_object_get(flags, "rstrip")), "normalized",
                                    normalized ? json_is_true(normalized) : !special, "special",
                                    special));
}

/* The tokens of added_tokens_decoder, whose keys are ids. */
static void add_decoder(json_t *list, json_t *settings)
{
    const char *number;
    json_t *token;
    json_object_foreach(json_object_get(settings, "added_tokens_decoder"), number, token)
    {
        const char *text = json_string_value(json_object_get(token, "content"));
        if (text && !has_token(list, text))
            add_token(list, text, strtoll(number, NULL, 10), token,
                      json_is_true(json_object_get(token, "special")));
    }
}

/* The tokens for the ends of a text and the like, if they have an id. */
static void add_named(json_t *list, const json_t *of, const json_t *vocab, const json_t *added)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                       "sep_token", "cls_token", "mask_token"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *found = json_object_get(of, keys[i]);
        const json_t *content = json_is_object(found) ? json_object_get(found, "content") : found;
        const char *text = of ? json_string_value(content) : "<|endoftext|>";
        const json_t *id = text ? json_object_get(vocab, text) : NULL;
        if (text && !id)
            id = json_object_get(added, text);
        if (json_is_integer(id) && !has_token(list, text))
            add_token(list, text, json_integer_value(id), found, true);
    }
}

static rt_status find_added(json_t **list_new, const char *folder, json_t *settings,
                            const json_t *vocab)
{
    json_t *list = *list_new = json_array(), *added = NULL, *map = NULL;
    const char *text;
    json_t *id;
    rt_status status =
        list ? read_object(&added, folder, RT_HF_ADDED) : rt_out_of_memory(RT_HF_PIECES);
    if (!status.code)
        status = read_object(&map, folder, RT_HF_MAP);
    if (!status.code) {
        add_decoder(list, settings);
        if (settings)
            add_named(list, settings, vocab, added);
        if (map)
            add_named(list, map, vocab, added);
        add_named(list, NULL, vocab, added); /* the default of all classes */
        json_object_foreach(added, text, id)
        {
            if (!has_token(list, text))
                add_token(list, text, json_integer_value(id), NULL, false);
        }
    }
    json_decref(added);
    json_decref(map);
    return status;
}

/* ---- all ---- */

static json_t *parsed(const char *format, const tokenizer_class *class, const char *space)
{
    rt_writer w = {0};
    rt_writer_add(&w, format, class->before, space, class->gpt2 ? "true" : "false");
    char *text = rt_writer_take(&w);
    json_t *made = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    rt_free(text);
    return made;
}

/* Takes over vocab, merges and added. */
static json_t *assemble(const tokenizer_class *class, const json_t *settings, json_t *vocab,
                        json_t *merges, json_t *added)
{
    const char *space =
        json_is_true(json_object_get(settings, "add_prefix_space")) ? "true" : "false";
    json_t *cutter =
        parsed("{\"type\": \"Sequence\", \"pretokenizers\": [%s{\"type\": \"ByteLevel\", "
               "\"add_prefix_space\": %s, \"trim_offsets\": true, \"use_regex\": %s}]}",
               class, space);
    json_t *model = json_pack("{s:s,s:n,s:n,s:s,s:s,s:b,s:b,s:b,s:o,s:o}", "type", "BPE", "dropout",
                              "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix",
                              "", "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", 0, "vocab",
                              vocab, "merges", merges);
    return json_pack("{s:s,s:n,s:n,s:o,s:o,s:o,s:n,s:{s:s,s:b,s:b,s:b},s:o}", "version", "1.0",
                     "truncation", "padding", "added_tokens", added, "normalizer",
                     json_loads(class->normalizer, JSON_DECODE_ANY, NULL), "pre_tokenizer", cutter,
                     "post_processor", "decoder", "type", "ByteLevel", "add_prefix_space", 1,
                     "trim_offsets", 1, "use_regex", 1, "model", model);
}

rt_status rt_tokenizer_of_merges(char **text_new, const char *folder)
{
    const tokenizer_class *class = NULL;
    json_t *settings = NULL, *vocab = NULL, *merges = NULL, *added = NULL, *whole = NULL;
    *text_new = NULL;
    rt_status status = read_object(&settings, folder, RT_HF_TOKENIZER);
    if (!status.code)
        status = find_class(&class, folder, settings);
    if (!status.code)
        status = rt_json_read_file(&vocab, folder, RT_HF_WORDS);
    if (!status.code)
        status = read_merges(&merges, folder);
    if (!status.code)
        status = find_added(&added, folder, settings, vocab);
    if (!status.code) {
        whole =
            assemble(class, settings, json_incref(vocab), json_incref(merges), json_incref(added));
        char *text = whole ? json_dumps(whole, JSON_INDENT(2)) : NULL;
        *text_new = text ? rt_copy_text(text) : NULL;
        free(text); /* Jansson's */
        status = *text_new ? rt_ok() : rt_out_of_memory(RT_HF_PIECES);
    }
    json_decref(whole);
    json_decref(added);
    json_decref(merges);
    json_decref(vocab);
    json_decref(settings);
    return status;
}
