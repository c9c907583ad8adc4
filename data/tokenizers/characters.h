#ifndef ROTOR_DATA_TOKENIZERS_CHARACTERS_H
#define ROTOR_DATA_TOKENIZERS_CHARACTERS_H

/* Characters for tokenizers: the classes of BERT, and the normal forms of Unicode. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- classes ---- */

/* Class of a code point for the tokenizer of BERT: a part of a word, a word by itself, a space, or
 * nothing.
 *
 * The rules are those of Hugging Face's BertTokenizer 5, whose Unicode tables are of several ages,
 * all older than those of utf8proc 2.8 (Unicode 15): what they do not know yet is a letter. The
 * differences are short tables in characters.c. */

typedef enum rt_character {
    RT_CHARACTER_LETTER, /* a part of a word; also digits, symbols and what is not assigned */
    RT_CHARACTER_MARK,   /* the same; dropped where accents are (Mn) */
    RT_CHARACTER_ALONE,  /* punctuation, and ideographs: a word by itself */
    RT_CHARACTER_SPACE,  /* between words */
    RT_CHARACTER_NONE    /* dropped: control and format characters, private use */
} rt_character;

rt_character rt_character_of(int32_t c);

/* The canonical decomposition (NFD); returns how many characters it has. */
enum { RT_DECOMPOSITION_SIZE = 4 };
int rt_character_decompose(int32_t c, int32_t parts[RT_DECOMPOSITION_SIZE]);

/* The canonical combining class: characters that follow each other and have one other than 0
 * stand in its order in NFD. */
int rt_character_combining(int32_t c);

/* One character for one: the context does not count. */
int32_t rt_character_lower(int32_t c);

/* Class of a code point for the regular expressions of pre-tokenizers: \s, \p{L}, \p{N}, or none
 * of these. */
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

/* ---- normal forms ---- */

/* Normal forms of Unicode (Unicode Standard Annex 15), by the tables of tokenizers.
 * In NFC a letter and its accents are one character wherever there is one; in NFKC characters that
 * differ only in how they look, such as ligatures and full-width letters, are also the same. */

typedef enum rt_form { RT_FORM_NONE, RT_FORM_NFC, RT_FORM_NFKC } rt_form;

/* Returns how many times as many bytes a text may have in the form. */
size_t rt_normal_form_growth(rt_form form);

/* Returns whether the form leaves every character of the text as it is, in any context. */
bool rt_normal_form_is_plain(rt_form form, const unsigned char *text, size_t bytes);

/* Brings a text, which is UTF-8, into NFC or NFKC, in a block that the caller frees. */
rt_status rt_normal_form(rt_form form, unsigned char **text_new, size_t *size,
                         const unsigned char *text, size_t bytes) RT_MUST_CHECK;

#endif
