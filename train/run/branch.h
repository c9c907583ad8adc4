#ifndef ROTOR_TRAIN_RUN_BRANCH_H
#define ROTOR_TRAIN_RUN_BRANCH_H

/* What a branch of a training may be. */

#include "train/config/config.h"

/* Whether a configuration can continue a run that has taken `step` steps as its branch: RT_CONFIG
 * names the keys that it cannot change. */
rt_status rt_branch_check(const rt_config *trunk, const rt_config *branch,
                          int64_t step) RT_MUST_CHECK;

#endif
