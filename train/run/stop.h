#ifndef ROTOR_TRAIN_RUN_STOP_H
#define ROTOR_TRAIN_RUN_STOP_H

/* Stopping by signal: SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask for a stop after the step
 * under way; a second SIGINT ends the process at once with exit code 130. SIGPIPE and
 * SIGXFSZ are ignored, so that writing returns an error instead. */

void rt_stop_on_signals(void);

/* The signal that asked for a stop, or 0. */
int rt_stop_asked(void);

#endif
