/* Runs the commands of the suites. A list that calls `train`, and other programs beside it, is
 * taken apart here: each call of `train` runs train_main in a child of the test, the rest runs in a
 * shell. Commands that need more of a shell (variables, jobs, loops, `||`, a pipe of a call) go to
 * one whole.
 */

#include "program.h"

#include "core/real.h"

#include <wordexp.h>

/* The name in messages, of the C library. */
extern char *program_invocation_short_name;

/* The main of `train`, if it is linked into the executable of the tests. */
__attribute__((weak)) int train_main(int argc, char **argv);

enum { COMMAND_SIZE = 2048, MOST_STAGES = 32 };

/* Variables of the program linked here and of the other precision, which is started. */
static const char *const own = sizeof(real) == sizeof(float) ? "$TRAIN" : "$TRAIN64";
static const char *const other = sizeof(real) == sizeof(float) ? "$TRAIN64" : "$TRAIN";

/* Returns whether a text has the variable of one of the two programs. */
static bool names_program(const char *text, const char *variable)
{
    const size_t length = strlen(variable);
    for (const char *at = text; (at = strstr(at, variable)) != NULL; at += length)
        if (strncmp(at + length, "64", 2) != 0) /* $TRAIN begins $TRAIN64 as well */
            return true;
    return false;
}

/* One command of a list. */
typedef struct stage {
    char *text;
    bool decides;    /* "&&" stands behind it */
    wordexp_t words; /* of a call: settings of the environment, the program, its arguments */
    char *files[3];  /* of a call: redirections of standard input, output and error */
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
    static const char *const words[] = {"cd",    "export", "exec", "exit",  "for",
                                        "if",    "set",    "trap", "umask", "ulimit",
                                        "until", "while",  "wait", "(",     "{"};
    const size_t length = strcspn(text, " ");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && !strncmp(text, words[i], length))
            return true;
    return *text == '(' || memchr(text, '=', length) || strstr(text, "$!") || strstr(text, "$?");
}

/* Cuts a command into its stages, in place. Returns their number, 0 if it needs a whole shell. */
static int cut_stages(char *command, stage stages[MOST_STAGES])
{
    int count = 0;
    stages[0] = (stage){.text = command};
    for (char *at = command; *at;) {
        const size_t length = !strncmp(at, "&&", 2) ? 2 : *at == ';';
        if (!strncmp(at, "||", 2) || (*at == '&' && length == 0 && at[-(at > command)] != '>'))
            return 0;
        if (length == 0) {
            at = skip_quoted(at);
            continue;
        }
        if (++count == MOST_STAGES)
            return 0;
        stages[count - 1].decides = length == 2;
        *at = '\0';
        at += length;
        at += strspn(at, " \n");
        stages[count] = (stage){.text = at};
    }
    return count + 1;
}

/* Takes the redirections out of the text of a call. Returns false at a form not known here, as
 * ">>file" or "2>&1". */
static bool take_redirections(stage *s)
{
    for (char *at = s->text; *at;) {
        if (*at != '<' && *at != '>') {
            at = skip_quoted(at);
            continue;
        }
        char *begin = at;
        int number = *at++ == '>';
        if (begin > s->text && begin[-1] >= '0' && begin[-1] <= '9' &&
            (begin - 1 == s->text || begin[-2] == ' '))
            number = *--begin - '0';
        at += strspn(at, " ");
        const char *name = at;
        at += strcspn(at, " <>&'\"$");
        if (number > 2 || s->files[number] || at == name || (*at && *at != ' '))
            return false;
        s->files[number] = strndup(name, (size_t)(at - name));
        memset(begin, ' ', (size_t)(at - begin));
    }
    return true;
}

/* Expands the words of a call as a shell would. Returns the index of the program among them, behind
 * settings ROTOR_X=Y; -1 if this is no call of the program. Other settings act before main begins.
 */
static int expand_call(stage *s)
{
    if (wordexp(s->text, &s->words, WRDE_NOCMD | WRDE_UNDEF))
        return -1;
    for (size_t i = 0; i < s->words.we_wordc; i++) {
        if (!strcmp(s->words.we_wordv[i], getenv(own + 1)))
            return (int)i;
        if (strncmp(s->words.we_wordv[i], "ROTOR_", 6) != 0 || !strchr(s->words.we_wordv[i], '='))
            break;
    }
    wordfree(&s->words);
    return -1;
}

static void free_stage(stage *s)
{
    for (int i = 0; i < 3; i++)
        free(s->files[i]);
    memset(s->files, 0, sizeof s->files);
}

/* Returns whether the stages are those of a list that needs no shell as a whole. */
static bool is_plain(stage *stages, int count)
{
    bool calls = false, plain = true;
    for (int i = 0; i < count && plain; i++) {
        const bool call = strstr(stages[i].text, own) != NULL;
        char *const text = strdup(stages[i].text);
        stage trial = {.text = text};
        calls |= call;
        if (!call)
            plain = !needs_shell(text);
        else if ((plain = take_redirections(&trial) && expand_call(&trial) >= 0))
            wordfree(&trial.words);
        free_stage(&trial);
        free(text);
    }
    return calls && plain;
}

static void open_as(int number, const char *path, int flags)
{
    const int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, number) < 0)
        _exit(2);
    close(file);
}

static int run_call(stage *s)
{
    static const int reset[] = {SIGINT, SIGTERM, SIGALRM, SIGHUP}; /* Check handles some of them */
    int status = -1;
    ck_assert(take_redirections(s));
    const int program = expand_call(s);
    ck_assert_int_ge(program, 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
            signal(reset[i], SIG_DFL);
        open_as(0, s->files[0] ? s->files[0] : "/dev/null", O_RDONLY);
        for (int i = 1; i < 3; i++) {
            const char *usual = i == 1 ? ".out" : ".err";
            open_as(i, s->files[i] ? s->files[i] : usual,
                    O_WRONLY | O_CREAT | (s->files[i] ? O_TRUNC : O_APPEND));
        }
        for (int i = 0; i < program; i++) {
            char *name = s->words.we_wordv[i], *equals = strchr(name, '=');
            *equals = '\0';
            setenv(name, equals + 1, 1);
        }
        program_invocation_short_name = strrchr(s->words.we_wordv[program], '/') + 1;
        exit(train_main((int)s->words.we_wordc - program, s->words.we_wordv + program));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    wordfree(&s->words);
    free_stage(s);
    return status;
}

static int run_stages(stage *stages, int count)
{
    bool skips = false;
    int status = 0;
    for (int i = 0; i < count; i++) {
        stage *s = &stages[i];
        if (!skips && strstr(s->text, own))
            status = run_call(s);
        else if (!skips && *s->text)
            status = system(lasting("{ %s ; } </dev/null 2>>.err >>.out", s->text));
        skips = s->decides && (skips || status != 0);
    }
    return status;
}

void take_output(const char *path, char *text)
{
    FILE *from = fopen(path, "r");
    text[from ? fread(text, 1, OUTPUT_SIZE - 1, from) : 0] = '\0';
    if (from)
        fclose(from);
    remove(path);
}

int run_command(workplace *w, bool reports, const char *command)
{
    char copy[COMMAND_SIZE], whole[COMMAND_SIZE + 64];
    stage stages[MOST_STAGES];
    int status;
    signal(SIGHUP, SIG_DFL); /* under nohup the programs would inherit that it is ignored */
    setenv("TRAIN", TEST_BINARIES "/train", 1);
    setenv("TRAIN64", TEST_BINARIES "/train-f64", 1);
    setenv("COLUMNS", "120", 1);
    if (reports)
        unsetenv("ROTOR_NO_REPORT");
    else
        setenv("ROTOR_NO_REPORT", "1", 1);
    snprintf(copy, sizeof copy, "%s", command);
    const int count = train_main && !names_program(command, other) ? cut_stages(copy, stages) : 0;
    if (is_plain(stages, count)) {
        status = run_stages(stages, count);
    } else {
        snprintf(whole, sizeof whole, "{ %s ; } >.out 2>.err </dev/null", command);
        status = system(whole);
    }
    take_output(".out", w->out);
    take_output(".err", w->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
