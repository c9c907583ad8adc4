#ifndef ROTOR_DATA_LABELLED_FILE_H
#define ROTOR_DATA_LABELLED_FILE_H

/* Files of labelled texts, read whole.
 *
 * A table (.tsv or .csv, see text/csv.h) has a heading line with the columns text, label and, of
 * pairs, text_b; other columns are passed over, and so are empty lines. A file of tokens has a line
 * "token<TAB>label" for each, and an empty line between sentences.
 *
 * Both are UTF-8, with lines that end in "\n" or "\r\n", the last of which may be missing. What is
 * wrong is RT_DATA, with file, line and column. */

#include "data/labels.h"

/* A text of a table, or a token. */
typedef struct rt_labelled_text {
    rt_text_span text, second; /* second: of a pair; else empty */
    rt_text_span label;
    int line;
    bool begins; /* a row: every text, and the first token of a sentence */
} rt_labelled_text;

typedef struct rt_labelled_file {
    const char *path; /* borrowed */
    char *bytes;      /* of the file, where the texts stand */
    size_t size;
    bool tokens;
    bool pairs;
    rt_labelled_text *texts; /* one at least */
    size_t count, room;
} rt_labelled_file;

/* Returns whether a path ends as that of a table, with .tsv or .csv. */
bool rt_is_table_name(const char *path);

/* Returns why bytes are no text, and where; NULL if they are UTF-8 without zeros. */
const char *rt_text_problem(const char *text, size_t size, size_t *at);

/* Reads a file, which `key` names in messages. To be freed in any case. */
rt_status rt_labelled_file_read(rt_labelled_file *file, const char *key, const char *path,
                                bool tokens) RT_MUST_CHECK;
void rt_labelled_file_free(rt_labelled_file *file);

/* The name of a text's column: "text", "text_b" or "token". */
const char *rt_labelled_column(const rt_labelled_file *file, bool second);

#endif
