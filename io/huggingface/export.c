/* config.json as it is written. */

#include "io/huggingface/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/json.h"
#include "io/huggingface/tokenizer.h"
#include "text/durable_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- for rows of families ---- */

void rt_config_put_tied(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    rt_json_put(&w->object, "tie_word_embeddings",
                json_boolean(o->head != RT_HEAD_LM || o->tie_embeddings));
}

/* Ids alone have no meaning that transformers should know of. */
static json_t *id_of(const rt_vocabulary *v, int id)
{
    return v && id >= 0 ? json_integer(id) : json_null();
}

/* A number, or a list where there are several. */
static json_t *ends_of(const rt_vocabulary *v)
{
    const int count = v ? v->ends.count : 0;
    double ids[RT_MOST_ENDS];
    if (count < 2)
        return id_of(v, count ? v->ends.ids[0] : RT_NO_ID);
    for (int i = 0; i < count; i++)
        ids[i] = v->ends.ids[i];
    return rt_json_numbers(ids, count);
}

void rt_config_put_special_ids(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const rt_special_ids *special = v ? &v->special : &rt_default_special_ids;
    rt_json_put(&w->object, "bos_token_id", id_of(v, special->cls));
    rt_json_put(&w->object, "eos_token_id", ends_of(v));
    rt_json_put(&w->object, "pad_token_id",
                id_of(v, rt_vocabulary_pads(special) ? special->pad : RT_NO_ID));
}

void rt_config_put_encoder_ids(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const rt_special_ids *special = v ? &v->special : &rt_default_special_ids;
    rt_json_put(&w->object, "bos_token_id", id_of(v, special->cls));
    rt_json_put(&w->object, "cls_token_id", id_of(v, special->cls));
    rt_json_put(&w->object, "eos_token_id", id_of(v, special->sep));
    rt_json_put(&w->object, "sep_token_id", id_of(v, special->sep));
    rt_json_put(&w->object, "pad_token_id",
                id_of(v, rt_vocabulary_pads(special) ? special->pad : RT_NO_ID));
}

void rt_config_put_padding(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    rt_json_put(&w->object, "pad_token_id",
                json_integer(v ? v->special.pad : rt_default_special_ids.pad));
}

/* ---- labels ---- */

static const char *label_of(const rt_huggingface_export *export, int i, char made[24])
{
    snprintf(made, 24, "LABEL_%d", i);
    return export->labels ? export->labels[i] : made;
}

static void put_labels(rt_json_object *to, const rt_transformer_options *o,
                       const rt_huggingface_export *export)
{
    rt_json_object names = rt_json_object_new(), ids = rt_json_object_new();
    char made[24], number[16];
    for (int i = 0; i < o->labels; i++) {
        json_t *name = rt_json_string(label_of(export, i, made));
        snprintf(number, sizeof number, "%d", i);
        rt_json_put(&ids, name ? json_string_value(name) : "", json_integer(i));
        rt_json_put(&names, number, name);
    }
    rt_json_put_object(to, "id2label", &names);
    rt_json_put_object(to, "label2id", &ids);
    if (o->head == RT_HEAD_SEQUENCE)
        rt_json_put(to, "problem_type", json_string("single_label_classification"));
}

/* ---- all ---- */

static void put_own(rt_json_object *to, const rt_huggingface_export *export)
{
    static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD)};
    if (export->vocabulary)
        rt_json_put(to, RT_HF_LEVEL, json_string(levels[export->vocabulary->level]));
    if (export->bare)
        rt_json_put(to, RT_HF_BEGIN, json_string("none"));
    if (export->open_ended)
        rt_json_put(to, RT_HF_END, json_string("none"));
    if (export->length)
        rt_json_put(to, RT_HF_LENGTH, json_integer(export->length));
    rt_json_put(to, "dtype", json_string("float32"));
}

rt_status rt_huggingface_config_text(char **text_new, const rt_family *family,
                                     const rt_transformer *model,
                                     const rt_huggingface_export *export)
{
    const rt_transformer_options *o = &model->options;
    rt_export_theta theta;
    rt_status status = rt_export_theta_of(family, model, &theta);
    rt_config_writing w = {rt_json_object_new(), family, o, export, &theta};
    if (!status.code) {
        rt_json_put(&w.object, "architectures",
                    json_pack("[s]", rt_family_class_of(family, o)->name));
        rt_json_put(&w.object, "model_type", json_string(family->type));
        rt_config_rows_put(family->config, &w);
        if (o->head != RT_HEAD_LM)
            put_labels(&w.object, o, export);
        if (o->theta.learn)
            rt_put_theta(&w.object, o, &theta);
        put_own(&w.object, export);
        status = rt_json_text(text_new, &w.object, RT_HF_CONFIG);
    }
    rt_json_object_free(&w.object);
    rt_export_theta_free(&theta);
    return status;
}

/* ---- the folder ---- */

/* Bytes of a file that is kept. */
enum { MOST_KEPT = 16 << 20 };

/* ---- the folder ---- */

/* Files of a model: those that are written, and those of an older model that would contradict it.
 * Other programs know a folder by its config.json, which comes last. */
static const char *const files[] = {RT_WEIGHTS_FILE, RT_WEIGHTS_INDEX, RT_HF_VOCAB, RT_HF_TOKENIZER,
                                    RT_HF_PIECES,    RT_HF_MAP,        RT_HF_ADDED, RT_HF_GENERATE,
                                    RT_HF_CARD,      RT_HF_CONFIG,     NULL};

/* A name that is a file's says that a file is wanted. */
static rt_status check_name(const char *folder)
{
    static const char *const endings[] = {".safetensors", ".bin", ".pt", ".pth", ".onnx", ".h5"};
    const size_t length = strlen(folder);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t size = strlen(endings[i]);
        if (length < size || strcmp(folder + length - size, endings[i]) != 0)
            continue;
        return rt_error(RT_CONFIG,
                        "%s: a model is exported as a folder; name one, for config.json and "
                        "model.safetensors, or a file.gguf",
                        folder);
    }
    return rt_ok();
}

/* Checks that the folder can be written to. */
static rt_status check_folder(const char *folder, bool overwrite)
{
    static const char *const none[] = {NULL};
    struct stat facts;
    const rt_status status = check_name(folder);
    if (status.code)
        return status;
    if (stat(folder, &facts))
        return errno == ENOENT ? rt_ok()
                               : rt_error(RT_IO, "cannot write %s: %s", folder, strerror(errno));
    if (!S_ISDIR(facts.st_mode))
        return rt_error(RT_CONFIG, "%s: not a folder", folder);
    if (overwrite || rt_folder_holds_only(folder, none))
        return rt_ok();
    return rt_error(RT_CONFIG, "%s: the folder is not empty; give --overwrite to write into it",
                    folder);
}

/* ---- files ---- */

/* Writes a text, which it frees, if there is one. */
static rt_status put_text(const char *folder, const char *name, rt_status made, char *text)
{
    rt_status status = made.code ? made : rt_durable_text(folder, name, text);
    rt_free(text);
    return status;
}

/* ---- an older model in the folder ---- */

/* Finds out whether the folder has a model with the vocabulary that is exported, or one without any
 * of as many ids: what its files say of tokens is true of the new model. RT_MEMORY. */
static rt_status find_same_tokens(bool *same, const char *folder, const rt_transformer *model,
                                  const rt_huggingface_export *export)
{
    json_t *config = NULL;
    rt_vocabulary *there = NULL;
    const char *warning;
    *same = false;
    if (!rt_folder_has(folder, RT_HF_CONFIG))
        return rt_ok();
    rt_status status = rt_json_read_file(&config, folder, RT_HF_CONFIG);
    const char *level = json_string_value(json_object_get(config, RT_HF_LEVEL));
    const json_int_t size = json_integer_value(json_object_get(config, "vocab_size"));
    if (!status.code && size == model->options.vocab) {
        status = rt_tokenizer_read(&there, folder, level ? level : "", &warning);
        *same = !status.code && rt_vocabularies_equal(there, export->vocabulary);
    }
    rt_vocabulary_free(there);
    json_decref(config);
    return status.code == RT_MEMORY ? status : rt_ok();
}

/* Copies a file into the new model, if it is there. */
static rt_status keep_file(const rt_durable_folder *to, const char *name)
{
    char path[RT_PATH_SIZE], *bytes;
    size_t size;
    rt_durable_file file;
    if (!rt_folder_has(to->path, name))
        return rt_ok();
    rt_status status = rt_folder_read(&bytes, &size, to->path, name, MOST_KEPT);
    if (status.code)
        return status.code == RT_CHECKPOINT ? rt_error(RT_IO, "%s", status.message) : status;
    status = rt_path_join(path, to->staging, name);
    if (!status.code)
        status = rt_durable_open(&file, path);
    if (!status.code) {
        status = rt_durable_write(&file, bytes, size);
        status = rt_durable_close(&file, status);
    }
    rt_free(bytes);
    return status;
}

/* Keeps the files of an older model with the same tokens that rotor does not write. */
static rt_status keep_files(const rt_durable_folder *to)
{
    static const char *const kept[] = {RT_HF_GENERATE, RT_HF_MAP, RT_HF_ADDED};
    rt_status status = rt_ok();
    for (size_t i = 0; i < sizeof kept / sizeof *kept && !status.code; i++)
        status = keep_file(to, kept[i]);
    return status;
}

/* Returns whether the folder has a model card that rotor did not write. */
static bool has_card_of_others(const char *folder)
{
    char *bytes;
    size_t size;
    if (!rt_folder_has(folder, RT_HF_CARD))
        return false;
    if (rt_folder_read(&bytes, &size, folder, RT_HF_CARD, MOST_KEPT).code)
        return true;
    const bool own = strstr(bytes, RT_CARD_MARK) != NULL;
    rt_free(bytes);
    return !own;
}

/* ---- all files ---- */

static rt_status write_vocabulary(const char *folder, const rt_transformer *model,
                                  const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    char *text = NULL;
    if (!v)
        return rt_ok();
    const rt_text_frame around = rt_vocabulary_frame(v);
    const bool labels = model->options.head != RT_HEAD_LM;
    const bool ends = labels ? !export->open_ended && around.last != RT_NO_ID
                             : rt_huggingface_keeps_end(&model->options, v);
    const rt_frame frame = {.begins = !export->bare && (!labels || around.first != RT_NO_ID),
                            .ends = ends};
    rt_status made = v->level == RT_LEVEL_BPE ? rt_tokenizer_bpe_file(&text, v, frame)
                                              : rt_vocabulary_write(v, &text);
    rt_status status = put_text(folder, rt_vocabulary_file(v), made, text);
    if (status.code)
        return status;
    text = NULL;
    made = rt_huggingface_tokenizer_text(&text, export);
    return put_text(folder, RT_HF_TOKENIZER, made, text);
}

static rt_status write_card(const rt_durable_folder *to, const rt_family *family,
                            const rt_transformer *model, const rt_huggingface_export *export)
{
    char *text = NULL;
    if (has_card_of_others(to->path))
        return keep_file(to, RT_HF_CARD);
    const rt_status made = rt_huggingface_card_text(&text, family, model, export);
    return put_text(to->staging, RT_HF_CARD, made, text);
}

static rt_status write_texts(const rt_durable_folder *to, const rt_family *family,
                             const rt_transformer *model, const rt_huggingface_export *export)
{
    char *text = NULL;
    rt_status status = write_vocabulary(to->staging, model, export);
    if (!status.code)
        status = write_card(to, family, model, export);
    if (status.code)
        return status;
    const rt_status made = rt_huggingface_config_text(&text, family, model, export);
    return put_text(to->staging, RT_HF_CONFIG, made, text);
}

/* Writes all files. Of an older model with the same tokens the chat template is kept, unless the
 * export has one, and the files that rotor does not write. */
static rt_status write_files(const rt_durable_folder *to, const rt_family *family,
                             const rt_transformer *model, const rt_huggingface_export *export)
{
    char path[RT_PATH_SIZE], *older = NULL;
    rt_huggingface_export all = *export;
    bool same;
    rt_status status = find_same_tokens(&same, to->path, model, export);
    if (!status.code)
        status = rt_path_join(path, to->staging, RT_WEIGHTS_FILE);
    if (!status.code)
        status = rt_huggingface_write_weights(path, family, model, export);
    if (!status.code && same)
        status = keep_files(to);
    if (!status.code && same && !export->chat_template) {
        status = rt_huggingface_chat_template(&older, to->path);
        all.chat_template = older;
    }
    if (!status.code)
        status = write_texts(to, family, model, &all);
    rt_free(older);
    return status;
}

rt_status rt_huggingface_write_as(const char *folder, const rt_transformer *model,
                                  const rt_huggingface_export *export,
                                  const rt_family *const *families)
{
    rt_durable_folder to;
    const rt_family *family;
    rt_status status = rt_family_find(&family, families, &model->options);
    if (!status.code)
        status = check_folder(folder, export->overwrite);
    if (status.code)
        return status;
    status = rt_durable_folder_open(&to, folder, files);
    if (!status.code)
        status = write_files(&to, family, model, export);
    return rt_durable_folder_close(&to, status);
}

rt_status rt_huggingface_write(const char *folder, const rt_transformer *model,
                               const rt_huggingface_export *export)
{
    return rt_huggingface_write_as(folder, model, export, rt_families);
}
