#ifndef ROTOR_DATA_TOKENIZERS_PRETOKENIZE_H
#define ROTOR_DATA_TOKENIZERS_PRETOKENIZE_H

/* A text cut into the pieces that byte pair encoding joins bytes within, as the pre-tokenizers of
 * Hugging Face's tokenizers cut it. Nothing is lost: the pieces are the text.
 *
 * The rules are regular expressions there, with the classes of Unicode: letters \p{L}, numbers
 * \p{N}, blanks \s. At every place the first alternative that fits is taken. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Whether a character is one of \s. */
bool rt_is_blank(int32_t c);

/* How many bytes the first piece of a text has, which is UTF-8 and not empty. The work is
 * proportional to the piece, or to the run of blanks that it begins. */
size_t rt_pretokenizer_next(rt_pretokenizer kind, const unsigned char *text, size_t bytes);

#endif
