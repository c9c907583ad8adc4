#ifndef ROTOR_CORE_CREW_H
#define ROTOR_CORE_CREW_H

/* Who runs the parts of something large. The parts are the same whoever runs them, so the result
 * has the same bits for any number of threads; those are the caller's, the library makes none. */

/* Part 0 ... parts - 1 of what `context` describes. Parts do not touch each other's results. */
typedef void rt_part(void *context, int part);

typedef struct rt_crew {
    /* Runs all parts, in any order and some at the same time, and returns when they are done. */
    void (*run)(void *threads, rt_part *part, void *context, int parts);
    void *threads; /* what `run` is given */
} rt_crew;

#endif
