#ifndef ROTOR_DATA_DOCUMENTS_H
#define ROTOR_DATA_DOCUMENTS_H

/* The documents of a text (data.documents), and places where a text can be cut without changing its
 * ids. */

#include "data/data.h"
#include "data/tokenizers/vocabulary.h"

/* Checks data.documents, as rt_data_rules. */
void rt_documents_check(const rt_data_options *o, rt_rule_sink to);

/* Returns whether the text has documents. */
bool rt_documents_are_cut(const rt_data_options *o);

/* Byte range of a document without its separator. */
typedef struct rt_document_span {
    size_t start, end;
} rt_document_span;

/* Finds the next document that is not empty, from *at on, and moves *at behind its separator.
 * Returns false if there is none. */
bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span);

/* Returns whether a text can be cut with these options. */
bool rt_text_can_be_cut(const rt_data_options *o, const rt_vocabulary *v);

/* Returns the last place in the first `size` bytes of a text where it can be cut without changing
 * its ids; 0 if there is none. */
size_t rt_text_cut(const rt_data_options *o, const rt_vocabulary *v, const unsigned char *bytes,
                   size_t size);

/* Returns the size without an incomplete character at the end. */
size_t rt_whole_characters(const unsigned char *bytes, size_t size);

#endif
