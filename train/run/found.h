#ifndef ROTOR_TRAIN_RUN_FOUND_H
#define ROTOR_TRAIN_RUN_FOUND_H

/* The checkpoint that a command other than training is about, and its configuration. */

#include "train/checkpoint/checkpoint.h"
#include "train/config/config.h"
#include "train/run/arguments.h"

/* Opens what --checkpoint names: a file, the folder of a run, or its folder of checkpoints.
 * Without it, the run of the configuration. Of a folder the newest that can be used, or with
 * --best that of the best evaluation. RT_CHECKPOINT if there is none; found->warnings as for
 * rt_checkpoint_newest. The caller closes found->image. */
rt_status rt_find_checkpoint(rt_checkpoint_found *found, const rt_arguments *arguments,
                             const rt_config *config) RT_MUST_CHECK;

/* The configuration of that checkpoint, with what the command line sets in its place; how the
 * model was trained, the optimizer section, stays the checkpoint's. RT_CHECKPOINT if its own
 * cannot be read; RT_CONFIG with *errors as for rt_config_load if the command line does not go
 * with it. found->image stays open. */
rt_status rt_found_configuration(rt_config *config, const rt_checkpoint_found *found,
                                 const rt_arguments *arguments, char **errors) RT_MUST_CHECK;

/* How the model of that checkpoint was trained, alone. */
rt_status rt_found_training(rt_optimizer_options *optimizer,
                            const rt_checkpoint_found *found) RT_MUST_CHECK;

#endif
