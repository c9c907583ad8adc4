#ifndef ROTOR_DATA_WINDOWS_H
#define ROTOR_DATA_WINDOWS_H

/* The sequences of a training: order of labelled rows, and windows of a long run of tokens. */

#include "core/random.h"
#include "data/data.h"

/* Order in which a training visits rows of different lengths. It has no state: the row of a
 * sequence is a function of the seed, the step and the sequence's number in the batch.
 *
 * Rows are sorted by length. An epoch cuts them into blocks with random bounds and shuffles each
 * block. Batches are consecutive shuffled rows, so their rows are of similar length. The batches
 * are shuffled as well. An epoch has ceil(rows / batch) steps and contains every row; it fills its
 * last batch with rows of its first. */

typedef struct rt_order {
    uint32_t rows;  /* at least 1 */
    uint32_t batch; /* rows per step, at least 1 */
} rt_order;

/* Returns the index, among the rows sorted by length, of a training sequence. */
uint32_t rt_order_training(rt_order order, uint64_t seed, uint32_t step, uint32_t sequence);

/* Returns the same index for an evaluation sequence. An evaluation visits every row once: first
 * full batches of consecutive rows in random order, so that any prefix is a sample of all lengths,
 * then the remaining rows. Numbers past the last row wrap around. */
uint32_t rt_order_evaluation(rt_order order, uint64_t seed, uint32_t sequence);

/* Returns element i of a random permutation of 0 ... n-1: a Feistel network with Philox as round
 * function, repeated while the result is not below n. `number` selects one of several permutations.
 */
uint32_t rt_permuted(rt_random random, uint32_t number, uint32_t n, uint32_t i);

/* Windows of consecutive tokens and their training objective. A sequence is [CLS] and one window.
 *
 * With data.cross = no, windows do not cross the token that ends a document, whatever its origin.
 */

struct rt_draw;
struct rt_sequence;

/* Consecutive tokens: a training part or an evaluation text. */
typedef struct rt_window_text {
    size_t first, count;
    double weight; /* of a training part */
} rt_window_text;

/* List of spans. It starts zeroed. */
typedef struct rt_window_texts {
    rt_window_text *list;
    size_t count, capacity;
} rt_window_texts;

/* Training parts: all of data.file, or each file of a mixture. Evaluation texts: the files of
 * data.eval_file or, without it, the tails of the parts. Windows lie within one of them. Training
 * and evaluation overlap only if eval_fraction is 0. */
typedef struct rt_windows {
    rt_window_texts parts, texts;
    double weight; /* sum over the parts */
    size_t taken;  /* tokens added so far */
} rt_windows;

/* Adds the next `count` tokens as a part of data.file. RT_DATA, with `name` and `many` (the plural
 * of its tokens), if they have no training window or their tail no evaluation window. */
rt_status rt_windows_train(rt_data *data, const char *name, size_t count, double weight,
                           const char *many) RT_MUST_CHECK;

/* Adds the next `count` tokens as an evaluation text. RT_DATA if they have no window. */
rt_status rt_windows_add(rt_data *data, const char *path, size_t count,
                         const char *many) RT_MUST_CHECK;

/* Returns rt_data_evaluation_rows of a source with windows; draws a row. */
long rt_windows_evaluation_rows(const rt_data *data, int length);
void rt_windows_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

/* Returns whether windows end at the end of their document. */
bool rt_data_keeps_documents(const rt_data *data);

#endif
