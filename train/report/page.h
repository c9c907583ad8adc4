#ifndef ROTOR_TRAIN_REPORT_PAGE_H
#define ROTOR_TRAIN_REPORT_PAGE_H

/* The frame and the parts of a page: one file without scripts that needs nothing else, for a wide
 * screen, a phone and paper. */

#include "text/writer.h"
#include "train/report/figures.h"

/* Adds the beginning of a page, up to the headline. A browser reloads a page that is `watched`
 * every few seconds. */
void rt_page_begin(rt_writer *w, const char *title, bool watched);

/* Adds the end, writes the page as `file` or, if that is NULL, as FOLDER/report.html, and empties
 * the writer. */
rt_status rt_page_end(rt_writer *w, const char *folder, const char *file) RT_MUST_CHECK;

/* Returns RT_CONFIG if the file exists and is no page of this program. */
rt_status rt_page_may_replace(const char *file) RT_MUST_CHECK;

/* Result of a run, which gives the verdict box its colour: good; good, but theta has moved; bad. */
typedef enum rt_verdict { RT_VERDICT_GOOD, RT_VERDICT_MOVED, RT_VERDICT_BAD } rt_verdict;

/* Adds the verdict box with the lines that the program has printed; empties `lines`. */
void rt_page_verdict(rt_writer *w, rt_writer *lines, rt_verdict verdict);

/* Adds the SVGs that gnuplot has drawn, with their captions. Incomplete files are left out, and all
 * figures after a failure to write: the files may then be those of an earlier report. */
void rt_page_figures(rt_writer *w, const rt_figures *f);

/* Adds text with &, <, > and quotes escaped; a question mark stands for every control character but
 * newlines. */
void rt_html_text(rt_writer *w, const char *text);

/* Adds a cell, <td>text</td>, or another element. */
void rt_page_cell(rt_writer *w, const char *element, const char *text);

/* Adds a <td> with formatted numbers, at most 127 characters. */
void rt_page_number(rt_writer *w, const char *format, ...) RT_PRINTF(2, 3);

#endif
