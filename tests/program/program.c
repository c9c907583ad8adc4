/* Runs the commands of the suites. A list of plain commands that calls `train` is taken apart here:
 * each call that needs no shell runs train_main in a child of the test, the rest runs in a shell. A
 * list that needs more of a shell (variables, jobs, loops, `||`) goes to one whole.
 */

#include "program.h"

#include "core/real.h"

#include <wordexp.h>

/* The name in messages, of the C library. */
extern char *program_invocation_short_name;

/* The main of `train`, which is linked into the executable of the tests. */
int train_main(int argc, char **argv);

enum { COMMAND_SIZE = 2048, MOST_STAGES = 32 };

/* The variable of the program linked here. */
static const char *const own = sizeof(real) == sizeof(float) ? "TRAIN" : "TRAIN64";

/* One command of a list. */
typedef struct stage {
    char *text;
    bool decides; /* "&&" stands behind it */
} stage;

/* Returns the end of the quoted text or the character at `at`. */
static char *skip_quoted(char *at)
{
    const char quote = *at;
    if (quote == '\\' && at[1])
        return at + 2;
    if (quote != '\'' && quote != '"')
        return at + 1;
    for (at++; *at && *at != quote; at++)
        at += quote == '"' && *at == '\\' && at[1];
    return at + (*at != '\0');
}

/* Returns whether the text begins with a word of a shell that changes its state or its flow. */
static bool needs_shell(const char *text)
{
    static const char words[] =
        " cd export exec exit for if set trap umask ulimit until while wait "
        "( { ";
    const size_t length = strcspn(text, " ");
    return strstr(words, lasting(" %.*s ", (int)length, text)) || *text == '(' ||
           memchr(text, '=', length) || strstr(text, "$!") || strstr(text, "$?");
}

/* Cuts a command into its stages, in place. Returns their number, 0 if it needs a whole shell. */
static int cut_stages(char *command, stage stages[MOST_STAGES])
{
    int count = 1;
    stages[0] = (stage){.text = command};
    for (char *at = command; *at;) {
        const size_t length = !strncmp(at, "&&", 2) ? 2 : *at == ';';
        if (!strncmp(at, "||", 2) || (*at == '&' && length == 0 && at[-(at > command)] != '>'))
            return 0;
        if (length == 0) {
            at = skip_quoted(at);
            continue;
        }
        if (count == MOST_STAGES)
            return 0;
        stages[count - 1].decides = length == 2;
        *at = '\0';
        at += length;
        at += strspn(at, " \n");
        stages[count++] = (stage){.text = at};
    }
    for (int i = 0; i < count; i++)
        if (needs_shell(stages[i].text))
            return 0;
    return count;
}

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
        open_as(1, ".out", O_WRONLY | O_CREAT | O_APPEND);
        open_as(2, ".err", O_WRONLY | O_CREAT | O_APPEND);
        program_invocation_short_name = strrchr(words->we_wordv[0], '/') + 1;
        exit(train_main((int)words->we_wordc, words->we_wordv));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Runs a call of the program without a shell if it has no redirection, pipe or setting. */
static int run_stage(const char *text)
{
    wordexp_t words;
    const bool is_plain = !wordexp(text, &words, WRDE_NOCMD | WRDE_UNDEF);
    const int status = is_plain && words.we_wordc && !strcmp(words.we_wordv[0], getenv(own))
                           ? run_call(&words)
                           : system(lasting("{ %s ; } </dev/null 2>>.err >>.out", text));
    if (is_plain)
        wordfree(&words);
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
    char copy[COMMAND_SIZE];
    stage stages[MOST_STAGES];
    bool skips = false;
    int status = 0;
    signal(SIGHUP, SIG_DFL); /* under nohup the programs would inherit that it is ignored */
    setenv("TRAIN", TEST_BINARIES "/train", 1);
    setenv("TRAIN64", TEST_BINARIES "/train-f64", 1);
    setenv("COLUMNS", "120", 1);
    if (reports)
        unsetenv("ROTOR_NO_REPORT");
    else
        setenv("ROTOR_NO_REPORT", "1", 1);
    snprintf(copy, sizeof copy, "%s", command);
    const int count = strstr(command, own) ? cut_stages(copy, stages) : 0;
    for (int i = 0; i < count; i++) {
        if (!skips && *stages[i].text)
            status = run_stage(stages[i].text);
        skips = stages[i].decides && (skips || status != 0);
    }
    if (count == 0)
        status = system(lasting("{ %s ; } >.out 2>.err </dev/null", command));
    take_output(".out", w->out);
    take_output(".err", w->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
