#include "io/huggingface/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/tokenizer_bpe.h"
#include "text/durable_file.h"
#include "text/durable_folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the folder ---- */

/* What a model can have: what is written here, and what an older one may have left that would speak
 * for this one. Others know a folder by its config.json, which comes last. */
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

/* Whether it can be written into. */
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

static rt_status write_vocabulary(const char *folder, const rt_transformer *model,
                                  const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    char *text = NULL;
    if (!v)
        return rt_ok();
    const rt_text_frame around = rt_vocabulary_frame(v);
    const bool labels = model->options.head != RT_HEAD_LM;
    const rt_frame frame = {.begins = labels ? around.first != RT_NO_ID : !export->bare,
                            .ends = labels && around.last != RT_NO_ID};
    rt_status made = v->level == RT_LEVEL_BPE ? rt_tokenizer_bpe_file(&text, v, frame)
                                              : rt_vocabulary_write(v, &text);
    rt_status status = put_text(folder, rt_vocabulary_file(v), made, text);
    if (status.code)
        return status;
    text = NULL;
    made = rt_huggingface_tokenizer_text(&text, export);
    return put_text(folder, RT_HF_TOKENIZER, made, text);
}

static rt_status write_files(const char *folder, const rt_family *family,
                             const rt_transformer *model, const rt_huggingface_export *export)
{
    char path[RT_PATH_SIZE], *text = NULL;
    rt_status status = rt_path_join(path, folder, RT_WEIGHTS_FILE);
    if (!status.code)
        status = rt_huggingface_write_weights(path, family, model, export);
    if (!status.code)
        status = write_vocabulary(folder, model, export);
    if (status.code)
        return status;
    rt_status made = rt_huggingface_card_text(&text, family, model, export);
    status = put_text(folder, RT_HF_CARD, made, text);
    if (status.code)
        return status;
    text = NULL;
    made = rt_huggingface_config_text(&text, family, model, export);
    return put_text(folder, RT_HF_CONFIG, made, text);
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
        status = write_files(to.staging, family, model, export);
    return rt_durable_folder_close(&to, status);
}

rt_status rt_huggingface_write(const char *folder, const rt_transformer *model,
                               const rt_huggingface_export *export)
{
    return rt_huggingface_write_as(folder, model, export, rt_families);
}
