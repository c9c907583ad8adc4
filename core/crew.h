#ifndef ROTOR_CORE_CREW_H
#define ROTOR_CORE_CREW_H

/* Parallel-for over the threads of the caller; the library itself makes no threads. How the work is
 * cut into parts does not depend on the threads, so results are bitwise identical for any number
 * of them. */

/* Computes part 0 ... parts - 1 of the work that `context` describes. Parts write to separate
 * memory. */
typedef void rt_part(void *context, int part);

typedef struct rt_crew {
    /* Runs all parts, in any order and in parallel, and returns when all are done. */
    void (*run)(void *threads, rt_part *part, void *context, int parts);
    void *threads; /* passed to `run` */
} rt_crew;

#endif
