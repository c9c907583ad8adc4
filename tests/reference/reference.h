#ifndef ROTOR_TESTS_REFERENCE_H
#define ROTOR_TESTS_REFERENCE_H

/* Reading a file of reference values, and holding results against it.
 *
 * Everything that a file should have and has not is a failure that names the file and the
 * place; so is a shape that does not fit. Sizes and options come from the file, never from
 * the test: another folder of the same layout, with other cases, is checked as well.
 */

#include "core/arena.h"
#include "core/graph.h"

#include <check.h>
#include <hdf5.h>
#include <string.h>

typedef struct reference {
    hid_t file;
    const char *name;
    rt_arena memory; /* of all arrays read; given back when the file is closed */
    rt_graph *graph;
    int cases;
    double value_error;    /* largest, absolute */
    double gradient_error; /* largest, relative to the largest element */
    double slack;          /* the least tolerance, where a file was not made in double throughout */
    bool quiet;            /* the caller prints the errors */
} reference;

typedef struct array {
    double *values;
    int ndim;
    int axis[RT_MAX_AXES];
    size_t size;
} array;

/* Opens NAME in the folder of ROTOR_VECTORS, or tests/vectors. */
reference reference_open(const char *name);

/* Opens another file, with its name in messages. */
reference reference_open_at(const char *name, const char *path);

/* Prints the summary line; a file without a case is a failure. */
void reference_close(reference *r);

/* ---- reading; paths are formatted ---- */

bool reference_has(const reference *r, const char *path, ...) RT_PRINTF(2, 3);
array reference_array(reference *r, const char *path, ...) RT_PRINTF(2, 3);
int32_t *reference_ids(reference *r, array a);
double reference_number(const reference *r, const char *path, const char *attribute);

/* Returns whether the text attribute has that value. */
bool reference_says(const reference *r, const char *path, const char *attribute, const char *value);

typedef struct name_list {
    char **names;
    int count;
} name_list;

/* The members of a group. */
name_list reference_members(reference *r, const char *path);

/* ---- tensors ---- */

/* A leaf with the array's values, with a zeroed gradient. */
rt_tensor *reference_leaf(reference *r, array a);

/* The values of g, which must be as large as the output that they are the upstream gradient of. */
const real *reference_upstream(reference *r, const rt_tensor *output, array g, const char *what);

/* The leaf of the array PATH/NAME, and that with heads exchanged. */
rt_tensor *reference_input(reference *r, const char *path, const char *name);
rt_tensor *reference_heads(reference *r, const char *path, const char *name);

/* A mask from an array of that size, whose path is formatted. */
uint8_t *reference_mask(reference *r, size_t size, const char *path, ...) RT_PRINTF(3, 4);

real *reference_zeros(reference *r, size_t size);

/* Row t of an array. */
array reference_row(array a, int t);

/* An array with axes 1 and 2 exchanged: (B, H, T, D) to (B, T, H, D) and back. */
array reference_swap_heads(reference *r, array a);

/* ---- comparing; `what` is formatted and names the case and the quantity ---- */

void check_values(reference *r, const real *got, size_t size, array expected, double tolerance,
                  const char *what, ...) RT_PRINTF(6, 7);
void check_gradient(reference *r, const real *got, size_t size, array expected, const char *what,
                    ...) RT_PRINTF(5, 6);
/* Compares a result, or the gradient of a leaf, with the array PATH/NAME. */
void check_output(reference *r, const rt_tensor *result, const char *path, const char *name);
void check_input(reference *r, const rt_tensor *leaf, const char *path, const char *name);

void check_size(const reference *r, array a, size_t size, const char *what);
void check_number(reference *r, double got, double expected, double tolerance, const char *what);
void check_status(const reference *r, rt_status status, const char *what);

/* Tolerances of the double build; the float build is held to 1e-4 on values. */
#define VALUE_TOLERANCE      1e-11
#define GRADIENT_TOLERANCE   1e-10
#define TRAJECTORY_TOLERANCE 1e-9

/* ---- contents of each file; a case is a group at its root ---- */

void check_rope_case(reference *r, const char *name);
void check_attention_case(reference *r, const char *name);
void check_linear_attention_case(reference *r, const char *name);
void check_content_case(reference *r, const char *name);
void check_optimizer_case(reference *r, const char *name);
void check_lion_muon_case(reference *r, const char *name);
void check_heads_case(reference *r, const char *name);
void check_position_file(reference *r);
void check_layer_file(reference *r);
void check_model_file(reference *r);

#endif
