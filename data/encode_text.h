#ifndef ROTOR_DATA_ENCODE_TEXT_H
#define ROTOR_DATA_ENCODE_TEXT_H

/* Encodes texts of any size as ids, which are kept in memory in as few bits as the vocabulary
 * needs. */

#include "data/data.h"
#include "data/text_files.h"
#include "data/token_file.h"
#include "data/tokenizers/vocabulary.h"

/* ---- ids in memory ---- */

/* Ids in memory, in as few bits as the vocabulary needs: 16 or 32. */

typedef struct rt_id_list {
    void *ids;
    size_t width; /* bytes of an id, see rt_id_width */
    size_t count, room;
    bool failed; /* the heap is exhausted */
} rt_id_list;

size_t rt_id_width(int vocab);

/* Makes room for so many ids in all; see `failed`. */
void rt_id_list_reserve(rt_id_list *list, size_t room);

/* Adds an id to the rt_id_list: an rt_id_taker. */
void rt_id_list_add(void *list, int32_t id);
void rt_id_list_free(rt_id_list *list);

/* ---- encoding ---- */

/* A text of any size as ids: in parts, by several threads, in the order of the text. The ids are
 * those that the text has as a whole; where a tokenizer leaves no place to cut at, the text is read
 * into memory as a whole. */

typedef struct rt_text_encoding {
    const rt_text_files *text;
    const rt_vocabulary *vocabulary;
    const rt_data_options *options; /* documents, threads, watch */
    const char *what;               /* for the watch: "tokenizing a.txt" */
    /* Takes the ids of the next part, which it may keep. */
    rt_status (*take)(void *context, rt_id_list *ids);
    void *context;
    /* Sees all bytes in their order before they are tokenized; not those of a text in memory. NULL:
     * nobody does. */
    void (*see)(void *viewer, const unsigned char *bytes, size_t size);
    void *viewer;
    rt_unknown unknown; /* what the text has that the vocabulary lacks */
} rt_text_encoding;

/* RT_DATA names what is not UTF-8, and where; errors of `take`; RT_IO if the watch asks to stop. */
rt_status rt_text_encode(rt_text_encoding *e) RT_MUST_CHECK;

/* Goes through a text in parts, each of which ends with a whole character: for what is to be known
 * before there is a vocabulary. `level` is the one that the text must suit. */
typedef void rt_text_look(void *context, const unsigned char *bytes, size_t size);
rt_status rt_text_scan(const rt_text_files *text, rt_level level, rt_text_look *look,
                       void *context) RT_MUST_CHECK;

/* ---- the tokens of data.file ---- */

/* The tokens of data.file as a file of ids, which data.file can then name: a FILE.npy of uint16, or
 * of int32 for a vocabulary of more than 65536 ids; a FILE.bin of uint16 without a header; or a
 * FILE.h5 with the data set /train. The file has its name once it is whole. */

/* Returns the number of ids in *count. RT_CONFIG for a name with another ending, a mixture, or a
 * FILE.bin for too many ids; errors of rt_data_open; RT_IO. */
rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count) RT_MUST_CHECK;

#endif
