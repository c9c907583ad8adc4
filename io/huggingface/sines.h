#ifndef ROTOR_IO_HUGGINGFACE_SINES_H
#define ROTOR_IO_HUGGINGFACE_SINES_H

/* The table of sines that a RoFormer of Hugging Face keeps among its weights and is rotated by: row
 * m has sin(m theta_i) for all pairs i, then cos(m theta_i).
 *
 * Theta is computed from the table. Values of theta that differ by a multiple of 2 pi make the same
 * table; the result is the one between -pi / 2 and 3 pi / 2. */

#include "io/huggingface/huggingface.h"
#include "io/huggingface/safetensors.h"

typedef struct rt_sine_table {
    double *values; /* (rows, 2 pairs) */
    int rows;
    int pairs;
    rt_dtype dtype; /* type to which the values were rounded */

    /* Set by rt_sine_table_theta. If `base` is not 0, the first `rotated` values of theta are
     * base^(-i / rotated), within the rounding of the table. */
    int rotated; /* number of pairs before the zeros at the end */
    double base;
} rt_sine_table;

/* Computes theta, (pairs), of a table. RT_CHECKPOINT, which names `name`, if no theta makes it. */
rt_status rt_sine_table_theta(rt_sine_table *table, const char *name, double *theta) RT_MUST_CHECK;

/* Returns whether theta makes the first `count` pairs of the table, within its rounding. */
bool rt_sine_table_is_of(const rt_sine_table *table, int count, const double *theta);

#define RT_HF_TABLE "roformer.encoder.embed_positions.weight"

/* Determines theta of a folder by its table (resolve_theta). */
rt_status rt_sine_table_resolve(rt_huggingface *there) RT_MUST_CHECK;

/* Computes numbers of the table, (positions, 2 pairs), from an rt_folder_theta. */
rt_safetensors_fill rt_sine_table_fill;

/* Returns max_position_embeddings of an exported RoFormer, the number of rows of its table.
 * export->positions must be resolved. */
int rt_sine_table_rows(const rt_huggingface_export *export);

#endif
