#ifndef ROTOR_DATA_ENCODE_TEXT_H
#define ROTOR_DATA_ENCODE_TEXT_H

/* Texts of any size: their documents, places where a text can be cut without changing its ids, and
 * reading and encoding in parts. */

#include "data/data.h"
#include "data/token_format.h"
#include "data/tokenizers/vocabulary.h"

#include <sys/stat.h>

/* ---- documents (data.documents) and places to cut (documents.c) ---- */

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

/* ---- reading and encoding ---- */

/* Files that form one text. */

typedef struct rt_text_file {
    char *path;
    size_t start, size; /* offset in the text; bytes */
    struct stat facts;
} rt_text_file;

typedef struct rt_text_files {
    const char *key; /* key that names the files (borrowed) */
    rt_text_file *list;
    size_t count, capacity;
    size_t bytes;
} rt_text_files;

/* Adds a file to a text, which starts zeroed except its key. The content is not read. RT_DATA names
 * a file that is missing, empty or not regular. */
rt_status rt_text_files_add(rt_text_files *text, const char *path) RT_MUST_CHECK;
void rt_text_files_close(rt_text_files *text);

/* Reads bytes from ... to - 1 of a text in parts that end with a whole character, and passes them
 * to `look`. RT_DATA names a file that has changed since it was added, and a byte that is invalid
 * at the level. */
typedef void rt_text_look(void *context, const unsigned char *bytes, size_t size);
rt_status rt_text_scan(const rt_text_files *text, size_t from, size_t to, rt_level level,
                       rt_text_look *look, void *context) RT_MUST_CHECK;

/* Encoding of a text in parts, by several threads, in the order of the text. The ids equal those of
 * the whole text. If the tokenizer allows no cuts, the text is read into memory as a whole. */

typedef struct rt_text_encoding {
    const rt_text_files *text;
    const rt_vocabulary *vocabulary;
    const rt_data_options *options; /* documents, special, threads, watch */
    const char *what; /* description for the watch ("tokenizing a.txt"); NULL: no watch */
    /* Receives the ids of the next part. */
    rt_status (*take)(void *context, rt_id_list *ids);
    rt_text_look *see; /* receives all bytes in order before they are encoded; or NULL */
    void *context;
    rt_unknown unknown; /* result: unknown characters or words */
} rt_text_encoding;

/* Encodes a text. RT_DATA names a byte that is not UTF-8 and its offset; errors of `take`; RT_IO if
 * the watch requests a stop. */
rt_status rt_text_encode(rt_text_encoding *e) RT_MUST_CHECK;

/* Writes the tokens of data.file to a file of ids that data.file can then name: FILE.npy of uint16
 * (int32 for more than 65536 ids), FILE.bin of uint16 without a header, or FILE.h5 with the data
 * set /train. The file gets its name when it is complete.
 *
 * *count is the number of ids. RT_CONFIG for another file name ending, a mixture, a task other than
 * text and tokens, or too many ids for FILE.bin; errors of rt_data_open; RT_IO. */
rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count) RT_MUST_CHECK;

#endif
