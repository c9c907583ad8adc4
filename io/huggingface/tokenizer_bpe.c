#include "io/huggingface/tokenizer.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/json.h"
#include "io/huggingface/private.h"
#include "text/text_file.h"
#include "text/writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokenizer.json ---- */

rt_status rt_tokenizer_read_json(json_t **tokenizer_new, const char *folder)
{
    char *bytes;
    size_t size;
    *tokenizer_new = NULL;
    rt_status status = rt_folder_read(&bytes, &size, folder, RT_HF_PIECES, RT_BPE_BYTES);
    if (!status.code)
        status = rt_json_parse(tokenizer_new, RT_BPE_VALUES, RT_HF_PIECES, bytes, size);
    rt_free(bytes);
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    return status;
}

bool rt_tokenizer_is_bpe(const json_t *tokenizer)
{
    const json_t *model = json_object_get(tokenizer, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    return type ? !strcmp(type, "BPE") : json_object_get(model, "merges") != NULL;
}

/* ---- what tokens are for ---- */

/* The keys of tokenizer_config.json, each with its id; of two keys for one the last counts. */
static const struct {
    const char *key;
    size_t id; /* its place in rt_special_ids */
} roles[] = {{"cls_token", offsetof(rt_special_ids, cls)},
             {"sep_token", offsetof(rt_special_ids, sep)},
             {"bos_token", offsetof(rt_special_ids, cls)},
             {"eos_token", offsetof(rt_special_ids, sep)},
             {"pad_token", offsetof(rt_special_ids, pad)},
             {"mask_token", offsetof(rt_special_ids, mask)},
             {"unk_token", offsetof(rt_special_ids, unknown)}};
enum { ROLES = sizeof roles / sizeof *roles, UNKNOWN = ROLES - 1 /* which tokenizer.json tells */ };

static int32_t *id_of(rt_special_ids *ids, int role)
{
    return (int32_t *)((char *)ids + roles[role].id);
}

/* The id that is written so; RT_NO_ID if there is none. */
static int32_t find_id(const rt_vocabulary *v, const char *text)
{
    const rt_added_token *added = rt_bpe_added(v->bpe, text, RT_NO_ID);
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

/* A token is a text, or an object with one as its content. */
static rt_status read_role(const rt_vocabulary *v, const json_t *config, const char *key,
                           int32_t *id)
{
    char quoted[RT_QUOTE_SIZE];
    const json_t *found = json_object_get(config, key);
    const json_t *content = json_is_object(found) ? json_object_get(found, "content") : found;
    const char *text = json_string_value(content);
    if (!found || json_is_null(found))
        return rt_ok();
    if (!text)
        return rt_error(RT_CHECKPOINT, RT_HF_TOKENIZER ": %s must be a token or null", key);
    *id = find_id(v, text);
    if (*id == RT_NO_ID && !strcmp(key, "pad_token")) /* which is never looked at */
        return rt_ok();
    return *id != RT_NO_ID
               ? rt_ok()
               : rt_error(RT_CHECKPOINT, RT_HF_TOKENIZER ": %s %s is no token of tokenizer.json",
                          key, rt_quote(quoted, text));
}

static rt_status read_roles(rt_vocabulary *v, const char *folder)
{
    json_t *config;
    rt_special_ids ids = {RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
    if (!rt_folder_has(folder, RT_HF_TOKENIZER))
        return rt_ok();
    rt_status status = rt_json_read_file(&config, folder, RT_HF_TOKENIZER);
    for (int i = 0; i < UNKNOWN && !status.code; i++)
        status = read_role(v, config, roles[i].key, id_of(&ids, i));
    if (v->bpe->first != RT_NO_ID) /* which is put there, whatever it is called */
        ids.cls = v->bpe->first;
    if (!status.code)
        status = rt_bpe_know(v, RT_HF_TOKENIZER, &ids);
    json_decref(config);
    return status;
}

/* ---- vocab.json and merges.txt, in which tokenizers of GPT-2's kind were kept before
 * tokenizer.json: made into one as transformers does it ---- */

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

/* Makes a tokenizer.json of vocab.json and merges.txt, with the tokens of tokenizer_config.json,
 * special_tokens_map.json and added_tokens.json. The caller frees it. */
static rt_status file_of_merges(char **text_new, const char *folder)
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
        *text_new = whole ? rt_json_dumped(whole, JSON_INDENT(2), "") : NULL;
        status = *text_new ? rt_ok() : rt_out_of_memory(RT_HF_PIECES);
    }
    json_decref(whole);
    json_decref(added);
    json_decref(merges);
    json_decref(vocab);
    json_decref(settings);
    return status;
}

/* ---- the folder ---- */

rt_status rt_tokenizer_read_bpe(rt_vocabulary **vocabulary_new, const char *folder)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    char *text;
    size_t size = 0;
    *vocabulary_new = NULL;
    const bool whole = rt_folder_has(folder, RT_HF_PIECES);
    rt_status status = whole ? rt_folder_read(&text, &size, folder, RT_HF_PIECES, RT_BPE_BYTES)
                             : file_of_merges(&text, folder);
    if (!status.code && !whole)
        size = strlen(text);
    if (!status.code)
        status = rt_vocabulary_read(vocabulary_new, kind, RT_HF_PIECES, (const unsigned char *)text,
                                    size);
    rt_free(text);
    if (!status.code)
        status = read_roles(*vocabulary_new, folder);
    if (status.code) {
        rt_vocabulary_free(*vocabulary_new);
        *vocabulary_new = NULL;
    }
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    return status;
}

/* ---- what is put around a text ---- */

/* Ids that the post-processor has to put around a text; RT_NO_ID: none. */
typedef struct framing {
    const rt_vocabulary *v;
    int32_t first, last;
} framing;

/* A special token as it is written. */
static json_t *written(const rt_vocabulary *v, int32_t id)
{
    const rt_added_token *added = rt_bpe_added(v->bpe, NULL, id);
    const rt_spelling s = rt_vocabulary_spell(v, id);
    return added ? json_stringn(added->text, added->size) : json_stringn(s.bytes, s.size);
}

/* Adds a token to a template, unless it is none. */
static bool put_token(json_t *list, const framing *f, int32_t id, int type)
{
    return id == RT_NO_ID ||
           !json_array_append_new(list, json_pack("{s:{s:o,s:i}}", "SpecialToken", "id",
                                                  written(f->v, id), "type_id", type));
}

static bool put_text(json_t *list, const char *name, int type)
{
    return !json_array_append_new(list, json_pack("{s:{s:s,s:i}}", "Sequence", "id", name,
                                                  "type_id", type));
}

static bool put_meaning(json_t *tokens, const framing *f, int32_t id)
{
    if (id == RT_NO_ID)
        return true;
    json_t *name = written(f->v, id);
    const bool put =
        name && !json_object_setn_new(tokens, json_string_value(name), json_string_length(name),
                                      json_pack("{s:O,s:[i],s:[O]}", "id", name, "ids", (int)id,
                                                "tokens", name));
    json_decref(name);
    return put;
}

/* "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]". */
static json_t *template_of(const framing *f)
{
    json_t *single = json_array(), *pair = json_array(), *tokens = json_object();
    const bool put = put_token(single, f, f->first, 0) && put_text(single, "A", 0) &&
                     put_token(single, f, f->last, 0) && put_token(pair, f, f->first, 0) &&
                     put_text(pair, "A", 0) && put_token(pair, f, f->last, 0) &&
                     put_text(pair, "B", 1) && put_token(pair, f, f->last, 1) &&
                     put_meaning(tokens, f, f->first) && put_meaning(tokens, f, f->last);
    json_t *made = json_pack("{s:s,s:o,s:o,s:o}", "type", "TemplateProcessing", "single", single,
                             "pair", pair, "special_tokens", tokens);
    if (put)
        return made;
    json_decref(made);
    return NULL;
}

static bool is_template(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type && !strcmp(type, "TemplateProcessing");
}

/* The post-processor with another template; of more than it, what else it does stays. */
static json_t *processor_of(const json_t *old, const framing *f)
{
    const json_t *parts = json_object_get(old, "processors"), *part;
    const bool some = f->first != RT_NO_ID || f->last != RT_NO_ID;
    json_t *list = json_array();
    size_t i;
    bool failed = !list;
    json_array_foreach(parts, i, part) failed |=
        !is_template(part) && json_array_append(list, (json_t *)part) != 0;
    if (!parts && json_is_object(old) && !is_template(old))
        failed |= json_array_append(list, (json_t *)old) != 0;
    if (some)
        failed |= json_array_append_new(list, template_of(f)) != 0;
    json_t *made = failed ? NULL
                   : json_array_size(list) > 1
                       ? json_pack("{s:s,s:O}", "type", "Sequence", "processors", list)
                       : json_incref(json_array_size(list) ? json_array_get(list, 0) : json_null());
    json_decref(list);
    return made;
}

/* Writes the file with another post-processor. */
static rt_status reframe(char **text_new, const framing *f)
{
    json_t *tokenizer = NULL;
    char *file = rt_copy_text(f->v->bpe->file); /* which parsing may change */
    rt_status status =
        file ? rt_json_parse(&tokenizer, RT_BPE_VALUES, RT_HF_PIECES, file, strlen(file))
             : rt_out_of_memory(RT_HF_PIECES);
    if (!status.code) {
        json_t *processor = processor_of(json_object_get(tokenizer, "post_processor"), f);
        const bool put = processor && !json_object_set_new(tokenizer, "post_processor", processor);
        *text_new = put ? rt_json_dumped(tokenizer, JSON_INDENT(2), "\n") : NULL;
        status = *text_new ? rt_ok() : rt_out_of_memory(RT_HF_PIECES);
    }
    json_decref(tokenizer);
    rt_free(file);
    return status;
}

rt_status rt_tokenizer_bpe_file(char **text_new, const rt_vocabulary *v, rt_frame frame)
{
    const int32_t last = v->bpe->last != RT_NO_ID ? v->bpe->last : v->special.sep;
    const framing f = {v, frame.begins ? v->special.cls : RT_NO_ID, frame.ends ? last : RT_NO_ID};
    *text_new = NULL;
    return f.first == v->bpe->first && f.last == v->bpe->last ? rt_vocabulary_write(v, text_new)
                                                              : reframe(text_new, &f);
}

/* ---- the chat template ---- */

/* A text as JSON. What is no UTF-8 is no template. */
static rt_status template_of_file(char **template_new, const char *folder)
{
    char *bytes;
    size_t size;
    rt_status status = rt_folder_read(&bytes, &size, folder, RT_HF_CHAT, RT_TEXT_FILE_BYTES);
    if (status.code)
        return status.code == RT_MEMORY ? status : rt_ok();
    json_t *text = json_stringn(bytes, size);
    *template_new = text ? rt_json_dumped(text, JSON_ENCODE_ANY, "") : NULL;
    if (text && !*template_new)
        status = rt_out_of_memory(RT_HF_CHAT);
    json_decref(text);
    rt_free(bytes);
    return status;
}

rt_status rt_huggingface_chat_template(char **template_new, const char *folder)
{
    json_t *config;
    *template_new = NULL;
    if (rt_folder_has(folder, RT_HF_CHAT))
        return template_of_file(template_new, folder);
    if (!rt_folder_has(folder, RT_HF_TOKENIZER))
        return rt_ok();
    rt_status status = rt_json_read_file(&config, folder, RT_HF_TOKENIZER);
    if (status.code)
        return status.code == RT_MEMORY ? status : rt_ok();
    const json_t *found = json_object_get(config, RT_HF_CHAT_KEY);
    if (found && !json_is_null(found) &&
        !(*template_new = rt_json_dumped(found, JSON_ENCODE_ANY, "")))
        status = rt_out_of_memory(RT_HF_CHAT_KEY);
    json_decref(config);
    return status;
}

/* ---- writing ---- */

void rt_tokenizer_bpe_put(rt_json_object *to, const rt_vocabulary *v)
{
    rt_special_ids ids = v->special;
    const bool masks = ids.mask != RT_NO_ID; /* an encoder's, whose keys for both ends are others */
    rt_json_put(to, "tokenizer_class", json_string("PreTrainedTokenizerFast"));
    for (int i = masks ? 0 : 2; i < ROLES; i++) {
        const int32_t id = *id_of(&ids, i);
        if (id != RT_NO_ID && !rt_vocabulary_is_ordinary(v, id))
            rt_json_put(to, roles[i].key, written(v, id));
    }
}
