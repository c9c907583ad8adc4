#ifndef ROTOR_TRAIN_RUN_RESUME_H
#define ROTOR_TRAIN_RUN_RESUME_H

/* How a run goes on from its newest checkpoint, and how one that had taken all its steps is
 * extended to more of them. */

#include "train/run/state.h"

/* Whether the run that left this checkpoint can go on under the configuration of now: it must be
 * its own, but for what may change. RT_CONFIG lists what differs. Closes found->image. */
rt_status rt_run_compare(rt_run *r, rt_checkpoint_found *found) RT_MUST_CHECK;

/* Loads the newest checkpoint, and says what an extension changes. To be called under the lock of
 * the folder: what was found before may have grown old. */
rt_status rt_run_resume(rt_run *r) RT_MUST_CHECK;

#endif
