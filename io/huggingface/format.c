/* Weights of Hugging Face in a format that is not read. */

#include "io/huggingface/private.h"

#include "core/path.h"
#include "io/huggingface/folder_file.h"
#include "io/huggingface/json.h"
#include "text/text_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CLASS_SIZE = 64 };

/* As torch.save writes them, whole or in parts. */
static const char pytorch[] = "pytorch_model.bin", pytorch_index[] = "pytorch_model.bin.index.json";

/* The class of the model, as config.json names it: a word of Python. */
static void read_class(const char *folder, char name[CLASS_SIZE])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    json_t *config;
    const rt_status status = rt_json_read_file(&config, folder, RT_HF_CONFIG);
    const json_t *first = json_array_get(json_object_get(config, "architectures"), 0);
    const char *text = status.code ? NULL : json_string_value(first);
    const bool is_word = text && *text && strlen(text) < CLASS_SIZE && !text[strspn(text, letters)];
    snprintf(name, CLASS_SIZE, "%s", is_word ? text : "AutoModelForCausalLM");
    json_decref(config);
}

static rt_status refuse_pytorch(const char *folder)
{
    char name[CLASS_SIZE];
    read_class(folder, name);
    return rt_error(RT_CHECKPOINT,
                    "%s: the weights are in pytorch_model.bin, which is not read; save_pretrained "
                    "writes model.safetensors. In Python: from transformers import %s; "
                    "%s.from_pretrained('%s').save_pretrained('%s')",
                    folder, name, name, folder, folder);
}

/* The model in a folder of the Hub's cache, models--OWNER--NAME or its snapshots: the first of its
 * snapshots that has a config.json. */
static bool find_snapshot(char path[RT_PATH_SIZE], const char *folder)
{
    static const char inner[] = "/snapshots";
    struct dirent **names = NULL;
    char snapshots[RT_PATH_SIZE];
    const bool above = rt_folder_has(folder, inner + 1);
    bool found = false;
    snprintf(snapshots, sizeof snapshots, "%s%s", folder, above ? inner : "");
    const int count =
        above || strstr(folder, inner + 1) ? scandir(snapshots, &names, NULL, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        if (!found && names[i]->d_name[0] != '.')
            found = !rt_path_join(path, snapshots, names[i]->d_name).code &&
                    rt_folder_has(path, RT_HF_CONFIG);
        free(names[i]); /* of scandir */
    }
    free(names);
    return found;
}

static rt_status refuse_folder(const char *folder)
{
    char snapshot[RT_PATH_SIZE];
    if (rt_folder_has(folder, RT_WEIGHTS_FILE) || rt_folder_has(folder, RT_WEIGHTS_INDEX))
        return rt_folder_has(folder, RT_HF_CONFIG)
                   ? rt_ok()
                   : rt_error(RT_CHECKPOINT, "%s has weights, but no " RT_HF_CONFIG, folder);
    if (rt_folder_has(folder, pytorch) || rt_folder_has(folder, pytorch_index))
        return refuse_pytorch(folder);
    if (rt_folder_has(folder, RT_HF_CONFIG))
        return rt_error(RT_CHECKPOINT, "%s has " RT_HF_CONFIG ", but no " RT_WEIGHTS_FILE, folder);
    if (find_snapshot(snapshot, folder))
        return rt_error(RT_CHECKPOINT, "%s is a folder of the Hub's cache; the model is in %s",
                        folder, snapshot);
    return rt_ok();
}

static bool begins(const char *bytes, size_t size, size_t at, const char *with)
{
    return size >= at + strlen(with) && !memcmp(bytes + at, with, strlen(with));
}

/* The header of safetensors is JSON behind 8 bytes with its size; torch.save writes a zip
 * archive. */
static rt_status refuse_file(const char *path, const char *bytes, size_t size)
{
    char folder[RT_PATH_SIZE];
    const int length = (int)(rt_path_name(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    if (rt_is_lfs_pointer(bytes, size))
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, path);
    if (begins(bytes, size, 0, "GGUF"))
        return rt_error(RT_CHECKPOINT,
                        "%s: GGUF is not read; name a folder with " RT_HF_CONFIG
                        " and " RT_WEIGHTS_FILE,
                        path);
    if (begins(bytes, size, 0, "{") || begins(bytes, size, 8, "{"))
        return rt_error(RT_CHECKPOINT,
                        "%s is a file of a model of Hugging Face: name its folder, %s", path,
                        folder);
    return begins(bytes, size, 0, "PK\x03\x04") ? refuse_pytorch(folder) : rt_ok();
}

rt_status rt_huggingface_refuse_format(const char *path)
{
    char bytes[64];
    struct stat facts;
    if (!stat(path, &facts) && S_ISDIR(facts.st_mode))
        return refuse_folder(path);
    FILE *file = rt_open_regular(path);
    if (!file)
        return rt_ok();
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return refuse_file(path, bytes, size);
}
