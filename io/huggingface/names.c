/* The two names of a tensor: rotor's, and that of the folder. */

#include "io/huggingface/private.h"

#include <stdio.h>
#include <string.h>

/* What begins the names of rotor's layers. */
#define LAYERS "roformer.encoder.layer."

/* Writes `name` with the beginning that is in the list replaced by the one beside it. */
static bool rename_by(const rt_name_pair *pairs, bool to_there, const char *name, char *to,
                      size_t size)
{
    for (; pairs->here; pairs++) {
        const char *from = to_there ? pairs->here : pairs->there;
        const size_t length = strlen(from);
        if (strncmp(name, from, length) || name[length] != '.')
            continue;
        return snprintf(to, size, "%s%s", to_there ? pairs->there : pairs->here, name + length) <
               (int)size;
    }
    return false;
}

static const char *rename_whole(const rt_family *f, bool to_there, const char *from,
                                char name[RT_NAME_SIZE])
{
    const char *before = to_there ? LAYERS : f->layers, *after = to_there ? f->layers : LAYERS;
    const size_t length = strlen(before);
    if (strncmp(from, before, length))
        return rename_by(f->other_names, to_there, from, name, RT_NAME_SIZE) ? name : NULL;
    const char *number = from + length;
    const int digits = (int)strspn(number, "0123456789");
    const int start = snprintf(name, RT_NAME_SIZE, "%s%.*s.", after, digits, number);
    if (!digits || number[digits] != '.' || start >= RT_NAME_SIZE)
        return NULL;
    return rename_by(f->layer_names, to_there, number + digits + 1, name + start,
                     (size_t)(RT_NAME_SIZE - start))
               ? name
               : NULL;
}

static const char *copy(const char *from, char name[RT_NAME_SIZE])
{
    return snprintf(name, RT_NAME_SIZE, "%s", from) < RT_NAME_SIZE ? name : NULL;
}

const char *rt_name_there(const rt_family *f, const char *parameter, char name[RT_NAME_SIZE])
{
    return f->layer_names ? rename_whole(f, true, parameter, name) : copy(parameter, name);
}

const char *rt_name_here(const rt_family *f, const char *there, char name[RT_NAME_SIZE])
{
    return f->layer_names ? rename_whole(f, false, there, name) : copy(there, name);
}

/* ---- what is in a folder ---- */

bool rt_huggingface_of_head(const rt_family *f, const char *name)
{
    for (const char *const *prefix = f->head_prefixes; *prefix; prefix++)
        if (!strncmp(name, *prefix, strlen(*prefix)))
            return true;
    return false;
}

const char *rt_huggingface_name(const rt_huggingface *there, const char *parameter,
                                char name[RT_NAME_SIZE])
{
    const rt_family *f = there->files->family;
    const size_t prefix = strlen(f->prefix);
    const char *whole = rt_name_there(f, parameter, name);
    if (whole && !there->files->prefixed && !strncmp(whole, f->prefix, prefix))
        return whole + prefix;
    return whole ? whole : parameter;
}

rt_weight rt_huggingface_tensor(const rt_huggingface *there, const char *name)
{
    const char *before = there->files->family->prefix;
    const size_t prefix = strlen(before);
    if (!there->files->prefixed && !strncmp(name, before, prefix))
        name += prefix;
    return rt_weights_find(&there->files->weights, name);
}

rt_weight rt_huggingface_find(const rt_huggingface *there, const char *parameter)
{
    const rt_family *f = there->files->family;
    char name[RT_NAME_SIZE];
    rt_weight found = {0};
    if (f->decoder_bias && !strcmp(parameter, RT_HF_BIAS))
        found = rt_huggingface_tensor(there, f->decoder_bias);
    if (!found.tensor && rt_name_there(f, parameter, name))
        found = rt_huggingface_tensor(there, name);
    if (!found.tensor && there->options.tie_embeddings && !strcmp(parameter, RT_HF_DECODER) &&
        rt_name_there(f, RT_HF_WORDS, name))
        found = rt_huggingface_tensor(there, name);
    return found;
}
