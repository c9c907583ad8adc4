#ifndef ROTOR_CORE_CREW_H
#define ROTOR_CORE_CREW_H

/* Parallel-for over the threads of the caller; the library itself creates no threads. The cut of
 * the work does not depend on the threads, so results are bitwise identical for any number
 * of them. */

#include <stddef.h>

/* Computes one part, 0 ... parts - 1, of the work that `context` describes. `room` is scratch
 * memory with arbitrary contents. Parts write to separate memory and start no parts themselves. */
typedef void rt_part(void *context, int part, void *room);

/* Scratch memory of the thread that calls `run`. Every other thread provides as many bytes, aligned
 * to 64. */
typedef struct rt_part_room {
    void *own;
    size_t bytes;
} rt_part_room;

typedef struct rt_crew {
    /* Runs all parts, in any order and in parallel, and returns when all are done. */
    void (*run)(void *threads, rt_part *part, void *context, int parts, rt_part_room room);
    void *threads; /* passed to `run` */
} rt_crew;

#endif
