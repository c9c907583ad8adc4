#ifndef ROTOR_CORE_PARAMETERS_H
#define ROTOR_CORE_PARAMETERS_H

/* The named parameters of a model, in one list. The optimiser, the checkpoint and
 * the gradient check walk this list and know nothing else of a model.
 *
 * All values lie in one block and all gradients in another, in the order of the
 * list, each parameter on a 64-byte boundary; the gaps hold zeros, so that a pass
 * over a whole block is harmless. A second list of the same model can read the
 * values of the first and keep gradients of its own: what a worker needs.
 *
 * Order of use: add every parameter, then allocate once, then use the tensors.
 */

#include "core/memory.h"
#include "core/status.h"
#include "core/tensor.h"

#include <stdint.h>

enum { RT_NAME_SIZE = 96 };

/* The standard deviation of BERT's initial weights (Devlin et al. 2019). */
#define RT_INIT_STD 0.02

typedef enum rt_init {
    RT_INIT_NORMAL, /* N(0, s^2), s = rt_parameters.init_std */
    RT_INIT_ZERO,
    RT_INIT_ONE,
    RT_INIT_GIVEN /* the model fills it in after allocation */
} rt_init;

/* Role of a parameter, which decides its weight decay, learning rate and update. */
typedef enum rt_role {
    RT_ROLE_WEIGHT, /* embeddings, output layers: decays */
    RT_ROLE_MATRIX, /* of a layer: decays; some optimizers move it as a whole */
    RT_ROLE_BIAS,   /* biases and everything of a norm: no decay */
    RT_ROLE_THETA,  /* no decay, its own learning rate scale */
    RT_ROLE_FACTOR  /* on the scores of a head: as theta */
} rt_role;

/* Part of a model to which a parameter belongs. */
typedef enum rt_model_part {
    RT_PART_NONE, /* of a list without parts */
    RT_PART_EMBEDDINGS,
    RT_PART_POSITIONS, /* that all layers share, theta among them */
    RT_PART_LAYER,
    RT_PART_NORM, /* the last one */
    RT_PART_HEAD
} rt_model_part;

typedef struct rt_parameter {
    char name[RT_NAME_SIZE]; /* dotted */
    rt_model_part part;
    int layer; /* from 0; -1: of none */
    rt_tensor tensor;
    rt_role role;
    rt_init init;
    double init_std; /* of RT_INIT_NORMAL */
    size_t offset;   /* of the tensor in the blocks, in elements */
    int64_t since;   /* steps that the training had taken when the parameter joined it */
} rt_parameter;

typedef struct rt_parameters {
    rt_parameter **list;
    int count;
    int capacity;
    size_t block_size; /* elements in each block, gaps included */
    real *values;
    real *grads;
    bool borrows_values;
    bool blank;          /* set before the allocation: values are 0, for a caller that sets them */
    rt_account *account; /* likewise, of a dry run: the blocks are reserved (core/memory.h) */
    uint64_t seed;       /* that they are drawn from, or would be */
    double init_std;     /* of those that are added from now on; 0 = RT_INIT_STD */
    rt_model_part part;  /* likewise */
    int layer;           /* likewise, of RT_PART_LAYER */
    rt_status status;    /* the first addition that failed */
} rt_parameters;

/* Sets the part of the parameters that are added from now on; `layer` is that of RT_PART_LAYER. */
void rt_parameters_begin_part(rt_parameters *p, rt_model_part part, int layer);

/* Adds a parameter. The returned tensor has its blocks after the allocation. NULL on failure, whose
 * reason rt_parameters_allocate returns. */
rt_tensor *rt_parameters_add(rt_parameters *p, rt_role role, rt_init init, rt_shape shape,
                             const char *name_format, ...) RT_PRINTF(5, 6);

/* Allocates the blocks and draws the initial values from the seed: each number depends on the name
 * of the parameter and its index alone. With `values_of`, a list of the same names and shapes, only
 * gradients are allocated, and values are read there. */
rt_status rt_parameters_allocate(rt_parameters *p, uint64_t seed,
                                 const rt_parameters *values_of) RT_MUST_CHECK;

/* Draws the initial values of one parameter of a blank list. */
void rt_parameter_draw(const rt_parameters *p, rt_parameter *parameter);

void rt_parameters_free(rt_parameters *p);

/* Returns the parameter of that name; NULL if there is none. */
rt_parameter *rt_parameters_find(const rt_parameters *p, const char *name);

/* Returns the number of trained numbers, gaps not counted. */
size_t rt_parameters_count(const rt_parameters *p);

void rt_parameters_zero_grads(rt_parameters *p);

#endif
