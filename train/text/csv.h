#ifndef ROTOR_TRAIN_TEXT_CSV_H
#define ROTOR_TRAIN_TEXT_CSV_H

/* Reads the tables that runs and sweeps have written, a row at a time. Their cells have no commas
 * or quotes in them. */

#include <stdbool.h>

enum { RT_CSV_COLUMNS = 192 };

typedef struct rt_csv {
    char *text; /* cut up while it is read */
    char *next;
    int columns;
    char *names[RT_CSV_COLUMNS];
    char *cells[RT_CSV_COLUMNS];
} rt_csv;

/* Reads FOLDER/NAME and its header; false if there is none. To be closed in any case. */
bool rt_csv_open(rt_csv *csv, const char *folder, const char *name);
void rt_csv_close(rt_csv *csv);

/* The next whole row. */
bool rt_csv_row(rt_csv *csv);

/* The cell of the row below that name; "" if there is none. */
const char *rt_csv_cell(const rt_csv *csv, const char *name);

/* The same as a number, NaN if it is none. */
double rt_csv_number(const rt_csv *csv, const char *name);

/* The number of the column; that of columns if there is none. */
int rt_csv_column(const rt_csv *csv, const char *name);

#endif
