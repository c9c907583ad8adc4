#ifndef ROTOR_UTIL_PROCESS_H
#define ROTOR_UTIL_PROCESS_H

/* Processes: inherited state, and child processes. Only this module forks and waits. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Normalizes the state inherited from the parent process:
 *
 *     signal mask       empty
 *     SIGCHLD           default: if it is ignored, children cannot be waited for
 *     SIGPIPE           default: printing to a closed pipe ends the program
 *     SIGXFSZ           ignored: exceeding ulimit -f is an error of the write
 *     descriptors 0-2   open; a closed one becomes empty and not writable
 *
 * Other ignored signals stay ignored, because nohup and shells ignore some for a program in the
 * background. */
void rt_process_normalize(void);

/* Forks, with normalized state in the child, which gets the signal `ending` when its parent ends,
 * even if the parent has already ended. */
pid_t rt_process_fork(int ending);

/* Replaces the process by the program arguments[0] of the PATH, with the state that a shell would
 * give it. Returns only on an error. */
void rt_process_exec(char *const *arguments);

/* Wait for the end of a child, or ask whether it has ended. *how receives the wait status. A child
 * that cannot be waited for counts as ended with the exit code 1; the first then returns false. */
bool rt_process_wait(pid_t child, int *how);
bool rt_process_ended(pid_t child, int *how);

/* Lists the signals that ask a program to stop: SIGINT, SIGTERM, SIGUSR1, and SIGHUP unless it is
 * ignored, as under nohup. Returns their number. */
enum { RT_STOP_SIGNALS = 4 };
int rt_process_stop_signals(int numbers[RT_STOP_SIGNALS]);

/* Returns the name under which the program was started, for its messages: train in a build, rotor
 * if installed, without the suffix "-f64" of the double build. */
const char *rt_program_name(void);

/* Runs a function in a child process and returns its answer, to parse untrusted files on which a
 * library may crash or hang.
 *
 * The child is a fork that calls more functions than POSIX allows after the fork of a process with
 * several threads, so files must be parsed before threads start. Threads of OpenBLAS are no
 * problem, because it stops them before every fork. The answer of the child is untrusted bytes of
 * limited size.
 *
 * A child ends with its parent. It has no descriptors except the one that it is given, and its
 * standard streams lead to /dev/null. */

/* Runs in the child. Returns a block from rt_alloc, or a status of RT_MEMORY, RT_IO, RT_DATA or
 * RT_CHECKPOINT. The parent does not see other changes of memory. */
typedef rt_status rt_child_work(void *context, unsigned char **answer_new, size_t *size);

typedef struct rt_child_limits {
    size_t memory;    /* bytes in addition to those of the process; not with sanitizers */
    size_t answer;    /* maximum size of the answer, in bytes */
    unsigned seconds; /* of processor time; three times as many of wall-clock time, in which the
                       * process is not suspended */
    int keep;         /* descriptor that the work needs; -1: none */
} rt_child_limits;

/* Returns the status of the work, and its answer in a block that the caller frees. RT_CHECK, with a
 * message to follow "it is damaged: ", if the child crashed, exceeded a limit, or returned an
 * invalid answer. RT_IO if no child can be started, or a signal interrupted the wait. */
rt_status rt_child_run(rt_child_work *work, void *context, const rt_child_limits *limits,
                       unsigned char **answer_new, size_t *size) RT_MUST_CHECK;

/* Returns the seconds in which even a slow machine reads any valid file of this size. */
unsigned rt_child_seconds(size_t bytes);

#endif
