#ifndef ROTOR_DATA_LABELLED_FILE_H
#define ROTOR_DATA_LABELLED_FILE_H

/* Files of labelled texts, read as a whole, unpacked if their names end in .gz.
 *
 * A table (.tsv or .csv, util/csv.h) has a heading with the columns text, label and, for pairs,
 * text_b. Other columns and empty lines are skipped. A file of tokens has lines "token<TAB>label"
 * and an empty line between sentences. JSON lines (.jsonl) have the fields data.field and
 * data.label_field: a text, or two for a pair, and a label; or the tokens and labels of a sentence.
 *
 * All are UTF-8. Lines end in "\n" or "\r\n"; the last may lack it. Errors are RT_DATA with file,
 * line and column. */

#include "data/data.h"
#include "data/labels.h"

/* A text of a table, or a token. */
typedef struct rt_labelled_text {
    rt_text_span text, second; /* second: of a pair; else empty */
    rt_text_span label;
    int line;
    bool begins; /* begins a row: every text, and the first token of a sentence */
} rt_labelled_text;

/* The parts of a row. */
enum { RT_LABELLED_TEXT, RT_LABELLED_SECOND, RT_LABELLED_LABEL, RT_LABELLED_NAMES };

typedef struct rt_labelled_file {
    const char *path; /* borrowed */
    char *bytes;      /* content of the file; the texts are spans of it */
    size_t size;
    bool tokens;
    bool pairs;
    bool json;                            /* JSON lines */
    const char *names[RT_LABELLED_NAMES]; /* for messages, as "column text", interned */
    rt_labelled_text *texts;              /* at least one */
    size_t count, capacity;
} rt_labelled_file;

/* Returns the problem of bytes that are not text, and its offset; NULL if they are UTF-8 without
 * zeros. */
const char *rt_text_problem(const char *text, size_t size, size_t *at);

/* Reads a file of the task of the options; messages name it by `key`. The caller frees `file` in
 * any case. */
rt_status rt_labelled_file_read(rt_labelled_file *file, const char *key, const char *path,
                                const rt_data_options *o) RT_MUST_CHECK;
void rt_labelled_file_free(rt_labelled_file *file);

#endif
