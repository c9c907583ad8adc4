#ifndef ROTOR_TRAIN_RUN_OPTIONS_H
#define ROTOR_TRAIN_RUN_OPTIONS_H

/* The options of the command line, a row each: what they set, what they go with, and what --help
 * says of them. A new option is a row, and the member of rt_arguments that it sets. */

#include <stddef.h>

typedef enum rt_command {
    RT_COMMAND_TRAIN, /* no option asks for another */
    RT_COMMAND_EVAL,
    RT_COMMAND_USAGE,
    RT_COMMAND_DISTANCES,
    RT_COMMAND_PREDICT,
    RT_COMMAND_EMBED,
    RT_COMMAND_EXPORT,
    RT_COMMAND_CHECK,
    RT_COMMAND_PRINT_CONFIG,
    RT_COMMAND_GRADCHECK,
    RT_COMMAND_DECAY,
    RT_COMMAND_REPORT,
    RT_COMMAND_VOCAB,
    RT_COMMAND_ENCODE,
    RT_COMMAND_TOKENIZER,
    RT_COMMAND_HELP,
    RT_COMMAND_VERSION
} rt_command;

#define RT_COMMAND_BIT(command) (1u << (command))

/* What an option writes into the member of rt_arguments at its offset. */
typedef enum rt_option_sets {
    RT_SETS_NOTHING,
    RT_SETS_FLAG,   /* bool: true */
    RT_SETS_TEXT,   /* const char *: its value, never empty */
    RT_SETS_ANY,    /* const char *: its value, which may be empty */
    RT_SETS_INT,    /* int: its value, from low to high */
    RT_SETS_INT64,  /* int64_t: likewise */
    RT_SETS_NUMBER, /* double: likewise */
    RT_SETS_KEY     /* a key of the configuration, named by `key` */
} rt_option_sets;

typedef struct rt_option {
    const char *name;
    const char *value; /* what --help calls its value; NULL: it takes none */
    rt_option_sets sets;
    size_t at;
    double low, high;
    const char *range;  /* of a number, for messages: "a number >= 0" */
    const char *key;    /* "run.threads" */
    rt_command command; /* that it asks for; RT_COMMAND_TRAIN: none */
    const char
        *operands;       /* of the command, what all operands are: "texts"; NULL: a configuration */
    unsigned with;       /* RT_COMMAND_BIT of those that it goes with; 0: all */
    const char *note;    /* ends the message that it goes with these; or NULL */
    const char *against; /* name of an option that contradicts it; or NULL */
    const char *group;   /* heading above it in --help; NULL: that of the row before */
    const char *help;    /* lines of at most 59 characters */
} rt_option;

/* In the order of --help. */
const rt_option *rt_option_at(int i); /* NULL: there are no more */

/* The option that asks for a command. */
const rt_option *rt_option_of(rt_command command);

#endif
