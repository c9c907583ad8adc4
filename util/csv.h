#ifndef ROTOR_UTIL_CSV_H
#define ROTOR_UTIL_CSV_H

/* Tables in CSV and TSV. */

#include "core/path.h"
#include "core/status.h"
#include "util/files.h"
#include "util/writer.h"

#include <stdbool.h>
#include <stddef.h>

/* CSV as in RFC 4180: commas between cells; a cell in quotes may contain commas, newlines and
 * doubled quotes. TSV: tabs between cells; quotes have no meaning. */
typedef enum rt_separator { RT_COMMA = ',', RT_TAB = '\t' } rt_separator;

/* Returns whether a row ends at `at`: at `end`, "\n" or at "\r\n". */
bool rt_csv_ends_row(const char *at, const char *end);

typedef struct rt_cell {
    char *bytes; /* without the quotes, not zero-terminated */
    size_t size;
    int newlines; /* inside the cell */
} rt_cell;

/* Parses the cell that begins at `from` and removes its quotes in place. Returns the byte that ends
 * the cell: a separator, or where the row ends. NULL, with the bytes changed, if the opening quote
 * is never closed or the cell continues after the closing one. */
char *rt_cell_parse(char *from, char *end, rt_separator separator, rt_cell *cell);

/* Reads the tables of runs and sweeps row by row, with access by column names.
 *
 *     rt_csv csv;
 *     for (rt_csv_open(&csv, folder, "metrics.csv"); rt_csv_row(&csv);)
 *         ... rt_csv_number(&csv, "loss") ...
 *
 * The file is untrusted: any number of rows and columns, cells of any size, quoted cells ("a ""b"",
 * c"), lines that end in "\r\n". Incomplete rows are skipped: rows with another number of cells
 * than the header, with a quote that the line does not close, or with a zero byte, and a last line
 * without a newline, truncated by a crash, unless the table is `whole`.
 */

typedef struct rt_csv {
    int columns;
    char **names; /* names of the columns, from the header */
    char **cells; /* cells of the row, valid until the next row */
    bool whole; /* set after opening: the last line counts without a newline, if it has all cells */
    int skipped; /* lines that are not rows; not empty, and with a newline */
    rt_status
        status; /* error that ended reading: RT_IO, RT_MEMORY; RT_CONFIG: the path is too long */
    rt_lines lines; /* the open file */
    char *header;   /* line of the header, which `names` point into */
    char path[RT_PATH_SIZE];
} rt_csv;

/* Opens FOLDER/NAME and reads its header. Returns false if there is none; a missing file sets no
 * error. A table that is not read up to its end must be closed. */
bool rt_csv_open(rt_csv *csv, const char *folder, const char *name);
void rt_csv_close(rt_csv *csv);

/* Reads the next complete row. At the end, or on an error, closes the table and returns false. */
bool rt_csv_row(rt_csv *csv);

/* Returns the index of the column with a name; csv->columns if there is none. */
int rt_csv_column(const rt_csv *csv, const char *name);

/* Returns the cell of the row in the column with a name; "" if there is none. */
const char *rt_csv_cell(const rt_csv *csv, const char *name);

/* Returns a cell of the row as a number; NaN if it is not a number. */
double rt_csv_number(const rt_csv *csv, const char *name);

/* Parses a cell of the row as an integer of at least 0. Returns false, without storing, if it is
 * not one. */
bool rt_csv_whole(const rt_csv *csv, const char *name, int *value);

/* Returns a cell as a number, in the form of printf's %g, with nan and inf; NaN if it is not a
 * number. */
double rt_csv_value(const char *cell);

/* Adds a cell to a row, quoted if necessary; a newline becomes a space. */
void rt_csv_put(rt_writer *row, const char *cell);

/* Adds a comma, and a number with nine digits; NaN becomes an empty cell. */
void rt_csv_add_number(rt_writer *row, double x);

#endif
