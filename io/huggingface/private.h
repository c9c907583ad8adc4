#ifndef ROTOR_IO_HUGGINGFACE_PRIVATE_H
#define ROTOR_IO_HUGGINGFACE_PRIVATE_H

/* Private declarations of the files that read and write Hugging Face folders. */

#include "io/huggingface/family.h"
#include "text/writer.h"

#define RT_HF_CONFIG    "config.json"
#define RT_HF_VOCAB     "vocab.txt"
#define RT_HF_TOKENIZER "tokenizer_config.json"
#define RT_HF_PIECES    "tokenizer.json"
#define RT_HF_WORDS     "vocab.json"
#define RT_HF_MERGES    "merges.txt"
#define RT_HF_GENERATE  "generation_config.json"
#define RT_HF_MAP       "special_tokens_map.json"
#define RT_HF_ADDED     "added_tokens.json"
#define RT_HF_CARD      "README.md"
#define RT_HF_CHAT      "chat_template.jinja"
#define RT_HF_CHAT_KEY  "chat_template" /* in tokenizer_config.json */

/* Words of a model card that rotor wrote. */
#define RT_CARD_MARK "trained with rotor"

/* Keys of config.json: data.level of the vocabulary, data.length; data.begin and data.end if they
 * are none. */
#define RT_HF_LEVEL  "rotor_level"
#define RT_HF_BEGIN  "rotor_begin"
#define RT_HF_END    "rotor_end"
#define RT_HF_LENGTH "rotor_length"

#define RT_WEIGHTS_FILE  "model.safetensors"
#define RT_WEIGHTS_INDEX "model.safetensors.index.json"

/* Number of files that a process can have open, with a margin. */
enum { RT_MOST_WEIGHT_FILES = 512 };

/* The tensors of a folder: those of model.safetensors or, if there is none, of the files that
 * model.safetensors.index.json names. Every file must have just the tensors that the index gives
 * it, and lie in the folder itself. Errors as in safetensors.h and json.h. */
typedef struct rt_weights {
    rt_safetensors **files;
    int count;
} rt_weights;

/* rt_weights_close is to be called in any case. */
rt_status rt_weights_open(rt_weights *weights, const char *folder) RT_MUST_CHECK;
void rt_weights_close(rt_weights *weights);

/* The key of config.json with all learned theta: {"scope": "layer", "form": "log", "base": 10000,
 * "theta": [[[...], ...], ...]}, radians a position by layer, head and pair, where layers or heads
 * share them a list of one; with "local_base" if there is one. */
#define RT_HF_THETA "rotor_theta"

struct rt_huggingface_files {
    const rt_family *const *families; /* that are read */
    const rt_family *family;
    rt_weights weights;
    bool prefixed;                /* the names of the base model begin with the family's prefix */
    rt_folder_theta written;      /* rotor_theta */
    rt_frequency_options sliding; /* of the layers with a window, where they have their own */
    rt_writer warnings;
};

/* ---- reading ---- */

/* Points there->warnings to the lines that were added. */
rt_status rt_huggingface_warnings(rt_huggingface *there) RT_MUST_CHECK;

/* rt_huggingface_open with a list of families of the caller's. */
rt_status rt_huggingface_open_of(rt_huggingface **there_new, const char *folder,
                                 const rt_family *const *families) RT_MUST_CHECK;

/* Fills what config.json says. */
rt_status rt_huggingface_read_config(rt_huggingface *there, const char *folder) RT_MUST_CHECK;

/* The sets of a family's tables that a key of config.json is in; 0 for a key that no table has. */
enum {
    RT_KEY_READ = 1,    /* its value is taken */
    RT_KEY_REFUSED = 2, /* unless it is neutral */
    RT_KEY_UNUSED = 4   /* it changes no logits */
};
int rt_config_key_sets(const rt_family *family, const char *key);

/* Reads rotor_theta, if it is there. */
void rt_huggingface_read_theta(rt_reading *r, const rt_transformer_options *o, rt_folder_theta *t);

/* Returns whether a tensor belongs to the head, by its name in the folder. */
bool rt_huggingface_of_head(const rt_family *family, const char *name);

/* The name that the tensor of a parameter has in the folder; the parameter's own if it has none
 * there. */
const char *rt_huggingface_name(const rt_huggingface *there, const char *parameter,
                                char name[RT_NAME_SIZE]);

/* The tensor of that name there, which may lack its prefix in the folder; NULL if there is none. */
const rt_safetensor *rt_huggingface_tensor(const rt_huggingface *there, const char *name);

/* The tensor that holds a parameter of rotor's, and where in it; none for theta and for what the
 * folder lacks. A decoder that is tied is the words, and its bias, where there are two, that which
 * is used. */
const rt_safetensor *rt_huggingface_find(const rt_huggingface *there, const char *parameter,
                                         rt_tensor_place *place);

/* Takes rotor_theta, if there is one and it fits, as the theta of the model: learned, without a
 * scaling. If it does not fit `other`, the part of the folder that rotor makes of it, adds the
 * warning that `used` is used. */
void rt_huggingface_choose_theta(rt_huggingface *there, bool fits, const char *other,
                                 const char *used);

/* Layers over which a mean is taken. */
typedef enum rt_theta_layers {
    RT_THETA_OF_ALL,
    RT_THETA_OF_FULL,
    RT_THETA_OF_SLIDING
} rt_theta_layers;

/* Computes the mean of theta over heads and the layers of a type, or over all layers where there
 * are none of it: (pairs), with zeros for the pairs that are not rotated. */
void rt_folder_theta_mean(const rt_folder_theta *t, const rt_transformer_options *o,
                          rt_theta_layers layers, int pairs, double *mean);

/* ---- writing ---- */

/* rt_huggingface_write of the first of the families that can. */
rt_status rt_huggingface_write_as(const char *folder, const rt_transformer *model,
                                  const rt_huggingface_export *export,
                                  const rt_family *const *families) RT_MUST_CHECK;

/* Computes the effective theta of a model in that family; to be freed in any case. A fixed theta
 * has the shape of scope model. */
rt_status rt_folder_theta_of(const rt_family *family, const rt_transformer *model,
                             rt_folder_theta *theta) RT_MUST_CHECK;
void rt_folder_theta_free(rt_folder_theta *theta);

/* The tensors that are written of a model: its parameters, and what the family has beside them. To
 * be closed in any case. */
typedef struct rt_tensor_list {
    const rt_family *family;
    const rt_transformer *model;
    rt_safetensors_entry *entries;
    int count;
    struct source *sources; /* what the entries are made of */
    rt_folder_theta theta;
} rt_tensor_list;
rt_status rt_tensor_list_open(rt_tensor_list *list, const rt_family *family,
                              const rt_transformer *model, int positions) RT_MUST_CHECK;
void rt_tensor_list_close(rt_tensor_list *list);

/* The text of tokenizer_config.json, which the caller frees; NULL if the heap is exhausted. */
char *rt_huggingface_tokenizer_text(const rt_huggingface_export *export) RT_MUST_CHECK;

/* The key rotor_theta. */
void rt_put_theta(rt_json_object *to, const rt_transformer_options *o,
                  const rt_folder_theta *theta);

/* ---- for rows of config.json ---- */

/* tie_word_embeddings of a family with heads that have no decoder. */
void rt_config_put_tied(rt_config_writing *w);

/* pad_token_id, or -1, as old files have it, for none. */
void rt_config_read_padding(rt_reading *r, rt_huggingface *there);

/* head_dim of a family whose heads have hidden_size / num_attention_heads features: it can say
 * nothing else. The row stands behind those of sizes. */
void rt_config_check_head_dim(rt_reading *r, rt_huggingface *there);

/* bos_token_id, eos_token_id and pad_token_id, where the vocabulary has them. */
void rt_config_put_special_ids(rt_config_writing *w);

/* Writes the special ids of an encoder: bos_token_id and cls_token_id, eos_token_id and
 * sep_token_id, pad_token_id. */
void rt_config_put_encoder_ids(rt_config_writing *w);

/* pad_token_id of a family whose models must have one. */
void rt_config_put_padding(rt_config_writing *w);

/* Returns the number of rows of the table of sines that is written with a RoFormer:
 * max_position_embeddings. */
int rt_roformer_rows(const rt_huggingface_export *export);

/* The words of hidden_act for plain feed-forward blocks. */
extern const rt_config_word rt_roformer_activations[];

/* ---- sines.c: the table of sines of a RoFormer ---- */

/* The table of sines that a RoFormer of Hugging Face keeps among its weights and turns its heads
 * by: row m has sin(m theta_i) for all pairs i, then cos(m theta_i).
 *
 * Whatever theta made the table can be read off it. Angles that differ by a whole turn a position
 * make the same table: of those the theta is given that is between -pi / 2 and 3 pi / 2. */
typedef struct rt_sine_table {
    double *values; /* (rows, 2 pairs) */
    int rows;
    int pairs;
    rt_dtype dtype; /* that it was rounded to */
} rt_sine_table;

/* Theta of a table, whose last pairs may be 0. If `base` is not 0, the pairs before them are
 * base^(-i / rotated), within the rounding of the table. */
typedef struct rt_table_theta {
    int rotated; /* pairs before those that are 0 to the end */
    double base;
} rt_table_theta;

/* Finds theta, (pairs). RT_CHECKPOINT, which begins with `name`, if no theta makes this table. */
rt_status rt_sine_table_theta(const rt_sine_table *table, const char *name, double *theta,
                              rt_table_theta *found) RT_MUST_CHECK;

/* Returns whether these theta make the table, within its rounding. */
bool rt_sine_table_is_of(const rt_sine_table *table, const double *theta);

#define RT_HF_TABLE "roformer.encoder.embed_positions.weight"

/* settle_theta and make of a family whose folders have the table. */
rt_status rt_sine_table_settle(rt_huggingface *there) RT_MUST_CHECK;
void rt_sine_table_make(rt_safetensors_entry *e, const rt_beside *from);

/* ---- layer_types of config.json: which layers have a window ---- */

/* A list with an item for each layer; NULL if there is none. RT_CHECKPOINT in r if it has another
 * length. */
const json_t *rt_layer_list(rt_reading *r, const char *key, int layers);

/* Sets the window, 0 = none, and the layers that have it: those that the list calls
 * sliding_attention or, in a folder without one, those of `by_rule`. RT_CHECKPOINT in r for other
 * types, and for sliding layers without a window. */
void rt_layer_types_read(rt_reading *r, rt_huggingface *there, int window, const bool *by_rule);

/* Writes the list. */
void rt_layer_types_put(rt_config_writing *w);

/* Returns whether a layer has a window. */
bool rt_layer_slides(const rt_transformer_options *o, int layer);

#define RT_NO_CROSS_ATTENTION "rotor has no encoder and decoder in one model"

/* ---- theta.c: families without theta among the tensors ----
 *
 * Theta follows from rope_parameters in config.json, or from rope_theta and rope_scaling, as
 * transformers before version 5 had them. */

/* The rows of config.json, behind those of sizes; for most models the number of positions, which
 * is that of a folder that has none, means nothing but a length to begin with. The further keys are
 * those of base and fraction in older folders. */
enum { RT_MOST_POSITIONS = 1 << 30 };
#define RT_ROPE_PARAMETERS(positions)                                                              \
    RT_ROPE_PARAMETERS_BASED(positions, "rope_theta", "partial_rotary_factor")
#define RT_ROPE_PARAMETERS_BASED(positions, ...)                                                   \
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_POSITIONS), .initial = positions,             \
     .when = rt_never},                                                                            \
    {                                                                                              \
        "rope_parameters",                                                                         \
            .read = rt_rope_parameters_read, .put = rt_rope_parameters_put,                        \
            .also = RT_KEYS("rope_scaling", "original_max_position_embeddings", __VA_ARGS__)       \
    }

/* Reads the frequencies. RT_CHECKPOINT in r names the key of what rotor has not. */
void rt_rope_parameters_read(rt_reading *r, rt_huggingface *there);

/* Writes them, and max_position_embeddings that goes with them in transformers. */
void rt_rope_parameters_put(rt_config_writing *w);

/* RT_CONFIG if they cannot say what the model turns by. */
rt_status rt_rope_parameters_check(const rt_family *family,
                                   const rt_transformer_options *o) RT_MUST_CHECK;

/* Takes rotor_theta if rope_parameters were made of it. */
rt_status rt_rope_parameters_settle(rt_huggingface *there) RT_MUST_CHECK;

/* Returns whether theta is the theta of transformers, to the precision of its floats. */
bool rt_theta_is_near(const double *theta, const double *table, int pairs);

/* ---- options of decoders ---- */

#define RT_DECODER_OPTIONS                                                                         \
    {"model.kind", RT_IS, "decoder", "the layers of a decoder"},                                   \
        {"model.pool", RT_IS, "last", NULL}, /* see the classes */                                 \
        {"model.norm", RT_IS, "pre", "its norms before the blocks"},                               \
    {                                                                                              \
        "model.causal", RT_IS, "yes", "causal attention"                                           \
    }

/* Options of all families that are built as Llama. */
#define RT_LLAMA_OPTIONS                                                                           \
    RT_DECODER_OPTIONS, {"model.norm_kind", RT_IS, "rms", "RMS norms"},                            \
    {                                                                                              \
        "model.activation", RT_IS, "silu", NULL                                                    \
    }

#endif
