#include "train/run/stop.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum { EXIT_SECOND_INTERRUPT = 130 };

/* All that a handler may do is set this. */
static volatile sig_atomic_t asked;

static void ask(int number)
{
    if (number == SIGINT && asked)
        _exit(EXIT_SECOND_INTERRUPT);
    asked = number;
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
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

int rt_stop_asked(void)
{
    return asked;
}
