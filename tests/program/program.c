/* Runs the commands of the suites. A single call of `train` whose words need no shell runs
 * train_main in a child of the test, without starting a program; all else goes to sh.
 */

#include "program.h"

#include "core/real.h"

#include <wordexp.h>

/* The name in messages, of the C library. */
extern char *program_invocation_short_name;

/* The main of `train`, which is linked into the executable of the tests. */
int train_main(int argc, char **argv);

/* Tools print numbers and sort names as the tests expect, in every locale of the machine, which a
 * call of `train` alone keeps. */
#define IN_C "export LC_ALL=C; "

/* The variable of the program linked here. */
static const char *const own = sizeof(real) == sizeof(float) ? "TRAIN" : "TRAIN64";

static void open_as(int number, const char *path, int flags)
{
    const int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, number) < 0)
        _exit(2);
    close(file);
}

static int run_call(const wordexp_t *words)
{
    static const int reset[] = {SIGINT, SIGTERM, SIGALRM, SIGHUP}; /* Check handles some of them */
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
            signal(reset[i], SIG_DFL);
        open_as(0, "/dev/null", O_RDONLY);
        open_as(1, ".out", O_WRONLY | O_CREAT | O_TRUNC);
        open_as(2, ".err", O_WRONLY | O_CREAT | O_TRUNC);
        program_invocation_short_name = strrchr(words->we_wordv[0], '/') + 1;
        exit(train_main((int)words->we_wordc, words->we_wordv));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Reads the file into a buffer of OUTPUT_SIZE bytes, as much as it holds, and removes the file. */
static void take_output(const char *path, char *text)
{
    FILE *from = fopen(path, "r");
    text[from ? fread(text, 1, OUTPUT_SIZE - 1, from) : 0] = '\0';
    if (from)
        fclose(from);
    remove(path);
}

int run_command(workplace *w, bool reports, const char *command)
{
    wordexp_t words;
    signal(SIGHUP, SIG_DFL); /* under nohup the programs would inherit that it is ignored */
    setenv("TRAIN", TEST_BINARIES "/train", 1);
    setenv("TRAIN64", TEST_BINARIES "/train-f64", 1);
    setenv("COLUMNS", "120", 1);
    if (reports)
        unsetenv("ROTOR_NO_REPORT");
    else
        setenv("ROTOR_NO_REPORT", "1", 1);
    /* wordexp refuses lists, pipes and redirections */
    const bool is_plain = !wordexp(command, &words, WRDE_NOCMD | WRDE_UNDEF);
    const int status = is_plain && words.we_wordc && !strcmp(words.we_wordv[0], getenv(own))
                           ? run_call(&words)
                           : system(lasting(IN_C "{ %s ; } >.out 2>.err </dev/null", command));
    if (is_plain)
        wordfree(&words);
    take_output(".out", w->out);
    take_output(".err", w->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
