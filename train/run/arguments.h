#ifndef ROTOR_TRAIN_RUN_ARGUMENTS_H
#define ROTOR_TRAIN_RUN_ARGUMENTS_H

/* The command line: train [options] CONFIG.ini [section.key=value ...]. */

#include "core/status.h"
#include "train/config/config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum rt_command {
    RT_COMMAND_TRAIN, /* no option asks for another */
    RT_COMMAND_EVAL,
    RT_COMMAND_USAGE,
    RT_COMMAND_DISTANCES,
    RT_COMMAND_GRADIENT,
    RT_COMMAND_PREDICT,
    RT_COMMAND_EMBED,
    RT_COMMAND_EXPORT,
    RT_COMMAND_CHECK,
    RT_COMMAND_PRINT_CONFIG,
    RT_COMMAND_GRADCHECK,
    RT_COMMAND_DECAY,
    RT_COMMAND_REPORT,
    RT_COMMAND_ENCODE,
    RT_COMMAND_TOKENIZER,
    RT_COMMAND_INIT,
    RT_COMMAND_HELP, /* it and the next take precedence over others, and need no configuration */
    RT_COMMAND_VERSION,
    RT_COMMAND_COMPLETION
} rt_command;

/* Configurations that --init writes (train/templates/): X(name, what it is). */
#define RT_TEMPLATES(X)                                                                            \
    X(gpt, "a decoder that continues a text")                                                      \
    X(classify, "an encoder that labels texts")                                                    \
    X(tag, "an encoder that labels the words of sentences")                                        \
    X(mlm, "an encoder that fills in masked tokens")                                               \
    X(theta, "a sweep that compares a fixed with a learned theta")

enum { RT_MOST_OVERRIDES = 128, RT_MOST_OTHERS = 127 };

typedef struct rt_arguments {
    int argc; /* the whole command line, as given */
    char **argv;
    const char *revision; /* revision of the program's sources; "" if unknown */
    rt_command command;
    const char *config; /* path of the INI file; NULL: that of the checkpoint, or none is needed */
    const char *overrides[RT_MOST_OVERRIDES];
    int override_count;
    const char *checkpoint; /* file or folder of --checkpoint; or NULL */
    const char *report;     /* folder of --report; or NULL */
    const char
        *others[RT_MOST_OTHERS]; /* further folders of --report; texts of --train-tokenizer */
    int other_count;
    int tokenizer;      /* number of tokens of --train-tokenizer; 0: not given */
    int wordpiece;      /* --level: 1 for wordpiece */
    bool mask;          /* --mask: the tokenizer has [MASK] */
    const char *field;  /* --field: of the texts in JSON lines; or NULL */
    bool lowercase;     /* --lowercase: the texts of the tokenizer are lowercased */
    int init;           /* number of the template of --init in RT_TEMPLATES; -1: not given */
    const char *encode; /* file that --encode writes; or NULL */
    const char *watch;  /* folder of --watch, whose report is redrawn until the run ends; or NULL */
    const char *output; /* --output: file of a comparison or of vectors; or NULL */
    int gradient;       /* --gradient: 0, of theta */
    const char *embed;  /* file of --embed, "-" for standard input; or NULL */
    rt_pooling pooling; /* --pool, for --embed */
    int layer;          /* --layer, for --embed; below 0: not given */
    const char *predict; /* text of --predict; or NULL */
    const char *export;  /* folder or file of --export; or NULL */
    int dtype;           /* an rt_gguf_dtype; below 0: not given */
    const char *theta;   /* --theta (rt_run_change_theta); or NULL */
    double temperature;  /* below 0: not given */
    double top_p;        /* 0: not given */
    int top_k;           /* 0: not given */
    const char *stop;    /* stop sequence of --stop; or NULL */
    int64_t seed;        /* below 0: not given */
    int tokens;          /* limit of generated tokens; 0: not given */
    int samples;         /* continuations of each text; 0: not given */
    bool jsonl;          /* --jsonl: answers are JSON objects */
    bool special;        /* --special: special tokens in texts are tokens */
    bool per_line;       /* --eval prints a table of lines */
    bool best;           /* --best: the best checkpoint of a folder is used */
    bool last;           /* --last: the newest checkpoint is used, even with train.patience */
    bool resume;
    bool overwrite;
    bool trap;
    bool profile;
    bool quiet;
    bool no_color;
    char threads[64];         /* --threads as an override */
    struct rt_world *world;   /* processes that train together; NULL: a single process */
    struct rt_helper *helper; /* helper of this process in a world; or NULL */
    struct rt_init_model_cache *ancestry; /* cache of the models that runs start from */
} rt_arguments;

/* Parses a command line. The result points into argv and into itself. Returns RT_CONFIG, with the
 * reason, if the command line is malformed or its options exclude each other. */
rt_status rt_arguments_parse(rt_arguments *a, int argc, char **argv) RT_MUST_CHECK;

/* Returns the option of a command without its dashes: "eval". */
const char *rt_command_name(rt_command command);

/* Returns whether the command evaluates a model on the evaluation data. */
bool rt_arguments_evaluate(const rt_arguments *a);

/* Returns whether the command uses a trained model. */
bool rt_arguments_use_model(const rt_arguments *a);

/* Returns RT_CONFIG if the file `output`, which the command writes, is one that it reads, or exists
 * and --overwrite is not given. `model`: path of the model in use; or NULL. */
rt_status rt_arguments_spare_inputs(const rt_arguments *a, const rt_config *config,
                                    const char *model, const char *output) RT_MUST_CHECK;

/* Prints the options of a name, or with a value of this form, such as off: or scale:4. Returns
 * false if there is none. */
bool rt_arguments_print_option(FILE *to, const char *name);

/* Prints each option and, behind a tab, its values for the completion of a shell: words, @file,
 * @folder, and ... if more operands of this kind follow. */
void rt_arguments_print_words(FILE *to);

/* Tries the names of all options. */
void rt_arguments_try_options(rt_nearest *nearest);

/* Prints the synopsis, the options and the exit codes, for --help. */
void rt_arguments_print_usage(FILE *to);

#endif
