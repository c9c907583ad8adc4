#ifndef ROTOR_DATA_JSON_LINES_H
#define ROTOR_DATA_JSON_LINES_H

/* JSON lines (FILE.jsonl): each line is an object, of which some fields are texts or labels. Blank
 * lines are skipped. Errors are RT_DATA with file and line; RT_MEMORY. */

#include "data/labels.h"
#include "util/json.h"

/* A line. */
typedef struct rt_json_line {
    const char *path; /* borrowed */
    int number;       /* from 1 */
    json_t *object;   /* owned */
} rt_json_line;

bool rt_json_is_lines(const char *path);

/* Returns whether a name looks like one of JSON lines and is not: FILE.ndjson or FILE.JSONL. */
bool rt_json_is_other_spelling(const char *path);

bool rt_json_line_is_blank(const char *bytes, size_t size);

/* Parses a line, which is changed (rt_json_parse), into line->object. A text may hold zeros. */
rt_status rt_json_line_parse(rt_json_line *line, char *bytes, size_t size) RT_MUST_CHECK;

/* Finds a field of any type. */
rt_status rt_json_line_field(const rt_json_line *line, const char *field,
                             const json_t **value) RT_MUST_CHECK;

/* Returns the text of a value, a string, as a span of the object. */
rt_status rt_json_line_text(const rt_json_line *line, const char *field, const json_t *value,
                            rt_text_span *text) RT_MUST_CHECK;

/* Writes a value as a label: a string as it is; true, false, an integer, and any other number by
 * the shortest text that JSON reads as the same number. */
typedef char rt_json_label_text[RT_LABEL_LIMIT + 2];
rt_status rt_json_line_label(const rt_json_line *line, const char *field, const json_t *value,
                             rt_json_label_text label, size_t *size) RT_MUST_CHECK;

#endif
