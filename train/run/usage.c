#include "train/run/arguments.h"

#include "text/program_name.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 21 };

static const char synopsis[] =
    "usage: %s [options] CONFIG.ini [section.key=value ...]\n"
    "       %s --eval|--usage|--distances|--predict TEXT|--embed FILE|--export DIR|\n"
    "             --decay|--print-config --checkpoint FILE [section.key=value ...]\n"
    "       %s --report RUN ...|--watch RUN\n"
    "       %s --vocab N TEXT ...|--train-tokenizer N TEXT ...\n"
    "\n";

static const char purpose[] =
    "Trains the model that CONFIG.ini describes, and writes a folder for the run.\n"
    "Give section.key=value to replace a value of the file, such as\n"
    "optimizer.lr=3e-4. Give sweep.section.key=a,b,c to train one run for each value.\n"
    "The config.ini in the folder of a run stands for that run, even if it was moved.\n"
    "\n";

static const char ends[] =
    "\n"
    "At the end of a run, report.html in its folder shows the results. It needs\n"
    "gnuplot; set ROTOR_NO_REPORT=1 in the environment to leave it out.\n"
    "\n"
    "exit codes: 0 done; 1 run-time failure; 2 usage or configuration; 3 data;\n"
    "  4 checkpoint; 5 loss not finite; 6 the last save could not be written;\n"
    "  7 a check that was asked for failed; 75 stopped by a signal with a checkpoint\n"
    "  saved; 130 second Ctrl-C, or a step that does not end after a signal\n";

/* Each line of a text below the one before. */
static void print_lines(FILE *to, const char *text)
{
    for (const char *line = text; *line;) {
        const int length = (int)strcspn(line, "\n");
        fprintf(to, "%*s%.*s\n", line == text ? 0 : HELP_COLUMN, "", length, line);
        line += length + (line[length] == '\n');
    }
}

void rt_arguments_print_usage(FILE *to)
{
    const char *name = rt_program_name();
    const rt_option *row;
    fprintf(to, synopsis, name, name, name, name);
    fputs(purpose, to);
    for (int i = 0; (row = rt_option_at(i)); i++) {
        if (row->group)
            fprintf(to, "%s%s\n", i ? "\n" : "", row->group);
        const int column =
            fprintf(to, "  %s--%s%s%s", row->command == RT_COMMAND_HELP ? "-h, " : "", row->name,
                    row->value ? " " : "", row->value ? row->value : "");
        fprintf(to, "%*s", column < HELP_COLUMN ? HELP_COLUMN - column : 1, "");
        print_lines(to, row->help);
    }
    fputs(ends, to);
}
