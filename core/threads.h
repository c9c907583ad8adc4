#ifndef ROTOR_CORE_THREADS_H
#define ROTOR_CORE_THREADS_H

/* Parallel-for over the threads of the caller; the library itself creates no threads. The cut of
 * the work does not depend on the threads, so results are bitwise identical for any number
 * of them. */

#include <stddef.h>

/* Computes one part, 0 ... parts - 1, of the work that `context` describes. `scratch` is scratch
 * memory with arbitrary contents. Parts write to separate memory and start no parts themselves. */
typedef void rt_part(void *context, int part, void *scratch);

/* Scratch memory of the thread that calls `run`. Every other thread provides as many bytes, aligned
 * to 64. */
typedef struct rt_part_scratch {
    void *own;
    size_t bytes;
} rt_part_scratch;

typedef struct rt_threads {
    /* Runs all parts, in any order and in parallel, and returns when all are done. */
    void (*run)(void *runner, rt_part *part, void *context, int parts, rt_part_scratch scratch);
    void *runner; /* passed to `run` */
} rt_threads;

#endif
