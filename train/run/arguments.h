#ifndef ROTOR_TRAIN_RUN_ARGUMENTS_H
#define ROTOR_TRAIN_RUN_ARGUMENTS_H

/* The command line: train [options] CONFIG.ini [section.key=value ...]. */

#include "core/status.h"
#include "models/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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
    RT_COMMAND_ENCODE,
    RT_COMMAND_TOKENIZER,
    RT_COMMAND_INIT,
    RT_COMMAND_HELP,
    RT_COMMAND_VERSION
} rt_command;

enum { RT_MOST_OVERRIDES = 128, RT_MOST_OTHERS = 127 };

typedef struct rt_arguments {
    int argc; /* all of it, as it was written */
    char **argv;
    const char *revision; /* of the program's sources; "" if unknown */
    rt_command command;
    const char *config; /* path of the INI file; NULL: that of the checkpoint, or none is needed */
    const char *overrides[RT_MOST_OVERRIDES];
    int override_count;
    const char *checkpoint; /* of --checkpoint: a file or a folder; or NULL */
    const char *report;     /* the folder of --report, or NULL */
    const char
        *others[RT_MOST_OTHERS]; /* the folders that it is compared with; texts of a tokenizer */
    int other_count;
    int tokenizer;       /* number of tokens of --train-tokenizer; 0: not given */
    int wordpiece;       /* of --level: 1 for wordpiece */
    bool mask;           /* the tokenizer has [MASK] */
    bool lowercase;      /* its texts are read in lower case */
    const char *init;    /* the name of a template (train/templates/), or NULL */
    const char *encode;  /* the file that --encode writes, or NULL */
    const char *watch;   /* the folder of --watch, whose report is drawn until the run ends */
    const char *output;  /* the file of a comparison or of vectors, or NULL */
    const char *embed;   /* the file of --embed, "-" for standard input, or NULL */
    rt_pooling pooling;  /* of --embed */
    int layer;           /* of --embed; below 0: not given */
    const char *predict; /* the text of --predict, or NULL */
    const char *export;  /* the folder or file of --export, or NULL */
    int dtype;           /* an rt_gguf_dtype; below 0: not given */
    const char *theta;   /* of --theta (rt_run_change_theta), or NULL */
    double temperature;  /* below 0: not given */
    double top_p;        /* 0: not given */
    int top_k;           /* 0: not given */
    const char *stop;    /* of --stop, or NULL */
    int64_t seed;        /* below 0: not given */
    int tokens;          /* that --predict adds; 0: not given */
    bool jsonl;          /* answers as objects of JSON */
    bool special;        /* special tokens in the texts of --predict and --eval are tokens */
    bool per_line;       /* --eval tells of each line */
    bool best;           /* of a folder the checkpoint of the best evaluation */
    bool last;           /* use the newest checkpoint of a run that had train.patience, too */
    bool resume;
    bool overwrite;
    bool trap;
    bool profile;
    bool quiet;
    bool no_color;
    char threads[64];             /* --threads as an override */
    struct rt_world *world;       /* the processes that train; NULL: this one alone */
    struct rt_helper *helper;     /* of a process of a world */
    struct rt_ancestry *ancestry; /* finds the models that runs start from */
} rt_arguments;

/* Parses a command line. The result points into argv and into itself. Returns RT_CONFIG with the
 * reason if the command line is malformed or its options do not go together. */
rt_status rt_arguments_parse(rt_arguments *a, int argc, char **argv) RT_MUST_CHECK;

/* Returns the option of a command without its dashes: "eval". */
const char *rt_command_name(rt_command command);

/* Returns whether the command evaluates a model on the evaluation data. */
bool rt_arguments_evaluate(const rt_arguments *a);

/* Returns whether the command uses a trained model. */
bool rt_arguments_use_model(const rt_arguments *a);

/* Prints the synopsis, the options and the exit codes, for --help. */
void rt_arguments_print_usage(FILE *to);

#endif
