#ifndef ROTOR_TRAIN_REPORT_FIGURES_H
#define ROTOR_TRAIN_REPORT_FIGURES_H

/* The figures of a run or a sweep: gnuplot scripts and their data in FOLDER/figures, so that they
 * can be drawn again in another style, and the SVGs that gnuplot makes of them.
 *
 * gnuplot runs commands, and the folder may be untrusted. A script therefore consists of the
 * program's own words, of numbers, and of texts through rt_figures_quote. It reads only files that
 * rt_figures_write has written beside it, which consist of numbers as well. */

#include "models/transformer.h"
#include "text/writer.h"
#include "train/config/config.h"

#include <math.h>

/* The size of a figure of half the page, in points of its SVG: on a wide screen and on a phone the
 * letters are nearly as large as the text. */
enum {
    RT_MOST_FIGURES = 16,
    RT_FIGURE_WIDTH = 440,
    RT_FIGURE_HEIGHT = 300,
    RT_FIGURE_TEXT = 13, /* size of the letters */
    RT_CAPTION_SIZE = 320
};

typedef struct rt_figure {
    const char *name; /* of NAME.gp and NAME.svg */
    char caption[RT_CAPTION_SIZE];
    int width; /* in points of the SVG; above RT_FIGURE_WIDTH it takes the whole page */
} rt_figure;

typedef struct rt_figures {
    char folder[RT_PATH_SIZE]; /* .../figures */
    int count;
    rt_figure list[RT_MOST_FIGURES];
    rt_status status; /* the first failure */
} rt_figures;

/* Writes NAME.ending; returns it. */
enum { RT_FIGURE_FILE_SIZE = 96 };
const char *rt_figure_file(char file[RT_FIGURE_FILE_SIZE], const char *name, const char *ending);

/* Makes the folder. */
void rt_figures_begin(rt_figures *f, const char *folder);

/* Writes a text file into the folder; empties the writer. */
void rt_figures_write(rt_figures *f, const char *name, rt_writer *text);

/* Adds a text to a script as a gnuplot string, 'in quotes'. Quotes are doubled, and a question mark
 * stands for every control character and every character that gnuplot interprets elsewhere. */
void rt_figures_quote(rt_writer *script, const char *text);

/* Adds NAME.gp with the common preamble and these commands; empties the writer. Removes the
 * NAME.svg of an earlier report. */
void rt_figures_add(rt_figures *f, const char *name, const char *caption, int width, int height,
                    rt_writer *commands);

/* Draws all figures with gnuplot. Returns RT_IO, with what is missing, if gnuplot is missing or
 * fails. A script that fails does not affect the other figures. */
rt_status rt_figures_draw(rt_figures *f) RT_MUST_CHECK;

/* Returns the distance between the tics of a low panel: 1, 2 or 5 times a power of ten, with at
 * most five tics in `range`. */
double rt_figures_tics(double range);

/* Values that an axis shows; starts as RT_NO_RANGE. */
typedef struct rt_figure_range {
    double least, most;
} rt_figure_range;
#define RT_NO_RANGE                                                                                \
    {                                                                                              \
        (double)INFINITY, -(double)INFINITY                                                        \
    }

/* Extends the range, unless the value is not finite. */
void rt_figure_range_take(rt_figure_range *range, double value);

/* Adds the scale of an axis, 'x' or 'y', to a script: logarithmic if its values are above 0 and the
 * largest is more than 30 times the least, else linear. A logarithmic axis has at least three
 * labels: of powers of ten or, where less than three lie in the range, of numbers between. */
void rt_figures_scale(rt_writer *script, char axis, rt_figure_range range);

/* Removes the files that this module and gnuplot write. */
void rt_figures_clear(const char *folder);

#endif
