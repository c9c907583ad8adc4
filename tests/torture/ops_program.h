#ifndef ROTOR_TESTS_TORTURE_OPS_PROGRAM_H
#define ROTOR_TESTS_TORTURE_OPS_PROGRAM_H

/* A random program of ops: its random numbers, and the tensors that its calls take. */

#include "core/random.h"
#include "ops/ops.h"

enum {
    MOST_TENSORS = 48,
    MOST_CALLS = 8,
    MOST_ELEMENTS = 4096, /* of a tensor that is used again */
    ARRAY = 4096,         /* entries of the arrays that options point to, */
    FILLED = 256,         /* and of those that no shape reaches beyond */
    TRACE_SIZE = 4096
};

typedef struct program {
    rt_random random;
    uint64_t drawn;
    bool hostile;
    rt_graph *g;
    rt_tensor leaves[MOST_TENSORS];
    int leaf_count;
    rt_tensor *pool[MOST_TENSORS]; /* leaves and results */
    int pool_count;
    char trace[TRACE_SIZE];
} program;

/* Memory to which the options of a call point. It lives until the graph is cleared, and is larger
 * than any use of it. */
typedef struct arrays {
    int32_t ids[ARRAY];
    double positions[ARRAY];
    uint8_t mask[ARRAY];
    double slopes[ARRAY];
    int16_t classes[ARRAY];
    real level[ARRAY], probabilities[ARRAY];
    rt_distances distances;
    rt_rotation_table table;
} arrays;

/* ---- random numbers; in a hostile program now and then what nobody should give ---- */

int below(program *p, int n);          /* 0 ... n-1 */
bool chance(program *p, int percent);  /* true that often */
bool hostile(program *p, int percent); /* the same in a hostile program, else never */
double number(program *p);             /* from -2 to 2 */
double share(program *p);              /* from 0 to 1 */
int whole(program *p, int low, int high);

/* Adds to the trace of what was called. */
void note(program *p, const char *format, ...) RT_PRINTF(2, 3);

/* ---- tensors; in a hostile program also NULL, and leaves whose shape cannot be ---- */

rt_tensor *leaf(program *p, rt_shape shape);
rt_tensor *any(program *p);
rt_tensor *with_axes(program *p, int ndim);       /* of that many axes */
rt_tensor *fitting(program *p, rt_shape shape);   /* a leaf of that shape, as a rule */
rt_tensor *add_to_pool(program *p, rt_tensor *x); /* of what `any` draws from; returns x */
rt_shape shape_of_axes(program *p, int ndim);     /* a random one */

/* A shape that has no elements which could be read: an axis below 1, more elements than can be
 * counted, or too many axes. Any other must be what the memory holds. */
rt_shape spoiled(program *p, rt_shape shape);

/* The lengths of a tensor that may be NULL or have a spoiled shape: 1 for what is not there. */
int axis(const rt_tensor *x, int i);
int columns(const rt_tensor *x);
rt_shape shape_of(const rt_tensor *x);

/* ---- calls ---- */

/* Makes one at random, whose arrays are `a`. */
rt_tensor *call_any(program *p, arrays *a);

#endif
