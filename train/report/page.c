#include "core/memory.h"
#include "core/path.h"
#include "train/report/private.h"
#include "util/durable_file.h"
#include "util/files.h"
#include "util/process.h"

#include "figures_gp.h" /* made from figures.gp by CMake */
#include "page_css.h"   /* made from page.css by CMake */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_DRAWING = 20 }; /* seconds */

/* Exit codes of the child, like those of a shell. */
enum { NO_START = 126, NO_PROGRAM = 127, ENDLESS = -1 };

static void fail(rt_figures *f, const char *path)
{
    if (!f->status.code)
        f->status = rt_error(RT_IO, "%s: %s", path, strerror(errno));
}

void rt_figures_begin(rt_figures *f, const char *folder)
{
    *f = (rt_figures){.count = 0};
    f->status = rt_path_join(f->folder, folder, "figures");
    if (!f->status.code && mkdir(f->folder, 0777) && errno != EEXIST)
        fail(f, f->folder);
    if (!f->status.code && !rt_is_own_folder(f->folder))
        f->status = rt_error(RT_IO, "%s: not a folder", f->folder);
}

void rt_figures_write(rt_figures *f, const char *name, rt_writer *text)
{
    if (!f->status.code)
        f->status = rt_passing_write_and_free(f->folder, name, rt_writer_take(text));
    rt_writer_free(text);
}

void rt_figures_quote(rt_writer *w, const char *text)
{
    rt_writer_add(w, "'");
    for (; *text; text++)
        if (*text == '\'')
            rt_writer_add(w, "''");
        else
            rt_writer_add(w, "%c",
                          iscntrl((unsigned char)*text) || strchr("`\"\\@", *text) ? '?' : *text);
    rt_writer_add(w, "'");
}

/* Adds sections of figures.gp to a script, by their names, separated by blanks. A section begins
 * with a line "#: name". */
static void add_sections(rt_writer *script, const char *names)
{
    for (const char *name = names; name && *name; name += strspn(name, " ")) {
        char heading[RT_FIGURE_FILE_SIZE];
        const int length = (int)strcspn(name, " ");
        snprintf(heading, sizeof heading, "\n#: %.*s\n", length, name);
        const char *section = strstr(figures_gp, heading) + strlen(heading);
        const char *end = strstr(section, "\n#: ");
        rt_writer_add(script, "%.*s", end ? (int)(end - section) + 1 : INT_MAX, section);
        name += length;
    }
}

void rt_figures_add(rt_figures *f, const rt_figure *figure, rt_writer *data, rt_writer *commands,
                    const char *caption_format, ...)
{
    char path[RT_PATH_SIZE], file[RT_FIGURE_FILE_SIZE];
    char *text = rt_writer_take(commands);
    rt_figure added = *figure;
    rt_writer w = {.failed = !text};
    va_list arguments;
    added.width = figure->width ? figure->width : RT_FIGURE_WIDTH;
    added.height = figure->height ? figure->height : RT_FIGURE_HEIGHT;
    va_start(arguments, caption_format);
    vsnprintf(added.caption, sizeof added.caption, caption_format, arguments);
    va_end(arguments);
    snprintf(file, sizeof file, "%s.svg", figure->name);
    if (!rt_path_join(path, f->folder, file).code && unlink(path) && errno != ENOENT)
        fail(f, path);
    snprintf(file, sizeof file, "%s.csv", figure->name);
    if (data)
        rt_figures_write(f, file, data);
    rt_writer_add(&w, "figure = '%s'\nwidth = %d\nheight = %d\n", figure->name, added.width,
                  added.height);
    add_sections(&w, "all");
    add_sections(&w, figure->axes);
    rt_writer_add(&w, "%s", text);
    add_sections(&w, figure->plots);
    rt_free(text);
    snprintf(file, sizeof file, "%s.gp", figure->name);
    rt_figures_write(f, file, &w);
    if (f->count < RT_MOST_FIGURES)
        f->list[f->count++] = added;
}

double rt_figures_tics(double range)
{
    static const double steps[] = {1, 2, 5};
    if (!(range > 0) || !isfinite(range))
        return 1;
    const double power = pow(10, floor(log10(range / 5)));
    for (int i = 0; i < 3; i++)
        if (range / (steps[i] * power) <= 5)
            return steps[i] * power;
    return 10 * power;
}

void rt_figure_range_take(rt_figure_range *range, double value)
{
    if (!isfinite(value))
        return;
    range->least = range->any ? fmin(range->least, value) : value;
    range->most = range->any ? fmax(range->most, value) : value;
    range->any = true;
}

/* Adds the tics of the range: multiples of powers of ten by the digits of a set such as "125".
 * Returns their number; w may be NULL. */
static int add_log_tics(rt_writer *w, const char *digits, rt_figure_range range)
{
    const double rounding = 1e-9;
    int count = 0;
    for (int power = (int)floor(log10(range.least)); power <= (int)floor(log10(range.most));
         power++)
        for (const char *digit = digits; *digit; digit++) {
            const double tic = (*digit - '0') * pow(10, power);
            if (tic < range.least * (1 - rounding) || tic > range.most * (1 + rounding))
                continue;
            if (w)
                rt_writer_add(w, "%s%.6g", count ? ", " : "", tic);
            count++;
        }
    return count;
}

bool rt_figures_scale(rt_writer *w, char axis, rt_figure_range range)
{
    static const double wide = 30; /* the loss of a solved task spans several powers of ten */
    if (!(range.least > 0) || !(range.most > wide * range.least))
        return false;
    rt_writer_add(w, "set logscale %c\n", axis);
    if (add_log_tics(NULL, "1", range) >= 3) {
        rt_writer_add(w, "set format %c '10^{%%L}'\n", axis);
        return true;
    }
    const char *digits = add_log_tics(NULL, "13", range) >= 3 ? "13" : "125";
    rt_writer_add(w, "set autoscale %cfix\nset format %c '%%g'\nset %ctics (", axis, axis, axis);
    add_log_tics(w, digits, range);
    rt_writer_add(w, ")\n");
    return true;
}

/* Kills the process group, including this process. */
static void end_group(int number)
{
    (void)number;
    kill(0, SIGKILL);
}

/* Runs as the child process: leads a group with gnuplot and everything that gnuplot starts, so that
 * they end together, at the latest with the program. gnuplot runs silently and without the user's
 * ~/.gnuplot (-d). */
static _Noreturn void supervise_gnuplot(const rt_figures *f, int first, int count)
{
    char scripts[RT_MOST_FIGURES][RT_FIGURE_FILE_SIZE];
    char *arguments[RT_MOST_FIGURES + 3] = {(char *)"gnuplot", (char *)"-d"};
    int how;
    struct sigaction action = {.sa_handler = end_group};
    sigemptyset(&action.sa_mask);
    if (setpgid(0, 0)) /* the group is still the program's */
        _exit(NO_START);
    sigaction(SIGTERM, &action, NULL);
    const pid_t gnuplot = rt_process_fork(SIGKILL);
    if (gnuplot == 0) {
        const int nowhere = open("/dev/null", O_RDWR);
        if (nowhere < 0 || chdir(f->folder))
            _exit(NO_START);
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
            dup2(nowhere, fd);
        for (int i = 0; i < count; i++) {
            snprintf(scripts[i], sizeof scripts[i], "%s.gp", f->list[first + i].name);
            arguments[i + 2] = scripts[i];
        }
        rt_process_exec(arguments);
        _exit(NO_PROGRAM);
    }
    if (gnuplot < 0)
        _exit(NO_START);
    rt_process_wait(gnuplot, &how);
    _exit(WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_FAILURE);
}

/* Draws some of the figures. Returns the exit code of gnuplot, NO_START, NO_PROGRAM, or ENDLESS if
 * gnuplot took too long and was killed with its group. */
static int draw(const rt_figures *f, int first, int count)
{
    const struct timespec moment = {0, 5000000L};
    const double start = rt_seconds();
    int how;
    fflush(stdout);
    fflush(stderr);
    const pid_t child = rt_process_fork(SIGTERM);
    if (child == 0)
        supervise_gnuplot(f, first, count);
    if (child < 0)
        return NO_START;
    while (!rt_process_ended(child, &how)) {
        if (rt_seconds() - start > LONGEST_DRAWING) {
            kill(-child, SIGKILL);
            rt_process_wait(child, &how);
            return ENDLESS;
        }
        nanosleep(&moment, NULL);
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_FAILURE;
}

rt_status rt_figures_draw(rt_figures *f)
{
    if (f->status.code || !f->count)
        return f->status;
    const int all = draw(f, 0, f->count);
    if (all == EXIT_SUCCESS)
        return rt_ok();
    if (all == ENDLESS)
        return rt_error(RT_IO, "the figures could not be drawn: gnuplot did not end");
    if (all == NO_START)
        return rt_error(RT_IO, "the figures could not be drawn: gnuplot cannot be started in %s",
                        f->folder);
    if (all == NO_PROGRAM)
        return rt_error(RT_IO, "the figures are not drawn: gnuplot is missing (apt install "
                               "gnuplot-nox)");
    /* gnuplot stops at the first script that fails, so each figure is drawn by itself */
    rt_writer failed = {0};
    for (int i = 0, result = EXIT_SUCCESS; i < f->count && result != ENDLESS; i++) {
        result = draw(f, i, 1);
        if (result != EXIT_SUCCESS)
            rt_writer_add(&failed, "%s%s.gp", failed.length ? ", " : "", f->list[i].name);
    }
    const rt_status status =
        failed.failed   ? rt_out_of_memory("a figure")
        : failed.length ? rt_error(RT_IO, "figures are missing: gnuplot failed on %s in %s",
                                   failed.bytes, f->folder)
                        : rt_ok();
    rt_writer_free(&failed);
    return status;
}

/* Returns whether a file is one that figures consist of. */
static bool is_figure(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending && ending != name &&
           (!strcmp(ending, ".gp") || !strcmp(ending, ".svg") || !strcmp(ending, ".csv"));
}

void rt_figures_clear(const char *folder)
{
    char path[RT_PATH_SIZE];
    if (!rt_path_join(path, folder, "figures").code)
        rt_folder_clear(path, is_figure);
}

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
    rt_writer_add(w, "</body>\n</html>\n");
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
    char text[64];
    snprintf(text, sizeof text, isfinite(x) ? format : "-", x);
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
    char plot[RT_FIGURE_FILE_SIZE];
    snprintf(plot, sizeof plot, "<title>%s_plot_", name);
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
    rt_writer buttons = {0}, plots = {0};
    const rt_figure *drawn = NULL, *end = first->choice ? f->list + f->count : first + 1;
    for (const rt_figure *g = first; g < end; g++) {
        char path[RT_PATH_SIZE], file[RT_FIGURE_FILE_SIZE];
        snprintf(file, sizeof file, "%s.svg", g->name);
        if (!first->choice != !g->choice || rt_path_join(path, f->folder, file).code)
            continue;
        char *text = rt_read_text(path);                      /* NULL: nothing was drawn */
        const char *svg = text ? strstr(text, "<svg") : NULL; /* after the XML declaration */
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
    rt_writer_free(&buttons);
    rt_writer_free(&plots);
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
