#include "train/report/page.h"

#include "core/memory.h"
#include "train/report/html.h"
#include "train/text/text_file.h"

#include <stdio.h>
#include <string.h>

/* The maps of attention are made of few pixels, which must not be blurred. A figure as wide as
 * the page would be too small on a phone: there it is scrolled. */
static const char style[] =
    ":root{color-scheme:light}"
    "body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:62rem;"
    "margin:0 auto;padding:1rem}"
    "h1{font-size:1.6rem;margin:.5rem 0;overflow-wrap:anywhere}"
    "h2{font-size:1.15rem;margin:2rem 0 .5rem}"
    "h3{font-size:.95rem;margin:0 0 .2rem;color:#555}"
    ".verdict{border-left:4px solid #0072b2;background:#f3f7fa;padding:.6rem 1rem;margin:1rem 0}"
    ".verdict p{margin:.2rem 0;overflow-wrap:anywhere}"
    ".bad{border-color:#d55e00;background:#fdf4ee}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(25rem,100%),1fr));"
    "gap:1.5rem 2rem;margin:1.5rem 0}"
    "figure{margin:0;min-width:0;break-inside:avoid}figure.wide{grid-column:1/-1}"
    "figure.wide .plot{overflow-x:auto}figure.wide svg{min-width:44rem}"
    "figure svg{width:100%;height:auto;display:block}figure image{image-rendering:pixelated}"
    "figcaption{color:#555;font-size:.9rem;margin-top:.3rem}"
    ".scroll{overflow-x:auto}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.95rem}"
    "th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid #ddd;"
    "vertical-align:top;font-weight:400}tr:first-child th{font-weight:600}"
    ".scroll th,.scroll td{white-space:nowrap}"
    ".keys{columns:18rem;column-gap:2rem}.keys section{break-inside:avoid;margin:0 0 1.2rem}"
    ".keys table,.facts{width:100%}.keys th{width:50%}.keys tr:first-child th{font-weight:400}"
    ".keys td,.facts td{overflow-wrap:anywhere}.keys tr.set th,.keys tr.set td{font-weight:600}"
    ".keys small{font-weight:400;color:#666;display:block}"
    ".facts th{white-space:nowrap;width:1%}"
    "a{color:#0072b2}"
    "@media print{body{max-width:none;font-size:10.5pt;padding:0}"
    ".figures{grid-template-columns:1fr 1fr;gap:1rem}"
    ".keys{columns:3}.keys table{font-size:8pt}.scroll,figure.wide .plot"
    "{overflow:visible}figure.wide svg{min-width:0}h2{break-after:avoid}"
    ".verdict{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

void rt_page_begin(rt_writer *w, const char *title)
{
    rt_writer_add(w, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<title>");
    rt_html_text(w, title);
    rt_writer_add(w, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
    rt_html_text(w, title);
    rt_writer_add(w, "</h1>\n");
}

rt_status rt_page_end(rt_writer *w, const char *folder)
{
    rt_writer_add(w, "</body>\n</html>\n");
    char *page = rt_writer_take(w);
    rt_status status =
        page ? rt_write_text(folder, "report.html", page) : rt_out_of_memory("a report");
    rt_free(page);
    return status;
}

void rt_page_cell(rt_writer *w, const char *element, const char *text)
{
    rt_writer_add(w, "<%s>", element);
    rt_html_text(w, text);
    rt_writer_add(w, "</%s>", element);
}

void rt_page_verdict(rt_writer *w, rt_writer *lines, bool bad)
{
    char *text = rt_writer_take(lines);
    w->failed |= !text;
    rt_writer_add(w, "<div class=\"verdict%s\">\n", bad ? " bad" : "");
    for (char *line = text; line && *line;) {
        char *end = line + strcspn(line, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        rt_page_cell(w, "p", line);
        rt_writer_add(w, "\n");
        line = next;
    }
    rt_writer_add(w, "</div>\n");
    rt_free(text);
}

/* gnuplot gives the same names to the parts of every figure; in one page each needs its own. */
static void add_parts(rt_writer *w, const char *svg, const char *name)
{
    static const char *const before_names[] = {" id='", " id=\"", "href='#", "url(#"};
    enum { KINDS = sizeof before_names / sizeof *before_names };
    for (;;) {
        const char *nearest = NULL;
        for (int i = 0; i < KINDS; i++) {
            const char *at = strstr(svg, before_names[i]);
            if (at && (!nearest || at + strlen(before_names[i]) < nearest))
                nearest = at + strlen(before_names[i]);
        }
        if (!nearest)
            break;
        rt_writer_add(w, "%.*s%s-", (int)(nearest - svg), svg, name);
        svg = nearest;
    }
    rt_writer_add(w, "%s", svg);
}

/* The caption is below, not where the pointer rests: the SVG's own title, its name, goes. */
static void add_svg(rt_writer *w, const char *svg, const char *name)
{
    static const char end[] = "</title>";
    const char *title = strstr(svg, "<title>");
    const char *after = title ? strstr(title, end) : NULL;
    if (after) {
        rt_writer_add(w, "%.*s", (int)(title - svg), svg);
        svg = after + strlen(end);
    }
    add_parts(w, svg, name);
}

static void add_figure(rt_writer *w, const char *folder, const rt_figure *figure)
{
    char path[RT_PATH_SIZE], file[RT_FIGURE_FILE_SIZE];
    const rt_status fits = rt_path_join(path, folder, rt_figure_file(file, figure->name, "svg"));
    char *text = fits.code ? NULL : rt_read_text(path);
    const char *svg = text ? strstr(text, "<svg") : NULL; /* past the XML declaration */
    if (svg && strstr(svg, "</svg>")) {
        rt_writer_add(w, "<figure%s><div class=\"plot\">\n", figure->wide ? " class=\"wide\"" : "");
        add_svg(w, svg, figure->name);
        rt_writer_add(w, "</div>");
        rt_page_cell(w, "figcaption", figure->caption);
        rt_writer_add(w, "</figure>\n");
    }
    rt_free(text);
}

void rt_page_figures(rt_writer *w, const rt_figures *f)
{
    rt_writer_add(w, "<div class=\"figures\">\n");
    for (int i = 0; i < f->count && !f->status.code; i++)
        add_figure(w, f->folder, &f->list[i]);
    rt_writer_add(w, "</div>\n");
}
