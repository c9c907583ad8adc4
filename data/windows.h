#ifndef ROTOR_DATA_WINDOWS_H
#define ROTOR_DATA_WINDOWS_H

/* The sequences of a training: the order of rows of different lengths, and windows of a long run
 * of tokens. */

#include "core/random.h"
#include "data/data.h"

/* ---- the order of rows ---- */

/* The order in which a training goes over rows of different lengths, without a state: which row a
 * sequence is follows from the seed, the step and the sequence's number in the batch.
 *
 * The rows stand sorted by their length. An epoch cuts them into blocks, whose bounds lie elsewhere
 * in every epoch, and puts each block in an order of its own; batches are consecutive rows of that,
 * so the rows of a batch are about as long as each other. The batches of an epoch come in an order
 * of its own as well. An epoch is ceil(rows / batch) steps, has every row, and fills its last
 * batch with rows of its first. */

typedef struct rt_order {
    uint32_t rows;  /* at least 1 */
    uint32_t batch; /* rows of a step, at least 1 */
} rt_order;

/* The place, among the rows sorted by length, of the sequence of a step. */
uint32_t rt_order_training(rt_order order, uint64_t seed, uint32_t step, uint32_t sequence);

/* Returns the row of an evaluation sequence. An evaluation has every row once: batches of
 * consecutive rows in a random order, so that the first ones are a sample of all lengths, then the
 * rows that fill no batch. A number past the last row begins again. */
uint32_t rt_order_evaluation(rt_order order, uint64_t seed, uint32_t sequence);

/* The i-th of the numbers 0 ... n-1 in a random order (a Feistel network whose rounds are
 * Philox; what falls outside is sent through it again). `number` tells permutations of the same
 * randomness apart. */
uint32_t rt_permuted(rt_random random, uint32_t number, uint32_t n, uint32_t i);

/* ---- windows ---- */

/* Windows of consecutive tokens, cut of a long run of them, and their training objective.
 * A sequence is [CLS] and one window.
 *
 * With data.cross = no, windows do not go over the token that ends a document, whoever put it
 * there. */

struct rt_draw;
struct rt_sequence;

/* Tokens that lie together: a part of what is trained on, or one text for evaluation. */
typedef struct rt_window_text {
    size_t first, count;
    double weight; /* of a part that is trained on */
} rt_window_text;

/* Starts zeroed. */
typedef struct rt_window_texts {
    rt_window_text *list;
    size_t count, room;
} rt_window_texts;

/* Each training window lies in one of the parts of data.file: all of it, or one file of a mixture.
 * Each evaluation window lies in one of the texts: the files of data.eval_file or, without it, the
 * tails of those parts; then the two overlap only when eval_fraction is 0. */
typedef struct rt_windows {
    rt_window_texts parts, texts;
    double weight; /* of all parts */
    size_t taken;  /* tokens of both */
} rt_windows;

/* Checks the keys of [data] on the evaluation part and on masking, as rt_data_rules. */
void rt_windows_check(const rt_data_options *o, rt_rule_sink to);

/* Takes the next tokens as a part of data.file, `name` in messages. RT_DATA if there is no window
 * for training in them, or none for evaluation if their tail is kept for it; `many` names them in
 * the message. */
rt_status rt_windows_train(rt_data *data, const char *name, size_t count, double weight,
                           const char *many) RT_MUST_CHECK;

/* Takes the next tokens as those of a file of data.eval_file. RT_DATA if there is no window in
 * them. */
rt_status rt_windows_add(rt_data *data, const char *path, size_t count,
                         const char *many) RT_MUST_CHECK;
void rt_windows_close(rt_data *data);

/* Return rt_data_evaluation_rows of a source, and draw a row. */
long rt_windows_evaluation_rows(const rt_data *data, int length);
void rt_windows_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

/* Returns whether windows end with their document. */
bool rt_data_keeps_documents(const rt_data *data);

#endif
