/* Tables that were changed, with cells that a shell, gnuplot or a browser takes for more than
 * text. */

#include "torture/forge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Short, since cells are cut. Where one of them is run, there is then a file named wren. */
static const char *const commands[] = {"`>wren`",
                                       "'.\"`>wren`\".'",
                                       "\"`>wren`\"",
                                       "$(>wren)",
                                       "| touch wren",
                                       "'; system(\">wren\"); '",
                                       "\"; system('>wren'); \"",
                                       "<touch wren",
                                       "'<touch wren'",
                                       "\\\"`>wren`",
                                       "}'`>wren`'{",
                                       "all'.\"`>wren`\".'",
                                       "@`>wren`"};
static const char *const markup[] = {"<torture>", "\"><torture>", "</title><torture>",
                                     "&#60;torture&#62;", "{/Symbol <torture>}"};
static const char *const odd[] = {"%s%s%n", "nan",      "-inf",
                                  "1e999",  "-1",       "2147483648",
                                  "",       "'",        "\"",
                                  "\\",     ",,,,",     "\"a\nb\"",
                                  "\n",     "\xff\xfe", "99999999999999999999"};

static const char *draw_payload(trial *t)
{
    const int kind = draw(t, 4);
    return kind > 1 ? draw_of(t, commands) : kind ? draw_of(t, markup) : draw_of(t, odd);
}

/* The bytes with what was drawn put in place of `length` of them. */
static char *replaced(const char *bytes, size_t *size, size_t at, size_t length, const char *with,
                      size_t with_size)
{
    char *result = malloc(*size + with_size + 1);
    if (!result)
        abort();
    memcpy(result, bytes, at);
    memcpy(result + at, with, with_size);
    memcpy(result + at + with_size, bytes + at + length, *size - at - length);
    *size += with_size - length;
    result[*size] = '\0';
    return result;
}

/* A cell, somewhere: from a comma or the start of a line to the next. */
static char *forge_cell(trial *t, char *bytes, size_t *size)
{
    static char huge[100000];
    const char *with = draw_payload(t);
    size_t at = (size_t)draw(t, (int)*size + 1), end, with_size = strlen(with);
    while (at > 0 && bytes[at - 1] != ',' && bytes[at - 1] != '\n')
        at--;
    for (end = at; end < *size && bytes[end] != ',' && bytes[end] != '\n';)
        end++;
    if (chance(t, 8)) {
        memset(huge, chance(t, 50) ? '7' : 'x', sizeof huge);
        with = huge;
        with_size = sizeof huge;
    } else if (chance(t, 5)) {
        with = "\0\0\0";
        with_size = 3;
    }
    char *result = replaced(bytes, size, at, end - at, with, with_size);
    free(bytes);
    return result;
}

/* A payload in the same column of all lines but the heading: what is grouped by it stays whole. */
static char *forge_column(trial *t, char *bytes, size_t *size)
{
    const char *with = draw_payload(t);
    const int column = draw(t, 4);
    const size_t with_size = strlen(with);
    char *result = malloc(*size * (with_size + 1) + 1);
    size_t length = 0;
    int at = 0, line = 0;
    if (!result)
        abort();
    for (size_t i = 0; i < *size; i++) {
        const bool starts = i == 0 || bytes[i - 1] == ',' || bytes[i - 1] == '\n';
        const bool ends = bytes[i] == ',' || bytes[i] == '\n';
        if (starts && line && at == column) {
            memcpy(result + length, with, with_size);
            length += with_size;
        }
        if (ends || !line || at != column)
            result[length++] = bytes[i];
        at = bytes[i] == '\n' ? 0 : at + (bytes[i] == ',');
        line += bytes[i] == '\n';
    }
    result[length] = '\0';
    *size = length;
    free(bytes);
    return result;
}

/* A column, a line, or all from some place on, is gone. */
static void cut(trial *t, char *bytes, size_t *size)
{
    const int column = draw(t, 5), kind = draw(t, 3);
    size_t kept = 0;
    int at = 0, line = 0;
    const int gone = draw(t, 4);
    if (kind == 0)
        *size = (size_t)draw(t, (int)*size + 1);
    for (size_t i = 0; i < *size && kind; i++) {
        if (kind == 1 ? at != column : line != gone)
            bytes[kept++] = bytes[i];
        else if (bytes[i] == '\n' && kind == 1)
            bytes[kept++] = '\n';
        at = bytes[i] == '\n' ? 0 : at + (bytes[i] == ',');
        line += bytes[i] == '\n';
    }
    if (kind)
        *size = kept;
}

void forge_table(trial *t, const forgery *f)
{
    static const char *const of_run[] = {"metrics.csv",     "theta.csv",  "theta.csv",
                                         "theta_final.csv", "result.csv", "timing.csv",
                                         "lengths.csv",     "config.ini", "theta_final.csv"};
    static const char *const of_sweep[] = {
        "sweep.csv",         "paired.csv",        "runs.csv", "runs.csv", "seed=1/theta_final.csv",
        "seed=2/result.csv", "seed=1/metrics.csv"};
    char path[TORTURE_PATH_SIZE];
    size_t size = 0;
    path_in(t, path, "runs/%s/%s", f->name,
            !strcmp(f->name, "sweep") ? draw_of(t, of_sweep) : draw_of(t, of_run));
    char *bytes = read_text(path, &size);
    const int count = 1 + draw(t, 4);
    for (int i = 0; i < count && bytes; i++) {
        if (chance(t, 40))
            bytes = forge_cell(t, bytes, &size);
        else if (chance(t, 60))
            bytes = forge_column(t, bytes, &size);
        else if (chance(t, 60))
            cut(t, bytes, &size);
        else
            damage_bytes(t, bytes, &size, 0);
    }
    if (bytes)
        write_text(path, bytes, size);
    free(bytes);
}
