#include "train/html.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20 };

static const char style[] =
    "body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:60rem;"
    "margin:0 auto;padding:1rem}"
    "h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
    ".verdict{border-left:4px solid #0072b2;background:#f3f7fa;padding:.6rem 1rem;margin:1rem 0}"
    ".verdict p{margin:.2rem 0}.moved{border-color:#d55e00;background:#fdf4ee}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));"
    "gap:1.5rem}"
    "figure{margin:0;break-inside:avoid}figure.wide{grid-column:1/-1}"
    "figure svg{width:100%;height:auto;display:block}"
    "figcaption{color:#555;font-size:.9rem}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid #ddd;"
    "vertical-align:top}th{white-space:nowrap}"
    "pre{overflow-x:auto;background:#f6f6f6;padding:.8rem;font-size:.85rem}"
    "summary{cursor:pointer;margin:.5rem 0}a{color:#0072b2}"
    "@media print{body{max-width:none;font-size:11pt}.scroll{overflow:visible}}";

void rt_html_begin(rt_writer *w, const char *title)
{
    rt_writer_add(w, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<title>");
    rt_html_text(w, title);
    rt_writer_add(w, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
    rt_html_text(w, title);
    rt_writer_add(w, "</h1>\n");
}

void rt_html_end(rt_writer *w)
{
    rt_writer_add(w, "</body>\n</html>\n");
}

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
        default:
            rt_writer_add(w, "%c", *text);
        }
}

char *rt_read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = NULL;
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size >= 0 && size <= MOST_BYTES && !fseek(file, 0, SEEK_SET))
        text = rt_alloc((size_t)size + 1, 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        rt_free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

bool rt_html_figure(rt_writer *w, const char *svg_path, const char *caption, bool wide)
{
    char *svg = rt_read_text(svg_path);
    const char *start = svg ? strstr(svg, "<svg") : NULL; /* past the XML declaration */
    if (start) {
        rt_writer_add(w, "<figure%s>\n", wide ? " class=\"wide\"" : "");
        rt_writer_add(w, "%s", start);
        rt_writer_add(w, "<figcaption>");
        rt_html_text(w, caption);
        rt_writer_add(w, "</figcaption>\n</figure>\n");
    }
    rt_free(svg);
    return start != NULL;
}

void rt_html_details(rt_writer *w, const char *summary, const char *text)
{
    rt_writer_add(w, "<details><summary>");
    rt_html_text(w, summary);
    rt_writer_add(w, "</summary>\n<pre>");
    rt_html_text(w, text);
    rt_writer_add(w, "</pre></details>\n");
}
