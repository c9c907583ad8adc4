#ifndef ROTOR_TESTS_OPS_CALLS_H
#define ROTOR_TESTS_OPS_CALLS_H

/* One call of every op, for all tests that walk the ops: their gradients, hostile input, parts, and
 * random programs.
 *
 * To add an op, write a line CALL and a row of op_calls in calls.c. */

#include "core/gradcheck.h"
#include "ops/ops.h"

enum { MOST_INPUTS = 6, CALL_NUMBERS = 1 << 17 };

/* Arguments beside the tensors; each op takes those it has. */
typedef struct op_options {
    double number;       /* factor, probability, eps, smoothing, magnitude of a rotation */
    double divisor;      /* of a loss */
    int kind;            /* activation or pooling, axis of a sum, first feature of a shift */
    const void *before;  /* numbers before the first token of a sum, a convolution or a shift */
    bool onto;           /* a linear map is added to its input 3 */
    rt_shape shape;      /* of a reshaped tensor, or of ids */
    const int *order;    /* of axes */
    const int32_t *ids;  /* ids, or labels */
    int padding;         /* id without a gradient, plus 1; 0: RT_NO_PADDING */
    const uint8_t *mask; /* of pooling and shifts */
    const double *fixed; /* theta in the place of input 1, for one pair */
    bool by_angles;      /* a rotation by input 1 */
    rt_theta_form form;  /* of theta in input 1 */
    rt_pairing pairing;
    rt_positions positions;
    int B, T;         /* of a rotation; 0: those of input 0 */
    double decay;     /* scale of xPos; 0: none */
    int decay_length; /* positions that are decayed; 0: those of input 0 */
    bool bias, keys;  /* attention takes a bias of distances and keys of distances, */
    bool key_bias;    /* and one of the keys, its last input */
    bool no_options;  /* attention and linear attention get NULL */
    rt_attention_options attention;
    rt_linear_attention_options linear; /* causal and key_mask are those of key_exp, too */
} op_options;

/* A function of more than one op, whose context is an op_options. */
#define BUILDER(name)                                                                              \
    static rt_tensor *name(rt_graph *g, rt_tensor *const *in, void *context __attribute__((unused)))

typedef struct op_call {
    const rt_op *op;
    rt_function call; /* its context is an op_options */
    /* Axes of good inputs, "*I,OI,O": a letter is a length, * stands for any leading axes. */
    const char *inputs;
    op_options good;
    unsigned optional; /* bit i: input i may be NULL */
} op_call;

extern const op_call op_calls[];
extern const int op_call_count;

/* Arrays of CALL_NUMBERS for options of good calls: ids and labels are 0, all keys visible. */
extern const int32_t call_zeros[CALL_NUMBERS];
extern uint8_t call_mask[CALL_NUMBERS];
extern double call_positions[CALL_NUMBERS];
extern real call_levels[CALL_NUMBERS];
void fill_call_arrays(void);

/* Returns the first call of an op. */
const op_call *op_call_of(const rt_op *op);

/* Writes a call as "rope((2, 3, 4, 8), (4), number 1, half)": the shapes of its inputs, NULL for
 * one that is left out, and the options that are not 0. Returns `text`. */
enum { CALL_TEXT_SIZE = 512 };
const char *write_call(char text[CALL_TEXT_SIZE], const rt_op *op, rt_tensor *const *in, int inputs,
                       const op_options *o);

/* Returns the shape of the next input by the lengths of its letters, and moves *inputs behind it;
 * its ndim is -1 after the last. */
rt_shape next_input(const char **inputs, const int lengths[128], rt_shape leading);

#endif
