#ifndef ROTOR_DATA_TOKENIZERS_NORMAL_FORM_H
#define ROTOR_DATA_TOKENIZERS_NORMAL_FORM_H

/* A text in NFC, the normal form of Unicode in which a letter and its accents are one character
 * wherever there is one (Unicode Standard Annex 15), by the tables of tokenizers (characters.h). */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

/* How many times as many bytes it may have. */
enum { RT_NORMAL_FORM_GROWTH = 3 };

/* Whether a text has only characters that are in NFC whatever stands around them. */
bool rt_normal_form_is_plain(const unsigned char *text, size_t bytes);

/* The text, which is UTF-8, in a block that the caller frees. */
rt_status rt_normal_form(unsigned char **text_new, size_t *size, const unsigned char *text,
                         size_t bytes) RT_MUST_CHECK;

#endif
