#ifndef ROTOR_TRAIN_CONFIG_FREEZE_H
#define ROTOR_TRAIN_CONFIG_FREEZE_H

/* train.freeze: parts of the model whose parameters a training leaves as they are, with commas
 * between.
 *
 *     embeddings   of words, positions and token types, with their norm and projection
 *     layers.N     one layer, from 0, with what belongs to it of theta and positions
 *     head         what makes logits of the hidden states; words that it shares are embeddings
 *     theta        every learned theta
 */

#include "core/parameters.h"

#include <stdbool.h>

/* RT_CONFIG names a part that a model of so many layers does not have. */
rt_status rt_freeze_check(const char *parts, int layers) RT_MUST_CHECK;

/* Whether a parameter is of one of the parts. */
bool rt_freezes(const char *parts, const rt_parameter *parameter);

#endif
