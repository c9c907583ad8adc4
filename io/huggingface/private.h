#ifndef ROTOR_IO_HUGGINGFACE_PRIVATE_H
#define ROTOR_IO_HUGGINGFACE_PRIVATE_H

/* Private declarations of the files that read and write Hugging Face folders. */

#include "io/huggingface/family.h"
#include "util/files.h"
#include "util/json.h"
#include "util/utf8.h"
#include "util/writer.h"

#define RT_HF_CONFIG         "config.json"
#define RT_HF_VOCAB          "vocab.txt"
#define RT_HF_TOKENIZER      "tokenizer_config.json"
#define RT_HF_TOKENIZER_JSON "tokenizer.json"
#define RT_HF_VOCAB_JSON     "vocab.json"
#define RT_HF_MERGES         "merges.txt"
#define RT_HF_GENERATE       "generation_config.json"
#define RT_HF_MAP            "special_tokens_map.json"
#define RT_HF_ADDED          "added_tokens.json"
#define RT_HF_CARD           "README.md"
#define RT_HF_CHAT           "chat_template.jinja"
#define RT_HF_CHAT_KEY       "chat_template" /* in tokenizer_config.json */

/* Words of a model card that rotor wrote. */
#define RT_CARD_TRAINED   "trained with rotor"
#define RT_CARD_CONVERTED "converted with rotor"

/* Keys of config.json that rotor adds: data.level of the vocabulary, data.length, and data.begin
 * and data.end if they are none. */
#define RT_HF_LEVEL  "rotor_level"
#define RT_HF_BEGIN  "rotor_begin"
#define RT_HF_END    "rotor_end"
#define RT_HF_LENGTH "rotor_length"

#define RT_WEIGHTS_FILE  "model.safetensors"
#define RT_WEIGHTS_INDEX "model.safetensors.index.json"

/* ---- files of an untrusted folder, and JSON as in util/json.h, with errors RT_CHECKPOINT ---- */

/* Reads a regular file of at most `most` bytes; the caller frees them. RT_CHECKPOINT names a file
 * that cannot be read; RT_CONFIG if the path is too long; RT_MEMORY. */
rt_status rt_folder_read(char **bytes_new, size_t *size, const char *folder, const char *name,
                         long most) RT_MUST_CHECK;

/* Parses an object, which the caller releases with json_decref. The bytes are changed. */
rt_status rt_json_read(json_t **object_new, const char *name, char *bytes,
                       size_t size) RT_MUST_CHECK;

/* Parses a file of a folder, of at most 16 MiB. rt_json_read_optional sets *object_new to NULL if
 * the file is missing. */
rt_status rt_json_read_file(json_t **object_new, const char *folder,
                            const char *name) RT_MUST_CHECK;
rt_status rt_json_read_optional(json_t **object_new, const char *folder,
                                const char *name) RT_MUST_CHECK;

/* Returns the index of a word in a NULL-terminated list, or -1. Both may be NULL. */
int rt_word_index(const char *const *words, const char *word);

/* Jansson's functions make the values that are written. Numbers that are not whole are written as
 * the shortest text that reads as the same double, where Jansson 2.14 writes 17 digits (1e-12 as
 * 9.9999999999999998e-13). Lists of numbers are on one line. */

/* Sets a member of an object, or appends to a list. Takes over the value. If that fails, or the
 * value is NULL because it could not be made, *to is freed and becomes NULL. */
void rt_json_put(json_t **to, const char *key, json_t *value);
void rt_json_append(json_t **to, json_t *value);

/* Creates a string of any bytes; those that are not UTF-8 become U+FFFD. */
json_t *rt_json_string(const char *text);

/* Creates a number, which is written without a point if it is whole and not very large. json_real
 * is always written with one, so that Python reads a float. */
json_t *rt_json_number(double value);

/* Creates a list of such numbers. */
json_t *rt_json_numbers(const double *values, int count);

/* Returns an object as a text, which the caller frees; NULL if it is NULL or the heap is exhausted.
 */
char *rt_json_text(json_t *object) RT_MUST_CHECK;

/* Returns any JSON as Jansson writes it, and `end`, for the caller to free; NULL if that fails. */
char *rt_json_dump(const json_t *value, size_t flags, const char *end);

/* Copies the first character of a text as UTF-8, or U+FFFD. Returns its bytes in the text. */
size_t rt_next_character(const char *text, char character[RT_UTF8_SIZE], int32_t *code);

/* ---- files with tensors ---- */

/* Limit of files with weights, with a margin to the files that a process can open. */
enum { RT_MOST_WEIGHT_FILES = 512 };

/* Tensors of a folder, in model.safetensors or, if there is none, in the files that
 * model.safetensors.index.json names. A file must lie in the folder itself and have exactly the
 * tensors that the index assigns to it. Errors as in safetensors.h. */
typedef struct rt_weights {
    rt_safetensors **files;
    int count;
} rt_weights;

/* Opens the files of a folder. Call rt_weights_close even after an error. */
rt_status rt_weights_open(rt_weights *weights, const char *folder) RT_MUST_CHECK;
void rt_weights_close(rt_weights *weights);

/* Key of config.json with all learned theta: {"scope": "layer", "form": "log", "base": 10000,
 * "theta": [[[...], ...], ...]}, in radians per position by layer, head and pair. A list has one
 * item where layers or heads share theta. "local_base" is optional. */
#define RT_HF_THETA "rotor_theta"

struct rt_huggingface_files {
    const rt_family *family;
    rt_weights weights;
    bool prefixed;                /* tensor names begin with the prefix of the family */
    rt_folder_theta written;      /* rotor_theta */
    rt_frequency_options sliding; /* of layers with a window, where they have their own */
    rt_writer warnings;
};

/* ---- reading ---- */

/* Reads config.json into the members of `there`. */
rt_status rt_huggingface_read_config(rt_huggingface *there, const char *folder) RT_MUST_CHECK;

/* Sets of a family's tables, as bits, that have a key of config.json; 0: the key is unknown. */
enum {
    RT_KEY_READ = 1,    /* the value is used */
    RT_KEY_REFUSED = 2, /* any value but a neutral one is refused */
    RT_KEY_UNUSED = 4   /* the value changes no logits */
};
int rt_config_key_sets(const rt_family *family, const char *key);

/* Reads rotor_theta, if config.json has it. */
void rt_huggingface_read_theta(rt_reading *r, const rt_transformer_options *o, rt_folder_theta *t);

/* Returns the name of a tensor without its prefix if the folder has none. */
const char *rt_huggingface_name(const rt_huggingface *there, const char *name);

/* Returns a tensor by its name, whose prefix the folder may lack; NULL if it is missing. */
const rt_safetensor *rt_huggingface_tensor(const rt_huggingface *there, const char *name);

/* Uses rotor_theta, if there is one and it fits, as the learned theta of the model, without a
 * scaling. If it does not fit `other`, a part of the folder, warns that `used` is used. */
void rt_huggingface_choose_theta(rt_huggingface *there, bool fits, const char *other,
                                 const char *used);

/* Layers over which theta is averaged. */
typedef enum rt_theta_layers {
    RT_THETA_OF_FULL,
    RT_THETA_OF_SLIDING,
    RT_THETA_OF_ALL
} rt_theta_layers;

/* Computes the mean of theta over heads and over the layers of a type, or over all layers if there
 * are none: (pairs), with zeros for pairs that are not rotated. */
void rt_folder_theta_mean(const rt_folder_theta *t, const rt_transformer_options *o,
                          rt_theta_layers layers, int pairs, double *mean);

/* ---- writing ---- */

/* Computes the effective theta of a model for a family. A fixed theta has one row, or one for each
 * layer if layers differ. RT_NONFINITE. Free it even after an error. */
rt_status rt_folder_theta_of(const rt_family *family, const rt_transformer *model,
                             rt_folder_theta *theta) RT_MUST_CHECK;
void rt_folder_theta_free(rt_folder_theta *theta);

/* Tensors that are written for a model: its parameters and the additional tensors of the family. */
typedef struct rt_tensor_list {
    const rt_family *family;
    const rt_transformer *model;
    rt_safetensors_entry *entries;
    int count;
    rt_folder_tensors tensors; /* contexts of the entries */
    rt_folder_theta theta;
} rt_tensor_list;

/* Lists the tensors. RT_CONFIG names a parameter that the family lacks. Close it in any case. */
rt_status rt_tensor_list_open(rt_tensor_list *list, const rt_family *family,
                              const rt_transformer *model, int positions) RT_MUST_CHECK;
void rt_tensor_list_close(rt_tensor_list *list);

/* Returns the text of config.json, which the caller frees; NULL if that fails. */
char *rt_config_text(const rt_family *family, const rt_transformer_options *o,
                     const rt_folder_theta *theta, const rt_huggingface_export *export);

/* Returns the text of tokenizer_config.json, which the caller frees; NULL if that fails. */
char *rt_huggingface_tokenizer_text(const rt_huggingface_export *export) RT_MUST_CHECK;

/* Writes the key rotor_theta. */
void rt_put_theta(rt_config_writing *w);

/* ---- for rows of config.json ---- */

/* Reads pad_token_id; null or, in old files, -1 means none. */
void rt_config_read_padding(rt_reading *r, rt_huggingface *there);

/* Refuses a head_dim other than hidden_size / num_attention_heads. Follows the rows of sizes. */
void rt_config_check_head_dim(rt_reading *r, rt_huggingface *there);

/* Writes bos_token_id, eos_token_id, pad_token_id and, for an encoder, cls_token_id and
 * sep_token_id; null for tokens that do not exist. */
void rt_config_put_special_ids(rt_config_writing *w);

/* Returns max_position_embeddings of an exported RoFormer, the number of rows of its table.
 * export->positions must be resolved. */
int rt_roformer_rows(const rt_huggingface_export *export);

/* Words of hidden_act for feed-forward blocks without gates. */
extern const rt_config_word rt_roformer_activations[];

/* ---- sines.c: the table of sines of a RoFormer ---- */

/* The table of sines that a RoFormer of Hugging Face keeps among its weights and is rotated by: row
 * m has sin(m theta_i) for all pairs i, then cos(m theta_i).
 *
 * Theta is computed from the table. Values of theta that differ by a multiple of 2 pi make the same
 * table; the result is the one between -pi / 2 and 3 pi / 2. */
typedef struct rt_sine_table {
    double *values; /* (rows, 2 pairs) */
    int rows;
    int pairs;
    rt_dtype dtype; /* type to which the values were rounded */

    /* Set by rt_sine_table_theta. If `base` is not 0, the first `rotated` values of theta are
     * base^(-i / rotated), within the rounding of the table. */
    int rotated; /* number of pairs before the zeros at the end */
    double base;
} rt_sine_table;

/* Computes theta, (pairs), of a table. RT_CHECKPOINT, which names `name`, if no theta makes it. */
rt_status rt_sine_table_theta(rt_sine_table *table, const char *name, double *theta) RT_MUST_CHECK;

/* Returns whether theta makes the first `count` pairs of the table, within its rounding. */
bool rt_sine_table_is_of(const rt_sine_table *table, int count, const double *theta);

#define RT_HF_TABLE "roformer.encoder.embed_positions.weight"

/* Determines theta of a folder by its table (resolve_theta). */
rt_status rt_sine_table_resolve(rt_huggingface *there) RT_MUST_CHECK;

/* Computes numbers of the table, (positions, 2 pairs), from an rt_folder_theta. */
rt_safetensors_fill rt_sine_table_fill;

/* ---- layer_types of config.json: which layers have a window ---- */

/* Returns a list with an item for each layer; NULL if the key is missing. Sets RT_CHECKPOINT in `r`
 * for another length. */
const json_t *rt_layer_list(rt_reading *r, const char *key, int layers);

/* Sets the window, 0 = none, and the layers that have it: those with sliding_attention in
 * layer_types or, if the key is missing, those of `by_rule`. Sets RT_CHECKPOINT in `r` for other
 * types, and for sliding layers without a window. */
void rt_layer_types_read(rt_reading *r, rt_huggingface *there, int window, const bool *by_rule);

/* Writes layer_types. */
void rt_layer_types_put(rt_config_writing *w);

#define RT_NO_CROSS_ATTENTION "rotor has no encoder and decoder in one model"

/* ---- tokenizer.c ----
 *
 * The vocabulary of a folder: vocab.txt or, if there is none, the pieces of
 * tokenizer.json, WordPiece or byte-level BPE. A vocab.txt is ESM's if tokenizer_config.json names
 * EsmTokenizer or, if it names no class of its own, the file has <cls> and no [CLS].
 *
 * WordPiece: do_lower_case of tokenizer_config.json, true by default, says whether words are in
 * lower case. tokenizer.json says so only if there is no tokenizer_config.json, or one with a
 * general class. A setting that would make other words or pieces than BERT's is refused.
 *
 * Byte-level BPE: tokenizer.json says how a text is cut, whatever the class of the tokenizer.
 * tokenizer_config.json, which is optional, names the special tokens: bos_token or cls_token,
 * eos_token or sep_token, pad_token, mask_token. */

/* Reads the vocabulary of a folder. NULL if there is neither file, nor vocab.json with merges.txt
 * (byte-level BPE). `level` is that of a vocabulary that rotor wrote, or "" to detect it. *warning
 * is a line for the user, or NULL. Errors are RT_CHECKPOINT and begin with the name of the file. */
rt_status rt_tokenizer_read(rt_vocabulary **vocabulary_new, const char *folder, const char *level,
                            const char **warning) RT_MUST_CHECK;

/* Creates the tokenizer.json of a vocabulary of level bpe, whose post-processor puts a token before
 * a text if `begins`, and after it if `ends`: the bytes that were read if they do so, else with
 * another post-processor. The caller frees the text. */
rt_status rt_tokenizer_bpe_file(char **text_new, const rt_vocabulary *vocabulary, bool begins,
                                bool ends) RT_MUST_CHECK;

/* ---- theta.c: families without theta among the tensors ----
 *
 * Theta follows from rope_parameters in config.json or, before version 5 of transformers, from
 * rope_theta and rope_scaling. */

/* Rows of config.json, to be placed after those of sizes. For most models max_position_embeddings
 * is only an initial length. Further arguments are older keys of base and fraction. */
enum { RT_MOST_POSITIONS = 1 << 30 };
#define RT_ROPE_PARAMETERS(positions)                                                              \
    RT_ROPE_PARAMETERS_BASED(positions, "rope_theta", "partial_rotary_factor")
#define RT_ROPE_PARAMETERS_BASED(positions, ...)                                                   \
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_POSITIONS), .initial = positions,             \
     .when = rt_never},                                                                            \
        RT_ROW("rope_parameters", .read = rt_rope_parameters_read, .put = rt_rope_parameters_put,  \
               .also = RT_KEYS("rope_scaling", "original_max_position_embeddings", __VA_ARGS__))

/* Reads the frequencies. Sets RT_CHECKPOINT in `r` with the key of an unsupported value. */
void rt_rope_parameters_read(rt_reading *r, rt_huggingface *there);

/* Writes the frequencies, and the max_position_embeddings that transformers needs with them. */
void rt_rope_parameters_put(rt_config_writing *w);

/* Returns RT_CONFIG if rope_parameters cannot express theta of the model. */
rt_status rt_rope_parameters_check(const rt_family *family,
                                   const rt_transformer_options *o) RT_MUST_CHECK;

/* Uses rotor_theta if rope_parameters were made from it. RT_CHECKPOINT if the scalings of layers
 * with and without a window differ. */
rt_status rt_rope_parameters_resolve(rt_huggingface *there) RT_MUST_CHECK;

/* Returns whether theta agrees with the theta of transformers, to the precision of a float. */
bool rt_theta_is_near(const double *theta, const double *table, int pairs);

/* ---- options of decoders ---- */

#define RT_DECODER_OPTIONS                                                                         \
    {"model.kind", RT_IS, "decoder", "the layers of a decoder"},                                   \
        {"model.pool", RT_IS, "last", NULL}, /* see the classes */                                 \
        {"model.norm", RT_IS, "pre", "its norms before the blocks"},                               \
        RT_ROW("model.causal", RT_IS, "yes", "causal attention")

/* Options of all families that are built like Llama. */
#define RT_LLAMA_OPTIONS                                                                           \
    RT_DECODER_OPTIONS, {"model.norm_kind", RT_IS, "rms", "RMS norms"},                            \
        RT_ROW("model.activation", RT_IS, "silu", NULL)

#endif
