#ifndef ROTOR_DATA_TOKEN_CACHE_H
#define ROTOR_DATA_TOKEN_CACHE_H

/* Cache of tokenized texts in the folder data.cache:
 *
 *     NAME.npy          the ids. NAME is the digest of everything they depend on: the bytes of the
 *                       text, the tokenizer, data.documents, data.special and the version of rotor
 *     NAME.info         number of ids, unknown characters or words, checksums of the ids
 *                       (token_file.h); written last
 *     NAME.vocabulary   level char: the vocabulary of a text
 *     NAME.digest       size, time, device, inode and digest of a text file; made again when they
 *                       change
 *     NAME.lock         held by the process that makes the files, then removed
 *
 * NAME.info, NAME.vocabulary and NAME.digest begin with the digest of their content. An entry that
 * disagrees with its digest or a checksum is made again. Of several processes that need an entry
 * one makes it. A failure leaves no partial file. Tokenized bytes are checked against the digest in
 * NAME. */

#include "data/encode_text.h"
#include "data/task.h"
#include "data/token_file.h"

/* Returns whether a text of this size is cached. */
bool rt_token_cache_takes(const rt_data_options *o, size_t bytes);

/* Adds the ids of a text to the runs and creates the cache entry if needed. Errors of
 * rt_text_encode; RT_IO if the folder cannot be written. */
rt_status rt_token_cache_open(rt_token_runs *runs, const rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              rt_unknown *unknown) RT_MUST_CHECK;

/* Reads the vocabulary of the characters of a text from the cache, or creates it by `make` and
 * caches it. Errors as rt_token_cache_open. */
rt_status rt_token_cache_vocabulary(rt_vocabulary **vocabulary_new, const rt_text_files *text,
                                    const rt_data_options *o, rt_vocabulary_maker *make,
                                    void *context) RT_MUST_CHECK;

#endif
