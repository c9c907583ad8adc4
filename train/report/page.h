#ifndef ROTOR_TRAIN_REPORT_PAGE_H
#define ROTOR_TRAIN_REPORT_PAGE_H

/* What the pages of runs and of sweeps have in common: one file without scripts that needs
 * nothing from elsewhere, for a wide screen, a phone and paper. */

#include "text/writer.h"
#include "train/report/figures.h"

/* The beginning, up to the headline. */
void rt_page_begin(rt_writer *w, const char *title);

/* The same of a run that still trains: a browser reloads the page every few seconds. */
void rt_page_begin_watched(rt_writer *w, const char *title);

/* The end; writes FOLDER/report.html and empties the writer. */
rt_status rt_page_end(rt_writer *w, const char *folder) RT_MUST_CHECK;

/* The same for any file. */
rt_status rt_page_end_as(rt_writer *w, const char *file) RT_MUST_CHECK;

/* RT_CONFIG if there is such a file that is no page of this program. */
rt_status rt_page_may_replace(const char *file) RT_MUST_CHECK;

/* How it ended, which the box of the verdict has as its colour: well; well, but theta has moved;
 * not as it should. */
typedef enum rt_verdict { RT_VERDICT_GOOD, RT_VERDICT_MOVED, RT_VERDICT_BAD } rt_verdict;

/* The box of the verdict. Lines are what the program has printed, which is handed over. */
void rt_page_verdict(rt_writer *w, rt_writer *lines, rt_verdict verdict);

/* The SVGs that gnuplot has drawn, with their captions; what it has not drawn whole is left out,
 * and everything after a failure to write: what is there then is not its own. */
void rt_page_figures(rt_writer *w, const rt_figures *f);

/* Adds text with &, <, > and quotes escaped; a question mark stands for every control character but
 * newlines. */
void rt_html_text(rt_writer *w, const char *text);

/* Adds a cell, <td>text</td>, or another element. */
void rt_page_cell(rt_writer *w, const char *element, const char *text);

#endif
