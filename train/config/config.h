#ifndef ROTOR_TRAIN_CONFIG_CONFIG_H
#define ROTOR_TRAIN_CONFIG_CONFIG_H

/* The configuration of a run: the options of all modules, read from an INI file and the command
 * line. All keys are rows of one table (keys.c), from which reading, checking, printing and the
 * reference follow.
 *
 * The caller frees returned texts (rt_free); they are NULL when the heap is exhausted. */

#include "core/choice.h"
#include "core/parameters.h"
#include "core/status.h"
#include "data/data.h"
#include "models/options.h"
#include "ops/engine.h"
#include "optim/options.h"
#include "util/suggest.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RT_RUN_NAME_SIZE = 128,
    RT_MAX_KEYS = 152,
    RT_FROM_DEFAULT = 0,
    RT_FROM_COMMAND_LINE = -1,
    RT_FROM_SWEEP = -2,
    RT_FROM_MODEL = -3, /* inherited from the model of train.init_from */
    RT_FROM_OWN = -4 /* of the checkpoint or folder in use; other origins are lines of the file */
};

/* Kernels of matrix products: native are the fastest of the processor; portable ones run on every
 * processor with AVX2 and give bitwise identical results on all of them. */
#define RT_KERNELS(X) X(RT_KERNELS_NATIVE, "native") X(RT_KERNELS_PORTABLE, "portable")
typedef enum rt_kernels { RT_KERNELS(RT_CHOICE_VALUE) } rt_kernels;

/* Library for matrix products; auto is the faster one (train/run/kernels.h). */
#define RT_LIBRARIES(X)                                                                            \
    X(RT_LIBRARY_AUTO, "auto") X(RT_LIBRARY_OPENBLAS, "openblas") X(RT_LIBRARY_ONEDNN, "onednn")
typedef enum rt_library { RT_LIBRARIES(RT_CHOICE_VALUE) } rt_library;

typedef struct rt_run_options {
    const char *name; /* texts are shared copies (core/memory.h), NULL if empty */
    const char *dir;
    uint64_t seed;
    int threads; /* 0 = all available */
    int log_every;
    bool tensorboard;
    rt_library engine;
    rt_math math;
    rt_kernels kernels;
} rt_run_options;

/* Activations that backward computes again instead of keeping them. */
#define RT_RECOMPUTES(X) X(RT_RECOMPUTE_NONE, "none") X(RT_RECOMPUTE_LAYERS, "layers")
typedef enum rt_recompute { RT_RECOMPUTES(RT_CHOICE_VALUE) } rt_recompute;

/* Size of train.freeze, including the terminating zero. */
enum { RT_FREEZE_SIZE = 1000 };

typedef struct rt_train_options {
    int steps;
    int batch_size; /* sequences per optimizer step */
    int shards;     /* a power of two, or 0 = automatic */
    rt_recompute recompute;
    int eval_every;
    int eval_batches;
    int checkpoint_every;
    int keep;
    rt_lengths eval_lengths;
    rt_lengths eval_sizes;  /* of images, in pixels: give eval_lengths */
    double target_accuracy; /* 0 = none */
    int patience;           /* evaluations in a row without improvement; 0 = none */
    double min_delta;       /* smallest improvement of the loss that counts */
    const char *init_from;  /* checkpoint or folder of a model */
    const char *trunk;      /* checkpoint whose training is continued */
    const char *freeze;     /* parts that are not trained, see rt_freezes */
} rt_train_options;

/* Requirement on a learned theta at the end: none, unmoved (near base^(-2i/R)), or unneeded (the
 * model does not depend on it). */
#define RT_THETA_CHECKS(X)                                                                         \
    X(RT_THETA_CHECK_NONE, "no")                                                                   \
    X(RT_THETA_CHECK_UNMOVED, "unmoved") X(RT_THETA_CHECK_UNNEEDED, "unneeded")
typedef enum rt_theta_check { RT_THETA_CHECKS(RT_CHOICE_VALUE) } rt_theta_check;

typedef struct rt_theta_run_options {
    double tolerance; /* largest relative change that counts as near */
    rt_theta_check check;
    bool tolerances;       /* the tolerance of each theta is measured */
    bool log;              /* theta.csv has rows every run.log_every steps */
    bool cutoffs;          /* the loss without the pairs from each index on is measured */
    const char *init_from; /* CSV file with the initial theta */
} rt_theta_run_options;

/* The effective configuration. Zeros that stand for the value of another key, such as
 * position.original_len = 0 for data.length, are replaced. */
typedef struct rt_config {
    rt_run_options run;
    rt_transformer_options model; /* vocab stays 0 until the data is open */
    rt_data_options data;         /* paths are absolute */
    rt_optimizer_options optimizer;
    rt_train_options train;
    rt_theta_run_options theta;
    const char *file;        /* path of the configuration file */
    int origin[RT_MAX_KEYS]; /* origin of each key: RT_FROM_... or a line of the file */
    bool idle[RT_MAX_KEYS];  /* keys that are set, differ from their default and have no effect */
} rt_config;

/* The model of train.init_from, whose keys are inherited, or the existing run that began there. */
typedef struct rt_init_model {
    const rt_config *config; /* NULL: there is no ancestor */
    const char *name;        /* for messages */
    bool own;                /* the existing run itself: its values need not fit written keys */
    bool imported;           /* a Hugging Face folder */
    bool without_vocabulary; /* a Hugging Face folder without a vocabulary */
} rt_init_model;

/* Finds the ancestor of a configuration whose paths are absolute. *found is owned by the finder. */
typedef rt_status rt_ancestor_finder(void *context, const rt_config *config, rt_init_model *found);

/* Errors of a configuration, see private.h. */
typedef struct rt_config_errors rt_config_errors;

/* Source of a configuration. */
typedef struct rt_config_source {
    const char *path;             /* path of the file; with `text`: name in messages */
    const char *text;             /* content of the file; NULL: the file is read */
    const char *const *overrides; /* "section.key=value" of the command line; or NULL */
    int override_count;
    const char *settings;   /* "section.key=value" lines of one run of a sweep; or NULL */
    bool to_use;            /* a trained model is used: overrides of rt_key_at_use apply last */
    struct rt_sweep *sweep; /* receives [sweep] and the variants; NULL: both are skipped */
    rt_ancestor_finder *find_ancestor; /* NULL: nothing is inherited */
    void *finder;                      /* context of find_ancestor */
    /* Called when the source is read, before an ancestor is searched, with the values as written;
     * NULL if they have errors. An error ends the loading. NULL: not called. */
    rt_status (*begin)(void *beginner, const rt_config *written);
    void *beginner; /* context of begin */
} rt_config_source;

/* Reads, resolves and checks the configuration of a training. A key that is set without effect is
 * an error. On RT_CONFIG, *errors lists all errors, one per line, and the message is the first of
 * them; otherwise *errors is NULL. `errors` may be NULL.
 *
 * With a sweep, keys are only checked one by one. Each run of the sweep is checked when it is
 * loaded with its settings.
 *
 * A config.ini beside a folder `checkpoints` belongs to the run in its folder: run.dir and run.name
 * follow from the path of that folder, unless they are overridden.
 *
 * With a finder, keys of the model that are not set are inherited from the model of
 * train.init_from. An error of the finder is returned, unless every key of the model is set.
 *
 * A path in data.file, data.vocab_file, train.init_from or train.trunk is relative to the folder of
 * the file that contains it or, on the command line, to the working directory. */
rt_status rt_config_load(rt_config *config, const rt_config_source *source,
                         char **errors) RT_MUST_CHECK;

/* Loads the configuration with which a run was trained, from the text or, if that is NULL, from the
 * file, which is untrusted. Keys without effect are accepted. */
rt_status rt_config_load_run(rt_config *config, const char *path, const char *text,
                             char **errors) RT_MUST_CHECK;

/* Loads FOLDER/config.ini, the configuration of a run. */
rt_status rt_config_load_folder(rt_config *config, const char *folder) RT_MUST_CHECK;

/* Loads the configuration of a trained model, to use the model. Keys without effect are accepted,
 * and data.file may be missing. Overrides of keys of the model must repeat its values, unless the
 * model is imported from a Hugging Face folder. */
rt_status rt_config_load_model(rt_config *config, const rt_config_source *source, bool imported,
                               char **errors) RT_MUST_CHECK;

/* Computes the default of every key, which may follow from other keys of the configuration. */
void rt_config_implied(rt_config *implied, const rt_config *config);

/* Returns what results and messages call evaluation i of train.eval_lengths: its length or, of
 * images, its size in pixels; i < 0: the evaluation of the training. The word for it is "length" or
 * "size". */
int rt_config_extent(const rt_config *config, int i);
const char *rt_config_extent_word(const rt_config *config);

/* Returns the first step at which train.patience can end a run; 0 without patience. The first
 * evaluation always counts as an improvement. */
int64_t rt_patience_ends_from(const rt_train_options *o);

/* Sets the folder that a ~ at the start of a path stands for, alone or before a slash, in keys and
 * options: HOME of the environment. It is borrowed; one that is not an absolute path is none. */
void rt_path_set_home(const char *folder);

/* Returns this folder for such a path, NULL if there is none, and "" for any other path. */
const char *rt_path_home(const char *path);

/* Returns the length of the longest sequence, in tokens, in training or in evaluation. */
int rt_config_longest(const rt_config *config);

/* Writes every key that has an effect as an INI file, which loads as the same text again. */
char *rt_config_ini(const rt_config *config);

/* Writes every key that has an effect and differs from its default (rt_config_implied), in columns:
 * origin of the value, name, value. */
char *rt_config_origins(const rt_config *config);

/* Writes "section.key = value" for each key that the command line sets. */
char *rt_config_overrides(const rt_config *config);

/* Returns whether the configuration `now` adds steps to a run that has taken all of its own. */
bool rt_config_extends(const rt_config *run, int step, const rt_config *now);

/* Kind of continuation of a run. An extended run may change the schedule of the learning rate, a
 * branch also theta. */
typedef enum rt_continuation { RT_RESUMED, RT_EXTENDED, RT_BRANCHED } rt_continuation;

/* Writes every key that prevents the run from being continued under another configuration, one per
 * line with both values; "" if there is none. */
char *rt_config_differences(const rt_config *run, const rt_config *now, rt_continuation how);

/* Returns RT_CONFIG, with the lines of rt_config_differences, if there are any. `folder` is the
 * folder of the run. */
rt_status rt_config_compare(const rt_config *run, int step, const rt_config *now,
                            const char *folder) RT_MUST_CHECK;

/* Writes the keys that an extension of the run changes: "train.steps 100 -> 200, ...". */
char *rt_config_extension(const rt_config *run, const rt_config *now);

/* Replaces data.begin = auto and data.end = auto by the values of a model. */
void rt_config_frame_as(rt_config *config, const rt_data_options *model);

/* Copies the values that the run resolved at its start: the horizon of the schedule, unless
 * `config` sets it, data.begin and data.end. If the run has taken all its steps, `step`, at the end
 * of a schedule that falls to 0, the schedule is extended with the run, unless it is a run of a
 * sweep, or the command line or a file other than the config.ini of a run sets it. */
void rt_config_continue(rt_config *config, const rt_config *run, int step);

/* Returns the full name of the key that a word means, with or without section, in rotor or in
 * another program: "optimizer.lr" for "lr" and "learning-rate". NULL for an unknown word. Sets
 * *elsewhere if the name is of another program, whose values may have another unit. */
const char *rt_config_key_meant(const char *word, bool *elsewhere);

/* Writes the help on the keys of one section or of [sweep], on a setting of sweeps ("sweep.jobs",
 * "variant"), or on the keys of a name, with or without section, with their values and needs; ""
 * for any other word. NULL: all keys, with their defaults. Lines have at most 80 columns. The
 * caller frees the text; NULL if the heap is exhausted. */
char *rt_config_help(const char *part);

/* Writes each key and "sweep.KEY" with a "=" and, behind a tab, its values for the completion of a
 * shell: words, @file or @folder. The caller frees the text; NULL if the heap is exhausted. */
char *rt_config_words(void);

/* Tries the names that rt_config_help knows, and those of other programs. */
void rt_config_help_try(rt_nearest *nearest);

/* Settings of sweeps, which are not in the table of keys: name, default, values, meaning, short
 * name. */
enum { RT_SWEEP_SETTINGS = 4 };
extern const char *const rt_sweep_settings[RT_SWEEP_SETTINGS][5];

/* Writes a model of Hugging Face as an INI file: the sections model, position and theta, and the
 * keys of the data except its files. The caller frees the text; NULL if the heap is exhausted. */
char *rt_model_ini(const rt_transformer_options *model, const rt_data_options *data);

/* train.freeze is a comma-separated list of parts whose parameters a training leaves unchanged:
 *
 *     embeddings   of tokens, positions and token types, with their norm and projection
 *     layers.N     one layer, from 0, with its theta and positions
 *     head         the layers that compute logits from hidden states; tied weights are embeddings
 *     theta        every learned theta
 *     weights      everything else: theta alone is trained */

/* Returns RT_CONFIG, naming the part, if a model with so many layers lacks one of the parts. */
rt_status rt_freeze_check(const char *parts, int layers) RT_MUST_CHECK;

/* Returns whether the parameter belongs to one of the parts. */
bool rt_freezes(const char *parts, const rt_parameter *parameter);

/* Returns whether train.freeze has every parameter with a role: theta, or factors of heads. */
bool rt_config_freezes(const rt_config *c, rt_role role);

/* Returns whether a training moves a learned theta: not if train.freeze or a rate of 0 keeps all of
 * it. */
bool rt_config_trains_theta(const rt_config *c);

/* The schedules that a run had before it was extended, as CSV: until_step, lr, schedule,
 * min_lr_ratio, schedule_steps; one row for each schedule, in their order. */

/* Appends the schedule of `before`, which ends at `step`, unless `o` has the same. Returns
 * RT_CONFIG if the table is full. */
rt_status rt_past_schedules_add(rt_optimizer_options *o, const rt_optimizer_options *before,
                                int step) RT_MUST_CHECK;

/* Writes the table. With steps > 0 the current schedule is its last row, until that step. The
 * caller frees the text; NULL if the heap is exhausted. */
char *rt_past_schedules_write(const rt_optimizer_options *o, int steps);

/* Parses the table. Returns RT_CONFIG if it is malformed or a schedule ends after `step`. */
rt_status rt_past_schedules_read(rt_optimizer_options *o, const char *table,
                                 int64_t step) RT_MUST_CHECK;

#endif
