#ifndef ROTOR_DATA_DOCUMENTS_H
#define ROTOR_DATA_DOCUMENTS_H

/* The documents of a text: what separates them (data.documents), and windows that do not go over
 * the token that ends each (data.cross = no). In a run of tokens a document ends with that token,
 * whoever put it there. */

#include "data/data.h"
#include "data/windows.h"

/* Checks data.documents and data.cross, as rt_data_rules. */
void rt_documents_check(const rt_data_options *o, rt_rule_sink to);

/* Return whether a text is cut into documents, and whether windows end with their document. */
bool rt_documents_are_cut(const rt_data_options *o);
bool rt_data_keeps_documents(const rt_data *data);

/* ---- of a text ---- */

/* The bytes of a document, without what separates it from the next one. */
typedef struct rt_document_span {
    size_t start, end;
} rt_document_span;

/* The next document of a text that is not empty, from *at on, which is moved behind it and what
 * separates it; false if there are no more. */
bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span);

/* The last place of a text, or of its beginning, at which a document begins and so the text can be
 * cut; 0 if there is none. */
size_t rt_document_cut(const char *documents, const unsigned char *text, size_t bytes);

/* ---- of a run of tokens ---- */

/* Positions at which a window of `count` tokens around a token may begin. */
typedef struct rt_document {
    size_t first_start, last_start, count;
} rt_document;

/* Returns the document of a token in a part: all of it, or the windows that hold the token. */
rt_document rt_document_around(const rt_data *data, const rt_window_text *part, size_t token,
                               size_t window);

/* Moves the longest piece of `count` ids that lies in one document to their beginning, makes
 * padding of the others, and returns how many there are. */
int rt_document_longest(const rt_data *data, int32_t *ids, int count);

#endif
