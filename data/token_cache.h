#ifndef ROTOR_DATA_TOKEN_CACHE_H
#define ROTOR_DATA_TOKEN_CACHE_H

/* Texts that were tokenized once, in the folder data.cache:
 *
 *     NAME.npy          the ids; NAME is the digest of what they follow from: the bytes of the
 *                       text, the tokenizer, data.documents, and the version of rotor
 *     NAME.sums         checksums of the ids (token_file.h)
 *     NAME.info         how many there are, the digest of the checksums, and what the vocabulary
 *                       lacked; written last
 *     NAME.vocabulary   at level char, the characters of a text
 *     NAME.digest       of a file: its size, time and inode, and the digest of its bytes, which is
 *                       made again when those change
 *     NAME.lock         held by the process that makes the others, and then removed
 *
 * Small files begin with the digest of their text. What does not agree with its digest or checksum
 * is made again. Processes that want the same text at once make it once. Whatever fails leaves no
 * file that is half of one, and the bytes that are tokenized must have the digest of the name. */

#include "data/encode_text.h"
#include "data/task.h"
#include "data/token_file.h"

/* Returns whether a text of that size belongs in the cache. */
bool rt_token_cache_takes(const rt_data_options *o, size_t bytes);

/* Adds the ids of a text, from the cache, where they are put first if they are not there. Errors of
 * rt_text_encode; RT_IO if the folder cannot be written. */
rt_status rt_token_cache_open(rt_token_runs *runs, const rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              rt_unknown *unknown) RT_MUST_CHECK;

/* The characters of texts as a vocabulary, in the same way. `make` finds them. */
rt_status rt_token_cache_vocabulary(rt_vocabulary **vocabulary_new,
                                    const rt_text_files *const *texts, size_t count,
                                    const rt_data_options *o, rt_vocabulary_maker *make,
                                    void *context) RT_MUST_CHECK;

#endif
