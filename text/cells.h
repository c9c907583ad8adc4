#ifndef ROTOR_TEXT_CELLS_H
#define ROTOR_TEXT_CELLS_H

/* The cells of a row of a table in text. */

#include <stddef.h>

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

#endif
