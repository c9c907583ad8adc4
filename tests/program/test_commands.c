/* Commands of the suites: lists and pipelines that run without a shell give the results of a shell.
 */

#include "train_program.h"

static const char *const commands[] = {
    "$TRAIN --version | tr a-z A-Z | sed 's/R/;/'",
    "$TRAIN --nothing; echo after",
    "$TRAIN --nothing && echo skipped | cat; echo after",
    "$TRAIN --version >file && $TRAIN --version 2>other >file; cat file other; rm file other",
    "printf '[data]\\nlength = 8\\n' >own.ini; $TRAIN own.ini --print-config | grep '^length'",
    "echo $(echo one) | cat; $TRAIN --nothing 'a;b' \"c|d\"",
    "ROTOR_NO_REPORT=1 $TRAIN --version && false",
};

SUITE(PROGRAM_OPTIONS)

TEST_ROWS(a_plain_command_does_what_a_shell_does, 0, ROWS(commands))
{
    char out[OUTPUT_SIZE], err[OUTPUT_SIZE];
    const int code = shell(w, "%s", commands[_i]);
    strcpy(out, w->out);
    strcpy(err, w->err);
    expect_exit(w, code, "set --; %s", commands[_i]); /* `set` needs a whole shell */
    ck_assert_str_eq(w->out, out);
    ck_assert_str_eq(w->err, err);
}
