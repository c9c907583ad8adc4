#ifndef ROTOR_DATA_EXAMPLE_TEXT_H
#define ROTOR_DATA_EXAMPLE_TEXT_H

/* Lines of text as rows of labelled data, encoded and truncated as the rows of files are.
 *
 *     classify      text
 *                   text<TAB>text_b, if the data has pairs; without data, if the model has token
 *                   types and the line has a tab
 *     tag           tokens separated by spaces or tabs */

#include "data/batch.h"
#include "data/data.h"
#include "data/labelled_file.h"

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
 * for a single text. x->unknown.at counts the bytes of its own text. Errors and ownership as above.
 */
rt_status rt_data_encode_texts(rt_example_text *x, const rt_data *data, const char *text,
                               const char *second, rt_batch *row) RT_MUST_CHECK;
void rt_example_text_free(rt_example_text *x);

#endif
