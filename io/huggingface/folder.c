/* Opening a folder: refused formats, files with tensors, the names of tensors, and size checks. */

#include "io/huggingface/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/json.h"
#include "text/files.h"
#include "text/writer.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- formats that are not read ---- */

/* Refuses files of torch.save. The message names the model class of config.json, if it is an
 * identifier, or else a general one. */
static rt_status refuse_pytorch(const char *folder)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    enum { CLASS_SIZE = 64 };
    json_t *config;
    rt_status status = rt_json_read_file(&config, folder, RT_HF_CONFIG);
    const json_t *first = json_array_get(json_object_get(config, "architectures"), 0);
    const char *name = status.code ? NULL : json_string_value(first);
    if (!name || !*name || strlen(name) >= CLASS_SIZE || name[strspn(name, letters)])
        name = "AutoModelForCausalLM";
    status = rt_error(RT_CHECKPOINT,
                      "%s: the weights are in pytorch_model.bin, which is not read; "
                      "save_pretrained writes model.safetensors. In Python: from transformers "
                      "import %s; %s.from_pretrained('%s').save_pretrained('%s')",
                      folder, name, name, folder, folder);
    json_decref(config);
    return status;
}

/* Finds the first snapshot with a config.json in a folder of the Hub's cache, models--OWNER--NAME
 * or its folder of snapshots. Returns false if there is none. */
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
        free(names[i]); /* allocated by scandir */
    }
    free(names);
    return found;
}

static bool has_weights(const char *folder)
{
    return rt_folder_has(folder, RT_WEIGHTS_FILE) || rt_folder_has(folder, RT_WEIGHTS_INDEX);
}

bool rt_is_huggingface(const char *path)
{
    return rt_folder_has(path, RT_HF_CONFIG) && has_weights(path);
}

static rt_status refuse_folder(const char *folder)
{
    char snapshot[RT_PATH_SIZE];
    if (has_weights(folder))
        return rt_folder_has(folder, RT_HF_CONFIG)
                   ? rt_ok()
                   : rt_error(RT_CHECKPOINT, "%s has weights, but no " RT_HF_CONFIG, folder);
    if (rt_folder_has(folder, "pytorch_model.bin") ||
        rt_folder_has(folder, "pytorch_model.bin.index.json"))
        return refuse_pytorch(folder);
    if (rt_folder_has(folder, RT_HF_CONFIG))
        return rt_error(RT_CHECKPOINT, "%s has " RT_HF_CONFIG ", but no " RT_WEIGHTS_FILE, folder);
    if (find_snapshot(snapshot, folder))
        return rt_error(RT_CHECKPOINT, "%s is a folder of the Hub's cache; the model is in %s",
                        folder, snapshot);
    return rt_ok();
}

/* Refuses a file by its first bytes. A safetensors file has JSON after 8 bytes with its size;
 * torch.save writes a zip archive. */
rt_status rt_huggingface_refuse_format(const char *path)
{
    char bytes[64] = {0}, folder[RT_PATH_SIZE];
    struct stat facts;
    if (!stat(path, &facts) && S_ISDIR(facts.st_mode))
        return refuse_folder(path);
    FILE *file = rt_open_regular(path);
    if (!file)
        return rt_ok();
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    const int length = (int)(rt_path_name(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    if (rt_is_lfs_pointer(bytes, size))
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, path);
    if (!memcmp(bytes, "GGUF", 4))
        return rt_error(RT_CHECKPOINT,
                        "%s: GGUF is not read; name a folder with " RT_HF_CONFIG
                        " and " RT_WEIGHTS_FILE,
                        path);
    if (bytes[0] == '{' || bytes[8] == '{')
        return rt_error(RT_CHECKPOINT,
                        "%s is a file of a model of Hugging Face: name its folder, %s", path,
                        folder);
    return memcmp(bytes, "PK\x03\x04", 4) ? rt_ok() : refuse_pytorch(folder);
}

/* ---- files with tensors ---- */

static rt_status open_file(rt_weights *w, const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    rt_status status = rt_path_join(path, folder, name);
    if (!status.code)
        status = rt_safetensors_open(w->files + w->count, path);
    w->count += !status.code;
    return status;
}

static const rt_safetensors *find_file(const rt_weights *w, const char *name)
{
    for (int i = 0; i < w->count; i++)
        if (!strcmp(rt_safetensors_name(w->files[i]), name))
            return w->files[i];
    return NULL;
}

/* Opens a file of the index, unless it is open. */
static rt_status open_named(rt_weights *w, const char *folder, const char *name)
{
    char quoted[RT_QUOTE_SIZE];
    if (!name || !*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
        return rt_error(RT_CHECKPOINT,
                        "%s: weight_map must name files of the folder itself; got %s",
                        RT_WEIGHTS_INDEX, rt_quote(quoted, name ? name : "something else"));
    if (find_file(w, name))
        return rt_ok();
    if (w->count == RT_MOST_WEIGHT_FILES)
        return rt_error(RT_CHECKPOINT, "%s: weight_map names more than %d files", RT_WEIGHTS_INDEX,
                        RT_MOST_WEIGHT_FILES);
    return open_file(w, folder, name);
}

/* Checks that the files have exactly the tensors of the index. */
static rt_status compare(const rt_weights *w, const json_t *map)
{
    char quoted[RT_QUOTE_SIZE];
    const rt_safetensor *t;
    for (int i = 0; i < w->count; i++) {
        const char *name = rt_safetensors_name(w->files[i]);
        for (size_t n = 0; (t = rt_safetensors_at(w->files[i], n)); n++) {
            const char *where = json_string_value(json_object_get(map, t->name));
            if (!where || strcmp(where, name))
                return rt_error(RT_CHECKPOINT, "%s: has %s, which %s does not say", name,
                                rt_quote(quoted, t->name), RT_WEIGHTS_INDEX);
        }
    }
    return rt_ok();
}

static rt_status open_index(rt_weights *w, const char *folder)
{
    const char *tensor;
    json_t *index, *value;
    char quoted[RT_QUOTE_SIZE];
    rt_status status = rt_json_read_file(&index, folder, RT_WEIGHTS_INDEX);
    json_t *map = json_object_get(index, "weight_map");
    if (!status.code && !json_is_object(map))
        status = rt_error(RT_CHECKPOINT, "%s: weight_map must be an object", RT_WEIGHTS_INDEX);
    json_object_foreach(map, tensor, value)
    {
        const char *name = json_string_value(value);
        if (!status.code)
            status = open_named(w, folder, name);
        if (!status.code && !rt_safetensors_find(find_file(w, name), tensor))
            status = rt_error(RT_CHECKPOINT, "%s: lacks %s, which %s says is there", name,
                              rt_quote(quoted, tensor), RT_WEIGHTS_INDEX);
    }
    if (!status.code)
        status = compare(w, map);
    json_decref(index);
    return status;
}

rt_status rt_weights_open(rt_weights *w, const char *folder)
{
    *w = (rt_weights){.files = rt_alloc(RT_MOST_WEIGHT_FILES, sizeof(rt_safetensors *))};
    if (!w->files)
        return rt_out_of_memory("a list of files");
    if (!rt_folder_has(folder, RT_WEIGHTS_FILE) && rt_folder_has(folder, RT_WEIGHTS_INDEX))
        return open_index(w, folder);
    return open_file(w, folder, RT_WEIGHTS_FILE);
}

void rt_weights_close(rt_weights *w)
{
    for (int i = 0; i < w->count; i++)
        rt_safetensors_close(w->files[i]);
    rt_free(w->files);
    *w = (rt_weights){0};
}

const char *rt_huggingface_name(const rt_huggingface *there, const char *name)
{
    const char *before = there->files->family->prefix;
    const size_t prefix = strlen(before);
    return !there->files->prefixed && !strncmp(name, before, prefix) ? name + prefix : name;
}

const rt_safetensor *rt_huggingface_tensor(const rt_huggingface *there, const char *name)
{
    const rt_weights *w = &there->files->weights;
    const rt_safetensor *found = NULL;
    for (int i = 0; i < w->count && !found; i++)
        found = rt_safetensors_find(w->files[i], rt_huggingface_name(there, name));
    return found;
}

/* ---- tied decoders ---- */

/* Sets *differ if the folder has both tensors and they differ in shape or numbers, and warns which
 * one is used. */
static rt_status warn_of(rt_huggingface *there, const char *used, const char *tied, bool *differ)
{
    enum { BLOCK = 512 };
    double one[BLOCK], other[BLOCK];
    const rt_safetensor *a = used ? rt_huggingface_tensor(there, used) : NULL;
    const rt_safetensor *b = tied ? rt_huggingface_tensor(there, tied) : NULL;
    *differ = false;
    if (!a || !b)
        return rt_ok();
    bool same =
        a->axes == b->axes && !memcmp(a->shape, b->shape, (size_t)a->axes * sizeof *a->shape);
    for (uint64_t first = 0; first < a->count && same; first += BLOCK) {
        const uint64_t left = a->count - first;
        const size_t part = left < BLOCK ? (size_t)left : BLOCK;
        rt_status status = rt_safetensors_doubles(a, first, part, one);
        if (!status.code)
            status = rt_safetensors_doubles(b, first, part, other);
        if (status.code)
            return status;
        same = !memcmp(one, other, part * sizeof *one);
    }
    *differ = !same;
    if (*differ)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": tie_word_embeddings = true, but %s is not %s; the former is "
                                   "used\n",
                      used, tied);
    return rt_ok();
}

/* Determines whether the decoder is tied: not if its matrix differs from the embeddings. */
static rt_status resolve_tied_decoder(rt_huggingface *there)
{
    const rt_family *f = there->files->family;
    rt_transformer_options *o = &there->options;
    bool weights_differ, biases_differ;
    if (o->head != RT_HEAD_LM || !there->has_head || !o->tie_embeddings)
        return rt_ok();
    rt_status status = warn_of(there, rt_family_tensor(f, o, RT_OUTPUT_NAME, 0),
                               rt_family_tensor(f, o, RT_TOKENS_NAME, 0), &weights_differ);
    if (!status.code)
        status = warn_of(there, rt_family_tensor(f, o, RT_OUTPUT_BIAS_NAME, 0),
                         rt_family_tensor(f, o, RT_OUTPUT_BIAS_NAME, 1), &biases_differ);
    if (!status.code && weights_differ)
        o->tie_embeddings = false;
    return status;
}

/* ---- opening ---- */

/* Checks the size of a model before it is allocated: whatever config.json says, it cannot have many
 * more numbers than the folder. Only theta is added, and the head that a base model lacks, which is
 * smaller than the encoder. */
static rt_status check_size(const rt_huggingface *there)
{
    enum { GAP = 16 };
    const rt_transformer_options *o = &there->options;
    const int layer_tensors = there->files->family->layer_tensors;
    const rt_weights *w = &there->files->weights;
    uint64_t tensors = 0, there_are = 0;
    const rt_safetensor *t;
    size_t size;
    for (int i = 0; i < w->count; i++)
        for (size_t n = 0; (t = rt_safetensors_at(w->files[i], n)); n++, tensors++)
            there_are += t->bytes ? t->count : 0;
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

rt_status rt_huggingface_warnings(rt_huggingface *there)
{
    const rt_writer *w = &there->files->warnings;
    there->warnings = w->bytes ? w->bytes : "";
    return w->failed ? rt_out_of_memory("warnings") : rt_ok();
}

rt_status rt_huggingface_open(rt_huggingface **there_new, const char *folder)
{
    *there_new = NULL;
    rt_huggingface *there = rt_alloc(1, sizeof *there);
    struct rt_huggingface_files *files = rt_alloc(1, sizeof *files);
    if (!there || !files) {
        rt_free(there);
        rt_free(files);
        return rt_out_of_memory("a folder of Hugging Face");
    }
    there->files = files;
    rt_status status = rt_huggingface_read_config(there, folder);
    if (!status.code)
        status = rt_weights_open(&files->weights, folder);
    if (!status.code) {
        const rt_family *family = files->family;
        const char *tokens = rt_family_tensor(family, &there->options, RT_TOKENS_NAME, 0);
        files->prefixed = true;
        files->prefixed = rt_huggingface_tensor(there, tokens) != NULL;
        status = family->resolve_theta ? family->resolve_theta(there)
                                       : rt_rope_parameters_resolve(there);
    }
    if (!status.code)
        status = resolve_tied_decoder(there);
    if (!status.code)
        status = check_size(there);
    if (!status.code)
        status = rt_huggingface_warnings(there);
    if (status.code)
        rt_huggingface_close(there);
    else
        *there_new = there;
    return status;
}

void rt_huggingface_close(rt_huggingface *there)
{
    if (!there)
        return;
    rt_weights_close(&there->files->weights);
    rt_writer_free(&there->files->warnings);
    rt_folder_theta_free(&there->files->written);
    rt_free(there->files);
    for (int i = 0; there->labels && i < there->options.labels; i++)
        rt_free(there->labels[i]);
    rt_free(there->labels);
    rt_free(there->theta);
    rt_vocabulary_free(there->vocabulary);
    rt_labels_free(there->sorted_labels);
    rt_free(there->places);
    rt_free(there->refused);
    rt_free(there);
}
