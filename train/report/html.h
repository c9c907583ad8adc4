#ifndef ROTOR_TRAIN_REPORT_HTML_H
#define ROTOR_TRAIN_REPORT_HTML_H

/* Text in a page. */

#include "text/writer.h"

/* Text with &, <, > and quotes written so that a browser shows them; a question mark stands for
 * every control character but newlines. */
void rt_html_text(rt_writer *w, const char *text);

#endif
