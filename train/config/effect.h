#ifndef ROTOR_TRAIN_CONFIG_EFFECT_H
#define ROTOR_TRAIN_CONFIG_EFFECT_H

/* Whether a key counts. The row of a key says what it needs:
 *
 *     theta.learn = yes
 *     position.scaling = yarn, longrope          one of these values
 *     optimizer.schedule != constant             none of these values
 *     train.patience > 0
 *     data.eval_file =                           not set
 *     A & B | C                                  both A and B, or C
 *
 * A condition holds if the key that it names counts as well.
 */

#include "train/config/keys.h"

/* Whether another value of the key would have an effect on the run. */
bool rt_key_counts(int key, const rt_config *config);

/* "theta.learn = yes", "position.kind = learned, t5 or shaw": what the key needs. */
void rt_key_report_needs(rt_writer *w, int key);

/* Writes "position.scale = 4 has no effect: it needs position.scaling other than none". If
 * position.scaling was written with such a value and does not count itself, its own needs are
 * named. `written` are the values that were written. */
void rt_key_report_idle(rt_writer *w, int key, const rt_config *config, const rt_config *written);

/* Marks the keys that are written, not at their default, and do not count: config->idle.
 * `written` is what was written of them, `defaults` those of this configuration (resolve.h). */
void rt_config_find_idle(rt_config *config, const rt_config *written, const rt_config *defaults);

#endif
