/* The tensors of a folder by the names of rotor's parameters. */

#include "train/huggingface/private.h"

#include <string.h>

rt_weight rt_huggingface_tensor(const rt_huggingface *there, const char *name)
{
    const size_t prefix = strlen(RT_HF_PREFIX);
    if (!there->files->prefixed && !strncmp(name, RT_HF_PREFIX, prefix))
        name += prefix;
    return rt_weights_find(&there->files->weights, name);
}

rt_weight rt_huggingface_find(const rt_huggingface *there, const char *parameter)
{
    rt_weight found = {0};
    if (!strcmp(parameter, RT_HF_BIAS))
        found = rt_huggingface_tensor(there, RT_HF_DECODER_BIAS);
    if (!found.tensor)
        found = rt_huggingface_tensor(there, parameter);
    if (!found.tensor && there->options.tie_embeddings && !strcmp(parameter, RT_HF_DECODER))
        found = rt_huggingface_tensor(there, RT_HF_WORDS);
    return found;
}
