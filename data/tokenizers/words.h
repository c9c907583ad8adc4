#ifndef ROTOR_DATA_TOKENIZERS_WORDS_H
#define ROTOR_DATA_TOKENIZERS_WORDS_H

/* A text as the words that the tokenizer of BERT makes of it, one after the other: what stands
 * between spaces, with every ideograph and punctuation mark a word by itself (characters.h).
 *
 * With lowercase, accents go as well: a word is decomposed (NFD), loses its marks (Mn), and gets
 * the lower case of each of its characters.
 *
 * The text is UTF-8. It belongs to the caller, and is read once: the work is proportional to its
 * length, whatever it holds. */

#include <stdbool.h>
#include <stddef.h>

/* A longer word is in no vocabulary. */
enum { RT_WORD_CHARACTERS = 100, RT_WORD_BYTES = 4 * RT_WORD_CHARACTERS + 1 };

typedef struct rt_word {
    char bytes[RT_WORD_BYTES]; /* UTF-8, zero-terminated; of a word that is too long, the start */
    size_t size;
    size_t at;     /* the byte of the text where it begins */
    bool too_long; /* more than RT_WORD_CHARACTERS */
} rt_word;

typedef struct rt_words {
    const unsigned char *text;
    size_t bytes;
    bool lowercase;
    size_t at; /* what has been read; 0 at the start */
} rt_words;

/* False when there are no more. */
bool rt_words_next(rt_words *w, rt_word *word);

#endif
