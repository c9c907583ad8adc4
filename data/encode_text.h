#ifndef ROTOR_DATA_ENCODE_TEXT_H
#define ROTOR_DATA_ENCODE_TEXT_H

/* Texts of any size, read and encoded in parts. */

#include "data/data.h"
#include "data/text_files.h"
#include "data/token_formats.h"

/* Returns what separates the documents of a text, whose files all are JSON lines or none is, as
 * rt_document_next takes it; NULL if it has no documents. */
const char *rt_text_documents(const rt_text_files *text, const rt_data_options *o);

/* Passes a line to the watch, if there is one. */
void rt_data_say(const rt_data_options *o, const char *line);

/* Byte range of a document without its separator. */
typedef struct rt_document_span {
    size_t start, end;
} rt_document_span;

/* Finds the next document that is not empty, from *at on, and moves *at behind its separator.
 * Returns false if there is none. */
bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span);

/* Reads a text in parts that end with a whole character, and passes them to `look`. RT_DATA names a
 * file that has changed since it was added, and a byte that is invalid at the level. Documents of
 * JSON lines end with RT_JSON_DOCUMENT. */
typedef void rt_text_look(void *context, const unsigned char *bytes, size_t size);
rt_status rt_text_scan(rt_text_files *text, rt_level level, rt_text_look *look,
                       void *context) RT_MUST_CHECK;

/* Creates the vocabulary of the characters of a text. Messages name data.file. RT_CONFIG if the
 * text has no files. */
rt_status rt_text_characters(rt_vocabulary **vocabulary_new, rt_text_files *text,
                             const rt_data_options *o) RT_MUST_CHECK;

/* Encoding of a text in parts, by several threads, in the order of the text. The ids equal those of
 * the whole text. If the tokenizer allows no cuts, the text is read into memory as a whole. */
typedef struct rt_text_encoding {
    rt_text_files *text;
    const rt_vocabulary *vocabulary;
    const rt_data_options *options; /* documents, special, threads, watch */
    bool watched;                   /* the watch receives "tokenizing a.txt" */
    /* Receives the ids of the next part. */
    rt_status (*take)(void *context, rt_id_list *ids);
    rt_text_look *see; /* receives all bytes in order before they are encoded; or NULL */
    void *context;
    rt_unknown unknown; /* result: unknown characters or words */
} rt_text_encoding;

/* Encodes a text. RT_DATA names a byte that is not UTF-8 and its offset; errors of `take`; RT_IO if
 * the watch requests a stop. */
rt_status rt_text_encode(rt_text_encoding *e) RT_MUST_CHECK;

#endif
