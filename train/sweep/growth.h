#ifndef ROTOR_TRAIN_SWEEP_GROWTH_H
#define ROTOR_TRAIN_SWEEP_GROWTH_H

/* Which runs of a sweep are new since it was last called with fewer. */

#include "train/config/sweep.h"

/* Compares the sweep with the runs.csv that an earlier call left in its folder, before any run is
 * trained. If there are more runs now, growth.csv says for each whether it is taken as it was
 * (taken[run]) or new, and *fresh counts the new ones; else the file of an earlier growth stays,
 * unless the sweep is made from the start. */
rt_status rt_sweep_note_growth(const char *folder, const rt_sweep *sweep, const bool *taken,
                               bool from_start, int *fresh) RT_MUST_CHECK;

#endif
