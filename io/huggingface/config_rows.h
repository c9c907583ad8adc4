#ifndef ROTOR_IO_HUGGINGFACE_CONFIG_ROWS_H
#define ROTOR_IO_HUGGINGFACE_CONFIG_ROWS_H

/* config.json as a table that is read in both directions, and the options that a family settles.
 *
 *     {"hidden_size", RT_SIZE(dim), .initial = 768}
 *     {"hidden_act", RT_WORD(activation, words), .reason = "rotor has no other"}
 *     {"rope_interleaved", RT_MUST_BE("false"), .reason = "pairs are halves of a head"}
 *     {"rope_parameters", .read = read_rope, .put = put_rope}
 *
 *
 * Keys are read and written in the order of the rows. A key that is absent, or null, has its
 * default. What a key cannot be is RT_CHECKPOINT with its name; what of a model it cannot say is
 * RT_CONFIG with the key of rotor. */

#include "io/huggingface/huggingface.h"
#include "io/huggingface/json_text.h"
#include "io/huggingface/reading.h"
#include "io/huggingface/tensor_rows.h"

/* ---- what all models of a family have ---- */

typedef enum rt_option_rule {
    RT_IS,      /* that value; a number is at most that */
    RT_SAME_AS, /* as much as the key that is the value */
    RT_ABOVE_0
} rt_option_rule;

/* An option of rotor by its key in models/keys.c. Reading sets it (of RT_IS); writing refuses
 * another value: "KEY = VALUE cannot be exported: a NAME of Hugging Face has WISH". */
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
    RT_CONFIG_WORD,
    RT_CONFIG_FIXED, /* a value that rotor has no other of */
    RT_CONFIG_ABSENT /* anything at all is refused */
} rt_config_type;

/* The first is the default; of several with one value, the first is written. */
typedef struct rt_config_word {
    const char *word; /* NULL ends a list */
    int value;
} rt_config_word;

/* What is written, and from what. */
typedef struct rt_config_writing {
    rt_json_object object;
    const struct rt_family *family;
    const rt_transformer_options *options;
    const rt_huggingface_export *export;
    const struct rt_export_theta *theta;
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
#define RT_WORD(name, list)                                                                        \
    .type = RT_CONFIG_WORD, .member = (int)offsetof(rt_transformer_options, name), .words = list
#define RT_ONE_WORD(list)  .type = RT_CONFIG_WORD, .member = RT_NO_MEMBER, .words = list
#define RT_MUST_BE(json)   .type = RT_CONFIG_FIXED, .fixed = json
#define RT_POSITIONS(most) .type = RT_CONFIG_POSITIONS, .high = most
#define RT_ABSENT          .type = RT_CONFIG_ABSENT

/* A list of keys. */
#define RT_KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- both tables ---- */

/* Sets what the family has in all its models. */
void rt_option_rows_set(const rt_option_row *rows, rt_transformer_options *o);

void rt_config_rows_read(const rt_config_row *rows, rt_reading *r, rt_huggingface *there);

void rt_config_rows_put(const rt_config_row *rows, rt_config_writing *w);

#endif
