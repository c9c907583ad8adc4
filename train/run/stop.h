#ifndef ROTOR_TRAIN_RUN_STOP_H
#define ROTOR_TRAIN_RUN_STOP_H

/* Stopping by signal: SIGINT, SIGTERM, SIGHUP, SIGUSR1, and SIGALRM of an alarm that was set before
 * the program began, ask for a stop after the step under way; a second SIGINT ends the process at
 * once with exit code 130, and so does a step that does not end (see rt_stop_watch). SIGPIPE is
 * ignored, so that writing returns an error instead. */

#include <stdatomic.h>

void rt_stop_on_signals(void);

/* The signal that asked for a stop, or 0. */
int rt_stop_requested(void);

/* As a signal does, for one that another process had. */
void rt_stop_request(void);

/* The seconds that one part of a step may take once a stop has been asked for: 20 and five times
 * the longest step so far with what follows it, at most a day. */
int rt_stop_patience(double longest_step);

/* From now on a stop that was asked for is enforced: if *progress does not change for that many
 * seconds, counted from the signal, the process ends. NULL: it may take any time. `progress` must
 * outlive the watching. */
void rt_stop_watch(const atomic_long *progress, int seconds);

#endif
