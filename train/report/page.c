#include "train/report/page.h"

#include "core/memory.h"
#include "util/durable_file.h"
#include "util/files.h"

#include "page_texts.h" /* made from page.css and words.html by CMake */

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

size_t rt_text_beginning(const char *text, size_t size, size_t most)
{
    if (size <= most)
        return size;
    while (most && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

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

/* Mark of a page of this program, in its head. */
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
    rt_writer_add(w, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", page_css);
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
    const char *name = file ? rt_path_split(file, parent) : "report.html";
    rt_status status = name ? rt_ok() : rt_error(RT_CONFIG, "the path of the report is too long");
    rt_writer_add(w, "%s</body>\n</html>\n", words_html);
    if (!status.code)
        status = rt_passing_write_and_free(file ? parent : folder, name, rt_writer_take(w));
    rt_writer_free(w);
    return status;
}

void rt_page_table(rt_writer *w, const char *heading, const char *const *columns)
{
    rt_writer_add(w, "<h2>%s</h2>\n<div class=\"scroll\"><table>\n<tr>", heading);
    for (; *columns; columns++)
        if (**columns)
            rt_writer_add(w, "<th scope=\"col\">%s</th>", *columns);
    rt_writer_add(w, "</tr>\n");
}

void rt_page_cell(rt_writer *w, const char *element, const char *text)
{
    rt_writer_add(w, "<%s>", element);
    rt_html_text(w, text);
    rt_writer_add(w, "</%s>", element);
}

void rt_page_number(rt_writer *w, const char *format, double x)
{
    rt_page_cell(w, "td", RT_PRINTED(64, isfinite(x) ? format : "-", x));
}

void rt_page_verdict(rt_writer *w, rt_writer *lines, rt_verdict verdict)
{
    static const char *const classes[] = {"", " moved", " bad"};
    char *text = rt_writer_take(lines), *rest = text;
    w->failed |= !text;
    rt_writer_add(w, "<div class=\"verdict%s\">\n", classes[verdict]);
    for (const char *line; text && (line = strtok_r(rest, "\n", &rest));) {
        rt_page_cell(w, "p", line);
        rt_writer_add(w, "\n");
    }
    rt_writer_add(w, "</div>\n");
    rt_free(text);
}

/* Adds the rest of an SVG: with unique names of its parts, since gnuplot uses the same names in
 * every figure; without the names of plots; and with its hypertexts, which need gnuplot's script,
 * replaced by titles, which every browser shows. */
static void add_parts(rt_writer *w, const char *svg, const char *name)
{
    static const char *const before_names[] = {" id='", " id=\"", "href='#", "url(#"};
    static const char shows[] = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'",
                      hides[] = "')\" onmouseout=\"gnuplot_svg.hideHypertext()\"><title> </title>",
                      ends[] = "</title>";
    enum { KINDS = sizeof before_names / sizeof *before_names };
    const char *plot = RT_PRINTED(RT_FIGURE_FILE_SIZE, "<title>%s_plot_", name);
    for (const char *next, *end; *svg; svg = next) {
        int kind = 0;
        while (kind < KINDS && strncmp(svg, before_names[kind], strlen(before_names[kind])) != 0)
            kind++;
        if (kind < KINDS) {
            rt_writer_add(w, "%s%s-", before_names[kind], name);
            next = svg + strlen(before_names[kind]);
        } else if (!strncmp(svg, shows, strlen(shows)) && (end = strstr(svg, hides))) {
            svg += strlen(shows);
            rt_writer_add(w, "<g><title>%.*s</title>", (int)(end - svg), svg);
            next = end + strlen(hides);
        } else if (!strncmp(svg, plot, strlen(plot)) && (end = strstr(svg, ends))) {
            next = end + strlen(ends);
        } else {
            const size_t plain = strcspn(svg + 1, "< hu") + 1;
            rt_writer_add(w, "%.*s", (int)plain, svg);
            next = svg + plain;
        }
    }
}

/* Adds an SVG of gnuplot without its title, because the caption is below. A figure of half the page
 * fits a narrow screen; a wider one scrolls before its letters become too small. */
static void add_plot(rt_writer *w, const char *svg, const rt_figure *figure)
{
    enum { SMALLEST_TEXT = 12 };
    static const char start[] = "<svg", end[] = "</title>";
    const char *title = strstr(svg, "<title>"), *after = title ? strstr(title, end) : NULL;
    rt_writer_add(w, "<div class=\"plot\">\n<svg role=\"img\" aria-label=\"");
    rt_html_text(w, figure->caption);
    rt_writer_add(w, "\"");
    if (figure->width > RT_FIGURE_WIDTH)
        rt_writer_add(w, " style=\"min-width:%dpx\"",
                      figure->width * SMALLEST_TEXT / RT_FIGURE_TEXT);
    svg += strlen(start);
    if (after) {
        rt_writer_add(w, "%.*s", (int)(title - svg), svg);
        svg = after + strlen(end);
    }
    add_parts(w, svg, figure->name);
    rt_writer_add(w, "</div>");
}

/* Adds a figure or, if it has a choice, the plots of all figures that share its place with buttons
 * to choose one. Adds nothing if none was drawn. */
static void add_figure(rt_writer *w, const rt_figures *f, const rt_figure *first)
{
    RT_CLOSED_BY(rt_writer_free) rt_writer buttons = {0}, plots = {0};
    const rt_figure *drawn = NULL, *end = first->choice ? f->list + f->count : first + 1;
    for (const rt_figure *g = first; g < end; g++) {
        if (!first->choice != !g->choice)
            continue;
        const char *file = RT_PRINTED(RT_FIGURE_FILE_SIZE, "%s.svg", g->name);
        char *text = rt_read_text(RT_PATH_IN(f->folder, file)); /* NULL: nothing was drawn */
        const char *svg = text ? strstr(text, "<svg") : NULL;   /* after the XML declaration */
        if (svg && strstr(svg, "</svg>")) {
            if (g->choice)
                rt_writer_add(&buttons,
                              "<input type=\"radio\" name=\"choice\" id=\"by-%s\"%s>"
                              "<label for=\"by-%s\">%s</label>",
                              g->choice, drawn ? "" : " checked", g->choice, g->choice);
            add_plot(&plots, svg, g);
            drawn = drawn ? drawn : g;
        }
        rt_free(text);
    }
    w->failed |= buttons.failed || plots.failed;
    if (drawn && !w->failed) {
        rt_writer_add(w, "<figure%s>%s%s",
                      first->choice                    ? " class=\"choice\""
                      : drawn->width > RT_FIGURE_WIDTH ? " class=\"wide\""
                                                       : "",
                      buttons.bytes ? buttons.bytes : "", plots.bytes);
        rt_page_cell(w, "figcaption", drawn->caption);
        rt_writer_add(w, "</figure>\n");
    }
}

void rt_page_figures(rt_writer *w, const rt_figures *f)
{
    bool chosen = false;
    rt_writer_add(w, "<div class=\"figures\">\n");
    for (int i = 0; i < f->count && !f->status.code; i++) {
        if (!f->list[i].choice || !chosen)
            add_figure(w, f, &f->list[i]);
        chosen |= f->list[i].choice != NULL;
    }
    rt_writer_add(w, "</div>\n");
}
