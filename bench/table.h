#ifndef ROTOR_BENCH_TABLE_H
#define ROTOR_BENCH_TABLE_H

/* What a command prints: rows under headings, in columns or as CSV. */

#include "bench/options.h"

typedef struct bench_cell {
    const char *heading;
    int width;  /* of the column; negative: flush left */
    int digits; /* after the point */
    double number;
    const char *text; /* instead of the number, or NULL */
} bench_cell;

#define BENCH_NUMBER(heading, width, digits, number)                                               \
    ((bench_cell){heading, width, digits, number, NULL})
#define BENCH_TEXT(heading, width, text) ((bench_cell){heading, -(width), 0, 0, text})

/* Prints a row, after the headings if it is the first. A NaN is an empty cell. */
void bench_row(const bench_options *o, bool first, const bench_cell *cells, int count);

#define BENCH_ROW(o, first, ...)                                                                   \
    bench_row(o, first, (const bench_cell[]){__VA_ARGS__},                                         \
              (int)(sizeof((const bench_cell[]){__VA_ARGS__}) / sizeof(bench_cell)))

#endif
