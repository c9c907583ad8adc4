/* The tensors of a folder by the names of rotor's parameters. */

#include "io/huggingface/private.h"

#include <string.h>

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
