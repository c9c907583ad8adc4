#include "io/huggingface/weights.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/folder_file.h"
#include "io/huggingface/json.h"
#include "text/quote.h"

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

/* What the files have and the index says must be the same. */
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
