#ifndef ROTOR_TRAIN_WORLD_PROCESSORS_H
#define ROTOR_TRAIN_WORLD_PROCESSORS_H

/* The processors that this process may use, however many a machine has. */

#include <stdint.h>

/* How many; at least 1. Those that are online if the system does not tell which may be used. */
int rt_processors(void);

/* A digest of which: equal for processes of one host that may use the same ones, and 0 if the
 * system does not tell. */
uint64_t rt_processors_digest(void);

#endif
