#ifndef ROTOR_TESTS_FAULTS_FAULTS_H
#define ROTOR_TESTS_FAULTS_FAULTS_H

/* Tiny trainings with faults, and the invariants that hold afterwards, in a temporary folder:
 *
 *   tiny.ini         the configuration
 *   straight/runs    a training without a fault
 *   trial/runs       one with a fault, which must end with the same numbers
 *
 * A function that checks returns the error, or NULL. */

#include "faults/io_shim.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Ends the program with the system's error unless it is good. */
void must(bool good, const char *what);

/* Makes a folder below $TMPDIR or /tmp, enters it, and trains for `steps` with a checkpoint
 * every `every` steps. `leave` returns and removes it. */
void faults_enter(int steps, int every);
void faults_leave(void);

/* Makes trial/ empty, keeps a copy of it under another name, and makes it such a copy. */
void trial_empty(void);
void trial_keep(const char *as);
void trial_copy(const char *from);

/* Starts `train` in trial/, with an order to the shim ("write 7 EIO", or NULL: without the
 * shim) and more arguments up to a NULL. What it prints goes to the files out and err. */
pid_t trial_start(const char *fault, const char *const *arguments);

/* Starts the program with these arguments only. */
pid_t trial_command(const char *fault, const char *const *arguments);

/* From now on no file of a trial can grow beyond `bytes`; 0: no such limit. */
void trial_limit(long bytes);

/* The exit code, 128 and the signal of a program that a signal ended. */
int trial_wait(pid_t process);

/* Starts a program and waits for it, with no or one more argument. */
int trial_run(const char *fault, const char *argument);

/* A fault at each call of a kind that a command makes. */
typedef struct faulty {
    shim_kind kind;
    const char *how;
    int what; /* number of the command */
} faulty;

/* Runs command number `what`, with an order to the shim. Returns its exit code. */
typedef int trial_of(const char *fault, int what);

/* Receives the exit code of a command with a fault. */
typedef void trial_check(const faulty *f, const char *fault, int code);

/* Runs a command without a fault, which must end well, and then with the fault at every stride-th
 * call. Returns the number of calls. */
long trial_each(const faulty *f, trial_of *run, long stride, trial_check *check);

/* A training for `what` 0; of a copy of half/ the rest for 1. */
int trial_train(const char *fault, int what);

/* Returns the standard error of the last program, and the counts of the shim. */
const char *trial_errors(void);
long trial_calls(shim_kind kind);
bool trial_failed(void);

/* The largest step in a table. */
long last_step(const char *path);

/* The exit code is one that the manual names; an error or warning names a path. */
const char *check_exit(int code);

/* Every checkpoint is whole, the newest can be found without a warning and is not older than
 * the last that was acknowledged: a row of the metrics is written before the save of its step,
 * and after those of earlier steps. *step is the newest one's, -1 if there is none. */
const char *check_checkpoints(long *step, bool killed);

/* `--resume` ends well and in the same files, byte for byte, as the training that nothing
 * happened to. After a write of a table failed, with a warning, its rows may be missing. */
const char *check_resume(void);

#endif
