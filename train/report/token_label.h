#ifndef ROTOR_TRAIN_REPORT_TOKEN_LABEL_H
#define ROTOR_TRAIN_REPORT_TOKEN_LABEL_H

/* Tokens of a text as figures and pages show them. */

#include "data/data.h"
#include "text/writer.h"

enum { RT_TOKEN_LABEL_SIZE = 32 };

/* A token by itself: its text, a sign for a blank, a newline or a tab, the name of a special token,
 * or a point for what cannot be seen. At level bpe, where a piece has blanks and parts of
 * characters, these are signs within it, and a byte that is no character is \xe2. Returns the
 * label.
 */
const char *rt_token_label(char label[RT_TOKEN_LABEL_SIZE], const rt_data *data, int32_t id);

/* Adds the text that tokens make to a page. Special tokens are left out, and a point stands for
 * what cannot be seen. */
void rt_token_text(rt_writer *page, const rt_data *data, const int32_t *ids, int count);

#endif
