#ifndef ROTOR_TRAIN_RUN_STOP_H
#define ROTOR_TRAIN_RUN_STOP_H

/* Stopping by signal. SIGINT, SIGTERM, SIGHUP, SIGUSR1, and SIGALRM of an alarm set before the
 * program began, request a stop after the current step. A second SIGINT ends the process at once
 * with exit code 130, as does a step that does not end (rt_stop_watch). SIGPIPE is ignored, so that
 * writing returns an error instead. */

#include <stdatomic.h>

/* Installs the handlers. */
void rt_stop_on_signals(void);

/* Returns the signal that requested a stop, or 0. */
int rt_stop_requested(void);

/* Requests a stop, for a signal that another process of the world received. */
void rt_stop_request(void);

/* Returns the seconds that a part of a step may take after a stop was requested: 20 plus five times
 * the longest step so far, with its evaluation and records; at most a day. */
int rt_stop_patience(double longest_step);

/* Ends the process if, after a stop was requested, *progress does not change for so many seconds.
 * `progress` is borrowed until the next call; NULL: no limit. */
void rt_stop_watch(const atomic_long *progress, int seconds);

#endif
