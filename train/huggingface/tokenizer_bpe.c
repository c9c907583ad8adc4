#include "train/huggingface/tokenizer_bpe.h"

#include "core/memory.h"
#include "core/path.h"
#include "data/bpe.h"
#include "train/huggingface/folder_file.h"
#include "train/huggingface/json.h"
#include "train/huggingface/private.h"
#include "train/text/quote.h"

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
    const char *type =
        json_string_value(json_object_get(json_object_get(tokenizer, "model"), "type"));
    return type && !strcmp(type, "BPE");
}

/* ---- what tokens are for ---- */

/* The keys of tokenizer_config.json, each with the place of its id. */
typedef struct role {
    const char *key;
    int32_t *id;
} role;

/* An added token by its text, or by its id if there is no text: characters of it may stand for
 * bytes, which it is spelled as. */
static const rt_added_token *find_added(const rt_vocabulary *v, const char *text, int32_t id)
{
    const rt_added_tokens *const lists[] = {&v->bpe->as_is, &v->bpe->composed};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (int i = 0; i < lists[l]->count; i++) {
            const rt_added_token *token = lists[l]->list + i;
            if (text ? token->size == strlen(text) && !memcmp(token->text, text, token->size)
                     : token->id == id)
                return token;
        }
    return NULL;
}

/* The id that is written so; RT_NO_ID if there is none. */
static int32_t find_id(const rt_vocabulary *v, const char *text)
{
    const rt_added_token *added = find_added(v, text, RT_NO_ID);
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
    const role roles[] = {{"bos_token", &ids.cls},
                          {"eos_token", &ids.sep},
                          {"pad_token", &ids.pad},
                          {"mask_token", &ids.mask}};
    rt_status status = rt_path_join(path, folder, RT_HF_TOKENIZER);
    if (status.code || !rt_folder_has(folder, RT_HF_TOKENIZER))
        return status;
    status = rt_json_read_file(&config, folder, RT_HF_TOKENIZER);
    for (size_t i = 0; i < sizeof roles / sizeof *roles && !status.code; i++)
        status = read_role(v, config, roles[i]);
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
    size_t size;
    *vocabulary_new = NULL;
    rt_status status = rt_folder_read(&text, &size, folder, RT_HF_PIECES, RT_BPE_BYTES);
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

/* ---- writing ---- */

static json_t *config_of(const rt_vocabulary *v, int length)
{
    rt_special_ids ids = v->special;
    const role roles[] = {{"bos_token", &ids.cls},
                          {"eos_token", &ids.sep},
                          {"pad_token", &ids.pad},
                          {"mask_token", &ids.mask},
                          {"unk_token", &ids.unknown}};
    json_t *config = json_object();
    bool failed =
        json_object_set_new(config, "tokenizer_class", json_string("PreTrainedTokenizerFast")) != 0;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const int32_t id = *roles[i].id;
        const rt_added_token *added = find_added(v, NULL, id);
        const rt_spelling s = rt_vocabulary_spell(v, id);
        const char *bytes = added ? added->text : s.bytes;
        const size_t size = added ? added->size : s.size;
        if (id != RT_NO_ID && !rt_vocabulary_is_unit(v, id))
            failed |= json_object_set_new(config, roles[i].key, json_stringn(bytes, size)) != 0;
    }
    failed |= json_object_set_new(config, "model_max_length", json_integer(length)) != 0;
    if (failed)
        json_decref(config);
    return failed ? NULL : config;
}

rt_status rt_tokenizer_bpe_text(char **text_new, const rt_vocabulary *vocabulary, int length)
{
    json_t *config = config_of(vocabulary, length);
    char *text = config ? json_dumps(config, JSON_INDENT(2)) : NULL;
    rt_writer w = {0};
    if (text)
        rt_writer_add(&w, "%s\n", text);
    free(text); /* Jansson's */
    json_decref(config);
    *text_new = text ? rt_writer_take(&w) : NULL;
    return *text_new ? rt_ok() : rt_out_of_memory(RT_HF_TOKENIZER);
}
