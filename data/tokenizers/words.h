#ifndef ROTOR_DATA_TOKENIZERS_WORDS_H
#define ROTOR_DATA_TOKENIZERS_WORDS_H

/* Words of a text as BERT splits them, and the pre-tokenizers of byte pair encoding. */

#include <stdbool.h>
#include <stddef.h>

/* Iterator over the words of a text: the parts between spaces, where each ideograph and punctuation
 * mark is a word (characters.h). With lowercase, words are decomposed (NFD), lose their marks (Mn)
 * and are converted to lower case.
 *
 * The text is UTF-8, owned by the caller, and read once in linear time. */

/* Limit of a word; longer ones are not in any vocabulary. */
enum { RT_WORD_CHARACTERS = 100, RT_WORD_BYTES = 4 * RT_WORD_CHARACTERS + 1 };

typedef struct rt_word {
    char bytes[RT_WORD_BYTES]; /* UTF-8, zero-terminated; the start of a word that is too long */
    size_t size;
    size_t at;     /* offset in the text */
    bool too_long; /* more than RT_WORD_CHARACTERS */
} rt_word;

typedef struct rt_words {
    const unsigned char *text;
    size_t bytes;
    bool lowercase;
    size_t at; /* bytes read so far; starts at 0 */
} rt_words;

/* Reads the next word. Returns false if there is none. */
bool rt_words_next(rt_words *w, rt_word *word);

/* Pre-tokenizers of Hugging Face's tokenizers, which split a text into the parts in which byte pair
 * encoding joins bytes. The parts together are the text.
 *
 * They are regular expressions with Unicode classes: letters \p{L}, numbers \p{N}, blanks \s. At
 * each position the first alternative that matches is used. */

typedef enum rt_pretokenizer {
    RT_PRETOKENIZER_DIGITS, /* runs of numbers, and the text between them */
    RT_PRETOKENIZER_DIGIT,  /* single numbers, and the text between them */
    /* GPT-2:
     * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
    RT_PRETOKENIZER_GPT2,
    /* GPT-4 (cl100k) and LLaMA 3:
     * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
     * \s*[\r\n]+|\s+(?!\S)|\s+ */
    RT_PRETOKENIZER_LLAMA3,
    RT_PRETOKENIZER_QWEN2 /* the same with \p{N} instead of \p{N}{1,3} */
} rt_pretokenizer;

/* Returns the bytes of the first part of a text, which is UTF-8 and not empty. Takes time in
 * proportion to the part, or to the run of blanks at its start. */
size_t rt_pretokenizer_next(rt_pretokenizer kind, const unsigned char *text, size_t bytes);

#endif
