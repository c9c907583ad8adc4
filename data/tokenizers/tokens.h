#ifndef ROTOR_DATA_TOKENIZERS_TOKENS_H
#define ROTOR_DATA_TOKENIZERS_TOKENS_H

/* Private functions of vocabularies, and the tokens of a text at the levels byte and char: bytes as
 * numbers 0 ... 255 or code points 0 ... 0x10ffff, which it has as UTF-8. */

#include "core/status.h"
#include "data/tokenizers/vocabulary.h"
#include "util/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a token's name for a message: 'a', '€' (U+20AC), U+0301, byte 0x0a. Returns `name`. */
const char *rt_token_name(rt_level level, int32_t token, char name[RT_WORD_NAME_SIZE]);

/* Names of the tokens of a level, for messages. */
typedef struct rt_token_words {
    const char *one, *many;
    const char *unknown; /* plural of the parts of a text that can be [UNK] */
} rt_token_words;
rt_token_words rt_words_for_tokens(rt_level level);

/* Returns RT_DATA for a byte that is not UTF-8, with data.level, `path` and the offset. */
rt_status rt_level_error(rt_level level, const char *path, unsigned char byte,
                         size_t offset) RT_MUST_CHECK;

/* ---- vocabularies ---- */

/* Counts an unknown part at an offset. Returns whether it is the first, which needs a name. */
static inline bool rt_unknown_count(rt_unknown *unknown, size_t at)
{
    if (unknown->count++)
        return false;
    unknown->at = at;
    return true;
}

/* Vocabulary, option and output of an encoding. `special`: parses special tokens in a text. */
typedef struct rt_token_output {
    const rt_vocabulary *v;
    bool special;
    rt_id_taker *take;
    void *context;
    rt_unknown *unknown;
} rt_token_output;

/* Fills `ordinary` from `kinds`. Returns whether there is an ordinary token. */
bool rt_vocabulary_list_ordinary(rt_vocabulary *v);

/* Sets flags of the characters of a part of a text, which must be UTF-8. `seen` has one flag per
 * code point. */
enum { RT_CODE_POINTS = 0x110000 };
void rt_characters_see(void *seen, const unsigned char *text, size_t bytes);

/* Creates the vocabulary of the characters whose flags are set, in ascending order. RT_DATA, which
 * begins with `name`, if there are more than RT_CHARACTERS_LIMIT. */
rt_status rt_vocabulary_of_seen(rt_vocabulary **vocabulary_new, rt_level level, const char *name,
                                const bool *seen) RT_MUST_CHECK;

#endif
