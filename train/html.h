#ifndef ROTOR_TRAIN_HTML_H
#define ROTOR_TRAIN_HTML_H

/* Pieces of a page that stands on its own: no script, nothing from elsewhere. */

#include "train/writer.h"

/* The beginning, up to the headline; the end. */
void rt_html_begin(rt_writer *w, const char *title);
void rt_html_end(rt_writer *w);

/* Text with &, <, > and quotes written so that a browser shows them. */
void rt_html_text(rt_writer *w, const char *text);

/* The SVG of a file, inside a figure with a caption, as wide as the page or half of it. False if
 * there is no such file. */
bool rt_html_figure(rt_writer *w, const char *svg_path, const char *caption, bool wide);

/* A section that can be opened, with a text as it stands. */
void rt_html_details(rt_writer *w, const char *summary, const char *text);

/* The whole of a small text file, which the caller frees; NULL if it cannot be read. */
char *rt_read_text(const char *path);

#endif
