#ifndef ROTOR_IO_HUGGINGFACE_CONFIG_H
#define ROTOR_IO_HUGGINGFACE_CONFIG_H

/* config.json as a table. Each row describes a key of config.json, for reading and for writing.
 *
 *     {"hidden_size", RT_SIZE(dim), .initial = 768}
 *     {"hidden_act", RT_WORD(activation, words), .reason = "rotor has no other"}
 *     {"rope_interleaved", RT_MUST_BE("false"), .reason = "pairs are halves of a head"}
 *     {"rope_parameters", .read = read_rope, .put = put_rope}
 *
 * Keys are read and written in the order of the rows. A key that is missing or null has its
 * default. An invalid value is RT_CHECKPOINT with the key of config.json. An option that
 * config.json cannot express is RT_CONFIG with the key of rotor. */

#include "io/huggingface/huggingface.h"
#include "io/huggingface/json.h"
#include "models/transformer.h"

struct rt_family;
struct rt_folder_theta;

/* Condition of a row or a key. */
typedef bool rt_options_test(const rt_transformer_options *o);
rt_options_test rt_when_lm, rt_when_sequence, rt_when_token, rt_when_causal, rt_when_bidirectional,
    rt_when_untied, rt_when_pool_first, rt_when_pool_last, rt_when_pool_first_or_mean, rt_always,
    rt_never;

typedef enum rt_config_type {
    RT_CONFIG_SPECIAL,   /* only `read` and `put` */
    RT_CONFIG_WHOLE,     /* whole number from 1 to `high` */
    RT_CONFIG_NUMBER,    /* number from 0 to less than `high` */
    RT_CONFIG_EPS,       /* epsilon of norms: above 0, at most 1 */
    RT_CONFIG_POSITIONS, /* max_positions, from 1 to `high` */
    RT_CONFIG_FLAG,
    RT_CONFIG_SWITCH, /* false and true stand for the values `off` and `on` */
    RT_CONFIG_WORD,
    RT_CONFIG_FIXED, /* any other value is refused */
    RT_CONFIG_ABSENT /* every value is refused */
} rt_config_type;

/* A string and its value. The first of a list is the default; the first with a value is written. */
typedef struct rt_config_word {
    const char *word; /* NULL ends a list */
    int value;
} rt_config_word;

/* A config.json that is being written, and its sources. */
typedef struct rt_config_writing {
    json_t *object; /* NULL after an error */
    const struct rt_family *family;
    const rt_transformer_options *options;
    const rt_huggingface_export *export; /* with resolved positions */
    const struct rt_folder_theta *theta;
} rt_config_writing;

enum { RT_NO_MEMBER = -1, RT_MOST_HF_LAYERS = 1000 };

typedef struct rt_config_row {
    const char *key; /* NULL ends a table */
    rt_config_type type;
    int member; /* offset in rt_transformer_options, or RT_NO_MEMBER */
    double high;
    const rt_config_word *words;
    int off, on;           /* values of a switch */
    const char *fixed;     /* JSON */
    double initial;        /* default; 0: the value of `same_as`, if that is set */
    bool needed;           /* the key must be there: it has no default */
    int same_as;           /* offset of an earlier member, whose value stands for null */
    const char *reason;    /* why another value is refused, for messages */
    const char *wish;      /* what the family has, for messages about a value without a word */
    rt_options_test *when; /* condition for writing; NULL: always, but never FIXED and ABSENT */

    /* Functions that replace the type. */
    void (*read)(rt_reading *r, rt_huggingface *there);
    void (*put)(rt_config_writing *w);
    const char *const *also; /* further keys that `read` uses; NULL: none */
} rt_config_row;

/* Offset of a member of a type; a member of another type does not compile. */
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
#define RT_SWITCH(name, if_false, if_true)                                                         \
    .type = RT_CONFIG_SWITCH, .member = (int)offsetof(rt_transformer_options, name),               \
    .off = if_false, .on = if_true
#define RT_WORD(name, list)                                                                        \
    .type = RT_CONFIG_WORD, .member = (int)offsetof(rt_transformer_options, name), .words = list
#define RT_MUST_BE(json)   .type = RT_CONFIG_FIXED, .fixed = json
#define RT_POSITIONS(most) .type = RT_CONFIG_POSITIONS, .high = most
#define RT_ABSENT          .type = RT_CONFIG_ABSENT

/* Row of a table at the end of a macro, where clang-format takes plain braces for a block. */
#define RT_ROW(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Rows of the sizes that most families have, with their defaults. */
#define RT_SIZES(words, width, ffn_width, layer_count, head_count)                                 \
    {"vocab_size", RT_SIZE(vocab), .initial = words},                                              \
        {"hidden_size", RT_SIZE(dim), .initial = width},                                           \
        {"intermediate_size", RT_SIZE(ffn_dim), .initial = ffn_width},                             \
        {"num_hidden_layers", RT_LAYERS, .initial = layer_count},                                  \
        RT_ROW("num_attention_heads", RT_SIZE(heads), .initial = head_count)

/* NULL-terminated list of keys. */
#define RT_KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Returns the word that a row of words has for a model; NULL if there is none. */
const char *rt_config_row_word(const rt_config_row *row, const rt_transformer_options *o);

/* ---- the whole file ---- */

/* Reads config.json into the members of `there`. */
rt_status rt_huggingface_read_config(rt_huggingface *there, const char *folder) RT_MUST_CHECK;

/* Reads the keys of rows into `there`, and writes them. */
void rt_config_rows_read(const rt_config_row *rows, rt_reading *r, rt_huggingface *there);
void rt_config_rows_put(const rt_config_row *rows, rt_config_writing *w);

/* Sets of a family's tables, as bits, that have a key of config.json; 0: the key is unknown. */
enum {
    RT_KEY_READ = 1,    /* the value is used */
    RT_KEY_REFUSED = 2, /* any value but a neutral one is refused */
    RT_KEY_UNUSED = 4   /* the value changes no logits */
};
int rt_config_key_sets(const struct rt_family *family, const char *key);

/* Returns the text of config.json, which the caller frees; NULL if that fails. */
char *rt_config_text(const struct rt_family *family, const rt_transformer_options *o,
                     const struct rt_folder_theta *theta, const rt_huggingface_export *export);

/* ---- for rows of several families ---- */

/* Reads pad_token_id; null or, in old files, -1 means none. */
void rt_config_read_padding(rt_reading *r, rt_huggingface *there);

/* Refuses a head_dim other than hidden_size / num_attention_heads. Follows the rows of sizes. */
void rt_config_check_head_dim(rt_reading *r, rt_huggingface *there);

/* Returns the token behind a labelled text; RT_NO_ID without one. */
int32_t rt_export_end(const rt_huggingface_export *export);

/* Writes bos_token_id, eos_token_id, pad_token_id and, for an encoder, cls_token_id and
 * sep_token_id; null for tokens that do not exist. */
void rt_config_put_special_ids(rt_config_writing *w);

/* Words of hidden_act for feed-forward blocks without gates. */
extern const rt_config_word rt_hf_activations[];

#define RT_NO_CROSS_ATTENTION "rotor has no encoder and decoder in one model"

/* ---- layer_types: which layers have a window ---- */

/* Returns a list with an item for each layer; NULL if the key is missing. Sets RT_CHECKPOINT in `r`
 * for another length. */
const json_t *rt_layer_list(rt_reading *r, const char *key, int layers);

/* Sets the window, 0 = none, and the layers that have it: those with sliding_attention in
 * layer_types or, if the key is missing, those of `by_rule`. Sets RT_CHECKPOINT in `r` for other
 * types, and for sliding layers without a window. */
void rt_layer_types_read(rt_reading *r, rt_huggingface *there, int window, const bool *by_rule);

/* Writes layer_types. */
void rt_layer_types_put(rt_config_writing *w);

#endif
