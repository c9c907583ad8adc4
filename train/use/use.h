#ifndef ROTOR_TRAIN_USE_USE_H
#define ROTOR_TRAIN_USE_USE_H

/* Commands that use a trained model, or what a run has left in its folder. Messages go to stderr.
 */

#include "train/folder/results.h"
#include "train/run/arguments.h"
#include "train/run/trained_model.h"

/* Uses a trained model: --eval, --usage, --distances, --predict, --embed, --export. With a
 * CONFIG.ini, the checkpoint is used with its own configuration and the overrides of the command
 * line; without one, `config` is its configuration. Takes ownership of the contents of `found`. */
rt_exit rt_use_model(const rt_config *config, rt_trained_model *found,
                     const rt_arguments *arguments);

/* Prints, for --decay, as CSV how much theta can prefer near keys, by distance (rt_decay), with the
 * decay of xPos if position.xpos is set. Columns are r; C, of the configuration's initial theta;
 * C_sliding, of sliding layers with another base; and, with --checkpoint or --best, C_layer_0,
 * C_layer_0_head_1 or C_all for each learned theta. Rows are 0 to 256, or to the longest sequence.
 * `found` may have an open checkpoint, which is closed. Returns RT_CONFIG if nothing rotates. */
rt_status rt_print_decay(const rt_config *config, rt_trained_model *found) RT_MUST_CHECK;

/* Draws, for --report and --watch, the report of a run, of a sweep with its runs, or of several. */
rt_exit rt_report_command(const rt_arguments *arguments);

#endif
