#ifndef ROTOR_CORE_PARAMETERS_H
#define ROTOR_CORE_PARAMETERS_H

/* The named parameters of a model, in one list. The optimizer, the checkpoint and the gradient
 * check walk this list and know nothing else of a model.
 *
 * All values lie in one block and all gradients in another, in the order of the list, each
 * parameter on a 64-byte boundary. The gaps hold zeros, so that a pass over a whole block is
 * harmless. A second list of the same model can share the values of the first and keep its own
 * gradients, as a worker needs.
 *
 * Order of use: add every parameter, allocate once, then use the tensors.
 */

#include "core/memory.h"
#include "core/status.h"
#include "core/tensor.h"

#include <stdint.h>

enum { RT_NAME_SIZE = 96 };

/* Standard deviation of BERT's initial weights (Devlin et al. 2019). */
#define RT_INIT_STD 0.02

typedef enum rt_init {
    RT_INIT_NORMAL, /* N(0, s^2), s = rt_parameters.init_std */
    RT_INIT_ZERO,
    RT_INIT_ONE,
    RT_INIT_GIVEN /* set by the model after allocation */
} rt_init;

/* Role of a parameter, which decides its weight decay, learning rate and update. */
typedef enum rt_role {
    RT_ROLE_WEIGHT, /* embeddings, tables of positions, output layers: decays */
    RT_ROLE_MATRIX, /* of a layer: decays; some optimizers update it as a whole */
    RT_ROLE_BIAS,   /* biases and everything of a norm: no decay */
    RT_ROLE_THETA,  /* no decay, its own learning rate factor */
    RT_ROLE_FACTOR, /* factor on the scores of a head: as theta */
    RT_ROLE_PHASE   /* radians, which each step clamps to -2 pi ... 0; no decay */
} rt_role;

/* Whether a model may have a parameter that starts from a model without it, and its value then. */
typedef enum rt_joining { RT_NEVER_JOINS, RT_JOINS, RT_JOINS_AT_ZERO } rt_joining;

/* Component of a model to which a parameter belongs. */
typedef enum rt_component {
    RT_COMPONENT_NONE, /* of a list without components */
    RT_COMPONENT_EMBEDDINGS,
    RT_COMPONENT_POSITIONS, /* shared by all layers, such as theta */
    RT_COMPONENT_LAYER,
    RT_COMPONENT_NORM, /* the last one */
    RT_COMPONENT_HEAD
} rt_component;

typedef struct rt_parameter {
    char name[RT_NAME_SIZE]; /* dotted */
    rt_component component;
    int layer; /* from 0; -1: none */
    rt_tensor tensor;
    rt_role role;
    rt_init init;
    double init_std; /* of RT_INIT_NORMAL */
    size_t offset;   /* of the tensor in the blocks, in elements */
    int64_t since;   /* steps of the training before the parameter joined it */
    rt_joining joins;
} rt_parameter;

typedef struct rt_parameters {
    rt_parameter **list;
    int count;
    size_t capacity;
    size_t block_size; /* elements in each block, gaps included */
    real *values;
    real *grads;
    bool borrows_values;
    bool blank;          /* set before the allocation: values are 0, for a caller that sets them */
    rt_account *account; /* set before the allocation, for a dry run: the blocks are reserved
                            (core/memory.h) */
    uint64_t seed;       /* of the drawn values */
    double init_std;     /* of the parameters added next; 0 = RT_INIT_STD */
    rt_component component; /* of the parameters added next */
    int layer;              /* of the parameters added next, for RT_COMPONENT_LAYER */
    rt_joining joins;       /* of the parameters added next */
    rt_status status;       /* first failed addition */
} rt_parameters;

/* Adds a parameter. The returned tensor has no blocks before the allocation. NULL on failure;
 * rt_parameters_allocate returns the reason. */
rt_tensor *rt_parameters_add(rt_parameters *p, rt_role role, rt_init init, rt_shape shape,
                             const char *name_format, ...) RT_PRINTF(5, 6);

/* Allocates the blocks and draws the initial values from the seed: each number depends only on the
 * name of the parameter and its index. With `values_of`, a list of the same names and shapes, only
 * gradients are allocated and the values are shared. */
rt_status rt_parameters_allocate(rt_parameters *p, uint64_t seed,
                                 const rt_parameters *values_of) RT_MUST_CHECK;

/* Draws the initial values of one parameter of a blank list. */
void rt_parameter_draw(const rt_parameters *p, rt_parameter *parameter);

void rt_parameters_free(rt_parameters *p);

/* Returns the parameter with the name; NULL if there is none. */
rt_parameter *rt_parameters_find(const rt_parameters *p, const char *name);

/* Returns the number of numbers, trained or not, without gaps. */
size_t rt_parameters_count(const rt_parameters *p);

void rt_parameters_zero_grads(rt_parameters *p);

#endif
