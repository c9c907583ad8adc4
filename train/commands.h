#ifndef ROTOR_TRAIN_COMMANDS_H
#define ROTOR_TRAIN_COMMANDS_H

/* Commands that use no trained model, --decay and --report. */

#include "train/config/config.h"
#include "train/run/run.h"

#include <stdio.h>

/* Prints, for --decay, as CSV how much theta can prefer near keys, by distance (rt_decay), with the
 * decay of xPos if position.xpos is set. Columns are r; C, of the configuration's initial theta;
 * C_sliding, of sliding layers with another base; and, with --checkpoint or --best, C_layer_0,
 * C_layer_0_head_1 or C_all for each learned theta. Rows are 0 to 256, or to the longest sequence.
 * `found` may have an open checkpoint, which is closed. Returns RT_CONFIG if nothing rotates. */
rt_status rt_decay_command(FILE *to, const rt_config *config, rt_found *found) RT_MUST_CHECK;

/* Writes, for --encode CONFIG.ini OUT, the tokens of data.file as a file of ids
 * (data/data.h). */
rt_status rt_encode_command(const rt_config *config, const rt_arguments *arguments) RT_MUST_CHECK;

/* Prints, for --train-tokenizer N TEXT ..., a byte-level BPE of texts as a tokenizer.json or, with
 * --level wordpiece, a vocab.txt (data/tokenizers/train.h). Shows progress of a BPE on stderr: on a
 * terminal as a line updated in place, elsewhere as a line per minute. Returns RT_DATA for a text
 * that cannot be read, is empty or is not UTF-8; RT_CONFIG if N is too small for a vocab.txt. */
rt_status rt_tokenizer_command(FILE *to, const rt_arguments *arguments) RT_MUST_CHECK;

/* Writes, for --init NAME FILE.ini, a short commented configuration to start from. Returns
 * RT_CONFIG for an unknown name, or if the file exists and --overwrite is not given; RT_IO if it
 * cannot be written. */
rt_status rt_init_command(const rt_arguments *arguments) RT_MUST_CHECK;

/* Draws, for --report and --watch, the report of a run, of a sweep with its runs, or of several. */
rt_exit rt_report_command(const rt_arguments *arguments);

#endif
