#ifndef ROTOR_DATA_LABELLED_BATCH_H
#define ROTOR_DATA_LABELLED_BATCH_H

#include "core/memory.h"
#include "data/data.h"
#include "data/labels.h"

/* Lines of text as rows of labelled data, encoded and truncated as the rows of files are.
 *
 *     classify      text
 *                   text<TAB>text_b, if the data has pairs; without data, if the model has token
 *                   types and the line has a tab
 *     tag           tokens separated by spaces or tabs */

typedef struct rt_example_text {
    rt_text_span *texts; /* the text, both texts of a pair, or the tokens, as spans of the line */
    int count;
    bool cut;           /* the row was truncated */
    rt_unknown unknown; /* unknown.at counts the bytes of the line */
} rt_example_text;

/* Encodes a line as the one row of a batch. Labels mark the positions of the answers and number the
 * texts: 0 at [CLS], or the index of each token at its first piece. A truncated token has no label.
 * RT_ARGUMENT if the line is empty, not UTF-8, not a pair or has no token of the vocabulary, or if
 * the row is too short. The caller frees `x` in any case. */
rt_status rt_data_encode_example(rt_example_text *x, const rt_data *data, const char *line,
                                 size_t size, rt_batch *row) RT_MUST_CHECK;

/* Encodes a text of the task classify, or a pair, whose texts may contain tabs; `second` is NULL
 * for a single text. x->unknown.at counts the bytes of its text. Errors and ownership as above. */
rt_status rt_data_encode_texts(rt_example_text *x, const rt_data *data, const char *text,
                               const char *second, rt_batch *row) RT_MUST_CHECK;
void rt_example_text_free(rt_example_text *x);

/* A batch with a list of its labelled positions: only these go through the head of the model. */
typedef struct rt_labelled_batch {
    rt_batch batch;
    int length;      /* T of the allocation; batch.length is that of the longest row */
    int32_t *where;  /* labelled positions, as rows of (B*T, C) */
    int32_t *wanted; /* their labels */
    int labels;
    int32_t *predicted; /* (B*T), borrowed: receives the prediction for each label; or NULL */
    double *positions;  /* (B, T): positions of the tokens; NULL: 0, 1, ... */
    int randomized;     /* positions are drawn from 0 ... randomized - 1 */
} rt_labelled_batch;

/* Allocates a batch, with room for patches of `patch` numbers, which the caller frees in any case.
 * With the account of a dry run (core/memory.h; else NULL) memory is only reserved, and no rows can
 * be drawn. */
rt_status rt_labelled_batch_new(rt_labelled_batch *b, int rows, int length, int patch,
                                rt_account *account) RT_MUST_CHECK;
void rt_labelled_batch_free(rt_labelled_batch *b);

/* Gives each row that is drawn random positions: as many different numbers as it has tokens, in
 * ascending order, from 0 ... most - 1 (Ruoss et al. 2023). All sets of numbers are equally likely.
 * The positions of a row depend on seed, step and its number alone. Padding has the last position.
 * `account` as for rt_labelled_batch_new. */
rt_status rt_labelled_batch_randomize(rt_labelled_batch *b, int most,
                                      rt_account *account) RT_MUST_CHECK;

/* Draws the rows as rt_data_training and rt_data_evaluation do and lists their labels. If rows
 * differ in length, the batch is truncated to the longest one, so it depends on its rows only. */
void rt_draw_training(rt_labelled_batch *b, const rt_data *data, uint64_t seed, uint32_t step,
                      uint32_t first_row);
void rt_draw_evaluation(rt_labelled_batch *b, const rt_data *data, uint32_t first_row);

/* Encodes a line of text as the only row, as rt_data_encode_example. b->wanted has the indices of
 * the texts that have an answer. */
rt_status rt_draw_text(rt_labelled_batch *b, const rt_data *data, const char *line, size_t size,
                       rt_example_text *text) RT_MUST_CHECK;

#endif
