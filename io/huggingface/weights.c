#include "io/huggingface/weights.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/json.h"
#include "io/huggingface/private.h"
#include "text/writer.h"

#include <string.h>

static rt_status open_file(rt_weights *w, const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    rt_status status = rt_path_join(path, folder, name);
    if (!status.code)
        status = rt_safetensors_open(w->files + w->count, path);
    w->count += !status.code;
    return status;
}

/* ---- several files ---- */

static rt_status check_name(const char *name)
{
    char quoted[RT_QUOTE_SIZE];
    const bool lies_here =
        name && *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
    if (lies_here)
        return rt_ok();
    return rt_error(RT_CHECKPOINT, "%s: weight_map must name files of the folder itself; got %s",
                    RT_WEIGHTS_INDEX, rt_quote(quoted, name ? name : "something else"));
}

static const rt_safetensors *find_file(const rt_weights *w, const char *name)
{
    for (int i = 0; i < w->count; i++)
        if (!strcmp(rt_safetensors_name(w->files[i]), name))
            return w->files[i];
    return NULL;
}

static rt_status open_named(rt_weights *w, const char *folder, const char *name)
{
    rt_status status = check_name(name);
    if (status.code || find_file(w, name))
        return status;
    if (w->count == RT_MOST_WEIGHT_FILES)
        return rt_error(RT_CHECKPOINT, "%s: weight_map names more than %d files", RT_WEIGHTS_INDEX,
                        RT_MOST_WEIGHT_FILES);
    return open_file(w, folder, name);
}

/* Checks that the files have just the tensors of the index. */
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

static rt_status open_map(rt_weights *w, const char *folder, json_t *map)
{
    const char *tensor;
    json_t *value;
    char quoted[RT_QUOTE_SIZE];
    json_object_foreach(map, tensor, value)
    {
        const char *name = json_string_value(value);
        rt_status status = open_named(w, folder, name);
        if (!status.code && !rt_safetensors_find(find_file(w, name), tensor))
            status = rt_error(RT_CHECKPOINT, "%s: lacks %s, which %s says is there", name,
                              rt_quote(quoted, tensor), RT_WEIGHTS_INDEX);
        if (status.code)
            return status;
    }
    return compare(w, map);
}

static rt_status open_index(rt_weights *w, const char *folder)
{
    json_t *index;
    rt_status status = rt_json_read_file(&index, folder, RT_WEIGHTS_INDEX);
    if (status.code)
        return status;
    json_t *map = json_object_get(index, "weight_map");
    status = json_is_object(map)
                 ? open_map(w, folder, map)
                 : rt_error(RT_CHECKPOINT, "%s: weight_map must be an object", RT_WEIGHTS_INDEX);
    json_decref(index);
    return status;
}

/* ---- all ---- */

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

rt_weight rt_weights_find(const rt_weights *w, const char *name)
{
    rt_weight found = {0};
    for (int i = 0; i < w->count && !found.tensor; i++) {
        found.file = w->files[i];
        found.tensor = rt_safetensors_find(w->files[i], name);
    }
    return found.tensor ? found : (rt_weight){0};
}

uint64_t rt_weights_size(const rt_weights *w, uint64_t *tensors)
{
    uint64_t size = 0;
    const rt_safetensor *t;
    *tensors = 0;
    for (int i = 0; i < w->count; i++)
        for (size_t n = 0; (t = rt_safetensors_at(w->files[i], n)); n++) {
            size += t->bytes ? t->count : 0;
            ++*tensors;
        }
    return size;
}

/* ---- tensors by the names of rotor's parameters ---- */

/* The tensors of a folder by the names of rotor's parameters. */

bool rt_huggingface_of_head(const rt_family *f, const char *name)
{
    for (const char *const *prefix = f->head_prefixes; *prefix; prefix++)
        if (!strncmp(name, *prefix, strlen(*prefix)))
            return true;
    return false;
}

/* A name without the prefix, in a folder that has none. */
static const char *bare_name(const rt_huggingface *there, const char *name)
{
    const char *before = there->files->family->prefix;
    const size_t prefix = strlen(before);
    return !there->files->prefixed && !strncmp(name, before, prefix) ? name + prefix : name;
}

const char *rt_huggingface_name(const rt_huggingface *there, const char *parameter,
                                char name[RT_NAME_SIZE])
{
    rt_tensor_place place;
    if (!rt_tensor_main_place(&place, there->files->family, &there->options, parameter))
        return parameter;
    memcpy(name, place.name, RT_NAME_SIZE);
    return bare_name(there, name);
}

rt_weight rt_huggingface_tensor(const rt_huggingface *there, const char *name)
{
    return rt_weights_find(&there->files->weights, bare_name(there, name));
}

static rt_weight find(const rt_huggingface *there, const char *parameter, rt_tensor_place *place)
{
    rt_weight found = {0};
    for (int n = 0; !found.tensor &&
                    rt_tensor_place_of(place, there->files->family, &there->options, parameter, n);
         n++)
        found = rt_huggingface_tensor(there, place->name);
    return found;
}

rt_weight rt_huggingface_find(const rt_huggingface *there, const char *parameter,
                              rt_tensor_place *place)
{
    const rt_weight found = find(there, parameter, place);
    const bool tied = there->options.tie_embeddings && !strcmp(parameter, RT_OUTPUT_NAME);
    return found.tensor || !tied ? found : find(there, RT_TOKENS_NAME, place);
}

/* ---- whether the decoder is tied to the embeddings ---- */

/* Compares the numbers of two tensors of the same shape. */
static rt_status compare_numbers(rt_weight a, rt_weight b, bool *same)
{
    enum { BLOCK = 512 };
    double one[BLOCK], other[BLOCK];
    *same =
        a.tensor->axes == b.tensor->axes &&
        !memcmp(a.tensor->shape, b.tensor->shape, (size_t)a.tensor->axes * sizeof *a.tensor->shape);
    for (uint64_t first = 0; first < a.tensor->count && *same; first += BLOCK) {
        const uint64_t left = a.tensor->count - first;
        const size_t part = left < BLOCK ? (size_t)left : BLOCK;
        rt_status status = rt_safetensors_doubles(a.file, a.tensor, first, part, one);
        if (!status.code)
            status = rt_safetensors_doubles(b.file, b.tensor, first, part, other);
        if (status.code)
            return status;
        *same = !memcmp(one, other, part * sizeof *one);
    }
    return rt_ok();
}

/* If both are there and differ, the one that a tied decoder would not have, says so and which. */
static rt_status warn_of(rt_huggingface *there, const char *used, const char *tied, bool *differ)
{
    const rt_weight a = rt_huggingface_tensor(there, used);
    const rt_weight b = rt_huggingface_tensor(there, tied);
    bool same = true;
    rt_status status = a.tensor && b.tensor ? compare_numbers(a, b, &same) : rt_ok();
    *differ = !same;
    if (*differ)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": tie_word_embeddings = true, but %s is not %s; the former is "
                                   "used\n",
                      used, tied);
    return status;
}

rt_status rt_huggingface_settle_decoder(rt_huggingface *there)
{
    const rt_family *f = there->files->family;
    rt_transformer_options *o = &there->options;
    rt_tensor_place first, second;
    bool weights_differ, biases_differ;
    if (o->head != RT_HEAD_LM || !there->has_head || !o->tie_embeddings ||
        !rt_tensor_place_of(&first, f, o, RT_OUTPUT_NAME, 0) ||
        !rt_tensor_place_of(&second, f, o, RT_TOKENS_NAME, 0))
        return rt_ok();
    rt_status status = warn_of(there, first.name, second.name, &weights_differ);
    if (!status.code && rt_tensor_place_of(&first, f, o, RT_OUTPUT_BIAS_NAME, 0) &&
        rt_tensor_place_of(&second, f, o, RT_OUTPUT_BIAS_NAME, 1))
        status = warn_of(there, first.name, second.name, &biases_differ);
    if (!status.code && weights_differ)
        o->tie_embeddings = false;
    return status;
}
