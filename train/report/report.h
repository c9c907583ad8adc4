#ifndef ROTOR_TRAIN_REPORT_REPORT_H
#define ROTOR_TRAIN_REPORT_REPORT_H

/* report.html of a run, of a sweep, and of several runs that are compared: one self-contained file,
 * made from what runs have left in their folders. */

#include "models/transformer.h"
#include "models/usage.h"
#include "train/config/config.h"
#include "train/folder/results.h"
#include "train/report/statistics.h"
#include "train/step/measurements.h"
#include "util/csv.h"

#include <stdio.h>

/* ---- the runs of a sweep and their table ---- */

/* Runs of a sweep are listed in runs.csv. Runs that differ only in run.seed are one row of the
 * table. */

typedef struct rt_sweep_run {
    char **cells; /* cells of all columns; the first is its name */
    char *folder; /* path of its folder */
    int next;     /* next run of its row; -1 after the last */
    int question; /* equal for runs with comparable losses; set by rt_report_rank */
} rt_sweep_run;

typedef struct rt_sweep_row {
    int first, last; /* its first and last run */
    int runs;        /* number of its runs */
    int finished;    /* those of them that came to an end, even if a requested check failed */
} rt_sweep_row;

typedef struct rt_sweep_runs {
    int columns;
    int exit_column; /* columns 1 ... exit_column - 1 are settings, later ones results */
    char **names;    /* names of the columns */
    int count, row_count;
    size_t capacity; /* of the list */
    rt_sweep_run *list;
    rt_sweep_row *rows;
    double *values; /* scratch memory, one number per run: results of a row, or differences of
                       pairs */
} rt_sweep_runs;

/* Reads FOLDER/runs.csv; the folder of a run is FOLDER/NAME. Without the file there are no runs.
 * The caller calls rt_sweep_runs_free also after an error. */
rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder) RT_MUST_CHECK;
void rt_sweep_runs_free(rt_sweep_runs *s);

/* Adds the names of results that the list does not have yet; they are the columns of runs.csv. */
void rt_sweep_add_names(rt_results *names, const rt_results *results);

/* Adds the end of a row of runs.csv: the results of a run under those names or, for NULL, the
 * headings. */
void rt_sweep_add_results(rt_writer *w, const rt_results *names, const rt_results *results);

/* Returns whether a column is a setting, other than the seed, with several values. */
bool rt_sweep_differs(const rt_sweep_runs *s, int column);

/* Returns the column of a result or of a setting; -1 if there is no such column. */
int rt_sweep_column(const rt_sweep_runs *s, const char *name);

/* Returns the result of a run as a number; NaN if it is missing, and for column -1. */
double rt_sweep_number(const rt_sweep_runs *s, int run, int column);

/* Summarizes a result over the runs of a row; column -1 has no values. */
rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column);

/* Adds the settings in which a row differs from others, "kind=rope, lr=0.001", or the name of a
 * variant. Omits column `left_out` (0: none) and, unless `shown`, empty values. */
void rt_sweep_row_settings(rt_writer *w, const rt_sweep_runs *s, int row, int left_out, bool shown);

/* Summary of all runs. */
typedef struct rt_sweep_verdict {
    int finished;         /* runs that came to an end, even if a requested check failed */
    int learned, near;    /* runs that learn theta, and those of them whose theta stayed near */
    int reset, dependent; /* runs whose theta was reset, and those of them that depend on theta */
    double drift;         /* largest drift */
    const char *farthest; /* name of the run with that drift; or NULL */
} rt_sweep_verdict;

rt_sweep_verdict rt_sweep_judge(const rt_sweep_runs *s);

/* Adds the lines on theta if some runs learn it. */
void rt_sweep_report_theta(rt_writer *w, const rt_sweep_verdict *v);

/* Order of the columns: first the settings, which are few in a sweep, or first the names of runs
 * and last the settings. */
typedef enum rt_sweep_order { RT_SETTINGS_FIRST, RT_RESULTS_FIRST } rt_sweep_order;

typedef enum rt_column_kind {
    RT_COLUMN_NAMES,   /* names of the runs */
    RT_COLUMN_SETTING, /* setting that differs */
    RT_COLUMN_RUNS,    /* number of runs */
    RT_COLUMN_RESULT
} rt_column_kind;

typedef struct rt_table_column {
    rt_column_kind kind;
    int source;                 /* column of the runs; -1: none */
    const rt_result_view *view; /* view of a result */
} rt_table_column;

typedef struct rt_sweep_table {
    int columns, rows; /* including the row of headings */
    rt_table_column *list;
    char **cells; /* column after column */
} rt_sweep_table;

/* Makes the table of the settings that differ and of the results of rt_result_view_at. The caller
 * calls rt_sweep_table_free also after an error. */
rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *runs,
                              rt_sweep_order order) RT_MUST_CHECK;
void rt_sweep_table_free(rt_sweep_table *t);

/* Prints the table with aligned columns; long cells are truncated. */
void rt_sweep_table_print(FILE *to, const rt_sweep_table *t);

/* Adds sweep.csv: the same rows with all settings and results. */
void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *runs);

/* Ranking of rows. Losses are comparable if no key asks another question (rt_config_asks_other),
 * and for the same vocabulary. Bits per byte are comparable across vocabularies. */
typedef struct rt_ranking {
    const char *result; /* RT_RESULT_LOSS or RT_RESULT_BITS_PER_BYTE, lower is better; NULL if the
                           rows cannot be ranked */
    const char *differ; /* what the runs then differ in: "objectives" */
} rt_ranking;

/* Chooses the ranking of those runs whose folders have a configuration, and numbers the questions
 * that they answer. */
rt_status rt_report_rank(rt_ranking *ranking, rt_sweep_runs *runs) RT_MUST_CHECK;

/* The row with the lowest mean of the ranked result, compared with every other row. Runs of two
 * rows with the same seed are a pair. */
typedef struct rt_sweep_best {
    int row;     /* -1: the rows cannot be ranked, or there is only one, or at the common seeds
                    another is lower */
    double mean; /* mean of its result */
    int others;  /* number of other rows with a result */
    int same;    /* number of those whose difference has an interval that includes 0 */
    int unknown; /* number of those without an interval */
    int rival;   /* row with the lowest mean of the `same` ones, or else of all others */
    double rival_mean;        /* mean of the rival's result */
    rt_difference from_rival; /* rival's result minus the best, above 0 */
} rt_sweep_best;

rt_sweep_best rt_sweep_find_best(const rt_sweep_runs *s, const rt_ranking *ranking);

/* Returns whether the interval of every other row excludes 0. */
bool rt_sweep_best_is_apart(const rt_sweep_best *best);

/* Paired difference for two values of a key. Two runs are a pair if their losses are comparable and
 * all other settings, including the seed, are equal: they have drawn the same weights and batches.
 * Pairs of one seed at several values of another key are not independent, but the intervals treat
 * them as if they were. */
typedef struct rt_paired_difference {
    const char *key, *value, *against; /* texts of the runs; `against` is the key's first value */
    rt_difference loss;                /* loss(value) - loss(against) */
    int seeds;                         /* number of seeds of these pairs */
} rt_paired_difference;

typedef struct rt_paired {
    rt_paired_difference *list;
    int count;
    bool bits;       /* of bits per byte: the vocabularies differ */
    double doubling; /* change of the loss by twice the steps; NaN if no runs have them */
} rt_paired;

/* Computes all differences of the ranked result or, if the runs cannot be ranked, of the loss. The
 * caller calls rt_paired_free in any case, before it frees `runs`. */
rt_status rt_paired_make(rt_paired *paired, const rt_sweep_runs *runs,
                         const rt_ranking *ranking) RT_MUST_CHECK;
void rt_paired_free(rt_paired *paired);

/* Adds the differences as lines of text, as a table of a page, or as paired.csv. Without pairs, the
 * first two add nothing. */
void rt_paired_report(rt_writer *w, const rt_paired *paired);
void rt_paired_page(rt_writer *w, const rt_paired *paired);
void rt_paired_csv(rt_writer *w, const rt_paired *paired);

typedef struct rt_sweep_study {
    rt_sweep_runs runs;
    rt_sweep_order order;
    rt_sweep_table table;
    rt_sweep_verdict verdict;
    rt_ranking ranking;
    rt_sweep_best best;
    rt_paired paired;
} rt_sweep_study;

/* Computes everything from the runs and the order; the rest is zeroed before. The caller calls
 * rt_sweep_study_free also after an error. */
rt_status rt_sweep_study_make(rt_sweep_study *study) RT_MUST_CHECK;
void rt_sweep_study_free(rt_sweep_study *study);

/* Adds the line "lowest loss: ..."; nothing if there is no best row. Rows are named as in the first
 * column of the table. */
void rt_sweep_report_best(rt_writer *w, const rt_sweep_study *study);

/* ---- reports ---- */

/* Writes report.html and its figures into the folder of a run. Without a `trainer` (NULL), omits
 * the sections that need the model: attention maps, samples, mistakes. A browser reloads the page
 * of a `watched` run every few seconds. After an error, which is returned, the report is still
 * written without the part that failed. */
rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched) RT_MUST_CHECK;

/* Writes report.html of a sweep into its folder: tables, figures, links to reports of its runs. */
rt_status rt_sweep_report_write(const char *folder, const char *title) RT_MUST_CHECK;

/* Writes one page that compares runs of any folders: their differences in configuration and result,
 * and their curves. A folder of a sweep stands for its runs. Runs that differ only in the seed are
 * one row. Replaces `file` only if it is an earlier report. Returns RT_CONFIG if a folder is not
 * that of a run or the file is not a report; RT_IO also if figures are missing without gnuplot. */
enum { RT_MOST_COMPARED = 256 };
rt_status rt_compare_write(const char *const *folders, int count, const char *file) RT_MUST_CHECK;

/* Removes the figures of a run or sweep: files written by rotor and by gnuplot. */
void rt_figures_clear(const char *folder);

/* Returns whether the user has switched reports off, by setting ROTOR_NO_REPORT. */
bool rt_reports_are_off(void);

/* Adds a warning that names keys of the schedule (steps, learning rate) in which the runs of a
 * sweep differ although the sweep does not set them. Runs differ so if a sweep is given more steps
 * and some of its runs continue from fewer. */
void rt_sweep_report_schedules(rt_writer *w, const rt_sweep_runs *runs);

#endif
