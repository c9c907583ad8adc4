#ifndef ROTOR_IO_HUGGINGFACE_FAMILY_H
#define ROTOR_IO_HUGGINGFACE_FAMILY_H

/* A family of models of Hugging Face, as tables: its classes, its tensors, the options that its
 * models have in common, and its config.json. Reading and writing walk the same rows. A function
 * does what no table can say; few families need one. docs/adding-a-family.md adds a family.
 *
 * Tensors have two names: that of rotor's parameter (models/transformer.h), and that of the family,
 * "there". */

#include "core/key.h"
#include "core/status.h"
#include "io/huggingface/huggingface.h"
#include "io/huggingface/json.h"
#include "io/huggingface/safetensors.h"
#include "models/transformer.h"

#include <jansson.h>
#include <stdbool.h>

/* ---- rows of tensors ---- */

/* The tensors of a family's folders as a table that is read in both directions: what a tensor is
 * called there, and which parameters of rotor (models/transformer.h) it is made of, and how.
 *
 *     {"model.layers.N.mlp.up_proj", .here = {"layers.N.ffn.up"}}
 *
 * A name is whole, or goes up to ".weight" or ".bias", which both sides then have. N stands for the
 * number of a layer. A tensor of which the model has no parameter is not there: biases that a model
 * has in some maps alone need no row of their own.
 *
 * A parameter can have several rows. All that hold are written; of those, the first whose tensor is
 * in the folder is read. */

/* q, k and v in one matrix. */
enum { RT_MOST_PARTS = 3 };

typedef enum rt_tensor_form {
    RT_AS_IT_IS, /* or the rows of several parameters, all of the first, then of the second */
    RT_TRANSPOSED,
    RT_BY_HEAD /* the rows of several parameters, one group after the other: of each head of
                  keys those of its queries, its key and its value, as the parts are named */
} rt_tensor_form;

/* Condition of a row or a key. */
typedef bool rt_options_test(const rt_transformer_options *o);
rt_options_test rt_when_lm, rt_when_sequence, rt_when_token, rt_when_causal, rt_when_bidirectional,
    rt_when_untied, rt_when_pool_first, rt_when_pool_last, rt_when_pool_first_or_mean, rt_always,
    rt_never;

struct rt_family;
struct rt_folder_theta;

/* Source of a tensor that is no parameter; `theta` lives as long as the entry. */
typedef struct rt_beside {
    const rt_transformer_options *options;
    int positions; /* that the folder is for */
    const struct rt_folder_theta *theta;
} rt_beside;

typedef struct rt_tensor_row {
    const char *there; /* NULL ends a table */
    const char *here[RT_MOST_PARTS];
    rt_tensor_form form;
    rt_options_test *when;    /* the models that have it; NULL: all */
    rt_options_test *written; /* the models that it is written of; NULL: all that have it */
    bool spare;               /* may be there without a parameter, and is of no use then */

    /* Fills shape, fill and context of what is written for a model without such a parameter, for
     * each layer if the name has one. */
    void (*make)(rt_safetensors_entry *e, const rt_beside *from);
} rt_tensor_row;

/* ---- where a parameter is ---- */

typedef struct rt_tensor_place {
    const rt_tensor_row *row;
    int part;
    char name[RT_NAME_SIZE]; /* of the tensor, there */
} rt_tensor_place;

/* The n-th place of a parameter in the folder of a model with such options; false past the last. */
bool rt_tensor_place_of(rt_tensor_place *place, const struct rt_family *family,
                        const rt_transformer_options *o, const char *parameter, int n);

/* The place that a message names, which is no other name that is only read. */
bool rt_tensor_main_place(rt_tensor_place *place, const struct rt_family *family,
                          const rt_transformer_options *o, const char *parameter);

/* Return whether a row stands for a tensor of each layer, and its name for one, which must be
 * whole. */
bool rt_tensor_row_is_of_layers(const rt_tensor_row *row);
void rt_tensor_row_name(const rt_tensor_row *row, int layer, char name[RT_NAME_SIZE]);

/* Returns whether a tensor of that name belongs to the model, or is a buffer that is computed from
 * config.json. */
bool rt_tensor_is_known(const struct rt_family *family, const rt_transformer *model,
                        const char *there);

/* ---- where its numbers are ---- */

/* Features of heads in a parameter, whose order may differ in the folder. */
typedef enum rt_features { RT_NO_FEATURES, RT_FEATURE_ROWS, RT_FEATURE_COLUMNS } rt_features;

/* One parameter in a tensor. The rows of both are in groups, as many in one as in the other. */
typedef struct rt_tensor_map {
    int rows, columns; /* of the parameter */
    int groups;
    int block, before, width; /* rows of a group: of the parameter, of the parts before it, of the
                                 tensor */
    bool transposed;
    rt_features features; /* that stand in another order there */
    const struct rt_family *family;
    const rt_transformer_options *options;
} rt_tensor_map;

/* `o` are the options of the folder, `parameter` is one of the model's. */
rt_tensor_map rt_tensor_map_of(const rt_tensor_place *place, const struct rt_family *family,
                               const rt_transformer_options *o, const rt_transformer *model,
                               const rt_parameter *parameter);

/* The parameter's sibling: another part of the same tensor; NULL if the model has none. */
const rt_parameter *rt_tensor_part(const rt_tensor_place *place, const rt_transformer *model,
                                   const rt_parameter *parameter, int part);

/* The shape of the tensor. */
rt_shape rt_tensor_map_shape(const rt_tensor_map *map, const rt_parameter *parameter);

/* Returns whether the tensor has the order of the parameter. */
bool rt_tensor_map_is_plain(const rt_tensor_map *map);

/* Number `row`, `column` of the tensor, among the parameter's; false if it is another part's. */
bool rt_tensor_map_index(const rt_tensor_map *map, size_t row, size_t column, size_t *index);

/* ---- rows of config.json ---- */

/* An object of config.json, or of another file, whose keys are asked for one by one. The first that
 * is wrong is kept in `status`, RT_CHECKPOINT with the key's name; what is asked for afterwards is
 * of no use. A key that is absent and one that is null both mean the default. */

typedef struct rt_reading {
    const json_t *json;
    const char *file;   /* NULL: config.json */
    const char *within; /* begins the names of its keys in messages, such as "rope_parameters."; or
                           NULL */
    rt_status status;
} rt_reading;

void rt_reading_refuse(rt_reading *r, const char *format, ...) RT_PRINTF(2, 3);

/* NULL if the key is absent or null. */
json_t *rt_reading_find(const rt_reading *r, const char *key);

int rt_reading_whole(rt_reading *r, const char *key, int initial, int low, int high);

/* A number above 0. */
double rt_reading_above_0(rt_reading *r, const char *key, double initial);

bool rt_reading_flag(rt_reading *r, const char *key, bool initial);

/* "" if the key is absent. */
const char *rt_reading_word(rt_reading *r, const char *key);

/* Refuses a word of a key that must have one of others: "KEY must be A, B or C: REASON; got 'D'".
 */
void rt_reading_refuse_word(rt_reading *r, const char *key, const char *const *words, int count,
                            const char *reason, const char *got);

/* A whole number from 1 on. Sizes and layers go as far as those of rotor's keys. */
enum { RT_MOST_HF_LAYERS = 1000 };
int rt_reading_size(rt_reading *r, const char *key, int initial);

/* ---- rows ---- */

/* config.json as a table that is read in both directions, and the options that a family settles.
 *
 *     {"hidden_size", RT_SIZE(dim), .initial = 768}
 *     {"hidden_act", RT_WORD(activation, words), .reason = "rotor has no other"}
 *     {"rope_interleaved", RT_MUST_BE("false"), .reason = "pairs are halves of a head"}
 *     {"rope_parameters", .read = read_rope, .put = put_rope}
 *
 * Keys are read and written in the order of the rows. A key that is absent, or null, has its
 * default. What a key cannot be is RT_CHECKPOINT with its name; what of a model it cannot say is
 * RT_CONFIG with the key of rotor. */

/* ---- what all models of a family have ---- */

typedef enum rt_option_rule {
    RT_IS,      /* that value; a number is at most that */
    RT_SAME_AS, /* as much as the key that is the value */
    RT_ABOVE_0,
    RT_ANY_VALUE
} rt_option_rule;

/* An option of rotor by its key in models/keys.c. Reading sets it (of RT_IS); writing refuses
 * another value: "KEY = VALUE cannot be exported: a NAME of Hugging Face has WISH". Options that
 * most families have in common hold for a family that has neither such a row nor a key of
 * config.json for the option: see config_rows.c. */
typedef struct rt_option_row {
    const char *key; /* NULL ends a table; also "model.head" and "token types" */
    rt_option_rule rule;
    const char *value;
    const char *wish; /* NULL: another value makes no difference there */
} rt_option_row;

/* ---- keys of config.json ---- */

typedef enum rt_config_type {
    RT_CONFIG_SPECIAL,   /* read and put alone */
    RT_CONFIG_WHOLE,     /* from 1 to `high` */
    RT_CONFIG_NUMBER,    /* from 0 to less than `high` */
    RT_CONFIG_EPS,       /* what norms add to a variance */
    RT_CONFIG_POSITIONS, /* max_positions, from 1 to `high` */
    RT_CONFIG_FLAG,
    RT_CONFIG_SWITCH, /* false and true stand for the values of two words */
    RT_CONFIG_WORD,
    RT_CONFIG_FIXED, /* a value that rotor has no other of */
    RT_CONFIG_ABSENT /* anything at all is refused */
} rt_config_type;

/* The first is the default; of several with one value, the first is written. */
typedef struct rt_config_word {
    const char *word; /* NULL ends a list */
    int value;
} rt_config_word;

/* A config.json in progress, and its sources. */
typedef struct rt_config_writing {
    rt_json_object object;
    const struct rt_family *family;
    const rt_transformer_options *options;
    const rt_huggingface_export *export;
    const struct rt_folder_theta *theta;
} rt_config_writing;

enum { RT_NO_MEMBER = -1 };

typedef struct rt_config_row {
    const char *key; /* NULL ends a table */
    rt_config_type type;
    int member; /* its place in rt_transformer_options, or RT_NO_MEMBER */
    double high;
    const rt_config_word *words;
    const char *fixed;     /* JSON */
    double initial;        /* 0: as large as `same_as`, if that is given */
    int same_as;           /* a member before this one; its value stands for null */
    const char *reason;    /* what rotor has, for who reads another value */
    const char *wish;      /* what the family has, for who writes a value without a word */
    rt_options_test *when; /* it is written; NULL: always. FIXED and ABSENT never are without it */

    /* In place of what the type does. */
    void (*read)(rt_reading *r, rt_huggingface *there);
    void (*put)(rt_config_writing *w);
    const char *const *also; /* further keys that `read` takes; NULL: none */
} rt_config_row;

/* The place of a member of that type; one of another type does not compile. */
#define RT_MEMBER_OF(c_type, name)                                                                 \
    (int)(offsetof(rt_transformer_options, name) +                                                 \
          0 * sizeof(char[_Generic(((rt_transformer_options *)0)->name, c_type : 1)]))

#define RT_SIZE(name)                                                                              \
    .type = RT_CONFIG_WHOLE, .member = RT_MEMBER_OF(int, name), .high = RT_MOST_SIZE
#define RT_LAYERS                                                                                  \
    .type = RT_CONFIG_WHOLE, .member = RT_MEMBER_OF(int, layers), .high = RT_MOST_HF_LAYERS
#define RT_SHARE(name) .type = RT_CONFIG_NUMBER, .member = RT_MEMBER_OF(double, name), .high = 1
#define RT_DEVIATION(name)                                                                         \
    .type = RT_CONFIG_NUMBER, .member = RT_MEMBER_OF(double, name), .high = 1e6
#define RT_EPS(name)       .type = RT_CONFIG_EPS, .member = RT_MEMBER_OF(double, name)
#define RT_YES_OR_NO(name) .type = RT_CONFIG_FLAG, .member = RT_MEMBER_OF(bool, name)
/* A flag that chooses between two values: false is `off`, true is `on`. */
#define RT_SWITCH(name, off, on)                                                                   \
    .type = RT_CONFIG_SWITCH, .member = (int)offsetof(rt_transformer_options, name),               \
    .words = (const rt_config_word[])                                                              \
    {                                                                                              \
        {"false", off},                                                                            \
        {                                                                                          \
            "true", on                                                                             \
        }                                                                                          \
    }
#define RT_WORD(name, list)                                                                        \
    .type = RT_CONFIG_WORD, .member = (int)offsetof(rt_transformer_options, name), .words = list
#define RT_ONE_WORD(list)  .type = RT_CONFIG_WORD, .member = RT_NO_MEMBER, .words = list
#define RT_MUST_BE(json)   .type = RT_CONFIG_FIXED, .fixed = json
#define RT_POSITIONS(most) .type = RT_CONFIG_POSITIONS, .high = most
#define RT_ABSENT          .type = RT_CONFIG_ABSENT

/* The rows of sizes that most families have, with their defaults. */
#define RT_SIZES(words, width, ffn_width, layer_count, head_count)                                 \
    {"vocab_size", RT_SIZE(vocab), .initial = words},                                              \
        {"hidden_size", RT_SIZE(dim), .initial = width},                                           \
        {"intermediate_size", RT_SIZE(ffn_dim), .initial = ffn_width},                             \
        {"num_hidden_layers", RT_LAYERS, .initial = layer_count},                                  \
    {                                                                                              \
        "num_attention_heads", RT_SIZE(heads), .initial = head_count                               \
    }

/* A list of keys. */
#define RT_KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- both tables ---- */

/* Sets what the family has in all its models. */
void rt_option_rows_set(const struct rt_family *family, rt_transformer_options *o);

void rt_config_rows_read(const rt_config_row *rows, rt_reading *r, rt_huggingface *there);

void rt_config_rows_put(const rt_config_row *rows, rt_config_writing *w);

/* ---- families ---- */

/* A class of transformers. */
typedef struct rt_family_class {
    const char *name; /* in architectures; NULL ends a list */
    rt_head head;
    bool has_head;         /* false: the folder ends with the last layer's norm */
    rt_options_test *when; /* it is the class of those; NULL: of all with that head */
} rt_family_class;

/* The classes of most decoders and of most encoders, whose names begin with a word. */
#define RT_DECODER_CLASSES(word)                                                                   \
    (const rt_family_class[])                                                                      \
    {                                                                                              \
        {word "ForCausalLM", RT_HEAD_LM, true, NULL},                                              \
            {word "ForSequenceClassification", RT_HEAD_SEQUENCE, true, rt_when_pool_last},         \
            {word "ForTokenClassification", RT_HEAD_TOKEN, true, NULL},                            \
            {word "Model", RT_HEAD_LM, false, NULL}, {0},                                          \
    }
#define RT_ENCODER_CLASSES(word, pools)                                                            \
    (const rt_family_class[])                                                                      \
    {                                                                                              \
        {word "ForMaskedLM", RT_HEAD_LM, true, NULL},                                              \
            {word "ForSequenceClassification", RT_HEAD_SEQUENCE, true, pools},                     \
            {word "ForTokenClassification", RT_HEAD_TOKEN, true, NULL},                            \
            {word "Model", RT_HEAD_LM, false, NULL}, {0},                                          \
    }

/* Theta of a folder: rotor_theta as it was read, or the effective theta of a model to be written.
 */
typedef struct rt_folder_theta {
    double *own;    /* NULL: there is none */
    rt_shape shape; /* (layers, heads, pairs) as far as they do not share it */
    double base;    /* position.base */

    /* of one that was read */
    double local_base; /* position.local_base */
    rt_theta_scope scope;
    rt_theta_form form;

    /* of one that is written: its mean over layers and heads for the pairs that the family rotates
     * (rt_family_pairs), 0 where the model does not */
    double *mean;
    int pairs;
} rt_folder_theta;

/* Rules of rope_parameters in the config.json of a family (theta.c). */
typedef struct rt_rope_rules {
    double base;          /* the default; 0 = 10000 */
    double fraction;      /* the default of partial_rotary_factor; 0: heads are rotated whole */
    const char *old_base; /* the keys that older folders have outside; NULL: rope_theta, and ... */
    const char *old_fraction; /* ... partial_rotary_factor */

    /* of layers with a window, where they have rope_parameters of their own; or NULL */
    const struct rt_rope_rules *sliding;
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

    const rt_option_row *options;
    const rt_config_row *config;
    const char *const *unused; /* keys of its config.json that change no logits, beside those of all
                                  families; NULL ends the list, NULL: none */

    /* More that a model must be to be written; RT_CONFIG names the key. May be NULL. */
    rt_status (*check)(const struct rt_family *family, const rt_transformer_options *o);

    /* Finds out by what theta the folder turns. NULL: by that of rope_parameters. */
    rt_status (*settle_theta)(rt_huggingface *there);

    /* For the model card: why transformers rotate by a theta that all layers share without any
     * code, and what they do instead with a theta of each layer or head (NULL: by rope_parameters);
     * and code in Python that mends it (own_theta/), or NULL. */
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

/* List of the families; NULL ends it. */
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

/* Pairs of a head that models of the family rotate: those of rotor's model, or all. */
int rt_family_pairs(const rt_family *family, const rt_transformer_options *o);

/* ---- for the functions of families ---- */

/* RT_CONFIG: "KEY = VALUE cannot be exported: a NAME of LIBRARY has WISH". */
rt_status rt_cannot_export(const rt_family *family, const char *key,
                           const rt_transformer_options *o, const char *wish);

/* RT_CONFIG unless all heads together are as wide as the model. */
rt_status rt_check_head_dim(const rt_family *family, const rt_transformer_options *o) RT_MUST_CHECK;

#endif
