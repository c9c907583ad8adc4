#ifndef ROTOR_TRAIN_RUN_FOUND_H
#define ROTOR_TRAIN_RUN_FOUND_H

/* The checkpoint that a command other than training is about, and its configuration. */

#include "io/checkpoint/checkpoint.h"
#include "io/huggingface/imported.h"
#include "train/config/config.h"
#include "train/run/arguments.h"

/* One of the two is there: the image of a checkpoint, or a folder of Hugging Face. */
typedef struct rt_found {
    rt_image *image;
    rt_imported *imported;
    int64_t step;
    char path[RT_PATH_SIZE];
    char warnings[RT_MESSAGE_SIZE]; /* a line for each newer checkpoint that is passed over */
} rt_found;

void rt_found_close(rt_found *found);

/* Opens what --checkpoint names: a file, the folder of a run, its folder of checkpoints, or a
 * folder of Hugging Face. Without it, the run of the configuration. Of a folder the newest that can
 * be used, or with
 * --best that of the best evaluation. RT_CHECKPOINT if there is none. To be closed in any
 * case. */
rt_status rt_find_checkpoint(rt_found *found, const rt_arguments *arguments,
                             const rt_config *config) RT_MUST_CHECK;

/* The configuration of that checkpoint, with what the command line sets in its place; how the
 * model was trained, the optimizer section, stays the checkpoint's. RT_CHECKPOINT if its own
 * cannot be read; RT_CONFIG with *errors as for rt_config_load if the command line does not go
 * with it. What was found stays open. */
rt_status rt_found_configuration(rt_config *config, const rt_found *found,
                                 const rt_arguments *arguments, char **errors) RT_MUST_CHECK;

/* How the model of that checkpoint was trained, alone: the optimizer section, and data.begin if the
 * configuration leaves it to the model. */
rt_status rt_found_training(rt_config *config, const rt_found *found) RT_MUST_CHECK;

#endif
