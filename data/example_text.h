#ifndef ROTOR_DATA_EXAMPLE_TEXT_H
#define ROTOR_DATA_EXAMPLE_TEXT_H

/* A line of text that is in no file, as a row of labelled data: encoded, laid out and cut as the
 * rows of the files are.
 *
 *     classify      text
 *                   text<TAB>text_b, if the data has pairs; without data, if the model has
 *                   types of tokens and the line a tab
 *     tag           tokens with blanks between them: spaces or tabs */

#include "data/batch.h"
#include "data/data.h"
#include "data/labelled_file.h"

typedef struct rt_example_text {
    rt_text_span *texts; /* the text, both of a pair, or the tokens, where they stand in the line */
    int count;
    bool cut;           /* the row has no room for all of it */
    rt_unknown unknown; /* which counts the bytes of the line */
} rt_example_text;

/* Fills the one row of a batch. Where an answer is to be
 * read stands a label, which is no class but the number of the text: 0 at [CLS], or that of each
 * token at its first piece; a token that was cut off has none. RT_ARGUMENT for a line that cannot
 * be such a row: it is empty, not UTF-8 or no pair, or the vocabulary has nothing of a text; or
 * for a row that is too short.
 * To be freed in any case. */
rt_status rt_data_encode_example(rt_example_text *x, const rt_data *data, const char *line,
                                 size_t size, rt_batch *row) RT_MUST_CHECK;

/* Encodes one text of the task classify, or a pair, whose texts may hold tabs; `second` is NULL for
 * a single text. x->unknown counts the bytes of the text that it is in. */
rt_status rt_data_encode_texts(rt_example_text *x, const rt_data *data, const char *text,
                               const char *second, rt_batch *row) RT_MUST_CHECK;
void rt_example_text_free(rt_example_text *x);

#endif
