#ifndef ROTOR_DATA_TOKENIZERS_NORMAL_FORM_H
#define ROTOR_DATA_TOKENIZERS_NORMAL_FORM_H

/* Normal forms of Unicode (Unicode Standard Annex 15), by the tables of tokenizers (characters.h).
 * In NFC a letter and its accents are one character wherever there is one; in NFKC characters that
 * differ only in how they look, such as ligatures and full-width letters, are also the same. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum rt_form { RT_FORM_NONE, RT_FORM_NFC, RT_FORM_NFKC } rt_form;

/* Returns how many times as many bytes a text may have in the form. */
size_t rt_normal_form_growth(rt_form form);

/* Returns whether the form leaves every character of the text as it is, in any context. */
bool rt_normal_form_is_plain(rt_form form, const unsigned char *text, size_t bytes);

/* Brings a text, which is UTF-8, into NFC or NFKC, in a block that the caller frees. */
rt_status rt_normal_form(rt_form form, unsigned char **text_new, size_t *size,
                         const unsigned char *text, size_t bytes) RT_MUST_CHECK;

#endif
