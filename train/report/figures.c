#include "train/report/figures.h"

#include "core/memory.h"
#include "train/step/trainer.h"
#include "util/durable_file.h"
#include "util/files.h"
#include "util/process.h"

#include "figures_gp.h" /* made from figures.gp by CMake */

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

static void quote(rt_writer *w, const char *text, const char *percent)
{
    rt_writer_add(w, "'");
    for (; *text; text++)
        if (*text == '\'' || *text == '%')
            rt_writer_add(w, "%s", *text == '%' ? percent : "''");
        else
            rt_writer_add(w, "%c",
                          iscntrl((unsigned char)*text) || strchr("`\"\\@", *text) ? '?' : *text);
    rt_writer_add(w, "'");
}

void rt_figures_quote(rt_writer *w, const char *text)
{
    quote(w, text, "%");
}

void rt_figures_quote_tic(rt_writer *w, const char *text)
{
    quote(w, text, "%%");
}

/* Adds sections of figures.gp to a script, by their names, separated by blanks. A section begins
 * with a line "#: name". */
static void add_sections(rt_writer *script, const char *names)
{
    for (const char *name = names; name && *name; name += strspn(name, " ")) {
        const int length = (int)strcspn(name, " ");
        const char *heading = RT_PRINTED(RT_FIGURE_FILE_SIZE, "\n#: %.*s\n", length, name);
        const char *section = strstr(figures_gp, heading) + strlen(heading);
        const char *end = strstr(section, "\n#: ");
        rt_writer_add(script, "%.*s", end ? (int)(end - section) + 1 : INT_MAX, section);
        name += length;
    }
}

void rt_figure_note(rt_figure *figure, const char *format, ...)
{
    const size_t length = strlen(figure->caption);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(figure->caption + length, sizeof figure->caption - length, format, arguments);
    va_end(arguments);
}

void rt_figures_add(rt_figures *f, rt_drawing *d)
{
    rt_figure *figure = &d->figure;
    const char *svg =
        RT_PATH_IN(f->folder, RT_PRINTED(RT_FIGURE_FILE_SIZE, "%s.svg", figure->name));
    RT_OWNED char *text = rt_writer_take(&d->commands);
    rt_writer w = {.failed = !text};
    figure->width = figure->width ? figure->width : RT_FIGURE_WIDTH;
    figure->height = figure->height ? figure->height : RT_FIGURE_HEIGHT;
    if (unlink(svg) && errno != ENOENT)
        fail(f, svg);
    if (d->data.length || d->data.failed)
        rt_figures_write(f, RT_PRINTED(RT_FIGURE_FILE_SIZE, "%s.csv", figure->name), &d->data);
    rt_writer_add(&w, "figure = '%s'\nwidth = %d\nheight = %d\n", figure->name, figure->width,
                  figure->height);
    add_sections(&w, "all");
    add_sections(&w, figure->axes);
    rt_writer_add(&w, "%s", text);
    add_sections(&w, figure->plots);
    rt_figures_write(f, RT_PRINTED(RT_FIGURE_FILE_SIZE, "%s.gp", figure->name), &w);
    if (f->count < RT_MOST_FIGURES)
        f->list[f->count++] = *figure;
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
    RT_CLOSED_BY(rt_writer_free) rt_writer failed = {0};
    for (int i = 0, result = EXIT_SUCCESS; i < f->count && result != ENDLESS; i++) {
        result = draw(f, i, 1);
        if (result != EXIT_SUCCESS)
            rt_writer_add(&failed, "%s%s.gp", failed.length ? ", " : "", f->list[i].name);
    }
    RT_TRY(rt_allocated(!failed.failed, "a figure"));
    return failed.length ? rt_error(RT_IO, "figures are missing: gnuplot failed on %s in %s",
                                    failed.bytes, f->folder)
                         : rt_ok();
}

void rt_figures_clear(const char *folder)
{
    static const char *const patterns[] = {"*.gp", "*.svg", "*.csv", NULL};
    rt_folder_clear(RT_PATH_IN(folder, "figures"), patterns);
}
