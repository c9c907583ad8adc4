#ifndef ROTOR_IO_HUGGINGFACE_FAMILY_H
#define ROTOR_IO_HUGGINGFACE_FAMILY_H

/* A family of models of Hugging Face, as tables: its classes, its tensors (tensor_rows.h), what its
 * models have in common and its config.json (config_rows.h). Reading and writing walk the same
 * rows. What is no table has a function, and few families need one. docs/adding-a-family.md adds
 * one.
 *
 * Tensors have two names: that of rotor's parameter (models/transformer.h), and that of the family,
 * "there". */

#include "io/huggingface/config_rows.h"
#include "text/writer.h"

/* A class of transformers. */
typedef struct rt_family_class {
    const char *name; /* in architectures; NULL ends a list */
    rt_head head;
    bool has_head;         /* false: the folder ends with the last layer's norm */
    rt_options_test *when; /* it is the class of those; NULL: of all with that head */
} rt_family_class;

/* What a model turns by: (layers, heads, pairs) as far as they do not share it, and the mean over
 * layers and heads, of the pairs that the family rotates (rt_family_pairs), 0 where the model does
 * not. */
typedef struct rt_export_theta {
    double *own;
    rt_shape shape;
    double *mean;
    int pairs;   /* D/2 */
    double base; /* position.base */
} rt_export_theta;

/* What rope_parameters are in a family's config.json (rope_parameters.h). */
typedef struct rt_rope_rules {
    double base;          /* the default; 0 = 10000 */
    double fraction;      /* the default of partial_rotary_factor; 0: heads are rotated whole */
    const char *old_base; /* the keys that older folders have outside; NULL: rope_theta, and ... */
    const char *old_fraction; /* ... partial_rotary_factor */
} rt_rope_rules;

typedef struct rt_family {
    const char *name;               /* for messages and the model card: "a NAME of LIBRARY" */
    const char *library;            /* whose it is; NULL: Hugging Face */
    const char *type;               /* model_type */
    const rt_family_class *classes; /* the first of a model is what it is written as */

    const char *prefix; /* of names, which a folder of a class without a head leaves out */
    const rt_tensor_row *tensors;
    const char *const *head_prefixes; /* of tensors of the head, there; NULL ends the list */
    int layer_tensors;                /* that a layer has at least */

    rt_rope_rules rope;
    rt_pairing pairing; /* how features of a head pair there: over all of the head, or over those
                           that are rotated, which come first */
    bool pairs_rotated;

    const rt_option_row *alike; /* what it has in common with other families; or NULL */
    const rt_option_row *options;
    const rt_config_row *config;
    const char *const *unused; /* keys of its config.json that change no logits, beside those of all
                                  families; NULL ends the list, NULL: none */

    /* More that a model must be to be written; RT_CONFIG names the key. May be NULL. */
    rt_status (*check)(const struct rt_family *family, const rt_transformer_options *o);

    /* Finds out by what theta the folder turns. */
    rt_status (*settle_theta)(rt_huggingface *there);

    /* For the model card: why transformers rotate by a theta that all layers share without any
     * code; what they do instead with a theta of each layer or head; and code that mends it, or
     * NULL. */
    const char *shared_theta, *mean_theta, *own_theta;
} rt_family;

/* ---- the list ---- */

/* All families. A model is written by the first that can say what it is. */
#define RT_FAMILIES(X)                                                                             \
    X(rt_family_roformer)                                                                          \
    X(rt_family_modernbert)                                                                        \
    X(rt_family_esm)                                                                               \
    X(rt_family_llama)                                                                             \
    X(rt_family_mistral)                                                                           \
    X(rt_family_gpt_neox)                                                                          \
    X(rt_family_qwen2)                                                                             \
    X(rt_family_qwen3)                                                                             \
    X(rt_family_smollm3)
#define RT_FAMILY_DECLARED(family) extern const rt_family family;
RT_FAMILIES(RT_FAMILY_DECLARED)

/* The same; NULL ends it. */
extern const rt_family *const rt_families[];

/* The family of a model_type; NULL if there is none. */
const rt_family *rt_family_of_type(const rt_family *const *families, const char *model_type);

/* "a" or "an", before a name. */
const char *rt_family_article(const char *name);

/* Whose the family is, for messages. */
const char *rt_family_library(const rt_family *family);

/* The first family that can say what a model is. RT_CONFIG is the refusal of the one that misses
 * least of it. */
rt_status rt_family_find(const rt_family **found, const rt_family *const *families,
                         const rt_transformer_options *o) RT_MUST_CHECK;

/* The class that a model of the family is written as. */
const rt_family_class *rt_family_class_of(const rt_family *family, const rt_transformer_options *o);

/* "LlamaModel or LlamaForCausalLM": words; the classes of a family; all model types. */
void rt_family_tell_words(rt_writer *w, const char *const *words, int count);
void rt_family_tell_classes(rt_writer *w, const rt_family *family);
void rt_family_tell_types(rt_writer *w, const rt_family *const *families);

/* Pairs of a head that models of the family rotate: those of rotor's model, or all. */
int rt_family_pairs(const rt_family *family, const rt_transformer_options *o);

/* ---- the order of features ---- */

/* Where a feature of a head of D stands in rotor's model, that stands at `feature` in the family's
 * order: pairs are kept together, those that are rotated first. */
int rt_feature_here(const rt_family *family, const rt_transformer_options *o, int feature);

/* Whether that is another place, for any feature. */
bool rt_features_differ(const rt_family *family, const rt_transformer_options *o);

/* ---- for the functions of families ---- */

/* RT_CONFIG: "KEY = VALUE cannot be exported: a NAME of LIBRARY has WISH". */
rt_status rt_cannot_export(const rt_family *family, const char *key, const char *value,
                           const char *wish);

#endif
