#ifndef ROTOR_TRAIN_REPORT_FIGURES_H
#define ROTOR_TRAIN_REPORT_FIGURES_H

/* The figures of a run or a sweep: gnuplot scripts and their data in FOLDER/figures, so that
 * they can be drawn again in another style, and the SVGs that gnuplot makes of them.
 *
 * gnuplot runs commands, and the folder may be a stranger's. A script therefore consists of the
 * program's own words, of numbers, and of texts through rt_figures_quote; and it reads no other
 * files than those that rt_figures_write has written beside it, from numbers as well. */

#include "models/transformer.h"
#include "text/writer.h"
#include "train/config/config.h"

/* The size of a figure that takes half of the page, in points of its SVG: on a wide screen and on
 * a phone the letters come out nearly as large as the text. */
enum {
    RT_MOST_FIGURES = 12,
    RT_FIGURE_WIDTH = 440,
    RT_FIGURE_HEIGHT = 300,
    RT_FIGURE_TEXT = 13, /* of the letters */
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

/* NAME.ending as a text; returns it. */
enum { RT_FIGURE_FILE_SIZE = 96 };
const char *rt_figure_file(char file[RT_FIGURE_FILE_SIZE], const char *name, const char *ending);

/* Makes the folder. */
void rt_figures_begin(rt_figures *f, const char *folder);

/* Writes a text file into the folder; hands the writer's text over. */
void rt_figures_write(rt_figures *f, const char *name, rt_writer *text);

/* Adds a text to a script as a string of gnuplot, 'in quotes'. Whatever the text, it is no more
 * than a text there: quotes are doubled, and question marks stand for control characters and for
 * those that mean something to gnuplot elsewhere. */
void rt_figures_quote(rt_writer *script, const char *text);

/* Adds NAME.gp: what all scripts begin with, and then these commands; hands the writer's text over.
 * A NAME.svg of an earlier report goes. */
void rt_figures_add(rt_figures *f, const char *name, const char *caption, const char *commands);
void rt_figures_add_sized(rt_figures *f, const char *name, const char *caption, int width,
                          int height, rt_writer *commands);

/* Draws them all with gnuplot. RT_IO, with what is missing, if it is not there or fails; a script
 * that fails costs its own figure alone. */
rt_status rt_figures_draw(rt_figures *f) RT_MUST_CHECK;

/* The distance between the tics of a low panel: 1, 2 or 5 times a power of ten, at most five of
 * them in `range`. */
double rt_figures_tics(double range);

/* Removes what this file and gnuplot write. */
void rt_figures_clear(const char *folder);

#endif
