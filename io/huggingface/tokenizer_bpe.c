#include "io/huggingface/tokenizer.h"

#include "core/memory.h"
#include "core/path.h"
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

/* The keys of tokenizer_config.json, each with the place of its id. */
typedef struct role {
    const char *key;
    int32_t *id;
} role;

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
static rt_status read_role(const rt_vocabulary *v, const json_t *config, role r)
{
    char quoted[RT_QUOTE_SIZE];
    const json_t *found = json_object_get(config, r.key);
    const json_t *content = json_is_object(found) ? json_object_get(found, "content") : found;
    const char *text = json_string_value(content);
    if (!found || json_is_null(found))
        return rt_ok();
    if (!text)
        return rt_error(RT_CHECKPOINT, RT_HF_TOKENIZER ": %s must be a token or null", r.key);
    *r.id = find_id(v, text);
    if (*r.id == RT_NO_ID && !strcmp(r.key, "pad_token")) /* which is never looked at */
        return rt_ok();
    return *r.id != RT_NO_ID
               ? rt_ok()
               : rt_error(RT_CHECKPOINT, RT_HF_TOKENIZER ": %s %s is no token of tokenizer.json",
                          r.key, rt_quote(quoted, text));
}

static rt_status read_roles(rt_vocabulary *v, const char *folder)
{
    char path[RT_PATH_SIZE];
    json_t *config;
    rt_special_ids ids = {RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
    const role roles[] = {{"cls_token", &ids.cls}, {"bos_token", &ids.cls},
                          {"sep_token", &ids.sep}, {"eos_token", &ids.sep},
                          {"pad_token", &ids.pad}, {"mask_token", &ids.mask}};
    rt_status status = rt_path_join(path, folder, RT_HF_TOKENIZER);
    if (status.code || !rt_folder_has(folder, RT_HF_TOKENIZER))
        return status;
    status = rt_json_read_file(&config, folder, RT_HF_TOKENIZER);
    for (size_t i = 0; i < sizeof roles / sizeof *roles && !status.code; i++)
        status = read_role(v, config, roles[i]);
    if (v->bpe->first != RT_NO_ID) /* which is put there, whatever it is called */
        ids.cls = v->bpe->first;
    if (!status.code)
        status = rt_bpe_know(v, RT_HF_TOKENIZER, &ids);
    json_decref(config);
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
                             : rt_tokenizer_of_merges(&text, folder);
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

/* The file with another post-processor. */
static char *reframed(json_t *tokenizer, const framing *f)
{
    json_t *processor = processor_of(json_object_get(tokenizer, "post_processor"), f);
    rt_writer w = {0};
    char *text = NULL;
    if (processor && !json_object_set_new(tokenizer, "post_processor", processor))
        text = json_dumps(tokenizer, JSON_INDENT(2));
    if (!text)
        return NULL;
    rt_writer_add(&w, "%s\n", text);
    free(text); /* Jansson's */
    return rt_writer_take(&w);
}

static rt_status reframe(char **text_new, const framing *f)
{
    json_t *tokenizer = NULL;
    char *file = rt_copy_text(f->v->bpe->file); /* which parsing may change */
    rt_status status =
        file ? rt_json_parse(&tokenizer, RT_BPE_VALUES, RT_HF_PIECES, file, strlen(file))
             : rt_out_of_memory(RT_HF_PIECES);
    if (!status.code) {
        *text_new = reframed(tokenizer, f);
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
    char *dumped = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    *template_new = dumped ? rt_copy_text(dumped) : NULL;
    free(dumped); /* Jansson's */
    json_decref(text);
    rt_free(bytes);
    return !dumped || *template_new ? rt_ok() : rt_out_of_memory(RT_HF_CHAT);
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
    char *dumped = found && !json_is_null(found) ? json_dumps(found, JSON_ENCODE_ANY) : NULL;
    *template_new = dumped ? rt_copy_text(dumped) : NULL;
    if (dumped && !*template_new)
        status = rt_out_of_memory(RT_HF_CHAT_KEY);
    free(dumped); /* Jansson's */
    json_decref(config);
    return status;
}

/* ---- writing ---- */

static json_t *config_of(const rt_vocabulary *v, int length)
{
    rt_special_ids ids = v->special;
    int32_t none = RT_NO_ID;
    const bool masks = ids.mask != RT_NO_ID; /* an encoder's, whose keys for both ends are others */
    const role roles[] = {{"cls_token", masks ? &ids.cls : &none},
                          {"sep_token", masks ? &ids.sep : &none},
                          {"bos_token", &ids.cls},
                          {"eos_token", &ids.sep},
                          {"pad_token", &ids.pad},
                          {"mask_token", &ids.mask},
                          {"unk_token", &ids.unknown}};
    json_t *config = json_object();
    bool failed =
        json_object_set_new(config, "tokenizer_class", json_string("PreTrainedTokenizerFast")) != 0;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const int32_t id = *roles[i].id;
        const rt_added_token *added = rt_bpe_added(v->bpe, NULL, id);
        const rt_spelling s = rt_vocabulary_spell(v, id);
        const char *bytes = added ? added->text : s.bytes;
        const size_t size = added ? added->size : s.size;
        if (id != RT_NO_ID && !rt_vocabulary_is_ordinary(v, id))
            failed |= json_object_set_new(config, roles[i].key, json_stringn(bytes, size)) != 0;
    }
    failed |= json_object_set_new(config, "model_max_length", json_integer(length)) != 0;
    if (failed)
        json_decref(config);
    return failed ? NULL : config;
}

/* Adds the key, whose value is JSON; false if the heap is exhausted. */
static bool put_chat_template(json_t *config, const char *chat_template)
{
    return !config || !chat_template ||
           !json_object_set_new(config, RT_HF_CHAT_KEY,
                                json_loads(chat_template, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
}

rt_status rt_tokenizer_bpe_text(char **text_new, const rt_vocabulary *vocabulary, int length,
                                const char *chat_template)
{
    json_t *config = config_of(vocabulary, length);
    if (!put_chat_template(config, chat_template)) {
        json_decref(config);
        config = NULL;
    }
    char *text = config ? json_dumps(config, JSON_INDENT(2)) : NULL;
    rt_writer w = {0};
    if (text)
        rt_writer_add(&w, "%s\n", text);
    free(text); /* Jansson's */
    json_decref(config);
    *text_new = text ? rt_writer_take(&w) : NULL;
    return *text_new ? rt_ok() : rt_out_of_memory(RT_HF_TOKENIZER);
}
