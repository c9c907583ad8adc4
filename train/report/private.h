#ifndef ROTOR_TRAIN_REPORT_PRIVATE_H
#define ROTOR_TRAIN_REPORT_PRIVATE_H

/* Shared by the files of this folder: figures, the parts of a page, and the sections of a report.
 * Only this folder and its tests include this header. */

#include "models/transformer.h"
#include "text/csv.h"
#include "text/writer.h"
#include "train/config/config.h"
#include "train/report/report.h"
#include "train/step/trainer.h"

#include <math.h>

/* ---- figures: gnuplot scripts, their data and SVGs in FOLDER/figures ---- */

/* The scripts stay, so that figures can be drawn again in another style. gnuplot runs commands, and
 * the folder may be untrusted: a script therefore consists of the program's own words, most of them
 * in figures.gp, of numbers, and of texts through rt_figures_quote. It reads only files that
 * rt_figures_write has written beside it, which consist of numbers as well. */

/* The size of a figure of half the page, in points of its SVG: on a wide screen and on a phone the
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
    const char *name;   /* of NAME.gp and NAME.svg */
    const char *choice; /* label of a figure that shares a place: the reader chooses between all
                           that have one. The first has the caption. NULL: a place of its own */
    const char *axes;   /* sections of figures.gp before the commands, with blanks between them */
    const char *plots;  /* section of figures.gp behind the commands, or NULL */
    int width;          /* in points of the SVG; above RT_FIGURE_WIDTH it takes the whole page */
    int height;
    char caption[RT_CAPTION_SIZE]; /* set by rt_figures_add */
} rt_figure;

typedef struct rt_figures {
    char folder[RT_PATH_SIZE]; /* .../figures */
    int count;
    rt_figure list[RT_MOST_FIGURES];
    rt_status status; /* the first failure */
} rt_figures;

/* Makes the folder. */
void rt_figures_begin(rt_figures *f, const char *folder);

/* Writes a text file into the folder; empties the writer. */
void rt_figures_write(rt_figures *f, const char *name, rt_writer *text);

/* Adds a text to a script as a gnuplot string, 'in quotes'. Quotes are doubled, and a question mark
 * stands for every control character and every character that gnuplot interprets elsewhere. */
void rt_figures_quote(rt_writer *script, const char *text);

/* Adds a copy of the figure with its caption, and NAME.gp with the commands and the sections of
 * figures.gp; empties the writer. Removes the NAME.svg of an earlier report. */
void rt_figures_add(rt_figures *f, const rt_figure *figure, rt_writer *commands,
                    const char *caption_format, ...) RT_PRINTF(4, 5);

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

/* ---- pages: one file without scripts, for a wide screen, a phone and paper ---- */

/* Adds the beginning of a page, up to the headline. A browser reloads a page that is `watched`
 * every few seconds. */
void rt_page_begin(rt_writer *w, const char *title, bool watched);

/* Adds the end, writes the page as `file` or, if that is NULL, as FOLDER/report.html, and empties
 * the writer. */
rt_status rt_page_end(rt_writer *w, const char *folder, const char *file) RT_MUST_CHECK;

/* Returns RT_CONFIG if the file exists and is no page of this program. */
rt_status rt_page_may_replace(const char *file) RT_MUST_CHECK;

/* Result of a run, which gives the verdict box its colour: good; good, but theta has moved; bad. */
typedef enum rt_verdict { RT_VERDICT_GOOD, RT_VERDICT_MOVED, RT_VERDICT_BAD } rt_verdict;

/* Adds the verdict box with the lines that the program has printed; empties `lines`. */
void rt_page_verdict(rt_writer *w, rt_writer *lines, rt_verdict verdict);

/* Adds the SVGs that gnuplot has drawn, with their captions. Incomplete files are left out, and all
 * figures after a failure to write: the files may then be those of an earlier report. */
void rt_page_figures(rt_writer *w, const rt_figures *f);

/* Adds text with &, <, > and quotes escaped; a question mark stands for every control character but
 * newlines. */
void rt_html_text(rt_writer *w, const char *text);

/* Begins a table below a heading, with the headings of its columns; "" is no column, NULL ends the
 * list. "</table></div>\n" ends the table. */
void rt_page_table(rt_writer *w, const char *heading, const char *const *columns);
#define RT_COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Adds a cell, <td>text</td>, or another element. */
void rt_page_cell(rt_writer *w, const char *element, const char *text);

/* Adds a <td> with a formatted number, or with "-" unless it is finite. */
void rt_page_number(rt_writer *w, const char *format, double x) RT_PRINTF(2, 0);

/* Returns the number of bytes of the longest beginning of a text that ends with a whole character
 * and has at most `most` bytes. */
size_t rt_text_beginning(const char *text, size_t size, size_t most);

/* ---- time, from timing.csv ---- */

/* The rows of timing.csv, whose clock starts again when a run is resumed. */
typedef struct rt_timing {
    rt_csv csv;
    int step;                             /* -1 before the first row */
    double seconds;                       /* of training up to the step, over all sessions */
    double tokens;                        /* trained up to the step, without padding */
    double seconds_before, tokens_before; /* of earlier sessions */
} rt_timing;

/* Opens FOLDER/timing.csv. Returns false if there is none. csv is closed in any case. */
bool rt_timing_open(rt_timing *t, const char *folder);

/* Reads on to the row of a step. Returns its seconds; NaN if it has none. */
double rt_timing_seconds(rt_timing *t, int step);

/* ---- sections and figures of the page of a run; each is left out if its table is missing ---- */

/* Adds the figures of a learned theta, from theta.csv and theta_final.csv: the drift by step, theta
 * beside base^(-2i/R), the decay curve at the start and at the end, and the wavelengths with their
 * usage. Heads of a layer share its colour. */
void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config);

/* Adds the figures of the pairs, from usage.csv and cutoffs.csv: their share of queries and keys by
 * how often they turn, and the loss with the slower pairs switched off. */
void rt_report_usage(rt_figures *f, const char *folder);

/* Adds the table of a learned theta, pair by pair; of a long one the beginning. */
void rt_report_theta_table(rt_writer *w, const char *folder);

/* Adds precision, recall and F1 of each class and the confusion matrix, from classes.csv and
 * confusion.csv. Of many classes the table shows those with the lowest F1, the matrix those with
 * the most errors. */
void rt_report_classes(rt_writer *w, const char *folder);

/* Adds the wrong predictions of the evaluation, those with the highest probability first, with
 * their texts; of the task tag with the tokens around each. */
rt_status rt_report_mistakes(rt_writer *w, const rt_config *config,
                             rt_trainer *trainer) RT_MUST_CHECK;

/* Adds the attention probabilities of every layer and head for one evaluation sequence. */
void rt_report_attention(rt_figures *f, const rt_config *config, rt_trainer *trainer);

/* Adds the predictions of masked tokens, or continuations of the first half of a sequence, of the
 * first evaluation sequences. Nothing for data without a vocabulary. */
rt_status rt_report_samples(rt_writer *page, const rt_config *config,
                            rt_trainer *trainer) RT_MUST_CHECK;

/* Writes the label of a token: its text; a sign for a blank, a newline or a tab; the name of a
 * special token; or a point for what is invisible. At level bpe the signs stand within the piece,
 * and a byte that is no character is written as \xe2. Returns the label. */
enum { RT_TOKEN_LABEL_SIZE = 32 };
const char *rt_token_label(char label[RT_TOKEN_LABEL_SIZE], const rt_data *data, int32_t id);

/* Adds the text of the tokens to a page. Special tokens are left out, and a point stands for what
 * is invisible. */
void rt_token_text(rt_writer *page, const rt_data *data, const int32_t *ids, int count);

/* Adds the keys that are not at their defaults and, folded behind them, every key by section. */
void rt_report_configuration(rt_writer *w, const rt_config *config);

/* Adds the size of the model (unless `trainer` is NULL), the time, the sessions with their
 * commands, and what made the report. */
void rt_report_machine(rt_writer *w, const char *folder, rt_trainer *trainer);

/* ---- the same for a sweep ---- */

/* Adds the time of all runs, and the sessions of the first. */
void rt_report_sweep_machine(rt_writer *w, const rt_sweep_runs *runs);

/* Adds the keys that have one value in all runs and are not at their defaults. */
void rt_report_common_keys(rt_writer *w, const rt_sweep_runs *runs);

/* Adds the curves of each row, the mean and the spread over its runs: loss and accuracy by step,
 * loss by tokens and by time, both by length (train.eval_lengths), and learned theta by pair.
 * Losses have the unit of the ranking; captions say why losses are not comparable. */
void rt_report_curves(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

/* Adds for each setting that differs the ranked result by its values: mean and one standard
 * deviation, over the seeds or over all runs of a value. Nothing if the runs cannot be ranked. */
void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

#endif
