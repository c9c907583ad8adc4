#include "io/huggingface/private.h"

#include "core/memory.h"
#include "core/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
