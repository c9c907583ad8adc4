#ifndef ROTOR_CORE_WORSE_H
#define ROTOR_CORE_WORSE_H

#include <math.h>

/* The larger of two errors; NaN if one of them is, which fmax and > would drop. */
static inline double rt_worse(double a, double b)
{
    return a <= b || isnan(b) ? b : a;
}

#endif
