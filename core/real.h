#ifndef ROTOR_CORE_REAL_H
#define ROTOR_CORE_REAL_H

/* The floating point type of the library, chosen when it is built: float, the fast one, or double
 * (-DRT_DOUBLE), the exact one. Most of what depends on the choice is in this file.
 */

#include <float.h>

#ifdef RT_DOUBLE
typedef double real;
#define RT_PRECISION       "double"
#define RT_REAL_MAX        DBL_MAX
#define RT_REAL_EPSILON    DBL_EPSILON
#define rt_precision_guard rt_this_program_needs_librotor_f64
#else
typedef float real;
#define RT_PRECISION       "float"
#define RT_REAL_MAX        FLT_MAX
#define RT_REAL_EPSILON    FLT_EPSILON
#define rt_precision_guard rt_this_program_needs_librotor_float
#endif

/* Every object file that includes a header of one build refers to this symbol, which only the
 * library of the same build defines: mixing the two builds does not link. */
extern const char rt_precision_guard;
__attribute__((used)) static const char *const rt_precision_reference = &rt_precision_guard;

#endif
