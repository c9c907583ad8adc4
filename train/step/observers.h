#ifndef ROTOR_TRAIN_STEP_OBSERVERS_H
#define ROTOR_TRAIN_STEP_OBSERVERS_H

/* The clock of all measurements, and the observer of --trap. */

#include "core/graph.h"

/* Returns the seconds of a monotonic clock. Only differences are meaningful. */
double rt_seconds(void);

/* Observer that fails the graph with RT_NONFINITE, and names the op, if a result or a gradient has
 * a NaN or an infinity. Needs no context. */
extern const rt_observer rt_trap;

#endif
