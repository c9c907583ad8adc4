#include "train/huggingface/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/text/durable_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---- */

static rt_status cannot_do(const char *verb, const char *path)
{
    return rt_error(RT_IO, "cannot %s %s: %s", verb, path, strerror(errno));
}

static rt_status check_empty(const char *folder)
{
    int files = 0;
    const struct dirent *entry;
    DIR *stream = opendir(folder);
    if (!stream)
        return cannot_do("read the folder", folder);
    while ((entry = readdir(stream)))
        files += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(stream);
    return files ? rt_error(RT_CONFIG, "%s: the folder is not empty; --overwrite writes into it",
                            folder)
                 : rt_ok();
}

static rt_status make_folder(const char *folder, bool overwrite)
{
    struct stat facts;
    if (!mkdir(folder, 0777))
        return rt_ok();
    if (errno != EEXIST)
        return cannot_do("make the folder", folder);
    if (stat(folder, &facts) || !S_ISDIR(facts.st_mode))
        return rt_error(RT_CONFIG, "%s: it is no folder", folder);
    return overwrite ? rt_ok() : check_empty(folder);
}

/* What an older model may have left, and would speak for this one. config.json goes first: without
 * it nobody takes the folder for a whole one, until the new one is written at the end. */
static rt_status remove_older(const char *folder)
{
    static const char *const names[] = {
        RT_HF_CONFIG,    RT_WEIGHTS_FILE, RT_WEIGHTS_INDEX,          RT_HF_VOCAB,
        RT_HF_TOKENIZER, RT_HF_PIECES,    "special_tokens_map.json", "added_tokens.json",
        RT_HF_GENERATE};
    char path[RT_PATH_SIZE];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rt_status status = rt_path_join(path, folder, names[i]);
        if (status.code)
            return status;
        if (unlink(path) && errno != ENOENT)
            return cannot_do("remove", path);
    }
    return rt_ok();
}

/* ---- files ---- */

/* Writes a text, which it frees, if there is one. */
static rt_status put_text(const char *folder, const char *name, rt_status made, char *text)
{
    rt_status status = made.code ? made : rt_durable_text(folder, name, text);
    rt_free(text);
    return status;
}

static rt_status write_vocabulary(const char *folder, const rt_huggingface_export *export)
{
    char *text = NULL;
    if (!export->vocabulary)
        return rt_ok();
    rt_status made = rt_vocabulary_write(export->vocabulary, &text);
    rt_status status = put_text(folder, rt_vocabulary_file(export->vocabulary), made, text);
    if (status.code)
        return status;
    text = NULL;
    made = rt_huggingface_tokenizer_text(&text, export);
    return put_text(folder, RT_HF_TOKENIZER, made, text);
}

static rt_status write_files(const char *folder, const rt_roformer *model,
                             const rt_huggingface_export *export)
{
    char path[RT_PATH_SIZE], *text = NULL;
    rt_status status = rt_path_join(path, folder, RT_WEIGHTS_FILE);
    if (!status.code)
        status = rt_huggingface_write_weights(path, model, export);
    if (!status.code)
        status = write_vocabulary(folder, export);
    if (status.code)
        return status;
    rt_status made = rt_huggingface_card_text(&text, model, export);
    status = put_text(folder, "README.md", made, text);
    if (status.code)
        return status;
    text = NULL;
    made = rt_huggingface_config_text(&text, model, export);
    return put_text(folder, RT_HF_CONFIG, made, text);
}

rt_status rt_huggingface_write(const char *folder, const rt_roformer *model,
                               const rt_huggingface_export *export)
{
    rt_status status = rt_family_of(&model->options)->expressible(model);
    if (!status.code)
        status = make_folder(folder, export->overwrite);
    if (!status.code && export->overwrite)
        status = remove_older(folder);
    return status.code ? status : write_files(folder, model, export);
}
