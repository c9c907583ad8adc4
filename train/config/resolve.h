#ifndef ROTOR_TRAIN_CONFIG_RESOLVE_H
#define ROTOR_TRAIN_CONFIG_RESOLVE_H

/* From what was written to what holds.
 *
 * What was written has zeros that stand for what follows from other keys: position.original_len for
 * data.length, model.kv_heads for model.heads, train.shards for a number that suits the batch. An
 * rt_config has none of them. What a model is made of is resolved once, when its configuration is
 * read: a trained model that is used with another data.length keeps its theta and its tables.
 */

#include "train/config/config.h"

/* A configuration as it was written, with zeros and with defaults of model.kind and data.task that
 * nobody has set. */
typedef struct rt_written_config {
    rt_config keys;
    bool trained; /* by a run that was trained: all of it stays. Otherwise a key without effect is
                     as if it had not been written. */
} rt_written_config;

/* The default of every key. */
void rt_written_defaults(rt_written_config *written);

/* The same with what model.kind and data.task of a configuration imply; zeros stay. */
void rt_config_defaults(rt_config *defaults, const rt_config *config);

/* What holds. */
void rt_config_resolve(rt_config *config, const rt_written_config *written);

/* Resolves again what is no member of the model, after keys of a use (rt_key_at_use) were set: the
 * shards of the batch, unless they were set themselves. */
void rt_config_resolve_use(rt_config *config);

/* Whether a zero of the key stands for what follows from other keys. */
bool rt_key_follows(int key);

/* Whether the key is part of how a trained model is used: then another value changes neither its
 * theta nor its tables, and may be set for an evaluation. */
bool rt_key_at_use(int key);

#endif
