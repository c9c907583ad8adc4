#ifndef ROTOR_TRAIN_REPORT_FIGURES_H
#define ROTOR_TRAIN_REPORT_FIGURES_H

/* Figures: gnuplot scripts, their data and SVGs in FOLDER/figures.
 *
 * Scripts are kept, so that figures can be redrawn in another style. gnuplot runs commands, and the
 * folder may be untrusted. A script therefore consists of the program's own words, most of them in
 * figures.gp, of numbers, and of texts quoted by rt_figures_quote. It reads only files that
 * rt_figures_write has written beside it, and these consist of numbers. */

#include "core/path.h"
#include "core/status.h"
#include "util/writer.h"

#include <stdbool.h>

/* Size of a figure of half the page, in points of its SVG. On a wide screen and on a phone its
 * letters are nearly as large as the text. */
enum {
    RT_MOST_FIGURES = 20,
    RT_FIGURE_WIDTH = 440,
    RT_FIGURE_HEIGHT = 300,
    RT_FIGURE_TEXT = 13, /* size of the letters */
    RT_CAPTION_SIZE = 320,
    RT_FIGURE_FILE_SIZE = 96
};

typedef struct rt_figure {
    const char *name;   /* name of NAME.gp and NAME.svg */
    const char *axes;   /* sections of figures.gp before the commands, separated by blanks */
    const char *choice; /* label of a figure that shares its place with the other labelled ones: the
                           reader chooses one, and the first has the caption. NULL: its own place */
    const char *plots;  /* section of figures.gp after the commands; or NULL */
    int width;          /* in points of the SVG, 0: RT_FIGURE_WIDTH; above that the figure fills the
                           page */
    int height;         /* 0: RT_FIGURE_HEIGHT */
    char caption[RT_CAPTION_SIZE];
} rt_figure;

/* A figure with the texts that are made for it. */
typedef struct rt_drawing {
    rt_figure figure;
    rt_writer data;     /* of NAME.csv; empty: no such file */
    rt_writer commands; /* between the sections of figures.gp */
} rt_drawing;

typedef struct rt_figures {
    char folder[RT_PATH_SIZE]; /* path of .../figures */
    int count;
    rt_figure list[RT_MOST_FIGURES];
    rt_status status; /* first error */
} rt_figures;

/* Creates the folder. */
void rt_figures_begin(rt_figures *f, const char *folder);

/* Writes a text file into the folder, and empties the writer. */
void rt_figures_write(rt_figures *f, const char *name, rt_writer *text);

/* Adds a text to a script as a gnuplot string in single quotes. Quotes are doubled; control
 * characters, and characters that gnuplot could interpret, become question marks. */
void rt_figures_quote(rt_writer *script, const char *text);

/* The same for the label of a tic, in which gnuplot reads % as the start of a format. */
void rt_figures_quote_tic(rt_writer *script, const char *text);

/* Extends the caption of a figure. */
void rt_figure_note(rt_figure *figure, const char *format, ...) RT_PRINTF(2, 3);

/* Adds a figure: its script NAME.gp, of the commands and the sections of figures.gp, and NAME.csv.
 * Empties the writers, and removes the NAME.svg of an earlier report. */
void rt_figures_add(rt_figures *f, rt_drawing *drawing);

/* Draws all figures with gnuplot. Returns RT_IO, naming what is missing, if gnuplot is missing or
 * fails. A script that fails does not affect other figures. */
rt_status rt_figures_draw(rt_figures *f) RT_MUST_CHECK;

/* Removes the figures of a run or sweep: files written by rotor and by gnuplot. */
void rt_figures_clear(const char *folder);

/* Returns the distance between the tics of a low panel: 1, 2 or 5 times a power of ten, with at
 * most five tics in `range`. */
double rt_figures_tics(double range);

/* Range of an axis; starts zeroed. */
typedef struct rt_figure_range {
    double least, most;
    bool any; /* it has a value */
} rt_figure_range;

/* Extends the range to a value that is finite. */
void rt_figure_range_take(rt_figure_range *range, double value);

/* Adds the scale of an axis, 'x' or 'y', to a script: logarithmic if all values are positive and
 * the largest is more than 30 times the smallest, else linear. A logarithmic axis has labels at
 * powers of ten or, where there are less than three of them, also at numbers between. Returns
 * whether the axis is logarithmic. */
bool rt_figures_scale(rt_writer *script, char axis, rt_figure_range range);

#endif
