#ifndef ROTOR_TRAIN_CONFIG_INHERIT_H
#define ROTOR_TRAIN_CONFIG_INHERIT_H

/* What a configuration takes over from the model that train.init_from names.
 *
 * Of the model's architecture (model.*, position.*, theta.learn, scope and form), of the vocabulary
 * (data.level, lowercase and vocab) and of the objective, a key that nobody has written has the
 * value of that model; its origin is RT_FROM_MODEL. A key that is written may differ as long as the
 * parameters of the one model fit into the other. */

#include "train/config/errors.h"

/* False if what is written does not go with the model: one complaint lists all such keys. */
bool rt_config_inherit(rt_config *config, const rt_ancestor *ancestor, rt_config_errors *errors);

/* Whether the model could still decide the value of a key. */
bool rt_config_is_open(const rt_config *config);

#endif
