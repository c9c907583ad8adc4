#ifndef ROTOR_DATA_TOKENIZERS_CHARACTERS_H
#define ROTOR_DATA_TOKENIZERS_CHARACTERS_H

/* Characters for tokenizers: classes, lower case, and normal forms of Unicode. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Class of a code point for the tokenizer of BERT.
 *
 * The rules are those of Hugging Face's BertTokenizer 5. Its Unicode tables have several versions,
 * all older than utf8proc 2.8 (Unicode 15); characters unknown to them are letters. The differences
 * are in tables in characters.c. */

typedef enum rt_character {
    RT_CHARACTER_LETTER, /* part of a word; also digits, symbols and unassigned code points */
    RT_CHARACTER_MARK,   /* the same; dropped with accents (Mn) */
    RT_CHARACTER_ALONE,  /* word of its own: punctuation and ideographs */
    RT_CHARACTER_SPACE,  /* separator */
    RT_CHARACTER_NONE    /* dropped: control and format characters, private use */
} rt_character;

rt_character rt_character_of(int32_t c);

/* Computes the canonical decomposition (NFD). Returns its number of characters. */
enum { RT_DECOMPOSITION_SIZE = 4 };
int rt_character_decompose(int32_t c, int32_t parts[RT_DECOMPOSITION_SIZE]);

/* Returns the canonical combining class. NFD sorts consecutive characters of classes other than 0
 * by class. */
int rt_character_combining(int32_t c);

/* Returns the lower case of a single character, regardless of context. */
int32_t rt_character_lower(int32_t c);

/* Class of a code point in the regular expressions of pre-tokenizers: \s, \p{L}, \p{N} or other. */
typedef enum rt_class { RT_CLASS_OTHER, RT_CLASS_BLANK, RT_CLASS_LETTER, RT_CLASS_NUMBER } rt_class;

rt_class rt_class_beyond_ascii(int32_t c);

static inline rt_class rt_class_of(int32_t c)
{
    if (c >= 0x80)
        return rt_class_beyond_ascii(c);
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        return RT_CLASS_LETTER;
    if (c >= '0' && c <= '9')
        return RT_CLASS_NUMBER;
    return c == ' ' || (c >= '\t' && c <= '\r') ? RT_CLASS_BLANK : RT_CLASS_OTHER;
}

bool rt_is_blank(int32_t c);

/* Returns whether a character is a number for the pre-tokenizer Digits. */
bool rt_is_digit(int32_t c);

/* Normal forms of Unicode (Standard Annex 15) with the tables of tokenizers. NFC composes a letter
 * and its accents where a character exists. NFKC also unifies characters that differ in appearance
 * only, such as ligatures and full-width letters. */

typedef enum rt_form { RT_FORM_NONE, RT_FORM_NFC, RT_FORM_NFKC } rt_form;

/* Returns the largest factor by which the form may lengthen a text, in bytes. */
size_t rt_normal_form_growth(rt_form form);

/* Returns whether the form leaves all characters unchanged, in any context. */
bool rt_normal_form_is_plain(rt_form form, const unsigned char *text, size_t bytes);

/* Converts a UTF-8 text to a normal form. The caller frees it. */
rt_status rt_normal_form(rt_form form, unsigned char **text_new, size_t *size,
                         const unsigned char *text, size_t bytes) RT_MUST_CHECK;

#endif
