#ifndef ROTOR_IO_HUGGINGFACE_FAMILY_H
#define ROTOR_IO_HUGGINGFACE_FAMILY_H

/* What the folders of one family of models have of their own: the RoFormer with its table of sines,
 * and Llama, of which Mistral is the one with a window. To add a family is to fill in one rt_family
 * and to name it in family.c.
 *
 * Tensors have two names: that of rotor's parameter (models/transformer.h), and that of the family,
 * "there". */

#include "io/huggingface/huggingface.h"
#include "io/huggingface/reading.h"
#include "io/huggingface/safetensors.h"
#include "text/writer.h"

/* A class of transformers. */
typedef struct rt_family_class {
    const char *name; /* in architectures; NULL ends a list */
    const char *type; /* model_type */
    rt_head head;
    bool has_head; /* false: the folder ends with the last layer's norm */
} rt_family_class;

/* What of a tensor are the features of heads, which can stand in another order there. */
typedef enum rt_features {
    RT_PLAIN, /* nothing */
    RT_ROWS,
    RT_VALUE_ROWS,   /* of values: in another order only if they are rotated */
    RT_VALUE_COLUMNS /* likewise */
} rt_features;

/* The two names of a tensor: whole, or up to ".weight" or ".bias". N stands for the number of a
 * layer. */
typedef struct rt_tensor_names {
    const char *there; /* NULL ends a table */
    const char *here;
    rt_features features;
    int head; /* rt_head of the models that have it; RT_ANY_HEAD */
} rt_tensor_names;
enum { RT_ANY_HEAD = -1 };

/* What a model turns by: (layers, heads, pairs) as far as they do not share it, and the mean over
 * layers and heads, (D/2), 0 where nothing is rotated. */
typedef struct rt_export_theta {
    double *own;
    rt_shape shape;
    double *mean;
    int pairs; /* D/2 */
} rt_export_theta;

/* Tensors to be written, in an array with room for them. */
typedef struct rt_entry_list {
    rt_safetensors_entry *at;
    int count;
} rt_entry_list;

typedef struct rt_family {
    const char *name;               /* for messages and the model card: "a ... of Hugging Face" */
    const rt_family_class *classes; /* the first with a head is that of a language model */

    /* Names. A folder of a class without a head leaves the prefix out. */
    const char *prefix;
    const rt_tensor_names *names;
    const char *const *head_prefixes; /* of tensors of the head, there; NULL ends the list */
    const char *decoder_bias; /* another name of the lm head's bias, which counts; or NULL */
    int layer_tensors;        /* that a layer has at least */
    rt_pairing pairing;       /* how features of a head pair there, over all of the head */

    /* Whether a tensor may be there without being a parameter. */
    bool (*is_beside)(const rt_huggingface *there, const char *name);

    /* Fills the options, max_positions and padding_id. */
    void (*read)(rt_reading *r, rt_huggingface *there);

    /* Finds out by what theta the folder turns. */
    rt_status (*settle_theta)(rt_huggingface *there);

    /* RT_CONFIG names the key of what cannot be expressed. */
    rt_status (*expressible)(const rt_transformer *model);
    const rt_family_class *(*class_of)(const rt_transformer_options *o);

    /* The keys of config.json that other families write otherwise. */
    void (*put_config)(rt_writer *w, const rt_transformer *model,
                       const rt_huggingface_export *export, const rt_export_theta *theta);

    /* Tensors that are no parameters: at most RT_MOST_BESIDE. What they are made of stays as long
     * as the list. May be NULL. */
    void (*add_beside)(rt_entry_list *list, const rt_transformer *model,
                       const rt_huggingface_export *export, const rt_export_theta *theta);

    /* For the model card: why transformers rotate by a theta that all layers share without any
     * code; what they do instead with a theta of each layer or head; and code that mends it. */
    const char *shared_theta, *mean_theta, *own_theta;
} rt_family;

enum { RT_MOST_BESIDE = 3 };

extern const rt_family rt_family_roformer, rt_family_llama;

/* The family of a model_type; NULL if there is none. */
const rt_family *rt_family_of_type(const char *model_type);

/* The family that has models of this kind. */
const rt_family *rt_family_of(const rt_transformer_options *o);

/* "LlamaModel or LlamaForCausalLM": the classes of a model_type, or all model types. */
void rt_family_tell_classes(rt_writer *w, const rt_family *family, const char *model_type);
void rt_family_tell_types(rt_writer *w);

/* The name there of a parameter of rotor's, in a model with that head, and the other way round.
 * Returns `name`; NULL if there is none. */
const char *rt_name_there(const rt_family *family, rt_head head, const char *parameter,
                          char name[RT_NAME_SIZE]);
const char *rt_name_here(const rt_family *family, rt_head head, const char *there,
                         char name[RT_NAME_SIZE]);

/* What of a parameter are features of heads that are rotated: RT_PLAIN of those of values, unless
 * the model rotates them. */
rt_features rt_rotated_features(const rt_family *family, const rt_transformer_options *o,
                                const char *parameter);

/* Where a feature of a head of D stands in rotor's model, that stands at `feature` in the family's
 * order: pairs are kept together, those that are rotated first. */
int rt_feature_here(const rt_family *family, const rt_transformer_options *o, int feature);

/* Whether that is another place, for any feature. */
bool rt_features_differ(const rt_family *family, const rt_transformer_options *o);

/* The positions that a model is said to be for when it is written: the length of its training, or
 * more. */
int rt_huggingface_positions(const rt_huggingface_export *export);

/* RT_CONFIG: "KEY = VALUE cannot be exported: a NAME of Hugging Face has WISH". */
rt_status rt_cannot_export(const rt_family *family, const char *key, const char *value,
                           const char *wish);

/* The same of position.xpos. */
rt_status rt_cannot_export_xpos(const rt_family *family, double xpos);

#endif
