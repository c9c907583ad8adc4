#ifndef ROTOR_TRAIN_RUN_STOP_H
#define ROTOR_TRAIN_RUN_STOP_H

/* Stopping by signal: SIGINT, SIGTERM, SIGHUP, SIGUSR1, and SIGALRM of an alarm that was set before
 * the program began, request a stop after the current step. A second SIGINT ends the process at
 * once with exit code 130, and so does a step that does not end (rt_stop_watch). SIGPIPE is
 * ignored, so that writing returns an error instead. */

#include <stdatomic.h>

/* Installs the handlers. */
void rt_stop_on_signals(void);

/* Returns the signal that requested a stop, or 0. */
int rt_stop_requested(void);

/* Requests a stop, for a signal that another process received. */
void rt_stop_request(void);

/* Returns the seconds that one part of a step may take once a stop has been requested: 20 and five
 * times the longest step so far, evaluation and records included; at most a day. */
int rt_stop_patience(double longest_step);

/* Enforces a stop that is requested: if *progress does not change for that many seconds after the
 * signal, the process ends. NULL: no limit. `progress` is borrowed until the next call. */
void rt_stop_watch(const atomic_long *progress, int seconds);

#endif
