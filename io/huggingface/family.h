#ifndef ROTOR_IO_HUGGINGFACE_FAMILY_H
#define ROTOR_IO_HUGGINGFACE_FAMILY_H

/* Families of Hugging Face's models as tables: classes, tensors, common options and config.json.
 * The same rows are used to read and to write. A function does what a table cannot express; few
 * families need one. docs/adding-a-family.md explains how to add a family.
 *
 * A tensor has two names: `here` is that of rotor's parameter (models/transformer.h), `there` is
 * that of the family. */

#include "core/key.h"
#include "io/huggingface/config.h"
#include "io/huggingface/safetensors.h"
#include "io/huggingface/theta.h"

/* ---- tensors ---- */

/* A table maps each tensor of a family to the parameters of rotor that it consists of.
 *
 *     {"model.layers.N.mlp.up_proj", .here = {"layers.N.ffn.up"}}
 *
 * A name is complete, or lacks ".weight" or ".bias" on both sides. N stands for the number of a
 * layer. A row without a parameter in the model is ignored: biases that only some projections have
 * need no row of their own.
 *
 * A parameter can have several rows. All whose conditions hold are written; when reading, the first
 * whose tensor is in the folder is used. */

/* Largest number of parameters in one tensor: q, k and v. */
enum { RT_MOST_STACKED = 3 };

/* Layout of the parameters in a tensor. */
typedef enum rt_tensor_form {
    RT_AS_IT_IS, /* the rows of all parameters, one parameter after the other */
    RT_BY_HEAD   /* for each head of keys: the rows of its queries, its key and its value, in the
                    order of `here` */
} rt_tensor_form;

/* Length of an axis of a tensor that is not a parameter. */
typedef enum rt_extra_axis {
    RT_AXIS_NONE,
    RT_AXIS_ONE,
    RT_AXIS_EMBEDDING, /* model.embedding_dim */
    RT_AXIS_ALL_HEADS, /* heads of all layers */
    RT_AXIS_POSITIONS, /* largest number of positions in a text */
    RT_AXIS_PAIRS,     /* rt_family_pairs */
    RT_AXIS_TWO_PAIRS  /* twice as many */
} rt_extra_axis;

typedef struct rt_tensor_row {
    const char *there; /* NULL ends a table */
    const char *here[RT_MOST_STACKED];
    rt_tensor_form form;
    rt_options_test *when;    /* models that have the tensor; NULL: all */
    rt_options_test *written; /* models for which it is written; NULL: all that have it */
    bool spare;               /* the tensor is ignored if the model has no such parameter */

    /* Axes of a tensor that is written without a parameter, once or for each layer; none: there is
     * no such tensor. `fill` computes its numbers from the rt_folder_theta; NULL: zeros. */
    rt_extra_axis extra[2];
    rt_safetensors_fill *fill;
} rt_tensor_row;

/* Returns the tensor of the n-th row with a parameter that belongs to no layer, by both complete
 * names; NULL past the last. */
const char *rt_family_tensor(const struct rt_family *family, const rt_transformer_options *o,
                             const char *parameter, int n);

/* ---- tensors of a model in a folder ---- */

/* Axis of a parameter with features of heads, whose order may differ in the folder. */
typedef enum rt_features { RT_NO_FEATURES, RT_FEATURE_ROWS, RT_FEATURE_COLUMNS } rt_features;

/* Order of the `size` features of a head, of which `pairs` are rotated in rotor and `half` pairs in
 * the folder: first the first ones of all pairs (halves), or pair by pair. */
typedef struct rt_feature_order {
    int size, pairs, half;
    bool halves_here, halves_there;
} rt_feature_order;

typedef struct rt_folder_tensor {
    char name[RT_NAME_SIZE]; /* in the folder */
    const rt_tensor_row *row;
    struct {
        const rt_parameter *parameter;
        rt_features features;   /* axis whose features have another order in the tensor */
        const real *factors;    /* factors of heads for the rows of queries, or NULL */
    } stacked[RT_MOST_STACKED]; /* in the order of row->here; none: the tensor is no parameter */
    rt_shape shape;
    int groups; /* of rows; a group has rows of each parameter */
    bool plain; /* the tensor has the numbers of one parameter in the same order */
    rt_feature_order order;
    const rt_transformer_options *options; /* of the folder */
} rt_folder_tensor;

/* All tensors that a model may have in a folder, in the order of its parameters. */
typedef struct rt_folder_tensors {
    rt_folder_tensor *list;
    int count;
    size_t capacity;
} rt_folder_tensors;

/* Lists the tensors of a model; `o` are the options of the folder. The tensors that are not
 * parameters, which are only written, follow unless `positions` is negative. Free the list even
 * after an error. */
rt_status rt_folder_tensors_new(rt_folder_tensors *all, const struct rt_family *family,
                                const rt_transformer_options *o, const rt_transformer *model,
                                int positions) RT_MUST_CHECK;
void rt_folder_tensors_free(rt_folder_tensors *all);

/* Returns the n-th tensor that may have a parameter; NULL past the last. */
const rt_folder_tensor *rt_folder_tensors_find(const rt_folder_tensors *all,
                                               const rt_parameter *parameter, int n);

/* Returns which of the stacked parameters has number n of a tensor, and its index there. */
size_t rt_folder_tensor_at(const rt_folder_tensor *t, size_t n, int *which);

/* Returns whether a tensor is in the list, is spare, or a buffer that follows from config.json. */
bool rt_folder_tensors_know(const rt_folder_tensors *all, const struct rt_family *family,
                            const rt_transformer_options *o, const char *name);

/* ---- options that all models of a family share ---- */

typedef enum rt_option_rule {
    RT_IS,      /* equal to the value; a number may be smaller */
    RT_SAME_AS, /* equal to the option that the value names */
    RT_ABOVE_0,
    RT_ANY_VALUE
} rt_option_rule;

/* A requirement on an option of rotor, by its key in models/keys.c. Reading sets the option to the
 * value of RT_IS. Writing refuses any other value: "KEY = VALUE cannot be exported: a NAME of
 * Hugging Face has WISH". The usual requirements (family.c) hold unless the family has a row
 * or a key of config.json for the option. */
typedef struct rt_option_row {
    const char *key; /* NULL ends a table; also "model.head" and "token types" */
    rt_option_rule rule;
    const char *value;
    const char *wish; /* NULL: writing does not check the value */
} rt_option_row;

/* Options of decoders, and of all families that are built like Llama. */
#define RT_DECODER_OPTIONS                                                                         \
    {"model.kind", RT_IS, "decoder", "the layers of a decoder"},                                   \
        {"model.pool", RT_IS, "last", NULL}, /* see the classes */                                 \
        {"model.norm", RT_IS, "pre", "its norms before the blocks"},                               \
        RT_ROW("model.causal", RT_IS, "yes", "causal attention")
#define RT_LLAMA_OPTIONS                                                                           \
    RT_DECODER_OPTIONS, {"model.norm_kind", RT_IS, "rms", "RMS norms"},                            \
        RT_ROW("model.activation", RT_IS, "silu", NULL)

/* Sets the options that all models of the family share. */
void rt_option_rows_set(const struct rt_family *family, rt_transformer_options *o);

/* ---- families ---- */

/* A model class of transformers. */
typedef struct rt_family_class {
    const char *name; /* in architectures; NULL ends a list */
    rt_head head;
    bool has_head;         /* false: the folder ends with the norm after the last layer */
    rt_options_test *when; /* models of the class; NULL: all with that head */
} rt_family_class;

/* Classes of most families. `word` is the prefix of the names, `lm` the suffix of the language
 * model; `pools` is the condition of ForSequenceClassification. */
#define RT_CLASSES(word, lm, pools)                                                                \
    (const rt_family_class[])                                                                      \
    {                                                                                              \
        {word lm, RT_HEAD_LM, true, NULL},                                                         \
            {word "ForSequenceClassification", RT_HEAD_SEQUENCE, true, pools},                     \
            {word "ForTokenClassification", RT_HEAD_TOKEN, true, NULL},                            \
            {word "Model", RT_HEAD_LM, false, NULL}, {0},                                          \
    }

typedef struct rt_family {
    const char *name;               /* for messages and the model card: "a NAME of LIBRARY" */
    const char *library;            /* NULL: Hugging Face */
    const char *type;               /* model_type */
    const rt_family_class *classes; /* a model is written as the first that fits */

    const char *prefix; /* of tensor names; missing in the folder of a base model */
    const rt_tensor_row *tensors;
    const char *const *head_prefixes; /* prefixes of tensors of the head; NULL ends the list */
    int layer_tensors;                /* least number of tensors of a layer */

    rt_rope_rules rope;
    rt_pairing pairing; /* of the features of a head: of all or, with pairs_rotated, of those that
                           are rotated, which come first */
    bool pairs_rotated;

    const rt_option_row *options;
    const rt_config_row *config;
    const char *const *unused; /* keys of config.json that change no logits, beside those of all
                                  families; NULL ends the list, NULL: none */

    /* Checks a model before it is written. RT_CONFIG names the key. May be NULL. */
    rt_status (*check)(const struct rt_family *family, const rt_transformer_options *o);

    /* The tokenizer that transformers takes whatever the folder has, and a remedy, for the refusal
     * of WordPiece and residues. NULL: the folder decides. */
    const char *tokenizer;

    /* Determines theta of a folder. NULL: from rope_parameters. */
    rt_status (*resolve_theta)(rt_huggingface *there);

    /* Texts of the model card: why transformers needs no code for a theta that all layers share;
     * what it does with a theta of each layer or head (NULL: as with rope_parameters); and Python
     * code that sets theta of each layer or head (own_theta/), or NULL. */
    const char *shared_theta, *mean_theta, *own_theta;
} rt_family;

/* All families. A model is written as the first that can express it. */
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

/* NULL-terminated list of the families. */
extern const rt_family *const rt_families[];

/* Returns "a" or "an" for a name. */
const char *rt_family_article(const char *name);

/* Finds the first family that can express a model. RT_CONFIG is the error of the family that lacks
 * the fewest options. */
rt_status rt_family_find(const rt_family **found, const rt_family *const *families,
                         const rt_transformer_options *o) RT_MUST_CHECK;

/* Returns the class that a model of the family is written as; its name is NULL if there is none. */
const rt_family_class *rt_family_class_of(const rt_family *family, const rt_transformer_options *o);

/* Returns the number of pairs of a head that the family rotates: those of rotor's model, or all. */
int rt_family_pairs(const rt_family *family, const rt_transformer_options *o);

/* ---- for functions of families ---- */

/* Returns RT_CONFIG: "WHAT cannot be exported: a NAME of LIBRARY has WISH". rt_cannot_export names
 * the option as "KEY = VALUE". */
rt_status rt_family_lacks(const rt_family *family, const char *what, const char *wish);
rt_status rt_cannot_export(const rt_family *family, const char *key,
                           const rt_transformer_options *o, const char *wish);

/* Returns RT_CONFIG unless model.heads times model.head_dim is model.dim. */
rt_status rt_check_head_dim(const rt_family *family, const rt_transformer_options *o) RT_MUST_CHECK;

#endif
