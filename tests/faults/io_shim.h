#ifndef ROTOR_TESTS_FAULTS_IO_SHIM_H
#define ROTOR_TESTS_FAULTS_IO_SHIM_H

/* Calls that io_shim.c counts. */

#include <stdatomic.h>

#define SHIM_KINDS(X)                                                                              \
    X(SHIM_OPEN, "open")                                                                           \
    X(SHIM_READ, "read")                                                                           \
    X(SHIM_WRITE, "write")                                                                         \
    X(SHIM_FSYNC, "fsync")                                                                         \
    X(SHIM_LOCK, "lock")                                                                           \
    X(SHIM_RENAME, "rename")                                                                       \
    X(SHIM_CLOSE, "close")                                                                         \
    X(SHIM_MKDIR, "mkdir")                                                                         \
    X(SHIM_UNLINK, "unlink")                                                                       \
    X(SHIM_FORK, "fork")                                                                           \
    X(SHIM_PIPE, "pipe")                                                                           \
    X(SHIM_WAIT, "wait")                                                                           \
    X(SHIM_BYTES, "bytes")                                                                         \
    X(SHIM_MEMORY, "memory")                                                                       \
    X(SHIM_FACTS, "facts")
#define SHIM_VALUE(name, word) name,
#define SHIM_WORD(name, word)  word,

typedef enum shim_kind { SHIM_KINDS(SHIM_VALUE) SHIM_COUNT } shim_kind;

typedef struct shim_counts {
    atomic_long calls[SHIM_COUNT]; /* of "bytes": bytes that were to be written */
    atomic_long failed;
} shim_counts;

/* Gives an order to a program that is linked with io_shim.c, as ROTOR_FAULT does at its start, and
 * a file for the counts. Either can be NULL: no fault; no such file. From then on nothing waits for
 * the disk in fsync. */
void shim_order(const char *order, const char *counts_path);

#endif
