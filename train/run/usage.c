#include "train/run/arguments.h"

#include "text/program_name.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 21, HELP_WIDTH = 80 };

static const char synopsis[] =
    "usage: %s [options] CONFIG.ini [section.key=value ...]\n"
    "       %s --eval|--predict TEXT|--export DIR|--decay|--print-config --checkpoint FILE\n"
    "             [section.key=value ...]\n"
    "       %s --report RUN ...|--watch RUN\n"
    "       %s --vocab N TEXT ...\n"
    "\n";

static const char purpose[] =
    "Trains the model that CONFIG.ini describes; a section.key=value replaces what the file says,\n"
    "and sweep.section.key=a,b,c makes a run for each value. The config.ini in the folder of a "
    "run\n"
    "is that run, wherever the folder is.\n"
    "\n";

static const char ends[] =
    "\n"
    "A run ends with report.html in its folder, if gnuplot is there; ROTOR_NO_REPORT=1 in the\n"
    "environment leaves it out.\n"
    "\n"
    "exit codes: 0 done; 1 run-time failure; 2 usage or configuration; 3 data; 4 checkpoint;\n"
    "  5 loss not finite; 6 the last save could not be written; 7 a check that was asked for\n"
    "  failed; 75 stopped by a signal with a checkpoint saved; 130 second Ctrl-C, or a step that\n"
    "  does not end after a signal\n";

/* Words of a text from the column where the line stands, each further line from HELP_COLUMN. */
static void print_wrapped(FILE *to, const char *text, int column)
{
    while (*text) {
        const int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH)
            column = fprintf(to, "\n%*s", HELP_COLUMN, "") - 1;
        column += fprintf(to, "%s%.*s", column > HELP_COLUMN ? " " : "", length, text);
        text += length + (text[length] == ' ');
    }
    fputc('\n', to);
}

void rt_arguments_print_usage(FILE *to)
{
    const char *name = rt_program_name();
    const rt_option *row;
    fprintf(to, synopsis, name, name, name, name);
    fputs(purpose, to);
    for (int i = 0; (row = rt_option_at(i)); i++) {
        int column = fprintf(to, "  %s--%s%s%s", row->command == RT_COMMAND_HELP ? "-h, " : "",
                             row->name, row->value ? " " : "", row->value ? row->value : "");
        column += fprintf(to, "%*s", column < HELP_COLUMN ? HELP_COLUMN - column : 0, "");
        print_wrapped(to, row->help, column);
    }
    fputs(ends, to);
}
