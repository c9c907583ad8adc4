#ifndef ROTOR_DATA_TOKENIZERS_WORDS_H
#define ROTOR_DATA_TOKENIZERS_WORDS_H

/* The words of a text as the tokenizer of BERT cuts them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- words ---- */

/* A text as the words that the tokenizer of BERT makes of it, one after the other: what stands
 * between spaces, with every ideograph and punctuation mark a word by itself (characters.h).
 *
 * With lowercase, accents go as well: a word is decomposed (NFD), loses its marks (Mn), and gets
 * the lower case of each of its characters.
 *
 * The text is UTF-8. It belongs to the caller, and is read once: the work is proportional to its
 * length, whatever it holds. */

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

/* ---- pieces before byte pair encoding ---- */

/* A text cut into the pieces that byte pair encoding joins bytes within, as the pre-tokenizers of
 * Hugging Face's tokenizers cut it. Nothing is lost: the pieces are the text.
 *
 * The rules are regular expressions there, with the classes of Unicode: letters \p{L}, numbers
 * \p{N}, blanks \s. At every place the first alternative that fits is taken. */

typedef enum rt_pretokenizer {
    RT_PRETOKENIZER_DIGITS, /* runs of numbers, and what is between them */
    RT_PRETOKENIZER_DIGIT,  /* every number by itself */
    /* GPT-2:
     * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
    RT_PRETOKENIZER_GPT2,
    /* GPT-4 (cl100k) and LLaMA 3:
     * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
     * \s*[\r\n]+|\s+(?!\S)|\s+ */
    RT_PRETOKENIZER_LLAMA3,
    RT_PRETOKENIZER_QWEN2 /* the same with \p{N} for \p{N}{1,3} */
} rt_pretokenizer;

/* How many bytes the first piece of a text has, which is UTF-8 and not empty. The work is
 * proportional to the piece, or to the run of blanks that it begins. */
size_t rt_pretokenizer_next(rt_pretokenizer kind, const unsigned char *text, size_t bytes);

#endif
