#include "train/run/stop.h"

#include "train/text/program_name.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_SECOND_INTERRUPT = 130 };

static volatile sig_atomic_t asked;
static volatile sig_atomic_t interrupted;

/* What the handlers read; the thread that trains writes it, and is the one that they interrupt. */
static const atomic_long *volatile watched;
static volatile sig_atomic_t patience;
static volatile long seen;
static volatile sig_atomic_t unchanged; /* seconds */

static void ask(int number)
{
    if (number == SIGINT && interrupted)
        _exit(EXIT_SECOND_INTERRUPT);
    interrupted |= number == SIGINT;
    if (!asked) /* later signals must not put the alarm off */
        alarm(1);
    asked = number;
}

/* Every second since the signal. */
static void look(int number)
{
    static const char message[] = ": the step does not end: stopped without a checkpoint\n";
    const char *name = rt_program_name();
    (void)number;
    const atomic_long *progress = watched;
    const long now = progress ? atomic_load(progress) : 0;
    unchanged = progress && now == seen ? unchanged + 1 : 0;
    seen = now;
    if (unchanged > patience) { /* which stays 0 while nothing is watched */
        ssize_t written = write(STDERR_FILENO, name, strlen(name));
        written = write(STDERR_FILENO, message, strlen(message));
        (void)written;
        _exit(EXIT_SECOND_INTERRUPT);
    }
    alarm(1);
}

int rt_stop_patience(double longest_step)
{
    enum { LEAST = 20, MOST = 86400, TIMES = 5 };
    const double seconds = LEAST + TIMES * longest_step;
    return seconds < MOST ? (int)seconds : MOST;
}

void rt_stop_watch(const atomic_long *progress, int seconds)
{
    watched = NULL;
    patience = seconds;
    unchanged = 0;
    watched = progress;
}

static bool is_ignored(int number)
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN;
}

void rt_stop_on_signals(void)
{
    static const int stopping[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++)
        if (!(stopping[i] == SIGHUP && is_ignored(SIGHUP))) /* nohup */
            sigaction(stopping[i], &action, NULL);
    action.sa_handler = look;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

int rt_stop_asked(void)
{
    return asked;
}

void rt_stop_ask(void)
{
    asked = asked ? asked : SIGTERM;
}
