#ifndef ROTOR_TRAIN_RUN_TRAINED_MODEL_H
#define ROTOR_TRAIN_RUN_TRAINED_MODEL_H

/* Models that were trained before: checkpoints and folders of Hugging Face, opened to use them or
 * to start from them. */

#include "io/checkpoint/checkpoint.h"
#include "io/import.h"
#include "train/config/config.h"
#include "train/run/arguments.h"
#include "train/world/world.h"

/* Choice among the checkpoints of a folder. */
typedef enum rt_which_checkpoint {
    RT_CHECKPOINT_OF_RUN, /* best evaluation if the run had train.patience, else the newest */
    RT_CHECKPOINT_LAST,   /* newest */
    RT_CHECKPOINT_TRUNK,  /* newest, including optimizer states */
    RT_CHECKPOINT_BEST    /* best evaluation */
} rt_which_checkpoint;

/* An open model: a checkpoint, or a folder of Hugging Face. */
typedef struct rt_trained_model {
    rt_checkpoint checkpoint; /* its image is closed once its numbers were read */
    rt_huggingface *imported;
    char path[RT_PATH_SIZE];
    int64_t newest; /* step of the newest checkpoint, if the best one is used instead; or 0 */
    char warnings[RT_MESSAGE_SIZE]; /* a line for each newer checkpoint that was skipped */
} rt_trained_model;

void rt_trained_model_close(rt_trained_model *found);

/* Opens the checkpoint at `named`: a file, the folder of a run, its folder of checkpoints, or a
 * folder of Hugging Face. If `named` is NULL, opens the checkpoint of the configuration's run.
 * Returns RT_CHECKPOINT if there is none. The caller closes `found`, also after an error. */
rt_status rt_trained_model_find(rt_trained_model *found, const char *named,
                                rt_which_checkpoint which, const rt_config *config) RT_MUST_CHECK;

/* Copies the optimizer section of a trained model, and its values for data.begin and end = auto. */
void rt_config_train_as(rt_config *config, const rt_config *own);

/* Loads the configuration of a checkpoint with the overrides of the command line, unless
 * `arguments` is NULL; the optimizer section stays the checkpoint's. Returns RT_CHECKPOINT if its
 * configuration cannot be read; RT_CONFIG, with *errors as in rt_config_load, if the overrides do
 * not fit. `errors` may be NULL. The checkpoint stays open. */
rt_status rt_trained_model_configuration(rt_config *config, const rt_trained_model *found,
                                         const rt_arguments *arguments,
                                         char **errors) RT_MUST_CHECK;

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
rt_ancestor_finder rt_init_model_search;

/* Broadcasts the result of process 0. Every process of a world calls it once. */
rt_status rt_init_model_broadcast(rt_init_model_cache *a, rt_world *world) RT_MUST_CHECK;

#endif
