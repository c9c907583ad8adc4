#ifndef ROTOR_TRAIN_REPORT_SECTIONS_H
#define ROTOR_TRAIN_REPORT_SECTIONS_H

/* The sections and figures that the pages of train/report/report.h consist of. Only this folder and
 * its tests include this header. Each section is left out if its table is missing. */

#include "text/csv.h"
#include "train/report/figures.h"
#include "train/report/paired.h"
#include "train/step/trainer.h"

/* ---- time, from timing.csv ---- */

/* The rows of timing.csv, whose clock starts again when a run is resumed. */
typedef struct rt_timing {
    rt_csv csv;
    int step;                             /* -1 before the first row */
    double seconds;                       /* of training up to the step, over all sessions */
    double tokens;                        /* trained up to the step, without padding */
    double seconds_before, tokens_before; /* of earlier sessions */
} rt_timing;

/* Opens FOLDER/timing.csv. Returns false if there is none. Close it in any case. */
bool rt_timing_open(rt_timing *t, const char *folder);

/* Reads the next row. Returns false behind the last. */
bool rt_timing_row(rt_timing *t);

/* Reads on to the row of a step. Returns its seconds; NaN if it has none. */
double rt_timing_seconds(rt_timing *t, int step);
void rt_timing_close(rt_timing *t);

/* ---- theta and usage, from theta.csv, theta_final.csv, usage.csv and cutoffs.csv ---- */

/* Adds the figures of a learned theta: the drift by step, theta beside base^(-2i/R), the decay
 * curve at the start and at the end, and the wavelengths with their usage. Heads of a layer share
 * its colour. */
void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config);

/* Adds the figures of the pairs: their share of queries and keys by how often they turn, and the
 * loss with the slower pairs switched off. */
void rt_report_usage(rt_figures *f, const char *folder);

/* Adds the table of a learned theta, pair by pair; of a long one the beginning. */
void rt_report_theta_table(rt_writer *w, const char *folder);

/* ---- labelled data ---- */

/* Adds precision, recall and F1 of each class and the confusion matrix, from classes.csv and
 * confusion.csv. Of many classes the table shows those with the lowest F1, the matrix those with
 * the most errors. */
void rt_report_classes(rt_writer *w, const char *folder);

/* Adds the wrong predictions of the evaluation, those with the highest probability first, with
 * their texts; of the task tag with the tokens around each. */
rt_status rt_report_mistakes(rt_writer *w, const rt_config *config,
                             rt_trainer *trainer) RT_MUST_CHECK;

/* ---- what the model does with the first sequences of the evaluation ---- */

/* Adds the attention probabilities of every layer and head for one sequence. */
void rt_report_attention(rt_figures *f, const rt_config *config, rt_trainer *trainer);

/* Adds the predictions of masked tokens, or continuations of the first half of a sequence. Nothing
 * for data without a vocabulary. */
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

/* ---- configuration and machine ---- */

/* Adds the keys that are not at their defaults and, folded behind them, every key by section. */
void rt_report_configuration(rt_writer *w, const rt_config *config);

/* Adds the size of the model (unless `trainer` is NULL), the time, the sessions with their
 * commands, and what made the report. */
void rt_report_machine(rt_writer *w, const char *folder, rt_trainer *trainer);

/* Adds the same for a sweep: the time of all runs, and the sessions of the first. */
void rt_report_sweep_machine(rt_writer *w, const char *folder, const rt_sweep_runs *runs);

/* Adds the keys that have one value in all runs and are not at their defaults. */
void rt_report_common_keys(rt_writer *w, const char *folder, const rt_sweep_runs *runs);

/* ---- figures of a sweep ---- */

/* Adds the curves of each row, the mean and the spread over its runs: loss and accuracy by step,
 * loss by tokens and by time, both by length (train.eval_lengths), and learned theta by pair.
 * Losses have the unit of the ranking; captions say why losses are not comparable. */
void rt_report_curves(rt_figures *f, const char *folder, const rt_sweep_runs *runs,
                      const rt_ranking *ranking);

/* Adds for each setting that differs the ranked result by its values: mean and one standard
 * deviation, over the seeds or over all runs of a value. Nothing if the runs cannot be ranked. */
void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

#endif
