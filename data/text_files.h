#ifndef ROTOR_DATA_TEXT_FILES_H
#define ROTOR_DATA_TEXT_FILES_H

/* Files that form one text, read from its start to its end: plain files, compressed ones (.gz), and
 * JSON lines (.jsonl), whose documents are a field of each line. */

#include "data/gzip.h"
#include "data/json_lines.h"
#include "util/files.h"

/* Follows each document of JSON lines. It is a byte that no text in UTF-8 has. */
#define RT_JSON_DOCUMENT "\xff"

typedef struct rt_text_file {
    const char *path; /* borrowed */
    size_t size;      /* bytes of the file */
    size_t start;     /* offset in the text, once it is reached */
    bool json;        /* JSON lines */
    rt_file_state state;
} rt_text_file;

typedef struct rt_text_files {
    const char *key;   /* key that names the files (borrowed) */
    const char *field; /* of JSON lines, data.field (borrowed); NULL: they are plain files */
    rt_text_file *list;
    size_t count, capacity;
    size_t reached; /* files of which `start` is known */
    size_t bytes;   /* size of the text; of a compressed file an estimate, of JSON lines a bound */
    size_t packed;  /* bytes of the files */
} rt_text_files;

/* Adds a file to a text, which starts zeroed except its key and field. The content is not read.
 * RT_DATA names a file that is missing, empty or not regular. */
rt_status rt_text_files_add(rt_text_files *text, const char *path) RT_MUST_CHECK;
void rt_text_files_close(rt_text_files *text);

/* Returns the file of byte `at`, which has been read, its offset in the file, and the number of the
 * next `size` bytes that lie in the file. */
const rt_text_file *rt_text_piece(const rt_text_files *text, size_t at, size_t size, size_t *from,
                                  size_t *n);

/* Reading of a text. It starts zeroed except `text`, and does not move. */
typedef struct rt_text_stream {
    rt_text_files *text;
    rt_unpacked in; /* the last file that was reached */
    size_t at;      /* offset in the text */
    size_t before;  /* bytes of the files that have ended */
    rt_lines lines; /* of JSON lines */
    rt_json_line line;
    rt_text_span rest; /* of the document of the line */
} rt_text_stream;

/* Reads the next bytes; fewer than `wanted` only at the end of the text. RT_DATA names a file that
 * has changed since it was added, is damaged, or has a line without the field. */
rt_status rt_text_read(rt_text_stream *s, unsigned char *to, size_t wanted,
                       size_t *got) RT_MUST_CHECK;

/* Returns the share of the text that has been read. */
double rt_text_share(const rt_text_stream *s);
void rt_text_close(rt_text_stream *s);

/* Reads a text of one file as a whole into a block that the caller frees, each document of JSON
 * lines as a line. RT_DATA as above, and if the text is larger than RT_FILES_LIMIT. */
rt_status rt_text_read_whole(const char *key, const char *field, const char *path,
                             unsigned char **bytes_new, size_t *count) RT_MUST_CHECK;

#endif
