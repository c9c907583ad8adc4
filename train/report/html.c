#include "train/report/html.h"

#include <ctype.h>

void rt_html_text(rt_writer *w, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            rt_writer_add(w, "&amp;");
            break;
        case '<':
            rt_writer_add(w, "&lt;");
            break;
        case '>':
            rt_writer_add(w, "&gt;");
            break;
        case '"':
            rt_writer_add(w, "&quot;");
            break;
        case '\'':
            rt_writer_add(w, "&#39;");
            break;
        default:
            rt_writer_add(w, "%c", iscntrl((unsigned char)*text) && *text != '\n' ? '?' : *text);
        }
}
