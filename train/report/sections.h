#ifndef ROTOR_TRAIN_REPORT_SECTIONS_H
#define ROTOR_TRAIN_REPORT_SECTIONS_H

/* Sections and figures of the page of a run, which are listed in report.c and run_figures.c, and of
 * the page of a sweep. A section adds nothing if its table, or the model it needs, is missing. */

#include "train/config/config.h"
#include "train/folder/results.h"
#include "train/report/figures.h"
#include "train/report/page.h"
#include "train/report/study.h"
#include "train/step/trainer.h"
#include "util/csv.h"

#include <math.h>

/* ---- the page of a run ---- */

typedef struct rt_run_page {
    const char *folder;
    const rt_config *config;
    rt_trainer *trainer; /* NULL: without the model */
    rt_writer w;
    rt_figures figures;
    double best_loss, best_step; /* best evaluation; an infinite loss: none */
    bool ended;
    rt_results results; /* none if the run has not ended */
} rt_run_page;

/* Returns whether theta was trained: by the run, or by the one that it comes from, which the
 * results tell; a branch without results may have such a theta. */
bool rt_report_theta_was_trained(const rt_run_page *page);

/* Adds all figures, and finds the best evaluation. Returns the status of metrics.csv. */
rt_status rt_report_figures(rt_run_page *page) RT_MUST_CHECK;

/* Draws the attention probabilities of every layer and head for one evaluation sequence. Returns
 * whether there are any. */
bool rt_draw_attention(rt_drawing *drawing, rt_run_page *page);

/* Adds the table of a learned theta, one row per pair; of a long table the beginning. */
rt_status rt_report_theta_table(rt_run_page *page) RT_MUST_CHECK;

/* Adds precision, recall and F1 of each class and the confusion matrix, from classes.csv and
 * confusion.csv. If there are many classes, the table shows those with the lowest F1, and the
 * matrix those with the most errors. */
rt_status rt_report_classes(rt_run_page *page) RT_MUST_CHECK;

/* Adds the wrong predictions of a labelled file with their texts, the most probable ones first; for
 * the task tag with the surrounding tokens. */
rt_status rt_report_mistakes(rt_run_page *page) RT_MUST_CHECK;

/* Adds, for the first evaluation sequences, predictions of masked tokens, or continuations of the
 * first half; nothing for data without a vocabulary. */
rt_status rt_report_samples(rt_run_page *page) RT_MUST_CHECK;

/* Writes the label of a token: its text; a symbol for a blank, a newline or a tab; the name of a
 * special token; or a point for invisible characters. At level bpe symbols replace blanks within a
 * piece, and a byte that is not a character is written as \xe2. Returns the label. */
enum { RT_TOKEN_LABEL_SIZE = 32 };
const char *rt_token_label(char label[RT_TOKEN_LABEL_SIZE], const rt_data *data, int32_t id);

/* Adds the text of the tokens without special tokens, and with points for invisible characters. */
void rt_token_text(rt_writer *page, const rt_data *data, const int32_t *ids, int count);

/* Adds the keys that differ from their defaults and, folded, every key by section. */
rt_status rt_report_configuration(rt_run_page *page) RT_MUST_CHECK;

/* Adds the size of the model, if there is one, the time, the sessions with their commands, and the
 * program that made the report. */
rt_status rt_report_machine(rt_run_page *page) RT_MUST_CHECK;

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

/* ---- the page of a sweep ---- */

/* Adds the time of all runs, and the sessions of the first run. */
void rt_report_sweep_machine(rt_writer *w, const rt_sweep_runs *runs);

/* Adds the keys that have one value in all runs and differ from their defaults. */
void rt_report_common_keys(rt_writer *w, const rt_sweep_runs *runs);

/* Adds the table of paired differences, if there are pairs. */
void rt_paired_page(rt_writer *w, const rt_paired *paired);

/* Adds the curves of each row, as mean and spread over its runs: loss and accuracy by step, loss by
 * tokens and by time, both by length (train.eval_lengths), exact answers by length, accuracy by
 * distance, and learned theta by pair. Losses have the unit of the ranking; captions say why losses
 * are not comparable. */
void rt_report_curves(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

/* Adds, for each setting that differs, the ranked result by its values: mean and standard
 * deviation, over the seeds or over all runs of a value. Adds nothing without a ranking. */
void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

#endif
