#ifndef ROTOR_TEXT_PROCESS_H
#define ROTOR_TEXT_PROCESS_H

/* What a process inherits from the one that started it, and processes of its own: the only place
 * that forks and waits. */

#include <stdbool.h>
#include <sys/types.h>

/* Makes inherited state normal, whatever the program that started this one has left:
 *
 *     signal mask       empty
 *     SIGCHLD           its default: where it is ignored, children cannot be waited for
 *     SIGPIPE           its default: who prints to a reader that has gone ends
 *     SIGXFSZ           ignored: a file that may not grow (ulimit -f) is an error of the write
 *     descriptors 0-2   open; one that was closed reads nothing and refuses to be written to
 *
 * Other ignored signals stay ignored: nohup and shells ignore some for a program in the
 * background. */
void rt_process_normalize(void);

/* fork, with normal state in the child, which gets the signal `ending` when its parent ends, even
 * if that was before it could ask for it. */
pid_t rt_process_fork(int ending);

/* Becomes the program arguments[0] of the PATH, with the state that a shell would give it. Returns
 * only if that cannot be. */
void rt_process_exec(char *const *arguments);

/* Waits for the end of a child; *how is what waitpid says of it. False if it cannot be waited for;
 * *how is then the exit code 1. */
bool rt_process_wait(pid_t child, int *how);

/* Whether a child has ended, and how. One that cannot be waited for has, with the exit code 1. */
bool rt_process_ended(pid_t child, int *how);

/* The signals that ask a program to stop: SIGINT, SIGTERM, SIGUSR1, and SIGHUP unless it is
 * ignored, as nohup does. Returns their number. */
enum { RT_STOP_SIGNALS = 4 };
int rt_process_stop_signals(int numbers[RT_STOP_SIGNALS]);

#endif
