#ifndef ROTOR_CORE_KEY_H
#define ROTOR_CORE_KEY_H

/* A key of the configuration, as data: its name, the member of the options that it sets, and the
 * values that it accepts. models/, data/ and optim/ each have a table of their keys beside their
 * options. util/key_value.h parses and writes a value by its row; train/config joins the tables. */

#include <stdbool.h>
#include <stddef.h>

typedef enum rt_key_type {
    RT_KEY_INTEGER,  /* int */
    RT_KEY_INTERVAL, /* rt_interval; range: that of its `most` */
    RT_KEY_SEED,     /* uint64_t, 0 ... 2^63-1 */
    RT_KEY_NUMBER,   /* double */
    RT_KEY_YES_NO,   /* bool */
    RT_KEY_CHOICE,   /* an enumeration that counts from 0 */
    RT_KEY_LENGTHS,  /* rt_lengths */
    RT_KEY_FACTORS,  /* rt_factors */
    RT_KEY_LAYERS,   /* rt_layer_words: words of an enumeration that counts from 0 */
    RT_KEY_TEXT      /* const char *, NULL for an empty text; range.high: its maximum length */
} rt_key_type;

typedef struct rt_range {
    double low, high;
    bool above, below; /* low, high are excluded */
} rt_range;

/* Permitted changes of a key when a run is resumed, and when its model is used. A key that decides
 * the result may not change, except for how long the run is. The schedule of the learning rate may
 * change when a finished run is extended. */
typedef enum rt_change {
    RT_FIXED,        /* of the model: neither a resumed run nor a use may change it */
    RT_FIXED_IN_RUN, /* a resumed run may not change it, a use of the model may */
    RT_WHEN_EXTENDED,
    RT_HOW_LONG,
    RT_MAY_DIFFER
} rt_change;

/* Whether a model hands its value on to a run that starts from it (train.init_from), if the key is
 * not written there: condition on both configurations, in which an earlier condition decides the
 * keys that a later one depends on. A key that is RT_FIXED has to answer. */
typedef enum rt_handed {
    RT_UNANSWERED,
    RT_NOT_HANDED,
    RT_HANDED_ALWAYS,
    RT_HANDED_WITH_ENCODING,            /* position.kind is the same */
    RT_HANDED_WITH_AXES,                /* so are mixing and axes */
    RT_HANDED_WITH_SCALING,             /* so is the scaling */
    RT_HANDED_WITH_LENGTH,              /* the scaling depends on the original length */
    RT_HANDED_WITHOUT_EVERY,            /* every layer has the encoding */
    RT_HANDED_IN_WINDOWS,               /* there are sliding windows */
    RT_HANDED_WITH_ENCODING_IN_WINDOWS, /* both */
    RT_HANDED_BOTH_WAYS,                /* the model is not causal */
    RT_HANDED_WITH_ATTENTION,           /* model.attention is the same */
    RT_HANDED_WITH_ROTATION,            /* position.kind and mixing are the same */
    RT_HANDED_WITH_LEARNED,             /* and theta is learned in both */
    RT_HANDED_WITH_FRAMES,              /* tokens can begin the sequences of both */
    RT_HANDED_WITH_LABELS,              /* texts have labels */
    RT_HANDED_WITH_OBJECTIVE,           /* both have an objective, and the same model.causal */
    RT_HANDED_WITH_IDS,                 /* neither reads texts */
    RT_HANDED_WITH_TEXTS                /* both read texts, and the model has a vocabulary */
} rt_handed;

/* Whether the parameters of a model fit a run that starts from it with another value. */
typedef enum rt_fits {
    RT_FITS_ANY,
    RT_FITS_SAME,      /* no other value */
    RT_FITS_GATES,     /* feed-forward blocks that are gated or plain as well */
    RT_FITS_OUTPUT,    /* the model has no output layer of its own that would be lost */
    RT_FITS_ENCODING,  /* nothing of either encoding is lost, and the model is rotor's own */
    RT_FITS_ROTATION,  /* not both learn theta */
    RT_FITS_OTHER,     /* their values of position.kind differ */
    RT_FITS_LOWERCASE, /* a lowercase vocabulary can also be used unchanged */
    RT_FITS_TOKENS     /* the vocabulary is not handed on */
} rt_fits;

/* Relation of a key to the values of a condition. RT_NEED_OR begins an alternative list of
 * conditions. */
typedef enum rt_relation {
    RT_NEED_END,
    RT_NEED_OR,
    RT_NEED_IS,     /* one of the words */
    RT_NEED_IS_NOT, /* none of the words */
    RT_NEED_ABOVE,  /* a number above the bound */
    RT_NEED_UNSET,  /* an empty text */
    RT_NEED_HOLDS   /* a text with the first of the words in it */
} rt_relation;

/* Kind of a path, which is relative to the folder of the configuration file. A ~/ at its start is
 * the folder HOME of the environment. */
typedef enum rt_path_kind {
    RT_NO_PATH,
    RT_WORKING_FOLDER, /* a folder that is written, relative to the working directory */
    RT_FOLDER,         /* a folder that is read and written */
    RT_INPUT,          /* a file or folder that is read */
    RT_INPUT_FILES     /* files that are read: a list, unless data.task has one file */
} rt_path_kind;

enum { RT_MOST_NEEDED_WORDS = 8 };

/* Condition on the value of another key. The other key must have an effect itself, unless it is
 * required to be unset. It may belong to another table, so it has its full name, "section.name". */
typedef struct rt_need {
    rt_relation relation;
    const char *key;
    const char *words[RT_MOST_NEEDED_WORDS + 1]; /* values of a choice or a text; NULL-terminated */
    double bound;
} rt_need;

typedef struct rt_key {
    const char *section;
    const char *name;
    rt_key_type type;
    size_t offset; /* in the options of its table */
    size_t size;
    rt_range range;
    const char *(*word)(
        int value);      /* returns the word of a choice, or of layers; NULL past the last */
    rt_path_kind path;   /* of a text */
    const char *initial; /* its default, in written form */
    const char *help;
    rt_change change;
    const rt_need *needs; /* conditions under which the key has an effect; NULL: always */
    /* What evaluations of different values differ in, in the plural: "lengths". Their losses answer
     * different questions and are not comparable. NULL: the value changes no question. */
    const char *asks;
    const rt_need *asks_when; /* conditions for this; NULL: whenever the key has an effect */
    rt_handed handed;
    rt_fits fits;
    bool of_model;       /* data: describes a model that comes without a configuration of its own */
    const char *joining; /* its default if the model of train.init_from has none of what it is for,
                            so that the function of the model stays; NULL: `initial` */
    const char
        *unless;    /* full name of a key that, if it is written, takes the place of `joining` */
    bool in_branch; /* a branch of a run may change it (train.trunk) */
    bool later;     /* checkpoints of earlier versions lack it, and mean its default */
    bool follows;   /* its zero stands for a value that follows from other keys */
    const char *decoder; /* its default for model.kind = decoder; NULL: `initial` */
} rt_key;

/* Keys of one struct of options; the keys of a section are adjacent. */
typedef struct rt_key_table {
    const rt_key *keys;
    int count;
} rt_key_table;

enum { RT_KEY_NAME_SIZE = 64, RT_VALUE_SIZE = 8000, RT_VALUES_SIZE = 256 };

/* Macros for files with a table; OPTIONS is the struct. */

/* Defines a function that returns the words of a choice, from the list beside its enumeration. */
#define RT_KEY_WORDS(function, LIST)                                                               \
    static const char *function(int value)                                                         \
    {                                                                                              \
        static const char *const words[] = {LIST(RT_CHOICE_WORD) NULL};                            \
        return words[value];                                                                       \
    }

/* Type and offset of a key in its options, in the order of rt_key. A member of another C type does
 * not compile. An enumeration may be any integer of the size of int. */
#define RT_MEMBER(member)      (((OPTIONS *)0)->member)
#define RT_IS(type, member)    (0 * sizeof(char[_Generic(RT_MEMBER(member), type : 1)]))
#define RT_AT(member)          offsetof(OPTIONS, member), sizeof RT_MEMBER(member)
#define RT_TYPED(type, member) offsetof(OPTIONS, member) + RT_IS(type, member), sizeof(type)
#define RT_NOT_TEXT(word)      word, RT_NO_PATH
#define WHOLE(member, low, high)                                                                   \
    RT_KEY_INTEGER, RT_TYPED(int, member), FROM_TO(low, high), RT_NOT_TEXT(NULL)
#define INTERVAL(member, low, high)                                                                \
    RT_KEY_INTERVAL, RT_TYPED(rt_interval, member), FROM_TO(low, high), RT_NOT_TEXT(NULL)
#define SEED(member)         RT_KEY_SEED, RT_TYPED(uint64_t, member), RT_ANY, RT_NOT_TEXT(NULL)
#define NUMBER(member, ...)  RT_KEY_NUMBER, RT_TYPED(double, member), __VA_ARGS__, RT_NOT_TEXT(NULL)
#define YES_NO(member)       RT_KEY_YES_NO, RT_TYPED(bool, member), RT_ANY, RT_NOT_TEXT(NULL)
#define CHOICE(member, word) RT_KEY_CHOICE, RT_AT(member), RT_ANY, RT_NOT_TEXT(word)
#define LENGTHS(member, low, high)                                                                 \
    RT_KEY_LENGTHS, RT_TYPED(rt_lengths, member), FROM_TO(low, high), RT_NOT_TEXT(NULL)
#define FACTORS(member) RT_KEY_FACTORS, RT_TYPED(rt_factors, member), ABOVE(0), RT_NOT_TEXT(NULL)
#define LAYERS(member, word)                                                                       \
    RT_KEY_LAYERS, RT_TYPED(rt_layer_words, member), RT_ANY, RT_NOT_TEXT(word)
#define TEXT(member, size) PATH_TEXT(member, size, RT_NO_PATH)
#define PATH_TEXT(member, size, kind)                                                              \
    RT_KEY_TEXT, RT_TYPED(const char *, member), {0, (size)-1, false, false}, NULL, kind

/* Ranges. */
/* clang-format off */
#define RT_ANY                 {0, 0, false, false}
#define ABOVE(low)             {low, HUGE_VAL, true, false}
#define AT_LEAST(low)          {low, HUGE_VAL, false, false}
#define RT_ANY_NUMBER          {-HUGE_VAL, HUGE_VAL, true, true}
#define FROM_TO(low, high)     {low, high, false, false}
#define FROM_BELOW(low, high)  {low, high, false, true}
#define ABOVE_UP_TO(low, high) {low, high, true, false}
/* clang-format on */

/* Limits of integers. Step numbers have eight digits in the names of checkpoints. */
enum { RT_MOST_STEPS = 99999999, RT_MOST_SIZE = 1000000 };

/* Condition for a key to have an effect: WHEN(A, B, OR, C) if both A and B hold, or C. The
 * columns behind it: ASKS or ASKS_WHEN, OWN or HANDED, FITS, JOINING, OF_MODEL, IN_BRANCH, LATER,
 * FOLLOWS, IN_DECODERS. */
/* clang-format off */
#define RT_NEEDS(...)        (const rt_need[]){__VA_ARGS__, {.relation = RT_NEED_END}}
#define ALWAYS               .needs = NULL
#define WHEN(...)            .needs = RT_NEEDS(__VA_ARGS__)
#define ASKS(noun)           .asks = (noun)
#define ASKS_WHEN(noun, ...) .asks = (noun), .asks_when = RT_NEEDS(__VA_ARGS__)
#define OWN                  .handed = RT_NOT_HANDED
#define HANDED(condition)    .handed = RT_HANDED_##condition
#define FITS(condition)      .fits = RT_FITS_##condition
#define OF_MODEL             .of_model = true
#define JOINING(text, other) .joining = (text), .unless = (other)
#define IN_BRANCH            .in_branch = true
#define LATER                .later = true
#define FOLLOWS              .follows = true
#define IN_DECODERS(text)    .decoder = (text)
#define IS(name, ...)        {.relation = RT_NEED_IS, .key = (name), .words = {__VA_ARGS__}}
#define IS_NOT(name, ...)    {.relation = RT_NEED_IS_NOT, .key = (name), .words = {__VA_ARGS__}}
#define EXCEEDS(name, value) {.relation = RT_NEED_ABOVE, .key = (name), .bound = (value)}
#define HOLDS(name, word)    {.relation = RT_NEED_HOLDS, .key = (name), .words = {word}}
#define HAS_NO(name)         {.relation = RT_NEED_UNSET, .key = (name)}
#define OR                   {.relation = RT_NEED_OR}
/* clang-format on */

#endif
