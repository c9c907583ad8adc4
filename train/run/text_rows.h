#ifndef ROTOR_TRAIN_RUN_TEXT_ROWS_H
#define ROTOR_TRAIN_RUN_TEXT_ROWS_H

/* The lines of a file of texts as rows of a model, each laid out as if it were alone: as a row of
 * labelled data (data/example_text.h), or as running text begins, cut to data.length. */

#include "data/data.h"

#include <stdio.h>

typedef struct rt_text_row {
    int32_t *ids, *types; /* types: NULL if there are none */
    int count;            /* 0: the line has no token */
} rt_text_row;

typedef struct rt_text_rows {
    rt_text_row *rows; /* of each line */
    size_t count, room;
    long cut; /* lines that are longer than data.length */
    rt_unknown unknown;
} rt_text_rows;

/* What is read. */
typedef struct rt_text_source {
    FILE *from;
    const char *name;  /* for messages */
    int32_t last;      /* of running text: the token behind a text; RT_NO_ID: none */
    bool may_be_empty; /* a line; it has a row of no tokens */
} rt_text_source;

/* RT_DATA names the line that cannot be read or has no token, and is also for a file without a
 * line; RT_CONFIG if the data has no texts. To be freed in any case. */
rt_status rt_text_rows_read(rt_text_rows *rows, const rt_data *data,
                            rt_text_source source) RT_MUST_CHECK;
void rt_text_rows_free(rt_text_rows *rows);

/* Opens a file for it, or standard input for "-". RT_DATA if that cannot be done. */
rt_status rt_text_source_open(rt_text_source *source, const char *path) RT_MUST_CHECK;
void rt_text_source_close(rt_text_source *source);

#endif
