#ifndef ROTOR_DATA_ORDER_H
#define ROTOR_DATA_ORDER_H

/* The order in which a training goes over rows of different lengths, without a state: which row a
 * sequence is follows from the seed, the step and the sequence's number in the batch.
 *
 * The rows stand sorted by their length. An epoch cuts them into blocks, whose bounds lie elsewhere
 * in every epoch, and puts each block in an order of its own; batches are consecutive rows of that,
 * so the rows of a batch are about as long as each other. The batches of an epoch come in an order
 * of its own as well. An epoch is ceil(rows / batch) steps, has every row, and fills its last
 * batch with rows of its first. */

#include "core/random.h"

typedef struct rt_order {
    uint32_t rows;  /* at least 1 */
    uint32_t batch; /* rows of a step, at least 1 */
} rt_order;

/* The place, among the rows sorted by length, of the sequence of a step. */
uint32_t rt_order_training(rt_order order, uint64_t seed, uint32_t step, uint32_t sequence);

/* The same of an evaluation, which has every row once: batches of consecutive rows in a random
 * order, so that the first ones are a sample of all lengths, and the rows that fill no batch at the
 * end. A number past the last row begins again. */
uint32_t rt_order_evaluation(rt_order order, uint64_t seed, uint32_t sequence);

/* The i-th of the numbers 0 ... n-1 in a random order (a Feistel network whose rounds are
 * Philox; what falls outside is sent through it again). `number` tells permutations of the same
 * randomness apart. */
uint32_t rt_permuted(rt_random random, uint32_t number, uint32_t n, uint32_t i);

#endif
