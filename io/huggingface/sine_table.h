#ifndef ROTOR_IO_HUGGINGFACE_SINE_TABLE_H
#define ROTOR_IO_HUGGINGFACE_SINE_TABLE_H

/* The table of sines that a RoFormer of Hugging Face keeps among its weights and turns its heads
 * by: row m has sin(m theta_i) for all pairs i, then cos(m theta_i).
 *
 * Whatever theta made the table can be read off it. Angles that differ by a whole turn a position
 * make the same table: of those the theta is given that is between -pi / 2 and 3 pi / 2. */

#include "io/huggingface/safetensors.h"

#include <stdbool.h>

typedef struct rt_sine_table {
    double *values; /* (rows, 2 pairs) */
    int rows;
    int pairs;
    rt_dtype dtype; /* that it was rounded to */
} rt_sine_table;

/* Theta of a table, whose last pairs may be 0. If `base` is not 0, the pairs before them are
 * base^(-i / rotated), within the rounding of the table. */
typedef struct rt_table_theta {
    int rotated; /* pairs before those that are 0 to the end */
    double base;
} rt_table_theta;

/* Finds theta, (pairs). RT_CHECKPOINT, which begins with `name`, if no theta makes this table. */
rt_status rt_sine_table_theta(const rt_sine_table *table, const char *name, double *theta,
                              rt_table_theta *found) RT_MUST_CHECK;

/* Returns whether these theta make the table, within its rounding. */
bool rt_sine_table_is_of(const rt_sine_table *table, const double *theta);

#endif
