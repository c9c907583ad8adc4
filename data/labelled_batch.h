#ifndef ROTOR_DATA_LABELLED_BATCH_H
#define ROTOR_DATA_LABELLED_BATCH_H

/* A batch whose labelled positions are gathered. */

#include "core/memory.h"
#include "data/example_text.h"

/* A batch with room for its labels, gathered: only the labelled positions go through the
 * head of the model. */
typedef struct rt_labelled_batch {
    rt_batch batch;
    int length;      /* that it was made for; batch.length is that of its longest row */
    int32_t *where;  /* the labelled positions, as rows of (B*T, C) */
    int32_t *wanted; /* and their labels */
    int labels;
    int64_t *confusion; /* (classes, classes), not its own, or NULL: counts every label at the row
                           of its class and the column of the class that is predicted */
} rt_labelled_batch;

/* Allocates a batch, to be freed in any case. With the account of a dry run (core/memory.h; else
 * NULL) its memory is reserved, and no rows can be drawn. */
rt_status rt_labelled_batch_new(rt_labelled_batch *b, int rows, int length,
                                rt_account *account) RT_MUST_CHECK;
void rt_labelled_batch_free(rt_labelled_batch *b);

/* Draw the rows of the batch as rt_data_training and rt_data_evaluation do, and gather their
 * labels. Rows with lengths of their own are cut to the longest of them: the batch follows from its
 * rows alone. */
void rt_draw_training(rt_labelled_batch *b, const rt_data *data, uint64_t seed, uint32_t step,
                      uint32_t first_row);
void rt_draw_evaluation(rt_labelled_batch *b, const rt_data *data, uint32_t first_row);

/* Draws a line of text as the only row, as rt_data_encode_example encodes it. b->wanted has the
 * numbers of the texts whose answer has a position. */
rt_status rt_draw_text(rt_labelled_batch *b, const rt_data *data, const char *line, size_t size,
                       rt_example_text *text) RT_MUST_CHECK;

#endif
