#ifndef ROTOR_DATA_DOCUMENTS_H
#define ROTOR_DATA_DOCUMENTS_H

/* The documents of a text, by what separates them (data.documents), and the places where a text can
 * be cut without another id. */

#include "data/data.h"
#include "data/tokenizers/vocabulary.h"

/* Checks data.documents, as rt_data_rules. */
void rt_documents_check(const rt_data_options *o, rt_rule_sink to);

/* Returns whether a text is cut into documents. */
bool rt_documents_are_cut(const rt_data_options *o);

/* The bytes of a document, without what separates it from the next one. */
typedef struct rt_document_span {
    size_t start, end;
} rt_document_span;

/* The next document of a text that is not empty, from *at on, which is moved behind it and what
 * separates it; false if there are no more. */
bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span);

/* Returns whether a text can be cut at all. */
bool rt_text_can_be_cut(const rt_data_options *o, const rt_vocabulary *v);

/* Returns the last place in the beginning of a text where the text can be cut; 0 if there is none.
 * The two parts have the ids of the whole. */
size_t rt_text_cut(const rt_data_options *o, const rt_vocabulary *v, const unsigned char *bytes,
                   size_t size);

/* Returns the size of the beginning of a text without a character that is cut at its end. */
size_t rt_whole_characters(const unsigned char *bytes, size_t size);

#endif
