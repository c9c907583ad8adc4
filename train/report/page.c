#include "core/memory.h"
#include "text/text_file.h"
#include "train/report/private.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rt_html_text(rt_writer *w, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const escapes[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (found)
            rt_writer_add(w, "%s", escapes[found - special]);
        else
            rt_writer_add(w, "%c", iscntrl((unsigned char)*text) && *text != '\n' ? '?' : *text);
    }
}

/* Light or dark, as the browser prefers. Figures are dark on white; in dark mode they are inverted
 * and each colour is rotated by half a circle, which restores the hues. Attention maps have few
 * pixels, which must not be blurred. */
static const char style[] =
    ":root{color-scheme:light dark;--text:#222;--page:#fff;--soft:#555;--line:#ddd;"
    "--edge:#bbb;--link:#0068a6;"
    "--good:#0072b2;--good-box:#f3f7fa;--moved:#b07a00;--moved-box:#fdf8ec;--bad:#d55e00;"
    "--bad-box:#fdf4ee;--right:0,114,178;--wrong:213,94,0}"
    "@media(prefers-color-scheme:dark){:root{--text:#e4e4e4;--page:#1c1c1c;--soft:#b0b0b0;"
    "--line:#444;--edge:#777;--link:#6db9f2;--good:#56b4e9;--good-box:#1d2830;--moved:#e69f00;"
    "--moved-box:#2d271a;--bad:#ff8340;--bad-box:#33231a;--right:86,180,233;"
    "--wrong:255,131,64}"
    "figure svg{filter:invert(.89) hue-rotate(180deg);mix-blend-mode:lighten!important}}"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--text);background:var(--page);"
    "max-width:64rem;margin:0 auto;padding:1rem}"
    "h1{font-size:1.6rem;margin:.5rem 0;overflow-wrap:anywhere}"
    "h2{font-size:1.15rem;margin:2rem 0 .5rem}"
    "h3{font-size:.95rem;margin:0 0 .2rem;color:var(--soft)}"
    ".verdict{border-left:4px solid var(--good);background:var(--good-box);padding:.6rem 1rem;"
    "margin:1rem 0}"
    ".verdict p{margin:.2rem 0;overflow-wrap:anywhere}"
    ".moved{border-color:var(--moved);background:var(--moved-box)}"
    ".bad{border-color:var(--bad);background:var(--bad-box)}"
    ".words{color:var(--soft);font-size:.95rem}.words dt{font-weight:600;float:left;"
    "margin-right:.5rem}.words dd{margin:0 0 .3rem}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(28rem,100%),1fr));"
    "gap:1.5rem 2rem;margin:1.5rem 0}"
    "figure{margin:0;min-width:0;break-inside:avoid}figure.wide{grid-column:1/-1}"
    ".plot,.scroll{overflow-x:auto;background:"
    "linear-gradient(to right,var(--page) 1.5rem,transparent 3rem) left/3rem 100% no-repeat local,"
    "linear-gradient(to left,var(--page) 1.5rem,transparent 3rem) right/3rem 100% no-repeat local,"
    "linear-gradient(to right,var(--edge),transparent) left/1rem 100% no-repeat scroll,"
    "linear-gradient(to left,var(--edge),transparent) right/1rem 100% no-repeat scroll}"
    "figure svg{width:100%;height:auto;display:block;mix-blend-mode:multiply}figure "
    "image{image-rendering:pixelated}"
    "figcaption{color:var(--soft);font-size:.9rem;margin-top:.3rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.95rem}"
    "th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top;font-weight:400}tr:first-child th{font-weight:600}"
    ".scroll th,.scroll td{white-space:nowrap}"
    ".scroll td.text{white-space:normal;overflow-wrap:anywhere;min-width:12rem}"
    ".scroll td.setting{white-space:normal;overflow-wrap:break-word;max-width:14rem}"
    ".keys{columns:18rem;column-gap:2rem}.keys section{break-inside:avoid;margin:0 0 1.2rem}"
    ".keys table,.facts{width:100%}.keys th{width:50%}.keys tr:first-child th{font-weight:400}"
    ".keys td,.facts td{overflow-wrap:anywhere}.keys tr.set th,.keys tr.set td{font-weight:600}"
    ".keys small{font-weight:400;color:var(--soft);display:block}"
    ".facts th,.facts tr:first-child th{white-space:nowrap;width:1%;font-weight:400}"
    ".sample{font-family:ui-monospace,monospace;white-space:break-spaces;overflow-wrap:anywhere;"
    "border-left:2px solid var(--line);padding-left:.8rem}"
    ".sample ins{color:var(--good);text-decoration:underline}"
    ".sample del{color:var(--bad)}.sample b{font-weight:600}"
    ".confusion td{text-align:right;padding:.25rem .5rem;border:1px solid var(--line);"
    "min-width:1.5rem}.confusion th{padding:.25rem .5rem}"
    ".confusion tr:first-child td{border:0}.confusion tr:first-child th{text-align:right;"
    "vertical-align:bottom;font-weight:400}"
    ".confusion tr:first-child span{writing-mode:vertical-rl;transform:rotate(180deg)}"
    ".confusion .right{background:rgba(var(--right),calc(.08 + .5*var(--share)))}"
    ".confusion .wrong{background:rgba(var(--wrong),calc(.08 + .5*var(--share)))}"
    "tr.best td{font-weight:600}summary{cursor:pointer;color:var(--link)}a{color:var(--link)}"
    "@media print{body{max-width:none;font-size:10.5pt;padding:0}"
    ".figures{grid-template-columns:1fr 1fr;gap:1rem}figure svg{min-width:0!important;filter:none}"
    ".keys{columns:3}.keys table{font-size:8pt}.scroll,.plot"
    "{overflow:visible}h2{break-after:avoid}"
    ".verdict,.confusion td{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

/* Marks the pages of this program, in their head. */
static const char generator[] = "<meta name=\"generator\" content=\"rotor\">";

void rt_page_begin(rt_writer *w, const char *title, bool watched)
{
    rt_writer_add(w,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "%s\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n%s"
                  "<title>",
                  generator, watched ? "<meta http-equiv=\"refresh\" content=\"5\">\n" : "");
    rt_html_text(w, title);
    rt_writer_add(w, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
    rt_html_text(w, title);
    rt_writer_add(w, "</h1>\n");
}

rt_status rt_page_may_replace(const char *file)
{
    char beginning[512];
    FILE *there = rt_open_regular(file);
    if (!there)
        return errno == ENOENT ? rt_ok() : rt_error(RT_CONFIG, "%s: %s", file, strerror(errno));
    const size_t length = fread(beginning, 1, sizeof beginning - 1, there);
    beginning[length] = '\0';
    fclose(there);
    return strstr(beginning, generator)
               ? rt_ok()
               : rt_error(RT_CONFIG, "%s is not a report of rotor: it was not replaced", file);
}

rt_status rt_page_end(rt_writer *w, const char *folder, const char *file)
{
    char parent[RT_PATH_SIZE];
    const char *name = file ? rt_path_name(file) : "report.html";
    rt_status status = rt_ok();
    if (!file || name == file)
        snprintf(parent, sizeof parent, "%s", file ? "." : folder);
    else if (snprintf(parent, sizeof parent, "%.*s", (int)(name - file), file) >=
             (int)sizeof parent)
        status = rt_error(RT_CONFIG, "the path of the report is too long");
    rt_writer_add(w, "</body>\n</html>\n");
    char *page = rt_writer_take(w);
    if (!status.code)
        status = page ? rt_write_text(parent, name, page) : rt_out_of_memory("a report");
    rt_free(page);
    return status;
}

void rt_page_cell(rt_writer *w, const char *element, const char *text)
{
    rt_writer_add(w, "<%s>", element);
    rt_html_text(w, text);
    rt_writer_add(w, "</%s>", element);
}

void rt_page_number(rt_writer *w, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rt_page_cell(w, "td", text);
}

void rt_page_verdict(rt_writer *w, rt_writer *lines, rt_verdict verdict)
{
    static const char *const classes[] = {"", " moved", " bad"};
    char *text = rt_writer_take(lines);
    w->failed |= !text;
    rt_writer_add(w, "<div class=\"verdict%s\">\n", classes[verdict]);
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

/* Adds the SVG with the names of its parts made unique: gnuplot gives the same names to the parts
 * of every figure. */
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

/* Adds the SVG with titles, which every browser shows, in place of the hypertexts, which need
 * gnuplot's script. The names of plots are dropped. */
static void add_titles(rt_writer *w, const char *svg, const char *name)
{
    static const char shows[] = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'",
                      hides[] = "')\" onmouseout=\"gnuplot_svg.hideHypertext()\"><title> </title>",
                      ends[] = "</title>";
    char plot[RT_FIGURE_FILE_SIZE];
    snprintf(plot, sizeof plot, "<title>%s_plot_", name);
    for (const char *next, *end; *svg; svg = next) {
        if (!strncmp(svg, shows, strlen(shows)) && (end = strstr(svg, hides))) {
            svg += strlen(shows);
            rt_writer_add(w, "<g><title>%.*s</title>", (int)(end - svg), svg);
            next = end + strlen(hides);
        } else if (!strncmp(svg, plot, strlen(plot)) && (end = strstr(svg, ends))) {
            next = end + strlen(ends);
        } else {
            const size_t plain = strcspn(svg + 1, "<") + 1;
            rt_writer_add(w, "%.*s", (int)plain, svg);
            next = svg + plain;
        }
    }
}

/* Adds an SVG of gnuplot without its own title, since the caption stands below. A figure of half
 * the page fits a narrow screen; a wider one is scrolled before its letters become too small. */
static void add_figure(rt_writer *w, const char *svg, const rt_figure *figure)
{
    enum { SMALLEST_TEXT = 12 };
    static const char start[] = "<svg", end[] = "</title>";
    const bool wide = figure->width > RT_FIGURE_WIDTH;
    const char *title = strstr(svg, "<title>"), *after = title ? strstr(title, end) : NULL;
    rt_writer_add(w, "<figure%s><div class=\"plot\">\n<svg role=\"img\" aria-label=\"",
                  wide ? " class=\"wide\"" : "");
    rt_html_text(w, figure->caption);
    rt_writer_add(w, "\"");
    if (wide)
        rt_writer_add(w, " style=\"min-width:%dpx\"",
                      figure->width * SMALLEST_TEXT / RT_FIGURE_TEXT);
    svg += strlen(start);
    if (after) {
        rt_writer_add(w, "%.*s", (int)(title - svg), svg);
        svg = after + strlen(end);
    }
    rt_writer titled = {0};
    add_titles(&titled, svg, figure->name);
    w->failed |= titled.failed;
    add_parts(w, titled.bytes ? titled.bytes : "", figure->name);
    rt_writer_free(&titled);
    rt_writer_add(w, "</div>");
    rt_page_cell(w, "figcaption", figure->caption);
    rt_writer_add(w, "</figure>\n");
}

void rt_page_figures(rt_writer *w, const rt_figures *f)
{
    char path[RT_PATH_SIZE], file[RT_FIGURE_FILE_SIZE];
    rt_writer_add(w, "<div class=\"figures\">\n");
    for (int i = 0; i < f->count && !f->status.code; i++) {
        snprintf(file, sizeof file, "%s.svg", f->list[i].name);
        const bool fits = !rt_path_join(path, f->folder, file).code;
        char *text = fits ? rt_read_text(path) : NULL;
        const char *svg = text ? strstr(text, "<svg") : NULL; /* past the XML declaration */
        if (svg && strstr(svg, "</svg>"))
            add_figure(w, svg, &f->list[i]);
        rt_free(text);
    }
    rt_writer_add(w, "</div>\n");
}
