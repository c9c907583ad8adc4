#include "bench/table.h"

#include <math.h>
#include <stdio.h>

enum { CELL_SIZE = 64 };

static void print_cell(const bench_options *o, int i, int width, const char *text)
{
    if (o->csv)
        printf("%s%s", i ? "," : "", text);
    else
        printf("%s%*s", i ? "  " : "", width, text);
}

void bench_row(const bench_options *o, bool first, const bench_cell *cells, int count)
{
    for (int i = 0; first && i < count; i++)
        print_cell(o, i, cells[i].width, cells[i].heading);
    if (first)
        putchar('\n');
    for (int i = 0; i < count; i++) {
        char number[CELL_SIZE] = "";
        if (!cells[i].text && !isnan(cells[i].number))
            snprintf(number, sizeof number, "%.*f", cells[i].digits, cells[i].number);
        print_cell(o, i, cells[i].width, cells[i].text ? cells[i].text : number);
    }
    putchar('\n');
    fflush(stdout);
}
