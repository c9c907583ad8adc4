/* The families that rotor reads and writes, and what holds for all of them. */

#include "io/huggingface/family.h"

#include <string.h>

#define ITEM(family) &family,
const rt_family *const rt_families[] = {RT_FAMILIES(ITEM) NULL};

const rt_family *rt_family_of_type(const rt_family *const *families, const char *model_type)
{
    while (*families && strcmp((*families)->type, model_type) != 0)
        families++;
    return *families;
}

const char *rt_family_library(const rt_family *family)
{
    return family->library ? family->library : "Hugging Face";
}

const char *rt_family_article(const char *name)
{
    return strchr("AEIO", *name) ? "an" : "a";
}

const rt_family_class *rt_family_class_of(const rt_family *family, const rt_transformer_options *o)
{
    const rt_family_class *c = family->classes;
    while (c->name && (!c->has_head || c->head != o->head || (c->when && !c->when(o))))
        c++;
    return c;
}

/* ---- lists for messages ---- */

void rt_family_tell_words(rt_writer *w, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        rt_writer_add(w, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
}

enum { MOST_WORDS = 32 };

void rt_family_tell_classes(rt_writer *w, const rt_family *family)
{
    const char *names[MOST_WORDS];
    int count = 0;
    for (const rt_family_class *c = family->classes; c->name && count < MOST_WORDS; c++)
        names[count++] = c->name;
    rt_family_tell_words(w, names, count);
}

void rt_family_tell_types(rt_writer *w, const rt_family *const *families)
{
    const char *types[MOST_WORDS];
    int count = 0;
    for (; *families && count < MOST_WORDS; families++)
        types[count++] = (*families)->type;
    rt_family_tell_words(w, types, count);
}

/* ---- the order of features ---- */

int rt_family_pairs(const rt_family *family, const rt_transformer_options *o)
{
    return family->pairs_rotated ? rt_transformer_pairs(o) : rt_transformer_head_dim(o) / 2;
}

int rt_feature_here(const rt_family *family, const rt_transformer_options *o, int feature)
{
    const int pairs = rt_transformer_pairs(o);
    const int half = rt_family_pairs(family, o);
    const bool halves = family->pairing == RT_HALF;
    if (feature >= 2 * half)
        return feature;
    const int pair = halves ? feature % half : feature / 2;
    const int second = halves ? feature / half : feature % 2;
    if (pair < pairs && o->position.pairing == RT_HALF)
        return pair + second * pairs;
    return 2 * pair + second;
}

bool rt_features_differ(const rt_family *family, const rt_transformer_options *o)
{
    for (int i = 0; i < rt_transformer_head_dim(o); i++)
        if (rt_feature_here(family, o, i) != i)
            return true;
    return false;
}

rt_status rt_cannot_export(const rt_family *family, const char *key, const char *value,
                           const char *wish)
{
    return rt_error(RT_CONFIG, "%s = %s cannot be exported: %s %s of %s has %s", key, value,
                    rt_family_article(family->name), family->name, rt_family_library(family), wish);
}
