/* The folder of a model of Hugging Face: formats that are refused, and opening. */

#include "io/huggingface/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/json.h"
#include "text/text_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- formats that are not read ---- */

/* Weights of Hugging Face in a format that is not read. */

enum { CLASS_SIZE = 64 };

/* Names of torch.save's files, for the whole model or its parts. */
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

/* ---- opening ---- */

static bool has_file(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    struct stat facts;
    return !rt_path_join(path, folder, name).code && !stat(path, &facts) && S_ISREG(facts.st_mode);
}

bool rt_is_huggingface(const char *path)
{
    return has_file(path, RT_HF_CONFIG) &&
           (has_file(path, RT_WEIGHTS_FILE) || has_file(path, RT_WEIGHTS_INDEX));
}

/* ---- before there is a model ---- */

/* A model cannot have many more numbers than the folder has, whatever config.json says: what it
 * has beside them is theta, and the head that a RoFormerModel lacks, which is smaller than the
 * encoder. */
static rt_status check_size(const rt_huggingface *there)
{
    enum { GAP = 16 };
    const rt_transformer_options *o = &there->options;
    const int layer_tensors = there->files->family->layer_tensors;
    uint64_t tensors;
    size_t size;
    const uint64_t there_are = rt_weights_size(&there->files->weights, &tensors);
    if (tensors / (uint64_t)layer_tensors < (uint64_t)o->layers)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": num_hidden_layers = %d needs %d tensors; the folder has "
                                     "%" PRIu64,
                        o->layers, layer_tensors * o->layers, tensors);
    rt_status status = rt_transformer_size(o, &size);
    if (status.code == RT_ARGUMENT)
        return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": %s", status.message);
    if (!status.code && size / 2 > there_are + GAP * (tensors + 32))
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": the model would have %zu numbers; the folder has %" PRIu64,
                        size, there_are);
    return status;
}

static rt_status read_folder(rt_huggingface *there, const char *folder)
{
    struct rt_huggingface_files *files = there->files;
    rt_tensor_place words;
    rt_status status = rt_huggingface_read_config(there, folder);
    if (!status.code)
        status = rt_weights_open(&files->weights, folder);
    if (status.code)
        return status;
    for (int n = 0; !files->prefixed &&
                    rt_tensor_place_of(&words, files->family, &there->options, RT_TOKENS_NAME, n);
         n++)
        files->prefixed = rt_weights_find(&files->weights, words.name).tensor != NULL;
    status = files->family->settle_theta(there);
    if (!status.code)
        status = rt_huggingface_settle_decoder(there);
    if (!status.code)
        status = check_size(there);
    if (!status.code && !(there->warnings = rt_writer_take(&files->warnings)))
        status = rt_out_of_memory("warnings");
    return status;
}

rt_status rt_huggingface_open_of(rt_huggingface **there_new, const char *folder,
                                 const rt_family *const *families)
{
    *there_new = NULL;
    rt_huggingface *there = rt_alloc(1, sizeof *there);
    if (there)
        there->files = rt_alloc(1, sizeof *there->files);
    if (!there || !there->files) {
        rt_free(there);
        return rt_out_of_memory("a folder of Hugging Face");
    }
    there->files->families = families;
    rt_status status = read_folder(there, folder);
    if (status.code)
        rt_huggingface_close(there);
    else
        *there_new = there;
    return status;
}

rt_status rt_huggingface_open(rt_huggingface **there_new, const char *folder)
{
    return rt_huggingface_open_of(there_new, folder, rt_families);
}

void rt_huggingface_close(rt_huggingface *there)
{
    if (!there)
        return;
    rt_weights_close(&there->files->weights);
    rt_writer_free(&there->files->warnings);
    rt_free(there->files->written.values);
    rt_free(there->files);
    for (int i = 0; there->labels && i < there->options.labels; i++)
        rt_free(there->labels[i]);
    rt_free(there->labels);
    rt_free(there->theta);
    rt_free(there->warnings);
    rt_free(there);
}
