#ifndef ROTOR_TRAIN_CONFIG_CONFIG_H
#define ROTOR_TRAIN_CONFIG_CONFIG_H

/* The configuration of a run: the options of every layer, read from an INI file and
 * the command line. What can be configured is one table, in keys.c; reading,
 * checking, printing and the reference all follow from it.
 *
 * The texts that are returned belong to the caller (rt_free); they are NULL when the
 * heap is exhausted.
 */

#include "core/lists.h"
#include "core/status.h"
#include "data/data.h"
#include "models/options.h"
#include "ops/engine.h"
#include "optim/options.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RT_RUN_NAME_SIZE = 128,
    RT_MAX_KEYS = 128,
    RT_FROM_DEFAULT = 0,
    RT_FROM_COMMAND_LINE = -1,
    RT_FROM_SWEEP = -2,
    RT_FROM_MODEL = -3 /* that of train.init_from; any other origin is a line of the file */
};

/* The best that the processor has, or those that every processor with AVX2 has: the same bits on
 * all of them. */
#define RT_KERNELS(X) X(RT_KERNELS_NATIVE, "native") X(RT_KERNELS_PORTABLE, "portable")
typedef enum rt_kernels { RT_KERNELS(RT_CHOICE_VALUE) } rt_kernels;

typedef struct rt_run_options {
    char name[RT_RUN_NAME_SIZE];
    char dir[RT_PATH_SIZE];
    uint64_t seed;
    int threads; /* 0 = all available */
    int log_every;
    bool tensorboard;
    rt_engine engine; /* of matrix products */
    rt_math math;
    rt_kernels kernels;
} rt_run_options;

/* What backward computes again and a step therefore does not keep. */
#define RT_RECOMPUTES(X) X(RT_RECOMPUTE_NONE, "none") X(RT_RECOMPUTE_LAYERS, "layers")
typedef enum rt_recompute { RT_RECOMPUTES(RT_CHOICE_VALUE) } rt_recompute;

/* Bytes for a list of parts of a model, with its final zero. */
enum { RT_FREEZE_SIZE = 1000 };

typedef struct rt_train_options {
    int steps;
    int batch_size; /* sequences an optimiser step */
    int shards;     /* a power of two, or 0 = automatic */
    rt_recompute recompute;
    int eval_every;
    int eval_batches;
    int checkpoint_every;
    int keep;
    rt_lengths eval_lengths;
    double target_accuracy;       /* 0 = none */
    int patience;                 /* evaluations in a row; 0 = none */
    double min_delta;             /* of the loss, to be an improvement */
    char init_from[RT_PATH_SIZE]; /* a checkpoint; "" = none */
    char trunk[RT_PATH_SIZE];     /* likewise, whose training is continued */
    char freeze[RT_FREEZE_SIZE];  /* parts of the model, see train/config/freeze.h */
} rt_train_options;

/* What must hold of a learned theta at the end: nothing, that it is unmoved (near base^(-2i/R)), or
 * that it is unneeded (the model does not depend on it). */
#define RT_THETA_CHECKS(X)                                                                         \
    X(RT_THETA_CHECK_NONE, "no")                                                                   \
    X(RT_THETA_CHECK_UNMOVED, "unmoved") X(RT_THETA_CHECK_UNNEEDED, "unneeded")
typedef enum rt_theta_check { RT_THETA_CHECKS(RT_CHOICE_VALUE) } rt_theta_check;

typedef struct rt_theta_run_options {
    double tolerance; /* the largest relative drift that is near */
    rt_theta_check check;
    bool tolerances;              /* measure how far each theta can go */
    bool log;                     /* rows of theta.csv every run.log_every steps */
    bool cutoffs;                 /* measure the loss without the pairs from each on */
    char init_from[RT_PATH_SIZE]; /* a CSV with the theta to start from; "" = none */
} rt_theta_run_options;

/* What holds: without the zeros of a file that stand for what follows from other keys, such as
 * position.original_len = 0 for data.length; see resolve.h. */
typedef struct rt_config {
    rt_run_options run;
    rt_transformer_options model; /* vocab stays 0: the data tells it */
    rt_data_options data;         /* paths are absolute */
    rt_optimizer_options optimizer;
    rt_train_options train;
    rt_theta_run_options theta;
    char file[RT_PATH_SIZE]; /* what it was read from */
    int origin[RT_MAX_KEYS]; /* of each key of the table */
    bool idle[RT_MAX_KEYS];  /* keys that are set, not at their default, and have no effect */
} rt_config;

/* The model that train.init_from names, or the run that took over from it: its configuration. */
typedef struct rt_ancestor {
    const rt_config *config; /* NULL: it has none */
    const char *name;        /* for messages */
    bool own;      /* of the run itself, from which everything that is not written comes */
    bool imported; /* of a folder of Hugging Face */
    bool wordless; /* such a folder without a vocabulary: ids alone have a meaning */
} rt_ancestor;

/* Finds it for a configuration whose paths are absolute; what is found belongs to the finder. */
typedef rt_status rt_ancestor_finder(void *context, const rt_config *config, rt_ancestor *found);

typedef struct rt_config_source {
    const char *path;  /* of the file; with a text: its name in messages */
    const char *text;  /* the content of a file, or NULL to read it */
    bool trained;      /* of a run that was trained: its keys without effect stay so */
    bool without_data; /* of a trained model alone: data.file may be missing */
    bool at_use;       /* overrides change how a trained model is used, not what it is: those of
                          rt_key_at_use are set when all the rest is resolved */
    bool whole;        /* at_use, and the text says what the model is: an override cannot */
    bool regular; /* the path is in a folder that somebody named: no pipe and no device there */
    const char *const *overrides; /* "section.key=value" of the command line, or NULL */
    int override_count;
    rt_ancestor_finder *find_ancestor; /* NULL: nothing is inherited */
    void *finder;                      /* its context */
    bool each_alone;        /* keys are checked each for itself, and nothing is inherited */
    const char *settings;   /* "section.key=value" lines of one run of a sweep, or NULL */
    struct rt_sweep *sweep; /* receives [sweep] and the variants; NULL: they are passed over */
} rt_config_source;

/* Reads and checks a configuration. On RT_CONFIG, *errors lists everything that is
 * wrong, a line each, and the message is the first of them. Otherwise *errors is NULL.
 *
 * If there is a sweep to receive, the keys are only checked each for itself: what they make
 * together is known for its runs alone, each loaded with its settings.
 *
 * A config.ini beside a folder `checkpoints` is that of the run there: what it says of run.dir and
 * run.name does not count (see own_place.h).
 *
 * With a finder, what train.init_from names decides what is not written of the model
 * (train/config/inherit.h). An error of the finder is that of the call, unless every key of the
 * model is written.
 *
 * A path in data.file, data.vocab_file, train.init_from or train.trunk is relative to the folder of
 * the file that names it, on the command line to the working directory. */
rt_status rt_config_load(rt_config *config, const rt_config_source *source,
                         char **errors) RT_MUST_CHECK;

/* The configuration in the folder of a run, FOLDER/config.ini, which may be a stranger's. The
 * message is the first of what is wrong. */
rt_status rt_config_load_folder(rt_config *config, const char *folder) RT_MUST_CHECK;

/* The default of every key, as it follows from the other keys of the configuration. */
void rt_config_implied(rt_config *implied, const rt_config *config);

/* The longest sequences that the run uses, in training or in evaluation. */
int rt_config_longest(const rt_config *config);

/* The configuration as an INI file: every key that has an effect. Loading it gives the same text
 * again. */
char *rt_config_ini(const rt_config *config);

/* Every key that is not at its default: where its value came from, its name and the value, in
 * columns. */
char *rt_config_origins(const rt_config *config);

/* "section.key = value" for each key that the command line set. */
char *rt_config_overrides(const rt_config *config);

/* Whether a run that has taken so many steps, all of its own, is to take more. */
bool rt_config_extends(const rt_config *run, int step, const rt_config *now);

/* How a configuration continues a run: a run that is extended may have another schedule of the
 * learning rate, a branch another theta as well. */
typedef enum rt_continuation { RT_RESUMED, RT_EXTENDED, RT_BRANCHED } rt_continuation;

/* Every key that keeps the run from being continued under another configuration, a line each
 * with both values; "" if there is none. */
char *rt_config_differences(const rt_config *run, const rt_config *now, rt_continuation how);

/* RT_CONFIG, with those keys, if there are any; `folder` is that of the run. */
rt_status rt_config_compare(const rt_config *run, int step, const rt_config *now,
                            const char *folder) RT_MUST_CHECK;

/* The keys that an extended run has otherwise: "train.steps 100 -> 200, ...". */
char *rt_config_extension(const rt_config *run, const rt_config *now);

/* Resolves data.begin = auto and data.end = auto to those of a model. */
void rt_config_frame_as(rt_config *config, const rt_data_options *model);

/* Takes over what the run settled at its start: the schedule's horizon, unless `config` sets it,
 * and what a sequence begins with. */
void rt_config_continue(rt_config *config, const rt_config *run);

/* All keys with their defaults: lines for --help, a Markdown table for the manual. */
char *rt_config_help(void);
char *rt_config_reference(void);

#endif
