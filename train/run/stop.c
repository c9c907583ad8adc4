#include "train/run/stop.h"

#include "util/process.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_SECOND_INTERRUPT = 130 };

static volatile sig_atomic_t requested;
static volatile sig_atomic_t interrupted;

/* State of the handlers, also written by the training thread, which they interrupt. */
static const atomic_long *volatile watched;
static volatile sig_atomic_t patience;
static volatile long seen;
static volatile sig_atomic_t unchanged; /* seconds without progress */

static void ask(int number)
{
    if (number == SIGINT && interrupted)
        _exit(EXIT_SECOND_INTERRUPT);
    interrupted |= number == SIGINT;
    if (!requested) /* later signals must not delay the alarm */
        alarm(1);
    requested = number;
}

/* Handles SIGALRM every second after the signal. An alarm before the signal was set by the process
 * that started this program, and requests a stop too. */
static void look(int number)
{
    static const char message[] = ": the step does not end: stopped without a checkpoint\n";
    const char *name = rt_program_name();
    if (!requested) {
        ask(number);
        return;
    }
    const atomic_long *progress = watched;
    const long now = progress ? atomic_load(progress) : 0;
    unchanged = progress && now == seen ? unchanged + 1 : 0;
    seen = now;
    if (unchanged > patience) { /* patience is 0 while nothing is watched */
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

void rt_stop_on_signals(void)
{
    int stopping[RT_STOP_SIGNALS];
    const int count = rt_process_stop_signals(stopping);
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < count; i++)
        sigaction(stopping[i], &action, NULL);
    action.sa_handler = look;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

int rt_stop_requested(void)
{
    return requested;
}

void rt_stop_request(void)
{
    if (!requested)
        ask(SIGTERM);
}
