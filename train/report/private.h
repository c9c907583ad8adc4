#ifndef ROTOR_TRAIN_REPORT_PRIVATE_H
#define ROTOR_TRAIN_REPORT_PRIVATE_H

/* Private to this folder and its tests: figures, parts of a page, and sections of a report. */

#include "models/transformer.h"
#include "train/config/config.h"
#include "train/report/report.h"
#include "train/report/verdict.h"
#include "train/step/trainer.h"
#include "util/csv.h"
#include "util/writer.h"

#include <math.h>

/* ---- figures: gnuplot scripts, their data and SVGs in FOLDER/figures ---- */

/* Scripts are kept, so that figures can be redrawn in another style. gnuplot runs commands, and the
 * folder may be untrusted. A script therefore consists of the program's own words, most of them in
 * figures.gp, of numbers, and of texts quoted by rt_figures_quote. It reads only files that
 * rt_figures_write has written beside it, and these consist of numbers. */

/* Size of a figure of half the page, in points of its SVG. On a wide screen and on a phone its
 * letters are nearly as large as the text. */
enum {
    RT_MOST_FIGURES = 16,
    RT_FIGURE_WIDTH = 440,
    RT_FIGURE_HEIGHT = 300,
    RT_FIGURE_TEXT = 13, /* size of the letters */
    RT_CAPTION_SIZE = 320,
    RT_FIGURE_FILE_SIZE = 96
};

typedef struct rt_figure {
    const char *name;   /* name of NAME.gp and NAME.svg */
    const char *choice; /* label of a figure that shares its place with the other labelled ones: the
                           reader chooses one, and the first has the caption. NULL: its own place */
    const char *axes;   /* sections of figures.gp before the commands, separated by blanks */
    const char *plots;  /* section of figures.gp after the commands; or NULL */
    int width;          /* in points of the SVG, 0: RT_FIGURE_WIDTH; above that the figure fills the
                           page */
    int height;         /* 0: RT_FIGURE_HEIGHT */
    char caption[RT_CAPTION_SIZE]; /* set by rt_figures_add */
} rt_figure;

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

/* Adds a copy of the figure with its caption; NAME.csv with the data, unless `data` is NULL; and
 * NAME.gp with the commands and the sections of figures.gp. Empties the writers, and removes the
 * NAME.svg of an earlier report. */
void rt_figures_add(rt_figures *f, const rt_figure *figure, rt_writer *data, rt_writer *commands,
                    const char *caption_format, ...) RT_PRINTF(5, 6);

/* Draws all figures with gnuplot. Returns RT_IO, naming what is missing, if gnuplot is missing or
 * fails. A script that fails does not affect other figures. */
rt_status rt_figures_draw(rt_figures *f) RT_MUST_CHECK;

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

/* ---- pages: one file without scripts, for a wide screen, a phone and paper ---- */

/* Adds the beginning of a page, up to the headline. A browser reloads a `watched` page at times. */
void rt_page_begin(rt_writer *w, const char *title, bool watched);

/* Adds the end of a page, writes it as `file` or, if that is NULL, as FOLDER/report.html, and
 * empties the writer. */
rt_status rt_page_end(rt_writer *w, const char *folder, const char *file) RT_MUST_CHECK;

/* Returns RT_CONFIG if the file exists and is not a page of this program. */
rt_status rt_page_may_replace(const char *file) RT_MUST_CHECK;

/* Result of a run, for the colour of the verdict box: good; good, but theta has moved; bad. */
typedef enum rt_verdict { RT_VERDICT_GOOD, RT_VERDICT_MOVED, RT_VERDICT_BAD } rt_verdict;

/* Adds the verdict box with the lines that the program has printed, and empties `lines`. */
void rt_page_verdict(rt_writer *w, rt_writer *lines, rt_verdict verdict);

/* Adds the SVGs that gnuplot has drawn, with captions. Omits incomplete files, and all figures
 * after an error of writing, because their files may be those of an earlier report. */
void rt_page_figures(rt_writer *w, const rt_figures *f);

/* Adds text with &, <, > and quotes escaped. Control characters except newlines become "?". */
void rt_html_text(rt_writer *w, const char *text);

/* Begins a table with a heading and with headings of columns. A column "" is omitted; NULL ends the
 * list. "</table></div>\n" ends the table. */
void rt_page_table(rt_writer *w, const char *heading, const char *const *columns);
#define RT_COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Adds a cell, <td>text</td>, or another element with a text. */
void rt_page_cell(rt_writer *w, const char *element, const char *text);

/* Adds a <td> with a formatted number, or "-" if it is not finite. */
void rt_page_number(rt_writer *w, const char *format, double x) RT_PRINTF(2, 0);

/* Returns the number of bytes, at most `most`, of the longest beginning of a text that ends with a
 * whole character. */
size_t rt_text_beginning(const char *text, size_t size, size_t most);

/* A reader of timing.csv, whose clock restarts when a run is resumed. */
typedef struct rt_timing {
    rt_csv csv;
    int step;       /* -1 before the first row */
    double seconds; /* seconds of training up to the step, over all sessions */
    double tokens;  /* tokens trained up to the step, without padding */
    double seconds_before, tokens_before; /* of earlier sessions */
} rt_timing;

/* Opens FOLDER/timing.csv. Returns false if it is missing. The caller closes `csv`, also then. */
bool rt_timing_open(rt_timing *t, const char *folder);

/* Reads up to the row of a step. Returns its seconds; NaN if there is no such row. */
double rt_timing_seconds(rt_timing *t, int step);

/* ---- sections and figures of the page of a run; each is omitted if its table is missing ---- */

/* Adds the figures of a learned theta, from theta.csv and theta_final.csv: the drift by step, theta
 * beside base^(-2i/R), its tolerances, the wavelengths with their usage, and the decay curve at the
 * start and at the end. Heads of a layer share its colour. If the run is about theta, also adds the
 * figures of the pairs, from usage.csv and cutoffs.csv: their share of queries and keys by the
 * turns of a pair, and the loss with the slower pairs switched off. */
void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config);

/* Adds the table of a learned theta, one row per pair; of a long table the beginning. */
void rt_report_theta_table(rt_writer *w, const char *folder, const rt_config *config);

/* Adds precision, recall and F1 of each class and the confusion matrix, from classes.csv and
 * confusion.csv. If there are many classes, the table shows those with the lowest F1, and the
 * matrix those with the most errors. */
void rt_report_classes(rt_writer *w, const char *folder);

/* Adds the wrong predictions of the evaluation with their texts, the most probable ones first; for
 * the task tag with the surrounding tokens. */
rt_status rt_report_mistakes(rt_writer *w, const rt_config *config,
                             rt_trainer *trainer) RT_MUST_CHECK;

/* Adds the accuracy of labels by distance to the token that answers, from distances.csv; a curve
 * for each length. */
void rt_report_distances(rt_figures *f, const char *folder);

/* Adds the attention probabilities of every layer and head for one evaluation sequence. */
void rt_report_attention(rt_figures *f, const rt_config *config, rt_trainer *trainer);

/* Adds, for the first evaluation sequences, predictions of masked tokens, or continuations of the
 * first half; nothing for data without a vocabulary. */
rt_status rt_report_samples(rt_writer *page, const rt_config *config,
                            rt_trainer *trainer) RT_MUST_CHECK;

/* Writes the label of a token: its text; a symbol for a blank, a newline or a tab; the name of a
 * special token; or a point for invisible characters. At level bpe symbols replace blanks within a
 * piece, and a byte that is not a character is written as \xe2. Returns the label. */
enum { RT_TOKEN_LABEL_SIZE = 32 };
const char *rt_token_label(char label[RT_TOKEN_LABEL_SIZE], const rt_data *data, int32_t id);

/* Adds the text of the tokens without special tokens, and with points for invisible characters. */
void rt_token_text(rt_writer *page, const rt_data *data, const int32_t *ids, int count);

/* Adds the keys that differ from their defaults and, folded, every key by section. */
void rt_report_configuration(rt_writer *w, const rt_config *config);

/* Adds the size of the model (unless `trainer` is NULL), the time, the sessions with their
 * commands, and the program that made the report. */
void rt_report_machine(rt_writer *w, const char *folder, rt_trainer *trainer);

/* ---- sections and figures of the page of a sweep ---- */

/* Adds the time of all runs, and the sessions of the first run. */
void rt_report_sweep_machine(rt_writer *w, const rt_sweep_runs *runs);

/* Adds the keys that have one value in all runs and differ from their defaults. */
void rt_report_common_keys(rt_writer *w, const rt_sweep_runs *runs);

/* Adds the curves of each row, as mean and spread over its runs: loss and accuracy by step, loss by
 * tokens and by time, both by length (train.eval_lengths), exact answers by length, accuracy by
 * distance, and learned theta by pair. Losses have the unit of the ranking; captions say why losses
 * are not comparable. */
void rt_report_curves(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

/* Adds, for each setting that differs, the ranked result by its values: mean and standard
 * deviation, over the seeds or over all runs of a value. Adds nothing without a ranking. */
void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

#endif
