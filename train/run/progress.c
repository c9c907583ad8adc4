#include "train/run/progress.h"

#include "optim/options.h"
#include "train/run/stop.h"
#include "util/files.h"
#include "util/number.h"
#include "util/process.h"
#include "util/writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_SIZE = 512, NARROWEST_BAR = 8, WIDEST_BAR = 30, DEFAULT_WIDTH = 80, WIDE = 130 };

static const double between_updates = 0.1; /* seconds, on a terminal */
static const double between_lines = 60;    /* elsewhere */
static const double memory_of_loss = 0.95; /* weight of the past in the smoothed loss */

void rt_progress_begin(rt_progress *p, const rt_config *config, int finished_steps, bool quiet,
                       bool no_color)
{
    const char *variable = getenv("NO_COLOR");
    const bool terminal = isatty(STDERR_FILENO);
    *p = (rt_progress){.quiet = quiet,
                       .terminal = terminal,
                       .color = terminal && !no_color && !(variable && *variable),
                       .steps = config->train.steps,
                       .log_every = config->run.log_every,
                       .first_step = finished_steps,
                       .smooth_loss = NAN,
                       .eval_accuracy = -1,
                       .start = rt_seconds(),
                       .last_shown = -INFINITY};
}

static int terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (columns && atoi(columns) > 0)
        return atoi(columns);
    return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : DEFAULT_WIDTH;
}

/* Formats 75 as "1:15" and 3700 as "1:01:40". */
static void write_time(char text[24], double seconds)
{
    const long s = seconds < 359999 ? (long)(seconds + 0.5) : 359999;
    if (s >= 3600)
        snprintf(text, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, 24, "%ld:%02ld", s / 60, s % 60);
}

/* Writes all numbers, or only those that fit 80 columns: the smoothed loss of batches and the
 * newest evaluation. */
static void write_numbers(char *text, const rt_progress *p, int step, const rt_step_result *r,
                          bool all)
{
    char elapsed[24], left[24];
    const bool evaluated = p->eval_accuracy >= 0;
    const double seconds = rt_seconds() - p->start;
    const double tokens_per_second = (double)p->tokens / (seconds > 0 ? seconds : 1);
    write_time(elapsed, seconds);
    write_time(left, seconds / (step - p->first_step) * (p->steps - step));
    const char *rate = tokens_per_second >= 1e6
                           ? RT_PRINTED(24, "  %.1fM tok/s", tokens_per_second * 1e-6)
                           : RT_PRINTED(24, "  %.0fk tok/s", tokens_per_second * 1e-3);
    const char *batch = all || !evaluated ? RT_PRINTED(32, ", accuracy %.3f", r->accuracy) : "";
    const char *eval = evaluated ? RT_PRINTED(64, "  eval loss %.4f, accuracy %.3f", p->eval_loss,
                                              p->eval_accuracy)
                                 : "";
    if (all)
        snprintf(text, LINE_SIZE, "smoothed loss %.4f%s%s  lr %.1e%s  %s, %s left", p->smooth_loss,
                 batch, eval, r->lr, rate, elapsed, left);
    else
        snprintf(text, LINE_SIZE, "smoothed loss %.4f%s%s%s  %s left", p->smooth_loss, batch, eval,
                 evaluated ? "" : rate, left);
}

/* Writes a bar of `width` characters, brackets included. */
static void write_bar(char *text, int width, double share, bool color)
{
    const int inside = width - 2, full = (int)(share * inside);
    text += sprintf(text, "[%s", color ? "\033[36m" : "");
    for (int i = 0; i < inside; i++)
        *text++ = i < full ? '=' : i == full ? '>' : ' ';
    sprintf(text, "%s]", color ? "\033[0m" : "");
}

void rt_progress_step(rt_progress *p, int step, const rt_step_result *r)
{
    const double now = rt_seconds(), since = now - p->last_shown;
    char count[64], numbers[LINE_SIZE], bar[WIDEST_BAR + 32] = "";
    p->tokens += r->tokens;
    p->smooth_loss = isnan(p->smooth_loss)
                         ? r->loss
                         : memory_of_loss * p->smooth_loss + (1 - memory_of_loss) * r->loss;
    const bool due = p->terminal
                         ? step >= p->steps || since >= between_updates
                         : step == p->steps || (step % p->log_every == 0 && since >= between_lines);
    if (p->quiet || !due)
        return;
    p->last_shown = now;
    const int width = terminal_width() - 1;
    write_numbers(numbers, p, step, r, !p->terminal || width >= WIDE);
    if (!p->terminal) {
        fprintf(stderr, "step %d/%d  %s\n", step, p->steps, numbers);
        return;
    }
    /* the line is truncated to the width of the terminal, so that it never wraps */
    const int counted = snprintf(count, sizeof count, "%d/%d ", step, p->steps);
    int bar_width = width - counted - (int)strlen(numbers) - 1;
    bar_width = bar_width > WIDEST_BAR ? WIDEST_BAR : bar_width;
    if (bar_width >= NARROWEST_BAR)
        write_bar(bar, bar_width, (double)step / p->steps, p->color);
    const int left = width - counted > 0 ? width - counted : 0;
    fprintf(stderr, "\r%.*s%s%s%.*s\033[K", width, count, bar, *bar ? " " : "", left, numbers);
    fflush(stderr);
    p->shown = true;
}

void rt_progress_share(rt_progress *p, const char *what, double share)
{
    char bar[WIDEST_BAR + 32];
    const double now = rt_seconds();
    const int width = terminal_width() - 1, around = WIDEST_BAR + 8;
    const bool due = now - p->last_shown >= (p->terminal ? between_updates : between_lines);
    if (p->quiet || (!due && share < 1))
        return;
    if (share >= 1) {
        rt_progress_clear(p);
        return;
    }
    p->last_shown = now;
    if (!p->terminal) {
        fprintf(stderr, "%s: %.0f %%\n", what, 100 * share);
        return;
    }
    write_bar(bar, WIDEST_BAR, share, p->color);
    fprintf(stderr, "\r%s %3.0f %% %.*s\033[K", bar, 100 * share,
            width > around ? width - around : 0, what);
    fflush(stderr);
    p->shown = true;
}

void rt_progress_clear(rt_progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

void rt_progress_say(rt_progress *p, const char *format, ...)
{
    va_list arguments;
    rt_progress_clear(p);
    fprintf(stderr, "%s: ", rt_program_name());
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void rt_progress_end(rt_progress *p)
{
    if (p->shown)
        fputc('\n', stderr);
    p->shown = false;
}

int rt_zero_rate_from(const rt_config *config, int step)
{
    const rt_optimizer_options *o = &config->optimizer;
    if (o->lr <= 0 || rt_learning_rate(o, config->train.steps) > 0)
        return 0;
    return (o->schedule_steps > step ? o->schedule_steps : step) + 1;
}

void rt_zero_rate_warn(rt_progress *p, const rt_config *config, int from, const char *where)
{
    const int steps = config->train.steps;
    rt_progress_say(p,
                    "warning: %sthe learning rate is 0 from step %d to the end at %d, since "
                    "optimizer.schedule_steps = %d: give optimizer.schedule_steps=%d or "
                    "optimizer.min_lr_ratio above 0",
                    where, from, steps, config->optimizer.schedule_steps, steps);
}

static void say_line(void *context, const char *line)
{
    static const char warning[] = "warning: ";
    rt_opening *opening = context;
    const bool warns = opening->first && !strncmp(line, warning, strlen(warning));
    if (warns || !opening->progress.quiet)
        rt_progress_say(&opening->progress, "%s", line);
}

static void show_share(void *context, const char *what, double share)
{
    rt_opening *opening = context;
    rt_progress_share(&opening->progress, what, share);
}

static bool stop_opening(void *context)
{
    (void)context;
    return rt_stop_requested();
}

void rt_opening_begin(rt_opening *opening, rt_data_options *o, const rt_config *config,
                      const rt_world *world, bool quiet)
{
    const char *from = getenv("ROTOR_CACHE_FROM");
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    /* "", and texts stay in memory, without a folder or if its path is too long */
    const char *path = cache && *cache == '/' ? RT_PATH_IN(cache, "rotor")
                       : home && *home == '/' ? RT_PATH_IN(home, ".cache/rotor")
                                              : "";
    int64_t bytes = 0;
    rt_progress_begin(&opening->progress, config, 0, quiet, false);
    opening->watch = (rt_data_watch){opening, say_line, show_share, stop_opening};
    opening->first = rt_world_rank(world) == 0;
    o->watch = &opening->watch;
    o->threads = rt_threads_of(config, world);
    if (!o->cache && *path)
        o->cache = rt_intern_text(path);
    if (from && rt_integer_parse(from, &bytes) && bytes > 0)
        o->cache_from = (size_t)bytes;
}
