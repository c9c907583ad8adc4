#ifndef ROTOR_TRAIN_REPORT_PAGE_H
#define ROTOR_TRAIN_REPORT_PAGE_H

/* Pages: one HTML file without scripts, for a wide screen, a phone and paper. */

#include "train/report/figures.h"

/* Adds the beginning of a page, up to the headline. A browser reloads a `watched` page at times. */
void rt_page_begin(rt_writer *w, const char *title, bool watched);

/* Adds the end of a page, with folded definitions of words, writes it as `file` or, if that is
 * NULL, as FOLDER/report.html, and empties the writer. */
rt_status rt_page_end(rt_writer *w, const char *folder, const char *file) RT_MUST_CHECK;

/* Returns RT_CONFIG if the file exists and is not a page of this program. */
rt_status rt_page_may_replace(const char *file) RT_MUST_CHECK;

/* Result of a run, for the colour of the verdict box: good; good, but theta has moved; bad. */
typedef enum rt_verdict { RT_VERDICT_GOOD, RT_VERDICT_MOVED, RT_VERDICT_BAD } rt_verdict;

/* Adds the verdict box with the lines that the program has printed, and empties `lines`. */
void rt_page_verdict(rt_writer *w, rt_writer *lines, rt_verdict verdict);

/* Adds the SVGs that gnuplot has drawn, with captions. Omits incomplete files, and all figures
 * after an error of writing, because their files may be those of an earlier report. */
void rt_page_figures(rt_writer *w, const rt_figures *f);

/* Adds text with &, <, > and quotes escaped. Control characters except newlines become "?". */
void rt_html_text(rt_writer *w, const char *text);

/* Begins a table with a heading and with headings of columns. A column "" is omitted; NULL ends the
 * list. "</table></div>\n" ends the table. */
void rt_page_table(rt_writer *w, const char *heading, const char *const *columns);
#define RT_COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Adds a cell, <td>text</td>, or another element with a text. */
void rt_page_cell(rt_writer *w, const char *element, const char *text);

/* Adds a <td> with a formatted number, or "-" if it is not finite. */
void rt_page_number(rt_writer *w, const char *format, double x) RT_PRINTF(2, 0);

/* Returns the number of bytes, at most `most`, of the longest beginning of a text that ends with a
 * whole character. */
size_t rt_text_beginning(const char *text, size_t size, size_t most);

#endif
