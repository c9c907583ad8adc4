#ifndef ROTOR_TRAIN_DECAY_H
#define ROTOR_TRAIN_DECAY_H

/* --decay: how much the configured theta can prefer near keys, by distance (rt_decay), as a
 * table in CSV. */

#include "io/checkpoint/image.h"
#include "train/config/config.h"

#include <stdio.h>

/* With position.xpos the decay of xPos is in the numbers. Columns r and C, of the theta that the
 * configuration starts from, and C_sliding, of the sliding layers, where these start from another;
 * with a checkpoint one more for every theta that it has learned, C_layer_0, C_layer_0_head_1, or
 * C_all. Rows from 0 to 256, or as far as the longest sequence. RT_CONFIG if nothing is rotated.
 * Closes the checkpoint, which may be NULL. */
rt_status rt_decay_print(FILE *to, const rt_config *config, rt_image *checkpoint) RT_MUST_CHECK;

#endif
