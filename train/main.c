#include "revision.h"
#include "train/commands.h"
#include "train/folder/results.h"
#include "train/step/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Signals that may be ignored at the start of the program, by nohup or a shell's background job. */
static const int inherited_signals[] = {SIGHUP, SIGINT, SIGQUIT};
enum { INHERITED_SIGNALS = sizeof inherited_signals / sizeof *inherited_signals };
static bool was_ignored[INHERITED_SIGNALS];

/* Runs before the constructors of all libraries. A library that Open MPI 5 loads (PSM2) handles
 * signals from then on, even ignored ones. Ends the program if the limit of its address space
 * (ulimit -v) leaves less than OpenBLAS allocates when it is loaded. */
static void start(int argc, char **argv, char **environment)
{
    struct sigaction now;
    struct rlimit space;
    (void)argc;
    for (int i = 0; i < INHERITED_SIGNALS; i++)
        was_ignored[i] = !sigaction(inherited_signals[i], NULL, &now) && now.sa_handler == SIG_IGN;
    if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY)
        return;
    const rt_status status = rt_address_space_check(environment);
    if (!status.code)
        return;
    const char *slash = strrchr(argv[0], '/'); /* the C library does not know the name yet */
    fprintf(stderr, "%s: %s\n", slash ? slash + 1 : argv[0], status.message);
    _exit(RT_EXIT_CONFIG);
}

typedef void initializer(int argc, char **argv, char **environment);
__attribute__((section(".preinit_array"), used)) static initializer *const before_libraries = start;

int main(int argc, char **argv)
{
    for (int i = 0; i < INHERITED_SIGNALS; i++)
        if (was_ignored[i])
            signal(inherited_signals[i], SIG_IGN);
    return rt_command_line(argc, argv, ROTOR_REVISION);
}
