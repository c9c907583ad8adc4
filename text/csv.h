#ifndef ROTOR_TEXT_CSV_H
#define ROTOR_TEXT_CSV_H

/* Tables in CSV and TSV. */

#include "core/path.h"
#include "core/status.h"
#include "text/text_file.h"
#include "text/writer.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- cells ---- */

/* The cells of a row of a table in text. */

/* CSV as in RFC 4180: commas between cells; a cell in quotes may hold commas, newlines, and quotes
 * written twice. TSV: tabs between cells, and every other byte, a quote too, stands for itself. */
typedef enum rt_separator { RT_COMMA = ',', RT_TAB = '\t' } rt_separator;

typedef struct rt_cell {
    char *bytes; /* without the quotes; no zero ends them */
    size_t size;
    int newlines; /* inside it */
} rt_cell;

/* Takes the cell that begins at `from`, and removes its quotes in place. Returns the byte that ends
 * it: a separator, the newline of the row ('\n', or the '\r' of "\r\n"), or `end`. NULL if the
 * quote that it begins with is never closed, or if more of the cell follows the one that closes
 * it; the bytes are then no longer what they were. */
char *rt_cell_take(char *from, char *end, rt_separator separator, rt_cell *cell);

/* ---- a table ---- */

/* Reads the tables that runs and sweeps have written, a row at a time, by the names of their
 * columns.
 *
 *     rt_csv csv;
 *     if (rt_csv_open(&csv, folder, "metrics.csv"))
 *         while (rt_csv_row(&csv))
 *             ... rt_csv_number(&csv, "loss") ...
 *     rt_csv_close(&csv);
 *
 * The file may be a stranger's: any number of rows and columns, cells of any size, quoted cells
 * ("a ""b"", c"), lines that end in "\r\n". What is no whole row is passed over: another number of
 * cells than the header has, a quote that its line does not close, a zero byte, and a last line
 * without a newline, which a crash has cut off.
 */

typedef struct rt_csv {
    int columns;
    char **names;     /* of the columns, from the header */
    char **cells;     /* of the row; theirs until the next one */
    rt_status status; /* why reading ended too early: RT_IO, RT_MEMORY; RT_CONFIG, a long path */
    rt_lines lines;   /* what is left of the file */
    char *header;     /* the line that holds `names` */
    char path[RT_PATH_SIZE];
} rt_csv;

/* Opens FOLDER/NAME and reads its header; false if it has none. A file that is not there has none,
 * without being a failure. To be closed in any case. */
bool rt_csv_open(rt_csv *csv, const char *folder, const char *name);
void rt_csv_close(rt_csv *csv);

/* The next whole row. */
bool rt_csv_row(rt_csv *csv);

/* The number of the column of that name; that of columns if there is none. */
int rt_csv_column(const rt_csv *csv, const char *name);

/* The cell of the row below that name; "" if there is none. */
const char *rt_csv_cell(const rt_csv *csv, const char *name);

/* Returns a cell of the row as a number; NaN if it is none. */
double rt_csv_number(const rt_csv *csv, const char *name);

/* Reads a cell of the row as a whole number from 0 on. Returns false, and stores nothing, if it is
 * none. */
bool rt_csv_whole(const rt_csv *csv, const char *name, int *value);

/* A cell as a number as printf's %g writes it, nan and inf included; NaN if it is none. */
double rt_csv_value(const char *cell);

/* Adds a cell to a row that is written, in quotes if it needs them; a newline becomes a space. */
void rt_csv_put(rt_writer *row, const char *cell);

/* Adds a number; nothing, which is an empty cell, for one that does not exist: NaN. */
void rt_csv_put_number(rt_writer *row, double x);

/* Adds a comma and the number: the next cell. */
void rt_csv_add_number(rt_writer *row, double x);

#endif
