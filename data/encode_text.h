#ifndef ROTOR_DATA_ENCODE_TEXT_H
#define ROTOR_DATA_ENCODE_TEXT_H

/* Texts of any size, which are read a part at a time, and encoded as ids. */

#include "data/data.h"
#include "data/token_format.h"
#include "data/tokenizers/vocabulary.h"

#include <sys/stat.h>

/* ---- files ---- */

/* Files of text that follow each other as one text. */

typedef struct rt_text_file {
    char *path;
    size_t start, size; /* in the text; bytes */
    struct stat facts;
} rt_text_file;

typedef struct rt_text_files {
    const char *key; /* that names the files; not copied */
    rt_text_file *list;
    size_t count, room;
    size_t bytes;
} rt_text_files;

/* Adds a file, of which nothing is read yet, to a text that starts zeroed but for its key. RT_DATA
 * names one that is missing, empty or no regular file. */
rt_status rt_text_files_add(rt_text_files *text, const char *path) RT_MUST_CHECK;
void rt_text_files_close(rt_text_files *text);

/* Goes through bytes from ... to - 1 of a text in parts, each of which ends with a whole character.
 * RT_DATA names a file that was written to or replaced since it was added, and a byte that does not
 * suit the level. */
typedef void rt_text_look(void *context, const unsigned char *bytes, size_t size);
rt_status rt_text_scan(const rt_text_files *text, size_t from, size_t to, rt_level level,
                       rt_text_look *look, void *context) RT_MUST_CHECK;

/* ---- encoding ---- */

/* A text as ids: in parts, by several threads, in the order of the text. The ids are those that the
 * text has as a whole; where a tokenizer leaves no place to cut at, the text is read into memory as
 * a whole. */

typedef struct rt_text_encoding {
    const rt_text_files *text;
    const rt_vocabulary *vocabulary;
    const rt_data_options *options; /* documents, threads, watch */
    const char *what;               /* for the watch: "tokenizing a.txt"; NULL: it is not asked */
    /* Takes the ids of the next part. */
    rt_status (*take)(void *context, rt_id_list *ids);
    rt_text_look *see; /* gets all bytes in their order before they are tokenized; or NULL */
    void *context;
    rt_unknown unknown; /* what the text has that the vocabulary lacks */
} rt_text_encoding;

/* RT_DATA names what is not UTF-8, and where; errors of `take`; RT_IO if the watch asks to stop. */
rt_status rt_text_encode(rt_text_encoding *e) RT_MUST_CHECK;

/* ---- the tokens of data.file ---- */

/* Writes the tokens of data.file as a file of ids, which data.file can then name: a FILE.npy of
 * uint16, or of int32 for a vocabulary of more than 65536 ids; a FILE.bin of uint16 without a
 * header; or a FILE.h5 with the data set /train. The file has its name once it is whole.
 *
 * Returns the number of ids in *count. RT_CONFIG for a name with another ending, a mixture, a task
 * without tokens of files, or a FILE.bin for too many ids; errors of rt_data_open; RT_IO. */
rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count) RT_MUST_CHECK;

#endif
