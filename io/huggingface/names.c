/* The two names of a tensor: rotor's, and that of the folder. */

#include "io/huggingface/private.h"

#include <stdio.h>
#include <string.h>

/* A layer's number as a name has it. */
typedef struct number {
    const char *at;
    int digits;
} number;

static bool is_number(const char *pattern)
{
    return pattern[0] == 'N' && pattern[1] == '.';
}

/* What follows in a name that begins as the pattern: nothing, ".weight" or ".bias"; else NULL. */
static const char *behind(const char *pattern, const char *name, number *layer)
{
    *layer = (number){"", 0};
    for (; *pattern; pattern++) {
        if (is_number(pattern)) {
            *layer = (number){name, (int)strspn(name, "0123456789")};
            name += layer->digits;
            if (!layer->digits)
                return NULL;
        } else if (*pattern != *name++) {
            return NULL;
        }
    }
    return !*name || !strcmp(name, ".weight") || !strcmp(name, ".bias") ? name : NULL;
}

/* Writes what the pattern makes of a layer and an end; false if that is too long. */
static bool fill_in(const char *pattern, number layer, const char *end, char name[RT_NAME_SIZE])
{
    const char *at = pattern;
    while (*at && !is_number(at))
        at++;
    return snprintf(name, RT_NAME_SIZE, "%.*s%.*s%s%s", (int)(at - pattern), pattern, layer.digits,
                    layer.at, *at ? at + 1 : "", end) < RT_NAME_SIZE;
}

static const char *rename_by(const rt_family *f, rt_head head, bool to_there, const char *from,
                             char name[RT_NAME_SIZE])
{
    number layer;
    for (const rt_tensor_names *n = f->names; n->there; n++) {
        const char *end = behind(to_there ? n->here : n->there, from, &layer);
        if (end && (n->head == RT_ANY_HEAD || n->head == (int)head))
            return fill_in(to_there ? n->there : n->here, layer, end, name) ? name : NULL;
    }
    return NULL;
}

const char *rt_name_there(const rt_family *f, rt_head head, const char *parameter,
                          char name[RT_NAME_SIZE])
{
    return rename_by(f, head, true, parameter, name);
}

const char *rt_name_here(const rt_family *f, rt_head head, const char *there,
                         char name[RT_NAME_SIZE])
{
    return rename_by(f, head, false, there, name);
}

rt_features rt_rotated_features(const rt_family *f, const rt_transformer_options *o,
                                const char *parameter)
{
    number layer;
    for (const rt_tensor_names *n = f->names; n->there; n++)
        if (behind(n->here, parameter, &layer))
            return n->features == RT_ROWS || o->position.rotate_value ? n->features : RT_PLAIN;
    return RT_PLAIN;
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
    const char *whole = rt_name_there(f, there->options.head, parameter, name);
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
    if (f->decoder_bias && !strcmp(parameter, RT_OUTPUT_BIAS_NAME))
        found = rt_huggingface_tensor(there, f->decoder_bias);
    if (!found.tensor && rt_name_there(f, there->options.head, parameter, name))
        found = rt_huggingface_tensor(there, name);
    if (!found.tensor && there->options.tie_embeddings && !strcmp(parameter, RT_OUTPUT_NAME) &&
        rt_name_there(f, there->options.head, RT_TOKENS_NAME, name))
        found = rt_huggingface_tensor(there, name);
    return found;
}
