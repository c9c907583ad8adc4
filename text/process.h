#ifndef ROTOR_TEXT_PROCESS_H
#define ROTOR_TEXT_PROCESS_H

/* Processes: the state that a process inherits, and child processes. The only place that forks and
 * waits. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
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

/* Returns whether a child has ended, and its wait status. A child that cannot be waited for has
 * ended with the exit code 1. */
bool rt_process_ended(pid_t child, int *how);

/* The signals that ask a program to stop: SIGINT, SIGTERM, SIGUSR1, and SIGHUP unless it is
 * ignored, as nohup does. Returns their number. */
enum { RT_STOP_SIGNALS = 4 };
int rt_process_stop_signals(int numbers[RT_STOP_SIGNALS]);

/* Returns the name under which the program was started, which its messages begin with: train where
 * it was built, rotor where it is installed; the same in both precisions, without "-f64". */
const char *rt_program_name(void);

/* ---- files of strangers ---- */

/* Runs a function in a child process and brings back its answer: for the parsing of files that
 * somebody else wrote, on which a library may crash, or from which it may never return.
 *
 * The child is a fork. It calls more than POSIX allows in the fork of a process with several
 * threads, so whoever parses a file does it before threads are started. Threads of OpenBLAS
 * are no obstacle: it stops them before every fork. Nothing is trusted that the child says:
 * its answer is bytes to be checked, of a limited size.
 *
 * A child ends with its parent, however that ends. It has none of its descriptors but the one
 * that it is given, and its standard streams lead nowhere. */

/* Runs in the child. Returns a block from rt_alloc, or a status of RT_MEMORY, RT_IO, RT_DATA or
 * RT_CHECKPOINT. Changes and allocations of memory are not seen outside. */
typedef rt_status rt_child_work(void *context, unsigned char **answer_new, size_t *size);

typedef struct rt_child_limits {
    size_t memory;    /* bytes beyond what the process has; not with sanitizers */
    size_t answer;    /* bytes of the longest answer */
    unsigned seconds; /* of the processor, and three times as many of the clock */
    int keep;         /* a descriptor that the work needs, -1 for none */
} rt_child_limits;

/* The status of the work, and its answer in a block that the caller frees. RT_CHECK, with a
 * message to be put behind "it is damaged: ", if the child crashed, came to a limit, or answered
 * what it must not. RT_IO if there can be no child, or a signal came while waiting for it. */
rt_status rt_child_run(rt_child_work *work, void *context, const rt_child_limits *limits,
                       unsigned char **answer_new, size_t *size) RT_MUST_CHECK;

/* Seconds in which any sound file of so many bytes is read, also by a slow machine. */
unsigned rt_child_seconds(size_t bytes);

#endif
