/* The families that rotor reads and writes, and what holds for all of them. */

#include "io/huggingface/family.h"

#include <stdio.h>
#include <string.h>

static const rt_family *const families[] = {&rt_family_roformer, &rt_family_llama};
enum { FAMILIES = sizeof families / sizeof *families };

const rt_family *rt_family_of_type(const char *model_type)
{
    for (int i = 0; i < FAMILIES; i++)
        for (const rt_family_class *c = families[i]->classes; c->name; c++)
            if (!strcmp(c->type, model_type))
                return families[i];
    return NULL;
}

/* The parameters of a decoder are Llama's, whatever its other options are. */
const rt_family *rt_family_of(const rt_transformer_options *o)
{
    return o->kind == RT_KIND_DECODER ? &rt_family_llama : &rt_family_roformer;
}

/* ---- lists for messages ---- */

static void add_word(rt_writer *w, const char *word, int i, int count)
{
    rt_writer_add(w, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", word);
}

void rt_family_tell_classes(rt_writer *w, const rt_family *family, const char *model_type)
{
    int count = 0, told = 0;
    for (const rt_family_class *c = family->classes; c->name; c++)
        count += !strcmp(c->type, model_type);
    for (const rt_family_class *c = family->classes; c->name; c++)
        if (!strcmp(c->type, model_type))
            add_word(w, c->name, told++, count);
}

/* The classes of one type stand together. */
void rt_family_tell_types(rt_writer *w)
{
    enum { MOST_TYPES = 16 };
    const char *types[MOST_TYPES];
    int count = 0;
    for (int i = 0; i < FAMILIES; i++)
        for (const rt_family_class *c = families[i]->classes; c->name; c++)
            if (count < MOST_TYPES && (!count || strcmp(types[count - 1], c->type)))
                types[count++] = c->type;
    for (int i = 0; i < count; i++)
        add_word(w, types[i], i, count);
}

/* ---- the order of features ---- */

int rt_feature_here(const rt_family *family, const rt_transformer_options *o, int feature)
{
    const int half = o->dim / o->heads / 2, pairs = rt_transformer_pairs(o);
    const bool halves = family->pairing == RT_HALF;
    const int pair = halves ? feature % half : feature / 2;
    const int second = halves ? feature / half : feature % 2;
    if (pair < pairs && o->position.pairing == RT_HALF)
        return pair + second * pairs;
    return 2 * pair + second;
}

bool rt_features_differ(const rt_family *family, const rt_transformer_options *o)
{
    for (int i = 0; i < o->dim / o->heads; i++)
        if (rt_feature_here(family, o, i) != i)
            return true;
    return false;
}

/* The context of older transformers, so that a short training leaves room for longer texts. */
enum { LEAST_POSITIONS = 1536 };

int rt_huggingface_positions(const rt_huggingface_export *export)
{
    return export->length > LEAST_POSITIONS ? export->length : LEAST_POSITIONS;
}

rt_status rt_cannot_export(const rt_family *family, const char *key, const char *value,
                           const char *wish)
{
    return rt_error(RT_CONFIG, "%s = %s cannot be exported: a %s of Hugging Face has %s", key,
                    value, family->name, wish);
}

rt_status rt_cannot_export_xpos(const rt_family *family, double xpos)
{
    char value[32];
    snprintf(value, sizeof value, "%g", xpos);
    return rt_cannot_export(family, "position.xpos", value, "no decay of its scores");
}
