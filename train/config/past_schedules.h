#ifndef ROTOR_TRAIN_CONFIG_PAST_SCHEDULES_H
#define ROTOR_TRAIN_CONFIG_PAST_SCHEDULES_H

/* The schedules that a run had before it was extended, as a table in CSV: until_step, lr, schedule,
 * min_lr_ratio, schedule_steps; a row for each, in their order. */

#include "train/config/config.h"

/* Makes the schedule of `before` that of the steps up to `step`. Nothing if it is the same as that
 * of `o`. RT_CONFIG if there are as many as there can be. */
rt_status rt_past_schedules_add(rt_optimizer_options *o, const rt_optimizer_options *before,
                                int step) RT_MUST_CHECK;

/* The table; NULL when the heap is exhausted. With `steps` above 0 the schedule of now is its last
 * row, until there. The caller frees it. */
char *rt_past_schedules_write(const rt_optimizer_options *o, int steps);

/* The other way. What is no such table, or does not end before `step`, is RT_CONFIG. */
rt_status rt_past_schedules_read(rt_optimizer_options *o, const char *table,
                                 int64_t step) RT_MUST_CHECK;

#endif
