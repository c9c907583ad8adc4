#ifndef ROTOR_TRAIN_RUN_RUN_H
#define ROTOR_TRAIN_RUN_RUN_H

/* A run from the first step to the last line on stdout, and the uses of a trained model. Messages
 * go to stderr. An rt_exit is the exit code of the process. */

#include "io/checkpoint/checkpoint.h"
#include "io/huggingface/huggingface.h"
#include "train/config/sweep.h"
#include "train/folder/results.h"
#include "train/run/arguments.h"
#include "train/step/memory.h"
#include "train/world/world.h"

/* Choice among the checkpoints of a folder. */
typedef enum rt_which_checkpoint {
    RT_CHECKPOINT_OF_RUN, /* best evaluation if the run had train.patience, else the newest */
    RT_CHECKPOINT_LAST,   /* newest */
    RT_CHECKPOINT_TRUNK,  /* newest, including optimizer states */
    RT_CHECKPOINT_BEST    /* best evaluation */
} rt_which_checkpoint;

/* An open model: a checkpoint, or a folder of Hugging Face. */
typedef struct rt_found {
    rt_checkpoint checkpoint; /* its image is closed once its numbers were read */
    rt_huggingface *imported;
    char path[RT_PATH_SIZE];
    int64_t newest; /* step of the newest checkpoint, if the best one is used instead; or 0 */
    char warnings[RT_MESSAGE_SIZE]; /* a line for each newer checkpoint that was skipped */
} rt_found;

void rt_found_close(rt_found *found);

/* Opens the checkpoint at `named`: a file, the folder of a run, its folder of checkpoints, or a
 * folder of Hugging Face. If `named` is NULL, opens the checkpoint of the configuration's run.
 * Returns RT_CHECKPOINT if there is none. The caller closes `found`, also after an error. */
rt_status rt_find_checkpoint(rt_found *found, const char *named, rt_which_checkpoint which,
                             const rt_config *config) RT_MUST_CHECK;

/* Copies the optimizer section of a trained model, and its values for data.begin and end = auto. */
void rt_found_train_as(rt_config *config, const rt_config *own);

/* Loads the configuration of a checkpoint with the overrides of the command line, unless
 * `arguments` is NULL; the optimizer section stays the checkpoint's. Returns RT_CHECKPOINT if its
 * configuration cannot be read; RT_CONFIG, with *errors as in rt_config_load, if the overrides do
 * not fit. `errors` may be NULL. The checkpoint stays open. */
rt_status rt_found_configuration(rt_config *config, const rt_found *found,
                                 const rt_arguments *arguments, char **errors) RT_MUST_CHECK;

/* Cache of the newest model of train.init_from, since the runs of a sweep mostly start from one
 * model. A run that is resumed or used does not read the model: its own config.ini has the values
 * of the model, whose folder may be gone. */
typedef struct rt_init_model_cache {
    const rt_arguments *arguments;
    rt_config *last; /* configuration of the newest model, owned; NULL: none was found */
    rt_init_model found;
    bool received; /* received from process 0, the only one that searches */
} rt_init_model_cache;

/* Finds the model of train.init_from, as rt_config_source.find_ancestor with an
 * rt_init_model_cache. */
rt_ancestor_finder rt_ancestry_find;

/* Broadcasts the result of process 0. Every process of a world calls it once. */
rt_status rt_ancestry_broadcast(rt_init_model_cache *a, rt_world *world) RT_MUST_CHECK;

/* Checks what rt_run_train checks before the first step: data, memory, and the checkpoint that the
 * run starts from or resumes. Creates nothing. Checks for an existing run folder only if the
 * command is training. Returns the memory that the run needs in *need, unless `need` is NULL. */
rt_status rt_run_check(const rt_config *config, const rt_arguments *arguments,
                       rt_memory_need *need) RT_MUST_CHECK;

rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments);

/* Uses a trained model: --eval, --usage, --distances, --predict, --embed, --export. With a
 * CONFIG.ini, the checkpoint is used with its own configuration and the overrides of the command
 * line; without one, `config` is its configuration. Takes ownership of the contents of `found`. */
rt_exit rt_run_use(const rt_config *config, rt_found *found, const rt_arguments *arguments);

/* Compares what must be the same in all processes of a world before they begin: program,
 * configuration, sweep, kernels, data. Returns the first difference in every process: RT_CONFIG, or
 * RT_DATA for data files. */
rt_status rt_compare_hosts(const rt_config *config, const rt_sweep *sweep,
                           const rt_arguments *arguments) RT_MUST_CHECK;

/* Checks whether a configuration can continue, as a branch, a run that has taken `step` steps.
 * Returns RT_CONFIG with the keys that a branch cannot change. */
rt_status rt_branch_check(const rt_config *trunk, const rt_config *branch,
                          int64_t step) RT_MUST_CHECK;

#endif
