/* The clock has a file of its own because a test of the progress line links another one. */

#include "train/step/observers.h"

#include <time.h>

double rt_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
