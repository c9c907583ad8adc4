#ifndef ROTOR_TRAIN_HTML_H
#define ROTOR_TRAIN_HTML_H

/* Text in a page, and small files as text. */

#include "train/writer.h"

/* Text with &, <, > and quotes written so that a browser shows them. */
void rt_html_text(rt_writer *w, const char *text);

/* The whole of a small text file, which the caller frees; NULL if it cannot be read. */
char *rt_read_text(const char *path);

#endif
