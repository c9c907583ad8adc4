#ifndef ROTOR_DATA_TOKEN_CACHE_H
#define ROTOR_DATA_TOKEN_CACHE_H

/* Cache of tokenized texts in the folder data.cache:
 *
 *     NAME.npy          the ids. NAME is the digest of everything they depend on: the bytes of the
 *                       text, the tokenizer, data.documents, data.special and the version of rotor
 *     NAME.info         unknown characters or words, checksums of the ids (rt_token_sums); written
 *                       last
 *     NAME.vocabulary   level char: the vocabulary of a text
 *     NAME.digest       digest of the bytes of a text. NAME is that of the paths and states
 *                       (rt_file_state) of its files
 *     NAME.lock         held by the process that makes the files, then removed
 *
 * NAME.info, NAME.vocabulary and NAME.digest begin with the digest of their content. An entry that
 * disagrees with its digest or a checksum is made again. Of several processes that need an entry
 * one makes it. A failure leaves no partial file. Tokenized bytes are checked against the digest in
 * NAME. */

#include "data/encode_text.h"

/* Returns whether a text of this size is cached. */
bool rt_token_cache_takes(const rt_data_options *o, size_t bytes);

/* The ids of a text in the cache. */
typedef struct rt_cached_ids {
    rt_token_input file; /* NAME.npy; its checksums are owned by the caller */
    rt_unknown unknown;
} rt_cached_ids;

/* Finds the ids of a text, without reading NAME.npy, and creates the cache entry if there is none
 * or NAME.npy is damaged. Errors of rt_text_encode; RT_IO if the folder cannot be
 * written. */
rt_status rt_token_cache_find(rt_cached_ids *ids, rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              bool damaged) RT_MUST_CHECK;

/* Reads the vocabulary of the characters of a text from the cache, or creates it as
 * rt_text_characters and caches it. Errors as rt_token_cache_find. */
rt_status rt_token_cache_vocabulary(rt_vocabulary **vocabulary_new, rt_text_files *text,
                                    const rt_data_options *o) RT_MUST_CHECK;

#endif
