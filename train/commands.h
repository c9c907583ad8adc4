#ifndef ROTOR_TRAIN_COMMANDS_H
#define ROTOR_TRAIN_COMMANDS_H

/* Commands without a trained model, --decay and --report. */

#include "train/config/config.h"
#include "train/run/run.h"

#include <stdio.h>

/* --decay: prints as CSV how much the theta can prefer near keys, by distance (rt_decay), with the
 * decay of xPos if position.xpos is set. Columns r and C, of the initial theta of the
 * configuration, and C_sliding, of sliding layers that start from another base; with --checkpoint
 * or --best one more for every learned theta, C_layer_0, C_layer_0_head_1, or C_all. Rows from 0 to
 * 256, or to the longest sequence. `found` has the checkpoint if it is open; it is closed. Returns
 * RT_CONFIG if nothing is rotated. */
rt_status rt_decay_command(FILE *to, const rt_config *config, rt_found *found) RT_MUST_CHECK;

/* --encode CONFIG.ini OUT: writes the tokens of data.file as a file of ids (data/encode_text.h). */
rt_status rt_encode_command(const rt_config *config, const rt_arguments *arguments) RT_MUST_CHECK;

/* --train-tokenizer N TEXT ...: prints a byte-level BPE of texts as a tokenizer.json, or with
 * --level wordpiece a vocab.txt (data/tokenizers/train.h). Prints progress on stderr: on a terminal
 * one line that is updated in place, elsewhere a plain line a minute. Returns RT_DATA for a text
 * that cannot be read, is empty or is not UTF-8; RT_CONFIG if N is too small for a vocab.txt. */
rt_status rt_tokenizer_command(FILE *to, const rt_arguments *arguments) RT_MUST_CHECK;

/* --init NAME FILE.ini: writes a short commented configuration to start from. Returns RT_CONFIG if
 * there is none of that name, or if the file exists and --overwrite is not given; RT_IO if it
 * cannot be written. */
rt_status rt_init_command(const rt_arguments *arguments) RT_MUST_CHECK;

/* --report, --watch: draws the report of a run; of a sweep, with those of its runs. */
rt_exit rt_report_command(const rt_arguments *arguments);

#endif
